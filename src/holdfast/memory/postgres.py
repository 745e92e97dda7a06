"""Deep memory in the PostgreSQL of a team: the engine behind `Shelf` for many machines.

The same columns of words as in SQLite, in one tsvector, weighed by the same formula (bm25): PostgreSQL's
own ranking knows how often a word stands in an item, and not how rare it is among all. Vectors are
pgvector's, where the server has it; else, and that is said, words alone. Every value is a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from json import dumps
from typing import Any

from sqlalchemy import Connection, text

from holdfast.memory import pgsql
from holdfast.memory.shelf import MOST_SOURCES, Counts, Filter, Item, Row
from holdfast.memory.terms import telling
from holdfast.store import migrations
from holdfast.store.database import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy

#: Items from which the share of a word is told; from which on the server's statistics say how many there
#: are, and as many as are counted where they say less; that are weighed for a question; that are compared
#: with it one by one, because an index that all projects share is slower for so few.
_SAMPLE, _TRUSTED, _COUNTED, _WEIGHED, _ONE_BY_ONE = 600, 1_000, 5_000, 5_000, 8_000
#: Among more items than this, those that hold any of the words are too many to be weighed; and so many that
#: hold a word are looked at to tell how many there are.
_MANY, _HELD = 50_000, pgsql.FEW + 1
#: How far an index is searched: more finds more, and takes longer.
SETTINGS = {
    "hnsw.ef_search": "300",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": "40000",
    # A plan is made for these very values, or a rare word is looked for as a common one is.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "16MB",  # for the words of all that are weighed
}
#: A statement is taken apart once.
_text = lru_cache(maxsize=200)(text)


class Postgres:
    """`machine` names this one in what is added. Nothing is asked before it is needed."""

    def __init__(self, store: Store, machine: str = "") -> None:
        self.store = store
        self.machine = machine
        self._held: Connection | None = None
        self._is_limited = True
        self._has_vectors: bool | None = None
        self._shares: dict[str, float] = {}
        self._sizes: dict[Filter, int] = {}

    # What is kept

    def add(self, items: Sequence[Item]) -> int:
        with self.store.writing() as db:
            return self._add(db, items)

    def send(
        self, items: Sequence[Row], gone: Sequence[str], vectors: dict[str, list[tuple[str, numpy.ndarray]]]
    ) -> None:
        """What a machine has now and what it has no longer, with vectors by model: all of it or nothing."""
        with self.store.writing() as db:
            self._removed(db, "i.uid = ANY(:given) AND i.who = current_user", {"given": list(gone)})
            self._add(db, items, anew=True)
            for model, made in vectors.items():
                self._put_vectors(db, model, made)

    def _add(self, db: Connection, items: Sequence[Item], anew: bool = False) -> int:
        """In few statements, however many there are: the server may be far away. `anew`: with the words of
        all of them, also of those that have not changed: a neighbour may have been erased by another role,
        which cannot write here."""
        new, fresh, wave = 0, list[int](), dict[str, Item]()
        for item in items:
            if item.uid in wave:  # once more: as if it had come later
                new += self._put(db, wave, fresh, anew)
                wave = {}
            wave[item.uid] = item
        new += self._put(db, wave, fresh, anew)
        self._write_words(db, fresh)
        return new

    def _put(self, db: Connection, items: dict[str, Item], fresh: list[int], anew: bool) -> int:
        """How many are new. One that was forgotten is not taken in."""
        if not items:
            return 0
        known = {row.uid: row for row in db.execute(pgsql.KNOWN, {"uids": list(items)})}
        made = [pgsql.made(item, self.machine) for item in items.values() if item.uid not in known]
        added = db.scalars(pgsql.INSERT, {"made": dumps(made)}).all() if made else []
        fresh += added
        dated, replaced = [], []
        for uid, row in known.items():
            item = items[uid]
            said = {"id": row.id, "at": item.at, "source": item.source, "most": MOST_SOURCES}
            dated.append({**said, "first_at": getattr(item, "first_at", item.at)})
            is_other = (item.text, item.title, item.kind) != (row.text, row.title, row.kind)
            if (item.shape != row.shape and item.at >= row.at) or (anew and is_other):
                texts = {name: getattr(item, name) for name in ("text", "title", "kind", "shape")}
                replaced.append({**dated[-1], **texts, "files": list(item.files)})
        if dated:
            db.execute(pgsql.DATE, dated)
        if anew:
            fresh += [row.id for row in known.values()]
        if replaced:
            db.execute(pgsql.REPLACE, replaced)
            other = [one["id"] for one in replaced]
            fresh += [] if anew else other
            if self._with_vectors(db):
                db.execute(text("DELETE FROM vectors WHERE item = ANY(:ids)"), {"ids": other})
        return len(added)

    def _write_words(self, db: Connection, fresh: Sequence[int]) -> None:
        """Of what is new in a thread, and of what has a new neighbour."""
        if not fresh:
            return
        threads: dict[str, list[Any]] = {}
        for row in db.execute(pgsql.NEIGHBOURS, {"fresh": list(fresh), "far": 2 * pgsql.FAR}):
            threads.setdefault(row.thread or f"\0{row.id}", []).append(row)
        written: list[dict[str, Any]] = []
        for rows in threads.values():
            own = [pgsql.searched(row) for row in rows]
            said = [" ".join(telling(one)) for one in own]
            new = [at for at, row in enumerate(rows) if row.is_fresh]
            for at, row in enumerate(rows):
                if any(abs(row.place - rows[one].place) <= pgsql.FAR for one in new):
                    beside = {rows[one].place - row.place: said[one] for one in pgsql.within(rows, at)}
                    written.append(pgsql.weighted(row, own[at], beside))
        db.execute(pgsql.WORDS, written)

    def remove(self, uids: Iterable[str]) -> int:
        """The row, its words and its vectors at once for everybody who asks; the bytes on the server's disk
        when it next cleans up after itself."""
        with self.store.writing() as db:
            return self._removed(db, "i.uid = ANY(:given)", {"given": list(uids)})

    def _removed(self, db: Connection, condition: str, given: dict[str, Any]) -> int:
        """Its words stand with its neighbours, too."""
        beside = db.scalars(text(pgsql.LEFT.format(condition)), {**given, "far": pgsql.FAR}).all()
        gone = db.execute(text(f"DELETE FROM items i WHERE {condition}"), given).rowcount  # noqa: S608
        self._write_words(db, beside)
        return gone

    # Candidates

    def keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        with self.asking():
            return self._keyword(words, where, most)

    def _keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        size = self.size(where)
        if size <= _MANY or len(words) == 1:
            return self._weighed(words, where, most, size, {}, pgsql.any_of(words))[0]
        held = self._holding(words[: pgsql.PAIRED], where)
        best, count = self._weighed(words, where, most, size, held, pgsql.some_of(words, held))
        if count == _WEIGHED and self._is_limited and pgsql.rare(held):
            # One that seemed rare may be common: examples were counted.
            held = self._holding(words[: pgsql.PAIRED], where, every=True)
            best, _ = self._weighed(words, where, most, size, held, pgsql.some_of(words, held))
        if len(best) < most:  # two of them stand together in few
            known = {uid for uid, _ in best}
            rarest = pgsql.any_of(pgsql.rarest(held, _WEIGHED))
            more, _ = self._weighed(words, where, most, size, held, rarest)
            best += [one for one in more if one[0] not in known]
        return best[:most]

    def _holding(self, words: Sequence[str], where: Filter, every: bool = False) -> dict[str, float]:
        """By about how many items of all that one may see, in the projects that are meant, each word is
        held: for members as examples tell, unless `every` item is to be counted."""
        if not self._is_limited:  # the server's statistics are of all items, and so for whoever sees all
            asked = "EXPLAIN (FORMAT JSON) SELECT 1 FROM items WHERE words @@ to_tsquery('holdfast', :word)"
            plans = {word: self._ask(asked, {"word": pgsql.quoted(word)})[0][0] for word in words}
            return {word: float(plan[0]["Plan"]["Plan Rows"]) for word, plan in plans.items()}
        found = self._ask(
            "SELECT held FROM items_counted(ARRAY(SELECT to_tsquery('holdfast', word) "
            "FROM unnest(CAST(:words AS text[])) WITH ORDINALITY AS w (word, at) ORDER BY at), "
            ":projects, :most, :every)",
            {
                "words": list(map(pgsql.quoted, words)),
                "projects": list(where.projects) or None,
                "most": _HELD,
                "every": every,
            },
        )
        return {word: float(row[0]) for word, row in zip(words, found, strict=True)}

    def _weighed(
        self,
        words: Sequence[str],
        where: Filter,
        most: int,
        size: int,
        held: dict[str, float],
        query: str,
    ) -> tuple[list[tuple[str, float]], int]:
        """The best of those that `query` finds, and how many it has found; where not all that hold a word
        are among them, `held` says how many there are."""
        if not words:
            return [], 0
        numbers = range(len(words))
        scope = pgsql.scope(where, self._is_limited)
        asked = f"{'CAST(:scope AS tsquery) && ' if scope else ''}to_tsquery('holdfast', :query)"
        hold, values = pgsql.holding(asked, where, self._is_limited)
        ranks = ", ".join(
            f"ts_rank({pgsql.WEIGHTS}, i.words, to_tsquery('holdfast', :w{at})) AS r{at}" for at in numbers
        )
        counts = ", ".join(f"count(*) FILTER (WHERE r{at} > 0) AS n{at}" for at in numbers)
        fits = " + ".join(pgsql.BM25.format(at=at) for at in numbers)
        given: dict[str, Any] = {f"w{at}": pgsql.quoted(word) for at, word in enumerate(words)}
        given |= {
            f"s{at}": held.get(word, self._shares.get(word, 0.0) * size) for at, word in enumerate(words)
        }
        given |= {"scope": scope, "query": query, "every": size, "most": most, "weighed": _WEIGHED}
        found = self._ask(
            f"WITH hits AS MATERIALIZED (SELECT i.uid, i.id, length(i.words) AS size, {ranks} "  # noqa: S608
            f"FROM {hold} AS i), "
            f"every AS (SELECT avg(size) AS size, count(*) AS found, "
            f"greatest(:every, count(*)) AS items, {counts} FROM hits) SELECT hits.uid, {fits} AS fit, "
            "every.found FROM hits, every ORDER BY fit DESC, hits.id LIMIT :most",
            {**given, **values},
        )
        best: dict[str, float] = {}
        for uid, fit, _ in found:
            best.setdefault(uid, float(fit))
        return list(best.items()), found[0].found if found else 0

    def common(self, words: Sequence[str], where: Filter) -> dict[str, float]:
        """Of the newest of those meant: a word that half of them hold says nothing about any."""
        if not words:
            return {}
        counts = ", ".join(
            f"count(*) FILTER (WHERE words @@ to_tsquery('holdfast', :w{at}))" for at in range(len(words))
        )
        limits, values = pgsql.limits(pgsql.broad(where))
        newest = "i.first_at" if len(where.projects) == 1 else "i.id"
        sample = f"SELECT i.words FROM items i WHERE true{limits} ORDER BY {newest} DESC LIMIT :sample"  # noqa: S608
        given = {f"w{at}": pgsql.quoted(word) + ":A" for at, word in enumerate(words)}
        every, *held = self._ask(
            f"SELECT count(*), {counts} FROM ({sample}) AS i",  # noqa: S608
            {**given, **values, "sample": _SAMPLE},
        )[0]
        self._shares = {word: count / max(1, every) for word, count in zip(words, held, strict=True)}
        return dict(self._shares)

    def size(self, where: Filter) -> int:
        """To the last one where there are few; else as many as the server's own statistics say."""
        meant = pgsql.broad(where)
        if self._held is None or meant not in self._sizes:
            self._sizes[meant] = self._size(meant)
        return self._sizes[meant]

    def _size(self, meant: Filter) -> int:
        limits, values = pgsql.limits(meant)
        some = f"SELECT 1 FROM items i WHERE true{limits}"  # noqa: S608
        plan = self._ask(f"EXPLAIN (FORMAT JSON) {some}", values)[0][0]
        about = int(plan[0]["Plan"]["Plan Rows"])
        if about >= _TRUSTED:
            return about
        few = self._counted(meant, _COUNTED)
        return few if few < _COUNTED else max(few, about)

    def _counted(self, where: Filter, most: int) -> int:
        limits, values = pgsql.limits(where)
        some = f"SELECT 1 FROM items i WHERE true{limits} LIMIT :most"  # noqa: S608
        return int(self._ask(f"SELECT count(*) FROM ({some}) AS few", {**values, "most": most})[0][0])  # noqa: S608

    def nearest(
        self, model: str, vector: numpy.ndarray, where: Filter, most: int
    ) -> list[tuple[str, float]]:
        with self.asking() as db:
            if not self._with_vectors(db):
                return []
            limits, values = pgsql.limits(where, project="v.project")
            given = {**values, "vector": pgsql.halfvec(vector), "most": most}
            away = f"CAST(v.data AS halfvec({len(vector)})) <=> CAST(:vector AS halfvec({len(vector)}))"
            # By the index, which knows no project; or, where few are meant, by a look at each.
            away = f"({away})" if self._are_many(where) else f"({away}) + 0"
            with_items = "JOIN items i ON i.id = v.item " if where != Filter(where.projects) else ""
            found = self._ask(
                f"SELECT i.uid, 1 - n.away FROM (SELECT v.item, {away} AS away FROM vectors v {with_items}"  # noqa: S608
                f"WHERE v.model = {pgsql.literal(model)} AND {pgsql.of_size(vector)}{limits} "
                "ORDER BY away LIMIT :most) AS n JOIN items i ON i.id = n.item ORDER BY n.away",
                given,
            )
        return [(uid, float(fit)) for uid, fit in found]

    def _are_many(self, where: Filter) -> bool:
        if self.size(where) < _ONE_BY_ONE:
            return False
        return where == pgsql.broad(where) or self._counted(where, _ONE_BY_ONE) == _ONE_BY_ONE

    def similar(self, model: str, vector: numpy.ndarray, uids: Sequence[str]) -> dict[str, float]:
        with self.asking() as db:
            if not uids or not self._with_vectors(db):
                return {}
            distance = f"CAST(v.data AS halfvec({len(vector)})) <=> CAST(:vector AS halfvec({len(vector)}))"
            found = self._ask(
                f"SELECT i.uid, 1 - ({distance}) FROM items i JOIN vectors v ON v.item = i.id "  # noqa: S608
                f"WHERE i.uid = ANY(:uids) AND v.model = :model AND {pgsql.of_size(vector)} "
                "ORDER BY i.id DESC",
                {"uids": list(uids), "model": model, "vector": pgsql.halfvec(vector)},
            )
            return {uid: float(fit) for uid, fit in found}

    def lacking(self, model: str, size: int, most: int) -> list[tuple[str, str]]:
        """Of our own."""
        with self.asking() as db:
            if not self._with_vectors(db):
                return []
            found = db.execute(pgsql.LACKING, {"model": model, "size": size, "most": most})
            return [(uid, f"{title}. {said}" if title else said) for uid, title, said in found]

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, numpy.ndarray]]) -> None:
        if not vectors:
            return
        with self.store.writing() as db:
            self._put_vectors(db, model, vectors)

    def _put_vectors(
        self, db: Connection, model: str, vectors: Sequence[tuple[str, numpy.ndarray]]
    ) -> None:
        if vectors and self._with_vectors(db):
            given = [
                {"uid": uid, "model": model, "vector": pgsql.halfvec(one), "machine": self.machine}
                for uid, one in vectors
            ]
            db.execute(pgsql.PUT_VECTOR, given)

    # Items themselves

    def rows(self, uids: Sequence[str]) -> dict[str, Row]:
        return {
            row.uid: row for row in self._rows("i.uid = ANY(:uids) ORDER BY i.id DESC", uids=list(uids))
        }

    def around(self, uid: str, before: int, after: int) -> list[Row]:
        middle = self.rows([uid]).get(uid)
        if middle is None or not middle.thread:
            return [middle] if middle else []
        place = {"thread": middle.thread, "seq": middle.seq, "who": getattr(middle, "who", "")}
        same = "i.thread = :thread AND i.thread <> '' AND i.who = :who AND i.seq"
        earlier = self._rows(f"{same} < :seq ORDER BY i.seq DESC LIMIT :most", **place, most=before)
        later = self._rows(f"{same} > :seq ORDER BY i.seq LIMIT :most", **place, most=after)
        return [*reversed(earlier), middle, *later]

    def timeline(self, where: Filter, most: int) -> list[Row]:
        limits, values = pgsql.limits(where)
        return self._rows(
            f"true{limits} ORDER BY i.first_at DESC, i.id DESC LIMIT :most", **values, most=most
        )

    def meant(self, uids: Sequence[str], where: Filter) -> set[str]:
        """Which of these are."""
        limits, values = pgsql.limits(where)
        asked = f"SELECT i.uid FROM items i WHERE i.uid = ANY(:uids){limits}"  # noqa: S608
        return {row[0] for row in self._ask(asked, {**values, "uids": list(uids)})}

    def projects(self, uids: Sequence[str] = ()) -> list[str]:
        """Of these, or all that may be seen: from one to the next, by the index."""
        if uids:
            asked = "SELECT DISTINCT project FROM items WHERE uid = ANY(:uids)"
            return [row[0] for row in self._ask(asked, {"uids": list(uids)})]
        return [row[0] for row in self._ask(pgsql.PROJECTS, {})]

    def alike(self, project: str, shapes: Sequence[str]) -> list[str]:
        """uids of all that say the same in a project."""
        asked = "SELECT uid FROM items WHERE project = :project AND shape = ANY(:shapes)"
        return [
            row[0] for row in self._ask(asked, {"project": project, "shapes": list(filter(None, shapes))})
        ]

    def counts(self, model: str = "") -> Counts:
        kept = self._ask("SELECT collection, count(*) FROM items GROUP BY collection", {})
        models: dict[str, int] = {}
        if not self.no_vectors():
            models = dict(self._ask("SELECT model, count(*) FROM vectors GROUP BY model", {}))
        return Counts(dict(kept), models.get(model, 0), models)

    def no_vectors(self) -> str:
        with self.asking() as db:
            return migrations.no_vectors(db)

    # Forgotten

    def forget(self, project: str, shapes: Sequence[str]) -> int:
        """Gone, and refused from whoever sends it again; each machine erases it when it next pulls."""
        with self.store.writing() as db:
            given = {"project": project, "shapes": sorted({one for one in shapes if one})}
            db.execute(pgsql.FORGET, {**given, "machine": self.machine})
            return self._removed(db, "i.project = :project AND i.shape = ANY(:shapes)", given)

    def forgotten(self, projects: Sequence[str]) -> list[tuple[str, str]]:
        """(project, shape)."""
        asked = "SELECT project, shape FROM forgotten WHERE project = ANY(:projects) ORDER BY 1, 2"
        return [tuple(row) for row in self._ask(asked, {"projects": list(projects)})]

    # How it is asked

    @contextmanager
    def asking(self) -> Iterator[Connection]:
        """One connection for all that one question needs."""
        if self._held is not None:
            yield self._held
            return
        with self.store.reading() as db:
            settings = ", ".join(
                f"set_config('{name}', '{value}', true)" for name, value in SETTINGS.items()
            )
            # Whom no policy limits asks the table itself: the functions show members what is theirs.
            limited = "row_security_active(to_regclass('items'))"
            self._is_limited = db.execute(text(f"SELECT {settings}, {limited}")).one()[-1] is not False
            self._held, self._sizes = db, {}
            try:
                yield db
            finally:
                self._held = None

    def _ask(self, statement: str, given: dict[str, Any]) -> list[Any]:
        with self.asking() as db:
            return list(db.execute(_text(statement), given).all())

    def _rows(self, condition: str, **given: Any) -> list[Row]:
        return [pgsql.row(one) for one in self._ask(pgsql.ROWS + condition, given)]

    def _with_vectors(self, db: Connection) -> bool:
        if self._has_vectors is None:
            self._has_vectors = migrations.has_vectors(db)
        return self._has_vectors
