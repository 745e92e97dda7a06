"""The PostgreSQL that a team shares: made, brought up, asked whether it is well; who is in the team."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, select, text

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.disk import trail
from holdfast.errors import BadInput, HoldfastError
from holdfast.ops.progress import Bar
from holdfast.ops.words import many
from holdfast.store import migrations, retention
from holdfast.store.database import of_team
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import MEMBERS, TASKS
from holdfast.team import backup

_MOST_DAYS = 36_500
#: What the engine says of itself and of the role that asks.
_ENGINE = text(
    "SELECT current_setting('server_version') AS server, current_user AS role, "
    "pg_database_size(current_database()) AS bytes, "
    "(SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector, "
    "(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS unlimited"
)
_OWNS = text(
    "SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('tasks')"
)


@dataclass(frozen=True)
class Migrated:
    where: str
    found: int
    schema: int

    def __str__(self) -> str:
        if self.found == self.schema:
            return f"{self.where} has schema {self.schema} already"
        return f"{self.where}: schema {self.found} is {self.schema} now"


@dataclass(frozen=True)
class TeamStatus:
    """`ms` is what one question takes; `tasks` by state; `memory`: what deep memory is searched by
    there. `limited`: the role sees its own projects only. `members` are those it may see. What could not
    be found out is 0 or empty."""

    ok: bool
    where: str
    what: str
    server: str
    role: str
    limited: bool
    pgvector: str
    bytes: int
    schema: int
    ms: float
    members: int
    tasks: dict[str, int]
    memory: str = ""

    def __str__(self) -> str:
        return self.what

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1


@dataclass(frozen=True)
class BackedUp:
    path: str
    schema: int
    bytes: int
    rows: dict[str, int]

    def __str__(self) -> str:
        what = f"{many(sum(self.rows.values()), 'row')} of {many(len(self.rows), 'table')}"
        return f"{self.path}: {what}, schema {self.schema}, {self.bytes:,} bytes"


@dataclass(frozen=True)
class Restored:
    """`without_role`: members whom this server does not know."""

    where: str
    made: str
    rows: dict[str, int]
    without_role: list[str]

    def __str__(self) -> str:
        head = f"{self.where} has {many(sum(self.rows.values()), 'row')} again, as of {self.made}"
        if not self.without_role:
            return head
        names = ", ".join(self.without_role)
        return f"{head}. Roles are not in a backup; `holdfast team member add` makes those of: {names}"


@dataclass(frozen=True)
class Pruned:
    where: str
    days: int
    rows: dict[str, int]
    dry_run: bool

    def __str__(self) -> str:
        counted = ", ".join(f"{number:,} {name}" for name, number in self.rows.items() if number)
        did = "would remove" if self.dry_run else "removed"
        return f"{self.where}: {did} {counted or 'nothing'}, older than {many(self.days, 'day')}"


def migrate(app: Holdfast) -> Migrated:
    """Make the tables of a team's store, or bring those of an older holdfast up; all agents of the team
    need this holdfast then.
    """
    store = _store(app)
    try:
        found, now = store.bring_up()
    finally:
        store.close()
    trail.note(app.home, "team.migrated", found=found, schema=now)
    return Migrated(store.where, found, now)


def status(app: Holdfast) -> TeamStatus:
    """Whether a team's store answers, what is in it, and what this role may see of that."""
    store = _store(app)
    schema, ms, found = 0, 0.0, 0
    known = _Engine()
    tasks: dict[str, int] = {}
    try:
        with store.reading() as connection:
            began = elapsed()
            connection.scalar(text("SELECT 1"))
            ms = round(1000 * (elapsed() - began), 1)
            known = _engine(connection)
            schema = migrations.version(connection)
        store.check()
        with store.reading() as connection:
            rows = connection.execute(select(TASKS.c.state, func.count()).group_by(TASKS.c.state))
            tasks = {row[0]: row[1] for row in rows}
            found = connection.scalar(select(func.count(MEMBERS.c.who.distinct()))) or 0
            lacks = migrations.no_vectors(connection)
    except HoldfastError as problem:
        return TeamStatus(False, store.where, str(problem), *known, schema, ms, 0, {})
    finally:
        store.close()
    counted = ", ".join(f"{number:,} {state}" for state, number in sorted(tasks.items())) or "none"
    sees = "sees its own projects only" if known.limited else "owns the tables: no policy limits it"
    vector = f"pgvector {known.pgvector}" if known.pgvector else "no pgvector"
    memory = f"keyword only: {lacks}" if lacks else "words and vectors"
    what = (
        f"{store.where} answers in {ms} ms: PostgreSQL {known.server}, {vector}, schema {schema}, "
        f"{known.bytes >> 20:,} MB; role {known.role} {sees}; {many(found, 'member')}; tasks: {counted}; "
        f"memory: {memory}"
    )
    return TeamStatus(True, store.where, what, *known, schema, ms, found, tasks, memory)


