"""The PostgreSQL that a team shares: made, brought up, asked whether it is well."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select, text

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.disk import trail
from holdfast.errors import BadInput, HoldfastError
from holdfast.store import migrations
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import TASKS


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
    """`ms` is what one question takes; `tasks` by state; `memory`: what deep memory is searched by there.
    What could not be found out is 0 or empty."""

    ok: bool
    where: str
    what: str
    server: str
    schema: int
    ms: float
    tasks: dict[str, int]
    memory: str = ""

    def __str__(self) -> str:
        return self.what

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1


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
    """Whether a team's store answers, and what is in it."""
    store = _store(app)
    server, schema, ms = "", 0, 0.0
    tasks: dict[str, int] = {}
    try:
        with store.reading() as connection:
            began = elapsed()
            server = str(connection.scalar(text("SHOW server_version")))
            ms = round(1000 * (elapsed() - began), 1)
            schema = migrations.version(connection)
        store.check()
        with store.reading() as connection:
            rows = connection.execute(select(TASKS.c.state, func.count()).group_by(TASKS.c.state))
            tasks = {row[0]: row[1] for row in rows}
            lacks = migrations.no_vectors(connection)
    except HoldfastError as problem:
        return TeamStatus(False, store.where, str(problem), server, schema, ms, {})
    finally:
        store.close()
    counted = ", ".join(f"{number:,} {state}" for state, number in sorted(tasks.items())) or "none"
    memory = f"keyword only: {lacks}" if lacks else "words and vectors"
    what = (
        f"{store.where} answers in {ms} ms: PostgreSQL {server}, schema {schema}; tasks: {counted}; "
        f"memory: {memory}"
    )
    return TeamStatus(True, store.where, what, server, schema, ms, tasks, memory)


def _store(app: Holdfast) -> PostgreSQL:
    url = app.config["store.url"]
    if not url:
        raise BadInput("no team is set up: `holdfast config set store.url postgresql://user@host/database`")
    return PostgreSQL(url)
