"""What the plugin's mod reports and is answered, run as the mod runs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from hooks import (
    WRONG,
    Transcript,
    command,
    environ,
    event,
    heard,
    lines,
    notes,
    patient,
    run_hook,
    state,
    used,
)

HALF = {"HOLDFAST_COMPACTION_AT": "50"}


def payload(context: int = 0, window: int = 200_000, **more: object) -> dict:
    """It names no transcript: the mod is not told where that is."""
    data = {
        "session_id": "s1",
        "model": {"id": "claude-opus-4-6"},
        "interactive": True,
        "context_window": {
            "context_window_size": window,
            "current_usage": {"input_tokens": context} if context else None,
        },
    }
    return data | more


def answered(data: object, home: Path, how: str = "measured", **env: str) -> str:
    done = subprocess.run(
        [*command(package=patient()), how],
        input=json.dumps(data).encode(),
        env=environ(home, **env),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def session(home: Path) -> Transcript:
    """One that began small."""
    transcript = Transcript(home.parent / "t.jsonl")
    transcript.prompt("fix it")
    transcript.answer(30_000)
    run_hook(event("Stop", transcript=transcript.path), home)
    return transcript


def test_the_window_and_what_is_in_it_are_kept_for_the_hooks(home: Path) -> None:
    assert answered(payload(window=500_000), home) == ""
    saved = state(home)["heard"]
    assert (saved["window"], saved["window_of"], saved["model"]) == (500_000, *["claude-opus-4-6"] * 2)
    assert "told" not in saved, "before the first response nothing is in it"
    assert answered(payload(125_000, window=500_000), home) == ""
    assert used(home) == 125_000
    assert heard(home) == {"Measured": 2}


def test_the_transcript_is_read_on_and_has_the_last_word(home: Path, session: Transcript) -> None:
    """It knows the output, too."""
    session.answer(60_000, output=700)
    answered(payload(60_000), home)
    assert used(home) == 60_700
    answered(payload(61_000), home)  # not in the file yet
    assert used(home) == 61_000


def test_what_the_statusline_said_of_the_same_response_stands(home: Path) -> None:
    told = {"input_tokens": 60_000, "output_tokens": 700}
    said = payload(context_window={"context_window_size": 200_000, "current_usage": told})
    assert answered(said, home, how="statusline")
    answered(payload(60_000), home)
    assert used(home) == 60_700


def test_a_transcript_that_is_gone_stays_gone(home: Path, session: Transcript) -> None:
    """The report names none; that is no sign of its being back."""
    session.path.unlink()
    for _ in range(2):
        run_hook(event("Stop", transcript=session.path), home)
        answered(payload(61_000), home)
    assert [note["what"] for note in notes(home)] == ["the transcript is gone"]


def test_no_compaction_is_asked_for_unless_a_person_said_when(home: Path, session: Transcript) -> None:
    assert answered(payload(166_000), home) == ""
    assert answered(payload(166_000), home, HOLDFAST_COMPACTION_AT="0") == ""


def test_a_compaction_is_asked_for_where_it_was_wanted(home: Path, session: Transcript) -> None:
    assert answered(payload(83_000), home, **HALF) == ""  # of 167,000, where the client would
    assert answered(payload(84_000, interactive=False), home, **HALF) == ""
    assert answered(payload(84_000), home, **HALF) == '{"compact":true}'
    (asked,) = [note for note in lines(home / "events.jsonl") if note["event"] == "compaction.asked"]
    assert (asked["session"], asked["fill"], asked["threshold"]) == ("s1", 50.3, 50)


def test_it_is_asked_for_again_until_one_begins_and_then_in_the_next_cycle(
    home: Path, session: Transcript
) -> None:
    """A turn that had begun meanwhile was in the way; or a person has stopped it."""
    assert answered(payload(84_000), home, **HALF)
    assert answered(payload(85_000), home, **HALF)
    run_hook(event("PreCompact", transcript=session.path, trigger="manual"), home)
    assert answered(payload(86_000), home, **HALF) == ""
    run_hook(event("SessionStart", transcript=session.path, source="compact"), home)
    run_hook(event("PostCompact", transcript=session.path), home)
    assert answered(payload(), home, **HALF) == ""
    session.boundary(86_000, 9000)
    session.answer(31_000)
    assert answered(payload(31_000), home, **HALF) == ""
    session.answer(90_000)
    assert answered(payload(90_000), home, **HALF)


def test_a_threshold_that_is_none_is_said_and_counts_as_none(home: Path, session: Transcript) -> None:
    for wrong in ("half", "-1", "101", "50.5", "٥٠"):
        assert answered(payload(166_000), home, HOLDFAST_COMPACTION_AT=wrong) == ""
        assert state(home)["heard"]["trouble"].startswith("HOLDFAST_COMPACTION_AT is ")


@pytest.mark.parametrize("name", [*payload(), "context_window_size", "current_usage", "input_tokens"])
def test_whatever_it_is_given_it_ends_well(home: Path, session: Transcript, name: str) -> None:
    for wrong in WRONG:
        told = {"context_window_size": 200_000, "current_usage": {"input_tokens": 84_000}}
        if name in told:
            told[name] = wrong  # type: ignore[assignment]
        elif name == "input_tokens":
            told["current_usage"] = {"input_tokens": wrong}
        said = answered(payload(context_window=told) | ({name: wrong} if name in payload() else {}), home)
        assert said == ""
