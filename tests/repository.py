"""A real repository with real commits, and the hook that spools them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.store import projects
from hooks import PACKAGE, PYTHON, SAFETY_S, environ

GITHOOK = PACKAGE / "githook.py"
LINE = f"[ -r '{GITHOOK}' ] && '{PYTHON}' -I -S '{GITHOOK}' >/dev/null 2>&1 </dev/null || :"
#: Nobody's configuration, and an identity.
PLAIN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{
        f"GIT_{who}_{what}": "who@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def hang(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A git that does not answer, and nobody who waits for it for long."""
    folder.mkdir()
    git = folder / "git"
    git.write_text("#!/bin/sh\nexec sleep 60\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(projects, "_PATIENCE_S", 0.2)


class Repository:
    def __init__(self, root: Path, home: Path, hooked: bool = True) -> None:
        self.root = root
        self.home = home
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", ".")
        if hooked:
            self.hook(f"#!/bin/sh\n{LINE}\n")

    def git(self, *words: str | bytes, at: Path | None = None, **env: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.root,
            env=environ(self.home, **PLAIN) | env,
            capture_output=True,
            timeout=SAFETY_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("utf-8", "replace").strip()

    def hook(self, text: str, name: str = "post-commit") -> Path:
        path = self.root / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def commit(
        self, message: str = "dredge the lock", *flags: str, at: Path | None = None, **env: str
    ) -> str:
        """A new file, committed: the commit's id."""
        place = at or self.root
        name = f"file-{len(list(place.iterdir()))}-{time.monotonic_ns()}"
        (place / name).write_text(name)
        self.git("add", name, at=at)
        self.git("commit", "-q", "--allow-empty", "-m", message, *flags, at=at, **env)
        return self.git("rev-parse", "HEAD", at=at)


def spooled(home: Path) -> list[dict]:
    found = sorted((home / "spool").glob("*/*.json"))
    return [json.loads(path.read_text()) | {"kind": path.name.split(".")[1]} for path in found]


def saved(home: Path, environment: str = "development") -> list[dict]:
    path = home / "environments" / f"{environment}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def settled(home: Path, times: int | None = None, environment: str = "development") -> list[dict]:
    """The saves, once the child that a hook has left behind is done."""
    until = time.monotonic() + SAFETY_S
    while time.monotonic() < until:
        waiting = list((home / "spool").glob("*/*.json"))
        if not waiting and (times is None or len(saved(home, environment)) >= times):
            return saved(home, environment)
        time.sleep(0.02)
    raise AssertionError(f"still spooled: {waiting}; saved: {saved(home, environment)}")
