"""A task's process: started with its words as data, read, ended with all it has started, found again.

Each has a session of its own, so that Ctrl-C reaches the conductor alone and a signal all that belongs to a
task; and a mark in its environment, by which what a killed conductor left running is found.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process

from holdfast.core.plain import one_line
from holdfast.core.redact import Redactor
from holdfast.core.spoken import tail
from holdfast.disk import files
from holdfast.errors import HoldfastError

MARK = "HOLDFAST_RUN"
_PROCESSES = "/proc"
#: Seconds between asking a process to end and ending it.
GRACE_S = 5.0
_KEPT = 1 << 18
_FLUSH_S = 2.0
#: What drives a terminal. Directly before a secret it would hide where that begins.
_COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
#: What a client tells its own children of itself: a task is none of them.
_INHERITED = (
    "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_PID CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ATTENDED "
    "CLAUDE_ENV_FILE CLAUDE_PROJECT_DIR CLAUDE_EFFORT"
).split()


class Log:
    """The end of what a task printed, redacted as a whole: half a secret is not known as one."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        self.trouble = ""
        self._path = path
        self._redactor = redactor
        self._printed = b""
        self._cut = False
        self._due = 0.0

    def add(self, piece: bytes) -> None:
        self._printed += piece
        if len(self._printed) > 2 * _KEPT:
            self._printed, self._cut = self._printed[-_KEPT:].partition(b"\n")[2], True
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        words = _COLOURS.sub("", self._printed.decode("utf-8", "replace"))
        words = self._redactor.text(tail(words, _KEPT) if self._cut or len(words) > _KEPT else words)
        lines = [line[: len(line) - len(line.lstrip(" "))] + one_line(line) for line in words.split("\n")]
        self._due = time.monotonic() + _FLUSH_S
        try:
            files.replace(self._path, "\n".join(lines).encode("utf-8", "replace"), durable=False)
            self.trouble = ""
        except OSError as problem:  # no reason to stop reading: whoever prints would wait for ever
            self.trouble = str(problem)


class Child:
    def __init__(self, process: Process, log: Log, words: bytes) -> None:
        self._process = process
        self.log = log
        self.pid = process.pid
        self._told = asyncio.create_task(self._tell(words))
        self._read = asyncio.create_task(self._take())

    async def _tell(self, words: bytes) -> None:
        pipe = self._process.stdin
        if pipe is None:
            return
        with contextlib.suppress(ConnectionError):  # it does not want to know
            pipe.write(words)
            await pipe.drain()
        with contextlib.suppress(ConnectionError):
            pipe.close()

    async def _take(self) -> None:
        pipe = self._process.stdout
        while pipe is not None and (piece := await pipe.read(1 << 16)):
            self.log.add(piece)

    async def ended(self, timeout_s: float) -> int | None:
        """Its exit status; None if the time is over."""
        try:
            return await asyncio.wait_for(self._process.wait(), timeout_s)
        except TimeoutError:
            return None

    async def end(self) -> None:
        """All of it, also what the task left in the background."""
        for number, wait in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            if not _group(self.pid, number):
                break
            end = time.monotonic() + wait
            while _group(self.pid, 0) and time.monotonic() < end:
                await asyncio.sleep(0.02)
        self._told.cancel()
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(self._read, 1)
        self.log.write()


async def start(
    argv: list[str], words: str, by_stdin: bool, folder: str, environ: dict[str, str], mark: str, log: Log
) -> Child:
    environ = {name: value for name, value in environ.items() if name not in _INHERITED}
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=PIPE if by_stdin else DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=folder,
        env={**environ, "PWD": folder, MARK: mark},
        start_new_session=True,
    )
    return Child(process, log, words.encode("utf-8", "surrogateescape") if by_stdin else b"")


def _group(leader: int, number: int) -> bool:
    """Whether there was anybody to signal. A leader nobody has waited for yet counts."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_leftovers(mark: str, known: list[int]) -> list[int]:
    """End what an earlier conductor with this mark has started and left behind; who that was. Where nothing
    shows which processes those are, a `known` one that is still there is not taken for ours: its number may
    be somebody else's by now."""
    if not os.path.isdir(_PROCESSES):
        if left := [pid for pid in known if _group(pid, 0)]:
            raise HoldfastError(
                f"a task may still be running as process {left[0]}; look, end it, and run this again"
            )
        return []
    found: dict[int, None] = {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + GRACE_S
        while (left := _signalled(mark, number)) and time.monotonic() < end:
            found |= dict.fromkeys(left)
            time.sleep(0.05)
    return [*found]


def _signalled(mark: str, number: int) -> list[int]:
    found = []
    for name in os.listdir(_PROCESSES):
        # We may have been started by one of them ourselves.
        if name.isdecimal() and int(name) != os.getpid() and _is_of(int(name), mark):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                victim = os.pidfd_open(int(name))  # not its number: that may be somebody else's by then
                try:
                    if _is_of(int(name), mark):
                        signal.pidfd_send_signal(victim, number)
                        found.append(int(name))
                finally:
                    os.close(victim)
    return found


def _is_of(pid: int, mark: str) -> bool:
    try:
        with open(f"{_PROCESSES}/{pid}/environ", "rb") as file:
            return os.fsencode(f"{MARK}={mark}") in file.read().split(b"\0")
    except OSError:  # gone, or not ours
        return False
