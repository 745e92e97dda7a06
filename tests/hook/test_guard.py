"""What hooks say of a window that fills up, and what they leave in the trail and the checkpoints."""

import json

import pytest

from hooks import bundled, copy_package, lines, run_hook, state
from taken import Session, newest

#: A model whose client compacts at 167,000.
PERCENT = 1670


@pytest.fixture
def session(home, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return Session(home, project, tmp_path / "projects" / "s1.jsonl")


def said(session, name, **fields):
    """(to the person, to the model)."""
    done = run_hook(session.event(name, **fields), session.home)
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout or b"{}")
    return answer.get("systemMessage", ""), answer.get("hookSpecificOutput", {}).get(
        "additionalContext", ""
    )


def filled(session, percent):
    session.turn(context=PERCENT * percent)
    return said(session, "PostToolBatch")


def test_each_rung_is_said_once_and_again_after_a_compaction(session, home):
    for _ in range(2):
        told = [filled(session, percent)[0] for percent in (30, 30, 61, 61, 61, 71, 71, 71, 86, 86)]
        names = [line.partition(":")[0] for line in told if line]
        assert len(names) == len(set(names)) >= 2
        assert "holdfast L2 Advisory" in names
        session.compact()
        said(session, "SessionStart", source="compact")
    levels = [line for line in lines(home / "events.jsonl") if line["event"] == "CONTEXT_PRESSURE"]
    assert all(line["level"] != line["before"] for line in levels)
    assert [line["before"] for line in levels[1:]] == [line["level"] for line in levels[:-1]]


def commands(folder):
    """Where the client finds /holdfast:save."""
    (folder / "commands/holdfast").mkdir(parents=True)
    (folder / "commands/holdfast/save.md").touch()


def statusline(folder, command="python3 /opt/holdfast/launch.py statusline"):
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"statusLine": {"command": command}}))


def warning(session, percent, package=None, **env):
    session.turn(context=int(PERCENT * percent))
    done = run_hook(
        session.event("UserPromptSubmit", prompt="go on"), session.home, env=env, package=package
    )
    told = json.loads(done.stdout or b"{}").get("systemMessage", "").split("\n")
    (line,) = [line for line in told if line.startswith("CONTEXT: ")]
    return line


def program(folder):
    folder.mkdir(parents=True)
    (folder / "holdfast").touch(0o755)
    return str(folder)


def test_the_prompt_warning_is_in_its_own_words(session, home):
    commands(home.parent / ".claude")
    told = warning(session, 82)
    assert told == (
        "CONTEXT: ~82% used. Consider /holdfast:save before context exhaustion. That is of the 167k tokens "
        f"before the client compacts. Work was last saved just now: {newest(home).fields['id']}."
    )
    assert said(session, "UserPromptSubmit", prompt="go on") == ("", "")


@pytest.mark.parametrize("percent", [101, 114, 119])
def test_the_prompt_warning_is_capped(session, percent):
    assert warning(session, percent).startswith("CONTEXT: ~100% used. ")


@pytest.mark.parametrize(
    "place", ["nowhere", "a stranger's", "on the PATH", "in its environment", "in the project"]
)
def test_the_prompt_warning_names_a_command_that_exists(session, tmp_path, place):
    """Of the plugin: tests/client."""
    package = bundled(copy_package(tmp_path / "venv/lib/python3.11/site-packages"))
    path, expected = "/usr/bin:/bin", "/compact"
    if place == "a stranger's":
        path = f"{program(tmp_path / 'some where/bin')}:/usr/bin"
    elif place == "on the PATH":
        (linked := tmp_path / "some where/bin").mkdir(parents=True)
        (linked / "holdfast").symlink_to(program(tmp_path / "venv/bin") + "/holdfast")
        path, expected = f"{linked}:/usr/bin", "holdfast ss"
    elif place != "nowhere":
        expected = program(tmp_path / "venv/bin") + "/holdfast ss"
    if place == "in the project":
        commands(session.project / ".claude")
        expected = "/holdfast:save"
    told = warning(session, 82, package, PATH=path, CLAUDE_PROJECT_DIR=str(session.project))
    assert f"Consider {expected} before context exhaustion." in told


