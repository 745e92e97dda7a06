"""The checkpoints of a team: the lines of every machine's index, and the files where those may travel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select, update

from holdfast.store import once
from holdfast.store.clocks import wall
from holdfast.store.tables import CHECKPOINTS


@dataclass(frozen=True)
class Entry:
    """`entry` is the line of the index, as JSON; `body` all of the file, or "". Who sent it the store says,
    and `size` is that of the body, which a list leaves out."""

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
    size: int = 0


_SAID = ("who", "size")
_SIZE = func.length(CHECKPOINTS.c.body).label("size")
_STANDS = CHECKPOINTS.c.gone_at == 0
_WHOLE = [CHECKPOINTS.c[name] for name in Entry.__dataclass_fields__ if name != "size"]


def add(connection: Connection, entries: Sequence[Entry]) -> int:
    rows = [{name: value for name, value in vars(one).items() if name not in _SAID} for one in entries]
    return once.add(connection, CHECKPOINTS, rows)


def revive(connection: Connection, entries: Sequence[Entry], machine: str) -> int:
    """Those that this machine has after all, though it was said that they are gone."""
    mine = CHECKPOINTS.c.uid.in_([one.uid for one in entries]), _is_of(machine), ~_STANDS
    gone = set(connection.scalars(select(CHECKPOINTS.c.uid).where(*mine)))
    for one in entries:
        if one.uid in gone:
            said = once.plain({"entry": one.entry, "body": one.body})
            back = update(CHECKPOINTS).values(gone_at=0, **said)
            connection.execute(back.where(CHECKPOINTS.c.uid == one.uid))
    return len(gone)


def end(connection: Connection, uids: Collection[str], machine: str) -> int:
    """They are gone from the machine that took them, and so is what they said."""
    if not uids:
        return 0
    gone = update(CHECKPOINTS).values(gone_at=wall(connection), body="")
    mine = CHECKPOINTS.c.uid.in_(uids), _is_of(machine), _STANDS
    return connection.execute(gone.where(*mine)).rowcount


def of_machine(connection: Connection, machine: str) -> dict[str, str]:
    """uid -> line of the index, of those that are not gone."""
    wanted = select(CHECKPOINTS.c.uid, CHECKPOINTS.c.entry).where(_is_of(machine), _STANDS)
    return {row.uid: row.entry for row in connection.execute(wanted)}


def _is_of(machine: str) -> ColumnElement[bool]:
    """By its id, which stays when it gets another name."""
    return CHECKPOINTS.c.machine.endswith("." + machine.rpartition(".")[2], autoescape=True)


def newest(connection: Connection, project: str | None, limit: int) -> list[Entry]:
    """Of all machines, newest first, without their bodies; 0: all."""
    columns = [column for column in _WHOLE if column.name != "body"]
    wanted = select(*columns, _SIZE).where(_STANDS).limit(limit or None)
    wanted = wanted.order_by(CHECKPOINTS.c.created.desc(), CHECKPOINTS.c.uid.desc())
    if project is not None:
        wanted = wanted.where(CHECKPOINTS.c.project == project)
    return [Entry(**row._mapping, body="") for row in connection.execute(wanted)]


def one(connection: Connection, uid: str) -> Entry | None:
    wanted = select(*_WHOLE, _SIZE).where(_STANDS, CHECKPOINTS.c.uid == uid)
    row = connection.execute(wanted).one_or_none()
    return Entry(**row._mapping) if row else None
