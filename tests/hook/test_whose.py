"""Clients before 2.1.323 do not say that a compaction is a subagent's: it goes to whose window is full."""

import os
from pathlib import Path

import pytest

from holdfast.core.state import State
from holdfast.disk import sessions
from holdfast.disk.home import Home
from hooks import Transcript, event, folder, heard, run_hook, run_silently, state

#: client, tokens of the lead and of the agent (of 167,000 each), whose it is.
CASES = [
    ("2.1.322", 40_000, 166_000, "a1"),
    ("2.1.322", 166_500, 30_000, ""),
    ("2.1.322", 120_000, 150_000, "a1"),
    ("2.1.323", 40_000, 166_000, ""),  # from here on it says so itself
    ("2.1.327", 40_000, 166_000, ""),
]


class Both:
    """A session and an agent of it, at work."""

    def __init__(self, home, transcript, version: str, lead: int, agent: int) -> None:
        self.home, self.path = home, transcript.path
        self.own = Transcript(transcript.path.with_suffix("") / "subagents" / "agent-a1.jsonl", agent="a1")
        for one, context in ((transcript, 20_000), (self.own, 15_000)):
            one.version = version
            one.prompt("go")
            one.answer(context)
        self.hook("PostToolBatch")
        self.hook("SubagentStart", agent_id="a1", agent_type="Explore")
        self.hook("PostToolBatch", agent_id="a1", agent_type="Explore")
        transcript.answer(lead)
        self.own.answer(agent)

    def hook(self, name: str, **fields: object) -> None:
        fields.setdefault("cwd", str(self.home.parent))
        run_silently(event(name, transcript=self.path, **fields), self.home)

    def compact(self, **fields: object) -> None:
        for name in ("PreCompact", "SessionStart", "PostCompact"):
            more = {"source": "compact"} if name == "SessionStart" else fields
            ran = run_hook(event(name, transcript=self.path, **more), self.home)
            assert (ran.returncode, ran.stderr) == (0, b"")

    def counted(self, agent: str = "") -> tuple:
        told = heard(self.home, agent=agent)
        names = ("PreCompact", "PostCompact")
        return *(told.get(name, 0) for name in names), state(self.home, agent=agent)["heard"].get(
            "compactions", 0
        )


@pytest.mark.parametrize(("version", "lead", "agent", "whose"), CASES)
def test_it_is_whose_window_is_full(home, transcript, version, lead, agent, whose):
    both = Both(home, transcript, version, lead, agent)
    both.compact()
    other = "" if whose else "a1"
    assert both.counted(whose) == (1, 1, 1)
    assert both.counted(other) == (0, 0, 0)
    assert "awaits" not in state(home, agent=other)["heard"]


def test_what_a_person_asks_for_is_the_sessions_own(home, transcript):
    both = Both(home, transcript, "2.1.322", 40_000, 166_000)
    both.compact(trigger="manual")
    assert both.counted() == (1, 1, 1)
    assert both.counted("a1") == (0, 0, 0)


def test_an_agent_that_has_ended_is_not_compacted(home, transcript):
    both = Both(home, transcript, "2.1.322", 40_000, 166_000)
    both.hook("SubagentStop")
    both.compact()
    assert both.counted() == (1, 1, 1)


def test_however_many_have_ended_the_one_that_runs_is_found(home, transcript):
    both = Both(home, transcript, "2.1.322", 40_000, 166_000)
    running = folder(home) / "agents" / "a1" / "state.json"
    for number in range(400):
        ended = State("s1", f"e{number}")
        ended.heard.last, ended.heard.last_at = "SubagentStop", state(home, agent="a1")["heard"]["last_at"]
        place = Home(str(home)).session("s1", ended.agent)
        Path(place).mkdir()
        sessions.save(Home(str(home)), ended)
    os.utime(running)
    both.compact()
    assert both.counted("a1") == (1, 1, 1)
    assert both.counted() == (0, 0, 0)


def test_an_agent_that_waits_for_a_tool_has_not_ended(home, transcript):
    """Before 2.1.311 the client said so of a running agent, twice a minute."""
    both = Both(home, transcript, "2.1.310", 40_000, 166_000)
    both.own.answer(60_000, call="toolu_9")
    for _ in range(3):
        both.hook("SubagentStop")
    assert state(home, agent="a1")["heard"]["last"] == "PostToolBatch"
    assert "saved" not in state(home, agent="a1")["heard"]
    both.own.result("toolu_9", "done")
    both.own.answer(61_000)
    both.hook("SubagentStop")
    assert state(home, agent="a1")["heard"]["last"] == "SubagentStop"


def test_an_agent_that_stops_again_with_nothing_done_is_not_saved_again(home, transcript):
    both = Both(home, transcript, "2.1.327", 40_000, 60_000)
    both.hook("SubagentStop")
    saved = state(home, agent="a1")["heard"]["saved"]
    both.hook("SubagentStop")
    assert state(home, agent="a1")["heard"]["saved"] == saved
