"""What the PostgreSQL of a team is asked of its deep memory: statements, and items as it has them.

Every value is a parameter. What stands in a statement itself are words of ours, quoted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from sqlalchemy import text

from holdfast.memory.shelf import Filter, Item, Row, Told
from holdfast.memory.terms import key, words
from holdfast.store.functions import EVERY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy

COLUMNS = (
    "uid collection text project lineage session agent origin by kind at title files thread seq shape "
    "first_at"
).split()
FAR = 3
#: Of very many items one is weighed that holds two of so many rarest words, or a word that so few hold.
PAIRED, FEW = 8, 500
#: What a word counts: not at all, two or three away from the item, beside it, in it.
WEIGHTS = "'{0, 0.2, 0.5, 1}'"
#: One occurrence, as ts_rank counts it.
ONE = 1.6449341
_BESIDE = (
    "(SELECT uid FROM items n WHERE n.thread = i.thread AND n.thread <> '' AND n.who = i.who "
    "AND n.seq {} i.seq ORDER BY n.seq {} LIMIT 1)"
)
ROWS = (
    f"SELECT {', '.join(f'i.{name}' for name in COLUMNS)}, i.sources, i.who, i.machine, "  # noqa: S608
    f"{_BESIDE.format('<', 'DESC')} AS before, {_BESIDE.format('>', 'ASC')} AS after FROM items i "
    # What is erased is deleted, whoever had put it there; what was sent at that very moment is not told.
    "WHERE NOT EXISTS (SELECT 1 FROM forgotten f WHERE f.project = i.project AND f.shape = i.shape) AND "
)
PROJECTS = (
    "WITH RECURSIVE known AS ((SELECT project FROM items ORDER BY project LIMIT 1) UNION ALL "
    "SELECT (SELECT i.project FROM items i WHERE i.project > known.project ORDER BY i.project LIMIT 1) "
    "FROM known WHERE known.project IS NOT NULL) SELECT project FROM known WHERE project IS NOT NULL"
)
KNOWN = text(
    "SELECT id, uid, shape, at, text, title, kind FROM items WHERE uid = ANY(:uids) AND who = current_user"
)
_KINDS = {"at": "bigint", "first_at": "bigint", "seq": "bigint", "files": "text[]", "sources": "text[]"}
_MADE = [*COLUMNS, "sources", "machine"]
_TYPED = ", ".join(f"{name} {_KINDS.get(name, 'text')}" for name in _MADE)
INSERT = text(
    f"INSERT INTO items ({', '.join(_MADE)}, words) SELECT {', '.join(_MADE)}, '' "  # noqa: S608
    f"FROM jsonb_to_recordset(CAST(:made AS jsonb)) AS made ({_TYPED}) WHERE NOT EXISTS "
    "(SELECT 1 FROM forgotten f WHERE f.project = made.project AND f.shape = made.shape) "
    "ORDER BY seq ON CONFLICT DO NOTHING RETURNING id"
)
DATE = text(
    "UPDATE items SET at = greatest(at, :at), first_at = least(first_at, :first_at), "
    "sources = CASE WHEN :source = ANY(sources) OR cardinality(sources) >= :most THEN sources "
    "ELSE sources || CAST(:source AS text) END WHERE id = :id AND "
    "(at < :at OR first_at > :first_at OR NOT :source = ANY(sources))"
)
REPLACE = text(
    "UPDATE items SET text = :text, title = :title, kind = :kind, shape = :shape, files = :files, "
    "first_at = :first_at WHERE id = :id"
)
#: Those that are fresh, with all that stands so near that it is told with them, each with its place.
NEIGHBOURS = text(
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
LEFT = (
    "WITH gone AS (SELECT id, thread, who, seq FROM items i WHERE {} AND thread <> '') "
    "SELECT DISTINCT n.id FROM gone g CROSS JOIN LATERAL ("
    "(SELECT id FROM items b WHERE b.thread = g.thread AND b.who = g.who AND b.seq <= g.seq "
    "AND b.id NOT IN (SELECT id FROM gone) ORDER BY b.seq DESC LIMIT :far) UNION ALL "
    "(SELECT id FROM items a WHERE a.thread = g.thread AND a.who = g.who AND a.seq >= g.seq "
    "AND a.id NOT IN (SELECT id FROM gone) ORDER BY a.seq LIMIT :far)) n"
)
#: The same words again are not written: what is sent twice costs the index nothing.
WORDS = text(
    "UPDATE items SET words = made.words FROM (SELECT setweight(to_tsvector('holdfast', :own), 'A') "
    "|| setweight(to_tsvector('holdfast', :near), 'B') || setweight(to_tsvector('holdfast', :far), 'C') "
    "|| array_to_tsvector(:scope) AS words) AS made WHERE id = :id AND items.words <> made.words"
)
LACKING = text(
    "SELECT uid, title, text FROM items i WHERE who = current_user AND NOT EXISTS (SELECT 1 FROM vectors v "
    "WHERE v.item = i.id AND v.model = :model AND vector_dims(v.data) = :size) ORDER BY id LIMIT :most"
)
PUT_VECTOR = text(
    "INSERT INTO vectors (item, model, project, machine, data) SELECT id, :model, project, :machine, "
    "CAST(:vector AS halfvec) FROM items WHERE uid = :uid AND who = current_user "
    "ON CONFLICT (item, model) DO UPDATE SET data = excluded.data"
)
FORGET = text(
    "INSERT INTO forgotten (project, shape, machine) SELECT :project, shape, :machine "
    "FROM unnest(CAST(:shapes AS text[])) AS shape ON CONFLICT DO NOTHING"
)
#: How rare a word is, times how often it stands in an item for its length: that of FTS5, see `index`.
RARE = "greatest(ln((items - {n} + 0.5) / ({n} + 0.5)), 1e-6)"
BM25 = (
    RARE.format(n="least(items, greatest(n{at}, :s{at}))")
    + f" * r{{at}} * {ONE} * 2.2 / (r{{at}} * {ONE} + 1.2 * (0.25 + 0.75 * hits.size / every.size))"
)


def made(item: Item, machine: str) -> dict[str, Any]:
    said = {name: getattr(item, name, item.at) for name in COLUMNS}
    sources = getattr(item, "sources", ()) or (item.source,)
    return {**said, "files": list(item.files), "sources": list(sources), "machine": machine}


def row(one: Any) -> Row:
    """In the order of `ROWS`."""
    *columns, sources, who, machine, before, after = one
    said = dict(zip(COLUMNS, columns, strict=True))
    said |= {"files": tuple(said["files"]), "source": sources[0] if sources else ""}
    return Told(
        **said,
        count=max(1, len(sources)),
        sources=tuple(sources),
        before=before or "",
        after=after or "",
        who=who,
        machine=machine,
    )


def searched(row: Any) -> str:
    return f"{row.by}\n{row.title}\n{row.text}\n{' '.join(row.files)}"


def within(rows: Sequence[Any], at: int) -> Iterator[int]:
    for one in range(max(0, at - FAR), min(len(rows), at + FAR + 1)):
        if one != at:
            yield one


def weighted(row: Any, own: str, beside: dict[int, str]) -> dict[str, Any]:
    """As the columns of a tsvector; `beside`: what was said so many places away."""
    near = [said for away, said in beside.items() if abs(away) == 1]
    far = [said for away, said in beside.items() if 1 < abs(away) <= FAR]
    return {
        "id": row.id,
        "own": plain(own),
        "near": plain(" ".join(near)),
        "far": plain(" ".join(far)),
        "scope": scope_words(row.id, row.project, row.collection, row.origin),
    }


def scope_words(number: int, project: str, collection: str, origin: str) -> list[str]:
    example = [] if number % EVERY else [f"/s{key(project)}"]
    return [project_word(project), f"/c{collection}", f"/o{origin}", *example]


def plain(said: str) -> str:
    """Words alone, without accents, so that no text is taken for an address, a path or a number."""
    if not said.isascii():
        parted = unicodedata.normalize("NFD", said)
        said = "".join(letter for letter in parted if not unicodedata.combining(letter))
    return " ".join(words(said))


def quoted(word: str) -> str:
    """As one term of a tsquery: nothing somebody asks for is an operator."""
    return f"'{plain(word)}'"


def any_of(words: Sequence[str]) -> str:
    return " | ".join(map(quoted, words))


def rarest(held: dict[str, float], most: int) -> list[str]:
    """Those that no more items hold in all; one at least."""
    found: list[str] = []
    for word in sorted(held, key=held.__getitem__):
        most -= int(held[word])
        if found and most < 0:
            break
        found.append(word)
    return found


def rare(held: dict[str, float]) -> list[str]:
    return [word for word in held if held[word] <= FEW]


def some_of(words: Sequence[str], held: dict[str, float]) -> str:
    pairs = [f"({quoted(one)} & {quoted(other)})" for one, other in combinations(words[:PAIRED], 2)]
    return " | ".join([*map(quoted, rare(held)), *pairs])


def project_word(name: str) -> str:
    """The store makes it, too, for the projects of whoever asks (`policies`)."""
    return f"/p{key(name)}"


def scope(where: Filter, is_limited: bool) -> str:
    """What limits a search, as a tsquery: it is matched together with the words asked for. For members
    `items_holding` knows of projects."""
    every = (
        [] if is_limited else [project_word(one) for one in where.projects],
        [f"/c{one}" for one in where.collections],
        [f"/o{one}" for one in where.origins],
    )
    return " & ".join(f"({' | '.join(map(_lexeme, some))})" for some in every if some)


def _lexeme(said: str) -> str:
    return "'" + said.replace("\\", "\\\\").replace("'", "''") + "'"


def literal(said: str) -> str:
    """A model by name and not as a parameter: an index for one is used where it is named. `:` would be a
    parameter of its own."""
    return "'" + said.replace("'", "''").replace(":", "\\:") + "'"


def broad(where: Filter) -> Filter:
    return Filter(where.projects, where.collections, where.origins)


def limits(where: Filter, project: str = "i.project") -> tuple[str, dict[str, Any]]:
    """Conditions and their values."""
    sql: list[str] = []
    values: dict[str, Any] = {}

    def among(name: str, column: str, given: Sequence[str]) -> None:
        if len(given) == 1:  # an index on it is in order for one alone
            sql.append(f"{column} = :{name}")
            values[name] = given[0]
        elif given:
            sql.append(f"{column} = ANY(:{name})")
            values[name] = list(given)

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
        values |= {"in_file": where.file, "ends_in_file": _ends_in(where.file)}
    return "".join(f" AND {one}" for one in sql), values


def of_size(vector: numpy.ndarray) -> str:
    """Whether one can be compared with it. The server takes a bare condition for one that hardly any row
    meets, and then looks at every row instead of asking the index."""
    return f"CASE WHEN vector_dims(v.data) = {len(vector)} THEN true ELSE false END"


def holding(asked: str, where: Filter, is_limited: bool) -> tuple[str, dict[str, Any]]:
    """Where items that hold what is asked come from, `:weighed` of them, with values for what `scope` does
    not limit: for members a function that finds them by the index, for whom no policy limits the table."""
    if not is_limited:
        limited, values = limits(replace(where, projects=(), collections=(), origins=()))
        every = f"SELECT i.* FROM items i WHERE i.words @@ ({asked}){limited} LIMIT :weighed"  # noqa: S608
        return f"({every})", values
    given = {
        "projects": list(where.projects) or None,
        "kinds": list(where.kinds) or None,
        "said_in": where.session or None,
        "since": where.since or None,
        "until": where.until or None,
        "file": where.file or None,
        "file_ends": _ends_in(where.file) if where.file else None,
    }
    others = ":projects, :kinds, :said_in, :since, CAST(:until AS bigint), :file, :file_ends"
    return f"items_holding({asked}, {others}, :weighed)", given


def _ends_in(file: str) -> str:
    plain = file.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%/{plain.lstrip('/')}"


def halfvec(vector: numpy.ndarray) -> str:
    """One question is asked with the same vector again and again."""
    return _halfvec(vector.astype("<f4").tobytes())


@lru_cache(maxsize=4)
def _halfvec(numbers: bytes) -> str:
    import numpy
    from pgvector import HalfVector

    return str(HalfVector(numpy.frombuffer(numbers, dtype="<f4")).to_text())
