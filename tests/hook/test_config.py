"""What hooks make of config.yaml: read as it was compiled, and compiled by others when it has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.core.config import variable
from holdfast.disk import compiled
from holdfast.disk.compiled import Compiled
from holdfast.disk.home import Home
from holdfast.ops import config
from holdfast.ops.configfile import render
from hooks import (
    SAFETY_S,
    command,
    encode,
    environ,
    event,
    files_under,
    heard,
    notes,
    patient,
    run_silently,
    start_hook,
    state,
)
from taken import documents, reasons
from told import RULE, Work, day, git, repository


def compile_(home: Path) -> None:
    config.compile_now(Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)}))


def until(is_so: Callable[[], object]) -> None:
    """What is done by somebody else is waited for."""
    end = time.monotonic() + SAFETY_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_compiled(home: Path) -> bool:
    return not compiled.current(Home(str(home))).is_stale


@pytest.fixture
def file(home: Path) -> Path:
    home.mkdir(mode=0o700)
    return home / "config.yaml"


@pytest.fixture
def log(home: Path, file: Path) -> Path:
    """Who compiles writes down how it was called, and does not compile."""
    file.write_text("window: 150000\n")
    program = home.parent / "python"
    log = home.parent / "log"
    program.write_text(
        f'#!/bin/sh\n(echo "$@"; pwd; env; readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; '
        f'ps -o sid= -p $$; echo .) >>"{log}"\n'
    )
    program.chmod(0o700)
    (home / "config.json").write_bytes(render(Compiled({"window": 120_000}, by=str(program))))
    return log


def calls(log: Path) -> int:
    return log.read_text().split("\n").count(".") if log.exists() else 0


# A change


def test_a_running_session_takes_up_a_change_with_its_next_hooks(home, file, transcript):
    """50,000 tokens of a capacity of 167,000 are 30 %."""
    file.write_text("ladder:\n  checkpoint: 40\ncheckpoints: {first_turns: 50, every_turns: 50}\n")
    compile_(home)
    payload = event("PostToolBatch", transcript=transcript.path)
    run_silently(payload, home)
    assert not state(home)["heard"].get("saved")
    file.write_text("ladder:\n  checkpoint: 25\ncheckpoints: {first_turns: 50, every_turns: 50}\n")
    run_silently(payload, home)  # goes by what it said before, and has it compiled
    assert not state(home)["heard"].get("saved")
    until(lambda: is_compiled(home))
    run_silently(payload, home)
    assert reasons(home) == ["proactive checkpoint"]
    assert notes(home) == []


def test_a_file_that_is_new_is_taken_up_too(home, file, transcript):
    """Where nothing was compiled before, with the interpreter that `install` left word of."""
    compile_(home)
    file.write_text("window: 150000\n")
    run_silently(event("Stop", transcript=transcript.path), home)
    until(lambda: is_compiled(home))
    assert compiled.current(Home(str(home))).values == {"window": 150_000}
    assert compiled.current(Home(str(home))).by == sys.executable


def test_each_change_is_compiled_once_however_many_hooks_see_it(home, log, file):
    hooks = [start_hook(event("Stop", session=f"s{number}"), home) for number in range(6)]
    assert [hook.wait(SAFETY_S) for hook in hooks] == [0] * 6
    run_silently(event("Stop"), home)
    until(lambda: calls(log))
    run_silently(event("Stop"), home)
    assert calls(log) == 1
    file.write_text("window: 160000\n")
    run_silently(event("Stop"), home)
    until(lambda: calls(log) == 2)
    run_silently(event("Stop"), home)
    assert calls(log) == 2


def test_whoever_compiles_is_on_its_own(home, log, tmp_path):
    """Not in the hook's session, not on its pipes, and with nothing of the project on its path."""
    run_silently(event("Stop"), home, env={"PYTHONPATH": "/p", "PYTHONHOME": "/q", "KEPT": "yes"})
    until(lambda: calls(log))
    said = log.read_text().split("\n")
    assert said[0] == "-P -m holdfast config compile"
    assert f"HOLDFAST_HOME={home}" in said
    assert "KEPT=yes" in said
    assert not [line for line in said if line.startswith("PYTHON")]
    assert said[-6:-3] == ["/dev/null"] * 3
    assert int(said[-3]) != os.getsid(0)


