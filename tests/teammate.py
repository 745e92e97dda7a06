"""A machine of a team: its own home and clones, its own processes, hooks as the client runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.app import Holdfast
from holdfast.disk import trail
from holdfast.team import sync as team
from holdfast.team.sync import Round
from hooks import PACKAGE, SAFETY_S, Transcript, event, run_hook
from repository import PLAIN

ORIGIN = "https://git.example.org/harbour/tidegate.git"
PROJECT = "git.example.org/harbour/tidegate"


class Machine:
    """`url` is that of the team's store; "": it is in none. `ahead_s`: how wrong its clock is."""

    def __init__(self, root: Path, url: str = "", ahead_s: int = 0) -> None:
        self.root, self.home, self.url, self.ahead_s = root, root / "holdfast", url, ahead_s
        self.project = self.cloned("tidegate")

    @property
    def env(self) -> dict[str, str]:
        """Of commands and services. A shifted clock is one line in a module that Python loads at its
        start."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "HOLDFAST_HOME": str(self.home),
            "HOLDFAST_TEAM_MACHINE": self.root.name,
            "PYTHONPATH": str(PACKAGE.parent),
            **PLAIN,
        }
        if self.url:
            env["HOLDFAST_STORE_URL"] = self.url
        if self.ahead_s:
            away = self.root / "clock"
            away.mkdir(exist_ok=True)
            (away / "sitecustomize.py").write_text(
                f"import time\nreal = time.time\ntime.time = lambda: real() + {self.ahead_s}\n"
            )
            env["PYTHONPATH"] = f"{away}:{env['PYTHONPATH']}"
        return env

    def cloned(self, name: str, origin: str = ORIGIN) -> Path:
        """A repository as if cloned from there: nothing is fetched, it only says so."""
        place = self.root / name
        place.mkdir(parents=True)
        for words in (
            ("init", "-q", "-b", "main", "."),
            *((("remote", "add", "origin", origin),) if origin else ()),
        ):
            subprocess.run(
                ["git", *words], cwd=place, env={**os.environ, **PLAIN}, check=True, timeout=SAFETY_S
            )
        return place

    def started(self, *words: str, at: Path | None = None, **more: Any) -> subprocess.Popen:
        argv = [sys.executable, "-m", "holdfast", *words]
        return subprocess.Popen(argv, env=self.env, cwd=at or self.project, **more)

    def tried(self, *words: str, at: Path | None = None) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "holdfast", *words]
        return subprocess.run(
            argv,
            env=self.env,
            cwd=at or self.project,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def say(self, *words: str, at: Path | None = None) -> Any:
        """What a command gives, as JSON; it has to succeed."""
        done = self.tried(*words, "--json", at=at)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def sync(self, *words: str) -> Any:
        return self.say("sync", *words)

    @property
    def app(self) -> Holdfast:
        """For what need not be a process of its own."""
        return Holdfast.open(self.env)

    def round(self, everything: bool = False) -> Round:
        return team.round(self.app, everything=everything)

    def note(self, number: int, session: str = "s1") -> None:
        """As hooks do."""
        trail.note(self.app.home, "test.noted", session=session, number=number)

    def hook(self, name: str, session: str = "s1", at: Path | None = None, **fields: object) -> str:
        """What it says."""
        place = at or self.project
        transcript = self.transcript(session)
        payload = event(name, session=session, transcript=transcript.path, cwd=str(place), **fields)
        done = run_hook(payload, self.home, cwd=place)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def transcript(self, session: str = "s1") -> Transcript:
        path = self.root / ".claude" / "projects" / "p" / f"{session}.jsonl"
        fresh = not path.exists()
        made = Transcript(path)
        if fresh:
            made.prompt("dredge the lock before the tide comes in")
            for number in range(3):
                made.answer(50_000 + 1000 * number, f"Looked at gate {number}.")
        return made

    def begin(self, session: str = "s1", at: Path | None = None) -> None:
        """A session that holdfast has heard of."""
        self.hook("SessionStart", session, at)

    def take(self, session: str = "s1") -> dict[str, Any]:
        found: dict[str, Any] = self.say("checkpoint", "take", "--session", session)
        return found


def until(true: Callable[[], object], seconds: float = 60) -> object:
    """What it says, once that is something."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)
    return found
