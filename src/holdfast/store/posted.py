"""The boards of a team: what agents of a project say to each other across machines, and what became of it.

Clocks of machines differ, so none is compared with another: a message lasts so many milliseconds from when
the store heard of it, by the store's own clock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from holdfast.store import once
from holdfast.store.tables import MARKS, MESSAGES

#: Rows that are told at once: whoever may write to a project may write any number of them. And characters
#: of a message, or mark, with all its names; ours are shorter.
MOST, LONGEST = 1000, 1 << 16


@dataclass(frozen=True)
class Message:
    """`said` is the line of the board, as JSON."""

    uid: str
    project: str
    machine: str
    said: str
    lasts_ms: int
    received: int = 0


@dataclass(frozen=True)
class Mark:
    message: str
    reader: str
    mark: str
    project: str
    machine: str
    said: str
    received: int = 0


_MESSAGES = select(*(MESSAGES.c[name] for name in Message.__dataclass_fields__))
_MARKS = select(*(MARKS.c[name] for name in Mark.__dataclass_fields__))


def post(connection: Connection, messages: Sequence[Message]) -> int:
    return once.add(connection, MESSAGES, [_row(one) for one in messages])


def mark(connection: Connection, marks: Sequence[Mark]) -> int:
    return once.add(connection, MARKS, [_row(one) for one in marks])


def _row(one: Message | Mark) -> dict[str, object]:
    return {name: value for name, value in vars(one).items() if name != "received"}


def standing(connection: Connection, projects: Collection[str], since: int, now: int) -> list[Message]:
    """What came since and is not over by the store's clock, in the order in which it came, up to MOST."""
    wanted = _MESSAGES.where(
        MESSAGES.c.project.in_(projects),
        MESSAGES.c.received >= since,
        MESSAGES.c.received + MESSAGES.c.lasts_ms > now,
        func.length(MESSAGES.c.said) <= LONGEST,
    )
    rows = connection.execute(wanted.order_by(MESSAGES.c.received, MESSAGES.c.uid).limit(MOST))
    return [Message(**row._mapping) for row in rows]


def marks(connection: Connection, projects: Collection[str], since: int, now: int) -> list[Mark]:
    """Upon messages that are not over, in the order in which they came, up to MOST."""
    stand = select(MESSAGES.c.uid).where(
        MESSAGES.c.project.in_(projects), MESSAGES.c.received + MESSAGES.c.lasts_ms > now
    )
    wanted = _MARKS.where(
        MARKS.c.project.in_(projects),
        MARKS.c.received >= since,
        MARKS.c.message.in_(stand),
        func.length(MARKS.c.said) <= LONGEST,
    )
    rows = connection.execute(wanted.order_by(MARKS.c.received, *MARKS.primary_key).limit(MOST))
    return [Mark(**row._mapping) for row in rows]


def size(connection: Connection, project: str, now: int) -> int:
    """Characters of what stands on its board."""
    stands = MESSAGES.c.project == project, MESSAGES.c.received + MESSAGES.c.lasts_ms > now
    return int(connection.scalar(select(func.sum(func.length(MESSAGES.c.said))).where(*stands)) or 0)


def project_of(connection: Connection, uid: str) -> str | None:
    """Whose board a message stands on; None where there is none that the asking role sees."""
    return connection.scalar(select(MESSAGES.c.project).where(MESSAGES.c.uid == uid))
