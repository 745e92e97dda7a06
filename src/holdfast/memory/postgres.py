"""Deep memory in the PostgreSQL of a team: the engine behind `Shelf` for many machines.

The same columns of words as in SQLite, in one tsvector, weighed by the same formula (bm25): PostgreSQL's
own ranking knows how often a word stands in an item, and not how rare it is among all. Vectors are
pgvector's, where the server has it; else, and that is said, words alone. Every value is a parameter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from json import dumps
from typing import Any

from sqlalchemy import Connection, text

from holdfast.memory.shelf import MOST_SOURCES, Counts, Filter, Item, Row, Told
from holdfast.memory.terms import key, telling, words
from holdfast.store import migrations
from holdfast.store.database import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy

_COLUMNS = (
    "uid collection text project lineage session agent origin by kind at title files thread seq shape "
    "first_at"
).split()
FAR = 3
#: What a word counts: not at all, two or three away from the item, beside it, in it.
_WEIGHTS = "'{0, 0.2, 0.5, 1}'"
#: One occurrence, as ts_rank counts it.
_ONE = 1.6449341
#: Items from which the share of a word is told; that are counted; that are weighed for a question; and that
#: are compared with a question one by one, because an index that all projects share is slower for so few.
_SAMPLE, _COUNTED, _WEIGHED, _ONE_BY_ONE = 600, 5_000, 5_000, 8_000
#: Among more items than this, one is weighed that holds two of the rarest words, or one that few hold: all
#: that hold any are too many.
_MANY, _PAIRED, _FEW = 50_000, 8, 500
#: How far an index is searched: more finds more, and takes longer.
_SETTINGS = {
    "hnsw.ef_search": "800",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": "40000",
    # A plan is made for these very values, or a rare word is looked for as a common one is.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
_BESIDE = (
    "(SELECT uid FROM items n WHERE n.thread = i.thread AND n.thread <> '' AND n.who = i.who "
    "AND n.seq {} i.seq ORDER BY n.seq {} LIMIT 1)"
)
_ROWS = (
    f"SELECT {', '.join(f'i.{name}' for name in _COLUMNS)}, i.sources, i.who, i.machine, "  # noqa: S608
    f"{_BESIDE.format('<', 'DESC')} AS before, {_BESIDE.format('>', 'ASC')} AS after FROM items i "
    # What is erased is deleted, whoever had put it there; what was sent at that very moment is not told.
    "WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.project = i.project AND f.shape = i.shape) AND "
)


class Postgres:
    """`machine` names this one in what is added. Nothing is asked before it is needed."""

    def __init__(self, store: Store, machine: str = "") -> None:
        self.store = store
        self.machine = machine
        self._held: Connection | None = None
        self._has_vectors: bool | None = None
        self._shares: dict[str, float] = {}

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
        known = {row.uid: row for row in db.execute(_KNOWN, {"uids": list(items)})}
        made = [_made(item, self.machine) for item in items.values() if item.uid not in known]
        added = db.scalars(_INSERT, {"made": dumps(made)}).all() if made else []
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
            db.execute(_DATE, dated)
        if anew:
            fresh += [row.id for row in known.values()]
        if replaced:
            db.execute(_REPLACE, replaced)
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
        for row in db.execute(_NEIGHBOURS, {"fresh": list(fresh), "far": 2 * FAR}):
            threads.setdefault(row.thread or f"\0{row.id}", []).append(row)
        written: list[dict[str, Any]] = []
        for rows in threads.values():
            own = [_searched(row) for row in rows]
            said = [" ".join(telling(one)) for one in own]
            new = [at for at, row in enumerate(rows) if row.is_fresh]
            for at, row in enumerate(rows):
                if any(abs(row.place - rows[one].place) <= FAR for one in new):
                    beside = {rows[one].place - row.place: said[one] for one in _within(rows, at)}
                    written.append(_words(row, own[at], beside))
        db.execute(_WORDS, written)

    def remove(self, uids: Iterable[str]) -> int:
        """The row, its words and its vectors at once for everybody who asks; the bytes on the server's disk
        when it next cleans up after itself."""
        with self.store.writing() as db:
            return self._removed(db, "i.uid = ANY(:given)", {"given": list(uids)})

    def _removed(self, db: Connection, condition: str, given: dict[str, Any]) -> int:
        """Its words stand with its neighbours, too."""
        beside = db.scalars(text(_LEFT.format(condition)), {**given, "far": FAR}).all()
        gone = db.execute(text(f"DELETE FROM items i WHERE {condition}"), given).rowcount  # noqa: S608
        self._write_words(db, beside)
        return gone

    # Candidates

    def keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        size = self.size(where)
        if size <= _MANY or len(words) == 1:
            return self._weighed(words, where, most, size, {}, _any(words))
        held = self._holding(words[:_PAIRED])
        best = self._weighed(words, where, most, size, held, _some(words, held))
        if len(best) < most:  # two of them stand together in few
            known = {uid for uid, _ in best}
            more = self._weighed(words, where, most, size, held, _any(words))
            best += [one for one in more if one[0] not in known]
        return best[:most]

    def _holding(self, words: Sequence[str]) -> dict[str, float]:
        """By how many items of all projects each word is held, as the server's statistics say."""
        asked = "EXPLAIN (FORMAT JSON) SELECT 1 FROM items WHERE words @@ to_tsquery('holdfast', :word)"
        plans = {word: self._ask(asked, {"word": _quoted(word)})[0][0] for word in words}
        return {word: float(plan[0]["Plan"]["Plan Rows"]) for word, plan in plans.items()}

    def _weighed(
        self,
        words: Sequence[str],
        where: Filter,
        most: int,
        size: int,
        held: dict[str, float],
        query: str,
    ) -> list[tuple[str, float]]:
        """The best of those that `query` finds; where not all that hold a word are among them, `held` says
        how many there are."""
        if not words:
            return []
        numbers = range(len(words))
        limits, values = _limits(where, every=False)
        scope = _scope(where)
        asked = f"{'CAST(:scope AS tsquery) && ' if scope else ''}to_tsquery('holdfast', :query)"
        ranks = ", ".join(
            f"ts_rank({_WEIGHTS}, i.words, to_tsquery('holdfast', :w{at})) AS r{at}" for at in numbers
        )
        counts = ", ".join(f"count(*) FILTER (WHERE r{at} > 0) AS n{at}" for at in numbers)
        fits = " + ".join(_BM25.format(at=at) for at in numbers)
        given: dict[str, Any] = {f"w{at}": _quoted(word) for at, word in enumerate(words)}
        given |= {
            f"s{at}": held.get(word, self._shares.get(word, 0.0) * size) for at, word in enumerate(words)
        }
        given |= {"scope": scope, "query": query, "every": size, "most": most, "weighed": _WEIGHED}
        found = self._ask(
            f"WITH hits AS MATERIALIZED (SELECT i.uid, i.id, length(i.words) AS size, {ranks} FROM items i "  # noqa: S608
            f"WHERE i.words @@ ({asked}){limits} LIMIT :weighed), "
            f"every AS (SELECT avg(size) AS size, greatest(:every, count(*)) AS items, {counts} FROM hits) "
            f"SELECT hits.uid, {fits} AS fit FROM hits, every ORDER BY fit DESC, hits.id LIMIT :most",
            {**given, **values},
        )
        best: dict[str, float] = {}
        for uid, fit in found:
            best.setdefault(uid, float(fit))
        return list(best.items())

    def common(self, words: Sequence[str], where: Filter) -> dict[str, float]:
        """Of the newest of those meant: a word that half of them hold says nothing about any."""
        if not words:
            return {}
        counts = ", ".join(
            f"count(*) FILTER (WHERE words @@ to_tsquery('holdfast', :w{at}))" for at in range(len(words))
        )
        limits, values = _limits(_broad(where))
        newest = "i.first_at" if len(where.projects) == 1 else "i.id"
        sample = f"SELECT i.words FROM items i WHERE true{limits} ORDER BY {newest} DESC LIMIT :sample"  # noqa: S608
        given = {f"w{at}": _quoted(word) + ":A" for at, word in enumerate(words)}
        every, *held = self._ask(
            f"SELECT count(*), {counts} FROM ({sample}) AS i",  # noqa: S608
            {**given, **values, "sample": _SAMPLE},
        )[0]
        self._shares = {word: count / max(1, every) for word, count in zip(words, held, strict=True)}
        return dict(self._shares)

    def size(self, where: Filter) -> int:
        """To the last one where there are few; else as many as the server's own statistics say."""
        limits, values = _limits(_broad(where))
        some = f"SELECT 1 FROM items i WHERE true{limits}"  # noqa: S608
        counted = f"SELECT count(*) FROM ({some} LIMIT :counted) AS few"  # noqa: S608
        few = int(self._ask(counted, {**values, "counted": _COUNTED})[0][0])
        if few < _COUNTED:
            return few
        plan = self._ask(f"EXPLAIN (FORMAT JSON) {some}", values)[0][0]
        return max(few, int(plan[0]["Plan"]["Plan Rows"]))

    def nearest(
        self, model: str, vector: numpy.ndarray, where: Filter, most: int
    ) -> list[tuple[str, float]]:
        with self.asking() as db:
            if not self._with_vectors(db):
                return []
            limits, values = _limits(where, project="v.project")
            given = {**values, "model": model, "vector": _halfvec(vector), "most": most}
            distance = f"CAST(v.data AS halfvec({len(vector)})) <=> CAST(:vector AS halfvec({len(vector)}))"
            # By the index, which knows no project; or, where few are meant, by a look at each.
            order = f"({distance})" if self._are_many(db, where) else f"({distance}) + 0"
            of_size = f"vector_dims(v.data) = {len(vector)}"
            found = db.execute(
                text(
                    f"SELECT i.uid, 1 - ({distance}) FROM vectors v JOIN items i ON i.id = v.item "  # noqa: S608
                    f"WHERE v.model = {_literal(model)} AND {of_size}{limits} ORDER BY {order} LIMIT :most"
                ),
                given,
            ).all()
        return [(uid, float(fit)) for uid, fit in found]

    def _are_many(self, db: Connection, where: Filter) -> bool:
        limits, values = _limits(where)
        some = f"SELECT 1 FROM items i WHERE true{limits} LIMIT :few"  # noqa: S608
        counted = text(f"SELECT count(*) FROM ({some}) AS few")  # noqa: S608
        return int(db.scalar(counted, {**values, "few": _ONE_BY_ONE}) or 0) == _ONE_BY_ONE

    def similar(self, model: str, vector: numpy.ndarray, uids: Sequence[str]) -> dict[str, float]:
        with self.asking() as db:
            if not uids or not self._with_vectors(db):
                return {}
            distance = f"CAST(v.data AS halfvec({len(vector)})) <=> CAST(:vector AS halfvec({len(vector)}))"
            found = db.execute(
                text(
                    f"SELECT i.uid, 1 - ({distance}) FROM items i JOIN vectors v ON v.item = i.id "  # noqa: S608
                    f"WHERE i.uid = ANY(:uids) AND v.model = :model "
                    f"AND vector_dims(v.data) = {len(vector)} ORDER BY i.id DESC"
                ),
                {"uids": list(uids), "model": model, "vector": _halfvec(vector)},
            )
            return {uid: float(fit) for uid, fit in found}

    def lacking(self, model: str, size: int, most: int) -> list[tuple[str, str]]:
        """Of our own."""
        with self.asking() as db:
            if not self._with_vectors(db):
                return []
            found = db.execute(_LACKING, {"model": model, "size": size, "most": most})
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
                {"uid": uid, "model": model, "vector": _halfvec(one), "machine": self.machine}
                for uid, one in vectors
            ]
            db.execute(_PUT_VECTOR, given)

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
        limits, values = _limits(where)
        return self._rows(
            f"true{limits} ORDER BY i.first_at DESC, i.id DESC LIMIT :most", **values, most=most
        )

    def meant(self, uids: Sequence[str], where: Filter) -> set[str]:
        """Which of these are."""
        limits, values = _limits(where)
        asked = f"SELECT i.uid FROM items i WHERE i.uid = ANY(:uids){limits}"  # noqa: S608
        return {row[0] for row in self._ask(asked, {**values, "uids": list(uids)})}

    def projects(self, uids: Sequence[str] = ()) -> list[str]:
        """Of these, or all that may be seen: from one to the next, by the index."""
        if uids:
            asked = "SELECT DISTINCT project FROM items WHERE uid = ANY(:uids)"
            return [row[0] for row in self._ask(asked, {"uids": list(uids)})]
        return [row[0] for row in self._ask(_PROJECTS, {})]

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
            db.execute(_FORGET, {**given, "machine": self.machine})
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
                f"set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items()
            )
            db.execute(text(f"SELECT {settings}"))
            self._held = db
            try:
                yield db
            finally:
                self._held = None

    def _ask(self, statement: str, given: dict[str, Any]) -> list[Any]:
        with self.asking() as db:
            return list(db.execute(text(statement), given).all())

    def _rows(self, condition: str, **given: Any) -> list[Row]:
        return [_row(one) for one in self._ask(_ROWS + condition, given)]

    def _with_vectors(self, db: Connection) -> bool:
        if self._has_vectors is None:
            self._has_vectors = migrations.has_vectors(db)
        return self._has_vectors