def again(session):
    """The next cycle."""
    session.compact()
    said(session, "SessionStart", source="compact")


def test_where_the_statusline_shows_every_level_the_person_is_told_only_of_80_percent_and_l4(session, home):
    statusline(home.parent / ".claude")
    for _ in range(2):
        told = [filled(session, percent)[0] for percent in (30, 61, 61, 71, 71, 83, 86, 89, 91, 92, 92, 93)]
        assert told == [""] * 12
        assert said(session, "UserPromptSubmit", prompt="go on")[0].startswith("CONTEXT: ~93% used.")
        told = [filled(session, percent)[0] for percent in (98, 98, 99)]
        assert [line.partition(":")[0] for line in told if line] == ["holdfast L4 Critical"]
        again(session)
    levels = [line["level"] for line in lines(home / "events.jsonl") if line["event"] == "CONTEXT_PRESSURE"]
    assert "L2 Advisory" in levels


def test_a_statusline_of_the_project_that_is_not_ours_hides_ours(session, home):
    statusline(home.parent / ".claude")
    statusline(session.project / ".claude", "date")
    assert filled(session, 62)[0]


def test_a_statusline_that_was_heard_of_is_there(session):
    """Settings may be given to the client on its command line."""
    run_hook({"session_id": "s1", "hook_event_name": "StatusLine"}, session.home)
    assert [filled(session, percent)[0] for percent in (62, 71, 86)] == [""] * 3


def test_a_killed_hook_does_not_make_the_next_say_it_twice(session, home):
    """What was told is on disk before it is said."""
    assert filled(session, 62)[0]
    assert 60 in state(home)["heard"]["guard"]["told"]
    assert said(session, "PostToolBatch") == ("", "")


def test_a_client_that_does_not_compact_has_its_model_told_once(session, tmp_path, home):
    settings = tmp_path / "project" / ".claude"
    settings.mkdir()
    (settings / "settings.json").write_text(json.dumps({"autoCompactEnabled": False}))
    said(session, "SessionStart", source="startup")
    heard = [filled(session, percent) for percent in (50, 86, 88, 95, 99)]
    advice = [model for _, model in heard if model]
    assert len(advice) == 1
    assert "does not compact by itself" in advice[0]
    assert sum("tokens before the end" in person for person, _ in heard) >= 2
    booked = [line for line in lines(home / "events.jsonl") if line["event"] == "injection.brief"]
    assert [line["why"] for line in booked] == ["advice"]


REFUSED = {"error": "unknown", "last_assistant_message": "API Error: 400 Prompt is too long"}


@pytest.mark.parametrize("then", ["", "Stop", "PostCompact"])
def test_a_session_that_ran_out_of_room_is_told_how_to_go_on(session, home, then):
    """Unless there is room again by then."""
    commands(home.parent / ".claude")
    session.turn(context=PERCENT * 99, times=2)
    assert said(session, "StopFailure", **REFUSED) == ("", "")
    saved = newest(home)
    assert saved.fields["reason"] == "the window is full"
    if then:
        said(session, then)
    told, model = said(session, "UserPromptSubmit", prompt="go on")
    expected = (
        f"To go on: /compact, or /clear, then /holdfast:load {saved.fields['id']}; a new session here"
    )
    assert (expected in told) is (not then)
    assert "To go on" not in model
    assert expected not in said(session, "UserPromptSubmit", prompt="go on")[0]


def test_decisions_made_under_pressure_say_so(session, home):
    session.transcript.answer(PERCENT * 50, text="We use flock instead of a pid file because of kill -9.")
    said(session, "Stop")
    session.turn(context=PERCENT * 88, times=2)
    said(session, "PostToolBatch")
    hasty = "I decided on SQLite rather than JSON files, because the tide queue has two writers."
    session.transcript.answer(PERCENT * 89, text=hasty)
    session.turn(context=PERCENT * 90)
    session.transcript.answer(PERCENT * 91, text="All gulls are counted.")
    run_hook(session.event("PreCompact"), home)
    found = newest(home).sections["Key Decisions"]
    assert [("SQLite" in item, "under_pressure)" in item) for item in found] == [
        (False, False),
        (True, True),
    ]
