"""Who holds a task, and whether that one is known to be dead.

A process is known by its machine, its number and the moment it was started: numbers are given again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from holdfast.disk import sessions
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged
from holdfast.store.clocks import boot

#: Behind a machine: its process was named by whoever claimed.
_NAMED = " named"


@dataclass(frozen=True)
class Holder:
    """`name` is a session, `session/agent`, or whatever people call themselves. Without a process only the
    lease says when it is gone."""

    name: str
    machine: str = ""
    process: int = 0
    started: int = 0


def here(name: str, process: int = 0, is_named: bool = False) -> Holder:
    """Of this machine; with a process that runs, gone as soon as that is. One that `is_named` is not the
    client of the session: that may be taken up by another, this one ends for good."""
    started = _started(process) if process else 0
    if process and not started:
        raise BadInput(f"no process {process} runs here; name one that does, or none")
    return Holder(name, this_machine() + (_NAMED if is_named else ""), process, started)


def is_gone(home: Home, holder: Holder) -> bool:
    """Whether it is known to be. Of another machine nothing is known: there its lease counts alone."""
    machine = holder.machine.removesuffix(_NAMED)
    if not holder.process or machine != this_machine():
        return False
    runs = _started(holder.process) == holder.started
    if not runs and holder.machine != machine:
        return True
    session = _session(home, holder.name)
    if session is None:
        return not runs
    process, ended = session
    # A session that ended may have been taken up again, in another process.
    return ended or not (runs if process == holder.process else _started(process))


def _session(home: Home, name: str) -> tuple[int, bool] | None:
    """(process of its client, whether it has ended), where hooks have heard of it."""
    try:
        state = sessions.peek(home, name.partition("/")[0])
    except (BadInput, Damaged):
        return None
    return (state.heard.process, bool(state.heard.ended)) if state and state.heard.process else None


@cache
def this_machine() -> str:
    """This start of it, and the namespace in which process numbers mean something."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{boot()} {space}".strip()


def _started(process: int) -> int:
    """When a process was started, in the kernel's ticks; 0 if it does not run, or has ended and nobody has
    asked how."""
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            said = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    state, *fields = said.rpartition(b") ")[2].split()
    return 0 if state in (b"Z", b"X") else int(fields[18])
