"""What a batch of tool calls leaves to a child: the client is answered first, and nothing is lost."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from hooks import (
    SAFETY_S,
    command,
    copy_package,
    edit,
    encode,
    environ,
    event,
    heard,
    hold,
    lines,
    notes,
    run_hook,
    run_silently,
)
from taken import Session, entries, owed, reasons

EVERY = 5


@pytest.fixture
def session(home, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    made = Session(home, project, tmp_path / "projects" / "s1.jsonl")
    made.turn(times=EVERY)
    return made


def wait_for(what):
    until = time.monotonic() + SAFETY_S
    while not what() and time.monotonic() < until:
        time.sleep(0.05)


def test_the_client_is_answered_before_a_checkpoint_is_taken(session, home, tmp_path):
    package, answered = copy_package(tmp_path / "slow"), tmp_path / "answered"
    hold(package, "disk/folder.py", "                posix.fsync(fd)\n", answered)
    run_silently(session.event("PostToolBatch"), home, package=package, children=False)
    assert heard(home) == {"PostToolBatch": 1}
    assert not entries(home)
    answered.touch()
    wait_for(lambda: entries(home))
    assert reasons(home) == [f"{EVERY} turns of work"]


def test_a_child_finishes_when_the_client_ends_its_hooks(session, home, tmp_path):
    """It ends the whole group of processes, also of a hook that has answered."""
    package, begun, ended = copy_package(tmp_path / "slow"), tmp_path / "begun", tmp_path / "ended"
    line = "        app.began = elapsed()\n"  # before its time begins
    edit(package / "hook.py", line, f"        posix.mkdir({str(begun)!r})\n{line}")
    hold(package, "hook.py", line, ended)
    hook = subprocess.Popen(
        command(package=package), env=environ(home), stdin=subprocess.PIPE, start_new_session=True
    )
    hook.communicate(encode(session.event("PostToolBatch")), timeout=SAFETY_S)
    wait_for(begun.exists)
    with suppress(ProcessLookupError):  # nobody is in it any more
        os.killpg(hook.pid, signal.SIGKILL)
    ended.touch()
    wait_for(lambda: entries(home))
    assert reasons(home) == [f"{EVERY} turns of work"]


def test_what_a_child_that_was_killed_did_not_do_the_next_hook_does(session, home, tmp_path):
    package = copy_package(tmp_path / "killed")
    edit(
        package / "hook.py", "    reply = engine.handle(rest, app)\n", "    posix.kill(posix.getpid(), 9)\n"
    )
    run_silently(session.event("PostToolBatch"), home, package=package)
    assert not entries(home)
    session.hook("PostToolBatch")
    assert reasons(home) == [f"{EVERY} turns of work"]
    assert not owed(home)


def test_what_goes_wrong_in_a_child_is_noted(session, home, tmp_path):
    package = copy_package(tmp_path / "wrong")
    edit(
        package / "hook.py", "    reply = engine.handle(rest, app)\n", "    raise KeyError('some words')\n"
    )
    run_silently(session.event("PostToolBatch"), home, package=package)
    (note,) = notes(home)
    assert (note["event"], note["hook"], note["what"]) == ("degraded.hook", "AfterBatch", "KeyError")


def test_a_batch_with_nothing_to_do_leaves_nothing(home, tmp_path):
    package = copy_package(tmp_path / "forks")
    edit(package / "hook.py", "return posix.fork()", "return posix.write(1, b'forked')")
    assert run_hook(event("PostToolBatch"), home, package=package).stdout == b""


def test_a_rung_is_told_with_what_was_saved_at_it(session, home):
    """The only time a batch waits for a checkpoint: the person is told which."""
    session.transcript.answer(150_000)
    said = json.loads(run_hook(session.event("PostToolBatch"), home, children=False).stdout)
    (entry,) = entries(home)
    assert f"Saved: {entry['id']}." in said["systemMessage"]
    assert [note["event"] for note in lines(home / "events.jsonl")].count("checkpoint.taken") == 1
