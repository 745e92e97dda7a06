"""The lock of a store: one at a time, in order, free when its holder dies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.errors import Unavailable
from holdfast.store.turns import is_first, turn

_HOLDS = """
import sys, time
from holdfast.store.turns import turn
with turn(sys.argv[1], 60):
    print("has it", flush=True)
    time.sleep(60)
"""
#: Draws a number for ever.
_DRAWS = """
import fcntl, os, sys, time
from holdfast.store.turns import TRY, lock
lock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), TRY, fcntl.F_WRLCK, 0)
print("has it", flush=True)
time.sleep(60)
"""
#: Takes the lock again and again and counts in a file, without any lock of its own.
_COUNTS = """
import os, sys, time
from holdfast.store.turns import turn
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.001)
for _ in range(int(sys.argv[3])):
    with turn(sys.argv[1], 60):
        with open(sys.argv[2], "r+") as file:
            number = int(file.read() or 0)
            file.seek(0)
            file.write(str(number + 1))
"""


#: Ctrl-C while it waits.
_INTERRUPTED = """
import os, signal, sys, threading, time
from holdfast.store.turns import turn
if sys.argv[2] == "thread":
    signal.signal(signal.SIGALRM, lambda *_: None)  # somebody else uses it
try:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with turn(sys.argv[1], 60):
        pass
except KeyboardInterrupt:
    print(signal.getitimer(signal.ITIMER_REAL), flush=True)
    time.sleep(60)
"""


def started(code: str, *words: object) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def ready(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"


def held(path: Path, how: str = _HOLDS) -> subprocess.Popen[str]:
    process = started(how, path)
    assert process.stdout
    assert process.stdout.readline() == "has it\n"
    return process


def test_only_one_at_a_time_has_it(tmp_path: Path) -> None:
    count = tmp_path / "count"
    processes = [started(_COUNTS, tmp_path / "lock", count, 200) for _ in range(4)]
    count.write_text("")
    assert [process.wait(60) for process in processes] == [0] * 4
    assert count.read_text() == "800"


def test_without_it_counts_are_lost(tmp_path: Path) -> None:
    """The control: each has a lock of its own."""
    count = tmp_path / "count"
    processes = [started(_COUNTS, tmp_path / f"lock{i}", count, 5000) for i in range(4)]
    ready(*processes)
    count.write_text("")
    for process in processes:
        process.wait(60)
    assert count.read_text() != "20000"


def test_it_is_free_when_its_holder_is_killed(tmp_path: Path) -> None:
    holder = held(tmp_path / "lock")
    holder.kill()
    holder.wait()
    with turn(str(tmp_path / "lock"), 10):
        pass


def test_one_killed_while_it_waits_holds_up_nobody_and_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = held(path)
    waiter = started(_HOLDS, path)
    time.sleep(0.3)
    waiter.kill()
    waiter.wait()
    with pytest.raises(Unavailable), turn(str(path), 0.2):
        pass
    holder.kill()
    holder.wait()
    with turn(str(path), 10):
        pass


def test_killed_at_any_moment_they_leave_it_free(tmp_path: Path) -> None:
    count, dice = tmp_path / "count", random.Random(1)
    count.write_text("")
    for _ in range(6):
        processes = [started(_COUNTS, tmp_path / "lock", count, 10**6) for _ in range(3)]
        ready(*processes)
        time.sleep(dice.random() * 0.1)
        for process in processes:
            process.kill()
            process.wait()
    with turn(str(tmp_path / "lock"), 10):
        pass


@pytest.mark.parametrize("how", ["alarm", "thread"])
def test_one_that_is_interrupted_while_it_waits_leaves_nothing(tmp_path: Path, how: str) -> None:
    path = tmp_path / "lock"
    holder, waiter = held(path), started(_INTERRUPTED, path, how)
    assert waiter.stdout
    assert waiter.stdout.readline() == "(0.0, 0.0)\n"
    holder.kill()
    holder.wait()
    with turn(str(path), 10):  # while the other still runs
        pass
    waiter.kill()
    waiter.wait()


@pytest.mark.parametrize("how", [_HOLDS, _DRAWS])
def test_who_waits_for_one_that_was_stopped_gives_up_and_says_so(tmp_path: Path, how: str) -> None:
    path = tmp_path / "lock"
    holder = held(path, how)
    os.kill(holder.pid, signal.SIGSTOP)
    refused: list[BaseException] = []

    def elsewhere() -> None:
        try:
            with turn(str(path), 0.2):
                pass
        except Unavailable as problem:
            refused.append(problem)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with pytest.raises(Unavailable, match="stopped"), turn(str(path), 0.2):
        pass
    thread.join()
    assert len(refused) == 1
    holder.kill()
    holder.wait()
    with turn(str(path), 10):  # what they drew is free as well
        pass


def test_they_get_it_in_the_order_in_which_they_asked(tmp_path: Path) -> None:
    path, order = str(tmp_path / "lock"), []

    def ask(number: int) -> None:
        with turn(path, 30):
            order.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    with turn(path, 10):
        for number, thread in enumerate(threads):
            thread.start()
            while int.from_bytes(Path(path).read_bytes(), "little") < number + 2:
                time.sleep(0.005)
    for thread in threads:
        thread.join()
    assert order == list(range(8))


@pytest.mark.parametrize("content", [b"\xff" * 8 + b" and more", b"x"])
def test_a_lock_file_with_something_else_in_it_still_excludes(tmp_path: Path, content: bytes) -> None:
    path, count = tmp_path / "lock", tmp_path / "count"
    path.write_bytes(content)
    count.write_text("")
    processes = [started(_COUNTS, path, count, 100) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0] * 3
    assert count.read_text() == "300"


def test_what_is_done_for_all_one_does_and_each_for_those_of_its_kind(tmp_path: Path) -> None:
    path, ours, theirs = str(tmp_path / "lock"), b"machine1", b"machine2"
    asked = [(1000, ours), (1400, ours), (2000, ours), (2500, theirs), (2600, theirs), (2600, ours)]
    assert [is_first(path, at, 1000, who) for at, who in asked] == [True, False, True, True, False, True]
    assert is_first(path, 500, 1000, ours)  # the machine was started again
    with turn(path, 10):  # the numbers that are drawn stand beside it
        assert not is_first(path, 600, 1000, ours)
