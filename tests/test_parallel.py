"""Many hooks at once, and hooks killed at any moment: nothing that was counted is lost."""

import json
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hooks import (
    PACKAGE,
    PYTHON,
    SAFETY_S,
    Transcript,
    assert_same_fold,
    copy_package,
    edit,
    event,
    folder,
    heard,
    late,
    lines,
    notes,
    run_silently,
    start_hook,
    state,
)
from made import Session

AT_ONCE = 40


def finish(hooks: list[subprocess.Popen]) -> None:
    assert [hook.wait(SAFETY_S) for hook in hooks] == [0] * len(hooks)


# -- at once


def test_hooks_at_once_are_all_counted(home):
    finish([start_hook(event("PostToolBatch", tool_use_id=f"t{n}"), home) for n in range(AT_ONCE)])
    assert not notes(home)
    assert state(home)["heard"]["calls"] == AT_ONCE
    assert heard(home) == {"PostToolBatch": AT_ONCE}


def test_hooks_at_once_see_a_growing_transcript_whole(home, tmp_path):
    session = Session(tmp_path / "s1.jsonl", "s1")
    hooks = []
    for _ in range(AT_ONCE):
        session.turn()
        hooks.append(start_hook(event("PostToolBatch", transcript=session.path), home))
    finish(hooks)
    run_silently(event("Stop", transcript=session.path), home)
    assert state(home)["seen"]["turns"] == AT_ONCE
    assert state(home)["seen"]["calls"] == AT_ONCE
    # One that cannot have the session's lock within its second gives up and says so; the file has its call.
    assert state(home)["heard"]["calls"] == AT_ONCE - late(home)
    assert_same_fold(home, session.path)


def test_without_its_lock_it_would_lose_calls(tmp_path):
    """The control: were this to pass unharmed, the tests above would prove nothing."""
    package = copy_package(tmp_path / "copy")
    edit(package / "disk" / "files.py", "            posix.lockf(self.fd, how, 0)\n", "            pass\n")
    run_silently(event("Stop"), tmp_path / "warm", package=package)
    for attempt in range(10):
        home = tmp_path / f"home{attempt}"
        payloads = [event("PostToolBatch", tool_use_id=f"t{n}") for n in range(AT_ONCE)]
        finish([start_hook(payload, home, package=package) for payload in payloads])
        try:
            if state(home)["heard"]["calls"] < AT_ONCE - late(home):
                return
        except ValueError:  # torn by two writers: worse than lost
            return
    pytest.fail("hooks without a lock lost nothing in ten attempts")


def test_a_session_and_its_agents_at_once_keep_to_themselves(home, tmp_path):
    parent = Transcript(tmp_path / "s1.jsonl")
    parent.answer(40_000)
    times = {"": 9, "a1": 8, "a2": 7}
    for turns, agent in ((2, "a1"), (3, "a2")):
        own = Transcript(tmp_path / "s1" / "subagents" / f"agent-{agent}.jsonl", agent)
        for turn in range(turns):
            own.answer(10_000 + turn)
    whose = [agent for agent, count in times.items() for _ in range(count)]
    random.Random(4).shuffle(whose)
    finish(
        [
            start_hook(
                event("PostToolBatch", transcript=parent.path, tool_name=f"Tool{agent}", agent_id=agent),
                home,
            )
            for agent in whose
        ]
    )
    gave_up = [note["session"] for note in notes(home)]
    for turns, agent in ((1, ""), (2, "a1"), (3, "a2")):
        saved = state(home, agent=agent)
        assert saved["agent"] == agent
        assert saved["seen"]["turns"] == turns
        assert times[agent] - len(gave_up) <= saved["heard"]["calls"] <= times[agent]
        assert saved["heard"]["events"] == {"PostToolBatch": saved["heard"]["calls"]}
        assert list(saved["heard"]["tools"]) == [f"Tool{agent}"]
    assert {path.name for path in (folder(home) / "agents").iterdir()} == {"a1", "a2"}


def test_hooks_at_once_agree_on_a_bundle(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    finish([start_hook(event("PostToolBatch"), home, package=package) for _ in range(12)])
    assert state(home)["heard"]["calls"] == 12 - late(home)
    caches = {path.name for path in (package / "__pycache__").iterdir()}
    assert f"hot.{sys.implementation.cache_tag}" in caches
    assert not [name for name in caches if name.endswith(".tmp")]


# -- killed


class Storm:
    """Hooks of which most are killed at a random moment of their life, four at a time."""

    def __init__(self, home: Path, transcript: Path | str, seed: int) -> None:
        self.home = home
        self.transcript = transcript
        self.chance = random.Random(seed)
        self.started = self.finished = self.killed = 0
        self.lock = threading.Lock()
        began = time.perf_counter()
        for _ in range(4):
            self.run(None)
        self.longest_s = 1.5 * (time.perf_counter() - began) / 4

    def run(self, kill_after_s: float | None) -> None:
        with self.lock:
            self.started += 1
            number = self.started
        payload = event("PostToolBatch", transcript=self.transcript, tool_use_id=f"toolu_{number}")
        hook = start_hook(payload, self.home)
        try:
            code = hook.wait(SAFETY_S if kill_after_s is None else kill_after_s)
        except subprocess.TimeoutExpired:
            hook.kill()
            code = hook.wait()
        with self.lock:
            if code:
                self.killed += 1
            else:
                self.finished += 1
        path = folder(self.home) / "state.json"
        if path.exists():
            json.loads(path.read_bytes())

    def rage(self, times: int) -> None:
        moments = [self.chance.choice((None, *[self.longest_s] * 5)) for _ in range(times)]
        moments = [moment and self.chance.uniform(0, moment) for moment in moments]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self.run, moments))

    def assert_all_counted(self) -> None:
        assert not notes(self.home)
        counted = state(self.home)["heard"]["calls"]
        assert self.finished <= counted <= self.started
        assert heard(self.home)["PostToolBatch"] == counted
        assert not list(self.home.rglob("*damaged*"))
        assert self.killed > self.started / 20, "the storm was too mild to prove anything"


