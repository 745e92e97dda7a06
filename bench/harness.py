"""Processes timed side by side: every contender once per round, in a random order.

The machine is shared and noisy, so a figure is a ratio to a reference of the same run, and wall and
CPU time are both shown: a hook that sleeps costs no CPU.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parent.parent
LAUNCH = REPO / "src" / "holdfast" / "launch.py"
PYTHON = os.path.realpath(sys.executable)


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    rss_mb: float


class Contender(NamedTuple):
    name: str
    argv: list[str]
    stdin: bytes = b""
    prepare: Callable[[], None] = lambda: None
    environ: dict[str, str] = {}  # noqa: RUF012  beside what all of them have


def run(argv: list[str], stdin: bytes, environ: dict[str, str]) -> Cost:
    read, write = os.pipe()
    if len(stdin) > 60_000:
        raise ValueError("larger than a pipe holds: the benchmark would wait for its reader")
    os.write(write, stdin)
    os.close(write)
    actions = [
        (os.POSIX_SPAWN_DUP2, read, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environ, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - began
    os.close(read)
    if status:
        raise RuntimeError(f"{argv} ended with status {status}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def rounds(contenders: list[Contender], times: int, environ: dict[str, str]) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {c.name: [] for c in contenders}
    for done in range(times + 2):
        for contender in random.sample(contenders, len(contenders)):
            contender.prepare()
            cost = run(contender.argv, contender.stdin, environ | contender.environ)
            if done >= 2:  # the first two warm the caches
                costs[contender.name].append(cost)
        progress(f"round {min(done, times)} of {times}")
    progress("")
    return costs


def median(costs: list[Cost]) -> Cost:
    wall, cpu, rss = (statistics.median(column) for column in zip(*costs, strict=True))
    return Cost(wall, cpu, rss)


_SAY_EVERY_S = 20.0
_said_at = time.monotonic()


def progress(text: str) -> None:
    """How far it is: on a terminal in place, elsewhere now and then a line."""
    global _said_at  # noqa: PLW0603
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text and time.monotonic() - _said_at >= _SAY_EVERY_S:
        _said_at = time.monotonic()
        print(text, file=sys.stderr, flush=True)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)
