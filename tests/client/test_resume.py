"""`ss`, then `rs --start`, with the real client: it goes on where the work is, told once what that was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.client import Machine, Run, wired
from client.sent import words
from hooks import PACKAGE, command

RULE = "Always keep the harbour port at 5433, whatever the linter says"
TASK = "raise the $(sluice) by 'one' inch"
LOOSE = "--dangerously-skip-permissions"
SCREEN = [{"event": "Stop"}, {"type": "/exit"}]


@pytest.fixture
def holdfast(tmp_path: Path) -> Path:
    """The command, as a person has it."""
    path = tmp_path / "holdfast"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGE.parent} exec {sys.executable} -m holdfast "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, binary: Path) -> Machine:
    """On which a session has worked, and is over."""
    made = Machine(tmp_path / "machine", binary)
    (made.folder / "elsewhere").mkdir()
    turns = [{"say": "I will.", "run": f"echo high > {made.project}/tide.txt"}, {"say": "It is high now."}]
    run = made.run({"main": turns}, ["-p", RULE], settings=wired(command()))
    assert (run.returncode, run.refused) == (0, [])
    return made


def saved(machine: Machine, holdfast: Path, *said: str) -> None:
    env = {**machine._environ(), "PATH": os.defpath}
    subprocess.run([holdfast, "ss", "dev", *said], cwd=machine.project, env=env, check=True)


def started(machine: Machine, holdfast: Path, client: str, keys: list[dict] | None) -> Run:
    """From another folder than that of the work."""
    machine.binary = holdfast
    run = machine.run(
        {"main": [{"say": "I go on."}]},
        ["rs", "dev", "--start"],
        settings=wired(command()),
        env={"HOLDFAST_CLIENT": client},
        keys=keys,
        session=False,
        cwd=machine.folder / "elsewhere",
    )
    assert (run.trouble, run.refused, run.unplayed) == ("", [], {})
    return run


def told(run: Run) -> str:
    """All that the model was sent with the first request."""
    first = next(request for request in run.requests if request["kind"] == "main")
    return "\n".join(words(message["content"]) for message in first["body"]["messages"])


@pytest.mark.parametrize("at_screen", [True, False], ids=["screen", "print"])
def test_a_session_goes_on_with_what_was_saved_told_once(
    machine: Machine, holdfast: Path, binary: Path, at_screen: bool
) -> None:
    saved(machine, holdfast, "--task", TASK)
    mode = "--permission-mode default" if at_screen else f"{LOOSE} -p"
    run = started(machine, holdfast, f"{binary} {mode}", SCREEN if at_screen else None)
    said = told(run)
    assert said.count("Go on with the work that was saved as dev.") == 1
    assert said.count(f"Task: {TASK}") == 1
    assert said.count(RULE) == 1
    assert said.count("<holdfast-") == 1
    assert "Resuming from Checkpoint" not in said
    assert {one["cwd"] for one in run.heard} == {str(machine.project)}
    assert [one["source"] for one in run.heard if one["hook_event_name"] == "SessionStart"] == ["startup"]


def test_without_it_the_hook_tells_the_new_session(machine: Machine, holdfast: Path) -> None:
    """The control of the test before."""
    saved(machine, holdfast, "--task", TASK)
    run = machine.run({"main": [{"say": "Hello."}]}, ["-p", "hello"], settings=wired(command()))
    said = told(run)
    assert said.count("Resuming from Checkpoint") == 1
    assert said.count(RULE) == 1
    assert TASK not in said


def test_without_any_hook_the_context_is_there(machine: Machine, holdfast: Path, binary: Path) -> None:
    saved(machine, holdfast, "--task", TASK)
    machine.binary = holdfast
    run = machine.run(
        {"main": [{"say": "I go on."}]},
        ["rs", "dev", "--start"],
        env={"HOLDFAST_CLIENT": f"{binary} {LOOSE} -p"},
        session=False,
    )
    assert (told(run).count(f"Task: {TASK}"), told(run).count(RULE)) == (1, 1)
