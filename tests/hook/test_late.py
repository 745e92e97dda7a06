"""Hooks that come late: installed in mid-session, or a long session resumed. What the user ordered, what
was decided and what is open is said all the same, the newest first, with what was not read yet. A child
reads on, which no hook waits for.

A hook reads 2 to 16 MB of a transcript, and gathers 3 to 8 MB of it: hence the sizes. Of one that was met
after 12 MB nothing was once said before a compaction.
"""

import contextlib
import json
import os
import posix
import shutil
import subprocess
import sys
import time

import pytest

from holdfast import catchup
from holdfast.app import Holdfast
from holdfast.core.state import State
from holdfast.disk import gathered, late, sessions, transcripts
from hooks import (
    command,
    copy_package,
    edit,
    environ,
    event,
    folded,
    folder,
    lines,
    notes,
    patient,
    run_hook,
    state,
)
from session import text
from told import DECIDED, RULE, Work, repository

ERROR = "Exit code 1\nTypeError: the buoy has no lamp"
SAID_LATE = "holdfast came late to this transcript"
MB = 1_000_000


@pytest.fixture
def work(home, tmp_path):
    made = Work(home, repository(tmp_path / "tidegate"))
    made.prompt(RULE)
    made.say(DECIDED)
    return made


def results(work, size):
    """Tool results of 100 kB: what fills most transcripts."""
    for number in range(size // 100_000):
        work.call("Bash", f"line {number}\n" + "x" * 100_000, command=f"cat log{number}")


def tiny_lines(work, size):
    """The model mumbles: many short lines, which all have to be looked at."""
    small = json.dumps({"type": "progress", "uuid": "p", "data": "." * 200}).encode() + b"\n"
    work.script.lines.append(small * (size // len(small)))


def giant_line(work, size):
    """One line longer than any that is held in memory."""
    work.call("Read", "y" * size, file_path="/nowhere/dump")


def pasted(work, size):
    """Prompts with pictures, which are typed, too."""
    for number in range(size // MB):
        picture = {"type": "image", "source": {"type": "base64", "data": "z" * MB}}
        message = {"role": "user", "content": [text(f"look at number {number}"), picture]}
        work.line("user", message=message, promptSource="typed")
        work.say("I see.")


def torn(work, size):
    """The last line was cut, and the client went on behind it."""
    results(work, size)
    work.script.lines.append(b'{"parentUuid":"x","type":"assistant","message":{"content":[{"type":"te\n')


FILLED = {one.__name__: one for one in (results, tiny_lines, giant_line, pasted, torn)}


def ends(work):
    """The newest part, which every hook has read since ever."""
    work.prompt("Now mend the lamp of the buoy.")
    work.fail("Bash", ERROR, command="pytest tests/lamp")


def first_is_compaction(work):
    return work.hook("PreCompact", trigger="auto")


def first_is_start(work):
    work.start("resume")
    return work.hook("PreCompact", trigger="auto")


def first_is_batch(work):
    work.hook("PostToolBatch")
    return work.hook("PreCompact", trigger="auto")


FIRST = {one.__name__: one for one in (first_is_compaction, first_is_start, first_is_batch)}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("filled", FILLED)
def test_what_matters_is_said_however_late_hooks_come(filled, first, work, home):
    FILLED[filled](work, 20 * MB)
    ends(work)
    block = FIRST[first](work)
    brief = work.start("compact")
    checkpoint = max((work.project / ".claude" / "checkpoints").glob("2*.md")).read_text()
    for said in (block, brief, checkpoint):
        assert RULE in said
        assert "sqlite instead of a server" in said
        assert "lamp" in said
    assert state(home)["behind"] is None
    assert state(home)["seen"] == folded(work.path) | {"meter": state(home)["seen"]["meter"]}
    assert not notes(home)


@pytest.mark.parametrize("mb", [9, 60])
def test_a_first_compaction_says_what_was_not_read_yet(mb, work, home):
    """In the block, in the checkpoint, in the event log; and once it has been read, no more."""
    results(work, mb * MB)
    ends(work)
    work.more["children"] = False
    block = work.hook("PreCompact", trigger="auto")
    (checkpoint,) = (work.project / ".claude" / "checkpoints").glob("2*.md")
    for said in (block, checkpoint.read_text()):
        assert RULE in said
        assert SAID_LATE in said
        assert " MB" in said
    wait_for(home)
    log = [one["event"] for one in lines(home / "events.jsonl") if one["event"].startswith("catchup.")]
    assert log == ["catchup.began", "catchup.done"]
    assert SAID_LATE not in work.hook("PreCompact", trigger="auto")


def test_a_session_that_hooks_met_in_time_is_not_called_late(work, home):
    """The control: the same, but hooks were there all the time."""
    for _ in range(4):
        results(work, 3 * MB)
        work.hook("Stop", last_assistant_message="")
    ends(work)
    block = work.hook("PreCompact", trigger="auto")
    assert RULE in block
    assert SAID_LATE not in block
    assert not [one for one in lines(home / "events.jsonl") if one["event"].startswith("catchup.")]


def test_without_the_search_for_speech_nothing_of_the_front_is_known(work, home, tmp_path):
    """The control for the search: without it these are the zero characters of before."""
    package = copy_package(tmp_path / "deaf")
    edit(
        package / "disk" / "speech.py",
        "return [one for part in reversed(parts)",
        "return [one for part in ()",
    )
    edit(package / "hook.py", "            if reply.unread:\n", "            if False:\n")
    work.more["package"] = package
    results(work, 20 * MB)
    block = work.hook("PreCompact", trigger="auto")
    assert RULE not in block
    assert SAID_LATE in block


def test_what_a_rewind_abandoned_is_not_said(work, home):
    """Two prompts under one parent: the second replaces the first, also where both are only skimmed."""
    parent = work.script.leaf
    work.prompt("Always paint the tower in red and nothing else.")
    work.say("Red it is.")
    work.script.leaf = parent
    work.prompt("Always paint the tower in white and nothing else.")
    results(work, 20 * MB)
    work.more["children"] = False
    block = work.hook("PreCompact", trigger="auto")
    assert "in white" in block
    assert "in red" not in block


def wait_for(home, session="s1"):
    """Until nobody reads on any more."""
    until = time.monotonic() + 120
    while (folder(home, session) / "late").exists():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def stopped(work, tmp_path):
    """A child that is killed over its work whenever it has saved some of it."""
    package = copy_package(tmp_path / "stopped")
    edit(
        package / "catchup.py",
        "_SAVED_EVERY, _LONGEST_S = 4 << 20, 32 << 20,",
        "_SAVED_EVERY, _LONGEST_S = 1 << 20, 3 << 20,",
    )
    line = "                    saved = 0\n"
    edit(package / "catchup.py", line, f"{line}                    posix.kill(posix.getpid(), 9)\n")
    work.more["package"] = package
    return package


def test_a_child_that_was_killed_is_followed_by_one_that_goes_on(work, home, stopped):
    """Each comes further, none begins again, and in the end all is as if it had been read at once."""
    results(work, 20 * MB)
    ends(work)
    reached = []
    for _ in range(12):
        work.hook("PostToolBatch")
        kept = folder(home) / "late" / "state.json"
        if not kept.exists():
            break
        reached.append(json.loads(kept.read_bytes())["seen"]["offset"])
    assert len(reached) >= 3
    assert reached == sorted(set(reached))
    assert state(home)["behind"] is None
    assert state(home)["seen"] == folded(work.path) | {"meter": state(home)["seen"]["meter"]}


def test_where_no_child_gets_anywhere_hooks_read_on_themselves(work, home, tmp_path):
    package = copy_package(tmp_path / "childless")
    edit(package / "catchup.py", "Reader(place, path, app).read()", "posix.kill(posix.getpid(), 9)")
    work.more["package"] = package
    results(work, 20 * MB)
    for _ in range(25):
        work.hook("PostToolBatch")
        if state(home)["behind"] is None:
            break
    assert state(home)["seen"] == folded(work.path) | {"meter": state(home)["seen"]["meter"]}


@pytest.mark.parametrize(("minutes", "is_read"), [(9, False), (11, True)])
def test_after_ten_minutes_another_child_is_tried(minutes, is_read, work, home):
    tries = folder(home) / "late" / "tries"
    tries.parent.mkdir(parents=True)
    tries.write_bytes(b"...")
    os.utime(tries, (time.time() - 60 * minutes,) * 2)
    results(work, 60 * MB)
    work.hook("PostToolBatch")
    assert tries.exists() != is_read
    assert (state(home)["behind"] is None) == is_read
    assert any("tries again" in one for one in status(home)) != is_read


def test_what_cannot_be_caught_up_costs_nothing_else(work, home, tmp_path):
    """The session's own save is due with the same hook."""
    work.more["package"] = copy_package(tmp_path / "full")
    edit(work.more["package"] / "catchup.py", "    place.make()\n", "    raise OSError(28, 'no room')\n")
    results(work, 20 * MB)
    work.context = 160_000
    work.say("Nearly full.")
    work.hook("PostToolBatch")
    assert notes(home)
    assert len(lines(home / "environments" / "development.jsonl")) == 1


@pytest.mark.parametrize("is_whole", [False, True])
def test_what_a_rewind_reaches_back_to_is_read_without_the_lock(is_whole, work, home, monkeypatch):
    """`is_whole`: the session knows all of the transcript, and only its facts lack the front."""
    results(work, 12 * MB)
    parent = work.script.leaf
    work.prompt("Build a harbour.")
    work.say("It is built.")
    work.path.write_bytes(work.script.bytes())
    home.joinpath("sessions", "s1").mkdir(parents=True)
    app = Holdfast.open(environ(home))
    known = State("s1")
    transcripts.catch_up(known, str(work.path), 64 * MB if is_whole else MB, fills=False)
    sessions.save(app.home, known)
    place, held, read = late.Place(app.home, "s1"), [False], [0, 0]
    place.make()
    lock, pread, save = sessions.lock, posix.pread, sessions.save

    @contextlib.contextmanager
    def watched(at):
        with lock(at) as one:
            if not any(read[1:]):  # the session goes on just before
                work.script.leaf = parent
                work.prompt("Rather build a lighthouse.")
                work.path.write_bytes(work.script.bytes())
                transcripts.catch_up(known, str(work.path), 64 * MB if is_whole else MB, fills=False)
                save(app.home, known)
            held[0] = True
            yield one
            held[0] = False

    def counted(fd, size, at):
        data = pread(fd, size, at)
        read[held[0]] += len(data)
        return data

    monkeypatch.setattr(sessions, "lock", watched)
    monkeypatch.setattr(posix, "pread", counted)
    catchup.Reader(place, str(work.path), app).read()
    assert read[0] > 24 * MB  # the facts twice
    assert 0 < read[1] < 2 * MB
    now_known = sessions.load(app.home, "s1")
    assert now_known.behind is None
    assert gathered.load(app.home, now_known).offset == now_known.seen.offset == work.path.stat().st_size
    assert [row[1] for row in gathered.load(app.home, now_known).units][-1] == "Rather build a lighthouse."


@pytest.mark.parametrize("is_read", [False, True])
def test_what_was_known_before_a_gap_is_not_read_again(is_read, work, home, tmp_path):
    """Hooks were there all the time, but more came between two checkpoints than one may take in: the child
    goes on from what was whole."""
    work.hook("PreCompact", trigger="auto")
    before = json.loads((folder(home) / "facts.json").read_bytes())
    package = copy_package(tmp_path / "idle")
    if not is_read:
        edit(package / "catchup.py", "        _read_apart(place, path, app)\n", "        pass\n")
    work.more["package"] = package
    results(work, 12 * MB)
    work.hook("PreCompact", trigger="auto")
    place = folder(home) / "late" / "facts.json"
    if is_read:
        assert not place.exists()
        assert json.loads((folder(home) / "facts.json").read_bytes())["start"] == 0
    else:
        assert json.loads(place.read_bytes()) == before


def status(home):
    asked = [sys.executable, "-m", "holdfast", "status", "--json"]
    ran = subprocess.run(asked, env=environ(home), capture_output=True, check=True, timeout=60)
    return [one["what"] for one in json.loads(ran.stdout)["checks"]]


def test_status_says_how_far_it_is(work, home, stopped):
    results(work, 20 * MB)
    work.hook("PostToolBatch")
    (said,) = [one for one in status(home) if "session s1" in one and "MB" in one]
    assert "being caught up" in said
    assert "of 20 MB" in said


def test_a_hook_does_not_wait_for_the_child(work, home, tmp_path):
    """While a child holds on in the middle of its work, hooks do theirs."""
    gate = tmp_path / "gate"
    package = copy_package(tmp_path / "held")
    line = "        before = self._facts.offset\n        if"
    waits = (
        f"        while not posix.access({str(gate)!r}, 0):\n            __import__('time').sleep(0.02)\n"
    )
    edit(package / "catchup.py", line, f"{waits}{line}")
    work.more |= {"package": package, "children": False}
    results(work, 20 * MB)
    try:
        for _ in range(3):
            work.hook("PostToolBatch")
            assert RULE in work.hook("PreCompact", trigger="auto")
        assert state(home)["heard"]["events"]["PreCompact"] == 3
    finally:
        gate.touch()
    wait_for(home)
    began = [one for one in lines(home / "events.jsonl") if one["event"] == "catchup.began"]
    assert len(began) == 1


def test_a_removed_session_is_not_made_again(work, home, tmp_path):
    gate = tmp_path / "gate"
    package = copy_package(tmp_path / "held")
    line = "        before = self._facts.offset\n        if"
    waits = (
        f"        while not posix.access({str(gate)!r}, 0):\n            __import__('time').sleep(0.02)\n"
    )
    edit(package / "catchup.py", line, f"{waits}{line}")
    work.more["package"] = package
    results(work, 20 * MB)
    work.path.write_bytes(work.script.bytes())
    gone = folder(home)

    def remove():
        shutil.rmtree(gone)
        gate.touch()

    run_hook(work.event("Notification"), home, package=package, then=remove)
    assert not gone.exists()


#: Runs a hook, and the child it leaves behind, to their ends; prints the most memory that one of them took.
_PEAK = """
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what a hook leaves behind becomes a child of this
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_memory_stays_bounded(work, home):
    """Of the hook, and of the child: far less than the transcript, however long that is."""
    results(work, 60 * MB)
    work.path.write_bytes(work.script.bytes())
    work.script.lines.clear()
    ran = subprocess.run(
        [sys.executable, "-c", _PEAK, *command(package=patient())],
        input=json.dumps(event("PreCompact", transcript=work.path)).encode(),
        env=environ(home),
        capture_output=True,
        check=True,
    )
    assert int(ran.stdout) < 48_000  # kB
    assert not (folder(home) / "late").exists()
    assert state(home)["behind"] is None
