"""A task as it is kept, and as it is told: added, found by its number, changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Update, bindparam, exists, insert, select, update

from holdfast.clock import new_id, now, rfc3339
from holdfast.errors import BadInput, NotFound
from holdfast.store.clocks import Moment
from holdfast.store.tables import NEEDS, TASKS

OPEN, BLOCKED, CLAIMED, FINISHED = "open", "blocked", "claimed", "finished"
#: Numbers of tasks are integers of SQL.
_LARGEST = 2**31 - 1
_needed = TASKS.alias("needed")
#: Not known to be finished: of a team's tasks some may be of a project that is not ours to see.
_is_done = exists().where(_needed.c.number == NEEDS.c.needs, _needed.c.state == FINISHED)
IS_BLOCKED = exists().where(NEEDS.c.task == TASKS.c.number, ~_is_done)
# Statements are made once: to make one costs several times what it costs to carry it out.
ROW = select(TASKS, IS_BLOCKED.label("blocked"))
_THESE = ROW.where(TASKS.c.number.in_(bindparam("numbers", expanding=True))).order_by(TASKS.c.number)
_THIS = ROW.where(TASKS.c.number == bindparam("number")).with_for_update(of=TASKS)
_NEEDED = (
    select(NEEDS).where(NEEDS.c.task.in_(bindparam("numbers", expanding=True))).order_by(NEEDS.c.needs)
)
_BY_UID = select(TASKS.c.number).where(TASKS.c.uid == bindparam("uid"))
_ADDED = insert(TASKS)


@dataclass(frozen=True)
class Draft:
    """A task to be added. `needs` are numbers of tasks there are, or names of others that are added with
    it. With a `uid` that a task has, it is that task: adding twice adds once."""

    description: str
    project: str
    priority: int = 0
    needs: tuple[int | str, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    uid: str = ""


@dataclass(frozen=True)
class Task:
    """`state`: open, blocked (open, but something it needs is not finished), claimed or finished. `claim`
    counts the claims there were; `lease_s` is what is left of the one there is."""

    number: int
    uid: str
    state: str
    priority: int
    project: str
    description: str
    payload: dict[str, Any]
    needs: list[int]
    holder: str
    lease_s: float
    claim: int
    added_by: str
    added_at: str
    finished_by: str
    finished_at: str
    result: str


def added(connection: Connection, draft: Draft, by: str, numbers: dict[int | str, int]) -> int:
    known = connection.scalar(_BY_UID, {"uid": draft.uid}) if draft.uid else None
    if known is not None:
        return int(known)
    at = now()
    values = {
        **{"uid": draft.uid or new_id(at), "project": draft.project, "description": draft.description},
        **{"payload": json.dumps(draft.payload, ensure_ascii=False), "priority": draft.priority},
        **{"state": OPEN, "added_by": by, "added_at": at},
    }
    key = connection.execute(_ADDED, values).inserted_primary_key
    assert key is not None
    number = int(key[0])
    needs = {need if type(need) is int else numbers[need] for need in draft.needs}
    if needs:
        connection.execute(insert(NEEDS), [{"task": number, "needs": need} for need in sorted(needs)])
    return number


def check_needs(connection: Connection, needs: Collection[int]) -> None:
    asked = [need for need in needs if 0 < need <= _LARGEST]
    known = (
        set(connection.scalars(select(TASKS.c.number).where(TASKS.c.number.in_(asked)))) if asked else set()
    )
    if missing := sorted(set(needs) - known):
        raise BadInput(
            f"there is no task {missing[0]} that could be needed; `holdfast task list` shows them"
        )


def locked(connection: Connection, number: int) -> Row[Any]:
    row = connection.execute(_THIS, {"number": possible(number)}).first()
    if row is None:
        raise _unknown(number)
    return row


def possible(number: int) -> int:
    """What no task is called, a database may not even take as a question."""
    if not 0 < number <= _LARGEST:
        raise _unknown(number)
    return number


def _unknown(number: int) -> NotFound:
    return NotFound(f"there is no task {number}; `holdfast task list --all` shows them all")


def changed(connection: Connection, row: Row[Any], **values: Any) -> dict[str, Any]:
    """The row as it is then."""
    said = {f"new_{name}": value for name, value in values.items()}
    connection.execute(_changing(tuple(values)), {"this": row.number, **said})
    return {**row._mapping, **values}


@cache
def _changing(names: tuple[str, ...]) -> Update:
    told: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(TASKS).where(TASKS.c.number == bindparam("this")).values(told)


def numbered(connection: Connection, numbers: Sequence[int], at: Moment) -> list[Task]:
    rows = connection.execute(_THESE, {"numbers": numbers}).all()
    if not rows:
        raise _unknown(numbers[0])
    return told(connection, [row._asdict() for row in rows], at)


def told(connection: Connection, rows: Sequence[Mapping[str, Any]], at: Moment) -> list[Task]:
    needs: dict[int, list[int]] = {row["number"]: [] for row in rows}
    for one in connection.execute(_NEEDED, {"numbers": list(needs)}) if rows else ():
        needs[one.task].append(one.needs)
    return [_as_task(row, needs[row["number"]], at) for row in rows]


def _as_task(row: Mapping[str, Any], needs: list[int], at: Moment) -> Task:
    state, held = row["state"], row["state"] == CLAIMED
    return Task(
        number=row["number"],
        uid=row["uid"],
        state=BLOCKED if state == OPEN and row["blocked"] else state,
        priority=row["priority"],
        project=row["project"],
        description=row["description"],
        payload=json.loads(row["payload"]),
        needs=needs,
        holder=row["holder"],
        lease_s=max(0, row["until"] - at.at) / 1000 if held else 0,
        claim=row["claims"],
        added_by=row["added_by"],
        added_at=rfc3339(row["added_at"]),
        finished_by=row["finished_by"],
        finished_at=rfc3339(row["finished_at"]) if row["finished_at"] else "",
        result=row["result"],
    )
