"""A team's store as one file, and back: docs/formats.md says what is in it.

All tables are read in one transaction, so that they fit together whatever is written meanwhile; with
policies off, so that a member who asks is refused instead of given a part. A restore is one transaction,
too: whatever ends it before its end, there is nothing. Both go on as long as something comes, no longer.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, inspect, text

from holdfast import __version__
from holdfast.clock import now, rfc3339
from holdfast.disk import files
from holdfast.errors import BadInput, Damaged
from holdfast.store import migrations
from holdfast.store.postgres import PostgreSQL, driver_of
from holdfast.store.tables import SCHEMA

VERSION = 1
_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 20
_PIECE = 1 << 17
#: What cannot be written is made by the engine from the rest.
_COLUMNS = text(
    "SELECT attname, attidentity <> '' FROM pg_attribute WHERE attrelid = CAST(:name AS regclass) "
    "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)
_SIZE = text("SELECT pg_table_size(CAST(:name AS regclass))")
_STRANGERS = text(
    "SELECT DISTINCT who FROM members WHERE NOT EXISTS "
    "(SELECT 1 FROM pg_roles WHERE rolname = members.who) ORDER BY who"
)
#: (bytes done, bytes in all, as far as that is known)
Shown = Callable[[int, int], None]


@dataclass(frozen=True)
class Kept:
    """Of a file: when it was made, of which schema, how many rows of each table."""

    at: str
    schema: int
    rows: dict[str, int]


def back_up(store: PostgreSQL, path: str, show: Shown) -> Kept:
    if os.path.lexists(path):
        raise BadInput(f"{path} is there already; name a file that is not")
    folder, name = os.path.split(os.path.abspath(path))
    fd, temporary = tempfile.mkstemp(".tmp", f".{name}.", folder)  # 0600, as all that holds others' words
    try:
        with os.fdopen(fd, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                kept = _write(store, archive, show)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)  # whole, or not at all, and never over another
    finally:
        os.unlink(temporary)
    files.sync_dir(folder)
    return kept


def restore(store: PostgreSQL, path: str, show: Shown) -> tuple[Kept, list[str]]:
    """(what was in it, members whose roles this server does not have)."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(store, archive, path, show)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError) as problem:
        raise Damaged(f"{path} is no backup, or damaged ({problem}); nothing was restored") from problem


def _write(store: PostgreSQL, archive: zipfile.ZipFile, show: Shown) -> Kept:
    tables: dict[str, dict[str, Any]] = {}
    with store.lasting() as (connection, alive):
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        connection.execute(text("SET LOCAL row_security = off"))
        schema, at = migrations.version(connection), rfc3339(now())
        names = _tables(connection)
        size = sum(
            int(connection.scalar(_SIZE, {"name": _quoted(connection, name)}) or 0) for name in names
        )
        done = 0
        for name in names:
            columns = [column for column, _ in _columns(connection, name)]
            sums, cursor = hashlib.sha256(), driver_of(connection).cursor()
            with (
                archive.open(f"{name}.copy", "w", force_zip64=True) as entry,
                cursor.copy(f"COPY {_told(connection, name, columns)} TO STDOUT") as rows,
            ):
                for piece in rows:
                    alive()
                    entry.write(piece)
                    sums.update(piece)
                    done += len(piece)
                    show(min(done, size), size)
            tables[name] = {"columns": columns, "rows": cursor.rowcount, "sha256": sums.hexdigest()}
    said = {"v": VERSION, "schema": schema, "at": at, "by": __version__, "tables": tables}
    archive.writestr(_MANIFEST, json.dumps(said, indent=1))
    return Kept(at, schema, {name: about["rows"] for name, about in tables.items()})


