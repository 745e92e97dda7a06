"""A task as it is kept, and as it is told: added, found by its number, changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, exists, insert, literal_column, select, update

from holdfast.clock import new_id, now, rfc3339
from holdfast.core.jsontext import record
from holdfast.errors import BadInput, NotFound
from holdfast.store.clocks import Moment
from holdfast.store.prepared import Prepared
from holdfast.store.tables import NEEDS, TASKS

OPEN, BLOCKED, CLAIMED, FINISHED = "open", "blocked", "claimed", "finished"
#: Numbers of tasks are integers of SQL, and so is how many there are.
LARGEST = 2**31 - 1


def among(column: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether it is one of `numbers`, which stand in the words: a statement takes only so many values."""
    return column.in_(bindparam("numbers", expanding=True, literal_execute=True))


# Written out: where an index is of some states only, SQLite prepares a statement anew each time it is given
# one as a value, which costs several times what carrying it out does.
IS_OPEN, IS_CLAIMED, IS_FINISHED = (
    TASKS.c.state == literal_column(f"'{state}'") for state in (OPEN, CLAIMED, FINISHED)
)
_needed = TASKS.alias("needed")
#: Not known to be finished: of a team's tasks some may be of a project that is not ours to see.
_is_done = exists().where(
    _needed.c.number == NEEDS.c.needs, _needed.c.state == literal_column(f"'{FINISHED}'")
)
IS_BLOCKED = exists().where(NEEDS.c.task == TASKS.c.number, ~_is_done)
# Statements are made once: to make one costs several times what it costs to carry it out.
ROW = select(
    TASKS, IS_BLOCKED.label("blocked"), exists().where(NEEDS.c.task == TASKS.c.number).label("has_needs")
)
_THESE = ROW.where(among(TASKS.c.number)).order_by(TASKS.c.number)
_ONE = ROW.where(TASKS.c.number == bindparam("number"))
_SEEN = Prepared(_ONE)
THIS = Prepared(_ONE.with_for_update(of=TASKS))
THIS_IF_FREE = Prepared(_ONE.with_for_update(skip_locked=True, of=TASKS))
_NEEDED = select(NEEDS).where(among(NEEDS.c.task)).order_by(NEEDS.c.needs)
_NEEDED_BY = Prepared(select(NEEDS).where(NEEDS.c.task == bindparam("number")).order_by(NEEDS.c.needs))
_IS_THERE = Prepared(select(TASKS.c.number).where(TASKS.c.number == bindparam("number")))
_NEEDING = Prepared(insert(NEEDS).values(task=bindparam("task"), needs=bindparam("needs")))
BY_UID = Prepared(select(TASKS.c.number).where(TASKS.c.uid == bindparam("uid")))
_CHANGES = "state claims finished_by finished_at result".split()
_CHANGES += "holder machine process started lease_ms clock until".split()
CHANGED = Prepared(
    update(TASKS)
    .where(TASKS.c.number == bindparam("this"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGES})
)
ADDED = Prepared(
    insert(TASKS).values(
        {
            name: bindparam(name)
            for name in "uid project description payload priority state added_by added_at".split()
        }
    )
)


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
    at = now()
    uid = draft.uid or new_id(at)
    known = BY_UID(connection, uid=uid) if draft.uid else []
    if known:
        return int(known[0].number)
    values = {
        **{"uid": uid, "project": draft.project, "description": draft.description},
        **{"payload": json.dumps(draft.payload, ensure_ascii=False), "priority": draft.priority},
        **{"state": OPEN, "added_by": by, "added_at": at},
    }
    ADDED(connection, **values)
    number = int(BY_UID(connection, uid=uid)[0].number)
    needs = {need if type(need) is int else numbers[need] for need in draft.needs}
    for need in sorted(needs):
        _NEEDING(connection, task=number, needs=need)
    return number


def check_needs(connection: Connection, needs: Collection[int]) -> None:
    for need in sorted(set(needs)):
        if not 0 < need <= LARGEST or not _IS_THERE(connection, number=need):
            raise BadInput(f"there is no task {need} that could be needed; `holdfast task list` shows them")


def locked(connection: Connection, number: int) -> Any:
    rows = THIS(connection, number=possible(number))
    if not rows:
        raise _unknown(number)
    return rows[0]


def possible(number: int) -> int:
    """What no task is called, a database may not even take as a question."""
    if not 0 < number <= LARGEST:
        raise _unknown(number)
    return number


def _unknown(number: int) -> NotFound:
    return NotFound(f"there is no task {number}; `holdfast task list --all` shows them all")


def changed(connection: Connection, row: Any, **values: Any) -> dict[str, Any]:
    """The row as it is then."""
    now_is = {**row._asdict(), **values}
    CHANGED(connection, this=row.number, **{f"new_{name}": now_is[name] for name in _CHANGES})
    return now_is


def numbered(connection: Connection, numbers: Sequence[int], at: Moment) -> list[Task]:
    if len(numbers) == 1:
        rows = _SEEN(connection, number=numbers[0])
    else:
        rows = list(connection.execute(_THESE, {"numbers": numbers}))
    if not rows:
        raise _unknown(numbers[0])
    return told(connection, [row._asdict() for row in rows], at)


def told(connection: Connection, rows: Sequence[Mapping[str, Any]], at: Moment) -> list[Task]:
    needs: dict[int, list[int]] = {row["number"]: [] for row in rows if row["has_needs"]}
    if len(needs) == 1 or connection.dialect.name == "sqlite":  # where it costs no journey to ask again
        found = [one for number in needs for one in _NEEDED_BY(connection, number=number)]
    else:
        found = list(connection.execute(_NEEDED, {"numbers": list(needs)})) if needs else []
    for one in found:
        needs[one.task].append(one.needs)
    return [as_task(row, needs.get(row["number"], []), at) for row in rows]


def as_task(row: Mapping[str, Any], needs: list[int], at: Moment) -> Task:
    state, held = row["state"], row["state"] == CLAIMED
    return Task(
        number=row["number"],
        uid=row["uid"],
        state=BLOCKED if state == OPEN and row["blocked"] else state,
        priority=row["priority"],
        project=row["project"],
        description=row["description"],
        payload=record(row["payload"]),  # of a team any member may have written it, by other means
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