def test_nobody_waits_for_whoever_compiles(home, log):
    (home.parent / "python").write_text("#!/bin/sh\necho $$ >pid.new && mv pid.new pid\nexec sleep 60\n")
    run_silently(event("Stop"), home, children=False)  # ends, and its output too
    pid = home.parent / "pid"
    until(pid.exists)
    os.kill(int(pid.read_text()), 0)  # it is still there
    os.kill(int(pid.read_text()), 9)


@pytest.mark.parametrize("by", ["/no/such/python", "/", ""])
def test_where_nobody_can_compile_the_session_goes_on(home, file, by):
    file.write_text("window: 150000\n")
    (home / "config.json").write_bytes(render(Compiled({"window": 120_000}, by=by)))
    for _ in range(2):
        run_silently(event("Stop"), home)
    assert heard(home) == {"Stop": 2}
    assert notes(home) == []


def test_a_change_that_is_not_compiled_is_said_and_asked_for_again(home, log):
    run_silently(event("Stop"), home)
    until(lambda: calls(log) == 1)
    lock = home / "config.lock"
    for minutes, asked in ((2, 1), (11, 2)):
        past = time.time() - 60 * minutes
        os.utime(lock, (past, past))
        run_silently(event("Stop"), home)
        until(lambda asked=asked: calls(log) == asked)
    assert [note["event"] for note in notes(home)] == ["degraded.session"]
    assert "has changed and could not be compiled" in notes(home)[0]["what"]
    compile_(home)
    run_silently(event("Stop"), home)
    assert [note["what"] for note in notes(home)[1:]] == [""]


def test_nothing_of_the_project_is_run(home, file, project_with_a_trap, tmp_path):
    """Whoever compiles starts in the folder the agent works in, which may be a stranger's."""
    compile_(home)
    file.write_text("window: 150000\n")
    env = {"PYTHONPATH": str(project_with_a_trap)}
    run_silently(event("Stop"), home, cwd=project_with_a_trap, env=env)
    until(lambda: is_compiled(home))
    assert not (tmp_path / "trapped").exists()


@pytest.fixture
def project_with_a_trap(tmp_path):
    project = tmp_path / "cloned"
    for name in ("holdfast/__init__.py", "holdfast/__main__.py", "ruamel/yaml/__init__.py", "argparse.py"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'trapped')!r}, 'w').close()\n")
    return project


# A file that is wrong, or none


def test_a_wrong_file_keeps_what_it_said_and_is_said_until_it_is_mended(home, file, transcript):
    file.write_text("window: 150000\n")
    compile_(home)
    payload = event("Stop", transcript=transcript.path)
    file.write_text("windo: 120000\n")
    run_silently(payload, home)
    until(lambda: is_compiled(home))
    run_silently(payload, home)
    run_silently(payload, home)
    wrong = (
        f"{file}, line 1: there is no key `windo`; did you mean `window`? (what it said before still holds)"
    )
    assert [(note["event"], note["what"]) for note in notes(home)] == [
        ("degraded.config", wrong),
        ("degraded.session", wrong),
    ]
    sample = (home / "sessions/s1/samples.jsonl").read_text().splitlines()[-1]
    assert json.loads(sample)["window"] == 150_000
    file.write_text("window: 120000\n")
    run_silently(payload, home)
    until(lambda: is_compiled(home))
    run_silently(payload, home)
    assert [note["what"] for note in notes(home)[2:]] == ["", ""]


def test_where_there_is_no_file_nothing_is_made(home):
    run_silently(event("Stop"), home)
    assert not [name for name in files_under(home) if name.startswith("config")]


