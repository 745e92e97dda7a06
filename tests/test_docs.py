"""The pages say what is so."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from holdfast.core.config import KEYS, expected, written
from holdfast.disk import spool
from holdfast.ops import configtext
from holdfast.ops.registry import ALWAYS_LOADED
from hooks import environ, run_hook
from repository import PLAIN, Repository, saved, spooled
from session import Script, text, use

REPO = Path(__file__).resolve().parent.parent
ARCHITECTURE = (REPO / "docs/architecture.md").read_text()
FORMATS = (REPO / "docs/formats.md").read_text()
README = (REPO / "README.md").read_text()


def modules() -> set[str]:
    package = REPO / "src/holdfast"
    names = {".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("*.py")}
    return {name for name in names if not name.endswith("__init__") and name != "__main__"}


def test_every_module_has_its_line_in_the_table_of_rooms_and_no_other_does() -> None:
    table = ARCHITECTURE.partition("## The rooms")[2].partition("\n## ")[0]
    named = {
        name
        for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
        for name in re.findall(r"`([\w.]+)`", row)
    }
    assert named == modules()


def test_every_function_the_walk_names_exists() -> None:
    walk = ARCHITECTURE.partition("## One event")[2].partition("\n## ")[0]
    homes = {
        name.rpartition(".")[2]: name
        for name in modules()
        if not name.startswith(("ops.", "cli.", "serve."))
    }
    named = re.findall(r"\b(\w+)\.(\w+)\b", walk)
    steps = [
        (home, function)
        for home, function in named
        if home in homes and function not in ("py", "jsonl", "json", "yaml")
    ]
    assert len(steps) >= 15
    for home, function in steps:
        assert hasattr(importlib.import_module(f"holdfast.{homes[home]}"), function), f"{home}.{function}"


def described(heading: str) -> set[str]:
    section = re.split(r"\n##+ ", FORMATS.partition(heading)[2])[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which much has happened."""
    script = Script()
    script.prompt("go")
    script.answer(
        text("now"),
        use("t1", "Bash", command="pytest"),
        use("t2", "Edit", file_path="/a"),
        use("t3", "Agent", prompt="x"),
        use("t4", "ExitPlanMode", plan="p"),
        use("t5", "TodoWrite", todos=[{"status": "pending"}]),
        use("t6", "TaskUpdate", taskId="1", status="completed"),
        use("t7", "Read", file_path="/b"),
        {"type": "thinking", "thinking": "hm" * 900},
    )
    script.result("t1", "Exit code 1", is_error=True)
    script.result("t2", "ok", {"structuredPatch": []})
    script.result("t3", "ok", {"agentId": "a1", "status": "completed"})
    script.result("t4", "User rejected tool use", is_error=True)
    script.line("system", subtype="microcompact_boundary", microcompactMetadata={"tokensSaved": 100})
    parent = script.leaf
    script.prompt("one")
    script.answer()
    script.leaf = parent
    script.prompt("instead")
    script.boundary()
    script.line("attachment", attachment={"type": "file", "content": "x"})
    script.answer(text("on"), use("t8", "Bash", command="ls"), context=44_000)
    script.result("t8")
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes())
    home = tmp_path / "home"
    for event in (
        {"hook_event_name": "SessionStart", "source": "compact", "model": "m"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "more"},
        {
            "hook_event_name": "PostToolBatch",
            "tool_calls": [
                {"tool_name": "Read", "tool_use_id": "z", "tool_response": "abc"},
                {"tool_name": "Bash", "tool_use_id": "y", "tool_response": "Exit code 1\nno"},
            ],
        },
        {"hook_event_name": "TaskCreated", "task_id": "1"},
        {"hook_event_name": "Stop"},
        {"hook_event_name": "PostToolBatch", "agent_id": "a1", "tool_calls": [{"tool_name": "Agent"}]},
        {"hook_event_name": "SessionEnd", "reason": "other"},
        {"hook_event_name": "Status", "context_window": {"context_window_size": 200_000}},
    ):
        run_hook({"session_id": "s1", "transcript_path": str(path), "cwd": "/nowhere/w", **event}, home)
    (home / "sessions/s1/agents/a1/state.json").write_text("{}")
    run_hook({"session_id": "s1", "agent_id": "a1", "hook_event_name": "Stop"}, home)
    run_hook(b"[]", home)
    return home


