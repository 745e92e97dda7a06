"""Agents that are at the queue and on the board at once, some of them killed: bench/mixed.py in short."""

from __future__ import annotations

from pathlib import Path

import mixed
import tasks
from chance import tries


def test_nothing_is_lost_or_doubled_when_agents_use_queue_and_board_at_once(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = mixed.Trial(folder, tasks.Plan(agents=6, each=60, kills=4))
        trial.run()
        assert list(tasks.wrong(trial, *trial.found())) == []
        seen = trial.at_board()
        assert seen.is_right
        assert seen.operations > 60
        if trial.killed:
            return


def test_careless_ways_are_caught(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = mixed.Trial(folder, tasks.Plan(agents=6, each=80, kills=0, careless=True))
        trial.run()
        kinds = {kind for kind, _ in tasks.wrong(trial, *trial.found())}
        if "double" in kinds and not trial.at_board().is_right:
            return
