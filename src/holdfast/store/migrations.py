"""How the tables came about, step by step. A step that was released is never changed: a new one follows it.

A store of an older holdfast is brought up when it is opened, under a lock, in one transaction. One of a
newer holdfast is refused: what this one would write might be wrong there.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError

from holdfast import __version__
from holdfast.clock import now
from holdfast.errors import BadInput
from holdfast.store.functions import FOUND
from holdfast.store.policies import ME, SEEN, protect, protect_through, shut
from holdfast.store.tables import SCHEMA

#: Members write these columns: none may hold a number that overflows for whoever reckons with it. A span of
#: time is at most a year, a moment before the year 3000, on whatever clock.
_SPAN = "BETWEEN 0 AND 31622400000"
_MOMENT = "BETWEEN -32503680000000 AND 32503680000000"
#: What one engine calls otherwise than the other.
_WORDS = {
    "sqlite": {
        "number": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "me": "''",
        "span": _SPAN,
        "moment": _MOMENT,
        "clock": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    },
    "postgresql": {
        "number": "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "me": "current_user",
        "span": _SPAN,
        "moment": _MOMENT,
        "clock": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    },
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
    added_at BIGINT NOT NULL CHECK (added_at {moment}),
    claims INTEGER NOT NULL DEFAULT 0 CHECK (claims BETWEEN 0 AND 2000000000),
    holder TEXT NOT NULL DEFAULT '',
    machine TEXT NOT NULL DEFAULT '',
    process BIGINT NOT NULL DEFAULT 0,
    started BIGINT NOT NULL DEFAULT 0,
    lease_ms BIGINT NOT NULL DEFAULT 0 CHECK (lease_ms {span}),
    clock TEXT NOT NULL DEFAULT '',
    until BIGINT NOT NULL DEFAULT 0 CHECK (until {moment}),
    finished_by TEXT NOT NULL DEFAULT '',
    finished_at BIGINT NOT NULL DEFAULT 0 CHECK (finished_at {moment}),
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
    lease_ms BIGINT NOT NULL CHECK (lease_ms {span}),
    clock TEXT NOT NULL,
    until BIGINT NOT NULL CHECK (until {moment}),
    PRIMARY KEY (holder, task)
)
"""

#: What machines tell each other. `who` is the role that said it, `received` when that was by the clock of
#: the store: those of machines differ. What is never asked for by its parts is kept as it was said.
_SHARED = """
CREATE TABLE checkpoints (
    uid TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT {me},
    machine TEXT NOT NULL,
    lineage TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    created BIGINT NOT NULL,
    entry TEXT NOT NULL,
    body TEXT NOT NULL,
    gone_at BIGINT NOT NULL DEFAULT 0,
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment})
);
CREATE INDEX checkpoints_newest ON checkpoints (created);
CREATE TABLE events (
    uid TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT {me},
    machine TEXT NOT NULL,
    session TEXT NOT NULL,
    at BIGINT NOT NULL,
    event TEXT NOT NULL,
    data TEXT NOT NULL,
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment})
);
CREATE INDEX events_newest ON events (received);
CREATE TABLE messages (
    uid TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT {me},
    machine TEXT NOT NULL,
    said TEXT NOT NULL,
    lasts_ms BIGINT NOT NULL CHECK (lasts_ms {span}),
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment})
);
CREATE INDEX messages_newest ON messages (project, received);
CREATE TABLE marks (
    message TEXT NOT NULL,
    reader TEXT NOT NULL,
    mark TEXT NOT NULL,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT {me},
    machine TEXT NOT NULL,
    said TEXT NOT NULL,
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment}),
    PRIMARY KEY (message, reader, mark)
);
CREATE INDEX marks_newest ON marks (project, received)
"""

#: Who is in which project, and with which tokens a shared service knows them. A home has nobody to name,
#: but the same tables.
_MEMBERS = """
ALTER TABLE tasks ADD COLUMN who TEXT NOT NULL DEFAULT {me};
CREATE TABLE members (
    who TEXT NOT NULL,
    project TEXT NOT NULL CHECK (project <> ''),
    added_at BIGINT NOT NULL DEFAULT ({clock}),
    PRIMARY KEY (who, project)
);
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    who TEXT NOT NULL,
    hash TEXT NOT NULL,
    made_at BIGINT NOT NULL DEFAULT ({clock}),
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL DEFAULT 0
)
"""
#: A task is all of its project's: any member of it claims and finishes it, but what it says, whose it is
#: and where it belongs stays as it was added.
_CLAIM = (
    "state, claims, holder, machine, process, started, lease_ms, clock, until, "
    "finished_by, finished_at, result"
)
_SEES_TASK = "EXISTS (SELECT 1 FROM tasks t WHERE t.number = task)"
_SEES_BOTH = f"{_SEES_TASK} AND EXISTS (SELECT 1 FROM tasks t WHERE t.number = needs)"  # noqa: S608
_GUARDED = ";\n".join(
    (
        # Before PostgreSQL 15 everybody may put things where names are looked up.
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
        "GRANT SELECT ON schema TO PUBLIC",
        protect_through("members", f"who = {ME}"),
        shut("tokens"),
        protect("tasks", "INSERT", f"UPDATE ({_CLAIM})", changes=SEEN),
        protect_through("needs", _SEES_TASK, "INSERT", added=_SEES_BOTH),
        protect_through("waits", _SEES_TASK, "INSERT", "DELETE"),
        protect("checkpoints", "INSERT", "UPDATE", "DELETE"),
        protect("events", "INSERT"),
        protect("messages", "INSERT", "DELETE"),
        protect("marks", "INSERT", "UPDATE", "DELETE"),
    )
)

