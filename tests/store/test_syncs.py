"""Syncs that do for many: nobody is told that something is on the disk before it is."""

from __future__ import annotations

import errno
import fcntl
import os
import posix
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chance import tries
from holdfast.store import syncs
from holdfast.store.turns import BEHIND, BEYOND, turn
from teammate import until

#: Writes and syncs again and again, and says when each sync began and ended, and when it was told what.
_AGENT = """
import os, random, sys, time
from holdfast.store import syncs
where, number, way, count = sys.argv[1:]
dice, now = random.Random(number), time.monotonic
os.major = lambda device: 8  # whatever the tests are on
log = os.open(f"{where}/log{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def fdatasync(fd):
    began = now()
    time.sleep(dice.random() * 0.004)
    os.write(log, f"synced {began} {now()}\\n".encode())

def careless(own, mine):  # lets others in while it is at it
    syncs._write(own, syncs._BEGUN, mine)
    syncs._write(own, syncs._ENDED, mine)

os.fdatasync = fdatasync
if way == "careless":
    syncs._begin, syncs._end = lambda own, mine: True, careless
fd = os.open(f"{where}/data", os.O_RDWR)
if number in "012345":  # all of them at once, however long the last takes to start
    print("ready", flush=True)
    sys.stdin.readline()
for _ in range(int(count)):
    wrote = now()
    syncs.sync(fd, f"{where}/data", f"{where}/lock")
    os.write(log, f"told {wrote} {now()}\\n".encode())
"""


def _run(where: Path, way: str, count: int, kills: int = 0) -> list[int]:
    (where / "data").touch()
    dice = random.Random(1)

    def start(number: int) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-c", _AGENT, where, str(number), way, str(count)]
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    running = [start(number) for number in range(6)]
    for process in running:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
    for process in running:
        assert process.stdin
        process.stdin.close()
    for number in range(kills):
        time.sleep(dice.uniform(0.05, 0.2))
        running[number % 2].kill()
        running[number % 2].wait()
        running[number % 2] = start(100 + number)
    return [process.wait(60) for process in running]


def _seen(where: Path) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """(syncs, those who were told), each from when until when."""
    lines = [line.split() for log in where.glob("log*") for line in log.read_text().splitlines()]
    syncs_, told = (
        [(float(line[1]), float(line[2])) for line in lines if line[0] == kind]
        for kind in ("synced", "told")
    )
    return syncs_, told


def _too_early(where: Path) -> int:
    """How many were told although no sync has begun and ended since they wrote."""
    made, told = _seen(where)
    return sum(not any(wrote <= began and ended <= heard for began, ended in made) for wrote, heard in told)


