"""A plan carried out on one file of the client's, in an order that any kill survives."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from holdfast.app import Holdfast
from holdfast.disk import files
from holdfast.errors import HoldfastError
from holdfast.install import record
from holdfast.install.place import Place
from holdfast.install.plan import Plan
from holdfast.memory import swap

_TRIES = 50


def settle(app: Holdfast, target: Place, next_plan: Callable[[], Plan]) -> Plan:
    """Do what is planned; all over again when someone else wrote meanwhile. Needs the lock."""
    aside = temporary(app, target)
    with suppress(FileNotFoundError):
        os.unlink(aside)  # left by a process that was killed
    for _ in range(_TRIES):
        todo = next_plan()
        known = record.of(app.home, target.path)
        wiring = todo.wiring
        if wiring and todo.base is not None:
            wiring = replace(wiring, backup=record.back_up(app.home, todo.base))
        if todo.before is not None and todo.after != todo.before:
            record.back_up(app.home, todo.before)
        if wiring and wiring != known:
            record.save(app.home, target.path, wiring)
        if todo.after != todo.before:
            files.make_dir(target.folder)
            if not swap.put(target.path, todo.before, todo.after, aside):
                continue
        if known and not wiring:
            record.save(app.home, target.path, None)
        return todo
    raise HoldfastError(
        f"{target.path} was changed by another program each of {_TRIES} times it was to be replaced. "
        "It is as that program left it; run this again when it is quiet"
    )


def temporary(app: Holdfast, target: Place) -> str:
    """Ours alone while we hold our home's lock; others may have other homes."""
    name = os.path.basename(target.named)
    return f"{target.folder}/.{name}.holdfast-{record.sha256(app.home.root.encode())[:8]}"


def remove_folders(made: list[str]) -> None:
    for folder in reversed(made):
        with suppress(OSError):  # someone else uses it by now
            os.rmdir(folder)