#: Deep memory of a team; that of one machine is a file of its own. What a word counts depends on where it
#: stands: `words` has those of an item as A, of what stands beside it as B, of what is further off as C.
#: They come as our own words, so every kind of them is stemmed alike, and none is left out.
_MEMORY = """
CREATE TEXT SEARCH DICTIONARY holdfast_stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION holdfast (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION holdfast ALTER MAPPING FOR asciiword, word, numword WITH holdfast_stem;
CREATE TABLE items (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid TEXT NOT NULL,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT current_user,
    machine TEXT NOT NULL,
    collection TEXT NOT NULL,
    text TEXT NOT NULL,
    lineage TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    origin TEXT NOT NULL,
    by TEXT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    title TEXT NOT NULL,
    files TEXT[] NOT NULL,
    sources TEXT[] NOT NULL,
    thread TEXT NOT NULL,
    seq BIGINT NOT NULL,
    shape TEXT NOT NULL,
    words TSVECTOR NOT NULL,
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment}),
    UNIQUE (uid, who)
) WITH (toast_tuple_target = 8160);
ALTER TABLE items ALTER COLUMN words SET STATISTICS 1000;
CREATE INDEX items_words ON items USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE INDEX items_thread ON items (thread, seq) WHERE thread <> '';
CREATE INDEX items_time ON items (project, first_at);
CREATE INDEX items_shape ON items (project, shape);
CREATE TABLE forgotten (
    project TEXT NOT NULL,
    shape TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT current_user,
    machine TEXT NOT NULL,
    received BIGINT NOT NULL DEFAULT ({clock}) CHECK (received {moment}),
    PRIMARY KEY (project, shape)
)
"""

#: What one erases is gone for all of its project, whoever had put it there.
_GUARDED_MEMORY = ";\n".join(
    (protect("items", "INSERT", "UPDATE", "DELETE", removes=SEEN), protect("forgotten", "INSERT"))
)

#: Where the server has pgvector. An index serves one model; vectors of others are compared one by one.
_VECTORS = """
CREATE TABLE vectors (
    item BIGINT NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    project TEXT NOT NULL,
    who TEXT NOT NULL DEFAULT current_user,
    machine TEXT NOT NULL,
    data HALFVEC NOT NULL,
    PRIMARY KEY (item, model)
);
CREATE INDEX vectors_project ON vectors (project, model);
CREATE INDEX vectors_wordllama ON vectors USING hnsw ((data::halfvec(256)) halfvec_cosine_ops)
    WITH (m = 24, ef_construction = 128) WHERE model = 'wordllama-l2-supercat-256';
CREATE INDEX vectors_minilm ON vectors USING hnsw ((data::halfvec(384)) halfvec_cosine_ops)
    WITH (m = 24, ef_construction = 128) WHERE model = 'all-minilm-l6-v2-384'
"""
#: Of one's own items only: who puts one beside another's takes the place of the one that belongs there.
_OF_OWN = (
    f"EXISTS (SELECT 1 FROM items i WHERE i.id = item AND i.project = vectors.project AND i.who = {ME})"  # noqa: S608
)
_GUARDED_VECTORS = protect("vectors", "INSERT", "UPDATE", "DELETE", removes=SEEN, added=_OF_OWN)

#: The first is what brings an empty store to version 1, and so on. Where the engines have nothing in
#: common, a step has one text for each; one without a text has nothing to do.
STEPS: tuple[str | dict[str, str], ...] = (
    _QUEUE,
    _SHARED,
    {"sqlite": _MEMBERS, "postgresql": f"{_MEMBERS};\n{_GUARDED}"},
    {"postgresql": f"{_MEMORY};\n{_GUARDED_MEMORY}"},
    {"postgresql": FOUND},
)
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
    if found < NEWEST:
        _take_steps(connection, found)
    if connection.dialect.name == "postgresql":
        _make_vectors(connection)
    return found, NEWEST


def _take_steps(connection: Connection, found: int) -> None:
    if not found:
        connection.execute(text("CREATE TABLE schema (version INTEGER, at BIGINT, by TEXT)"))
        connection.execute(insert(SCHEMA).values(version=0, at=now(), by=__version__))
    for step in STEPS[found:]:
        _run(connection, step if isinstance(step, str) else step.get(connection.dialect.name, ""))
    connection.execute(update(SCHEMA).values(version=NEWEST, at=now(), by=__version__))


def _make_vectors(connection: Connection) -> None:
    """As soon as the server has pgvector, whenever that is: until then memory goes by words alone."""
    if has_vectors(connection):
        return
    try:
        with connection.begin_nested():
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError:
        return  # not installed, or not ours to create: `no_vectors` says which
    _run(connection, f"{_VECTORS};\n{_GUARDED_VECTORS}")


def has_vectors(connection: Connection) -> bool:
    return connection.scalar(text("SELECT to_regclass('vectors')")) is not None


def no_vectors(connection: Connection) -> str:
    """Why a team's memory goes by words alone; "" where it does not."""
    if has_vectors(connection):
        return ""
    known = text("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")
    if connection.scalar(known):
        return (
            "the extension vector is not in the database: let somebody who may "
            "run CREATE EXTENSION vector there, then `holdfast team migrate`"
        )
    return "the server has no pgvector: install it there, then `holdfast team migrate`"


def _run(connection: Connection, step: str) -> None:
    for statement in filter(None, step.format(**_WORDS[connection.dialect.name]).split(";\n")):
        connection.execute(text(statement))
