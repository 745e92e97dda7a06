"""What hooks say of a window that fills up, and what they leave in the trail and the checkpoints."""

import json

import pytest

from hooks import lines, run_hook, state
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


def test_the_prompt_warning_is_in_its_own_words(session):
    session.turn(context=PERCENT * 82)
    told, _ = said(session, "UserPromptSubmit", prompt="go on")
    assert "CONTEXT: ~82% used. Consider /holdfast:save before context exhaustion." in told.split("\n")
    assert said(session, "UserPromptSubmit", prompt="go on") == ("", "")


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
