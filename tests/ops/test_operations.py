"""Operations called as functions, on real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast import slash
from holdfast.app import Holdfast
from holdfast.core.config import STANDARD, Config
from holdfast.disk import sessions, trail
from holdfast.errors import BadInput, NotFound
from holdfast.ops import board
from holdfast.ops.checkpoints import take
from holdfast.ops.context import action_at, status_of, usage
from holdfast.ops.events import events
from holdfast.ops.sessions import list_all
from holdfast.ops.summaries import list_all as summarised
from holdfast.ops.survival import receipt
from holdfast.ops.upkeep import status
from hooks import event, run_hook, run_silently
from session import Script, text


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """A client's folder with one session in it."""
    folder = tmp_path / "client/projects/-home-mira-tidegate"
    folder.mkdir(parents=True)
    script = Script("alpha")
    script.answer(text("hello"), context=90_000, output=10)
    (folder / "alpha.jsonl").write_bytes(script.bytes())
    return folder


def opened(tmp_path: Path, **environ: str) -> Holdfast:
    client = str(tmp_path / "client")
    home = str(tmp_path / "home")
    return Holdfast.open(
        {"HOLDFAST_HOME": home, "CLAUDE_CONFIG_DIR": client, "HOME": str(tmp_path), **environ}
    )


def test_sessions_nobody_told_of_are_found_and_measured(tmp_path: Path, projects: Path) -> None:
    (found,) = list_all(opened(tmp_path))
    assert (found.session, found.used, found.known) == ("alpha", 90_010, False)
    assert found.project == "/home/mira/tidegate"


def test_a_session_may_be_named_by_its_beginning_if_that_is_one_of_them_alone(
    tmp_path: Path, projects: Path
) -> None:
    app, said = opened(tmp_path), (projects / "alpha.jsonl").read_bytes()
    (projects / "a1b2c3d4-0000.jsonl").write_bytes(said)
    assert usage(app, session="a1b2c3d4").session == "a1b2c3d4-0000"
    with pytest.raises(NotFound, match="no session 'a1b2' is known here"):
        usage(app, session="a1b2")
    (projects / "a1b2c3d4-1111.jsonl").write_bytes(said)
    with pytest.raises(BadInput, match="2 sessions begin with 'a1b2c3d4'"):
        usage(app, session="a1b2c3d4")


def test_what_is_done_to_one_named_by_its_beginning_is_done_to_it(tmp_path: Path, projects: Path) -> None:
    app, name = opened(tmp_path), "a1b2c3d4-0000"
    (projects / "alpha.jsonl").rename(projects / f"{name}.jsonl")
    (tmp_path / "tidegate").mkdir()
    run_silently(
        {"session_id": name, "hook_event_name": "UserPromptSubmit", "cwd": str(tmp_path / "tidegate")},
        tmp_path / "home",
    )
    assert take(app, session="a1b2c3d4").session_id == name
    assert receipt(app, session="a1b2c3d4").session == name
    assert sessions.names(app.home) == [name]


def test_what_is_said_of_one_is_found_by_its_beginning(tmp_path: Path, projects: Path) -> None:
    app, name = opened(tmp_path), "a1b2c3d4-0000"
    project = tmp_path / "tidegate"
    project.mkdir()
    said = {"session_id": name, "hook_event_name": "UserPromptSubmit", "cwd": str(project)}
    run_silently(said, tmp_path / "home")
    trail.note(app.home, "checkpoint.taken", session=name)
    trail.note(app.home, "checkpoint.taken", session="gone-since-long")
    assert {one.session for one in events(app, session="a1b2c3d4").events} == {name}
    assert len(events(app, session="gone-since-long").events) == 1  # of which no more is left
    assert summarised(app, session="a1b2c3d4") == []
    with pytest.raises(NotFound, match="no session 'a1b2' is known here"):
        summarised(app, session="a1b2")
    assert board.post(app, "look", to="a1b2c3d4", project=str(project)).to == f"session:{name}"
    assert len(board.read(app, session="a1b2c3d4", project=str(project)).ids) == 1


def test_one_bad_session_does_not_hide_the_others(tmp_path: Path, projects: Path) -> None:
    (projects / "beta.jsonl").mkdir()
    os.utime(projects / "beta.jsonl", (1, 1))
    good, bad = list_all(opened(tmp_path))
    assert (good.session, good.problem) == ("alpha", "")
    assert (bad.session, "is a directory" in bad.problem) == ("beta", True)


def test_without_arguments_the_newest_session_is_measured(tmp_path: Path, projects: Path) -> None:
    newer = Script("newer")
    newer.answer(context=50_000, output=5)
    (projects / "newer.jsonl").write_bytes(newer.bytes())
    os.utime(projects / "alpha.jsonl", (1, 1))
    app = opened(tmp_path)
    assert usage(app).session == "newer"
    inside = opened(tmp_path, CLAUDE_CODE_SESSION_ID="alpha")
    assert usage(inside).session == "alpha"


def test_a_session_that_has_just_begun_is_measured_all_the_same(tmp_path: Path, projects: Path) -> None:
    """The client writes other things first."""
    (projects / "young.jsonl").write_text('{"type":"mode","mode":"normal","sessionId":"young"}\n')
    found = usage(opened(tmp_path), session="young")
    assert (found.session, found.turns, found.source != "usage") == ("young", 0, True)


