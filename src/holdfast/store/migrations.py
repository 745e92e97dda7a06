"""How the tables came about, step by step. A step that was released is never changed: a new one follows it.

A store of an older holdfast is brought up when it is opened, under a lock, in one transaction. One of a
newer holdfast is refused: what this one would write might be wrong there.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select, text, update

from holdfast import __version__
from holdfast.clock import now
from holdfast.errors import BadInput
from holdfast.store.tables import SCHEMA

#: What one engine calls otherwise than the other.
_WORDS = {
    "sqlite": {"number": "INTEGER PRIMARY KEY AUTOINCREMENT"},
    "postgresql": {"number": "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
}

_QUEUE = """
CREATE TABLE tasks (
    number {number},
    uid TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    description TEXT NOT NULL,
    payload TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'finished')),
    added_by TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    claims INTEGER NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    machine TEXT NOT NULL DEFAULT '',
    process BIGINT NOT NULL DEFAULT 0,
    started BIGINT NOT NULL DEFAULT 0,
    lease_ms BIGINT NOT NULL DEFAULT 0,
    clock TEXT NOT NULL DEFAULT '',
    until BIGINT NOT NULL DEFAULT 0,
    finished_by TEXT NOT NULL DEFAULT '',
    finished_at BIGINT NOT NULL DEFAULT 0,
    result TEXT NOT NULL DEFAULT '',
    CHECK ((state = 'claimed') = (holder <> ''))
);
CREATE INDEX tasks_next ON tasks (project, state, priority DESC, number);
CREATE INDEX tasks_finished ON tasks (project, finished_at) WHERE state = 'finished';
CREATE INDEX tasks_claimed ON tasks (holder) WHERE state = 'claimed';
CREATE TABLE needs (
    task INTEGER NOT NULL REFERENCES tasks (number),
    needs INTEGER NOT NULL REFERENCES tasks (number),
    PRIMARY KEY (task, needs)
);
CREATE INDEX needs_needed ON needs (needs);
CREATE TABLE waits (
    holder TEXT NOT NULL,
    task INTEGER NOT NULL REFERENCES tasks (number),
    lease_ms BIGINT NOT NULL,
    clock TEXT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (holder, task)
)
"""

#: The first is what brings an empty store to version 1, and so on.
STEPS = (_QUEUE,)
NEWEST = len(STEPS)


def version(connection: Connection) -> int:
    """0 for a store that holds nothing yet."""
    if not inspect(connection).has_table(SCHEMA.name):
        return 0
    return int(connection.scalar(select(SCHEMA.c.version)) or 0)


def refuse_newer(found: int, where: str) -> None:
    if found > NEWEST:
        raise BadInput(
            f"{where} is of a newer holdfast: it has schema {found}, and this one knows {NEWEST}. "
            "Nothing was changed; install the newer one here, too"
        )


def bring_up(connection: Connection, where: str) -> tuple[int, int]:
    """(version found, version now). Of several at once one does it, and the others find it done."""
    if connection.dialect.name == "postgresql":  # where others may do the same from other machines
        connection.execute(text("SELECT pg_advisory_xact_lock(7214002)"))
    found = version(connection)
    refuse_newer(found, where)
    if found == NEWEST:
        return found, found
    if not found:
        connection.execute(text("CREATE TABLE schema (version INTEGER, at BIGINT, by TEXT)"))
        connection.execute(insert(SCHEMA).values(version=0, at=now(), by=__version__))
    for step in STEPS[found:]:
        for statement in step.format(**_WORDS[connection.dialect.name]).split(";\n"):
            connection.execute(text(statement))
    connection.execute(update(SCHEMA).values(version=NEWEST, at=now(), by=__version__))
    return found, NEWEST
