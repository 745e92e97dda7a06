"""The save that `rs` finds: made by the hooks themselves, apart from them, once per level and cycle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.state import State
from holdfast.disk import sessions
from holdfast.disk.home import Home
from hooks import copy_package, edit, hold, lines, notes, run_hook, state
from taken import Session, newest
from told import RULE, repository

#: A model whose client compacts at 167,000.
PERCENT = 1670
REFUSED = {"error": "unknown", "last_assistant_message": "API Error: 400 Prompt is too long"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "tidegate")


@pytest.fixture
def session(home: Path, project: Path, tmp_path: Path) -> Session:
    made = Session(home, project, tmp_path / "projects" / "s1.jsonl")
    made.transcript.prompt(RULE)
    return made


def saved(home: Path, environment: str = "development") -> list[dict]:
    return lines(home / f"environments/{environment}.jsonl")


def resumed(home: Path, project: Path, *words: str) -> str:
    env = {"HOLDFAST_HOME": str(home), "HOME": str(home.parent), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "holdfast", "rs", *(words or ["development"])]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def filled(session: Session, percent: float, name: str = "PostToolBatch", **fields: object) -> None:
    session.turn(context=int(PERCENT * percent))
    session.hook(name, **fields)


def test_a_session_saves_itself_at_l2_and_at_l4_and_again_after_a_compaction(
    session: Session, home: Path, project: Path
) -> None:
    for percent in (40, 60, 72, 83):
        filled(session, percent)
    assert saved(home) == []
    for percent in (86, 87, 94, 96):
        filled(session, percent)
    (first,) = saved(home)
    assert first["session_id"] == "s1"
    assert (first["project"], first["branch"]) == (str(project), "main")
    assert first["source"] == "auto-save"
    assert first["tags"] == ["auto-save", f"tokens-{first['used']}"]
    assert (first["max"], first["used"] > 0.85 * 167_000) == (200_000, True)
    assert "L2 Advisory" in first["context"]
    assert "parser" in first["task"] or RULE in first["task"]
    assert Path(first["checkpoint"]).exists()
    filled(session, 98)
    filled(session, 99)
    assert len(saved(home)) == 2
    session.compact()
    session.hook("SessionStart", source="compact")
    for percent in (30, 60, 84):
        filled(session, percent)
    assert len(saved(home)) == 2
    filled(session, 86)
    assert len(saved(home)) == 3
    told = resumed(home, project)
    assert "Going on with development" in told
    assert "by itself" in told
    assert RULE in told
    assert not notes(home)


def test_a_session_that_jumps_over_every_level_is_saved_once(
    session: Session, home: Path, project: Path
) -> None:
    filled(session, 30)
    filled(session, 98.5, "Stop")
    (only,) = saved(home)
    assert "L4 Critical" in only["context"]


def test_a_compaction_before_any_level_was_seen_is_saved_at_the_latest(
    session: Session, home: Path, project: Path
) -> None:
    """Of a model that holds less than is known of it, the client knows better."""
    filled(session, 30)
    session.hook("PreCompact", trigger="manual")
    assert saved(home) == []
    session.hook("PreCompact", trigger="auto")
    (only,) = saved(home)
    assert "the client compacts" in only["context"]
    assert "before a compaction" in resumed(home, project)


def test_a_pending_save_that_is_not_as_expected_keeps_nobody_from_going_on(
    session: Session, home: Path, project: Path
) -> None:
    filled(session, 90)
    odd = State("odd")
    odd.heard.autosave = {"uid": "x"}
    place = Home(str(home))
    Path(place.session("odd")).mkdir()
    sessions.save(place, odd)
    assert RULE in resumed(home, project)


def test_a_full_window_is_saved_where_the_client_does_not_compact(
    session: Session, home: Path, project: Path
) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps({"autoCompactEnabled": False}))
    session.hook("SessionStart", source="startup")
    full = 177_000  # where this client lets nothing more in
    for used in (100_000, int(0.90 * full), int(0.98 * full), int(1.08 * full), int(1.09 * full)):
        session.turn(context=used)
        session.hook("PostToolBatch")
    session.hook("StopFailure", **REFUSED)
    contexts = [save["context"] for save in saved(home)]
    assert ["L2 Advisory" in contexts[0], "L4 Critical" in contexts[1], "is full" in contexts[2]] == [
        True
    ] * 3
    assert len(contexts) == 3
    assert saved(home)[-1]["used"] > 1.08 * full
    assert "Going on with development" in resumed(home, project)


def test_a_session_that_the_api_refuses_is_saved(session: Session, home: Path, project: Path) -> None:
    filled(session, 60)
    session.hook("StopFailure", **REFUSED)
    (only,) = saved(home)
    assert "the window is full" in only["context"]
    assert newest(home).fields["reason"] == "the window is full"
    assert only["checkpoint"].endswith(newest(home).fields["id"] + ".md")


def test_the_environment_is_that_of_the_client(session: Session, home: Path, project: Path) -> None:
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, env={"CONTEXTS_ENV": "staging"})
    assert (saved(home), len(saved(home, "staging"))) == ([], 1)
    session.turn(context=PERCENT * 98)
    run_hook(session.event("PostToolBatch"), home, env={"CONTEXTS_ENV": "../up"})
    assert len(saved(home)) == 1
    assert "CONTEXTS_ENV cannot be the name" in notes(home)[-1]["what"]


def test_who_wants_no_automatic_saves_gets_none(session: Session, home: Path) -> None:
    session.turn(context=PERCENT * 98)
    run_hook(session.event("PostToolBatch"), home, env={"HOLDFAST_AUTO_CONTEXT_ENABLED": "false"})
    assert not saved(home)


def test_a_subagent_does_not_save_over_the_lead(session: Session, home: Path) -> None:
    path = session.transcript.path.with_suffix("") / "subagents/agent-a1.jsonl"
    own = Session(home, session.project, path)
    own.transcript.agent = "a1"
    own.turn(context=PERCENT * 98)
    session.hook("PostToolBatch", agent_id="a1", agent_type="Explore")
    session.hook("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="done")
    assert state(home, agent="a1")["seen"]["turns"] == 1
    assert not saved(home)


def test_of_two_sessions_both_saves_are_kept_and_the_other_one_is_named(
    session: Session, home: Path, project: Path, tmp_path: Path
) -> None:
    filled(session, 90)
    other = Session(home, project, tmp_path / "projects" / "s2.jsonl")
    other.transcript.prompt("paint the tower white")
    other.turn(context=PERCENT * 90, times=2)
    run_hook(other.event("PostToolBatch", session="s2"), home)
    first, second = saved(home)
    assert [first["session_id"], second["session_id"]] == ["s1", "s2"]
    told = resumed(home, project)
    assert "paint the tower white" in told
    assert f"--id {first['id']}" in told
    told = resumed(home, project, "development", "--id", first["id"])
    assert RULE in told
    assert f"--id {second['id']}" in told


def test_work_that_went_on_after_the_save_is_resumed_where_it_ended(
    session: Session, home: Path, project: Path
) -> None:
    filled(session, 90)
    later = "Never touch the sluice gate again, whatever happens."
    session.transcript.prompt(later)
    filled(session, 91, "Stop")
    session.turn(context=PERCENT * 92, times=6)
    session.hook("SessionEnd", reason="other")
    assert len(saved(home)) == 1
    assert later in resumed(home, project)


def test_secrets_are_redacted(session: Session, home: Path) -> None:
    token = "ghp_" + "x7Kq2mZt9Rw4Lb8Vn3Pd6Hs1Yc5Jf0Ga2Te"
    session.transcript.prompt(f"push with {token}")
    filled(session, 90)
    text = (home / "environments/development.jsonl").read_text()
    assert token not in text
    assert "push with [redacted" in text or "parser" in text


def test_a_save_that_was_killed_before_it_was_written_is_made_by_the_next_hook(
    session: Session, home: Path, tmp_path: Path
) -> None:
    package = copy_package(tmp_path / "copy")
    edit(
        package / "autosave.py",
        "        saves.add(app.home, [save])\n",
        "        __import__('posix')._exit(1)\n",
    )
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, package=package)
    assert not saved(home)
    assert state(home)["heard"]["autosave"]["tries"] == 1
    session.hook("Stop")
    assert len(saved(home)) == 1
    assert "autosave" not in state(home)["heard"] or not state(home)["heard"]["autosave"]


def test_one_that_was_killed_after_it_was_written_is_not_made_twice(
    session: Session, home: Path, tmp_path: Path
) -> None:
    package = copy_package(tmp_path / "copy")
    edit(package / "autosave.py", "    state.heard.autosave = {}\n", "    __import__('posix')._exit(1)\n")
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, package=package)
    assert len(saved(home)) == 1
    session.hook("Stop")
    session.hook("UserPromptSubmit", prompt="go on")
    assert len(saved(home)) == 1
    assert not state(home)["heard"].get("autosave")


def test_one_that_no_hook_finishes_is_finished_by_rs(
    session: Session, home: Path, project: Path, tmp_path: Path
) -> None:
    package = copy_package(tmp_path / "copy")
    edit(
        package / "autosave.py",
        "        saves.add(app.home, [save])\n",
        "        __import__('posix')._exit(1)\n",
    )
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, package=package)
    assert not saved(home)
    assert "Going on with development" in resumed(home, project)
    assert len(saved(home)) == 1


def test_the_hook_that_is_waited_for_does_not_write_it(
    session: Session, home: Path, tmp_path: Path
) -> None:
    """A disk that takes the save only when the hook has answered holds nobody up."""
    package = copy_package(tmp_path / "copy")
    gate = tmp_path / "gate"
    hold(package, "autosave.py", "        saves.add(app.home, [save])", gate)
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, package=package, then=gate.touch)
    assert len(saved(home)) == 1


def test_without_looking_for_its_id_it_would_be_made_twice(
    session: Session, home: Path, tmp_path: Path
) -> None:
    """The control: a package that does not look."""
    package = copy_package(tmp_path / "copy")
    edit(package / "autosave.py", "    state.heard.autosave = {}\n", "    __import__('posix')._exit(1)\n")
    edit(package / "autosave.py", "or not _is_made(app, due)", "or True")
    session.turn(context=PERCENT * 90)
    run_hook(session.event("PostToolBatch"), home, package=package)
    run_hook(session.event("Stop"), home, package=package)
    first, second = saved(home)
    assert first["id"] == second["id"]
