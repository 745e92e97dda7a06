"""What other machines of the team said on the boards of projects that are on this one, too.

It is written on the local board, from which hooks deliver it; they ask nobody else. Times are those of this
machine's clock then: what was said so many minutes ago by the store's clock was said so many minutes ago.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from holdfast.app import Holdfast
from holdfast.clock import at, now, rfc3339
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load, record
from holdfast.disk import board, files, messages
from holdfast.errors import BadInput
from holdfast.store import posted
from holdfast.store.clocks import wall
from holdfast.store.database import Store

VERSION = 1
#: Milliseconds that are asked for again: what was begun before may have been committed after. Transactions
#: are ended by the store long before.
_OVERLAP_MS = 180_000
_LARGEST = 16 << 20
#: Characters of the name of a machine; ours are shorter.
_NAME = 100


class Incoming:
    """`seen` are messages that were taken in lately, by board and id: one that is over and was tidied away
    must not come again. `everything`: also what was asked for before."""

    def __init__(self, app: Holdfast, store: Store, everything: bool = False) -> None:
        self._home, self._store = app.home, store
        self._path = app.home.outbox + "/pulled.json"
        self._of = sha256_hex(store.where.encode())[:16]
        self._since, self._seen = _kept(self._path, self._of)
        if everything:
            self._since = {}
        self.trouble = ""

    def pull(self, here: Mapping[str, Sequence[str]]) -> int:
        """How many messages and marks are new here. `here`: name of a project -> its folders. Clones of it
        have a board each, and working trees of a clone share one."""
        boards = {place.key: (place, name) for name in here for place in map(board.place, here[name])}
        count = 0
        for since in {self._since.get(key, 0) for key in boards}:
            those = {key: one for key, one in boards.items() if self._since.get(key, 0) == since}
            names = sorted({name for _, name in those.values()})
            with self._store.reading() as connection:
                theirs = wall(connection)
                # Messages first: what is marked is there then.
                said = posted.standing(connection, names, since - _OVERLAP_MS, theirs)
                marks = posted.marks(connection, names, since - _OVERLAP_MS, theirs)
            until = min(_told(said, theirs), _told(marks, theirs))
            for key, (place, name) in those.items():
                new = [one for one in said if one.project == name and one.received <= until]
                upon = [one for one in marks if one.project == name and one.received <= until]
                try:
                    taken, left = self._take_in(place, new, upon, now() - theirs)
                except BadInput as problem:  # it cannot be read; the others can
                    self.trouble = str(problem)
                    continue
                count += taken
                # Where more came than is told at once, the rest is asked for without what was before it.
                self._since[key] = left or (until + _OVERLAP_MS if until < theirs else theirs)
        self._keep()
        return count

    def _take_in(
        self, place: board.Place, said: Sequence[posted.Message], marks: Sequence[posted.Mark], lag: int
    ) -> tuple[int, int]:
        """(how many, when the store received the first for which there was no room)."""
        if not said and not marks:
            return 0, 0
        there = board.load(self._home, place.key)
        new = [
            (one.received, made)
            for one in said
            if one.uid not in there.messages
            and f"{place.key} {one.uid}" not in self._seen
            and (made := _here(one, lag))
        ]
        known = there.messages.keys() | {made["id"] for _, made in new}
        upon = {_key(one) for those in there.marks.values() for one in those}
        more = [
            (one.received, made)
            for one in marks
            if one.message in known
            and (one.message, one.reader, one.mark) not in upon
            and (made := _mark_here(one, lag))
        ]
        both = sorted([*new, *more], key=itemgetter(0))  # a mark after its message
        taken = board.take_in(self._home, place, [made for _, made in both], there) if both else 0
        if taken:
            self._show(place)
        left = {made["id"] for _, made in both[taken:] if "id" in made}
        self._seen |= {f"{place.key} {one.uid}": one.received for one in said if one.uid not in left}
        if taken == len(both):
            return taken, 0
        self.trouble = (
            f"the board of {place.root} has no room for more that others said: it waits in the team's "
            "store until some of what stands there is over"
        )
        return taken, both[taken][0]

    def _show(self, place: board.Place) -> None:
        try:
            board.show(self._home, place)
        except (OSError, BadInput):
            pass  # it is for people: nothing depends on it

    def _keep(self) -> None:
        newest = max(self._since.values(), default=0)
        self._seen = {
            name: at
            for name, at in self._seen.items()
            if at >= self._since.get(name.partition(" ")[0], newest) - 2 * _OVERLAP_MS
        }
        said = {"v": VERSION, "of": self._of, "since": self._since, "seen": self._seen}
        files.replace(self._path, dump(said).encode() + b"\n", durable=False)


def _told(rows: Sequence[posted.Message] | Sequence[posted.Mark], theirs: int) -> int:
    """Up to when all that came was told. Of what came in the same moment all but so many is given up."""
    if len(rows) < posted.MOST:
        return theirs
    first, last = rows[0].received, rows[-1].received
    return last if first < last else last + 1


def _here(one: posted.Message, lag: int) -> dict | None:
    """With times of this clock, and the machine it is from."""
    said = record(one.said)
    if not messages.is_message(said) or said["id"] != one.uid:
        return None
    life = at(said["expires"]) - at(said["at"])
    waited = max(0, life - one.lasts_ms)  # where it was posted, before the store heard of it
    begun = one.received - waited + lag
    moved = {"at": rfc3339(begun), "expires": rfc3339(begun + life), "machine": one.machine[:_NAME]}
    if said["after"]:
        moved["after"] = rfc3339(begun + at(said["after"]) - at(said["at"]))
    in_order = {name: said[name] for name in messages.NAMES}  # a board knows its lines by how they begin
    here = {**in_order, **said, **moved}
    return here if messages.is_message(here) else None  # what lasts for ages has no times here


def _mark_here(one: posted.Mark, lag: int) -> dict | None:
    said = record(one.said)
    if not messages.is_mark(said) or _key(said) != (one.message, one.reader, one.mark):
        return None
    in_order = {name: said[name] for name in messages.MARKS}
    return {**in_order, **said, "at": rfc3339(one.received + lag), "machine": one.machine[:_NAME]}


def _key(mark: dict) -> tuple[str, str, str]:
    return mark["of"], mark["by"], mark["mark"]


def _kept(path: str, of: str) -> tuple[dict[str, int], dict[str, int]]:
    """Damaged, gone or of another store: all that stands is asked for again, and what is there is known by
    its id."""
    try:
        said = load(files.read(path, _LARGEST).decode())
    except (OSError, BadInput, *UNREADABLE):
        said = {}
    known = said if isinstance(said, dict) and said.get("of") == of else {}
    parts = [known.get(name) for name in ("since", "seen")]
    since, seen = (
        {k: v for k, v in part.items() if type(v) is int} if isinstance(part, dict) else {}
        for part in parts
    )
    return since, seen
