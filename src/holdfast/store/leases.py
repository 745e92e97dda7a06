"""Claims are leases: how long one lasts, and which have ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select

from holdfast.store import chains
from holdfast.store.clocks import Moment
from holdfast.store.prepared import Prepared
from holdfast.store.tables import TASKS
from holdfast.store.task import CLAIMED, IS_CLAIMED, OPEN, THIS_IF_FREE, changed

NO_CLAIM = {
    "holder": "",
    "machine": "",
    "process": 0,
    "started": 0,
    "lease_ms": 0,
    "clock": "",
    "until": 0,
}
#: Claims whose time is over, and those whose time says nothing: of a clock that is not ours (the machine
#: was started again), or with more left than was given (the server's clock was set back).
_OVER = select(TASKS).where(
    IS_CLAIMED,
    or_(
        TASKS.c.clock != bindparam("clock"),
        TASKS.c.until <= bindparam("at"),
        TASKS.c.until > bindparam("at") + TASKS.c.lease_ms,
    ),
)
_ENDING = Prepared(_OVER.limit(1))
ENDING_NOW = Prepared(_OVER.with_for_update(skip_locked=True, of=TASKS))


def lease(at: Moment, lease_s: float) -> dict[str, Any]:
    lease_ms = int(lease_s * 1000)
    return {"lease_ms": lease_ms, "clock": at.clock, "until": at.at + lease_ms}


def is_anothers(row: Any, holder: str, at: Moment) -> bool:
    """Whether somebody else holds it, and not just because nobody has looked since the lease was over."""
    return row.holder not in ("", holder) and not (row.clock == at.clock and row.until <= at.at)


def is_any_over(connection: Connection, at: Moment) -> bool:
    return bool(_ENDING(connection, clock=at.clock, at=at.at))


def end_claims(
    connection: Connection, at: Moment, gone: Collection[tuple[int, int]]
) -> list[tuple[Any, str]]:
    """(claim, why) of those that are ended now. One whose time says nothing gets a whole lease from now on:
    neither lost too soon nor kept for ever."""
    ended: dict[int, tuple[Any, str]] = {}
    for row in ENDING_NOW(connection, clock=at.clock, at=at.at):
        if row.clock == at.clock and row.until <= at.at:
            ended[row.number] = row, "expired"
        else:
            changed(connection, row, **lease(at, row.lease_ms / 1000))
    for number, count in gone:
        for row in THIS_IF_FREE(connection, number=number):
            if row.state == CLAIMED and row.claims == count:
                ended[number] = row, "died"
    for row, why in ended.values():
        changed(connection, row, state=OPEN, **NO_CLAIM)
        if why == "died":
            chains.forget_dead(connection, row.holder)
    return list(ended.values())
