"""A subagent lives in its parent's session, and in a window of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.client import wired
from client.scenario import Played, play
from hooks import command, folder, lines, state


@pytest.fixture
def played(shared: Path, binary: Path) -> Played:
    return play("agent", shared / "agent", binary, wired(command()))


def contexts(played: Played, agent: str = "") -> set[int]:
    """Every context holdfast measured."""
    return {
        sample["context"]
        for sample in lines(folder(played.home, played.sessions[0], agent) / "samples.jsonl")
    }


def agent_of(played: Played) -> str:
    (agent,) = {agent for _, agent in played.told() if agent}
    return agent


def scripted(played: Played, kind: str) -> list[int]:
    return [turn["context"] for turn in played.script["runs"][0]["script"][kind]]


def test_a_subagents_compaction_does_not_touch_its_parents_numbers(played: Played) -> None:
    parent = state(played.home, played.sessions[0])
    assert parent["heard"].get("compactions", 0) == 0
    assert parent["heard"].get("awaits", 0) == 0
    assert parent["seen"].get("compacted", 0) == 0
    assert contexts(played) - {0} <= set(scripted(played, "main"))


def test_a_subagents_own_window_is_measured(played: Played) -> None:
    """Its last answer reaches its transcript after the last hook it has, so the one before may be
    the last that is known."""
    agent = agent_of(played)
    own = state(played.home, played.sessions[0], agent)
    assert own["heard"]["compactions"] == 1
    assert own["seen"]["compacted"] == 1
    assert own["seen"]["meter"]["context"] in scripted(played, "agent")[-2:]
    assert contexts(played, agent) - {0} <= set(scripted(played, "agent"))
    last = lines(folder(played.home, played.sessions[0], agent) / "samples.jsonl")[-1]
    assert last["capacity"] == played.expect["capacity"]
