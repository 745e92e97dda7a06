"""What the watcher costs: python bench/watch.py [--sessions 200] [--seconds 60] [--interval 30]

So many sessions of one home, each with a transcript and a state as long work leaves them; every few seconds
each takes another turn, told by a real hook. The watcher runs beside them as people run it. Measured are
its CPU time, as a share of one core, and its peak memory. Reference of the same run: the interpreter by
itself, and the command that only looks once.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import made
from harness import LAUNCH, PYTHON, progress, table
from harness import run as once

GOAL_PERCENT, GOAL_MB = 5.0, 60.0


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--sessions", type=int, default=200)
    asked.add_argument("--seconds", type=int, default=60)
    asked.add_argument("--interval", type=int, default=30)
    asked.add_argument(
        "--turn-every", type=float, default=10.0, help="seconds between two turns of a session"
    )
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-watch-") as place:
        folder = Path(place)
        environ = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder), "PATH": os.defpath}
        writers = _sessions(folder, given.sessions, environ)
        bare = once([PYTHON, "-I", "-S", "-c", "pass"], b"", environ)
        look = [sys.executable, "-m", "holdfast", "watch", "--once", "--json"]
        single = once(look, b"", environ)
        share, mb, turns = _watched(writers, given, environ)
    times = f"{single.cpu_s / bare.cpu_s:.0f}"
    rows = [
        ["python -I -S -c pass", f"{bare.cpu_s * 1000:.0f} ms", f"{bare.rss_mb:.0f}", "1"],
        ["holdfast watch --once", f"{single.cpu_s * 1000:.0f} ms", f"{single.rss_mb:.0f}", times],
        [f"holdfast watch --interval {given.interval}", f"{share:.1f} % of one core", f"{mb:.0f}", ""],
    ]
    print(table([f"{given.sessions} sessions, {turns} turns meanwhile", "CPU", "peak MB", "× bare"], rows))
    return 0 if share <= GOAL_PERCENT and mb <= GOAL_MB else 1


def _sessions(folder: Path, many: int, environ: dict[str, str]) -> list[tuple[made.Session, bytes]]:
    """Each has begun by a hook, so that its client is known: this process."""
    writers = []
    for number in range(many):
        (folder / "projects").mkdir(exist_ok=True)
        writer = made.Session(folder / "projects" / f"s{number}.jsonl", session=f"s{number}")
        writer.grow_to(400_000)
        hook = writer.post_tool_batch()
        once([PYTHON, "-I", "-S", str(LAUNCH)], hook, environ)
        writers.append((writer, hook))
        progress(f"session {number + 1} of {many}")
    progress("")
    return writers


def _watched(
    writers: list[tuple[made.Session, bytes]], given: argparse.Namespace, environ: dict[str, str]
) -> tuple[float, float, int]:
    """(percent of one core, peak memory in MB, turns that the sessions took meanwhile)."""
    command = [sys.executable, "-m", "holdfast", "watch", "--interval", str(given.interval)]
    watcher = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    began, turns = time.monotonic(), 0
    step = given.turn_every / len(writers)
    while time.monotonic() - began < given.seconds:
        writer, hook = writers[turns % len(writers)]
        writer.turn()
        subprocess.run(
            [PYTHON, "-I", "-S", str(LAUNCH)], input=hook, env=environ, check=True, capture_output=True
        )
        turns += 1
        time.sleep(max(0.0, began + turns * step - time.monotonic()))
        progress(f"{time.monotonic() - began:.0f} of {given.seconds} seconds")
    progress("")
    took = time.monotonic() - began
    watcher.send_signal(signal.SIGINT)
    _, status, used = os.wait4(watcher.pid, 0)
    watcher.returncode = os.waitstatus_to_exitcode(status)
    if watcher.returncode:
        raise RuntimeError(f"the watcher ended with {watcher.returncode}")
    return 100 * (used.ru_utime + used.ru_stime) / took, used.ru_maxrss / 1024, turns


if __name__ == "__main__":
    sys.exit(main())
