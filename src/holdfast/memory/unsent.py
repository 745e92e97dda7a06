"""What of memory.db a team has not been told yet: uids, noted by triggers as rows come, change and go.

The triggers are made by the first who sends, with everything that is there by then: whoever is in no team
has none, and pays nothing. With another team, or other projects that travel, it begins anew: what is sent
twice changes nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from holdfast.memory import sql
from holdfast.memory.database import Database
from holdfast.memory.terms import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy

_NOTE = "DELETE FROM unsent WHERE uid = {0}; INSERT INTO unsent (uid) VALUES ({0});"
_VECTOR = "(SELECT uid FROM items WHERE id = new.id)"
_CHANGED = " OR ".join(f"old.{name} IS NOT new.{name}" for name in "text title kind files shape".split())
_TRIGGERS = {
    "unsent_new": f"AFTER INSERT ON items BEGIN {_NOTE.format('new.uid')} END",
    "unsent_changed": f"AFTER UPDATE ON items WHEN {_CHANGED} BEGIN {_NOTE.format('new.uid')} END",
    "unsent_gone": f"AFTER DELETE ON items BEGIN {_NOTE.format('old.uid')} END",
    "unsent_vector": f"AFTER INSERT ON vectors BEGIN {_NOTE.format(_VECTOR)} END",
}
#: Of a counter: which team is followed; and, before a folder, that it was not to be told of that.
_TEAM, _KEPT_BACK = "unsent to", "kept back of "


class Unsent:
    def __init__(self, base: Database) -> None:
        self._base = base

    def follow(self, team: str, anew: bool = False) -> None:
        """From now on; with all there is, unless it was followed before."""
        number = int(key(team)[:12], 16)
        if self.counter(_TEAM) == number and not anew:
            return
        with self._base.writing() as db:
            # Emptied, not made anew: a number that somebody sends just now must not come to mean another.
            db.execute(
                "CREATE TABLE IF NOT EXISTS unsent "
                "(number INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT UNIQUE)"
            )
            db.execute("DELETE FROM unsent")
            for name, what in _TRIGGERS.items():
                db.execute(f"DROP TRIGGER IF EXISTS {name}")
                db.execute(f"CREATE TRIGGER {name} {what}")
            # What stands together goes together, and finds its neighbours there.
            db.execute("INSERT INTO unsent (uid) SELECT uid FROM items ORDER BY thread, seq, id")
            db.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", (_TEAM, number))

    def leave(self) -> None:
        with self._base.writing() as db:
            for name in _TRIGGERS:
                db.execute(f"DROP TRIGGER IF EXISTS {name}")
            db.execute("DROP TABLE IF EXISTS unsent")
            db.execute("DELETE FROM counters WHERE name = ?", (_TEAM,))

    def is_followed(self) -> bool:
        return bool(self.counter(_TEAM))

    def count(self) -> int:
        return int(self._base.db.execute("SELECT count(*) FROM unsent").fetchone()[0])

    def some(self, most: int) -> list[tuple[int, str]]:
        """(number, uid), those noted first; one that is noted again meanwhile has another number."""
        return self._base.db.execute(
            "SELECT number, uid FROM unsent ORDER BY number LIMIT ?", (most,)
        ).fetchall()

    def sent(self, numbers: Sequence[int]) -> None:
        with self._base.writing() as db:
            db.executemany("DELETE FROM unsent WHERE number = ?", [(one,) for one in numbers])

    def note(self, uids: Sequence[str]) -> None:
        """To be sent once more, though nothing of them has changed here."""
        with self._base.writing() as db:
            for uid in uids:
                db.execute("DELETE FROM unsent WHERE uid = ?", (uid,))
                db.execute("INSERT INTO unsent (uid) VALUES (?)", (uid,))

    def keep_back(self, folders: Iterable[str]) -> None:
        """What waits of them is not sent: nobody knows a name for them."""
        with self._base.writing() as db:
            names = [(_KEPT_BACK + folder,) for folder in folders]
            db.executemany("INSERT OR REPLACE INTO counters VALUES (?, 1)", names)

    def kept_back(self) -> list[str]:
        asked = "SELECT substr(name, ?) FROM counters WHERE substr(name, 1, ?) = ?"
        size = len(_KEPT_BACK)
        return [row[0] for row in self._base.db.execute(asked, (size + 1, size, _KEPT_BACK))]

    def let_go(self, folder: str) -> None:
        """All of it waits."""
        with self._base.writing() as db:
            whole = "SELECT uid FROM items WHERE project = ? ORDER BY thread, seq, id"
            db.execute(f"INSERT OR IGNORE INTO unsent (uid) {whole}", (folder,))
            db.execute("DELETE FROM counters WHERE name = ?", (_KEPT_BACK + folder,))

    def vectors(self, uids: Sequence[str]) -> dict[str, list[tuple[str, numpy.ndarray]]]:
        """Model -> (uid, vector) of those that have one."""
        found: dict[str, list[tuple[str, numpy.ndarray]]] = {}
        for some in sql.in_parts(uids):
            asked = (
                "SELECT v.model, i.uid, v.data FROM items i JOIN vectors v USING (id) "  # noqa: S608
                f"WHERE i.uid IN ({sql.marks(some)})"
            )
            for model, uid, data in self._base.db.execute(asked, some):
                import numpy

                found.setdefault(model, []).append((uid, numpy.frombuffer(data, dtype="<f2")))
        return found

    def projects(self) -> list[str]:
        """Folders of which there is anything."""
        asked = "SELECT DISTINCT project FROM items"
        return [row[0] for row in self._base.db.execute(asked)]

    def counter(self, name: str) -> int:
        found = self._base.db.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
        return int(found[0]) if found else 0

    def set_counter(self, name: str, value: int) -> None:
        with self._base.writing() as db:
            db.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", (name, value))


@contextmanager
def unsent(path: str) -> Iterator[Unsent]:
    base = Database(path)
    try:
        yield Unsent(base)
    finally:
        base.close()
