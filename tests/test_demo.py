"""The demo: through the real engine, and nothing of it is left, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.demo.script import whole
from hooks import SAFETY_S


@contextmanager
def demo(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen, Path]]:
    """Running, with the stage it has made."""
    environ = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder / "nowhere")}
    argv = [sys.executable, "-m", "holdfast", "demo", *words]
    running = subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True)
    assert running.stdout
    try:
        assert re.match(r"open +http://127\.0\.0\.1:\d+/dashboard/enter\?once=", running.stdout.readline())
        (stage,) = folder.glob("holdfast-demo-*")
        yield running, stage
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def is_gone(stage: Path) -> bool:
    """Sooner or later: the folder, and every process that was started in it."""
    for _ in range(10 * SAFETY_S):
        left = [path for path in Path("/proc").glob("[0-9]*/environ") if str(stage).encode() in _read(path)]
        if not stage.exists() and not left:
            return True
        time.sleep(0.1)
    return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_it_ends_by_itself_and_says_so(tmp_path: Path) -> None:
    with demo(tmp_path, "--seconds", "4", "--speed", "600") as (running, stage):
        assert running.stdout
        said = running.stdout.read()
        assert running.wait(SAFETY_S) == 0
        assert "nothing of it is left" in said
        assert is_gone(stage)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_it_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    with demo(tmp_path) as (running, stage):
        for _ in range(10 * SAFETY_S):
            if list(stage.glob("home/sessions/*/state.json")):
                break
            time.sleep(0.1)
        assert list(stage.glob("home/sessions/*/state.json"))
        running.send_signal(number)
        running.wait(SAFETY_S)
        assert is_gone(stage)


def test_the_script_has_hours_compactions_and_three_agents() -> None:
    script = whole()
    assert script[-1].at > 3 * 3600
    assert sum(step.hook == "PreCompact" for step in script) == 2
    assert len({step.agent for step in script if step.agent}) == 3
    assert [step.at for step in script] == sorted(step.at for step in script)