_PROJECTS = (
    "WITH RECURSIVE known AS ((SELECT project FROM items ORDER BY project LIMIT 1) UNION ALL "
    "SELECT (SELECT i.project FROM items i WHERE i.project > known.project ORDER BY i.project LIMIT 1) "
    "FROM known WHERE known.project IS NOT NULL) SELECT project FROM known WHERE project IS NOT NULL"
)
_KNOWN = text(
    "SELECT id, uid, shape, at, text, title, kind FROM items WHERE uid = ANY(:uids) AND who = current_user"
)
_KINDS = {"at": "bigint", "first_at": "bigint", "seq": "bigint", "files": "text[]", "sources": "text[]"}
_MADE = [*_COLUMNS, "sources", "machine"]
_TYPED = ", ".join(f"{name} {_KINDS.get(name, 'text')}" for name in _MADE)
_INSERT = text(
    f"INSERT INTO items ({', '.join(_MADE)}, words) SELECT {', '.join(_MADE)}, '' "  # noqa: S608
    f"FROM jsonb_to_recordset(CAST(:made AS jsonb)) AS made ({_TYPED}) WHERE NOT EXISTS "
    "(SELECT 1 FROM forgotten f WHERE f.project = made.project AND f.shape = made.shape) "
    "ORDER BY seq ON CONFLICT DO NOTHING RETURNING id"
)
_DATE = text(
    "UPDATE items SET at = greatest(at, :at), first_at = least(first_at, :first_at), "
    "sources = CASE WHEN :source = ANY(sources) OR cardinality(sources) >= :most THEN sources "
    "ELSE sources || CAST(:source AS text) END WHERE id = :id AND "
    "(at < :at OR first_at > :first_at OR NOT :source = ANY(sources))"
)
_REPLACE = text(
    "UPDATE items SET text = :text, title = :title, kind = :kind, shape = :shape, files = :files, "
    "first_at = :first_at WHERE id = :id"
)
#: Those that are fresh, with all that stands so near that it is told with them, each with its place.
_NEIGHBOURS = text(
    "WITH fresh AS (SELECT id, thread, who FROM items WHERE id = ANY(:fresh)), "
    "placed AS (SELECT i.id, i.thread, "
    "row_number() OVER (PARTITION BY i.thread, i.who ORDER BY i.seq, i.id) AS place "
    "FROM items i WHERE (i.thread, i.who) IN (SELECT thread, who FROM fresh WHERE thread <> '') "
    "UNION ALL SELECT id, thread, 0 FROM fresh WHERE thread = ''), "
    "near AS (SELECT DISTINCT p.id, p.thread, p.place, p.id = ANY(:fresh) AS is_fresh FROM placed p "
    "JOIN placed f ON f.id = ANY(:fresh) AND (f.id = p.id OR (f.thread = p.thread AND p.thread <> '' "
    "AND p.place BETWEEN f.place - :far AND f.place + :far))) "
    "SELECT i.id, n.thread, n.place, n.is_fresh, i.by, i.title, i.text, i.files, i.project, i.collection, "
    "i.origin FROM near n JOIN items i USING (id) ORDER BY n.thread, n.place"
)
_LEFT = (
    "WITH gone AS (SELECT id, thread, who, seq FROM items i WHERE {} AND thread <> '') "
    "SELECT DISTINCT n.id FROM gone g CROSS JOIN LATERAL ("
    "(SELECT id FROM items b WHERE b.thread = g.thread AND b.who = g.who AND b.seq <= g.seq "
    "AND b.id NOT IN (SELECT id FROM gone) ORDER BY b.seq DESC LIMIT :far) UNION ALL "
    "(SELECT id FROM items a WHERE a.thread = g.thread AND a.who = g.who AND a.seq >= g.seq "
    "AND a.id NOT IN (SELECT id FROM gone) ORDER BY a.seq LIMIT :far)) n"
)
#: The same words again are not written: what is sent twice costs the index nothing.
_WORDS = text(
    "UPDATE items SET words = made.words FROM (SELECT setweight(to_tsvector('holdfast', :own), 'A') "
    "|| setweight(to_tsvector('holdfast', :near), 'B') || setweight(to_tsvector('holdfast', :far), 'C') "
    "|| array_to_tsvector(:scope) AS words) AS made WHERE id = :id AND items.words <> made.words"
)
_LACKING = text(
    "SELECT uid, title, text FROM items i WHERE who = current_user AND NOT EXISTS (SELECT 1 FROM vectors v "
    "WHERE v.item = i.id AND v.model = :model AND vector_dims(v.data) = :size) ORDER BY id LIMIT :most"
)
_PUT_VECTOR = text(
    "INSERT INTO vectors (item, model, project, machine, data) SELECT id, :model, project, :machine, "
    "CAST(:vector AS halfvec) FROM items WHERE uid = :uid AND who = current_user "
    "ON CONFLICT (item, model) DO UPDATE SET data = excluded.data"
)
_FORGET = text(
    "INSERT INTO forgotten (project, shape, machine) SELECT :project, shape, :machine "
    "FROM unnest(CAST(:shapes AS text[])) AS shape ON CONFLICT DO NOTHING"
)
#: How rare a word is, times how often it stands in an item for its length: that of FTS5, see `index`.
_RARE = "greatest(ln((items - {n} + 0.5) / ({n} + 0.5)), 1e-6)"
_BM25 = (
    _RARE.format(n="least(items, greatest(n{at}, :s{at}))")
    + f" * r{{at}} * {_ONE} * 2.2 / (r{{at}} * {_ONE} + 1.2 * (0.25 + 0.75 * hits.size / every.size))"
)


