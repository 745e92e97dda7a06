"""The PostgreSQL of a team, as a store. Whatever it does, nobody waits for it without an end.

Its own time limits hold as long as it answers at all. For a server that was stopped in the middle, or a
network that swallows everything, there is one on this side, which cuts the connection.
"""

from __future__ import annotations

import copy
import ipaddress
import logging
import os
import select
import socket
import threading
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, make_url, text
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InvalidatePoolError,
    SQLAlchemyError,
)

from holdfast.errors import BadInput, Forbidden, HoldfastError, MissingExtra, Unavailable
from holdfast.extras import extra_command
from holdfast.store import migrations
from holdfast.store.database import PATIENCE_S, Store

_CONNECTS_S = 5
_POOL = 8
#: What the server, or the way to it, says, and what to do then.
_FIXES = (
    ("password authentication failed", "mend the password in store.url"),
    ("no password supplied", "store.url has no password: postgresql://user:password@host/database"),
    ("no pg_hba.conf entry", "the server lets nobody in from here: its pg_hba.conf decides"),
    ("does not exist", "mend store.url, or make it on the server first"),
    ("does not support SSL", "let it speak TLS: what a team says does not travel in the open"),
    ("too many", "it has more clients than it takes: raise max_connections there, or lower store.pool"),
    ("connection slots", "it has more clients than it takes: raise max_connections, or lower store.pool"),
    ("is not available", "install it on the server, then try again; nothing was changed"),
)
#: How a connection to another machine has to be: encrypted; more is for the address to say.
_TLS = ("require", "verify-ca", "verify-full")
#: What an address says before its question mark, or not at all: behind it, it would be shown, or lead past
#: the host that was looked at.
_NOT_ASKED = frozenset({"hostaddr", "password", "service", "sslpassword", "user"})
_ROLE = "holdfast_role"
_AT_WORK = text(
    "SELECT state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' "
    "FROM pg_stat_activity WHERE pid = :process"
)
#: SQLSTATE of a missing privilege, and of a row that a policy refuses.
NOT_ALLOWED = "42501"
#: The same of what no index takes.
_TOO_LARGE = "54000"
#: The same where a role is to be taken that is not there.
_NO_ROLE = "22023"


class PostgreSQL(Store):
    """Nothing is asked of it before the first use. `timeout_s` is how long anybody waits for it, and `pool`
    how many connections this process has at most: more who ask at once wait for one, and no longer."""

    def __init__(self, url: str, timeout_s: float = PATIENCE_S, pool: int = _POOL) -> None:
        address = _address(url)
        self.timeout_s, self._url = timeout_s, url
        engine = create_engine(
            address.set(drivername="postgresql+psycopg"),
            pool_size=pool,
            max_overflow=0,
            pool_timeout=timeout_s,
            connect_args={
                "connect_timeout": max(2, min(_CONNECTS_S, int(timeout_s))),  # of less libpq makes two
                "application_name": "holdfast",
                "options": _limits(timeout_s),
            },
        )
        event.listen(engine, "checkout", _refuse_ended)
        event.listen(engine, "begin", _become)
        super().__init__(engine, address.render_as_string(hide_password=True))

    def acting_as(self, who: str) -> PostgreSQL:
        """The same, with that member's rights: whatever is asked of it, the engine decides for that role.
        It shares the connections, and each transaction says anew whose it is."""
        one = copy.copy(self)
        one.engine = self.engine.execution_options(**{_ROLE: who})
        return one

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
        """Within the time there is."""
        is_over = allocate_lock()
        with is_over:
            start_new_thread(_cut_after, (self.timeout_s, is_over, connection))
            yield

    @contextmanager
    def _driven(self) -> Iterator[None]:
        """The same for what the driver is asked without SQLAlchemy, as for a copy."""
        from psycopg import Error

        try:
            yield
        except Error as problem:
            raise self._trouble(problem) from problem

    @contextmanager
    def lasting(self) -> Iterator[tuple[Connection, Callable[[], None]]]:
        """One transaction that may take long: as long as whoever has it says, within the time there is each
        time, that something came, or the server that it is at work."""
        with self._told(), self._driven(), self.engine.connect() as connection:
            alarm = _Alarm(self.timeout_s, connection, self._is_at_work)
            try:
                with connection.begin():
                    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                    yield connection, alarm.again
            finally:
                alarm.over.set()

    def _is_at_work(self, process: int) -> bool:
        """By another connection: who checks the keys of a million rows says nothing meanwhile. To wait for
        us is no work."""
        beside = PostgreSQL(self._url, self.timeout_s, pool=1)
        try:
            with beside.reading() as connection:
                return connection.scalar(_AT_WORK, {"process": process}) is True
        except HoldfastError:
            return False
        finally:
            beside.close()

    def _trouble(self, problem: BaseException) -> HoldfastError:
        said = str(problem).strip().splitlines()[0][:300]
        if getattr(problem, "sqlstate", "") == NOT_ALLOWED:
            return Forbidden(
                f"{self.where} does not let this role do that ({said}): it is no member of that project, "
                "or only the owner of the tables may; `holdfast team status` says which role it is"
            )
        fix = next((fix for words, fix in _FIXES if words in said), "see `holdfast team status`")
        return Unavailable(f"{self.where} cannot be used now: {said}; {fix}")


