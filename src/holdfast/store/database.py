"""A store, opened: SQLite in home, or the PostgreSQL of a team (`postgres`).

Whoever writes, opens or closes SQLite holds a lock of ours first: its own busy handler starves writers, and
a checkpoint of its log that meets a commit has damaged files. What was acknowledged is on the disk. Nobody
waits without an end.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from holdfast.app import Holdfast
from holdfast.disk import files
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.store import migrations
from holdfast.store.prepared import Prepared
from holdfast.store.turns import turn

if TYPE_CHECKING:
    from holdfast.store.postgres import PostgreSQL

#: Seconds that one waits for others.
PATIENCE_S = 10
#: Pages of the log after which somebody writes them back, twice waiting for the disk while all wait for it.
#: A commit leaves six; of a log four times as long as usual many more are the same page.
_LOG = "wal_autocheckpoint=4000"
_READS = "holdfast_reads"
_DAMAGED = ("malformed", "not a database", "corrupt")
_OPEN: dict[tuple[int, str], Store] = {}
_OPENING = threading.Lock()
#: What this thread holds: a connection that is opened within a transaction needs no second lock.
_HELD = threading.local()


def opened(app: Holdfast, *, is_known: bool = False) -> Store:
    """The store of this home or of its team, opened once per process; whether it is still one that this
    holdfast knows is looked at every time, because a newer one may have come meanwhile. `is_known`: it was
    a moment ago."""
    url = app.config["store.url"]
    key = os.getpid(), url or app.home.store
    with _OPENING:
        if key not in _OPEN:
            _OPEN[key] = of_team(app) if url else _of_home(app)
            atexit.register(_close, key)
            is_known = False
    if not is_known:
        _OPEN[key].check()
    return _OPEN[key]


def _of_home(app: Holdfast) -> Store:
    files.make_dir(app.home.root)
    return SQLite(app.home.store)


def of_team(app: Holdfast) -> PostgreSQL:
    from holdfast.store.postgres import PostgreSQL  # which needs a driver

    config = app.config
    return PostgreSQL(config["store.url"], config["store.timeout_seconds"], config["store.pool"])


def _close(key: tuple[int, str]) -> None:
    store = _OPEN.pop(key)
    if key[0] == os.getpid():  # never in a child: the connection is its parent's
        with suppress(FileNotFoundError):  # with its home: there is nothing left to be in order
            store.close()


class Store:
    """`where` names it to people."""

    def __init__(self, engine: Engine, where: str) -> None:
        self.engine = engine
        self.where = where

    @contextmanager
    def writing(self, *by: Prepared) -> Iterator[Connection]:
        """One transaction: all of it, on the disk when this ends, or nothing. `by` what it will be done:
        prepared before anybody has to wait for it."""
        for statement in by:
            statement.prepare()
        with self._told(), self.engine.connect() as connection, self._answering(connection):
            with self._alone(), connection.begin():
                yield connection
            self._make_durable()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One view of it that nobody changes; it waits for nobody who writes."""
        with self._told(), self.engine.connect() as connection, self._answering(connection):
            yield connection.execution_options(**{_READS: True})

    def close(self) -> None:
        with self._alone():
            self.engine.dispose()

    def check(self) -> None:
        """BadInput where this holdfast cannot work with it as it is."""
        with self.reading() as connection:
            migrations.refuse_newer(migrations.version(connection), self.where)

    def bring_up(self) -> tuple[int, int]:
        """(schema found, schema now)."""
        with self.writing() as connection:
            return migrations.bring_up(connection, self.where)

    @contextmanager
    def _answering(self, connection: Connection) -> Iterator[None]:  # noqa: ARG002
        yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        yield

    def _make_durable(self) -> None:
        """What was committed."""

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What a database says, in our words."""
        try:
            yield
        except DBAPIError as problem:
            raise self._trouble(problem.orig or problem) from problem
        except sqlite3.Error as problem:  # of a statement that went to the driver itself
            raise self._trouble(problem) from problem
        except PoolTimeout as problem:
            raise Unavailable(
                f"{self.where}: all connections of this process are in use (store.pool); try again"
            ) from problem

    def _trouble(self, problem: BaseException) -> HoldfastError:
        """What the driver said."""
        return Unavailable(f"{self.where} cannot be used now: {problem}")


class SQLite(Store):
    """`path` is made if there is none; its lock is a file beside it."""

    def __init__(self, path: str) -> None:
        self.lock = path + ".lock"
        self._named = 0  # the log whose name is known to be on the disk
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        engine = create_engine(
            "sqlite://",
            creator=lambda: self._connect(path),
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=0,  # an overflow is closed without the lock
            pool_timeout=PATIENCE_S,
        )
        event.listen(engine, "begin", _begin)
        super().__init__(engine, path)
        with self.reading() as connection:
            found = migrations.version(connection)
        migrations.refuse_newer(found, path)
        if found < migrations.NEWEST:
            self.bring_up()

    def _connect(self, path: str) -> sqlite3.Connection:
        with nullcontext() if getattr(_HELD, "path", "") == self.lock else self._alone():
            connection = sqlite3.connect(
                path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
            )
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", _LOG):
                connection.execute(f"PRAGMA {pragma}").close()
        return connection

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with turn(self.lock, PATIENCE_S):
            _HELD.path = self.lock
            try:
                yield
            finally:
                _HELD.path = ""

    def _make_durable(self) -> None:
        """One sync of the log does for all who have committed before it, and nobody has the lock meanwhile.
        What others saw before it was on the disk stands before all they wrote themselves."""
        log = self.where + "-wal"
        try:
            fd = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # the last to close it has written all of it into the file itself, durably
        try:
            made = os.fstat(fd).st_ino
            if made != self._named:  # its name may be new
                files.sync_dir(os.path.dirname(log))
                self._named = made
            files.sync_together(fd, log)
        finally:
            os.close(fd)

    def _trouble(self, problem: BaseException) -> HoldfastError:
        said = str(problem)
        if any(word in said for word in _DAMAGED):
            return Damaged(
                f"{self.where} is damaged ({said}); nothing was changed. Move it aside together with its "
                "-wal and -shm files: a new one is made, without the tasks of the old"
            )
        return super()._trouble(problem)


def _begin(connection: Connection) -> None:
    """Who will write says so at once: a reader that turns writer is refused when another was faster."""
    reads = connection.get_execution_options().get(_READS)
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN" if reads else "BEGIN IMMEDIATE")