def _made(item: Item, machine: str) -> dict[str, Any]:
    said = {name: getattr(item, name, item.at) for name in _COLUMNS}
    sources = getattr(item, "sources", ()) or (item.source,)
    return {**said, "files": list(item.files), "sources": list(sources), "machine": machine}


def _row(one: Any) -> Row:
    said = {name: getattr(one, name) for name in _COLUMNS}
    said |= {"files": tuple(one.files), "source": one.sources[0] if one.sources else ""}
    return Told(
        **said,
        count=max(1, len(one.sources)),
        sources=tuple(one.sources),
        before=one.before or "",
        after=one.after or "",
        who=one.who,
        machine=one.machine,
    )


def _searched(row: Any) -> str:
    return f"{row.by}\n{row.title}\n{row.text}\n{' '.join(row.files)}"


def _within(rows: Sequence[Any], at: int) -> Iterator[int]:
    for one in range(max(0, at - FAR), min(len(rows), at + FAR + 1)):
        if one != at:
            yield one


def _words(row: Any, own: str, beside: dict[int, str]) -> dict[str, Any]:
    """As the columns of a tsvector; `beside`: what was said so many places away."""
    near = [said for away, said in beside.items() if abs(away) == 1]
    far = [said for away, said in beside.items() if 1 < abs(away) <= FAR]
    return {
        "id": row.id,
        "own": _plain(own),
        "near": _plain(" ".join(near)),
        "far": _plain(" ".join(far)),
        "scope": [_project(row.project), f"/c{row.collection}", f"/o{row.origin}"],
    }


