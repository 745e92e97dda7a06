"""Rows that are there once, however often they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def add(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many of them were not there yet. Those that were stay as they are."""
    if not rows:
        return 0
    engine = sqlite if connection.dialect.name == "sqlite" else postgresql
    new = engine.insert(table).on_conflict_do_nothing()
    done = connection.execute(new, [*map(plain, rows)], execution_options={"preserve_rowcount": True})
    return max(0, done.rowcount)


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a database of text cannot hold: a NUL, half a character."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(value: str) -> str:
    if value.isascii() and "\0" not in value:
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
