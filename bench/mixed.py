"""Many agents at one queue and on one board, some of them killed: python bench/mixed.py [--agents 64]

Every agent is a process of its own that does what those of bench/tasks.py and bench/board.py do, now the
one and now the other, in one home, as fast as it can: adds, claims, renews, releases, finishes and looks;
posts, reads and acknowledges. Of every hundred agents eight are killed again and again, and others go on in
their place. Both checkers then hold what is there against what each agent was told. The control has a queue
that looks for a free task and then takes it, and a board that is read, changed and rewritten: both must be
caught. Ends with 1 if anything is wrong, or more than one claim of a hundred took more than 150 ms.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import board
import tasks
from agents import Log
from holdfast.disk.home import Home
from holdfast.store.database import Store

#: Of all operations those at the queue.
_QUEUE = 0.5


class Agent(tasks.Agent):
    def __init__(
        self, folder: Path, home: Home, store: Store, log: Log, plan: tasks.Plan, number: int
    ) -> None:
        super().__init__(home, store, log, plan, number)
        way = board.BROKEN if plan.careless else board.Way()
        self.at_board = board.Agent(number, plan.agents, folder, way, os.getpid())

    def _step(self) -> str:
        if self.dice.random() < _QUEUE:
            return super()._step()
        return f"board.{self.at_board.step(int(time.monotonic() * 1000))}"


class Trial(tasks.Trial):
    #: Of an operation at the board the log says little.
    BYTES = 60

    def __init__(self, folder: Path, plan: tasks.Plan) -> None:
        super().__init__(folder, plan)
        self.folder = folder
        self.home = Home(str(folder / "home"))
        Path(self.home.root).mkdir()
        (folder / "logs").mkdir()

    def _agent(self, number: int) -> Agent:
        return Agent(self.folder, self.home, self._open(), self.logs[number], self.plan, number)

    def at_board(self) -> board.History:
        return board.check(self.folder, self.plan.agents)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--each", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--control", action="store_true", help="careless ways, which must be caught")
    asked = parser.parse_args()
    kills = 0 if asked.control else asked.kills
    with tempfile.TemporaryDirectory(prefix="holdfast-mixed-") as folder:
        trial = Trial(Path(folder), tasks.Plan(asked.agents, asked.each, kills, careless=asked.control))
        trial.run()
        wrong, seen = tasks.report(trial), trial.at_board()
        claims = [1000 * float(seconds) for what, seconds in trial.rows("did") if what == "claim"]
    told = ", ".join(f"{name} {value:,}" for name, value in seen._asdict().items())
    slow, load = tasks.percentile(claims, 0.99), os.getloadavg()
    print(f"\nboard: {told}\nclaim p99 {slow:.0f} ms; load {load[0]:.0f}, {load[1]:.0f} over five minutes")
    if asked.control:
        return 0 if wrong and not seen.is_right else 1
    return 0 if not wrong and seen.is_right and slow <= tasks.GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main())
