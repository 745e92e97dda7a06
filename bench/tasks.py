"""Many agents at one queue, some of them killed: python bench/tasks.py [--agents 64] [--each 1000]

Every agent is a process of its own that adds, claims, renews, releases, finishes and looks, as fast as it
can. What it began and what it was told stands in a log of its own, outside of everything that is tried. A
checker then holds the store against these logs: nothing acknowledged is lost, nothing is there twice or by
nobody's doing, no task was held by two at once, none was begun before what it needs, none before one that
was more urgent and free all the while. Of every hundred agents eight are killed again and again; what they
held must come free by itself, because their leases are longer than the trial. The control claims as one
writes it at first: look for a free task, then take it.

All of them at once without a pause is more than agents do, and the time of a claim is then the row one
stands in. `--pause` shows what one feels who asks now and then.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from sqlalchemy import select

from agents import Log, ended
from harness import progress, table
from holdfast.clock import elapsed, new_id, now
from holdfast.disk.home import Home
from holdfast.errors import BadInput
from holdfast.store.clocks import moment
from holdfast.store.database import SQLite, Store
from holdfast.store.holders import Holder, here, is_gone
from holdfast.store.leases import lease
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import Queue
from holdfast.store.tables import NEEDS, TASKS
from holdfast.store.task import CLAIMED, FINISHED, OPEN, Draft, Task, changed, locked

GOAL_MS = 150
PROJECT = "bench"
#: Longer than any trial: only its holder's death frees what a killed agent held.
_LEASE_S = 7200


class Plan(NamedTuple):
    agents: int = 64
    each: int = 1000
    kills: int = 40
    pause_s: float = 0.0
    seed: int = 1
    careless: bool = False
    url: str = ""  # of a PostgreSQL; else SQLite


class Careless(Queue):
    """The control: it looks for a free task, and then takes it."""

    def claim(self, holder: Holder, project: str, _: int | None, lease_s: float) -> Task | None:
        found = self.tasks(project, OPEN, 1)
        if not found:
            return None
        time.sleep(0.001)
        with self.store.writing() as connection:
            row = locked(connection, found[0].number)
            at = moment(connection)
            values = {"state": CLAIMED, "claims": row.claims + 1, "holder": holder.name}
            taken = changed(connection, row, **values, **lease(at, lease_s))
        return self._as_task(taken, at)


class Agent:
    """One process. A log line holds what happened, when it began and when it was acknowledged."""

    def __init__(self, home: Home, store: Store, log: Log, plan: Plan, number: int) -> None:
        self.dice = random.Random(f"{plan.seed} {number} {os.getpid()}")
        self.queue = (Careless if plan.careless else Queue)(store, partial(is_gone, home))
        self.holder = here(f"agent-{number}-{os.getpid()}", os.getpid())
        self.log = log
        self.plan = plan
        self.held: Task | None = None
        self.known: list[int] = []

    def run(self) -> None:
        done = len(self.log.lines("did"))
        begun, added = self.log.lines("adds"), {row[0] for row in self.log.lines("added")}
        if begun and begun[-1][0] not in added:
            self.add(begun[-1][0])  # killed before it was told: asked for again, it is still one
        while done < self.plan.each:
            if self.plan.pause_s:
                time.sleep(self.dice.uniform(0.5, 1.5) * self.plan.pause_s)
            began = time.perf_counter()
            what = self._step()
            self.log.say("did", what, time.perf_counter() - began)
            done += 1
        if self.held:
            self.end("release")

    def _step(self) -> str:
        chance = self.dice.random()
        if self.held is None:
            return self.add() if chance < 0.45 else self.claim() if chance < 0.9 else self.look()
        if chance < 0.6:
            return self.end("finish")
        if chance < 0.7:
            return self.end("release")
        if chance < 0.8:
            return self.renew()
        return self.add() if chance < 0.9 else self.look()

    def add(self, uid: str = "") -> str:
        uid = uid or new_id(now())
        needs = tuple({self.dice.choice(self.known)}) if self.known and self.dice.random() < 0.2 else ()
        draft = Draft("do it", PROJECT, self.dice.randrange(5), needs, uid=uid)
        self.log.say("adds", uid)
        began = elapsed()
        task = self.queue.add([draft], self.holder.name)[0]
        self.log.say("added", uid, task.number, task.priority, len(task.needs), began, elapsed())
        self.known = [*self.known[-9:], task.number]
        return "add"

    def claim(self) -> str:
        began = elapsed()
        task = self.queue.claim(self.holder, PROJECT, None, _LEASE_S)
        if task is None:
            return "claim"
        self.held = task
        self.log.say("claimed", task.number, task.claim, self.holder.name, task.priority, began, elapsed())
        return "claim"

    def end(self, how: str) -> str:
        assert self.held
        number, claim, began = self.held.number, self.held.claim, elapsed()
        self.log.say("ends", number, claim, how, self.holder.name, began)
        self.held = None
        try:
            if how == "finish":
                self.queue.finish(number, self.holder.name, "done")
            else:
                self.queue.release(number, self.holder.name)
        except BadInput:
            self.log.say("refused", number, how, self.holder.name)
            return how
        self.log.say("ended", number, claim, how, self.holder.name, began, elapsed())
        return how

    def renew(self) -> str:
        assert self.held
        try:
            self.queue.renew(self.held.number, self.holder.name, _LEASE_S)
        except BadInput:
            self.log.say("refused", self.held.number, "renew", self.holder.name)
            self.held = None
        return "renew"

    def look(self) -> str:
        found = self.queue.tasks(PROJECT, OPEN, 10)
        if found:
            self.queue.task(found[0].number)
        return "look"


class Trial:
    #: That an operation leaves in the logs, about.
    BYTES = 90

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self.home = Home(str(folder))
        self.logs = [Log(folder / f"log{number}") for number in range(plan.agents)]
        self.killed = self.failed = 0
        self.seconds = 0.0

    def run(self) -> Trial:
        dice = random.Random(self.plan.seed)
        began = time.perf_counter()
        running = {self._start(number): number for number in range(self.plan.agents)}
        doomed = dice.sample(range(self.plan.agents), max(1, round(self.plan.agents * 0.08)))
        total = self.plan.agents * self.plan.each
        due = [total * (part + dice.random()) / self.plan.kills for part in range(self.plan.kills)]
        while running:
            for number, status in ended(running):
                if os.WIFSIGNALED(status):
                    self.killed += 1
                    running[self._start(number)] = number
                elif status:
                    self.failed += 1
            time.sleep(min(0.05, self.plan.agents / 1000))  # what few do is soon over; to look costs many
            done = self._done()
            progress(f"{done:,} of {total:,} operations")
            while due and done >= due[0] and running:
                due.pop(0)
                left = [pid for pid, number in running.items() if number in doomed]
                victim = dice.choice(left or list(running))  # they may be through before their turn comes
                time.sleep(dice.random() * 0.02)
                os.kill(victim, signal.SIGKILL)
        progress("")
        self.seconds = time.perf_counter() - began
        return self

    def _done(self) -> int:
        """From the size of the logs: exact enough to kill by."""
        return sum(log.path.stat().st_size for log in self.logs if log.path.exists()) // self.BYTES

    def _start(self, number: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            self._agent(number).run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def _agent(self, number: int) -> Agent:
        return Agent(self.home, self._open(), self.logs[number], self.plan, number)

    def _open(self) -> Store:
        return PostgreSQL(self.plan.url) if self.plan.url else SQLite(self.home.store)

    def found(self) -> tuple[list[Any], list[tuple[int, int]]]:
        """(tasks, needs) as the store has them."""
        store = self._open()
        with store.reading() as connection:
            tasks = list(connection.execute(select(TASKS)))
            needs = [(row.task, row.needs) for row in connection.execute(select(NEEDS))]
        store.close()
        return tasks, needs

    def rows(self, kind: str) -> list[list[str]]:
        return [row for log in self.logs for row in log.lines(kind)]


# What must hold


class Claim(NamedTuple):
    """From when its holder surely had it until it began to give it back, or was last heard of."""

    number: int
    count: int
    holder: str
    priority: int
    asked: float
    had: float
    until: float


def claims(logs: list[Log]) -> list[Claim]:
    found = []
    for log in logs:
        last: dict[str, float] = defaultdict(float)
        ends = {(row[0], row[1], row[3]): float(row[4]) for row in log.lines("ends")}
        rows = log.lines("claimed")
        for row in rows:
            last[row[2]] = max(last[row[2]], float(row[5]))
        for row in rows:
            until = ends.get((row[0], row[1], row[2]), last[row[2]])
            found.append(
                Claim(*map(int, row[:2]), row[2], int(row[3]), float(row[4]), float(row[5]), until)
            )
    return found


def wrong(trial: Trial, tasks: list[Any], needs: list[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """(kind, what) of everything that breaks a promise, by the agents' own logs."""
    if trial.failed:
        yield "failed", f"{trial.failed} agents ended with an error"
    begun = {row[0] for row in trial.rows("adds")}
    there = {row.uid: row for row in tasks}
    numbers = {row.number: row for row in tasks}
    for uid, times in Counter(row.uid for row in tasks).items():
        if times > 1:
            yield "duplicate", f"{uid} is there {times} times"
        if uid not in begun:
            yield "phantom", f"{uid} is there, and nobody has added it"
    for row in trial.rows("added"):
        if row[0] not in there or there[row[0]].number != int(row[1]):
            yield "lost", f"task {row[1]} was acknowledged, and is not there"
    for number, how, holder in trial.rows("refused"):  # no lease ends before the trial does
        yield "double", f"{holder} held task {number}, and its {how} was refused"
    ended = trial.rows("ended")
    finished = [row for row in ended if row[2] == "finish"]
    for number, times in Counter(row[0] for row in finished).items():
        if times > 1:
            yield "double", f"task {number} was finished {times} times"
    for row in finished:
        task = numbers.get(int(row[0]))
        if task is None or task.state != FINISHED or task.finished_by != row[3]:
            yield "lost", f"{row[3]} was told that task {row[0]} is finished, and it is not, or not by it"
    taken = claims(trial.logs)
    yield from _held_twice(taken)
    yield from _out_of_order(trial, taken, needs)


