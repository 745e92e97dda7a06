"""Who waits for whom: holders for tasks, tasks for their holders and for what they need.

A wait, or a claim, that would close a circle is refused: nobody in it would ever go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, text

from holdfast.errors import BadInput
from holdfast.store.clocks import Moment
from holdfast.store.prepared import Prepared
from holdfast.store.tables import NEEDS, TASKS, WAITS

#: A wait ends so long after its holder has last said that it waits: it may have died.
WAIT_MS = 30_000
#: On PostgreSQL, where many write at once, of those who wait one is looked at after the other.
_ONE_BY_ONE = text("SELECT pg_advisory_xact_lock(7214003)")

_LIVE = and_(
    WAITS.c.clock == bindparam("clock"),
    WAITS.c.until > bindparam("at"),
    WAITS.c.until <= bindparam("at") + WAITS.c.lease_ms,
)
WAITED = Prepared(select(WAITS.c.task).where(WAITS.c.holder == bindparam("holder"), _LIVE))


@dataclass(frozen=True)
class Link:
    """`who` (a holder, or `task 3`) goes on when `task` is finished, which `holder` is at, if anybody."""

    who: str
    why: str
    task: int
    state: str
    holder: str

    def __str__(self) -> str:
        return f"{self.who} {self.why} {'for ' if self.why == 'waits' else ''}task {self.task}"


def in_order(wants: Mapping[str, Sequence[int | str]]) -> list[str]:
    """Names, each after those it needs. BadInput where there is no such order."""
    graph = {name: [need for need in wanted if isinstance(need, str)] for name, wanted in wants.items()}
    for name, wanted in graph.items():
        if missing := [need for need in wanted if need not in graph]:
            raise BadInput(f"{name} needs {missing[0]!r}, and there is no task of that name among these")
    try:
        # As they were given, as far as that is an order: it is the one in which they are claimed.
        return list(TopologicalSorter(graph).static_order())
    except CycleError as problem:
        raise BadInput(f"{' needs '.join(problem.args[1][::-1])}: none of them could ever begin") from None


def wait(connection: Connection, at: Moment, holder: str, task: int) -> None:
    """Note that `holder` waits for it, from now on or still."""
    if connection.dialect.name == "postgresql":
        connection.execute(_ONE_BY_ONE)
    path = _path(connection, at, task, holder)
    if path:
        raise BadInput(
            f"{holder} cannot wait for task {task}: {'; '.join(path)}. Finish or release it first"
        )
    forget(connection, holder=holder, task=task)
    lease = {"lease_ms": WAIT_MS, "clock": at.clock, "until": at.at + WAIT_MS}
    connection.execute(insert(WAITS).values(holder=holder, task=task, **lease))


def forget(connection: Connection, **which: int | str) -> None:
    """Waits of this `holder`, for this `task`, or of that one for this."""
    _forgetting(tuple(which))(connection, **which)


@cache
def _forgetting(names: tuple[str, ...]) -> Prepared:
    return Prepared(delete(WAITS).where(*(WAITS.c[name] == bindparam(name) for name in names)))


def ahead(connection: Connection, at: Moment, holder: str) -> set[int]:
    """Tasks that have to be finished before `holder` goes on: it cannot be the one who does them."""
    waited = {row.task for row in WAITED(connection, holder=holder, clock=at.clock, at=at.at)}
    if waited and connection.dialect.name == "postgresql":
        connection.execute(_ONE_BY_ONE)
    found: set[int] = set()
    while waited:
        found |= waited
        waited = {link.task for link in _from(connection, at, waited)} - found
    return found


def links(connection: Connection, at: Moment, task: int | None) -> list[Link]:
    """All there are, or those that `task` depends on."""
    if task is None:
        open_tasks = set(connection.scalars(select(NEEDS.c.task)))
        return [*_waits(connection, at), *needs(connection, open_tasks)]
    found: list[Link] = []
    seen, waited = {task}, {task}
    while waited:
        further = _from(connection, at, waited)
        found += further
        waited = {link.task for link in further} - seen
        seen |= waited
    return list(dict.fromkeys(found))


def _path(connection: Connection, at: Moment, task: int, holder: str) -> list[str]:
    """How what has to be finished before `task` is leads back to `holder`, in words; [] if it does not."""
    came: dict[int, list[str]] = {task: []}
    waited = {task}
    while waited:
        held = connection.execute(
            select(TASKS.c.number, TASKS.c.holder).where(
                TASKS.c.number.in_(waited), TASKS.c.state == "claimed"
            )
        ).all()
        for row in held:
            if row.holder == holder:
                return [*came[row.number], f"task {row.number} is held by {holder}"]
        further = [link for link in _from(connection, at, waited) if link.task not in came]
        holders = {row.holder: row.number for row in held}
        for link in further:
            before = holders.get(link.who) if link.why == "waits" else int(link.who.removeprefix("task "))
            assert before is not None
            held_by = [f"task {before} is held by {link.who}"] if link.why == "waits" else []
            came.setdefault(link.task, [*came[before], *held_by, str(link)])
        waited = {link.task for link in further}
    return []


def _from(connection: Connection, at: Moment, tasks: Collection[int]) -> list[Link]:
    """What has to be finished before any of these is: what it needs, and what its holder waits for."""
    holders = set(
        connection.scalars(
            select(TASKS.c.holder).where(TASKS.c.number.in_(tasks), TASKS.c.state == "claimed")
        )
    )
    return [*needs(connection, tasks), *(_waits(connection, at, holders) if holders else [])]


def needs(connection: Connection, tasks: Collection[int]) -> list[Link]:
    asked = (
        select(NEEDS.c.task.label("by"), TASKS)
        .join(TASKS, TASKS.c.number == NEEDS.c.needs)
        .where(NEEDS.c.task.in_(tasks), TASKS.c.state != "finished")
        .order_by(NEEDS.c.task, TASKS.c.number)
    )
    rows = connection.execute(asked)
    return [Link(f"task {row.by}", "needs", row.number, row.state, row.holder) for row in rows]


def _waits(connection: Connection, at: Moment, holders: Collection[str] | None = None) -> list[Link]:
    asked = (
        select(WAITS.c.holder.label("by"), TASKS)
        .join(TASKS, TASKS.c.number == WAITS.c.task)
        .where(_LIVE)
        .order_by(WAITS.c.holder, TASKS.c.number)
    )
    if holders is not None:
        asked = asked.where(WAITS.c.holder.in_(holders))
    rows = connection.execute(asked, {"clock": at.clock, "at": at.at})
    return [Link(row.by, "waits", row.number, row.state, row.holder) for row in rows]
