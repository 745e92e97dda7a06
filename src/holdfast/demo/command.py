"""`demo`: three sessions of an invented project, sixty times as fast as they would be, to look at."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.app import Holdfast
from holdfast.demo import janitor
from holdfast.demo.player import Player, environ_of
from holdfast.demo.script import Step, whole
from holdfast.disk.home import Home
from holdfast.errors import BadInput, HoldfastError
from holdfast.serve.link import link

_STARTS_S = 30
#: (project, the hook of the script that is soon called, which time, seconds before it): one is about to be
#: compacted, in one three agents begin, and one has only begun.
_SESSIONS = (
    ("tidegate", "PreCompact", 0, 900),
    ("tidegate-admin", "SubagentStart", 0, 420),
    ("tidegate-docs", "UserPromptSubmit", 3, 60),
)


@dataclass(frozen=True)
class Shown:
    sessions: int
    seconds: float

    def __str__(self) -> str:
        return "the demo has ended; nothing of it is left"


def demo(_: Holdfast, *, speed: float = 60.0, seconds: float = 0.0) -> Shown:
    """An example to look at: three sessions through the real engine, in a dashboard; Ctrl-C ends it.

    Parameters
    ----------
    speed
        How many times as fast as it was.
    seconds
        End by itself after so long; 0: when told to.
    """
    if not 1 <= speed <= 10_000:
        raise BadInput(f"--speed is {speed:g}; it takes 1 to 10000")
    if seconds < 0:
        raise BadInput(f"--seconds is {seconds:g}; it takes 0 (until told) or more")
    began = time.monotonic()
    with _stoppable(), _stage() as (folder, url):
        script = whole()
        players = [
            Player(folder, name, number, _since(script, hook, nth, before), speed, script)
            for number, (name, hook, nth, before) in enumerate(_SESSIONS, 1)
        ]
        _say(url, speed)
        try:
            for player in players:
                player.start()
            _wait(began + seconds if seconds else float("inf"))
        finally:
            for player in players:
                player.stopped.set()
            for player in players:
                player.join(_STARTS_S)
    return Shown(len(players), round(time.monotonic() - began, 1))


def _since(script: list[Step], hook: str, number: int, before: float) -> float:
    return max(0.0, [step.at for step in script if step.hook == hook][number] - before)


def _say(url: str, speed: float) -> None:
    lines = (
        f"open   {url}",
        f"       (once, within five minutes: an example, three sessions, {speed:g} × as fast as they were)",
        "within a minute: a window fills up, is saved and compacted, and the session is told what was lost",
        "Ctrl-C ends it and removes all of it",
    )
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _wait(until: float) -> None:
    while time.monotonic() < until:
        time.sleep(min(0.5, max(0.0, until - time.monotonic())))


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and kill both end it in order; a kill that cannot be caught is the janitor's."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _stage() -> Iterator[tuple[Path, str]]:
    """A folder with a service of its own, and the link to it. Both are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-"))
    argv = [sys.executable, os.path.realpath(janitor.__file__), str(folder)]
    keeper = subprocess.Popen(  # noqa: S603
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ_of(folder), start_new_session=True
    )
    assert keeper.stdin
    assert keeper.stdout
    try:
        said = keeper.stdout.readline().decode()
        if not said.startswith("http"):
            raise HoldfastError("the demo's service did not start; does `holdfast serve --port 0`?")
        yield folder, link(Home(str(folder / "home")))
    finally:
        keeper.stdin.close()
        keeper.wait()
        keeper.stdout.close()