@pytest.mark.parametrize("data", [b"", b"\x00" * 100, b'{"v":1,"sum":0,"values":5}', b"[]", b"{" * 100_000])
def test_a_damaged_compilation_costs_no_event(home, file, data):
    file.write_text("window: 150000\n")
    (home / "config.json").write_bytes(data)
    run_silently(event("Stop"), home)
    assert heard(home) == {"Stop": 1}
    assert (home / "config.json").read_bytes() == data


@pytest.mark.parametrize("name", ["config.json", "config.lock", "config.yaml"])
def test_something_else_in_the_place_of_a_file_costs_no_event(home, file, name):
    file.write_text("window: 150000\n")
    (home / name).unlink(missing_ok=True)
    (home / name).mkdir()
    run_silently(event("Stop"), home)
    assert heard(home) == {"Stop": 1}


# What it changes


@pytest.fixture
def work(home, tmp_path):
    return day(Work(home, repository(tmp_path / "tidegate")))


def set_(work: Work, **values: object) -> None:
    work.more["env"] = {variable(key.replace("__", ".")): str(value) for key, value in values.items()}


def test_block_and_brief_are_as_long_as_they_are_allowed_to_be(work):
    block = work.hook("PreCompact")
    brief = work.start("compact")
    set_(work, preservation__files=1, preservation__decisions=1, brief__tokens=200)
    shorter = work.hook("PreCompact")
    assert 0 < len(shorter) < len(block)
    little = work.start("compact")
    assert 0 < len(little) <= 200 * 3.5 < len(brief)


def test_nothing_is_said_into_a_session_that_is_allowed_none(work, home):
    set_(work, brief__session_tokens=0)
    assert RULE in work.hook("PreCompact")  # that is for the summariser
    assert work.start("compact") == ""
    work.hook("SessionEnd")
    other = Work(home, work.project, "s2")
    other.more["env"] = work.more["env"]
    assert other.start("startup") == ""
    assert other.booked() == []


@pytest.mark.parametrize(("hours", "is_told"), [(0, False), (1, True)])
def test_a_checkpoint_is_told_to_new_sessions_for_so_long(work, home, hours, is_told):
    work.hook("SessionEnd")
    other = Work(home, work.project, "s2")
    set_(other, brief__startup_hours=hours)
    said = other.start("startup")
    assert ("Resuming from Checkpoint" in said, "\nUnfinished: " in said) == (is_told, not is_told)
    assert bool(other.start("clear")) == is_told


def test_what_is_shared_shows_in_git_and_nothing_else(work):
    def untracked() -> list[str]:
        shown = git(work.project, "status", "--porcelain", "-uall", "--", ".claude")
        return [line.rpartition("/")[2] for line in shown.splitlines()]

    work.hook("PreCompact")
    assert untracked() == []
    set_(work, checkpoints__share="true")
    work.hook("PreCompact")
    taken = [path.name for path in documents(work.project)]
    assert sorted(untracked()) == sorted([".gitignore", *taken])
    set_(work, checkpoints__share="false")
    work.hook("PreCompact")
    assert untracked() == []
    ignore = work.project / ".claude/checkpoints/.gitignore"
    ignore.write_text("# mine\n")
    set_(work, checkpoints__share="true")
    work.hook("PreCompact")
    assert ignore.read_text() == "# mine\n"


def test_the_statusline_follows_the_ladder(home, transcript):
    def shown(**env: str) -> str:
        payload = event("Status", transcript=transcript.path)
        done = subprocess.run(
            [*command(package=patient()), "statusline"],
            input=encode(payload),
            env=environ(home, **env),
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()

    assert shown().startswith("\033[32m")
    assert "L1" not in shown()
    yellow = shown(HOLDFAST_LADDER_CHECKPOINT="5", HOLDFAST_LADDER_WARNING="15")
    assert yellow.startswith("\033[33m")
    assert "L1 Warning" in yellow
    ladder = {"CHECKPOINT": 5, "WARNING": 25, "PROMPT_WARNING": 26, "ADVISORY": 27}
    red = shown(**{f"HOLDFAST_LADDER_{name}": str(fill) for name, fill in ladder.items()})
    assert red.startswith("\033[31m")
    assert "L2 Advisory" in red