def _plain(said: str) -> str:
    """Words alone, without accents, so that no text is taken for an address, a path or a number."""
    if not said.isascii():
        parted = unicodedata.normalize("NFD", said)
        said = "".join(letter for letter in parted if not unicodedata.combining(letter))
    return " ".join(words(said))


def _quoted(word: str) -> str:
    """As one term of a tsquery: nothing somebody asks for is an operator."""
    return f"'{_plain(word)}'"


def _any(words: Sequence[str]) -> str:
    return " | ".join(map(_quoted, words))


def _some(words: Sequence[str], held: dict[str, float]) -> str:
    rare = [word for word in held if held[word] <= _FEW]
    pairs = [f"({_quoted(one)} & {_quoted(other)})" for one, other in combinations(words[:_PAIRED], 2)]
    return " | ".join([*map(_quoted, rare), *pairs])


def _project(name: str) -> str:
    return f"/p{key(name)}"


def _scope(where: Filter) -> str:
    """What limits a search, as a tsquery: it is matched together with the words asked for."""
    every = (
        [_project(one) for one in where.projects],
        [f"/c{one}" for one in where.collections],
        [f"/o{one}" for one in where.origins],
    )
    return " & ".join(f"({' | '.join(map(_lexeme, some))})" for some in every if some)


