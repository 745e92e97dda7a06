"""Statements that are put into words once.

What SQLAlchemy does for each execution costs several times what SQLite does, and it is done while others
wait for the lock. So there a prepared statement goes to the driver itself. With a server, whose answer
takes longer than all of this, the way is the usual one.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from sqlalchemy import Connection, Select, UpdateBase
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.sql.compiler import SQLCompiler

_named: Any = namedtuple  # whose fields no checker can know
_SQLITE = SQLiteDialect(paramstyle="named")


class Prepared:
    """Called with a connection and the values it is asked with: rows that know their columns by name. No
    value is a list: how many marks that takes would have to stand in the words."""

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self._statement = statement
        self._words = ""
        self._always: dict[str, Any] = {}
        self._row: Any = None

    def __call__(self, connection: Connection, **values: Any) -> list[Any]:
        if connection.dialect.name != "sqlite":
            result = connection.execute(self._statement, values)
            return list(result) if result.returns_rows else []
        self.prepare()
        driver: Any = connection.connection.driver_connection
        found = driver.execute(self._words, {**self._always, **values})
        if found.description is None:  # no statement that asks for anything
            return []
        if self._row is None:
            self._row = _named("Row", [column[0] for column in found.description])
        return [self._row(*row) for row in found]

    def prepare(self) -> None:
        """For SQLite; once."""
        if self._words:
            return
        made = self._statement.compile(dialect=_SQLITE)
        assert isinstance(made, SQLCompiler)
        self._always = {name: value for name, value in made.params.items() if value is not None}
        self._words = made.string