def _held_twice(taken: list[Claim]) -> Iterator[tuple[str, str]]:
    by_task: dict[int, list[Claim]] = defaultdict(list)
    for one in taken:
        by_task[one.number].append(one)
    for number, those in by_task.items():
        if len({one.count for one in those}) < len(those):
            yield "double", f"task {number}: two were given the same claim"
        those.sort(key=lambda one: one.had)
        for one, other in pairwise(those):
            if other.had < one.until:
                yield "double", f"task {number} was held by {one.holder} and {other.holder} at once"


def _out_of_order(
    trial: Trial, taken: list[Claim], needs: list[tuple[int, int]]
) -> Iterator[tuple[str, str]]:
    needed: dict[int, list[int]] = defaultdict(list)
    for number, need in needs:
        needed[number].append(need)
    # Of a finish that was never acknowledged it is known when it began.
    done = {int(row[0]): float(row[4]) for row in trial.rows("ends") if row[2] == "finish"}
    for one in taken:
        for need in needed[one.number]:
            if done.get(need, float("inf")) > one.had:
                yield "order", f"task {one.number} was claimed before {need}, which it needs, was finished"
    yield from _less_urgent(trial, taken, needed)


def _less_urgent(
    trial: Trial, taken: list[Claim], needed: dict[int, list[int]]
) -> Iterator[tuple[str, str]]:
    """Claimed, although one more urgent was free from before it was asked for until it was given."""
    if trial.killed and trial.plan.url:
        return  # a server learns late that one is gone: what that one had locked is skipped until then
    first: dict[int, Claim] = {}
    for one in sorted(taken, key=lambda one: one.count):
        first.setdefault(one.number, one)
    free = []
    for row in trial.rows("added"):
        number, claimed = int(row[1]), first.get(int(row[1]))
        if needed[number] or (claimed and claimed.count > 1):
            continue  # not free at once, or held by one that was killed before it was told
        free.append((float(row[5]), claimed.asked if claimed else float("inf"), int(row[2])))
    if trial.killed:  # whoever was killed may have held one that nobody was told of
        free = [one for one in free if one[1] < float("inf")]
    free.sort(reverse=True)
    latest: dict[int, float] = defaultdict(float)
    for one in sorted(taken, key=lambda one: one.asked):
        while free and free[-1][0] < one.asked:
            _, until, priority = free.pop()
            latest[priority] = max(latest[priority], until)
        if any(until > one.had for priority, until in latest.items() if priority > one.priority):
            yield "order", f"task {one.number} was claimed while one more urgent was free"


