"""The tables as queries name them. How they came about, and in which order, is in `migrations`.

Times are epoch milliseconds; `until` is in milliseconds of the clock that is named beside it, which no wall
clock moves (see `clocks`).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

METADATA = MetaData()

SCHEMA = Table("schema", METADATA, Column("version", Integer), Column("at", BigInteger), Column("by", Text))

TASKS = Table(
    "tasks",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("uid", Text),
    Column("project", Text),
    Column("description", Text),
    Column("payload", Text),
    Column("priority", Integer),
    Column("state", Text),
    Column("added_by", Text),
    Column("added_at", BigInteger),
    # The claim; empty where there is none. `claims` counts them all: with the number it names one claim.
    Column("claims", Integer),
    Column("holder", Text),
    Column("machine", Text),
    Column("process", BigInteger),
    Column("started", BigInteger),
    Column("lease_ms", BigInteger),
    Column("clock", Text),
    Column("until", BigInteger),
    Column("finished_by", Text),
    Column("finished_at", BigInteger),
    Column("result", Text),
    # The role that added it, as the engine knows it; `added_by` is what that one called itself.
    Column("who", Text),
)

#: `task` cannot be claimed before `needs` is finished.
NEEDS = Table(
    "needs",
    METADATA,
    Column("task", Integer, primary_key=True),
    Column("needs", Integer, primary_key=True),
)

#: Who waits until which task is finished, as long as `until` says.
WAITS = Table(
    "waits",
    METADATA,
    Column("holder", Text, primary_key=True),
    Column("task", Integer, primary_key=True),
    Column("lease_ms", BigInteger),
    Column("clock", Text),
    Column("until", BigInteger),
)

CHECKPOINTS = Table(
    "checkpoints",
    METADATA,
    Column("uid", Text, primary_key=True),
    Column("project", Text),
    Column("who", Text),
    Column("machine", Text),
    Column("lineage", Text),
    Column("session", Text),
    Column("agent", Text),
    Column("created", BigInteger),
    # The line of the index, as JSON; and all of the file, redacted, where bodies may travel.
    Column("entry", Text),
    Column("body", Text),
    Column("gone_at", BigInteger),
    Column("received", BigInteger),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("uid", Text, primary_key=True),
    Column("project", Text),
    Column("who", Text),
    Column("machine", Text),
    Column("session", Text),
    Column("at", BigInteger),
    Column("event", Text),
    Column("data", Text),
    Column("received", BigInteger),
)

MESSAGES = Table(
    "messages",
    METADATA,
    Column("uid", Text, primary_key=True),
    Column("project", Text),
    Column("who", Text),
    Column("machine", Text),
    Column("said", Text),
    Column("lasts_ms", BigInteger),
    Column("received", BigInteger),
)

MARKS = Table(
    "marks",
    METADATA,
    Column("message", Text, primary_key=True),
    Column("reader", Text, primary_key=True),
    Column("mark", Text, primary_key=True),
    Column("project", Text),
    Column("who", Text),
    Column("machine", Text),
    Column("said", Text),
    Column("received", BigInteger),
)

#: Which role is in which project; `*` is all of them.
MEMBERS = Table(
    "members",
    METADATA,
    Column("who", Text, primary_key=True),
    Column("project", Text, primary_key=True),
    Column("added_at", BigInteger),
)

#: What a shared service knows its users by: a name that is no secret, and the hash of what is one.
TOKENS = Table(
    "tokens",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("who", Text),
    Column("hash", Text),
    Column("made_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
)
