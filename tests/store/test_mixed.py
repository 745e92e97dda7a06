"""Agents that are at the queue and on the board at once, some of them killed: bench/mixed.py in short."""

from __future__ import annotations

from pathlib import Path

import mixed
import tasks


def test_nothing_is_lost_or_doubled_when_agents_use_queue_and_board_at_once(tmp_path: Path) -> None:
    killed = 0
    for number in range(5):  # whoever is to be killed may be through before its turn comes
        folder = tmp_path / str(number)
        folder.mkdir()
        trial = mixed.Trial(folder, tasks.Plan(agents=6, each=60, kills=4))
        trial.run()
        killed += trial.killed
        assert list(tasks.wrong(trial, *trial.found())) == []
        seen = trial.at_board()
        assert seen.is_right
        assert seen.operations > 60
        if killed:
            break
    assert killed


def test_careless_ways_are_caught(tmp_path: Path) -> None:
    trial = mixed.Trial(tmp_path, tasks.Plan(agents=6, each=80, kills=0, careless=True))
    trial.run()
    assert "double" in {kind for kind, _ in tasks.wrong(trial, *trial.found())}
    assert not trial.at_board().is_right
