"""A lead that compacts, or comes back, knows who works for it: in its checkpoint and in its brief."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import sessions
from hooks import environ, lines
from told import Work, git, repository

SECRET = "sk-ant-" + "api03-" + "A1b2C3d4E5f6G7h8J9k0" * 4 + "-AA"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "tidegate")


@pytest.fixture
def lead(home: Path, project: Path) -> Work:
    made = Work(home, project)
    made.prompt("build the tide table")
    made.hook("SessionStart", source="startup")
    made.say("I start two agents.")
    return made


def started(lead: Work, agent: str, task: str, tree: Path | None = None) -> Work:
    """One in the background, as the client starts it."""
    made = Work(lead.home, tree or lead.project, agent=agent)
    lead.call(
        "Agent", "started", {"status": "async_launched", "agentId": agent}, description=task, prompt=task
    )
    meta = {"agentType": "Explore", "description": task, "toolUseId": "x"}
    made.path.with_suffix(".meta.json").write_text(json.dumps(meta))
    made.prompt(task)
    made.say(f"Half of {task} is done.")
    made.hook("PostToolBatch")
    return made


def newest(lead: Work) -> list[str]:
    """What its newest checkpoint says of agents."""
    made = [one for one in lines(lead.home / "checkpoints" / "index.jsonl") if not one["agent_id"]][-1]
    section = Path(made["path"]).read_text().partition("## Agents\n")[2].partition("\n## ")[0]
    return [line[2:] for line in section.splitlines() if line.startswith("- ")]


def test_the_checkpoint_tells_who_is_running_where_and_what_it_said_last(lead, project):
    git(project, "worktree", "add", "-q", "-b", "pier", str(project.parent / "pier"))
    started(lead, "a1", "count the gulls")
    started(lead, "a2", "paint the pier", project.parent / "pier").hook(
        "SubagentStop", last_assistant_message="ok"
    )
    commit = git(project, "rev-parse", "HEAD").strip()[:12]
    lead.hook("PreCompact", trigger="auto")
    first, second = newest(lead)[:2]
    running = (
        "a1 (still running, heard of just now): count the gulls; last said: Half of count the gulls is"
    )
    assert first.startswith(running)
    assert f"at {commit}" in first
    assert second.startswith("a2 (finished): paint the pier; last said: Half of paint the pier is done.; ")
    assert f"; branch pier at {commit}; checkpoint " in second


def test_one_that_the_transcript_does_not_name_yet_is_told_too(lead):
    """In the foreground: its call has no result while it runs."""
    other = Work(lead.home, lead.project, agent="a9")
    meta = {"agentType": "Explore", "description": "plan it"}
    other.path.with_suffix(".meta.json").write_text(json.dumps(meta))
    other.prompt("plan it")
    other.say("Thinking of a plan.")
    other.hook("PostToolBatch")
    lead.hook("PreCompact", trigger="auto")
    (told,) = newest(lead)
    assert told.startswith("a9 Explore (still running, heard of just now): plan it; last said: Thinking of")


def test_after_a_compaction_the_lead_is_told_who_is_still_at_work_and_not_who_is_done(lead):
    started(lead, "a1", "count the gulls")
    started(lead, "a2", "paint the pier").hook("SubagentStop", last_assistant_message="painted")
    _, brief, _ = lead.compact("Nothing was kept.")
    assert (
        "Agent a1 Explore: still running, heard of just now; task: count the gulls; last said: Half of"
        in brief
    )
    assert "Agent a2" not in brief


def test_a_lead_that_comes_back_is_told_whom_it_has_lost(lead):
    started(lead, "a1", "count the gulls")
    lead.say("I wait for it.")
    said = lead.start("resume")
    assert "Agent a1 Explore: lost when its client ended; task: count the gulls" in said
    lead.say("Then I do it myself.")
    lead.hook("PreCompact", trigger="auto")
    assert newest(lead)[0].startswith("a1 (lost when its client ended): count the gulls")


def test_one_that_is_silent_for_long_is_said_to_be(lead):
    started(lead, "a1", "count the gulls")
    home = Holdfast.open(environ(lead.home)).home
    for agent in ("", "a1"):
        state = sessions.load(home, "s1", agent)
        state.heard.last_at -= 40 * 60_000
        state.heard.begun -= 60 * 60_000
        sessions.save(home, state)
    lead.hook("PreCompact", trigger="auto")
    assert newest(lead)[0].startswith("a1 (silent, heard of 40 minutes ago): count the gulls")


def test_what_an_agent_says_is_redacted_and_a_damaged_one_costs_no_other(lead):
    agent = started(lead, "a1", "count the gulls")
    agent.say(f"the key is {SECRET}")
    agent.hook("PostToolBatch")
    started(lead, "a2", "paint the pier")
    (lead.home / "sessions/s1/agents/a0").mkdir()
    (lead.home / "sessions/s1/agents/a0/state.json").write_text("{}")
    agent.path.with_suffix(".meta.json").write_bytes(b"\xff{")
    _, brief, _ = lead.compact("Nothing was kept.")
    assert "last said: the key is" in brief
    assert SECRET not in brief
    assert "Agent a2 Explore: still running" in brief
