"""What is meant, as SQL: filters, words to be matched, and the columns of an item."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.memory.shelf import MOST_SOURCES, Filter, Row
from holdfast.memory.terms import is_unspaced, key

COLUMNS = (
    "uid collection text project lineage session agent origin by kind at title files thread seq shape "
    "first_at"
).split()
_BESIDE = (
    "(SELECT uid FROM items n WHERE n.thread = i.thread AND n.thread <> '' AND n.seq {} i.seq "
    "ORDER BY n.seq {} LIMIT 1)"
)
#: An item, what stands before and after it, and where it comes from.
ROWS = (
    f"SELECT {', '.join(f'i.{name}' for name in COLUMNS)}, "  # noqa: S608
    f"{_BESIDE.format('<', 'DESC')}, {_BESIDE.format('>', 'ASC')}, "
    "(SELECT json_group_array(path) FROM places p WHERE p.id = i.id) FROM items i"
)
_AT_ONCE = 500


def row(values: tuple[Any, ...]) -> Row:
    said = dict(zip(COLUMNS, values, strict=False))
    before, after, paths = values[len(COLUMNS) :]
    said["files"] = tuple(json.loads(said["files"])) if said["files"] != "[]" else ()
    places = json.loads(paths)
    return Row(
        **said,
        source=places[0] if places else "",
        count=max(1, len(places)),
        sources=tuple(places[:MOST_SOURCES]),
        before=before or "",
        after=after or "",
    )


def scopes(project: str, collection: str, origin: str) -> str:
    """What limits a search, as words of an item: they are matched together with those asked for."""
    return f"p{key(project)} c{collection} o{origin}"


def match(words: Sequence[str], where: Filter, columns: str = "text near far") -> str:
    """Each in quotes: nothing somebody asks for is an operator. A single letter of a script without spaces
    is looked for at the beginning of the pairs that such texts are indexed by."""
    every = " OR ".join(
        '"' + word.replace('"', '""') + ('"*' if len(word) == 1 and is_unspaced(word) else '"')
        for word in words
    )
    parts = [f"{{{columns}}} : ({every})"] if every else []
    limits = (
        [f"p{key(one)}" for one in where.projects],
        [f"c{one}" for one in where.collections],
        [f"o{one}" for one in where.origins],
    )
    parts += [f"scope : ({' OR '.join(one)})" for one in limits if one]
    return " AND ".join(parts)


def limits(where: Filter, every: bool = True) -> tuple[str, list[Any]]:
    """Conditions and their values. Not `every`: but for those that `match` has."""
    sql: list[str] = []
    values: list[Any] = []
    among = [("kind", where.kinds)]
    if every:
        among += [
            ("project", where.projects),
            ("collection", where.collections),
            ("origin", where.origins),
        ]
    for column, given in among:
        if given:
            sql.append(f"i.{column} IN ({', '.join('?' * len(given))})")
            values += given
    for condition, value in (
        ("i.session = ?", where.session),
        ("i.first_at >= ?", where.since),
        ("i.first_at < ?", where.until),
    ):
        if value:
            sql.append(condition)
            values.append(value)
    if where.file:
        sql.append(
            "EXISTS (SELECT 1 FROM json_each(i.files) f WHERE f.value = ? OR f.value LIKE ? ESCAPE '\\')"
        )
        plain = where.file.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values += [where.file, f"%/{plain.lstrip('/')}"]
    return "".join(f" AND {one}" for one in sql), values


def in_parts(given: Sequence[Any]) -> Iterator[list[Any]]:
    """A statement takes so many values."""
    for at in range(0, len(given), _AT_ONCE):
        yield list(given[at : at + _AT_ONCE])


def marks(some: Sequence[Any]) -> str:
    return ", ".join("?" * len(some))
