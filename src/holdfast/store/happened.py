"""The events of a team: what every machine noted in its trail, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from holdfast.store import once
from holdfast.store.tables import EVENTS


@dataclass(frozen=True)
class Happened:
    """`data` is the note of the trail, as JSON; `at` by the clock of its machine."""

    uid: str
    project: str
    machine: str
    session: str
    at: int
    event: str
    data: str
    who: str = ""


_READ = select(*(EVENTS.c[name] for name in Happened.__dataclass_fields__))


def add(connection: Connection, events: Sequence[Happened]) -> int:
    rows = [{name: value for name, value in vars(one).items() if name != "who"} for one in events]
    return once.add(connection, EVENTS, rows)


def newest(connection: Connection, kind: str, session: str | None, limit: int) -> list[Happened]:
    """Newest first, in the order in which the store heard of them: clocks of machines differ."""
    wanted = _READ.order_by(EVENTS.c.received.desc(), EVENTS.c.uid.desc()).limit(limit or None)
    if kind:
        wanted = wanted.where(EVENTS.c.event.startswith(kind, autoescape=True))
    if session is not None:
        wanted = wanted.where(EVENTS.c.session == session)
    return [Happened(**row._mapping) for row in connection.execute(wanted)]
