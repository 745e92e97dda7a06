"""What this home has against what the team has of it: what is missing there is put into the outbox again.

For what a power cut took from the outbox, for a home that joins late, and for a store that was made anew.
Files at home are the truth; the store is told of what they hold, and of what they hold no longer. The index
is not: that it does not name a checkpoint says nothing of it.
"""

from __future__ import annotations

import os

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core.jsontext import record, text
from holdfast.disk import board, index, messages, outbox
from holdfast.store import catalogue
from holdfast.store.database import Store
from holdfast.store.named import Projects
from holdfast.team.outgoing import refused


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
    unnamed = sorted(there.keys() - here.keys())
    lines += [
        _line(outbox.GONE, uid, {}) for uid in unnamed if uid in listed.gone or _is_removed(there[uid])
    ]
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


def _is_removed(entry: str) -> bool:
    """Whether its folder is there, and it is not, nor what was set aside of it because it is damaged. Of a
    disk that is not mounted nothing is known."""
    path = text(record(entry), "path")
    folder, name = os.path.split(path)
    if not os.path.isdir(folder) or os.path.lexists(path):
        return False
    return not any(one.startswith(name) for one in os.listdir(folder))


def _line(kind: str, uid: str, data: dict) -> dict:
    return {"kind": kind, "uid": uid, "at": now(), "data": data}
