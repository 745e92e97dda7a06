"""The line under the prompt, run as the client runs it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from holdfast.disk import sessions
from holdfast.disk.home import Home
from hooks import PACKAGE, PYTHON, command, environ, event, patient, run_silently, state
from session import Script, use

PLAIN = re.compile(r"\033\[\d*m")


def payload(path: Path, context: int = 0, window: int = 200_000, **more: object) -> bytes:
    told = {"input_tokens": 10, "cache_read_input_tokens": context - 10, "output_tokens": 50}
    data = {
        "session_id": "s1",
        "transcript_path": str(path),
        "model": {"id": "claude-opus-4-6", "display_name": "Opus"},
        "context_window": {"context_window_size": window, "current_usage": told if context else None},
    }
    return json.dumps(data | more).encode()


def shown(stdin: bytes, home: Path, package: Path | None = None, **env: str) -> str:
    done = subprocess.run(
        [*command(package=package or patient()), "statusline"],
        input=stdin,
        env=environ(home) | env,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode()


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    script = Script()
    for turn in range(6):
        script.answer(use(f"t{turn}", "Bash", command="ls"), context=100_000 + 5000 * turn)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    return path


def test_it_says_how_full_which_rung_how_far_and_how_many_turns(home: Path, transcript: Path) -> None:
    line = PLAIN.sub("", shown(payload(transcript, 125_000), home))
    assert line == "███████░░░ 75% · L1 Warning · 42.0k left · ~23 turns (12–37)"


def test_no_columns_are_as_good_as_unknown(home: Path, transcript: Path) -> None:
    assert shown(payload(transcript, 125_000), home, COLUMNS="0").count("·") == 3


@pytest.mark.parametrize("columns", [1, 5, 14, 30, 45, 60, 9999])
def test_it_stays_within_the_columns(home: Path, transcript: Path, columns: int) -> None:
    line = PLAIN.sub("", shown(payload(transcript, 125_000), home, COLUMNS=str(columns)))
    assert len(line) <= columns
    assert line or columns < 14
    assert line.startswith("███████░░░ 75%") is (columns >= 14)


def test_colour_follows_the_fill_and_can_be_turned_off(home: Path, transcript: Path) -> None:
    assert "\033[33m" in shown(payload(transcript, 125_000), home)
    assert "\033[31m" in shown(payload(transcript, 150_000), home)
    assert "\033" not in shown(payload(transcript, 150_000), home, NO_COLOR="1")


def test_a_window_that_is_full_says_how_to_go_on(home: Path, transcript: Path) -> None:
    run_silently(
        event("StopFailure", transcript=transcript, last_assistant_message="Prompt is too long"), home
    )
    line = PLAIN.sub("", shown(payload(transcript, 166_000), home))
    assert " · full: /compact, or /clear and /holdfast:load · " in line
    run_silently(event("Stop", transcript=transcript), home)
    assert "full:" not in shown(payload(transcript, 120_000), home)


def test_what_the_client_reports_is_kept_for_the_hooks(home: Path, transcript: Path) -> None:
    shown(payload(transcript, 125_000, window=500_000), home)
    saved = state(home)["heard"]
    assert (saved["window"], saved["model"]) == (500_000, "claude-opus-4-6")


def test_a_response_is_counted_before_the_transcript_holds_it(home: Path, transcript: Path) -> None:
    assert " 80%" in shown(payload(transcript, 133_000), home)
    script = Script()
    script.answer(context=30_000)
    with transcript.open("ab") as file:
        file.write(script.bytes())
    assert " 18%" in shown(payload(transcript), home)


def test_before_the_first_response_nothing_is_claimed(home: Path, tmp_path: Path) -> None:
    line = PLAIN.sub("", shown(payload(tmp_path / "none.jsonl"), home))
    assert line.startswith("░░░░░░░░░░ 0%")


def test_an_unreadable_transcript_is_marked(home: Path, tmp_path: Path) -> None:
    assert "! holdfast status" in shown(payload(tmp_path), home)


def test_a_transcript_that_is_still_being_read_is_nothing_to_look_into(home: Path, tmp_path: Path) -> None:
    run_silently(event("Notification"), home)
    known = sessions.peek(Home(str(home)), "s1")
    assert known
    known.behind = known.seen
    sessions.save(Home(str(home)), known)
    assert "!" not in shown(payload(tmp_path / "none.jsonl"), home)
    assert state(home)["behind"]


@pytest.mark.parametrize("columns", [1, 4, 5, *range(14, 90, 5)])
def test_that_something_is_amiss_is_seen_however_narrow_it_is(
    home: Path, transcript: Path, columns: int
) -> None:
    line = PLAIN.sub(
        "", shown(payload(transcript, 125_000), home, COLUMNS=str(columns), HOLDFAST_WINDOW="wide")
    )
    assert len(line) <= columns
    assert "!" in line
    assert line.startswith("███████░░░ 75% " if columns >= 16 else "75% !" if columns >= 5 else "!")


@pytest.mark.parametrize("stdin", [b"", b"{", b"[]", b'{"session_id": 7}', b'{"session_id": "s1"}'])
def test_whatever_it_is_given_it_ends_well(home: Path, stdin: bytes) -> None:
    shown(stdin, home)


def with_former(home: Path, command: str) -> None:
    home.mkdir()
    record = {"v": 1, "wirings": [{"statusline_before": {"type": "command", "command": command}}]}
    (home / "install.json").write_text(json.dumps(record))


def test_the_statusline_that_was_there_before_stands_above_ours(home: Path, transcript: Path) -> None:
    with_former(home, 'python3 -c \'import json,sys; print(json.load(sys.stdin)["model"]["id"])\'')
    first, second = PLAIN.sub("", shown(payload(transcript, 125_000), home)).split("\n")
    assert first == "claude-opus-4-6"
    assert second.startswith("███████░░░ 75%")


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("echo a; sleep 50 & wait", "a"),  # what came is shown
        ("echo b; exec >&-; sleep 50", "b"),
        ("yes | head -c 90000000", "y"),  # no more than anyone reads
    ],
)
def test_what_it_prints_is_shown_however_it_goes_on(
    home: Path, transcript: Path, command: str, first: str
) -> None:
    with_former(home, command)
    lines = PLAIN.sub("", shown(payload(transcript, 125_000), home)).split("\n")
    assert (lines[0], lines[-1][:14]) == (first, "███████░░░ 75%")
    assert len(lines) < 100_000


def test_a_payload_of_any_size_reaches_it_whole(home: Path, transcript: Path) -> None:
    with_former(home, "python3 -c 'import json,sys; print(len(json.load(sys.stdin)[\"extra\"]))'")
    assert shown(payload(transcript, 125_000, extra="x" * 200_000), home).startswith("200000\n")


def test_it_is_shown_even_when_ours_fails(home: Path, transcript: Path) -> None:
    with_former(home, "echo theirs")
    (home / "sessions").write_text("a file where the folder should be")
    assert shown(payload(transcript, 125_000), home) == "theirs"


def test_in_a_project_of_its_own_wiring_the_users_statusline_stays(home: Path, transcript: Path) -> None:
    home.mkdir()
    client = home / "client"
    client.mkdir()
    (client / "settings.json").write_text('{"statusLine": {"type": "command", "command": "echo MINE"}}')
    other = {"scope": "project", "settings": "/elsewhere/.claude/settings.json"}
    other["statusline_before"] = {"type": "command", "command": "echo OTHERS"}  # type: ignore[assignment]
    here = {"scope": "project", "settings": "/here/.claude/settings.json"}
    (home / "install.json").write_text(json.dumps({"v": 1, "wirings": [other, here]}))
    environ = {"CLAUDE_CONFIG_DIR": str(client), "CLAUDE_PROJECT_DIR": "/here"}
    assert shown(payload(transcript, 125_000), home, **environ).startswith("MINE\n")


@pytest.mark.parametrize("former", ["exit 3", "sleep 60", "/no/such/command 2>/dev/null", "kill -9 $$"])
def test_one_that_fails_or_hangs_does_not_take_ours_with_it(
    home: Path, transcript: Path, former: str
) -> None:
    with_former(home, former)
    assert "75%" in shown(payload(transcript, 125_000), home, PACKAGE)


def test_it_never_runs_itself(home: Path, transcript: Path) -> None:
    with_former(home, f"{PYTHON} -I -S {PACKAGE}/launch.py statusline")
    assert "\n" not in shown(payload(transcript, 125_000), home)
