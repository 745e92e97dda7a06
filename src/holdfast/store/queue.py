"""Tasks that many agents share: added, claimed, finished.

A claim is a lease. It ends when its holder says so, when it is not renewed in time, or when its holder is
known to be dead; then the task is open again. The number of a task with the count of its claims names one
claim: what was decided about one never touches the next.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Update,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from holdfast.clock import elapsed, new_id, now, rfc3339
from holdfast.errors import BadInput, NotFound
from holdfast.store import chains
from holdfast.store.clocks import Moment, moment
from holdfast.store.database import Store
from holdfast.store.holders import Holder
from holdfast.store.tables import NEEDS, TASKS

#: Numbers of tasks are integers of SQL.
_LARGEST = 2**31 - 1
OPEN, BLOCKED, CLAIMED, FINISHED = "open", "blocked", "claimed", "finished"
#: Seconds between two looks for holders that died; each look reads files.
_LOOKS_S = 1.0
#: Seconds between two looks of one that waits, at first and at last.
_WAITS_S = 0.05, 1.0
_NO_CLAIM = {
    "holder": "",
    "machine": "",
    "process": 0,
    "started": 0,
    "lease_ms": 0,
    "clock": "",
    "until": 0,
}
_needed = TASKS.alias("needed")
_BLOCKED = exists().where(
    NEEDS.c.task == TASKS.c.number, NEEDS.c.needs == _needed.c.number, _needed.c.state != FINISHED
)
# Statements are made once: to make one costs several times what it costs to carry it out.
_ROW = select(TASKS, _BLOCKED.label("blocked"))
_THESE = _ROW.where(TASKS.c.number.in_(bindparam("numbers", expanding=True))).order_by(TASKS.c.number)
_THIS = _ROW.where(TASKS.c.number == bindparam("number")).with_for_update(of=TASKS)
#: Of two who ask at once each gets its own: what another has locked is skipped.
_NEXT = (
    _ROW.where(TASKS.c.project == bindparam("project"), TASKS.c.state == OPEN, ~_BLOCKED)
    .order_by(TASKS.c.priority.desc(), TASKS.c.number)
    .limit(1)
    .with_for_update(skip_locked=True, of=TASKS)
)
#: Claims whose time is over, and those whose time says nothing: of a clock that is not ours (the machine
#: was started again), or with more left than was given (the server's clock was set back).
_ENDING = select(TASKS).where(
    TASKS.c.state == CLAIMED,
    or_(
        TASKS.c.clock != bindparam("clock"),
        TASKS.c.until <= bindparam("at"),
        TASKS.c.until > bindparam("at") + TASKS.c.lease_ms,
    ),
)
_ENDING_NOW = _ENDING.with_for_update(skip_locked=True, of=TASKS)
_WITH_PROCESS = select(TASKS).where(TASKS.c.state == CLAIMED, TASKS.c.process != 0)
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


def _nothing(event: str, **data: object) -> None:
    """Nobody is told."""


def _nobody(_: Holder) -> bool:
    """Nobody is known to be dead."""
    return False


class Queue:
    """`is_gone` says of a holder whether it is known to be dead; `note` is told what has happened."""

    def __init__(
        self,
        store: Store,
        is_gone: Callable[[Holder], bool] = _nobody,
        note: Callable[..., object] = _nothing,
    ) -> None:
        self.store = store
        self._is_gone = is_gone
        self._note = note
        self._looked = -_LOOKS_S

    def add(self, drafts: Sequence[Draft], by: str) -> list[Task]:
        """All of them, or none."""
        named = {draft.name or f"no. {i}": draft for i, draft in enumerate(drafts, 1)}
        if len(named) < len(drafts):
            raise BadInput("two of these tasks have the same name; give each its own")
        order = chains.in_order({name: draft.needs for name, draft in named.items()})
        numbers: dict[int | str, int] = {}
        with self.store.writing() as connection:
            _check_needs(
                connection, [need for draft in drafts for need in draft.needs if type(need) is int]
            )
            for name in order:
                numbers[name] = _added(connection, named[name], by, numbers)
        with self.store.reading() as connection:
            found = {one.number: one for one in _tasks(connection, list(numbers.values()))}
        for one in found.values():
            self._note("task.added", task=one.number, uid=one.uid, by=by)
        return [found[numbers[name]] for name in named]

    def claim(self, holder: Holder, project: str, number: int | None, lease_s: float) -> Task | None:
        """That task, or the next of the project: highest priority first, then the oldest. None: there is
        none that could be claimed now. Claiming what one holds is renewing it."""
        gone = self._gone()
        row = None
        with self.store.writing() as connection:
            at = moment(connection)
            ended = _end_claims(connection, at, gone)
            shut = chains.ahead(connection, at, holder.name)
            if number is None:
                found = _next(connection, project, shut)
            else:
                found = _this(connection, number, holder, shut)
            if found is not None:
                claims = found.claims + (found.holder != holder.name)
                named = {name: getattr(holder, name) for name in ("machine", "process", "started")}
                claim = {"state": CLAIMED, "claims": claims, "holder": holder.name, **named}
                row = _changed(connection, found, **claim, **_lease(at, lease_s))
        self._tell(ended)
        if row is None:
            return None
        self._note(
            "task.claimed", task=row["number"], uid=row["uid"], holder=holder.name, claim=row["claims"]
        )
        return self._as_task(row, at)

    def renew(self, number: int, holder: str, lease_s: float) -> Task:
        with self.store.writing() as connection:
            found, at = _locked(connection, number), moment(connection)
            if found.state != CLAIMED or found.holder != holder:
                raise BadInput(f"{_is(found)}, so {holder} cannot renew it; claim it again if it is open")
            row = _changed(connection, found, **_lease(at, lease_s))
        return self._as_task(row, at)

    def finish(self, number: int, holder: str, result: str) -> Task:
        """Once: said again by the same holder, it is as it was. A task that nobody holds may be finished by
        anybody: its lease ended while the work was done, or it is not needed any more."""
        with self.store.writing() as connection:
            found, at = _locked(connection, number), moment(connection)
            again = found.state == FINISHED and found.finished_by == holder
            if not again and (found.state == FINISHED or _is_anothers(found, holder, at)):
                raise BadInput(
                    f"{_is(found)}, so {holder} cannot finish it; see `holdfast task show {number}`"
                )
            row = found._asdict()
            if not again:
                done = {"finished_by": holder, "finished_at": now(), "result": result}
                row = _changed(connection, found, state=FINISHED, **_NO_CLAIM, **done)
                chains.forget(connection, task=number)
        if not again:
            self._note("task.finished", task=number, uid=found.uid, holder=holder)
        return self._as_task(row, at)

    def release(self, number: int, holder: str, by_force: bool = False) -> Task:
        """The task is open again. Of one that is open already nothing changes."""
        with self.store.writing() as connection:
            found, at = _locked(connection, number), moment(connection)
            if found.state == FINISHED or (_is_anothers(found, holder, at) and not by_force):
                raise BadInput(f"{_is(found)}, so {holder} cannot release it")
            row = found._asdict()
            if found.state == CLAIMED:
                row = _changed(connection, found, state=OPEN, **_NO_CLAIM)
        if found.state == CLAIMED:
            self._note("task.released", task=number, uid=found.uid, holder=found.holder, why="told")
        return self._as_task(row, at)

    def task(self, number: int) -> Task:
        self.settle()
        with self.store.reading() as connection:
            return _tasks(connection, [_possible(number)])[0]

    def tasks(self, project: str | None, state: str | None, most: int) -> list[Task]:
        """Those to be done first in front, then what is finished, newest first; 0: all."""
        self.settle()
        asked = _ROW if project is None else _ROW.where(TASKS.c.project == project)
        to_do = asked.where(TASKS.c.state != FINISHED)
        if state in (OPEN, BLOCKED):
            to_do = asked.where(TASKS.c.state == OPEN, _BLOCKED if state == BLOCKED else ~_BLOCKED)
        elif state == CLAIMED:
            to_do = asked.where(TASKS.c.state == CLAIMED)
        to_do = to_do.order_by(TASKS.c.priority.desc(), TASKS.c.number)
        done = asked.where(TASKS.c.state == FINISHED).order_by(TASKS.c.finished_at.desc())
        with self.store.reading() as connection:
            rows = [] if state == FINISHED else list(connection.execute(to_do.limit(most or None)))
            if state in (None, FINISHED) and (not most or len(rows) < most):
                rows += connection.execute(done.limit(most - len(rows) if most else None))
            return _as_tasks(connection, [row._asdict() for row in rows], moment(connection))

    def counts(self, project: str) -> dict[str, int]:
        """State -> how many tasks of the project are in it."""
        state = case((and_(TASKS.c.state == OPEN, _BLOCKED), BLOCKED), else_=TASKS.c.state).label("state")
        each = select(state).where(TASKS.c.project == project).subquery()
        with self.store.reading() as connection:
            rows = connection.execute(select(each.c.state, func.count()).group_by(each.c.state))
            return {row[0]: row[1] for row in rows}

    def settle(self) -> None:
        """Claims that have ended are ended now, for those who only look."""
        gone = self._gone()
        with self.store.reading() as connection:
            if not gone and not _ending(connection, moment(connection)):
                return
        with self.store.writing() as connection:
            ended = _end_claims(connection, moment(connection), gone)
        self._tell(ended)

    def wait(self, number: int, holder: str, seconds: float) -> Task:
        """Until it is finished, or so long. Refused where that would never be: when what has to happen
        first waits, through however many others, for `holder`."""
        until, pause = elapsed() + seconds, _WAITS_S[0]
        with self.store.writing() as connection:
            _locked(connection, number)
            chains.wait(connection, moment(connection), holder, number)
        try:
            renewed = elapsed()
            while (task := self.task(number)).state != FINISHED and elapsed() < until:
                time.sleep(max(0, min(pause, until - elapsed())))
                pause = min(pause * 2, _WAITS_S[1])
                if elapsed() - renewed > chains.WAIT_MS / 3000:
                    renewed = elapsed()
                    with self.store.writing() as connection:
                        chains.wait(connection, moment(connection), holder, number)
            return task
        finally:
            with self.store.writing() as connection:
                chains.forget(connection, holder=holder, task=number)

    def chain(self, number: int | None) -> list[chains.Link]:
        self.settle()
        with self.store.reading() as connection:
            return chains.links(
                connection, moment(connection), None if number is None else _possible(number)
            )

    def _gone(self) -> list[tuple[int, int]]:
        """(number, count) of claims whose holders are known to be dead, found while nothing is locked."""
        if elapsed() - self._looked < _LOOKS_S:
            return []
        self._looked = elapsed()
        with self.store.reading() as connection:
            rows = connection.execute(_WITH_PROCESS).all()
        return [
            (row.number, row.claims)
            for row in rows
            if self._is_gone(Holder(row.holder, row.machine, row.process, row.started))
        ]

    def _tell(self, ended: list[tuple[Row[Any], str]]) -> None:
        for row, why in ended:
            self._note("task.released", task=row.number, uid=row.uid, holder=row.holder, why=why)

    def _as_task(self, row: Mapping[str, Any], at: Moment) -> Task:
        """What it needs never changes, so nobody has to wait while it is looked up."""
        with self.store.reading() as connection:
            return _as_tasks(connection, [row], at)[0]


def _added(connection: Connection, draft: Draft, by: str, numbers: dict[int | str, int]) -> int:
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


def _check_needs(connection: Connection, needs: Collection[int]) -> None:
    asked = [need for need in needs if 0 < need <= _LARGEST]
    known = (
        set(connection.scalars(select(TASKS.c.number).where(TASKS.c.number.in_(asked)))) if asked else set()
    )
    if missing := sorted(set(needs) - known):
        raise BadInput(
            f"there is no task {missing[0]} that could be needed; `holdfast task list` shows them"
        )


def _next(connection: Connection, project: str, shut: Collection[int]) -> Row[Any] | None:
    asked = _NEXT.where(TASKS.c.number.not_in(shut)) if shut else _NEXT
    return connection.execute(asked, {"project": project}).first()


def _this(connection: Connection, number: int, holder: Holder, shut: Collection[int]) -> Row[Any]:
    row = _locked(connection, number)
    if row.state == FINISHED or row.holder not in ("", holder.name):
        raise BadInput(f"{_is(row)}; `holdfast task claim` without a number takes the next that is free")
    if row.state == OPEN and row.blocked:
        needs = [link.task for link in chains.needs(connection, [number])]
        raise BadInput(f"task {number} needs {', '.join(map(str, needs))} to be finished first")
    if number in shut:
        raise BadInput(
            f"{holder.name} waits for what waits for task {number}: with this claim nobody would go on; "
            "see `holdfast task chain`"
        )
    return row


def _locked(connection: Connection, number: int) -> Row[Any]:
    row = connection.execute(_THIS, {"number": _possible(number)}).first()
    if row is None:
        raise _unknown(number)
    return row


def _possible(number: int) -> int:
    """What no task is called, a database may not even take as a question."""
    if not 0 < number <= _LARGEST:
        raise _unknown(number)
    return number


def _unknown(number: int) -> NotFound:
    return NotFound(f"there is no task {number}; `holdfast task list --all` shows them all")


def _is_anothers(row: Row[Any], holder: str, at: Moment) -> bool:
    """Whether somebody else holds it, and not just because nobody has looked since the lease was over."""
    return row.holder not in ("", holder) and not (row.clock == at.clock and row.until <= at.at)


def _is(row: Row[Any]) -> str:
    if row.state == CLAIMED:
        return f"task {row.number} is held by {row.holder}"
    if row.state == FINISHED:
        return f"task {row.number} was finished by {row.finished_by}"
    return f"task {row.number} is held by nobody"


def _lease(at: Moment, lease_s: float) -> dict[str, Any]:
    lease_ms = int(lease_s * 1000)
    return {"lease_ms": lease_ms, "clock": at.clock, "until": at.at + lease_ms}


def _changed(connection: Connection, row: Row[Any], **values: Any) -> dict[str, Any]:
    """The row as it is then."""
    said = {f"new_{name}": value for name, value in values.items()}
    connection.execute(_changing(tuple(values)), {"this": row.number, **said})
    return {**row._mapping, **values}


@cache
def _changing(names: tuple[str, ...]) -> Update:
    told: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(TASKS).where(TASKS.c.number == bindparam("this")).values(told)


def _ending(connection: Connection, at: Moment) -> bool:
    return connection.execute(_ENDING, {"clock": at.clock, "at": at.at}).first() is not None


def _end_claims(
    connection: Connection, at: Moment, gone: Collection[tuple[int, int]]
) -> list[tuple[Row[Any], str]]:
    """(claim, why) of those that are ended now. One whose time says nothing gets a whole lease from now on:
    neither lost too soon nor kept for ever."""
    ended: dict[int, tuple[Row[Any], str]] = {}
    for row in connection.execute(_ENDING_NOW, {"clock": at.clock, "at": at.at}).all():
        if row.clock == at.clock and row.until <= at.at:
            ended[row.number] = row, "expired"
        else:
            _changed(connection, row, **_lease(at, row.lease_ms / 1000))
    for number, count in gone:
        row = connection.execute(_THIS, {"number": number}).one()
        if row.state == CLAIMED and row.claims == count:
            ended[number] = row, "died"
    for row, why in ended.values():
        _changed(connection, row, state=OPEN, **_NO_CLAIM)
        if why == "died":
            chains.forget(connection, holder=row.holder)
    return list(ended.values())


def _tasks(connection: Connection, numbers: Sequence[int]) -> list[Task]:
    rows = connection.execute(_THESE, {"numbers": numbers}).all()
    if not rows:
        raise _unknown(numbers[0])
    return _as_tasks(connection, [row._asdict() for row in rows], moment(connection))


def _as_tasks(connection: Connection, rows: Sequence[Mapping[str, Any]], at: Moment) -> list[Task]:
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