def test_a_session_known_only_by_its_hooks_is_measured_from_what_they_heard(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for number in range(3):
        event = {
            "session_id": "silent",
            "transcript_path": str(tmp_path / "never.jsonl"),
            "hook_event_name": "PostToolBatch",
            "tool_calls": [
                {"tool_name": "Bash", "tool_use_id": f"t{number}", "tool_response": "x" * 30_000}
            ],
        }
        run_hook(event, home)
    found = usage(opened(tmp_path), session="silent")
    assert (found.tool_calls, found.source) == (3, "estimate")
    assert found.used > 3 * 30_000 / 3
    assert found.degraded == ["no transcript: only what the hooks were told"]
    (listed,) = list_all(opened(tmp_path))
    assert (listed.session, listed.known, listed.used) == ("silent", True, found.used)


def test_what_is_shown_is_newer_than_what_the_last_hook_saved(tmp_path: Path, projects: Path) -> None:
    path = projects / "alpha.jsonl"
    event = {"session_id": "alpha", "transcript_path": str(path), "hook_event_name": "Stop"}
    run_hook(event, tmp_path / "home")
    script = Script("more")
    script.answer(context=99_000, output=7)
    with path.open("ab") as file:
        file.write(script.bytes())
    assert usage(opened(tmp_path), session="alpha").used == 99_007


def test_the_clients_settings_count_for_sessions_nobody_told_of(tmp_path: Path, projects: Path) -> None:
    (tmp_path / "client/settings.json").write_text('{"autoCompactWindow": 100000}')
    found = usage(opened(tmp_path), session="alpha")
    assert (found.capacity, found.window_source) == (67_000, "settings")
    with_env = opened(tmp_path, CLAUDE_CODE_AUTO_COMPACT_WINDOW="150000")
    assert usage(with_env, session="alpha").window_source == "environment"


def test_an_unknown_session_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="holdfast sessions"):
        usage(opened(tmp_path), session="nobody")


@pytest.mark.parametrize(
    ("percent", "status", "action"),
    [
        (49.9, "healthy", "none"),
        (50, "warning", "none"),
        (70, "critical", "save"),
        (85, "overflow", "save_and_restart"),
    ],
)
def test_status_and_action_keep_the_services_numbers(percent: float, status: str, action: str) -> None:
    found = status_of(percent, STANDARD), action_at(percent, STANDARD)["type"]
    assert found == (status, action)


def test_unless_the_configuration_has_others() -> None:
    values = {"auto_context.thresholds.warning": 40, "auto_context.thresholds.critical": 60}
    config = Config({"service.healthy_below": 20, **values})
    found = [(status_of(at, config), action_at(at, config)["type"]) for at in (19, 20, 40, 60)]
    assert found == [
        ("healthy", "none"),
        ("warning", "none"),
        ("critical", "save"),
        ("overflow", "save_and_restart"),
    ]


def test_status_is_well_before_anything_happened(tmp_path: Path) -> None:
    now = status(opened(tmp_path))
    assert (now.ok, now.sessions, now.last_event) == (True, 0, "")


def test_status_names_what_a_hook_met_and_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run_hook(b"not json", home)
    run_hook(b"not json", home)
    run_hook({"session_id": "s1", "hook_event_name": "Stop"}, home)
    (home / "sessions/s1/state.json").write_text("{")
    now = status(opened(tmp_path))
    assert not now.ok
    words = " ".join(check.what for check in now.checks if not check.ok)
    assert "2 × BadInput: stdin is not JSON" in words
    assert "not a state holdfast can read" in words
    assert all(check.fix for check in now.checks if not check.ok)
    run_hook({"session_id": "s1", "hook_event_name": "Stop"}, home)
    words = " ".join(check.what for check in status(opened(tmp_path)).checks if not check.ok)
    assert "1 damaged file(s) set aside" in words


def test_status_finds_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    (home, *_) = status(opened(tmp_path)).checks
    assert (home.name, home.ok) == ("home", False)
    assert "nothing is remembered" in home.what


def test_status_finds_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    found = status(Holdfast.open({"HOLDFAST_HOME": "/proc/holdfast", "HOME": str(tmp_path)}))
    (home,) = [check for check in found.checks if check.name == "home"]
    assert (home.ok, home.what.partition(":")[0]) == (False, "/proc/holdfast cannot be written")
    before = sorted(tmp_path.iterdir())
    assert status(opened(tmp_path, HOLDFAST_HOME=str(tmp_path / "not yet"))).checks[0].ok
    assert sorted(tmp_path.iterdir()) == before


def test_a_transcript_that_is_still_being_read_is_no_failure(tmp_path: Path) -> None:
    home = tmp_path / "holdfast"
    run_silently(event("Notification"), home)
    app = opened(tmp_path, HOLDFAST_HOME=str(home))
    known = sessions.peek(app.home, "s1")
    assert known
    known.behind = known.seen
    sessions.save(app.home, known)
    found = status(app)
    (told,) = [check for check in found.checks if check.name == "transcript"]
    assert (told.ok, told.fix, "being caught up" in told.what) == (True, "", True)
    assert found.ok
    reported = slash.run(["report"], opened(tmp_path, HOLDFAST_HOME=str(home), CLAUDE_CODE_SESSION_ID="s1"))
    assert f"degraded: {told.what.removeprefix('session s1 is being caught up: ')}" in reported
    known.agent = "a7"
    os.makedirs(app.home.session("s1", "a7"))
    sessions.save(app.home, known)
    (_, theirs) = [check.what for check in status(app).checks if check.name == "transcript"]
    assert theirs.startswith("agent a7 of session s1 is being caught up: ")


def test_status_says_where_a_line_would_be_left_and_that_a_vault_is_missing(tmp_path: Path) -> None:
    def vault() -> tuple[bool, str]:
        found = status(opened(tmp_path, HOLDFAST_VAULT_PATH="~/vault")).checks
        return next((check.ok, check.what) for check in found if check.name == "vault")

    assert vault()[0] is False
    assert "No such file" in vault()[1]
    (tmp_path / "vault").mkdir()
    assert vault()[0] is True
    assert f"a line in {tmp_path}/vault/20" in vault()[1]
