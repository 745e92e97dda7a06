"""Half an hour of work is half an hour also where one tool takes 25 minutes of it: through hooks that are
told the time by a test, in a transcript with the times the client would have written."""

import json
import subprocess
import sys

import pytest

from holdfast.clock import now, rfc3339
from hooks import copy_package, edit, environ
from session import use
from taken import entries
from told import Work, repository

MINUTE = 60_000


@pytest.fixture
def clock(tmp_path):
    """What hooks take for now, in a file."""
    place = tmp_path / "now"
    place.write_text(str(now()))
    return place


@pytest.fixture
def package(tmp_path, clock):
    made = copy_package(tmp_path / "told")
    edit(made / "clock.py", "return int(time.time() * 1000)", f"return int(open({str(clock)!r}).read())")
    return made


@pytest.fixture
def work(home, tmp_path, package, clock):
    """A checkpoint has just been taken, so that only what comes now counts."""
    made = Work(home, repository(tmp_path / "tidegate"), package=package)
    prompt(made, clock)
    made.say("I will build it.")
    made.hook("PreCompact", trigger="auto")
    return made


def passes(work, clock, minutes):
    at = int(clock.read_text()) + minutes * MINUTE
    clock.write_text(str(at))
    work.usual["timestamp"] = rfc3339(at)


def prompt(work, clock):
    passes(work, clock, 0)
    work.prompt("build it")
    work.hook("UserPromptSubmit", prompt="build it")


def build(work, clock, minutes, hook=True):
    call = f"build{work.number}"
    work.answer(use(call, "Bash", command="make"))
    passes(work, clock, minutes)
    work.result(call, "built")
    told = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": call}
    if hook:
        work.hook("PostToolBatch", tool_calls=[{**told, "tool_response": "built"}])


def reasons(home):
    return [entry["reason"] for entry in entries(home)][1:]


def test_four_builds_of_25_minutes_are_saved_twice(work, clock, home):
    """Once these were a hundred minutes without a checkpoint."""
    prompt(work, clock)
    for _ in range(4):
        build(work, clock, 25)
    assert reasons(home) == ["30 minutes of work"] * 2


def test_a_person_who_is_away_for_hours_is_no_work(work, clock, home):
    """The control: as long, between a turn and the next prompt."""
    for _ in range(2):
        prompt(work, clock)
        build(work, clock, 2)
        work.hook("Stop", last_assistant_message="")
        passes(work, clock, 120)
    assert "30 minutes of work" not in reasons(home)


def test_hooks_that_came_late_believe_the_transcript(work, clock, home):
    """No hook was there during the builds but the last, and its clock says that no time has passed."""
    before = clock.read_text()
    for _ in range(2):
        build(work, clock, 25, hook=False)
    clock.write_text(before)
    prompt(work, clock)
    assert reasons(home) == ["30 minutes of work"]


@pytest.mark.parametrize(("minutes", "status"), [(24, "ok"), (31, "checkpoint_overdue")])
def test_the_watcher_agrees_while_a_tool_still_runs(minutes, status, work, clock, home):
    work.prompt("build it")
    work.answer(use("t1", "Bash", command="make"))
    clock.write_text(str(now() - minutes * MINUTE))
    work.hook("UserPromptSubmit", prompt="build it")
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast", "watch", "--once", "--json"],
        env=environ(home),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert [row["status"] for row in json.loads(ran.stdout)["sessions"]] == [status]
