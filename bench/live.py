"""What holdfast adds to a tool call in a session of the real client: python bench/live.py

Sessions of many tool calls against the scripted model. A round is one of each kind, in a random order: no
hooks, the hooks that `holdfast install` wires, and a control, a hook the client waits for that costs six
bare interpreter starts: it works on meanwhile, so that two or so are not seen. The time of a call is the
gap between two responses in the transcript.

A processor with nothing to do falls asleep, and where it is a virtual one it takes long to wake: sessions
with hooks, which keep it awake, then come out faster than those without. So a process of the lowest kind,
which runs only where nothing else wants to, keeps each of them awake all the time (`--asleep`: none does).

Sessions differ by more than the goal, and within one a few calls take many times as long as others. So a
session counts by the mean of its gaps without the shortest and longest tenth (the whole mean is shown
beside it), and holdfast by the difference to the session without hooks of the same round, in bare starts of
that round. Told is the median of these differences and the interval that holds it in 95 of 100 cases,
whatever their distribution. Ends with 0 only if all of the interval lies below the goal and all of the
control's above it. `--json` keeps rounds, so that they can be played in several runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from harness import PYTHON, REPO, progress, run, table

sys.path.insert(0, str(REPO / "src"))
sys.path.insert(0, str(REPO / "tests"))

from client.binary import ensure
from client.client import Machine, wired
from holdfast.app import Holdfast
from holdfast.install.operations import install

GOAL, CONTROL_STARTS = 1.5, 6.0
NONE, OURS, CONTROL = "no hooks", "holdfast, as installed", "control: a hook of six starts"
KINDS = (NONE, OURS, CONTROL)
_TRIM, _SURE = 0.1, 0.95


class Round(NamedTuple):
    bare_s: float
    gaps_s: dict[str, list[float]]

    def added(self, kind: str, *, trim: float = _TRIM) -> float:
        """In bare starts, to a call."""
        each, without = (trimmed(self.gaps_s[one], trim) for one in (kind, NONE))
        return (each - without) / self.bare_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="rounds played before, to which these are added")
    parser.add_argument("--asleep", action="store_true", help="let processors sleep")
    args = parser.parse_args()
    played: list[Round] = []
    if args.json and args.json.exists():
        played = [Round(**json.loads(line)) for line in args.json.read_text().splitlines()]
    with nullcontext() if args.asleep else awake():
        for number in range(args.rounds):
            progress(f"round {number + 1} of {args.rounds}")
            played.append(play(args.calls))
            if args.json:
                with args.json.open("a") as file:
                    file.write(json.dumps(played[-1]._asdict()) + "\n")
    progress("")
    text, good = judged(played, args.calls)
    print(text)
    sys.exit(0 if good else 1)


@contextmanager
def awake() -> Iterator[None]:
    idle = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    argv = [PYTHON, "-I", "-S", "-c", idle]
    kept = [subprocess.Popen(argv) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in kept:
            one.kill()
            one.wait()


def play(calls: int) -> Round:
    binary, gaps, bare = ensure(), {}, []
    for kind in random.sample(KINDS, len(KINDS)):
        bare += [run([PYTHON, "-I", "-S", "-c", "pass"], b"", {}).wall_s for _ in range(15)]
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            machine = Machine(Path(folder), binary)
            gaps[kind] = _gaps(machine, _settings(machine, kind, statistics.median(bare)), calls)
    return Round(statistics.median(bare), gaps)


def _settings(machine: Machine, kind: str, bare_s: float) -> dict:
    if kind == NONE:
        return {}
    if kind == CONTROL:  # one start is its own
        wait = f"import time; time.sleep({(CONTROL_STARTS - 1) * bare_s})"
        return wired([PYTHON, "-I", "-S", "-c", wait], ["PostToolBatch"])
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}
    settings: dict = json.loads(Path(install(Holdfast.open(environ)).settings).read_text())
    return settings


def _gaps(machine: Machine, settings: dict, calls: int) -> list[float]:
    turns = [{"say": f"step {n}", "run": f"echo {n}", "context": 20_000 + 100 * n} for n in range(calls)]
    script = {"main": [*turns, {"say": "finished", "context": 41_000}]}
    done = machine.run(script, ["-p", "go", "--model", "claude-opus-4-6"], settings=settings, probed=False)
    if done.returncode or done.trouble or done.unplayed:
        raise RuntimeError(f"the session did not go to its end: {done}")
    (lines,) = machine.transcripts.values()
    times: dict[str, float] = {}  # of a response, when its last line was written
    for line in lines:
        if line["type"] == "assistant":
            times[line["message"]["id"]] = datetime.fromisoformat(line["timestamp"]).timestamp()
    at = [*times.values()]
    return [after - before for before, after in pairwise(at)]


def trimmed(values: list[float], share: float) -> float:
    cut = int(len(values) * share)
    return statistics.mean(sorted(values)[cut : len(values) - cut])


def interval(values: list[float], sure: float = _SURE) -> tuple[float, float]:
    """Of the median: how many of n lie below it is a matter of n tossed coins. Without an end where there
    are too few."""
    values, n = sorted(values), len(values)
    outside, below = 0.0, -1  # chance that fewer than this many lie below, and which value that names
    while below + 1 < n / 2 and outside + 2 * math.comb(n, below + 1) / 2**n <= 1 - sure:
        below += 1
        outside += 2 * math.comb(n, below) / 2**n
    return (values[below], values[n - 1 - below]) if below >= 0 else (-math.inf, math.inf)


def judged(played: list[Round], calls: int) -> tuple[str, bool]:
    rows, found = [], {}
    for kind in KINDS:
        ms = [
            1000 * statistics.median(each)
            for each in zip(*(_figures(one, kind) for one in played), strict=True)
        ]
        row = [kind, *(f"{figure:.1f}" for figure in ms)]
        if kind == NONE:
            rows.append([*row, "", "", ""])
            continue
        added = [one.added(kind) for one in played]
        low, high = found[kind] = interval(added)
        whole = statistics.median(one.added(kind, trim=0.0) for one in played)
        rows.append(
            [*row, f"{statistics.median(added):+.2f}", f"{low:+.2f} to {high:+.2f}", f"{whole:+.2f}"]
        )
    head = [f"{len(played)} × {calls} calls", "median ms", "trimmed mean", "mean", "p95"]
    head += ["added, × bare start", "95 of 100", "of the whole mean"]
    bare = statistics.median(one.bare_s for one in played) * 1000
    good, caught = found[OURS][1] <= GOAL, found[CONTROL][0] > GOAL
    said = f"bare start {bare:.1f} ms; goal: at most {GOAL} added: {'met' if good else 'not shown'}"
    said += f"; the control is {'caught' if caught else 'NOT caught'}"
    return f"{table(head, rows)}\n\n{said}", good and caught


def _figures(one: Round, kind: str) -> list[float]:
    gaps = one.gaps_s[kind]
    p95 = statistics.quantiles(gaps, n=20)[-1]
    return [statistics.median(gaps), trimmed(gaps, _TRIM), statistics.mean(gaps), p95]


if __name__ == "__main__":
    main()