# The report


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def report(trial: Trial) -> int:
    found = Counter(kind for kind, _ in wrong(trial, *trial.found()))
    times: dict[str, list[float]] = defaultdict(list)
    for what, seconds in trial.rows("did"):
        times[what].append(1000 * float(seconds))
    total = sum(map(len, times.values()))
    print(
        f"{trial.plan.agents} processes, {total:,} operations in {trial.seconds:.0f} s: "
        f"{total / trial.seconds:,.0f} a second; {trial.killed} kills; wrong: {dict(found) or 'nothing'}"
    )
    rows = [
        (name, f"{len(those):,}", *(f"{percentile(those, share):.1f}" for share in (0.5, 0.99, 1)))
        for name, those in sorted(times.items())
    ]
    print(table(("operation", "times", "p50 ms", "p99 ms", "slowest"), rows))
    return sum(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--each", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument(
        "--pause", type=float, default=0.0, help="mean seconds between two operations of one"
    )
    parser.add_argument("--url", default="", help="of a PostgreSQL, after `holdfast team init`")
    parser.add_argument("--control", action="store_true", help="the careless queue, which must be caught")
    asked = parser.parse_args()
    plan = Plan(asked.agents, asked.each, asked.kills, asked.pause, careless=asked.control, url=asked.url)
    with tempfile.TemporaryDirectory(prefix="holdfast-queue-") as folder:
        bad = report(Trial(Path(folder), plan).run())
    return 0 if bool(bad) == asked.control else 1


if __name__ == "__main__":
    sys.exit(main())
