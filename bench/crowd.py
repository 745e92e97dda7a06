"""A team's worth of agents on one PostgreSQL: python bench/crowd.py [--agents 500] [--kills 20]

Every machine of the team is two processes: one in which its agents note what happens, through the code a
hook runs, and one that sends, through the code of `holdfast sync --watch`. The server syncs every commit
to the disk. An event's way to durable is from the moment it is put into the outbox until the store has
acknowledged its transaction; beside it, in the same run and with as many processes, stands what a single
row costs that is inserted and committed by itself.

Then the server is killed, all its processes at once, and started again, over and over, while all go on.
What each agent was told is in the outbox stands in a log of its own; afterwards a checker holds the store
against these logs, by ids: nothing is lost, nothing is there twice. Two controls must be caught: a sender
that forgets what it had not got acknowledged, and one that gives a line another id every time it sends it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

from harness import progress, table
from holdfast.app import Holdfast
from holdfast.clock import new_id, now, rfc3339
from holdfast.disk import outbox
from holdfast.disk.home import Home
from holdfast.store.postgres import PostgreSQL
from holdfast.team import outgoing, sync
from holdfast.team.outgoing import Outgoing
from store.postgres import Server
from teammate import Machine

GOAL_RATE, GOAL_RATIO = 2000, 10
_FORK = multiprocessing.get_context("fork")
#: Between two bare rows of one process, while all else goes on.
_PAUSE_S = 0.05
FORGETS, RENAMES = "forgets", "renames"


class Plan(NamedTuple):
    """Events a second are those of all agents together. `way`: how the sender is broken, if it is."""

    agents: int = 500
    machines: int = 8
    rate: float = 2600
    seconds: float = 30
    kills: int = 20
    way: str = ""


class Found(NamedTuple):
    put: int
    rate: float
    way_ms: list[float]
    bare_ms: list[float]
    alone_ms: list[float]
    kills: int
    lost: int
    doubled: int
    strange: int

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.strange)


def agents(machine: Machine, plan: Plan, number: int, stop: Event, log: Path) -> None:
    """Those of one machine, each at its own pace. What was put is logged once that is done."""
    home, dice = Home(str(machine.home)), random.Random(number)
    here = plan.agents // plan.machines
    pause = plan.agents / plan.rate
    due = [(time.monotonic() + dice.random() * pause, agent, 0) for agent in range(here)]
    heapq.heapify(due)
    with log.open("w", buffering=1 << 16) as told:
        while not stop.is_set():
            at, agent, count = due[0]
            wait = at - time.monotonic()
            if wait > 0:
                time.sleep(min(wait, 0.05))
                continue
            uid, began = new_id(now()), time.monotonic()
            outbox.put(home, outbox.EVENT, note(f"{number}-{agent}", count), uid)
            told.write(f"{uid} {began} {number}-{agent}-{count}\n")
            heapq.heapreplace(due, (max(at + dice.uniform(0.5, 1.5) * pause, began), agent, count + 1))


def note(agent: str, count: int) -> dict[str, Any]:
    """As large as those of a session are."""
    said = {"v": 1, "at": rfc3339(now()), "event": "bench.noted", "session": "s1", "agent": agent}
    return {**said, "what": "reached L2 Advisory at 85.3 %, about 12 turns left", "number": count}


def sender(machine: Machine, way: str, stop: Event, log: Path) -> None:
    """As `holdfast sync --watch`, which also writes down when what was acknowledged."""
    real: Callable[..., None] = Outgoing._together
    with log.open("w", buffering=1 << 16) as told:

        def together(self: Outgoing, lines: list[dict], compared: bool) -> None:
            if way == RENAMES:
                lines = [{**line, "uid": new_id(now())} for line in lines]
            real(self, lines, compared)
            if way:
                time.sleep(0.02)  # so that a kill comes in the middle
            done = time.monotonic()
            told.writelines(f"{line['uid']} {done}\n" for line in lines)

        Outgoing._together = together  # type: ignore[method-assign]
        if way == FORGETS:
            _forget_first()
        if way:
            outgoing._TOGETHER = 5
        sync._AGAIN_S = (0.2, 0.5)  # what is waited for here is the server, not the next try
        app, drain = Holdfast.open(machine.env), sync.Drain()
        while not (stop.is_set() and _is_over(app)):
            if not drain.look(app):
                time.sleep(0.02)


def _is_over(app: Holdfast) -> bool:
    return not outbox.size(app.home)


def _forget_first() -> None:
    real: Callable[..., None] = Outgoing.send

    def send(self: Outgoing, lines: list[dict], compared: bool = False) -> None:
        for path in outbox.segments(self._app.home)[:1]:
            outbox.remove(path)
        real(self, lines, compared)

    Outgoing.send = send  # type: ignore[method-assign]


def bare(url: str, pause_s: float, stop: Event, log: Path) -> None:
    """One connection, one row, one commit, again and again."""
    said = json.dumps(note("bare", 0))
    with psycopg.connect(url, autocommit=True) as connection, log.open("w") as told:
        while not stop.is_set():
            row = (new_id(now()), "bare", "bare.1", "s1", now(), "bench.bare", said)
            began = time.monotonic()
            connection.execute(
                "INSERT INTO events (uid, project, machine, session, at, event, data) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                row,
            )
            told.write(f"{time.monotonic() - began}\n")
            time.sleep(pause_s)


class Trial:
    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        self.server = Server(folder / "pg", "fsync=on", "max_connections=100")
        store = PostgreSQL(self.server.url)
        store.bring_up()
        store.close()  # nobody who is forked shares its connections
        self.machines = [Machine(folder / f"m{n}", self.server.url) for n in range(plan.machines)]
        for machine in self.machines:
            machine.begin()
            (machine.home / "outbox").mkdir()

    def run(self) -> Found:
        try:
            alone_ms = self._bare("alone", 0, self.plan.seconds / 3) if not self.plan.way else [1.0, 1.0]
            rate, way_ms, bare_ms = self._all_at_once()
            return self._checked(rate, way_ms, bare_ms, alone_ms)
        finally:
            self.server.stop()

    def _bare(self, name: str, pause_s: float, seconds: float) -> list[float]:
        stop = _FORK.Event()
        logs = [self.folder / f"{name}.{n}" for n in range(self.plan.machines)]
        running = [_started(bare, self.server.url, pause_s, stop, log) for log in logs]
        time.sleep(seconds)
        stop.set()
        _ended(running)
        return [1000 * float(line) for log in logs for line in log.read_text().split()]

    def _all_at_once(self) -> tuple[float, list[float], list[float]]:
        """(acknowledged a second, ms of each on its way, ms of a bare row meanwhile); then the kills."""
        plan, quiet, over = self.plan, _FORK.Event(), _FORK.Event()
        working = [
            _started(agents, machine, plan, n, quiet, self.folder / f"put.{n}")
            for n, machine in enumerate(self.machines)
        ]
        sending = [
            _started(sender, machine, plan.way, over, self.folder / f"sent.{n}")
            for n, machine in enumerate(self.machines)
        ]
        time.sleep(plan.seconds / 3)  # until all have begun, and sent what had gathered
        began = time.monotonic()
        bare_ms = self._bare("beside", _PAUSE_S, plan.seconds)
        ended = time.monotonic()
        dice = random.Random(3)
        for kill in range(plan.kills):
            progress(f"kill {kill + 1} of {plan.kills}")
            self.server.kill()
            time.sleep(dice.random() * 0.5)
            self.server.start()
            time.sleep(0.5 + dice.random())
        quiet.set()
        _ended(working)
        over.set()
        _ended(sending)
        progress("")
        put = self._put()
        sent = {uid: float(at) for uid, at in self._lines("sent")}
        there = [uid for uid, at in sent.items() if began <= at <= ended]
        ways = [1000 * (sent[uid] - put[uid][0]) for uid in there if uid in put]
        return len(there) / (ended - began), ways, bare_ms

    def _put(self) -> dict[str, tuple[float, str]]:
        return {uid: (float(at), what) for uid, at, what in self._lines("put")}

    def _lines(self, kind: str) -> list[list[str]]:
        paths = sorted(self.folder.glob(f"{kind}.*"))
        return [line.split() for path in paths for line in path.read_text().split("\n")[:-1]]

    def _checked(
        self, rate: float, way_ms: list[float], bare_ms: list[float], alone_ms: list[float]
    ) -> Found:
        put = self._put()
        with psycopg.connect(self.server.url) as connection:
            rows = connection.execute("SELECT uid, data FROM events WHERE event = 'bench.noted'").fetchall()
        said = [json.loads(data) for _, data in rows]
        there = Counter(f"{one['agent']}-{one['number']}" for one in said)
        wanted = {what for _, what in put.values()}
        uids = {uid for uid, _ in rows} if not self.plan.way else set(put)
        return Found(
            put=len(put),
            rate=rate,
            way_ms=way_ms,
            bare_ms=bare_ms,
            alone_ms=alone_ms,
            kills=self.plan.kills,
            lost=len(wanted - there.keys()) + len(put.keys() - uids),
            doubled=sum(number - 1 for number in there.values()),
            strange=len(there.keys() - wanted),
        )


def _started(work: Callable[..., None], *given: Any) -> Any:
    process = _FORK.Process(target=work, args=given)
    process.start()
    return process


def _ended(running: list[Any]) -> None:
    for process in running:
        process.join(300)
        if process.exitcode != 0:
            raise RuntimeError(f"one ended with {process.exitcode}")


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=1000)[round(1000 * share) - 1]


def told(found: Found) -> str:
    timed = {
        "an event, to durable": found.way_ms,
        "a bare row, at the same time": found.bare_ms,
        "a bare row, before": found.alone_ms,
    }
    rows = []
    for name, values in timed.items():
        figures = [percentile(values, share) for share in (0.5, 0.99)]
        rows.append([name, f"{len(values):,}", *(f"{ms:.1f}" for ms in figures), f"{max(values):.0f}"])
    p99 = percentile(found.way_ms, 0.99)
    return "\n".join(
        (
            f"{found.rate:,.0f} durable events/s (goal {GOAL_RATE:,})",
            f"{found.put:,} events and {found.kills} kills: {found.lost} lost, {found.doubled} doubled, "
            f"{found.strange} strange",
            table(["", "count", "p50 ms", "p99 ms", "slowest ms"], rows),
            f"p99 is {p99 / percentile(found.bare_ms, 0.99):.1f} × that of a bare row at the same time "
            f"(goal {GOAL_RATIO}), {p99 / percentile(found.alone_ms, 0.99):.1f} × that of one before",
        )
    )


def trial(plan: Plan) -> Found:
    with tempfile.TemporaryDirectory(prefix="holdfast-team-", dir=os.environ.get("BENCH_DIR")) as folder:
        return Trial(Path(folder), plan).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=500)
    parser.add_argument("--machines", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2600)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--kills", type=int, default=20)
    args = parser.parse_args()
    found = trial(Plan(**vars(args)))
    print(told(found))
    if not found.is_right:
        sys.exit(1)
    for way in (FORGETS, RENAMES):
        control = trial(Plan(agents=80, machines=2, rate=800, seconds=2, kills=4, way=way))
        wrong = f"{control.lost} lost, {control.doubled} doubled"
        print(f"control, a sender that {way}: {wrong} of {control.put:,}")
        if control.is_right:
            sys.exit(f"the control that {way} was not caught")


if __name__ == "__main__":
    main()
