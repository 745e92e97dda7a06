"""The command as a person runs it: a process of its own, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.ops.registry import everything
from session import Script, use

FIELDS = set(
    "used max percent capacity fill status action level source window_source until_compaction model".split()
)


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environ,
    )


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    script = Script()
    script.prompt("add rate limiting")
    script.answer(use("t1", "Bash", command="pytest -q"), context=120_000, output=400)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    return path


def test_usage_as_json_has_every_field_of_the_contract(transcript: Path) -> None:
    done = run("usage", "--transcript", str(transcript), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    usage = json.loads(done.stdout)
    assert set(usage) >= FIELDS
    assert (usage["used"], usage["max"], usage["percent"]) == (120_400, 200_000, 60.2)
    assert (usage["capacity"], usage["fill"], usage["until_compaction"]) == (167_000, 72.1, 46_600)
    assert (usage["status"], usage["level"], usage["source"]) == ("warning", "L1 warning", "usage")
    assert usage["action"] == {"type": "none"}


def test_usage_for_people_says_how_full_and_how_it_knows(transcript: Path) -> None:
    done = run("usage", "--transcript", str(transcript))
    assert done.returncode == 0
    for words in (
        "120,400 of 200,000 tokens (60.2 %)",
        "46,600 tokens until compaction",
        "API's own count",
    ):
        assert words in done.stdout


@pytest.mark.parametrize("words", [["usage", "--help"], ["--help"], ["sessions", "--help"]])
def test_help_is_made_from_the_registry(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 0
    assert "--json" in done.stdout or all(o.name in done.stdout for o in everything())


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["usage", "--transcript", "/no/such.jsonl"], 3, "does not exist"),
        (["usage", "--transcript", "/"], 2, "is a directory"),
        (["usage", "--transcript", "/dev/null"], 2, "not a regular file"),
        (["usage", "--session", "../../etc"], 2, "cannot be a session"),
        (["usage", "--session", "nobody"], 3, "no session 'nobody' is known"),
        (["usage", "--session", "a", "--transcript", "b"], 2, "not both"),
        (["usage"], 3, "no sessions yet"),
        (["usage", "--wat"], 2, "--wat"),
        (["sesions"], 2, 'Did you mean "sessions"'),
        (["sessions", "--limit", "-3"], 2, "--limit"),
        (["sessions", "--limit", "many"], 2, "many"),
    ],
)
def test_bad_input_is_one_sentence_that_says_what_to_do(words: list[str], code: int, says: str) -> None:
    done = run(*words)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.startswith("holdfast: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_file_of_another_program_and_one_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"level": "info", "msg": "listening"}\n' * 20)
    done = run("usage", "--transcript", str(other))
    assert (done.returncode, "is not a transcript of Claude Code" in done.stderr) == (2, True)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert run("usage", "--transcript", str(fifo)).returncode == 2


def test_a_wrong_window_in_the_environment_is_named(transcript: Path) -> None:
    done = run("usage", "--transcript", str(transcript), HOLDFAST_WINDOW="lots")
    assert (done.returncode, "HOLDFAST_WINDOW is 'lots'" in done.stderr) == (2, True)
    done = run("usage", "--transcript", str(transcript), "--json", HOLDFAST_WINDOW="150000")
    assert json.loads(done.stdout)["max"] == 150_000


def test_only_the_operation_asked_for_is_imported() -> None:
    code = (
        "import sys; from holdfast.cli.main import main; main(['status', '--json']);"
        "print([m for m in sys.modules if m.startswith('holdfast.ops.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "holdfast.ops.upkeep" in done.stderr
    assert "holdfast.ops.context" not in done.stderr


def test_without_its_extra_the_command_line_says_which_to_install() -> None:
    code = (
        "import sys; sys.modules['cyclopts'] = None; from holdfast.cli.main import main; sys.exit(main([]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "pip install 'holdfast[cli]'" in done.stderr