def _lexeme(said: str) -> str:
    return "'" + said.replace("\\", "\\\\").replace("'", "''") + "'"


def _literal(said: str) -> str:
    """A model by name and not as a parameter: an index for one is used where it is named. `:` would be a
    parameter of its own."""
    return "'" + said.replace("'", "''").replace(":", "\\:") + "'"


def _broad(where: Filter) -> Filter:
    return Filter(where.projects, where.collections, where.origins)


def _limits(where: Filter, every: bool = True, project: str = "i.project") -> tuple[str, dict[str, Any]]:
    """Conditions and their values. Not `every`: but for those that `_scope` has."""
    sql: list[str] = []
    values: dict[str, Any] = {}

    def among(name: str, column: str, given: Sequence[str]) -> None:
        if len(given) == 1:  # an index on it is in order for one alone
            sql.append(f"{column} = :{name}")
            values[name] = given[0]
        elif given:
            sql.append(f"{column} = ANY(:{name})")
            values[name] = list(given)

    if every:
        among("in_projects", project, where.projects)
        among("in_collections", "i.collection", where.collections)
        among("in_origins", "i.origin", where.origins)
    among("in_kinds", "i.kind", where.kinds)
    for name, condition, value in (
        ("in_session", "i.session = :in_session", where.session),
        ("since", "i.first_at >= :since", where.since),
        ("until", "i.first_at < :until", where.until),
    ):
        if value:
            sql.append(condition)
            values[name] = value
    if where.file:
        sql.append("EXISTS (SELECT 1 FROM unnest(i.files) AS f WHERE f = :in_file OR f LIKE :ends_in_file)")
        plain = where.file.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values |= {"in_file": where.file, "ends_in_file": f"%/{plain.lstrip('/')}"}
    return "".join(f" AND {one}" for one in sql), values


def _halfvec(vector: numpy.ndarray) -> str:
    from pgvector import HalfVector

    return str(HalfVector(vector).to_text())