def _read(store: PostgreSQL, archive: zipfile.ZipFile, path: str, show: Shown) -> tuple[Kept, list[str]]:
    said = _manifest(archive, path)
    size = sum(archive.getinfo(f"{name}.copy").file_size for name in said["tables"])
    done = 0
    with store.lasting() as (connection, alive):
        names = _tables(connection)
        _check(connection, names, said, store.where)
        for name in names:
            about = said["tables"][name]
            sums, cursor = hashlib.sha256(), driver_of(connection).cursor()
            with (
                archive.open(f"{name}.copy") as entry,
                cursor.copy(f"COPY {_told(connection, name, about['columns'])} FROM STDIN") as rows,
            ):
                while piece := entry.read(_PIECE):
                    alive()
                    rows.write(piece)
                    sums.update(piece)
                    done += len(piece)
                    show(done, size)
            if sums.hexdigest() != about["sha256"] or cursor.rowcount != about["rows"]:
                raise Damaged(f"{path}: {name} is not as it was written; nothing was restored")
            _count_on(connection, name)
        strangers = list(connection.scalars(_STRANGERS))
    return Kept(
        said["at"], said["schema"], {name: said["tables"][name]["rows"] for name in names}
    ), strangers


def _manifest(archive: zipfile.ZipFile, path: str) -> dict[str, Any]:
    if archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
        raise Damaged(f"{path} is no backup: its {_MANIFEST} is too large")
    said = json.loads(archive.read(_MANIFEST))
    if not isinstance(said, dict) or type(said.get("tables")) is not dict:
        raise Damaged(f"{path} is no backup: its {_MANIFEST} says nothing of tables")
    if said.get("v") != VERSION:
        raise BadInput(f"{path} is of version {said.get('v')!r}, and this holdfast reads {VERSION}")
    return said


def _check(connection: Connection, names: list[str], said: dict[str, Any], where: str) -> None:
    """Only into what is empty and made of the same steps: else rows would mean something else there."""
    schema = migrations.version(connection)
    if said["schema"] != schema:
        raise BadInput(
            f"the backup is of schema {said['schema']}, and {where} has {schema}: restore it with a "
            "holdfast of that schema, then `holdfast team migrate`"
        )
    for name in names:
        quoted = _quoted(connection, name)
        connection.execute(text(f"LOCK TABLE {quoted} IN ACCESS EXCLUSIVE MODE"))
        if connection.execute(text(f"SELECT 1 FROM {quoted} LIMIT 1")).first():  # noqa: S608
            raise BadInput(f"{where} is not empty: there are rows in {name}; restore into a new database")
        about = said["tables"].get(name)
        if not about or about["columns"] != [column for column, _ in _columns(connection, name)]:
            raise Damaged(f"the backup has not what {name} takes; nothing was restored")
    if more := sorted(set(said["tables"]) - set(names)):
        raise Damaged(
            f"the backup has a table {more[0][:40]!r}, and {where} has none; nothing was restored"
        )


def _count_on(connection: Connection, name: str) -> None:
    """Numbers that the engine gives go on after those that are there."""
    for column, is_counted in _columns(connection, name):
        if is_counted:
            quoted = connection.dialect.identifier_preparer.quote_identifier(column)
            last = connection.scalar(text(f"SELECT max({quoted}) FROM {_quoted(connection, name)}"))  # noqa: S608
            if last:
                given = {"name": _quoted(connection, name), "column": column, "last": last}
                connection.execute(
                    text("SELECT setval(pg_get_serial_sequence(:name, :column), :last)"), given
                )


def _tables(connection: Connection) -> list[str]:
    """All there are but the number of the schema, which the manifest has; each after those it refers to."""
    ordered = inspect(connection).get_sorted_table_and_fkc_names()
    return [name for name, _ in ordered if name and name != SCHEMA.name]


def _columns(connection: Connection, name: str) -> list[tuple[str, bool]]:
    """(column, whether the engine counts it)."""
    rows = connection.execute(_COLUMNS, {"name": _quoted(connection, name)})
    return [(row[0], row[1]) for row in rows]


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote_identifier(name)


def _told(connection: Connection, name: str, columns: list[str]) -> str:
    listed = ", ".join(_quoted(connection, column) for column in columns)
    return f"{_quoted(connection, name)} ({listed})"
