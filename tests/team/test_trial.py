"""Two machines and a team's worth of agents, in short; and their controls."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowd
import machines


def test_what_one_machine_did_the_other_finishes_sees_and_is_told_also_after_a_kill(tmp_path: Path) -> None:
    made = machines.Trial(tmp_path, kills=1).run()
    assert made.missing == []
    assert len(made.done) >= 7


def test_lines_that_vanish_from_an_outbox_are_missed(tmp_path: Path) -> None:
    """The control."""
    made = machines.Trial(tmp_path, kills=1, careless=True).run()
    assert {what.partition(" ")[0] for what in made.missing} == {"checkpoint", "message"}


def test_nothing_is_lost_or_doubled_when_the_server_is_killed_under_many_agents(tmp_path: Path) -> None:
    found = crowd.Trial(tmp_path, crowd.Plan(agents=40, machines=2, rate=400, seconds=2, kills=3)).run()
    assert found.put > 500
    assert (found.lost, found.doubled, found.strange) == (0, 0, 0)


@pytest.mark.parametrize(("way", "wrong"), [(crowd.FORGETS, "lost"), (crowd.RENAMES, "doubled")])
def test_a_careless_sender_is_caught(tmp_path: Path, way: str, wrong: str) -> None:
    plan = crowd.Plan(agents=80, machines=2, rate=800, seconds=2, kills=4, way=way)
    assert getattr(crowd.Trial(tmp_path, plan).run(), wrong) > 0
