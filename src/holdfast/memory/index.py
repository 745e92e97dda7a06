"""Deep memory in one SQLite file: the engine behind `Shelf` that needs nothing but a disk.

A cache: `holdfast memory rebuild` makes it anew from files. What stands before and after an item is indexed
with it, in columns that weigh less: half of what is asked for is told apart by what was said around it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from errno import EBUSY
from typing import Any

from holdfast.memory import database, sql, vectorfile
from holdfast.memory.database import Database
from holdfast.memory.shelf import Counts, Filter, Item, Row
from holdfast.memory.sql import COLUMNS, ROWS
from holdfast.memory.terms import indexed, is_unspaced, storable, telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy

#: What a word counts in the item itself, in its neighbours, and in theirs.
_WEIGHTS = "1.0, 0.5, 0.2, 0.0"
_FAR = 3
#: Items from which the share of a word is told.
_SAMPLE = 1000
_NEW_VECTOR = (
    "INSERT INTO vectors (id, model, data, change) "
    "SELECT ?, ?, ?, value + 1 FROM counters WHERE name = 'vectors'"
)


class Index:
    def __init__(self, path: str) -> None:
        self._base = Database(path)
        self._db = self._base.db
        if self._base.version < database.VERSION:
            self._renew()

    def close(self) -> None:
        self._base.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _renew(self) -> None:
        """Since version 2 texts without spaces are indexed by pairs of letters; since version 3 only what
        the user typed is theirs."""
        with self._writing() as db:
            if database.second(db):
                self._index_pairs(db)
            gone, changed = database.third(db)
            for at in changed:
                self._lose_vector(db, at)
            self._index(db, changed.items())
            self._remove(db, gone)

    def _index_pairs(self, db: sqlite3.Connection) -> None:
        every = db.execute("SELECT id, thread, by, title, text, files FROM items").fetchall()
        self._index(db, ((at, thread) for at, thread, *texts in every if any(map(is_unspaced, texts))))

    def _index(self, db: sqlite3.Connection, those: Iterable[tuple[int, str]]) -> None:
        threads: dict[str, set[int]] = {}
        for at, thread in those:
            threads.setdefault(thread or f"\0{at}", set()).add(at)
        for thread, ids in threads.items():
            self._write_words(db, thread, ids)

    # What is kept

    def add(self, items: Sequence[Item]) -> int:
        with self._writing() as db:
            return self._add(db, items)

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._base.writing()

    def _add(self, db: sqlite3.Connection, items: Sequence[Item], anew: bool = False) -> int:
        new, threads = 0, dict[str, set[int]]()
        for item in items:
            known = db.execute("SELECT id, shape, at FROM items WHERE uid = ?", (item.uid,)).fetchone()
            at = known[0] if known else self._insert(db, item)
            new += not known
            is_newer = known and item.shape != known[1] and (anew or item.at >= known[2])
            if is_newer:
                self._replace(db, at, item)
            if is_newer or not known:
                threads.setdefault(item.thread or f"\0{at}", set()).add(at)
            db.execute(
                "UPDATE items SET at = max(at, ?), first_at = min(first_at, ?) WHERE id = ?",
                (item.at, item.at, at),
            )
            db.execute("INSERT OR IGNORE INTO places VALUES (?, ?)", (item.source, at))
        for thread, fresh in threads.items():
            self._write_words(db, thread, fresh)
        if threads:
            _changed(db)
        return new

    def _insert(self, db: sqlite3.Connection, item: Item) -> int:
        said = {name: getattr(item, name, item.at) for name in COLUMNS}
        said["files"] = json.dumps(item.files)
        insert = f"INSERT INTO items ({', '.join(said)}) VALUES ({sql.marks(COLUMNS)})"  # noqa: S608
        return db.execute(insert, list(said.values())).lastrowid or 0

    def _replace(self, db: sqlite3.Connection, at: int, item: Item) -> None:
        """The same thing, which says something else now."""
        said = (item.text, item.title, item.kind, item.shape, json.dumps(item.files), item.at, at)
        changes = "text = ?, title = ?, kind = ?, shape = ?, files = ?, first_at = ?"
        db.execute(f"UPDATE items SET {changes} WHERE id = ?", said)  # noqa: S608
        self._lose_vector(db, at)

    def _lose_vector(self, db: sqlite3.Connection, at: int) -> None:
        db.execute("DELETE FROM vectors WHERE id = ?", (at,))
        self._base.gone.append(at)

    def _write_words(self, db: sqlite3.Connection, thread: str, fresh: set[int]) -> None:
        """Of what is new in a thread, and of what has a new neighbour."""
        alone = thread[0] == "\0"
        wanted = "SELECT id, by, title, text, files, project, collection, origin FROM items WHERE {} = ? "
        select = wanted.format("id" if alone else "thread") + "ORDER BY seq, id"
        rows = db.execute(select, (thread[1:] if alone else thread,)).fetchall()
        near_new = {
            near
            for at, row in enumerate(rows)
            if row[0] in fresh
            for near in range(max(0, at - _FAR), min(len(rows), at + _FAR + 1))
        }
        texts = {
            at: _searched(*rows[at][1:5])
            for one in near_new
            for at in range(max(0, one - _FAR), min(len(rows), one + _FAR + 1))
        }
        said = {at: " ".join(telling(text)) for at, text in texts.items()}
        for at in near_new:
            near = " ".join(said.get(one, "") for one in (at - 1, at + 1))
            far = " ".join(said.get(one, "") for one in (at - 3, at - 2, at + 2, at + 3))
            db.execute("DELETE FROM words WHERE rowid = ?", rows[at][:1])
            db.execute(
                "INSERT INTO words (rowid, text, near, far, scope) VALUES (?, ?, ?, ?, ?)",
                (rows[at][0], indexed(texts[at]), near, far, sql.scopes(*rows[at][5:])),
            )

    def remove(self, uids: Iterable[str]) -> int:
        with self._writing() as db:
            gone = [
                row[0] for uid in uids for row in db.execute("SELECT id FROM items WHERE uid = ?", (uid,))
            ]
            self._remove(db, gone)
        if gone and not self._scrub():
            raise OSError(
                EBUSY, "erased, but its log holds it until whoever reads it now is done", self._base.path
            )
        return len(gone)

    def _remove(self, db: sqlite3.Connection, gone: list[int]) -> None:
        for at in gone:
            thread, seq = db.execute("SELECT thread, seq FROM items WHERE id = ?", (at,)).fetchone()
            db.execute("DELETE FROM words WHERE rowid = ?", (at,))
            self._lose_vector(db, at)
            for table in ("places", "items"):
                db.execute(f"DELETE FROM {table} WHERE id = ?", (at,))  # noqa: S608
            if thread:  # its words stand with its neighbours, too
                self._write_words(db, thread, self._beside(db, thread, seq))
        if gone:
            _changed(db)

    def _beside(self, db: sqlite3.Connection, thread: str, seq: int) -> set[int]:
        before = "SELECT id FROM items WHERE thread = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
        after = "SELECT id FROM items WHERE thread = ? AND seq >= ? ORDER BY seq LIMIT ?"
        return {row[0] for one in (before, after) for row in db.execute(one, (thread, seq, _FAR))}

    def _scrub(self) -> bool:
        """What was deleted stays nowhere: not among words that are merged some day, not in the log. False
        where somebody has been reading for so long that the log could not be emptied."""
        with self._base.locked():
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
            return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    # What has been read of the files

    def mark(self, path: str) -> str:
        found = self._db.execute("SELECT mark FROM read WHERE path = ?", (storable(path),)).fetchone()
        return found[0] if found else ""

    def marked(self, folder: str) -> list[str]:
        """Of the files below a folder, those that were read."""
        folder = storable(folder)
        beyond = folder + chr(ord("/") + 1)
        found = self._db.execute(
            "SELECT path FROM read WHERE path > ? AND path < ?", (folder + "/", beyond)
        )
        return [row[0] for row in found]

    def is_new(self) -> bool:
        """Whether nothing was ever read."""
        return not self._db.execute("SELECT 1 FROM read LIMIT 1").fetchone()

    def unmark(self) -> None:
        """All files are read again; the words are indexed anew from what was said, the vectors laid out
        anew."""
        with self._writing() as db:
            vectorfile.remove(self._base.path + vectorfile.END)
            db.execute("DELETE FROM read")
            db.execute("INSERT INTO words (words) VALUES ('rebuild')")

    def take(self, path: str, mark: str, items: Sequence[Item], anew: bool = False) -> int:
        """What a file says and that it was read, both or neither. `anew`: what it said before is gone."""
        path = storable(path)
        with self._writing() as db:
            gone = self._no_longer(db, path, {item.uid for item in items}) if anew else []
            self._remove(db, gone)
            new = self._add(db, items, anew)
            db.execute("DELETE FROM read WHERE path = ?", (path,))
            if mark:
                db.execute("INSERT INTO read VALUES (?, ?)", (path, mark))
        if gone:
            self._scrub()
        return new

    def _no_longer(self, db: sqlite3.Connection, path: str, kept: set[str]) -> list[int]:
        """What no file says any more, now that this one does not."""
        rows = db.execute(
            "SELECT id, uid, (SELECT count(*) FROM places o WHERE o.id = p.id) "
            "FROM items JOIN places p USING (id) WHERE p.path = ?",
            (path,),
        ).fetchall()
        gone = [(at, places) for at, uid, places in rows if uid not in kept]
        db.executemany("DELETE FROM places WHERE path = ? AND id = ?", [(path, at) for at, _ in gone])
        return [at for at, places in gone if places == 1]

    # Candidates

    def keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        if not words:
            return []
        limits, values = sql.limits(where, every=False)
        items = "JOIN items i ON i.id = words.rowid " if limits else ""  # else only for the best
        asked, meant = sql.match(words, Filter()), sql.match(words, where)
        if meant != asked:  # apart: bm25 counts how many items hold each word it is given, also a scope
            limits += " AND +words.rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(meant)
        best = (
            f"SELECT words.rowid AS id, -bm25(words, {_WEIGHTS}) AS fit FROM words {items}"  # noqa: S608
            f"WHERE words MATCH ?{limits} ORDER BY fit DESC LIMIT ?"
        )
        found = self._db.execute(
            f"SELECT uid, fit FROM ({best}) JOIN items USING (id) ORDER BY fit DESC, id",  # noqa: S608
            (asked, *values, most),
        )
        return found.fetchall()

    def common(self, words: Sequence[str], where: Filter) -> dict[str, float]:
        """Of the newest of those meant: a word that half of them hold says nothing about any."""
        since, every = self._sample(where)
        if every == self._last() - since + 1:
            where = Filter()  # all of them are meant
        return {
            word: self._count(sql.match([word], where, "text"), since) / max(1, every) for word in words
        }

    def size(self, where: Filter) -> int:
        since, every = self._sample(where)
        return every if since == 1 else every * self._last() // (self._last() - since + 1)

    def _sample(self, where: Filter) -> tuple[int, int]:
        """(from which id on, how many of those meant): enough, or all."""
        last, scope = self._last(), sql.match([], where)
        size, since, every = _SAMPLE, 1, last
        while size < last:
            since = last - size + 1
            every = self._count(scope, since) if scope else size
            if every >= _SAMPLE // 4:
                return since, every
            size *= 8
        return 1, self._count(scope, 1) if scope else last

    def _count(self, match: str, since: int) -> int:
        newest = (
            "SELECT rowid FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rowid DESC"  # from the end
        )
        count = f"SELECT count(*) FROM ({newest})"  # noqa: S608
        return int(self._db.execute(count, (match, since)).fetchone()[0])

    def _last(self) -> int:
        return self._db.execute("SELECT max(id) FROM items").fetchone()[0] or 0

    def nearest(
        self, model: str, vector: numpy.ndarray, where: Filter, most: int
    ) -> list[tuple[str, float]]:
        ids, matrix = None, self._matrix(model, vector)
        limits, values = sql.limits(where, every=False)
        if limits:
            meant = self._db.execute(f"SELECT id FROM items i WHERE 1{limits}", values)  # noqa: S608
            ids = [row[0] for row in meant]
        found = matrix.nearest(vector, most, where, ids)
        uids = dict(self._pairs("id", "uid", [at for at, _ in found]))
        return [(uids[at], fit) for at, fit in found if at in uids]

    def similar(self, model: str, vector: numpy.ndarray, uids: Sequence[str]) -> dict[str, float]:
        ids = dict(self._pairs("uid", "id", uids))
        found = self._matrix(model, vector).similar(vector, list(ids.values()))
        return {uid: found[at] for uid, at in ids.items() if at in found}

    def _matrix(self, model: str, vector: numpy.ndarray) -> Any:
        from holdfast.memory import vectors  # numpy: not for those who look for words alone

        return vectors.of(self._base, model, len(vector))

    def lacking(self, model: str, size: int, most: int) -> list[tuple[str, str]]:
        """That none does is kept: to look through all of them takes longer than to answer."""
        name, changes = f"embedded {model} {size}", self._counter("changes")
        if self._counter(name) == changes:
            return []
        found = self._db.execute(
            "SELECT uid, title, text FROM items LEFT JOIN vectors v ON v.id = items.id AND v.model = ? "
            "AND length(v.data) = ? WHERE v.id IS NULL LIMIT ?",
            (model, 2 * size, most),
        ).fetchall()
        if not found:
            with self._writing() as db:
                db.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", (name, changes))
        return [(uid, f"{title}. {text}" if title else text) for uid, title, text in found]

    def _counter(self, name: str) -> int | None:
        found = self._db.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, numpy.ndarray]]) -> None:
        with self._writing() as db:
            for uid, vector in vectors:
                for row in db.execute("SELECT id FROM items WHERE uid = ?", (uid,)).fetchall():
                    if db.execute("SELECT 1 FROM vectors WHERE id = ?", row).fetchone():
                        self._lose_vector(db, row[0])
                    data = vector.astype("<f2").tobytes()
                    db.execute(_NEW_VECTOR, (*row, model, data))
            _changed(db)
            _changed(db, "vectors")

    # Items themselves

    def rows(self, uids: Sequence[str]) -> dict[str, Row]:
        found = {}
        for some in sql.in_parts(uids):
            for row in self._rows(f"i.uid IN ({sql.marks(some)})", some):
                found[row.uid] = row
        return found

    def around(self, uid: str, before: int, after: int) -> list[Row]:
        middle = self.rows([uid]).get(uid)
        if middle is None or not middle.thread:
            return [middle] if middle else []
        place = (middle.thread, middle.seq)
        earlier = self._rows("i.thread = ? AND i.seq < ? ORDER BY i.seq DESC LIMIT ?", (*place, before))
        later = self._rows("i.thread = ? AND i.seq > ? ORDER BY i.seq LIMIT ?", (*place, after))
        return [*reversed(earlier), middle, *later]

    def timeline(self, where: Filter, most: int) -> list[Row]:
        limits, values = sql.limits(where)
        return self._rows(f"1{limits} ORDER BY i.first_at DESC, i.id DESC LIMIT ?", (*values, most))

    def every(self) -> Iterator[Row]:
        last = 0
        while ids := self._db.execute("SELECT id FROM items WHERE id > ? LIMIT 500", (last,)).fetchall():
            yield from self._rows("i.id > ? AND i.id <= ? ORDER BY i.id", (last, ids[-1][0]))
            last = ids[-1][0]

    def alike(self, shapes: Sequence[str]) -> list[str]:
        """uids of all that say the same."""
        return [uid for _, uid in self._pairs("shape", "uid", [one for one in shapes if one])]

    def counts(self, model: str = "") -> Counts:
        kept = dict(self._db.execute("SELECT collection, count(*) FROM items GROUP BY collection"))
        models = dict(self._db.execute("SELECT model, count(*) FROM vectors GROUP BY model"))
        return Counts(kept, models.get(model, 0), models)

    def _rows(self, condition: str, values: Sequence[Any]) -> list[Row]:
        return [sql.row(row) for row in self._db.execute(f"{ROWS} WHERE {condition}", values).fetchall()]

    def _pairs(self, by: str, to: str, given: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for some in sql.in_parts(given):
            wanted = f"SELECT {by}, {to} FROM items WHERE {by} IN ({sql.marks(some)})"  # noqa: S608
            yield from self._db.execute(wanted, some)


def _changed(db: sqlite3.Connection, what: str = "changes") -> None:
    db.execute("UPDATE counters SET value = value + 1 WHERE name = ?", (what,))


def _searched(by: str, title: str, text: str, paths: str) -> str:
    return f"{by}\n{title}\n{text}\n{' '.join(json.loads(paths))}".strip()
