"""Others write the same file: the client, which knows nothing of our lock, and installs beside this one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from holdfast.install import commands, record
from holdfast.install.operations import install, uninstall
from holdfast.memory import swap
from hooks import SAFETY_S
from install.conftest import Machine
from install.steps import Steps, start

ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
ORIGINAL = b'{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n'


def add_key(path: Path, key: str) -> None:
    """As the client does it: read, change, replace by rename; no lock, no second look."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        data = {}
    data[key] = 1
    temporary = path.with_name("client.tmp")
    temporary.write_text(json.dumps(data, indent=2))
    temporary.rename(path)


def put_in(machine: Machine) -> None:
    install(machine.app)


def take_out(machine: Machine) -> None:
    uninstall(machine.app)


def lost_at(
    machine: Machine, run: Callable[[Machine], None], original: bytes | None
) -> tuple[list[str], int]:
    """One foreign write before each system call in turn: before which ones it was lost, of how many."""
    lost: list[str] = []
    for step in range(1000):
        uninstall(machine.app)
        machine.settings.unlink(missing_ok=True)
        if original is not None:
            machine.write(original)
        if run is take_out:
            install(machine.app)
        calls: list[str] = []

        def write(call: str, calls: list[str] = calls) -> None:
            calls.append(call)
            add_key(machine.settings, "theirs")

        with Steps(step, write):
            run(machine)
        if not calls:
            return lost, step
        found = machine.settings.read_bytes() if machine.settings.exists() else b"{}"
        lost += calls if "theirs" not in json.loads(found) else []
        assert (b"/holdfast/launch.py" in found) == (run is put_in), (step, calls)
    raise AssertionError("it never ends")


@pytest.mark.parametrize("run", [put_in, take_out])
@pytest.mark.parametrize("original", [ORIGINAL, None], ids=["a file", "no file"])
def test_a_write_of_the_client_at_any_step_is_kept(
    machine: Machine, run: Callable[[Machine], None], original: bytes | None
) -> None:
    machine.client.mkdir()
    lost, steps = lost_at(machine, run, original)
    assert lost == []
    assert steps >= 30


def test_where_names_cannot_be_exchanged_only_the_last_moment_is_open(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control for the one above, and what a file system without renameat2 gets."""
    monkeypatch.setattr(swap, "exchange", lambda one, other: False)
    lost, _ = lost_at(machine, put_in, ORIGINAL)
    assert set(lost) <= {"close", "exchange", "rename"}  # after the last look
    assert 1 <= len(lost) <= 3


def careless(path: str, expected: bytes | None, new: bytes | None, temporary: str) -> bool:
    """The control: a rename without a look at what is there."""
    mine = f"{temporary}-{os.getpid()}"
    Path(mine).write_bytes(new or b"{}")
    os.rename(mine, path)
    return True


@contextmanager
def no_lock(home: object):
    yield


def crowd(machine: Machine) -> tuple[set[str], set[str]]:
    """64 processes install and uninstall while a client keeps adding keys: (written, still there).

    The client's read-modify-rename can itself only lose what WE write, because it is the only foreign
    writer; so every key of its completed writes must be there in the end. It pauses between writes, as
    a client does: a second write in the very moment in which we give back the first would be based on
    ours, and take the first one with it, whatever we do.
    """
    machine.write(ORIGINAL)
    stop = machine.root / "stop"
    deadline = time.monotonic() + 5 * SAFETY_S  # of all of them together, one after the other
    written = machine.root / "written"
    stop.unlink(missing_ok=True)
    written.write_text("")

    def client() -> None:
        random = Random(1)
        with written.open("a") as log:
            for number in range(100_000):
                add_key(machine.settings, f"key{number}")
                log.write(f"key{number}\n")
                log.flush()
                if stop.exists():
                    return
                time.sleep(random.uniform(0.05, 0.15))

    def worker(number: int) -> None:
        for turn in range(100_000):
            (put_in if (number + turn) % 2 else take_out)(machine)
            if turn and len(written.read_text().split()) > 2:  # the client had its turns, too
                return

    children = [start(lambda number=number: worker(number)) for number in range(64)]
    writer = start(client)
    running = list(children)
    try:
        while running and time.monotonic() < deadline:
            json.loads(machine.settings.read_bytes())  # whole, at any time
            running = [pid for pid in running if os.waitid(os.P_PID, pid, ENDED) is None]
            time.sleep(0.001)
    finally:
        stop.touch()
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        codes = [os.waitpid(pid, 0)[1] for pid in (*children, writer)]
    assert set(codes) == {0}
    return set(written.read_text().split()), set(json.loads(machine.settings.read_bytes()))


def test_64_installs_and_uninstalls_lose_no_key_of_the_client(machine: Machine) -> None:
    written, left = crowd(machine)
    assert len(written) > 2  # it did write meanwhile
    assert written <= left
    uninstall(machine.app, verify=True)
    data = json.loads(machine.settings.read_bytes())
    assert {name: data[name] for name in ("model", "hooks")} == json.loads(ORIGINAL)
    assert set(data) == {"model", "hooks", *written}
    install(machine.app)
    uninstall(machine.app)
    assert json.loads(machine.settings.read_bytes()) == data


def test_without_lock_and_comparison_the_same_crowd_loses_keys(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the test above would see it."""
    monkeypatch.setattr(record, "locked", no_lock)
    monkeypatch.setattr(record, "save", lambda *_: None)
    monkeypatch.setattr(commands, "put", lambda _: None)
    monkeypatch.setattr(commands, "remove", lambda _: [])
    monkeypatch.setattr(swap, "put", careless)
    monkeypatch.setattr(record, "back_up", lambda *_: time.sleep(0.005))
    for _ in range(8):  # how much of it meets is chance
        written, left = crowd(machine)
        if written - left:
            return
    pytest.fail("nothing was lost")


def test_a_file_that_never_rests_is_given_up_on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write(ORIGINAL)
    monkeypatch.setattr(swap, "put", lambda *_: False)
    with pytest.raises(Exception, match="changed by another program each of 50 times"):
        install(machine.app)
    assert machine.settings.read_bytes() == ORIGINAL
