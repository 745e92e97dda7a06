"""The PostgreSQL of a team, as a store. Whatever it does, nobody waits for it without an end.

Its own time limits hold as long as it answers at all. For a server that was stopped in the middle, or a
network that swallows everything, there is one on this side, which cuts the connection.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from holdfast.errors import BadInput, HoldfastError, MissingExtra, Unavailable
from holdfast.store import migrations
from holdfast.store.database import PATIENCE_S, Store

_CONNECTS_S = 5
#: Milliseconds, by the server's own clock.
_LIMITS = {
    "statement_timeout": PATIENCE_S * 1000 - 1000,
    "lock_timeout": PATIENCE_S * 1000 - 2000,
    "idle_in_transaction_session_timeout": 60_000,
}


class PostgreSQL(Store):
    """Nothing is asked of it before the first use."""

    def __init__(self, url: str) -> None:
        address = _address(url)
        engine = create_engine(
            address.set(drivername="postgresql+psycopg"),
            pool_size=4,
            max_overflow=4,
            pool_timeout=PATIENCE_S,
            connect_args={
                "connect_timeout": _CONNECTS_S,
                "application_name": "holdfast",
                "options": " ".join(f"-c {name}={value}" for name, value in _LIMITS.items()),
            },
        )
        super().__init__(engine, address.render_as_string(hide_password=True))

    def check(self) -> None:
        """It is for all of a team: it is brought up by whoever is asked to, not by the first who comes."""
        with self.reading() as connection:
            found = migrations.version(connection)
        migrations.refuse_newer(found, self.where)
        if found < migrations.NEWEST:
            command = "migrate" if found else "init"
            raise BadInput(
                f"{self.where} has schema {found}, and this holdfast needs {migrations.NEWEST}: "
                f"`holdfast team {command}` makes it so"
            )

    @contextmanager
    def _answering(self, connection: Connection) -> Iterator[None]:
        """Within the time there is; and with a connection that was alive a moment ago."""
        alarm = threading.Timer(PATIENCE_S, _cut, (connection,))
        alarm.daemon = True
        alarm.start()
        try:
            try:
                connection.exec_driver_sql("SELECT 1")
            except DBAPIError as problem:
                if not problem.connection_invalidated:
                    raise
            connection.rollback()  # one that was cut is made anew by what comes next
            yield
        finally:
            alarm.cancel()

    def _trouble(self, problem: DBAPIError) -> HoldfastError:
        said = str(problem.orig).strip().splitlines()[0][:300]
        return Unavailable(f"{self.where} cannot be used now: {said}; see `holdfast team status`")


def _address(url: str) -> URL:
    """BadInput never repeats what was given: there may be a password in it."""
    try:
        import psycopg  # noqa: F401

        # It tells of lost connections by itself, to whoever reads stderr; we tell of them in our words.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
    except ModuleNotFoundError:
        raise MissingExtra("a team's store needs the extra `team`: pip install 'holdfast[team]'") from None
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise BadInput("store.url is no address; it takes postgresql://user@host/database") from None
    if address.drivername not in ("postgresql", "postgres"):
        raise BadInput("store.url has to begin with postgresql://")
    return address.set(drivername="postgresql")


def _cut(connection: Connection) -> None:
    """So that whoever waits for an answer in another thread gets an end of it."""
    from psycopg import Error

    try:
        driver: Any = connection.connection.driver_connection
        with socket.socket(fileno=os.dup(driver.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except (OSError, Error, SQLAlchemyError):
        pass  # it has ended meanwhile