def test_hooks_that_finish_are_counted_whoever_is_killed_beside_them(home):
    storm = Storm(home, "", seed=5)
    storm.rage(500)
    storm.assert_all_counted()


def test_after_a_storm_of_kills_the_transcript_is_folded_as_if_read_once(home, tmp_path):
    session = Session(tmp_path / "s1.jsonl", "s1")
    storm = Storm(home, session.path, seed=6)
    for _ in range(20):
        for _ in range(3):
            session.turn()
        storm.rage(25)
    storm.run(None)
    storm.assert_all_counted()
    assert state(home)["seen"]["turns"] == 60
    assert_same_fold(home, session.path)
    samples = lines(folder(home) / "samples.jsonl")
    assert [s["turn"] for s in samples] == sorted(s["turn"] for s in samples)


# -- one file, many who append

_APPENDS = """
import sys
sys.path.append(sys.argv[1])
from holdfast.disk import files, trail
from holdfast.disk.home import Home
home, who, times, rotate_at = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
for number in range(times):
    if rotate_at:
        line = '{"who":"%s","number":%d,"text":"%s"}' % (who, number, "x" * (number * 7 % 300))
        files.append_line(home + "/events.jsonl", line.encode(), rotate_at=rotate_at)
    else:
        assert trail.note(Home(home), "test.note", who=who, number=number, text="x" * (number * 7 % 300))
"""


def append(home: Path, who: str, times: int, rotate_at: int) -> subprocess.Popen:
    argv = [PYTHON, "-I", "-S", "-c", _APPENDS, PACKAGE.parent, home, who, str(times), str(rotate_at)]
    return subprocess.Popen(argv, stderr=subprocess.PIPE)


def assert_all_there(home: Path, who: int, times: int, besides: int = 0) -> None:
    old, new = lines(home / "events.jsonl.1"), lines(home / "events.jsonl")
    ours = [(line["who"], line["number"]) for line in old + new if "who" in line]
    assert len(old) + len(new) == len(ours) + besides
    assert sorted(ours) == sorted((str(w), n) for w in range(who) for n in range(times))


@pytest.mark.parametrize("rotate_at", [1 << 40, 200_000])
def test_lines_appended_at_once_are_all_there_and_whole(rotate_at, home):
    """Some 350 KB in all: with the smaller limit the file is rotated once, in the thick of it."""
    home.mkdir()
    writers = [append(home, str(who), 100, rotate_at) for who in range(20)]
    errors = [writer.communicate(timeout=SAFETY_S)[1] for writer in writers]
    assert errors == [b""] * 20
    assert (home / "events.jsonl.1").exists() == (rotate_at == 200_000)
    assert_all_there(home, 20, 100)


def test_notes_at_once_survive_the_rotation_of_the_trail(home):
    home.mkdir()
    filling = b'{"filling":"' + b"x" * 4000 + b'"}\n'
    times = (4 << 20) // len(filling)
    (home / "events.jsonl").write_bytes(filling * times)
    writers = [append(home, str(who), 50, 0) for who in range(20)]
    errors = [writer.communicate(timeout=SAFETY_S)[1] for writer in writers]
    assert errors == [b""] * 20
    assert_all_there(home, 20, 50, besides=times)


_HOLDS = """
import fcntl, os, sys
path = sys.argv[1]
with open(path, "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.readline()
    os.rename(path, path + ".1")
"""


def waits_for_a_lock(pid: int) -> bool:
    return any(
        " -> " in line and f" {pid} " in line for line in Path("/proc/locks").read_text().split("\n")
    )


def test_who_waited_while_the_file_was_rotated_has_appended_nevertheless(home):
    """It holds the old file, and there is no new one yet."""
    home.mkdir()
    (home / "events.jsonl").write_bytes(b'{"before":1}\n' * 100)
    holder = subprocess.Popen(
        [PYTHON, "-I", "-c", _HOLDS, home / "events.jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout.readline() == b"locked\n"
    waiting = append(home, "0", 1, 1000)
    give_up = time.monotonic() + SAFETY_S
    while not waits_for_a_lock(waiting.pid) and time.monotonic() < give_up:
        time.sleep(0.01)
    holder.communicate(b"\n", timeout=SAFETY_S)
    assert waiting.communicate(timeout=SAFETY_S)[1] == b""
    assert_all_there(home, 1, 1, besides=100)


@pytest.mark.parametrize("torn", [b"{", b'{"half":', b"\0" * 9000, b"x" * 4095, b"x" * 4096, b"x" * 10_000])
@pytest.mark.parametrize("whole", [b"", b'{"whole":1}\n' * 3])
def test_a_torn_last_line_is_cut_before_the_next_is_appended(whole, torn, home):
    home.mkdir()
    (home / "events.jsonl").write_bytes(whole + torn)
    writers = [append(home, str(who), 2, 1 << 40) for who in range(3)]
    errors = [writer.communicate(timeout=SAFETY_S)[1] for writer in writers]
    assert errors == [b""] * 3
    assert_all_there(home, 3, 2, besides=whole.count(b"\n"))