class _Engine(NamedTuple):
    server: str = ""
    role: str = ""
    limited: bool = False
    pgvector: str = ""
    bytes: int = 0


def _engine(connection: Connection) -> _Engine:
    said = connection.execute(_ENGINE).one()
    limited = not said.unlimited and not connection.scalar(_OWNS)
    return _Engine(said.server, said.role, limited, said.pgvector or "", said.bytes)


def back_up(app: Holdfast, file: Path) -> BackedUp:
    """All of a team's store as one file: tasks, what machines told, members, hashes of tokens.

    Parameters
    ----------
    file
        Where to; there must be none yet.
    """
    store = ready(app)
    try:
        with Bar("backing up the team's store") as bar:
            kept = backup.back_up(store, str(file), bar.show)
    finally:
        store.close()
    trail.note(app.home, "team.backup", schema=kept.schema, rows=sum(kept.rows.values()))
    return BackedUp(str(file), kept.schema, file.stat().st_size, kept.rows)


def restore(app: Holdfast, file: Path) -> Restored:
    """Put a backup into a store that is empty, right after `team init`: all of it, or nothing.

    Parameters
    ----------
    file
        What `team backup` wrote.
    """
    store = ready(app)
    try:
        with Bar("restoring the team's store") as bar:
            kept, strangers = backup.restore(store, str(file), bar.show)
    finally:
        store.close()
    trail.note(app.home, "team.restored", schema=kept.schema, rows=sum(kept.rows.values()))
    return Restored(store.where, kept.at, kept.rows, strangers)


def prune(app: Holdfast, *, days: int = 90, dry_run: bool = False) -> Pruned:
    """Remove from a team's store what is older than so many days: events, messages that are over with their
    marks, and what is left of checkpoints that are gone. Memories and tasks stay.

    Parameters
    ----------
    days
        By the clock of the store, since it heard of them.
    dry_run
        Say what would be removed, and remove nothing.
    """
    if not 1 <= days <= _MOST_DAYS:
        raise BadInput(f"--days is {days}; it takes 1 to {_MOST_DAYS:,}")
    store = owned(app)
    try:
        rows = (retention.outdated if dry_run else retention.prune)(store, days)
    finally:
        store.close()
    if not dry_run:
        trail.note(app.home, "team.pruned", rows=sum(rows.values()), days=days)
    return Pruned(store.where, days, rows, dry_run)


def ready(app: Holdfast) -> PostgreSQL:
    store = _store(app)
    store.check()
    return store


def owned(app: Holdfast) -> PostgreSQL:
    """The store, for what no member may do: as the one whom no policy limits."""
    store = ready(app)
    with store.reading() as connection:
        asks = _engine(connection)
    if asks.limited:
        store.close()
        raise BadInput(
            f"{store.where} is asked as {asks.role}, a member: this takes who owns the tables, as whoever "
            "ran `holdfast team init` does"
        )
    return store


def _store(app: Holdfast) -> PostgreSQL:
    if not app.config["store.url"]:
        raise BadInput("no team is set up: holdfast team join postgresql://user@host/database")
    return of_team(app)
