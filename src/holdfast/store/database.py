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
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from holdfast.app import Holdfast
from holdfast.disk import files
from holdfast.errors import Damaged, HoldfastError, Unavailable
from holdfast.store import migrations
from holdfast.store.clocks import counted
from holdfast.store.holders import this_machine
from holdfast.store.prepared import Prepared
from holdfast.store.syncs import sync
from holdfast.store.turns import is_first, turn

if TYPE_CHECKING:
    from holdfast.store.postgres import PostgreSQL

#: Seconds that one waits for others.
PATIENCE_S = 10
#: Pages of the log after which somebody writes them back, twice waiting for the disk while all wait for it.
#: A commit leaves six; of a log four times as long as usual many more are the same page.
_LOG = "wal_autocheckpoint=4000"
_MOST_CONNECTIONS = 8
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


def look(app: Holdfast) -> None:
    """Refuses what `opened` would of this home's store, which is there, and changes nothing. One that this
    process has open is asked through what is open: closing its file once would end SQLite's locks."""
    path = app.home.store
    with _OPENING:
        known = _OPEN.get((os.getpid(), path))
        if known:
            known.check()
        elif os.path.getsize(path) or not os.path.isfile(path):
            SQLite(path, brings_up=False).close()


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
            yield connection

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

    def is_first(self, within_s: float) -> bool:  # noqa: ARG002
        """Whether to look for holders that died: of those who can see the same processes one does it."""
        return True

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
    """`path` is made if there is none; its lock is a file beside it. One that is only looked at
    (`brings_up=False`) keeps the schema it has."""

    def __init__(self, path: str, *, brings_up: bool = True) -> None:
        self.lock = path + ".lock"
        self._named = 0  # the log whose name is known to be on the disk
        self._room = threading.Semaphore(_MOST_CONNECTIONS)
        self._idle: list[Connection] = []
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        engine = create_engine("sqlite://", creator=lambda: self._connect(path), poolclass=NullPool)
        super().__init__(engine, path)
        with self.reading() as connection:
            found = migrations.version(connection)
        migrations.refuse_newer(found, path)
        if brings_up and found < migrations.NEWEST:
            self.bring_up()

    def _connect(self, path: str) -> sqlite3.Connection:
        with self._with_lock():
            connection = sqlite3.connect(
                path, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False
            )
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", _LOG):
                connection.execute(f"PRAGMA {pragma}").close()
        return connection

    @contextmanager
    def writing(self, *by: Prepared) -> Iterator[Connection]:
        for statement in by:
            statement.prepare()
        with self._told(), self._connected() as connection:
            # Who will write says so at once: a reader that turns writer is refused when another was faster.
            with self._alone(), _transaction(connection, "BEGIN IMMEDIATE") as driver:
                yield connection
                driver.commit()
            self._make_durable()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told(), self._connected() as connection, _transaction(connection, "BEGIN"):
            yield connection

    def close(self) -> None:
        """Also what other threads are using, as soon as they are done; who takes too long keeps it."""
        until, got = monotonic() + PATIENCE_S, 0
        try:
            while got < _MOST_CONNECTIONS and self._room.acquire(timeout=max(0, until - monotonic())):
                got += 1
            with self._alone():
                while self._idle:
                    self._idle.pop().close()
        finally:
            if got:
                self._room.release(got)

    def is_first(self, within_s: float) -> bool:
        return is_first(
            self.lock, counted(), int(1000 * within_s), sha256(this_machine().encode()).digest()[:8]
        )

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """One that stays open: to open it, or only to take it out of a pool, costs what a claim does."""
        if not self._room.acquire(timeout=PATIENCE_S):
            raise PoolTimeout
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self.engine.connect()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._room.release()

    def _put_back(self, connection: Connection) -> None:
        """Not one that Ctrl-C left in a transaction; and none is closed without the lock."""
        driver = _driver(connection)
        if driver.in_transaction:
            driver.rollback()  # first: who has the lock may be waiting for it
            with suppress(Unavailable), self._with_lock():
                connection.close()
                return
        self._idle.append(connection)

    def _with_lock(self) -> AbstractContextManager[None]:
        return nullcontext() if getattr(_HELD, "path", "") == self.lock else self._alone()

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
            sync(fd, log, self.lock)
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


@contextmanager
def _transaction(connection: Connection, begin: str) -> Iterator[Any]:
    """Through the driver itself: what SQLAlchemy does for one takes longer than all that is done in it.
    What is not committed in it is taken back."""
    driver = _driver(connection)
    try:  # Ctrl-C may come as soon as it has begun
        driver.execute(begin)
        yield driver
    finally:
        driver.rollback()
        if connection.in_transaction():
            connection.rollback()  # what SQLAlchemy knows of it


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
