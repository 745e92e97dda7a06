"""What this home has against what the team has of it: what is missing there is put into the outbox again.

For what a power cut took from the outbox, for a home that joins late, and for a store that was made anew.
Files at home are the truth; the store is told of what they hold, and of what they hold no longer.
"""

from __future__ import annotations

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.disk import board, index, messages, outbox
from holdfast.store import catalogue
from holdfast.store.database import Store
from holdfast.team.outgoing import refused
from holdfast.team.shared import Projects


def owed(app: Holdfast, store: Store, machine: str, projects: Projects) -> list[dict]:
    """Lines as the outbox has them, but those that the store has refused. Events are not among them: the
    trail forgets them as well."""
    with store.reading() as connection:
        there = catalogue.of_machine(connection, machine)
    listed = index.load_all(app.home)
    here = listed.entries
    lines = [
        _line(outbox.CHECKPOINT, uid, entry)
        for uid, entry in here.items()
        if uid not in there and projects.name(str(entry["project"]))
    ]
    if not listed.damaged:  # a line that cannot be read may tell of one that is there
        lines += [_line(outbox.GONE, uid, {}) for uid in sorted(there - here.keys())]
    for key in board.keys(app.home):
        found = board.load(app.home, key)
        if not projects.name(found.root):
            continue
        said = {one["id"]: one for one in found.open(now())}
        own = [one for one in said.values() if "machine" not in one]
        lines += [_line(outbox.MESSAGE, one["id"], {"root": found.root, "said": one}) for one in own]
        marks = [one for uid in said for one in found.of(uid) if "machine" not in one]
        lines += [_line(outbox.MARK, messages.mark_uid(one), {"board": key, "said": one}) for one in marks]
    aside = {line["uid"] for line in outbox.lines(refused(app.home))[0]}
    return [line for line in lines if line["uid"] not in aside]


def _line(kind: str, uid: str, data: dict) -> dict:
    return {"kind": kind, "uid": uid, "at": now(), "data": data}
