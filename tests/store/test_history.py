"""Many agents at one queue, some of them killed: bench/tasks.py in short, and its checker tried."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import tasks as bench
from agents import Log
from chance import tries
from holdfast.store.postgres import PostgreSQL
from store.postgres import Server


def test_nothing_is_lost_doubled_or_out_of_order_when_agents_are_killed(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = bench.Trial(folder, bench.Plan(agents=6, each=40, kills=4)).run()
        assert list(bench.wrong(trial, *trial.found())) == []
        if trial.killed:
            return


def test_nor_on_a_server_that_many_write_to_at_once(
    tmp_path: Path, postgresql: PostgreSQL, server: Server
) -> None:
    trial = bench.Trial(tmp_path, bench.Plan(agents=6, each=40, kills=4, url=server.url)).run()
    assert list(bench.wrong(trial, *trial.found())) == []


def test_a_careless_queue_is_caught(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = bench.Trial(folder, bench.Plan(agents=6, each=40, kills=0, careless=True)).run()
        if "double" in {kind for kind, _ in bench.wrong(trial, *trial.found())}:
            return


class Row(NamedTuple):
    number: int
    uid: str
    state: str = "open"
    finished_by: str = ""


#: What agents logged, the store's tasks and needs, and what is wrong with that.
HISTORIES = {
    "a task that was acknowledged is missing": ([["added u 1 0 0 1 2", "adds u"]], [], [], "lost"),
    "a task that nobody added": ([[]], [Row(1, "u")], [], "phantom"),
    "a finish that was acknowledged is not there": (
        [["adds u", "added u 1 0 0 1 2", "ends 1 1 finish a 5", "ended 1 1 finish a 5 6"]],
        [Row(1, "u")],
        [],
        "lost",
    ),
    "two had the same task at once": (
        [
            ["adds u", "added u 1 0 0 1 2", "claimed 1 1 a 0 3 4", "ends 1 1 release a 9"],
            ["claimed 1 2 b 0 5 6", "ends 1 2 release b 8"],
        ],
        [Row(1, "u")],
        [],
        "double",
    ),
    "two were given the same claim": (
        [["adds u", "claimed 1 1 a 0 3 4", "ends 1 1 release a 5"], ["claimed 1 1 b 0 6 7"]],
        [Row(1, "u")],
        [],
        "double",
    ),
    "one that held a task was refused": ([["refused 1 finish a"]], [], [], "double"),
    "two finished the same task": (
        [["adds u", "ended 1 1 finish a 5 6"], ["ended 1 2 finish b 7 8"]],
        [Row(1, "u", "finished", "b")],
        [],
        "double",
    ),
    "begun before what it needs was finished": (
        [["adds u", "adds v", "claimed 2 1 a 0 3 4", "ends 1 1 finish b 5"]],
        [Row(1, "u"), Row(2, "v")],
        [(2, 1)],
        "order",
    ),
    "claimed while one more urgent was free": (
        [["adds u", "added u 1 0 0 1 2", "adds v", "added v 2 4 0 1 2", "claimed 1 1 a 0 3 4"]],
        [Row(1, "u"), Row(2, "v")],
        [],
        "order",
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_the_checker_finds_what_is_wrong(tmp_path: Path, name: str) -> None:
    logs, found, needs, kind = HISTORIES[name]
    trial = bench.Trial(tmp_path, bench.Plan(agents=len(logs)))
    for log, lines in zip(trial.logs, logs, strict=True):
        for line in lines:
            Log(log.path).say(line)
    assert kind in {kind for kind, _ in bench.wrong(trial, found, needs)}
