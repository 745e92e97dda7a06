"""Tasks that many agents share: added, claimed, finished.

A claim is a lease. It ends when its holder says so, when it is not renewed in time, or when its holder is
known to be dead; then the task is open again. The number of a task with the count of its claims names one
claim: what was decided about one never touches the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, func, select

from holdfast.clock import elapsed, now
from holdfast.errors import BadInput
from holdfast.store import chains
from holdfast.store.clocks import Moment, moment
from holdfast.store.database import Store
from holdfast.store.holders import Holder
from holdfast.store.leases import ENDING_NOW, NO_CLAIM, end_claims, is_anothers, is_any_over, lease
from holdfast.store.prepared import Prepared
from holdfast.store.tables import TASKS
from holdfast.store.task import (
    ADDED,
    BLOCKED,
    BY_UID,
    CHANGED,
    CLAIMED,
    FINISHED,
    IS_BLOCKED,
    IS_CLAIMED,
    IS_FINISHED,
    IS_OPEN,
    LARGEST,
    OPEN,
    ROW,
    THIS,
    Draft,
    Task,
    added,
    among,
    as_task,
    changed,
    check_needs,
    locked,
    numbered,
    possible,
    told,
)

#: Seconds between two looks for holders that died; each look reads files.
_LOOKS_S = 1.0
#: Seconds between two looks of one that waits, at first and at last.
_WAITS_S = 0.05, 1.0
#: Of two who ask at once each gets its own: what another has locked is skipped.
_FIRST = (
    ROW.where(TASKS.c.project == bindparam("project"), IS_OPEN, ~IS_BLOCKED)
    .order_by(TASKS.c.priority.desc(), TASKS.c.number)
    .limit(1)
    .with_for_update(skip_locked=True, of=TASKS)
)
_NEXT = Prepared(_FIRST)
_ADDS, _CLAIMS, _CHANGES = (BY_UID, ADDED), (ENDING_NOW, chains.WAITED, _NEXT, CHANGED), (THIS, CHANGED)
_WITH_PROCESS = Prepared(
    select(*(TASKS.c[name] for name in "number claims holder machine process started".split())).where(
        IS_CLAIMED, TASKS.c.process != 0
    )
)


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
        with self.store.writing(*_ADDS) as connection:
            check_needs(connection, [need for draft in drafts for need in draft.needs if type(need) is int])
            for name in order:
                numbers[name] = added(connection, named[name], by, numbers)
        with self.store.reading() as connection:
            found = {
                one.number: one for one in numbered(connection, list(numbers.values()), moment(connection))
            }
        for one in found.values():
            self._note("task.added", task=one.number, uid=one.uid, by=by)
        return [found[numbers[name]] for name in named]

    def claim(self, holder: Holder, project: str, number: int | None, lease_s: float) -> Task | None:
        """That task, or the next of the project: highest priority first, then the oldest. None: there is
        none that could be claimed now. Claiming what one holds is renewing it."""
        gone = self._gone()
        row = None
        with self.store.writing(*_CLAIMS) as connection:
            at = moment(connection)
            waits = chains.is_waiting(connection, at, holder.name)
            if number is not None:
                locked(connection, number)  # before those whose claims have ended
            ended = end_claims(connection, at, gone)
            shut = chains.ahead(connection, at, holder.name) if waits else set()
            if number is None:
                found = _next(connection, project, shut)
            else:
                found = _this(connection, number, holder, shut)
            if found is not None:
                claims = found.claims + (found.holder != holder.name)
                named = {name: getattr(holder, name) for name in ("machine", "process", "started")}
                claim = {"state": CLAIMED, "claims": claims, "holder": holder.name, **named}
                row = changed(connection, found, **claim, **lease(at, lease_s))
        self._tell(ended)
        if row is None:
            return None
        self._note(
            "task.claimed", task=row["number"], uid=row["uid"], holder=holder.name, claim=row["claims"]
        )
        return self._as_task(row, at)

    def renew(self, number: int, holder: str, lease_s: float) -> Task:
        with self.store.writing(*_CHANGES) as connection:
            found, at = locked(connection, number), moment(connection)
            if found.state != CLAIMED or found.holder != holder:
                raise BadInput(f"{_is(found)}, so {holder} cannot renew it; claim it again if it is open")
            row = changed(connection, found, **lease(at, lease_s))
        return self._as_task(row, at)

    def finish(self, number: int, holder: str, result: str) -> Task:
        """Once: said again by the same holder, it is as it was. A task that nobody holds may be finished by
        anybody: its lease ended while the work was done, or it is not needed any more."""
        with self.store.writing(*_CHANGES) as connection:
            found, at = locked(connection, number), moment(connection)
            again = found.state == FINISHED and found.finished_by == holder
            if not again and (found.state == FINISHED or is_anothers(found, holder, at)):
                raise BadInput(
                    f"{_is(found)}, so {holder} cannot finish it; see `holdfast task show {number}`"
                )
            row = found._asdict()
            if not again:
                done = {"finished_by": holder, "finished_at": now(), "result": result}
                row = changed(connection, found, state=FINISHED, **NO_CLAIM, **done)
                chains.forget(connection, task=number)
        if not again:
            self._note("task.finished", task=number, uid=found.uid, holder=holder)
        return self._as_task(row, at)

    def release(self, number: int, holder: str, by_force: bool = False) -> Task:
        """The task is open again. Of one that is open already nothing changes."""
        with self.store.writing(*_CHANGES) as connection:
            found, at = locked(connection, number), moment(connection)
            if found.state == FINISHED or (is_anothers(found, holder, at) and not by_force):
                raise BadInput(f"{_is(found)}, so {holder} cannot release it")
            row = found._asdict()
            if found.state == CLAIMED:
                row = changed(connection, found, state=OPEN, **NO_CLAIM)
        if found.state == CLAIMED:
            self._note("task.released", task=number, uid=found.uid, holder=found.holder, why="told")
        return self._as_task(row, at)

    def task(self, number: int) -> Task:
        self.settle()
        with self.store.reading() as connection:
            return numbered(connection, [possible(number)], moment(connection))[0]

    def tasks(self, project: str | None, state: str | None, most: int) -> list[Task]:
        """Those to be done first in front, then what is finished, newest first; 0: all."""
        self.settle()
        most = most or LARGEST
        asked = {} if project is None else {"project": project}
        with self._view() as connection:
            rows: list[Any] = []
            if state != FINISHED:
                rows = _listed(state, bool(asked))(connection, **asked, most=most)
            if state in (None, FINISHED) and len(rows) < most:
                rows += _listed(FINISHED, bool(asked))(connection, **asked, most=most - len(rows))
            return told(connection, [row._asdict() for row in rows], moment(connection))

    def counts(self, project: str) -> dict[str, int]:
        """State -> how many tasks of the project are in it."""
        state = case((and_(IS_OPEN, IS_BLOCKED), BLOCKED), else_=TASKS.c.state).label("state")
        each = select(state).where(TASKS.c.project == project).subquery()
        with self.store.reading() as connection:
            rows = connection.execute(select(each.c.state, func.count()).group_by(each.c.state))
            return {row[0]: row[1] for row in rows}

    def settle(self) -> None:
        """Claims that have ended are ended now, for those who only look."""
        gone = self._gone()
        with self.store.reading() as connection:
            if not gone and not is_any_over(connection, moment(connection)):
                return
        with self.store.writing() as connection:
            ended = end_claims(connection, moment(connection), gone)
        self._tell(ended)

    def wait(self, number: int, holder: str, seconds: float) -> Task:
        """Until it is finished, or so long. Refused where that would never be: when what has to happen
        first waits, through however many others, for `holder`."""
        until, pause = elapsed() + seconds, _WAITS_S[0]
        with self.store.writing() as connection:
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
        with self._view() as connection:
            return chains.links(
                connection, moment(connection), None if number is None else possible(number)
            )

    @contextmanager
    def _view(self) -> Iterator[Connection]:
        """Of one moment, however much is asked: what is finished in between would be told twice."""
        with self.store.reading() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def _gone(self) -> list[tuple[int, int]]:
        """(number, count) of claims whose holders are known to be dead, found while nothing is locked."""
        is_new = self._looked < 0  # a command, which is over when the next one comes
        if not is_new and elapsed() - self._looked < _LOOKS_S:
            return []
        self._looked = elapsed()
        if not self.store.is_first(_LOOKS_S) and not is_new:
            return []
        with self.store.reading() as connection:
            rows = _WITH_PROCESS(connection)
        return [
            (row.number, row.claims)
            for row in rows
            if self._is_gone(Holder(row.holder, row.machine, row.process, row.started))
        ]

    def _tell(self, ended: list[tuple[Any, str]]) -> None:
        for row, why in ended:
            self._note("task.released", task=row.number, uid=row.uid, holder=row.holder, why=why)

    def _as_task(self, row: Mapping[str, Any], at: Moment) -> Task:
        """What it needs never changes, so nobody has to wait while it is looked up."""
        if not row["has_needs"]:
            return as_task(row, [], at)
        with self.store.reading() as connection:
            return told(connection, [row], at)[0]


@cache
def _listed(state: str | None, of_project: bool) -> Prepared:
    """Without a state: all that is to be done."""
    which = {
        None: ~IS_FINISHED,
        OPEN: and_(IS_OPEN, ~IS_BLOCKED),
        BLOCKED: and_(IS_OPEN, IS_BLOCKED),
        CLAIMED: IS_CLAIMED,
        FINISHED: IS_FINISHED,
    }[state]
    first = TASKS.c.finished_at.desc() if state == FINISHED else TASKS.c.priority.desc()
    # Of those of one millisecond no engine says which comes first, unless it is told.
    order = [first, TASKS.c.number.desc() if state == FINISHED else TASKS.c.number]
    asked = ROW.where(TASKS.c.project == bindparam("project")) if of_project else ROW
    return Prepared(asked.where(which).order_by(*order).limit(bindparam("most")))


def _next(connection: Connection, project: str, shut: Collection[int]) -> Any:
    if shut:
        asked = _FIRST.where(~among(TASKS.c.number))
        return connection.execute(asked, {"project": project, "numbers": shut}).first()
    return next(iter(_NEXT(connection, project=project)), None)


def _this(connection: Connection, number: int, holder: Holder, shut: Collection[int]) -> Any:
    row = locked(connection, number)
    if row.state == FINISHED or row.holder not in ("", holder.name):
        raise BadInput(f"{_is(row)}; `holdfast task claim` without a number takes the next that is free")
    if row.state == OPEN and row.blocked:
        needs = [str(link.task) for link in chains.needs(connection, [number])]
        what = ", ".join(needs) or "a task of another project"
        raise BadInput(f"task {number} needs {what} to be finished first")
    if number in shut:
        raise BadInput(
            f"{holder.name} waits for what waits for task {number}: with this claim nobody would go on; "
            "see `holdfast task chain`"
        )
    return row


def _is(row: Any) -> str:
    if row.state == CLAIMED:
        return f"task {row.number} is held by {row.holder}"
    if row.state == FINISHED:
        return f"task {row.number} was finished by {row.finished_by}"
    return f"task {row.number} is held by nobody"
