"""The PostgreSQL that a team shares: made, brought up, asked whether it is well; who is in the team."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, make_url, select, text

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.disk import trail
from holdfast.errors import BadInput, HoldfastError
from holdfast.ops.progress import Bar
from holdfast.ops.words import many
from holdfast.store import migrations
from holdfast.store.database import of_team
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import MEMBERS, TASKS
from holdfast.team import backup, members, tokens

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
_LARGEST_PASSWORD = 1000


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
    """`ms` is what one question takes; `tasks` by state. `limited`: the role sees its own projects only.
    `members` are those it may see. What could not be found out is 0 or empty."""

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

    def __str__(self) -> str:
        return self.what

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1


@dataclass(frozen=True)
class NewMember:
    """`url` is to be handed over, and not shown again; without a password where the role had one."""

    who: str
    projects: list[str]
    url: str
    is_new: bool

    def __str__(self) -> str:
        head = f"{self.who} sees {', '.join(self.projects)}"
        if not self.is_new:
            return f"{head}; the role was there before and keeps its password"
        return f"{head}. To hand over, shown only now:\n  holdfast config set store.url '{self.url}'"


@dataclass(frozen=True)
class Left:
    who: str
    projects: list[str]
    role_dropped: bool

    def __str__(self) -> str:
        if self.projects:
            return f"{self.who} still sees {', '.join(self.projects)}"
        role = "its role is gone" if self.role_dropped else "its role stays: it was not made for this team"
        return f"{self.who} sees nothing any more; {role}"


@dataclass(frozen=True)
class NewToken:
    """`token` is shown only now."""

    token: str
    name: str
    who: str
    expires: str

    def __str__(self) -> str:
        about = f"of {self.who}, until {self.expires}; shown only now, revoked by its name, {self.name}"
        return f"{self.token}\n({about})"


@dataclass(frozen=True)
class Revoked:
    name: str
    who: str

    def __str__(self) -> str:
        return f"token {self.name} of {self.who} is worth nothing any more"


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


class Members(list[members.Member]):
    """Who is in which projects."""


class Tokens(list[tokens.Token]):
    """Tokens of a shared service, whatever they are still worth."""


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
    except HoldfastError as problem:
        return TeamStatus(False, store.where, str(problem), *known, schema, ms, 0, {})
    finally:
        store.close()
    counted = ", ".join(f"{number:,} {state}" for state, number in sorted(tasks.items())) or "none"
    sees = "sees its own projects only" if known.limited else "owns the tables: no policy limits it"
    vector = f"pgvector {known.pgvector}" if known.pgvector else "no pgvector"
    what = (
        f"{store.where} answers in {ms} ms: PostgreSQL {known.server}, {vector}, schema {schema}, "
        f"{known.bytes >> 20:,} MB; role {known.role} {sees}; {many(found, 'member')}; tasks: {counted}"
    )
    return TeamStatus(True, store.where, what, *known, schema, ms, found, tasks)


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


def member_add(
    app: Holdfast, name: str, *, project: tuple[str, ...] = (), password_file: Path | None = None
) -> NewMember:
    """Let somebody into projects of the team: a role of their own, and the address to hand over.

    Parameters
    ----------
    name
        The name of the role.
    project
        What it may see, as host/path; may be given several times; * is everything.
    password_file
        File with the password it gets. Without it: one is made up.
    """
    password = _password(password_file) if password_file else ""
    store = _ready(app)
    try:
        added = members.add(store, name, project, password)
    finally:
        store.close()
    trail.note(app.home, "team.member", who=name, projects=added.projects)
    address = make_url(app.config["store.url"]).set(username=name)
    address = address.set(password=added.password) if added.password else address._replace(password=None)
    url = address.render_as_string(hide_password=False).replace(" ", "%20")  # which it leaves as they are
    return NewMember(name, added.projects, url, bool(added.password))


def member_remove(app: Holdfast, name: str, *, project: tuple[str, ...] = ()) -> Left:
    """Take somebody out of projects, or of the team: at once, tokens included. What they wrote stays.

    Parameters
    ----------
    name
        The name of the role.
    project
        Only out of this one; may be given several times. Without it: out of all.
    """
    store = _ready(app)
    try:
        left, dropped = members.remove(store, name, project)
    finally:
        store.close()
    trail.note(app.home, "team.member", who=name, projects=left)
    return Left(name, left, dropped)


def member_list(app: Holdfast) -> Members:
    """Who is in which projects; for a member: itself."""
    store = _ready(app)
    try:
        return Members(members.list_all(store))
    finally:
        store.close()


def token_add(app: Holdfast, name: str, *, days: int = 90) -> NewToken:
    """Make a token with which a member is known to the team's shared service; shown once.

    Parameters
    ----------
    name
        The member.
    days
        How long it is good for.
    """
    store = _ready(app)
    try:
        made = tokens.add(store, name, days)
    finally:
        store.close()
    trail.note(app.home, "team.token", token=made.name, who=name, state="valid")
    return NewToken(made.token, made.name, made.who, made.expires)


def token_list(app: Holdfast) -> Tokens:
    """Tokens of the team's shared service: whose, until when. The tokens themselves nobody has."""
    store = _ready(app)
    try:
        return Tokens(tokens.list_all(store))
    finally:
        store.close()


def token_revoke(app: Holdfast, token: str) -> Revoked:
    """Make a token worthless, from the next request on.

    Parameters
    ----------
    token
        Its name, as `team token list` shows it.
    """
    store = _ready(app)
    try:
        found = tokens.revoke(store, token)
    finally:
        store.close()
    trail.note(app.home, "team.token", token=found.name, who=found.who, state="revoked")
    return Revoked(found.name, found.who)


def back_up(app: Holdfast, file: Path) -> BackedUp:
    """All of a team's store as one file: tasks, what machines told, members, hashes of tokens.

    Parameters
    ----------
    file
        Where to; there must be none yet.
    """
    store = _ready(app)
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
    store = _ready(app)
    try:
        with Bar("restoring the team's store") as bar:
            kept, strangers = backup.restore(store, str(file), bar.show)
    finally:
        store.close()
    trail.note(app.home, "team.restored", schema=kept.schema, rows=sum(kept.rows.values()))
    return Restored(store.where, kept.at, kept.rows, strangers)


def _password(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        said = file.read(_LARGEST_PASSWORD).partition("\n")[0]
    if not said or not said.isprintable():
        raise BadInput(f"{path} holds no password: it takes one line that can be printed")
    return said


def _ready(app: Holdfast) -> PostgreSQL:
    store = _store(app)
    store.check()
    return store


def owned(app: Holdfast) -> PostgreSQL:
    """The store, for a service that acts for its members: as the one whom no policy limits."""
    store = _ready(app)
    with store.reading() as connection:
        asks = _engine(connection)
    if asks.limited:
        store.close()
        raise BadInput(
            f"{store.where} is asked as {asks.role}, a member: a service for the team has to own the "
            "tables, as whoever ran `holdfast team init` does"
        )
    return store


def _store(app: Holdfast) -> PostgreSQL:
    if not app.config["store.url"]:
        raise BadInput("no team is set up: `holdfast config set store.url postgresql://user@host/database`")
    return of_team(app)
