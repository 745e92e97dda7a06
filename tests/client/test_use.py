"""A day of use, with the real client, real git and the service: work, tests that fail, a commit, tests that
pass, a window that is full, and another session that goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.client import PYTHON, Machine, wired
from client.saved import Saved
from client.scenario import commit, git
from client.sent import words
from hooks import PACKAGE, command

RULE = "Always measure the tide in centimetres, never in inches"
TEST = """\
import unittest, tide
class Tide(unittest.TestCase):
    def test_level(self):
        self.assertEqual(tide.LEVEL, 250)
"""
MESSAGE = 'Raise the "tide" $(touch ran) to 250'
RUN = f"{PYTHON} -m unittest -q"
DEADLINE_S = 30


@pytest.fixture
def machine(tmp_path: Path, binary: Path) -> Machine:
    made = Machine(tmp_path / "machine", binary)
    (made.home / ".gitconfig").write_text("[user]\n\tname = tester\n\temail = tester@localhost\n")
    commit(
        made.project,
        {"tide.py": "LEVEL = 100\n", "test_tide.py": TEST, ".gitignore": "__pycache__\n.claude\n"},
    )
    (made.folder / "elsewhere").mkdir()
    return made


@pytest.fixture
def holdfast(tmp_path: Path) -> Path:
    """The command, as a person has it."""
    path = tmp_path / "holdfast"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGE.parent} exec {sys.executable} -m holdfast "$@"\n')
    path.chmod(0o755)
    return path


def environ(machine: Machine) -> dict[str, str]:
    return {**machine._environ(), "PATH": os.defpath}


def said(machine: Machine, holdfast: Path, *args: str, **env: str) -> str:
    done = subprocess.run(
        [holdfast, *args],
        cwd=machine.project,
        env={**environ(machine), **env},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def service(machine: Machine, holdfast: Path) -> Iterator[str]:
    """Its address."""
    told = machine.config / "holdfast/serve.json"
    process = subprocess.Popen(
        [holdfast, "serve", "--port", "0"], env=environ(machine), cwd=machine.project
    )
    try:
        until = time.monotonic() + DEADLINE_S
        while not told.exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        yield json.loads(told.read_text())["url"]
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0


def test_a_day_of_use(machine: Machine, holdfast: Path, binary: Path, service: str) -> None:
    assert "post-commit" in said(machine, holdfast, "install", "--git")
    work = [
        {"say": "First the tests.", "run": RUN},
        {"say": "The level is wrong.", "run": f"echo 'LEVEL = 250' > {machine.project}/tide.py"},
        {"run": f"git commit -qam '{MESSAGE}'"},
        {"say": "Again.", "run": RUN},
        {"say": "The tests pass now."},
    ]
    run = machine.run({"main": work}, ["-p", RULE], settings=wired(command()))
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    sha = git(machine.project, "rev-parse", "HEAD").strip()

    # What it left behind: the commit and both test runs, each once, and a checkpoint that is green.
    listed = json.loads(said(machine, holdfast, "saves", "list", "--environment", "development", "--json"))
    assert [(save["source"], save["task"]) for save in listed[::-1]] == [
        ("test-result", "Tests failed: 1/1 failed"),
        ("git-commit", f"Commit: {MESSAGE}"),
        ("test-result", "Tests passed: 1 tests"),
    ]
    assert not (machine.project / "ran").exists()
    kept = Saved.read(machine.config / "holdfast", machine.project)
    kept.check()
    found = kept.of(run.session)
    assert {"commit", "tests"} <= {str(one.fields["trigger"]) for one in found}
    assert any(sha[:12] in line for line in found[-1]["Commands and Tests"] if "green" in line)

    # The window is full: whoever watches it asks the service, which saves.
    told = said(machine, holdfast, "monitor", "175000", CONTEXTS_URL=service)
    assert told.startswith("Context critical (175000/200000). Auto-saving...\n")
    assert told.endswith("holdfast rs development\n")

    # Another session goes on, from wherever it is started.
    machine.binary = holdfast
    again = machine.run(
        {"main": [{"say": "I go on."}]},
        ["rs", "development", "--start"],
        settings=wired(command()),
        env={"HOLDFAST_CLIENT": f"{binary} --dangerously-skip-permissions -p"},
        session=False,
        cwd=machine.folder / "elsewhere",
    )
    assert (again.trouble, again.refused, again.unplayed) == ("", [], {})
    first = next(request for request in again.requests if request["kind"] == "main")
    context = "\n".join(words(message["content"]) for message in first["body"]["messages"])
    assert context.count(RULE) == 1
    assert "[Auto-save at 88% context]" in context
    assert sha[:8] in context
    assert "The tests pass now." in context
    assert {one["cwd"] for one in again.heard} == {str(machine.project)}
