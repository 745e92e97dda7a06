"""A person at the client's screen, without a terminal program: keys in, text out, nothing unbounded.

Steps, each an object:
    {"type": "text"}                      typed, then Enter
    {"press": "escape"}                   one key of _KEYS
    {"see": "regex", "within_s": 20}      in what was drawn since the last step that typed or pressed
    {"event": "Stop", "times": 1}         the probe hook has been given this event so often, and the
                                          client, whose busy sign moves, has come to rest

Where several clients share a probe, only what was told of this one's `session` counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_ROWS, _COLUMNS = 50, 160
_KEYS = {"enter": "\r", "escape": "\x1b", "down": "\x1b[B", "up": "\x1b[A", "tab": "\t", "ctrl-c": "\x03"}
_WITHIN_S = 25.0
#: Text and Enter that the client reads at once are taken for a paste. So Enter waits until the text was
#: drawn, which a client that is still starting does late, and a moment more.
_ECHO_S = 15.0
_BEFORE_ENTER_S = 0.3
_EXIT_S = 15.0
_QUIET_S = 0.4
#: The client draws by moving the cursor: along the line instead of a space, up and down instead of
#: a line's end.
_ALONG = re.compile(r"\x1b\[\d*[CG]")
_ACROSS = re.compile(r"\x1b\[[\d;]*[ABEFHdf]")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b.", re.S
)


def plain(drawn: bytes) -> str:
    """What was drawn, as text, in the order in which it was drawn."""
    text = _ACROSS.sub("\n", _ALONG.sub(" ", drawn.decode("utf-8", "replace")))
    return _ESCAPES.sub("", text).replace("\r", "")


class TooSlow(Exception):
    """Something that was waited for did not come."""


class Terminal:
    def __init__(
        self, argv: list[str], env: dict[str, str], cwd: str, heard: Path, session: str = ""
    ) -> None:
        self.drawn = bytearray()
        self._since = 0
        self._heard = heard
        self._session = session
        self._counted = 0  # bytes of `heard`: a long session's are too many to read again and again
        self._events: Counter[str] = Counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            _become(argv, env, cwd)

    def play(self, steps: list[dict]) -> None:
        for number, step in enumerate(steps):
            try:
                self._do(step)
            except TooSlow as problem:
                raise TooSlow(f"step {number}, {json.dumps(step)}: {problem}") from None

    def _do(self, step: dict) -> None:
        within_s = step.get("within_s", _WITHIN_S)
        if "type" in step:
            self._send(step["type"])
            last = step["type"].split()[-1]
            self._wait(lambda: last in plain(self.drawn[self._since :]), _ECHO_S)
            self._wait(lambda: False, _BEFORE_ENTER_S)
            self._send(_KEYS["enter"])
        elif "press" in step:
            self._send(_KEYS[step["press"]])
        elif "see" in step:
            wanted = re.compile(step["see"], re.S)
            if not self._wait(lambda: bool(wanted.search(plain(self.drawn[self._since :]))), within_s):
                raise TooSlow(f"not seen within {within_s} s")
        elif "event" in step:
            times = step.get("times", 1)
            if not self._wait(lambda: self._told(step["event"]) >= times, within_s):
                raise TooSlow(f"told {self._told(step['event'])} of {times} times within {within_s} s")
            self._rest(within_s)
        else:
            raise ValueError(f"a step that cannot be done: {step}")

    def _rest(self, within_s: float) -> None:
        """Wait until nothing has been drawn for a moment."""
        end = time.monotonic() + within_s
        seen = -1
        while seen != len(self.drawn) and time.monotonic() < end:
            seen = len(self.drawn)
            self._wait(lambda: False, _QUIET_S)

    def _told(self, event: str) -> int:
        if self._heard.exists():
            with self._heard.open("rb") as file:
                file.seek(self._counted)
                told = file.read()
            whole = told[: told.rfind(b"\n") + 1]
            self._counted += len(whole)
            for line in map(json.loads, whole.splitlines()):
                if self._session in ("", line["session_id"]):
                    self._events[line["hook_event_name"]] += 1
        return self._events[event]

    def _send(self, text: str) -> None:
        self._since = len(self.drawn)
        os.write(self._fd, text.encode())

    def _wait(self, done: Callable[[], bool], within_s: float) -> bool:
        """Read what is drawn until `done`, or the time is over, or nobody draws any more."""
        end = time.monotonic() + within_s
        while not done():
            left = end - time.monotonic()
            if left <= 0 or not self._read(min(left, 0.05)):
                return done()
        return True

    def _read(self, within_s: float) -> bool:
        """False when the client is gone."""
        if not select.select([self._fd], [], [], within_s)[0]:
            return True
        try:
            piece = os.read(self._fd, 1 << 16)
        except OSError:  # how a pty says that its other side was closed
            return False
        self.drawn += piece
        return bool(piece)

    def end(self) -> int:
        """Its exit code. One that does not leave by itself is killed: -9."""
        end = time.monotonic() + _EXIT_S
        while time.monotonic() < end:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return -signal.SIGKILL

    def screen(self) -> str:
        return plain(bytes(self.drawn))


def _become(argv: list[str], env: dict[str, str], cwd: str) -> None:
    """The child: turn into the client, or leave."""
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        os.chdir(cwd)
        os.execve(argv[0], argv, env)
    finally:
        os._exit(127)
