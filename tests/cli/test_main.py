"""The command as a person runs it: a process of its own, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.extras import extra_command
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
    assert (usage["status"], usage["level"], usage["source"]) == ("warning", "L1 Warning", "usage")
    assert usage["action"] == {"type": "none"}


def test_a_folder_that_was_removed_is_named_as_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    line = f"rmdir '{folder}'; exec '{sys.executable}' -m holdfast install --dry-run"
    environ = os.environ | {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "holdfast: this folder is gone, or closed to you; cd to another\n"


def test_usage_for_people_says_how_full_and_how_it_knows(transcript: Path) -> None:
    done = run("usage", "--transcript", str(transcript))
    assert done.returncode == 0
    for words in (
        "120,400 of 200,000 tokens (60.2 %)",
        "46,600 tokens until compaction",
        "API's own count",
    ):
        assert words in done.stdout


def test_a_scan_counts_tokens_by_session_and_model(transcript: Path) -> None:
    agents = transcript.parent / "s1/subagents"
    agents.mkdir(parents=True)
    told = Script("agent", model="claude-haiku-4-5")
    told.answer(context=9_000, output=70)
    (agents / "agent-1.jsonl").write_bytes(told.bytes())
    (transcript.parent / "empty.jsonl").write_bytes(b"")
    shown = run("sessions", "--scan", str(transcript.parent))
    assert (shown.returncode, shown.stderr) == (0, "")
    folder, *lines = shown.stdout.splitlines()
    assert folder == str(transcript.parent)
    assert [line.split() for line in lines] == [
        "session responses input cache read cache written output models last".split(),
        "s1 2 20 128,980 0 470 opus-4-6, haiku-4-5 now".split(),
        [],
        "1 10 8,990 0 70 haiku-4-5".split(),
        "1 10 119,990 0 400 opus-4-6".split(),
        "all, in 3 files 2 20 128,980 0 470".split(),
    ]
    assert len({line.index(" 470") for line in lines if " 470" in line}) == 1
    done = run("sessions", "--scan", str(transcript.parent), "--json")
    said = json.loads(done.stdout)
    opus = {"responses": 1, "input": 10, "cache_read": 119_990, "cache_creation": 0, "output": 400}
    haiku = {"responses": 1, "input": 10, "cache_read": 8_990, "cache_creation": 0, "output": 70}
    both = {name: opus[name] + haiku[name] for name in opus}
    assert said["models"] == {"claude-opus-4-6": opus, "claude-haiku-4-5": haiku}
    assert (said["tokens"], said["files"], said["read"], said["problems"]) == (both, 3, 0, [])
    (session,) = said["sessions"]
    assert (session["session"], session["tokens"]) == ("s1", both)
    assert session["files"] == {"s1.jsonl": opus, "s1/subagents/agent-1.jsonl": haiku}


def test_a_scan_is_of_the_clients_own_folder_unless_told_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "projects/-home-mira"
    folder.mkdir(parents=True)
    for number in range(3):
        script = Script(f"s{number}")
        script.answer(output=5)
        (folder / f"s{number}.jsonl").write_bytes(script.bytes())
        os.utime(folder / f"s{number}.jsonl", (number, number))
    done = run("sessions", "--scan", "--limit", "2", "--json", CLAUDE_CONFIG_DIR=str(tmp_path))
    said = json.loads(done.stdout)
    assert [(one["session"], one["project"], one["last"]) for one in said["sessions"]] == [
        ("s2", "-home-mira", "1970-01-01T00:00:02.000Z"),
        ("s1", "-home-mira", "1970-01-01T00:00:01.000Z"),
    ]
    assert said["tokens"]["responses"] == 3


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_every_operation_on_a_line_of_its_own(words: list[str]) -> None:
    done = run(*words, COLUMNS="100")
    assert (done.returncode, done.stderr) == (0, "")
    listed = [line for line in done.stdout.splitlines() if line.startswith("  ")]
    names = [operation.name.replace(".", " ") for operation in everything()]
    width = max(map(len, names)) + 2
    assert sorted(line[2 : 2 + width].rstrip() for line in listed) == sorted(names)
    assert all(line[2 + width :].strip() for line in listed)
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_help_of_a_group_lists_what_is_in_it() -> None:
    shown = [run("checkpoint"), run("checkpoint", "--help"), run("--help", "checkpoint")]
    assert len({(done.returncode, done.stdout, done.stderr) for done in shown}) == 1
    assert shown[0].stdout.startswith("usage: holdfast checkpoint COMMAND")
    assert "  checkpoint take  " in shown[0].stdout
    assert "usage  " not in shown[0].stdout


def test_help_of_an_operation_says_all_it_takes() -> None:
    done = run("sessions", "--help", COLUMNS="120")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "usage: holdfast sessions [FOLDER] [OPTIONS]\n\nEvery session of this user"
    )
    for words in (
        "  FOLDER, --folder    Scan the transcripts below this folder instead of the client's own.\n",
        "  --limit LIMIT       How many to show; 0 for all. A scan counts all of them. (default: 20)\n",
        "  --json              Print the value as JSON.\n",
        "  --config KEY=VALUE  Set",
    ):
        assert words in done.stdout
    assert run("--help", "sessions", COLUMNS="120").stdout == done.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"{__version__}\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["usage", "--transcript", "/no/such.jsonl"], 3, "does not exist"),
        (["usage", "--transcript", ""], 3, "does not exist"),
        (["usage", "--transcript", "/"], 2, "is a directory"),
        (["usage", "--transcript", "/dev/null"], 2, "not a regular file"),
        (["usage", "--session", "../../etc"], 2, "cannot be a session"),
        (["usage", "--session", "nobody"], 3, "no session 'nobody' is known"),
        (["usage", "--session", "a", "--transcript", "b"], 2, "not both"),
        (["sessions", "--scan", "/no/such"], 3, "/no/such is not a folder"),
        (["sessions", "/tmp"], 2, "holdfast sessions --scan /tmp"),
        (["usage"], 3, "no sessions yet"),
        (["usage", "--wat"], 2, 'Unknown option "--wat". See `holdfast usage --help`.'),
        (["sesions"], 2, 'Unknown command "sesions". Did you mean "sessions"? See `holdfast --help`.'),
        (
            ["checkpoint", "lst"],
            2,
            'Unknown command "lst". Did you mean "list"? See `holdfast checkpoint --help`.',
        ),
        (["checkpoint", "--json"], 2, 'Unknown command "--json"'),
        (["checkpoint.list"], 2, 'Unknown command "checkpoint.list"'),
        ([""], 2, 'Unknown command ""'),
        (["checkpoint", "diff"], 2, "OLD is missing. See `holdfast checkpoint diff --help`."),
        (["verify", "a", "b"], 2, "'b' is one too many. See `holdfast verify --help`."),
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


@pytest.mark.parametrize("words", [["board", "list", "--project"], ["batch", "plan"]])
def test_however_long_or_odd_the_input_what_is_said_of_it_can_be_read(words: list[str]) -> None:
    done = run(*words, "\x1b[31m" + 100_000 * "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr) < 5_000
    assert "\x1b" not in done.stderr
    assert done.stderr.startswith("holdfast: ")
    assert "; " in done.stderr[-100:]  # what to do


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


@pytest.mark.parametrize("cwd", ["/app/[slug]/x", "/[/b]/x", "/[red]"])
def test_a_folder_may_have_any_name(tmp_path: Path, cwd: str) -> None:
    folder = tmp_path / "projects/p"
    folder.mkdir(parents=True)
    script = Script()
    script.line("user", message={"content": "x"}, cwd=cwd)
    script.answer(context=50_000)
    script.lines = [line.replace(b"/home/mira/tidegate", cwd.encode()) for line in script.lines]
    (folder / "s1.jsonl").write_bytes(script.bytes())
    done = run("sessions", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert (done.returncode, cwd in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "foo", "CLAUDE_CONFIG_DIR": ""},
        {"HOME": "", "CLAUDE_CONFIG_DIR": ""},
        {"HOLDFAST_HOME": "/dev/null"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
@pytest.mark.parametrize("words", [["status"], ["sessions"], ["usage", "--session", "s1"]])
def test_an_odd_environment_is_answered_in_a_sentence(words: list[str], environ: dict[str, str]) -> None:
    done = run(*words, **environ)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 3)


def test_files_that_cannot_be_read_are_named_by_status(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "sessions").mkdir(parents=True)
    (home / "sessions/stray").write_text("not a folder")
    done = run("status", HOLDFAST_HOME=str(home))
    assert (done.returncode, done.stderr) == (0, "")
    assert "sessions/stray" in done.stdout


def test_a_damaged_state_does_not_hide_the_transcript(transcript: Path, tmp_path: Path) -> None:
    folder = tmp_path / "home/sessions/s1"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text("{}")
    projects = tmp_path / "projects/p"
    projects.mkdir(parents=True)
    (projects / "s1.jsonl").write_bytes(transcript.read_bytes())
    environ = {"HOLDFAST_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    for words in (["--session", "s1"], [], ["--transcript", str(transcript)]):
        done = run("usage", *words, "--json", **environ)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["used"] == 120_400


def test_a_subagents_own_transcript_can_be_measured(tmp_path: Path) -> None:
    script = Script()
    script.answer(context=33_000)
    own = {"isSidechain": True, "agentId": "a7"}
    path = tmp_path / "agent-a7.jsonl"
    path.write_bytes(b"".join(json.dumps(json.loads(line) | own).encode() + b"\n" for line in script.lines))
    done = run("usage", "--transcript", str(path), "--json")
    assert json.loads(done.stdout)["context"] == 33_000


def loaded(words: list[str], **environ: str) -> set[str]:
    code = (
        f"import sys; from holdfast.cli.main import main; main({words});"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environ
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["status", "--json"], ["status"]])
def test_only_the_operation_asked_for_is_imported(words: list[str]) -> None:
    modules = loaded(words)
    assert "holdfast.ops.upkeep" in modules
    assert {"holdfast.ops.context", "holdfast.ops.checkpoints"}.isdisjoint(modules)
    assert ("rich" in modules) == (words == ["status"])


def test_a_scan_with_nothing_new_loads_no_library_that_it_can_do_without(transcript: Path) -> None:
    """Each of them costs as much as looking at hundreds of files."""
    words = ["sessions", "--scan", str(transcript.parent)]
    run(*words)
    dear = {"inspect", "dataclasses", "typing", "pathlib", "msgspec", "shutil", "rich", "ruamel"}
    assert dear.isdisjoint(loaded(words) | loaded([*words, "--json"]))
    plain = {"CLAUDE_CONFIG_DIR": str(transcript.parent), "HOLDFAST_HOME": str(transcript.parent / "home")}
    assert "argparse" not in loaded(["sessions", "--scan"], **plain) | loaded(["status", "--json"], **plain)


@pytest.mark.parametrize(
    ("missing", "words", "returned"),
    [
        ("rich", ["status"], 6),
        ("rich", ["status", "--json"], 0),
        ("rich", ["--help"], 0),
        ("ruamel", ["--help"], 6),
        ("msgspec", ["replay", "/dev/null"], 6),
    ],
)
def test_without_its_extra_the_command_line_says_which_to_install(
    missing: str, words: list[str], returned: int
) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from holdfast.cli.main import main; "
        f"sys.exit(main({words}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == returned
    assert (extra_command("cli") in done.stderr) == (returned == 6)
    assert "Traceback" not in done.stderr