def test_every_key_that_is_written_is_described(home: Path) -> None:
    state = json.loads((home / "sessions/s1/state.json").read_bytes())
    assert set(state) <= described("## state.json, version 1")
    assert set(state["seen"]) <= described("### seen")
    assert set(state["seen"]["meter"]) <= described("### meter")
    assert set(state["heard"]) <= described("### heard")
    assert len(state["seen"]) > 30  # the fixture does stir up most of it
    samples = (home / "sessions/s1/samples.jsonl").read_text().splitlines()
    page = FORMATS.partition("## samples.jsonl")[2].partition("\n## ")[0]
    assert all(f"`{key}`" in page for line in samples for key in json.loads(line))


def test_every_event_of_the_trail_is_described(home: Path) -> None:
    page = FORMATS.partition("## events.jsonl")[2]
    notes = [json.loads(line) for line in (home / "events.jsonl").read_text().splitlines()]
    assert {note["event"] for note in notes} == {
        "checkpoint.taken",
        "degraded.hook",
        "degraded.state",
        "injection.brief",
    }
    for note in notes:
        assert f"`{note['event']}`" in page
        assert all(f"`{key}`" in page for key in note)


def test_every_file_that_is_written_is_described(home: Path) -> None:
    table = FORMATS.partition("\n## ")[0]
    for path in home.rglob("*"):
        if path.is_file():
            name = re.sub(r"damaged-.*", "damaged-<time>", path.name)
            name = re.sub(r"^\d{4}-\d\d-\d\d-\d{6}(-\d{3})?", "<name>", name)
            name = re.sub(r"^[0-9a-f]{16}\.json", "<lineage>.json", name)
            assert f"{name}`" in table or f"{name}" in ("lock", "state.json", "samples.jsonl"), path


def test_what_the_formats_page_describes_is_written_by_the_code() -> None:
    from holdfast.core import heard, meter, seen

    assert described("### seen") == {*seen._SAVED, "meter"}
    assert described("### meter") == {*meter.FIELDS, "message", "model", "tail", "curve"}
    assert described("### heard") == set(heard._SAVED)


def test_every_key_of_a_summary_is_described() -> None:
    from holdfast.disk import summaries

    assert described("## A summary, version 1") == set(summaries.FIELDS)


def test_every_key_of_the_configuration_is_listed_as_it_is() -> None:
    page = (REPO / "docs/configuration.md").read_text().partition("## Every key")[2]
    listed = [line for line in page.splitlines() if line.startswith("| `")]
    assert listed == [
        f"| `{key}` | {written(default)} | {expected(key)} | {what} |" for key, default, _, what in KEYS
    ]


def test_the_example_of_the_configuration_is_right() -> None:
    example = (
        (REPO / "docs/configuration.md").read_text().partition("dotfiles:\n\n")[2].partition("\n\n")[0]
    )
    made = configtext.read(textwrap.dedent(example))
    assert made.problems == []
    assert len(made.values) == 4


def test_the_readme_shows_what_the_command_really_prints() -> None:
    command = [sys.executable, "-m", "holdfast", "usage", "--transcript", "examples/session.jsonl"]
    shown = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    for line in shown.splitlines():
        assert line.rstrip() in README


def test_the_readme_is_short_and_its_scripts_exist() -> None:
    assert len(README.splitlines()) < 120
    for script in re.findall(r"scripts/\w+|bench/\w+\.py|docs/[\w./-]+\.md", README):
        assert (REPO / script).exists(), script


def test_every_command_of_the_benchmarks_page_exists() -> None:
    page = (REPO / "docs/benchmarks.md").read_text()
    commands = re.findall(r"python (bench/\w+\.py)(.*)", page)
    assert len(commands) >= 4
    for script, flags in commands:
        done = subprocess.run(
            [sys.executable, script, "--help"], cwd=REPO, capture_output=True, text=True, check=True
        )
        for flag in re.findall(r"--[\w-]+", flags):
            assert flag in done.stdout, (script, flag)