def test_nobody_is_told_before_it_is_so_and_few_sync_for_all(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        assert _run(folder, "ours", 150) == [0] * 6
        made, told = _seen(folder)
        assert len(told) == 900
        assert _too_early(folder) == 0
        if len(made) < 700:
            return


def test_nor_where_those_who_sync_are_killed(tmp_path: Path) -> None:
    assert _run(tmp_path, "ours", 150, kills=12) == [0] * 6
    assert _too_early(tmp_path) == 0


def test_a_careless_one_is_caught(tmp_path: Path) -> None:
    """The control: it says that it has begun when it is done."""
    for folder in tries(tmp_path):
        _run(folder, "careless", 150)
        if _too_early(folder):
            return


class Disk:
    """Counts, and lets something happen meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced = 0
        self.meanwhile: Callable[[], object] = dict
        monkeypatch.setattr(os, "major", lambda device: 8)
        monkeypatch.setattr(os, "fdatasync", self._sync)
        monkeypatch.setattr(posix, "fdatasync", self._sync)

    def _sync(self, fd: int) -> None:
        self.synced += 1
        self.meanwhile()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


class Place:
    def __init__(self, folder: Path) -> None:
        self.path, self.numbers = str(folder / "data"), str(folder / "lock")
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)

    def sync(self) -> None:
        syncs.sync(self.fd, self.path, self.numbers)

    def counted(self) -> list[int]:
        raw = Path(self.numbers).read_bytes()[BEHIND:]
        return [int.from_bytes(raw[at : at + 8], "little") for at in (0, 8)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_who_is_alone_syncs_and_counts(place: Place, disk: Disk) -> None:
    for number in range(1, 4):
        place.sync()
        assert (disk.synced, place.counted()) == (number, [number, number])


@pytest.mark.parametrize("numbers", [(5, 9), (2**64 - 1, 3), (7, 2**64 - 1), (1 << 61, 1 << 60)])
def test_numbers_that_nobody_has_written_are_not_believed(
    place: Place, disk: Disk, numbers: tuple[int, int]
) -> None:
    Path(place.numbers).write_bytes(b"\0" * BEHIND + b"".join(n.to_bytes(8, "little") for n in numbers))
    place.sync()
    assert (disk.synced, place.counted()) == (1, [0, 0])
    place.sync()
    assert (disk.synced, place.counted()) == (2, [1, 1])


def _number(place: Place, *numbers: int) -> None:
    with open(place.numbers, "r+b") as file:
        file.seek(BEHIND)
        file.write(b"".join(number.to_bytes(8, "little") for number in numbers))


def test_one_that_begins_and_ends_while_the_numbers_are_read_is_no_damage(
    place: Place, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, seen = syncs._read, []

    def slowly(own: int, where: int) -> int:
        number = read(own, where)
        if not seen:
            _number(place, 1, 1)
        seen.append(number)
        return number

    monkeypatch.setattr(syncs, "_read", slowly)
    place.sync()
    assert (disk.synced, place.counted()) == (1, [2, 2])


@pytest.mark.parametrize(("numbers", "is_believed"), [((0, 9), False), ((9, 0), False), ((2, 1), True)])
def test_who_waited_believes_only_what_has_begun_and_ended(
    place: Place, disk: Disk, monkeypatch: pytest.MonkeyPatch, numbers: tuple[int, int], is_believed: bool
) -> None:
    """As when somebody else found the file damaged meanwhile."""
    other = os.open(place.numbers, os.O_RDWR | os.O_CREAT, 0o600)
    syncs.lock(other, syncs.TRY, fcntl.F_WRLCK, BEYOND + 1)

    def waits(seconds: float, wait: Callable[[], None]) -> bool:
        _number(place, *numbers)
        return True

    monkeypatch.setattr(syncs, "in_time", waits)
    place.sync()
    os.close(other)
    assert disk.synced == (not is_believed)


@pytest.mark.parametrize("what", ["open", "lock", "_write", "_read"])
def test_what_fails_beside_the_sync_costs_one_of_ones_own(
    place: Place, disk: Disk, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOLCK, "none left")

    if what == "open":
        os.mkdir(place.numbers)
    else:
        monkeypatch.setattr(syncs, what, fails)
    place.sync()
    assert disk.synced == 1


def test_a_sync_that_fails_or_is_of_another_file_is_not_counted(place: Place, disk: Disk) -> None:
    def fails() -> None:
        raise OSError(5, "no such luck")

    disk.meanwhile = fails
    with pytest.raises(OSError, match="luck"):
        place.sync()
    assert (disk.synced, place.counted()) == (1, [1, 0])  # not again: the kernel says it once
    disk.meanwhile = lambda: os.rename(place.path, place.path + ".gone")
    place.sync()
    assert place.counted() == [2, 0]


_STOPS = """
import os, signal, sys
from holdfast.store import syncs
os.major = lambda device: 8
os.fdatasync = lambda fd: (print("at it", flush=True), os.kill(os.getpid(), int(sys.argv[3])))
fd = os.open(sys.argv[1], os.O_RDWR)
syncs.sync(fd, *sys.argv[1:3])
"""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_nobody_depends_on_one_that_does_not_come_back(place: Place, disk: Disk, how: int) -> None:
    argv = [sys.executable, "-c", _STOPS, place.path, place.numbers, str(int(how))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline() == b"at it\n"
        until(lambda: state_of(other.pid) in "TZ")
        place.sync()
        assert (disk.synced, place.counted()) == (1, [2, 2])
        place.sync()
        os.kill(other.pid, signal.SIGCONT) if how == signal.SIGSTOP else None
    assert (disk.synced, place.counted()) == (2, [3, 3])  # what came too late was not counted


_STOPS_BEFORE = """
import os, signal, sys
from holdfast.store import syncs
os.major = lambda device: 8
begin = syncs._begin
def stops(own, mine):
    print("at it", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return begin(own, mine)
syncs._begin = stops
fd = os.open(sys.argv[1], os.O_RDWR)
syncs.sync(fd, *sys.argv[1:3])
"""


def test_one_that_is_stopped_before_it_begins_is_left_behind(
    place: Place, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []
    in_time = syncs.in_time

    def waits(seconds: float, wait: Callable[[], None]) -> bool:
        waited.append(in_time(seconds, wait))
        return waited[-1]

    monkeypatch.setattr(syncs, "in_time", waits)
    with subprocess.Popen(
        [sys.executable, "-c", _STOPS_BEFORE, place.path, place.numbers], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"at it\n"
        until(lambda: state_of(other.pid) == "T")
        try:
            place.sync()
            assert (disk.synced, place.counted()) == (1, [1, 0])
            place.sync()  # leads the next, after a look at that one
            place.sync()
            assert (disk.synced, place.counted(), waited) == (3, [3, 3], [False, False])
        finally:
            os.kill(other.pid, signal.SIGCONT)
    assert (other.returncode, place.counted()) == (0, [3, 3])


def test_nobody_begins_while_another_is_about_to_write_so(place: Place, disk: Disk) -> None:
    other = os.open(place.numbers, os.O_RDWR | os.O_CREAT, 0o600)
    syncs.lock(other, syncs.TRY, fcntl.F_WRLCK, syncs._DOOR)
    place.sync()
    assert disk.synced == 1
    assert os.fstat(other).st_size == 0
    os.close(other)
    place.sync()
    assert (disk.synced, place.counted()) == (2, [1, 1])


def test_a_thread_and_a_lock_beside_it_do_no_harm(place: Place, disk: Disk) -> None:
    with turn(place.numbers, 10):
        place.sync()
        thread = threading.Thread(target=place.sync)
        thread.start()
        thread.join()
    assert disk.synced == 2
