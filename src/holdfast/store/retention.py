"""What a team's store need not keep for ever: events, and what is over of boards and checkpoints.

Memories stay until somebody erases them, tasks as what was done, and what was erased as that.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, select, tuple_

from holdfast.store.clocks import wall
from holdfast.store.database import Store
from holdfast.store.tables import CHECKPOINTS, EVENTS, MARKS, MESSAGES

DAY_MS = 86_400_000
#: Rows of one transaction: nobody waits for long who writes meanwhile.
_AT_ONCE = 5_000


def outdated(store: Store, days: int) -> dict[str, int]:
    """How many rows of each table `prune` would remove."""
    with store.reading() as connection:
        found = _outdated(connection, days)
        asked = {table: select(func.count()).select_from(table).where(old) for table, old in found.items()}
        return {table.name: connection.scalar(one) or 0 for table, one in asked.items()}


def prune(store: Store, days: int) -> dict[str, int]:
    """Remove what is older, by the clock of the store; how many rows of each table."""
    with store.reading() as connection:
        found = _outdated(connection, days)
    return {table.name: _removed(store, table, old) for table, old in found.items()}


def _outdated(connection: Connection, days: int) -> dict[Table, ColumnElement[bool]]:
    before = wall(connection) - days * DAY_MS
    is_over = MESSAGES.c.received + MESSAGES.c.lasts_ms < before
    stands = select(MESSAGES.c.uid).where(MESSAGES.c.uid == MARKS.c.message, ~is_over).exists()
    return {
        EVENTS: EVENTS.c.received < before,
        MESSAGES: is_over,
        MARKS: and_(MARKS.c.received < before, ~stands),
        CHECKPOINTS: CHECKPOINTS.c.gone_at.between(1, before),
    }


def _removed(store: Store, table: Table, old: ColumnElement[bool]) -> int:
    count, keys = 0, list(table.primary_key)
    some = select(*keys).where(old).limit(_AT_ONCE)
    is_one = tuple_(*keys).in_(some)
    while True:
        with store.writing() as connection:
            done = connection.execute(delete(table).where(is_one)).rowcount
        count += done
        if done < _AT_ONCE:
            return count
