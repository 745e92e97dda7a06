"""Killed at any moment: the settings always parse, and running it again ends well."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.install import operations
from holdfast.install.operations import install, uninstall
from holdfast.install.settings import Launcher
from holdfast.memory import swap
from install.conftest import Machine
from install.steps import Steps, die, in_child

ORIGINAL = b'{\r\n\t"a": [1,  2],\r\n\t"hooks": { "Stop": [ ], "PreToolUse": [] }}'
OTHER = Launcher("/opt/python3", "/opt/holdfast/launch.py")


def nothing(machine: Machine) -> None:
    pass


def foreign(machine: Machine) -> None:
    machine.write(ORIGINAL)


def linked(machine: Machine) -> None:
    machine.client.mkdir()
    (machine.root / "dotfiles").mkdir()
    (machine.root / "dotfiles/claude.json").write_bytes(ORIGINAL)
    machine.settings.symlink_to(machine.root / "dotfiles/claude.json")


def wired(machine: Machine) -> None:
    machine.write(ORIGINAL)
    install(machine.app)


def made(machine: Machine) -> None:
    install(machine.app)


def changed(machine: Machine) -> None:
    wired(machine)
    machine.write(machine.settings.read_bytes().replace(b'"a"', b'"mine": 1, "a"'))


def moved(machine: Machine) -> None:
    operations._launcher = lambda: OTHER  # in a process that is about to be killed
    install(machine.app)


def renamed(machine: Machine) -> None:
    swap.exchange = lambda one, other: False
    install(machine.app)


def take_out(machine: Machine) -> None:
    uninstall(machine.app)


def put_in(machine: Machine) -> None:
    install(machine.app)


def purge(machine: Machine) -> None:
    uninstall(machine.app, purge=True)


@dataclass(frozen=True)
class Case:
    prepare: Callable[[Machine], None]
    run: Callable[[Machine], None]
    original: bytes | None  # what uninstalling brings back


MINE = ORIGINAL.replace(b'"a"', b'"mine": 1, "a"').replace(b"[ ]", b"[]")
CASES = [
    Case(foreign, put_in, ORIGINAL),
    Case(nothing, put_in, None),
    Case(linked, put_in, ORIGINAL),
    Case(foreign, renamed, ORIGINAL),
    Case(wired, moved, ORIGINAL),
    Case(changed, moved, MINE),
    Case(wired, take_out, ORIGINAL),
    Case(made, take_out, None),
    Case(changed, take_out, MINE),
    Case(wired, purge, ORIGINAL),
]


def fresh(root: Path, case: Case) -> Machine:
    shutil.rmtree(root, ignore_errors=True)
    machine = Machine(root)
    case.prepare(machine)
    return machine


def found(machine: Machine) -> bytes | None:
    return machine.settings.read_bytes() if machine.settings.exists() else None


def kill_at(machine: Machine, case: Case, step: int) -> bool:
    """Whether it was killed: not if it takes fewer steps."""

    def run() -> None:
        with Steps(step, die):
            case.run(machine)

    ended = in_child(run)
    assert ended in (0, 9)
    return ended == 9


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.prepare.__name__}-{case.run.__name__}")
def test_a_kill_at_every_step(case: Case, tmp_path: Path, record_property: Callable[..., None]) -> None:
    root = tmp_path / "user"
    machine = fresh(root, case)
    old = found(machine)
    assert not kill_at(machine, case, 1 << 30)
    new = found(machine)
    step = 0
    while True:
        machine = fresh(root, case)
        if not kill_at(machine, case, step):
            break
        left = found(machine)
        assert left in (old, new), step
        assert left is None or json.loads(left)
        if step % 2:
            install(machine.app)
        uninstall(machine.app, verify=True)
        assert found(machine) == case.original, step
        names = {path.name for path in machine.client.iterdir()} if machine.client.exists() else set()
        assert names <= {"settings.json", "holdfast"}, step
        assert machine.settings.is_symlink() == (case.prepare is linked)
        step += 1
    assert step >= 30
    record_property("kill points", step)
