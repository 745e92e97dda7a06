"""Who is in a team: roles of its PostgreSQL, and the projects that each is in.

Passwords are the engine's: it is given one that is hashed already, so that no log of its statements ever
holds it. A role may be used by other databases of the same server, too; only one that was made here, for
this database, is dropped again.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from holdfast.core.plain import one_line
from holdfast.errors import BadInput, NotFound
from holdfast.store.postgres import PostgreSQL, driver_of
from holdfast.store.tables import MEMBERS, TOKENS

ALL = "*"
#: What becomes of a role when it is in no project any more.
GONE, LOCKED, KEPT = "gone", "locked", "kept"
#: SQLSTATE of what cannot be dropped, because something depends on it.
_OWNS = "2BP01"
#: Of a role's name, by the engine; of a project's, by us.
_LONGEST, _LONGEST_PROJECT = 63, 500
_SHORTEST_PASSWORD = 12
_BESIDES = "_.@+-"
_RESERVED = ("public", "none", "current_user", "current_role", "session_user")
_ROLE = text(
    "SELECT rolcanlogin, rolsuper OR rolbypassrls OR coalesce(pg_has_role(oid, "
    "(SELECT relowner FROM pg_class WHERE oid = to_regclass('tasks')), 'MEMBER'), false) AS unlimited, "
    "shobj_description(oid, 'pg_authid') AS said FROM pg_roles WHERE rolname = :who"
)
#: Two who add the same one at once do so one after the other; roles are of the whole server.
_ONE_BY_ONE = text("SELECT pg_advisory_xact_lock(7214004)")


@dataclass(frozen=True)
class Member:
    who: str
    projects: list[str]


@dataclass(frozen=True)
class Added:
    """`password` is empty where the role was there before, and keeps its own."""

    who: str
    projects: list[str]
    password: str


def checked(who: str) -> str:
    """A name that is one on every shell, in every URL and for the engine; BadInput where it is not."""
    letters = all(letter.isascii() and (letter.isalnum() or letter in _BESIDES) for letter in who)
    if not letters or not 0 < len(who) <= _LONGEST or who[0] in ".@+-":
        raise BadInput(
            f"{who[:40]!r} cannot be a member's name: it takes 1 to {_LONGEST} letters, digits and "
            f"{_BESIDES}, and begins with a letter, a digit or _"
        )
    if who.lower() in _RESERVED or who.lower().startswith("pg_"):
        raise BadInput(f"{who!r} means something else to PostgreSQL; take another name")
    return who


def checked_projects(projects: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(projects))
    for project in found:
        if not 0 < len(project) <= _LONGEST_PROJECT or one_line(project) != project:
            raise BadInput(
                f"{project[:40]!r} cannot be a project: it takes a name on one line, as host/path, or *"
            )
    return found


def add(store: PostgreSQL, who: str, projects: Sequence[str], password: str = "") -> Added:
    """A new role, or one that is there already, in these projects, beside those it is in."""
    checked(who)
    wanted = checked_projects(projects)
    if not wanted:
        raise BadInput(f"say what {who} may see: --project host/path, several times, or --project '*'")
    if password and len(password) < _SHORTEST_PASSWORD:
        raise BadInput(f"that password is too short; it takes {_SHORTEST_PASSWORD} characters or more")
    with store.writing() as connection:
        connection.execute(_ONE_BY_ONE)
        made = _made(connection, who, password)
        connection.execute(
            insert(MEMBERS).on_conflict_do_nothing(), [{"who": who, "project": one} for one in wanted]
        )
        return Added(who, _of(connection, who), made)


def remove(store: PostgreSQL, who: str, projects: Sequence[str] = ()) -> tuple[list[str], str]:
    """(projects that are left, what became of the role, if none is). Without `projects`: out of all of
    them, its tokens worth nothing any more. What it wrote stays."""
    left: list[str] = []
    role = KEPT
    with store.writing() as connection:
        connection.execute(_ONE_BY_ONE)
        before = _of(connection, who)
        if not before:
            raise NotFound(f"{who[:80]!r} is in no project; `holdfast team member list` shows who is")
        for project in projects:
            if project not in before:
                raise NotFound(f"{who} is not in {project[:80]!r}, but in {', '.join(before)}")
        going = delete(MEMBERS).where(MEMBERS.c.who == who)
        connection.execute(going.where(MEMBERS.c.project.in_(projects)) if projects else going)
        left = _of(connection, who)
        if not left:
            connection.execute(delete(TOKENS).where(TOKENS.c.who == who))
            role = _dropped(connection, who)
    return left, role


def list_all(store: PostgreSQL) -> list[Member]:
    found: dict[str, list[str]] = defaultdict(list)
    with store.reading() as connection:
        for row in connection.execute(select(MEMBERS).order_by(MEMBERS.c.who, MEMBERS.c.project)):
            found[row.who].append(row.project)
    return [Member(who, projects) for who, projects in found.items()]


def _of(connection: Connection, who: str) -> list[str]:
    asked = select(MEMBERS.c.project).where(MEMBERS.c.who == who).order_by(MEMBERS.c.project)
    return list(connection.scalars(asked))


def _made(connection: Connection, who: str, password: str) -> str:
    """The password of the new role; "" where there was one."""
    found = connection.execute(_ROLE, {"who": who}).one_or_none()
    if found is not None:
        if found.unlimited:
            raise BadInput(
                f"the role {who} is a superuser, bypasses policies or has the rights of the tables' owner: "
                "nothing would limit it"
            )
        if password:
            raise BadInput(f"the role {who} is there already and keeps its password; leave --password-file")
        if not found.rolcanlogin and found.said == _mark(connection):  # it was removed, and owned something
            _run(connection, f"ALTER ROLE {_quoted(connection, who)} LOGIN")
        return ""
    made = password or secrets.token_urlsafe(24)
    name = _quoted(connection, who)
    hashed = driver_of(connection).pgconn.encrypt_password(made.encode(), who.encode(), b"scram-sha-256")
    literal = hashed.decode("ascii").replace("'", "''")
    _run(connection, f"CREATE ROLE {name} LOGIN PASSWORD '{literal}'")
    _run(connection, f"COMMENT ON ROLE {name} IS '{_mark(connection)}'")
    if not connection.scalar(text("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")):
        # So that a shared service, which runs as this one, can do what it is asked with that one's rights.
        newer = connection.scalar(text("SELECT current_setting('server_version_num')::int >= 160000"))
        _run(connection, f"GRANT {name} TO CURRENT_USER{' WITH INHERIT FALSE, SET TRUE' if newer else ''}")
    return made


def _dropped(connection: Connection, who: str) -> str:
    """A role that owns anything on the server cannot be dropped, and any can come to own something: whether
    it is out of the team does not depend on that."""
    found = connection.execute(_ROLE, {"who": who}).one_or_none()
    if found is None or found.said != _mark(connection):
        return KEPT
    name = _quoted(connection, who)
    try:
        with connection.begin_nested():
            _run(connection, f"DROP ROLE {name}")
    except DBAPIError as problem:
        if getattr(problem.orig, "sqlstate", "") != _OWNS:
            raise
        _run(connection, f"ALTER ROLE {name} NOLOGIN")
        return LOCKED
    return GONE


def _mark(connection: Connection) -> str:
    """What a role that was made here, for this database, says of itself."""
    number = connection.scalar(text("SELECT oid FROM pg_database WHERE datname = current_database()"))
    return f"holdfast: member, made for database {number}"


def _quoted(connection: Connection, who: str) -> str:
    return connection.dialect.identifier_preparer.quote_identifier(who)


def _run(connection: Connection, statement: str) -> None:
    """Names and passwords of roles cannot be given as parameters."""
    connection.exec_driver_sql(statement)