def _address(url: str) -> URL:
    """BadInput never repeats what was given: there may be a password in it."""
    try:
        import psycopg  # noqa: F401

        # It tells of lost connections by itself, to whoever reads stderr; we tell of them in our words.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
    except ModuleNotFoundError:
        raise MissingExtra(f"a team's store needs the extra `team`: {extra_command('team')}") from None
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise BadInput("store.url is no address; it takes postgresql://user@host/database") from None
    if address.drivername not in ("postgresql", "postgres"):
        raise BadInput("store.url has to begin with postgresql://")
    if _NOT_ASKED & address.query.keys() or (address.host and "host" in address.query):
        raise BadInput(
            "store.url names its user, password and host before the question mark, and only there: "
            "postgresql://user:password@host/database"
        )
    return _encrypted(address.set(drivername="postgresql"))


def _encrypted(address: URL) -> URL:
    """Beyond this machine only over TLS. Left to itself the driver would go on without, if the server, or
    whoever stands before it, has none."""
    if all(not host or host.startswith("/") or _is_here(host) for host in _hosts(address)):
        return address
    if "sslmode" not in address.query:
        return address.update_query_dict({"sslmode": "require"})
    if address.query["sslmode"] not in _TLS:
        raise BadInput(f"store.url is of another machine, and its sslmode none of {', '.join(_TLS)}")
    return address


def _hosts(address: URL) -> list[str]:
    """Also those that the driver takes from the environment."""
    named = address.host or address.query.get("host") or os.environ.get("PGHOST", "")
    by_name = [named] if isinstance(named, str) else list(named)
    # A service is a file of the driver's; what it names counts where nothing else names a host.
    by_name += [os.environ.get("PGHOSTADDR", ""), "" if any(by_name) else os.environ.get("PGSERVICE", "")]
    return [host for names in by_name for host in names.split(",")]


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class _Alarm:
    """Cuts a connection of which nothing was heard for as long as that, or twice as long at most, while the
    server is not at work for it either."""

    def __init__(self, seconds: float, connection: Connection, is_at_work: Callable[[int], bool]) -> None:
        self.over = threading.Event()
        self._seconds, self._connection, self._heard = seconds, connection, True
        self._process, self._is_at_work = driver_of(connection).info.backend_pid, is_at_work
        threading.Thread(target=self._watch, daemon=True).start()

    def again(self) -> None:
        self._heard = True

    def _watch(self) -> None:
        while not self.over.wait(self._seconds):
            if not self._heard and not self._is_at_work(self._process):
                return cut(self._connection)
            self._heard = False
        return None


def _cut_after(seconds: float, is_over: LockType, connection: Connection) -> None:
    """A bare thread: nobody waits for it to start, which on a busy machine takes longer than a row."""
    if not is_over.acquire(timeout=seconds):
        cut(connection)


def _refuse_ended(driver: Any, *_: object) -> None:
    """A connection that nobody used has nothing to say but that it has ended; so had others, likely. To ask
    the server whether it is there would take as long as a row."""
    line = select.poll()
    line.register(driver.fileno(), select.POLLIN)
    if line.poll(0):
        raise InvalidatePoolError


def _limits(timeout_s: float) -> str:
    """The server's own, a little before ours: it says better what it was that took so long."""
    limits = {
        "statement_timeout": int(timeout_s * 900),
        "lock_timeout": int(timeout_s * 800),
        "idle_in_transaction_session_timeout": int(timeout_s * 6000),
    }
    return " ".join(f"-c {name}={value}" for name, value in limits.items())


def _become(connection: Connection) -> None:
    """For one transaction: with its end the connection is its owner's again, however it ends."""
    who = connection.get_execution_options().get(_ROLE)
    if who is not None:
        name = connection.dialect.identifier_preparer.quote_identifier(who)
        try:
            connection.exec_driver_sql(f"SET LOCAL ROLE {name}")
        except DBAPIError as problem:
            if getattr(problem.orig, "sqlstate", "") != _NO_ROLE:
                raise
            raise Forbidden(f"{who} is in this team no more") from problem


def is_of_rows(problem: HoldfastError) -> bool:
    """Whether what was to be written is what is wrong, and not the store."""
    cause = problem.__cause__
    state = getattr(getattr(cause, "orig", None), "sqlstate", "")
    return state in (NOT_ALLOWED, _TOO_LARGE) or isinstance(cause, (DataError, IntegrityError))


def driver_of(connection: Connection) -> Any:
    """The connection as psycopg knows it."""
    return connection.connection.driver_connection


def cut(connection: Connection) -> None:
    """So that whoever waits for an answer in another thread gets an end of it."""
    from psycopg import Error

    try:
        driver = driver_of(connection)
        with socket.socket(fileno=os.dup(driver.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except (OSError, Error, SQLAlchemyError):
        pass  # it has ended meanwhile
