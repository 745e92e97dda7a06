"""The checkpoints of a team: the lines of every machine's index, and the files where those may travel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from holdfast.store import once
from holdfast.store.clocks import wall
from holdfast.store.tables import CHECKPOINTS


@dataclass(frozen=True)
class Entry:
    """`entry` is the line of the index, as JSON; `body` all of the file, or "". `who` is empty until it is
    read back: the store says who sent it."""

    uid: str
    project: str
    machine: str
    lineage: str
    session: str
    agent: str
    created: int
    entry: str
    body: str
    who: str = ""


_READ = select(*(CHECKPOINTS.c[name] for name in Entry.__dataclass_fields__)).where(
    CHECKPOINTS.c.gone_at == 0
)


def add(connection: Connection, entries: Sequence[Entry]) -> int:
    rows = [{name: value for name, value in vars(one).items() if name != "who"} for one in entries]
    return once.add(connection, CHECKPOINTS, rows)


def end(connection: Connection, uids: Collection[str], machine: str) -> int:
    """They are gone from the machine that took them, and so is what they said."""
    gone = update(CHECKPOINTS).values(gone_at=wall(connection), body="")
    mine = CHECKPOINTS.c.uid.in_(uids), CHECKPOINTS.c.machine == machine, CHECKPOINTS.c.gone_at == 0
    return connection.execute(gone.where(*mine)).rowcount if uids else 0


def of_machine(connection: Connection, machine: str) -> set[str]:
    """uids of those that are not gone."""
    mine = CHECKPOINTS.c.machine == machine, CHECKPOINTS.c.gone_at == 0
    return set(connection.scalars(select(CHECKPOINTS.c.uid).where(*mine)))


def newest(connection: Connection, project: str | None, limit: int) -> list[Entry]:
    """Of all machines, newest first; 0: all."""
    wanted = _READ.order_by(CHECKPOINTS.c.created.desc(), CHECKPOINTS.c.uid.desc()).limit(limit or None)
    if project is not None:
        wanted = wanted.where(CHECKPOINTS.c.project == project)
    return [Entry(**row._mapping) for row in connection.execute(wanted)]


def one(connection: Connection, uid: str) -> Entry | None:
    row = connection.execute(_READ.where(CHECKPOINTS.c.uid == uid)).one_or_none()
    return Entry(**row._mapping) if row else None
