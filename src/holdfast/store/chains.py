"""Who waits for whom: holders for tasks, tasks for their holders and for what they need.

A wait, or a claim, that would close a circle is refused: nobody in it would ever go on. The same holds for
locks of PostgreSQL, so all take them in one order: that of those who wait, then one task, then its waits.
Whoever has a task locked waits for no other: of more it takes what is free.
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
from holdfast.store.task import THIS_IF_FREE, among, locked

#: A wait ends so long after its holder has last said that it waits: it may have died.
WAIT_MS = 30_000
#: On PostgreSQL, where many write at once, of those who wait one is looked at after the other.
_ONE_BY_ONE = text("SELECT pg_advisory_xact_lock(7214003)")

_LIVE = and_(
    WAITS.c.clock == bindparam("clock"),
    WAITS.c.until > bindparam("at"),
    WAITS.c.until <= bindparam("at") + WAITS.c.lease_ms,
)
_THEIRS = TASKS.alias("theirs")
WAITED = Prepared(select(WAITS.c.task).where(WAITS.c.holder == bindparam("holder"), _LIVE))
_EVER_WAITED = Prepared(select(WAITS.c.task).where(WAITS.c.holder == bindparam("holder")))


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
    _one_by_one(connection)
    locked(connection, task)
    path = _path(connection, at, task, holder)
    if path:
        raise BadInput(
            f"{holder} cannot wait for task {task}: {'; '.join(path)}. Finish or release it first"
        )
    forget(connection, holder=holder, task=task)
    lease = {"lease_ms": WAIT_MS, "clock": at.clock, "until": at.at + WAIT_MS}
    connection.execute(insert(WAITS).values(holder=holder, task=task, **lease))


def _one_by_one(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(_ONE_BY_ONE)


def forget(connection: Connection, **which: int | str) -> None:
    """Waits of this `holder`, for this `task`, or of that one for this."""
    _forgetting(tuple(which))(connection, **which)


@cache
def _forgetting(names: tuple[str, ...]) -> Prepared:
    return Prepared(delete(WAITS).where(*(WAITS.c[name] == bindparam(name) for name in names)))


def forget_dead(connection: Connection, holder: str) -> None:
    """Its waits, each when its task is locked. One for a task that another has locked stays: with the task
    it is over at once, else in a while."""
    for row in _EVER_WAITED(connection, holder=holder):
        if THIS_IF_FREE(connection, number=row.task):
            forget(connection, holder=holder, task=row.task)


def is_waiting(connection: Connection, at: Moment, holder: str) -> bool:
    """From then on nobody else begins to, until this transaction ends."""
    found = bool(_waited(connection, at, holder))
    if found:
        _one_by_one(connection)
    return found


def _waited(connection: Connection, at: Moment, holder: str) -> set[int]:
    return {row.task for row in WAITED(connection, holder=holder, clock=at.clock, at=at.at)}


def ahead(connection: Connection, at: Moment, holder: str) -> set[int]:
    """Tasks that have to be finished before `holder`, who `is_waiting`, goes on: it cannot be the one who
    does them."""
    waited = _waited(connection, at, holder)
    found: set[int] = set()
    while waited:
        found |= waited
        waited = {link.task for link in _from(connection, at, waited)} - found
    return found


def links(connection: Connection, at: Moment, task: int | None) -> list[Link]:
    """All there are, or those that `task` depends on."""
    if task is None:
        return [*_waits(connection, at), *needs(connection)]
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
            select(TASKS.c.number, TASKS.c.holder).where(among(TASKS.c.number), TASKS.c.state == "claimed"),
            {"numbers": waited},
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
    return [*needs(connection, tasks), *_waits(connection, at, tasks)]


def needs(connection: Connection, tasks: Collection[int] | None = None) -> list[Link]:
    """What is not finished, of these or of all that are not finished themselves."""
    asked = (
        select(NEEDS.c.task.label("by"), TASKS)
        .join(TASKS, TASKS.c.number == NEEDS.c.needs)
        .where(TASKS.c.state != "finished")
        .order_by(NEEDS.c.task, TASKS.c.number)
    )
    if tasks is None:
        asked = asked.join(_THEIRS, _THEIRS.c.number == NEEDS.c.task).where(_THEIRS.c.state != "finished")
    else:
        asked = asked.where(among(NEEDS.c.task))
    rows = connection.execute(asked, {} if tasks is None else {"numbers": tasks})
    return [Link(f"task {row.by}", "needs", row.number, row.state, row.holder) for row in rows]


def _waits(connection: Connection, at: Moment, tasks: Collection[int] | None = None) -> list[Link]:
    """Of all who wait, or of those who hold one of these."""
    asked = (
        select(WAITS.c.holder.label("by"), TASKS)
        .join(TASKS, TASKS.c.number == WAITS.c.task)
        .where(_LIVE)
        .order_by(WAITS.c.holder, TASKS.c.number)
    )
    values: dict[str, object] = {"clock": at.clock, "at": at.at}
    if tasks is not None:
        held = among(_THEIRS.c.number), _THEIRS.c.state == "claimed"
        asked = asked.where(WAITS.c.holder.in_(select(_THEIRS.c.holder).where(*held)))
        values["numbers"] = tasks
    rows = connection.execute(asked, values)
    return [Link(row.by, "waits", row.number, row.state, row.holder) for row in rows]