def test_the_sessions_page_shows_what_the_commands_really_print(tmp_path: Path) -> None:
    page = (REPO / "docs/sessions.md").read_text()
    shown = "\n".join(line[4:] for line in page.splitlines() if line.startswith("    "))
    programs = tmp_path / "bin"  # a reader has holdfast on the PATH
    programs.mkdir()
    (programs / "holdfast").symlink_to(Path(sys.executable).parent / "holdfast")
    path = f"{programs}:{os.defpath}"
    environ = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home"), "PATH": path}
    commands = re.findall(r"^\$ holdfast (.*)\n((?:(?!\$ ).*\n?)*)", shown, re.MULTILINE)
    assert len(commands) >= 10
    for words, output in commands:
        command = [sys.executable, "-m", "holdfast", *shlex.split(words)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=60
        )
        printed = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
        pattern = ".*".join(re.escape(part) for part in output.rstrip("\n").split("…"))
        assert re.fullmatch(pattern, printed.rstrip("\n")), (words, printed)


def test_the_commands_of_the_breakpoints_page_work(tmp_path: Path) -> None:
    """As they stand there, in a repository of their own."""
    page = (REPO / "docs/breakpoints.md").read_text()
    repository = Repository(tmp_path / "project", tmp_path / "home", hooked=False)
    (repository.root / "build").mkdir()
    (repository.root / "build/junit.xml").write_text("<testsuite><testcase/></testsuite>")
    commands = re.findall(r"^ +holdfast (.+?)(?: +#.*)?$", page, re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *shlex.split(command)],
            cwd=repository.root,
            env=environ(tmp_path / "home", **PLAIN),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
    assert {save["source"] for save in saved(tmp_path / "home", "ci")} == {"test-result", "git-commit"}
    assert len(saved(tmp_path / "home")) == 1


def test_every_key_of_a_breakpoint_is_described(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project", tmp_path / "home")
    repository.commit()
    page = FORMATS.partition("## A breakpoint, version 1")[2].partition("\n## ")[0]
    (entry,) = spooled(tmp_path / "home")
    keys = {*entry, *spool._SHAPES[spool.TESTS]} - {"kind"}
    assert all(f"`{key}`" in page for key in keys)


def test_the_page_of_the_server_shows_what_the_commands_really_print(tmp_path: Path) -> None:
    page = (REPO / "docs/mcp.md").read_text()
    shown = "\n".join(line[4:] for line in page.splitlines() if line.startswith("    "))
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ |claude ).*\n?)*)", shown, re.MULTILINE)
    assert len(commands) == 2
    alone = {"HOME": str(tmp_path), "PATH": os.defpath}
    for line, output in commands:
        command = line.replace("holdfast ", f"{shlex.quote(sys.executable)} -m holdfast ")
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True
        )
        pattern = ".*".join(re.escape(part) for part in output.strip().split("…"))
        assert re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), (line, done.stdout)


def test_the_page_of_the_server_names_the_tools_that_are_always_loaded() -> None:
    page = (REPO / "docs/mcp.md").read_text()
    (named,) = re.findall(r"always before the model: ([^.]*)\.", page)
    assert re.findall(r"`(\w+)`", named) == sorted(name.replace(".", "_") for name in ALWAYS_LOADED)


def test_the_mission_page_names_code_and_tests_that_exist() -> None:
    page = (REPO / "docs/mission.md").read_text()
    rows, _, requirements = page.partition("## Requirements")
    assert re.findall(r"^\| (\d+) \|", rows, re.MULTILINE) == [str(number) for number in range(1, 48)]
    assert re.findall(r"^\| (\d+) \|", requirements, re.MULTILINE) == [str(n) for n in range(1, 114)]
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page):
        assert f"def {test}(" in (REPO / file).read_text(), (file, test)
    for row in re.findall(r"^\| \d+ \| [^|]+ \| ([^|]+) \| [^|]+ \|$", rows, re.MULTILINE):
        for place in re.findall(r"`([\w/.]+)`", row):
            assert (REPO / "src/holdfast" / place).exists() or (REPO / place).exists(), place
