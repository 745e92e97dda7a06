"""A session that hooks meet late, at its compaction: python bench/late.py

PreCompact is the first hook of a session whose transcript nobody has read, in a git repository. Orders and
decisions were said at its front, in its middle and at its end. Shown are what the hook costs, against
`python -I -S -c pass` of the same run, which share of these is in the block, and how long the child that is
left behind takes to read the rest (on its own, at the lowest priority) and what one batch of calls costs
meanwhile. Goals: the slowest of all at most 2 s; all orders and decisions of the newest part told; once the
child is done, all of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import made
from harness import LAUNCH, PYTHON, progress, run, table

GOAL_S = 2.0
_ORDERS = (
    "Always keep the harbour port at 5433, whatever the linter says.",
    "Never touch the tide tables without asking me.",
    "Always name the buoys in Latin, also in tests.",
)
_DECISIONS = (
    "We chose sqlite instead of a server because the lighthouse has no network.",
    "I decided against websockets because the proxy silently drops frames.",
    "We go with polling instead of push because the lamp sleeps.",
)


class Quiet(made.Session):
    """Says nothing that is as good as a decision: which of those are told is another question."""

    def _said(self) -> list[dict]:
        return [{"type": "text", "text": "Reading it."}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, nargs="+", default=[8, 100, 500])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--source", type=Path, default=LAUNCH, help="the launch.py to measure")
    args = parser.parse_args()
    rows, good = [], True
    temporary = tempfile.TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True)
    with temporary as folder:
        for mb in args.mb:
            row, fits = measure(Path(folder), mb, args.rounds, args.source)
            rows.append(row)
            good = good and fits
    head = [
        *("transcript", "wall ms", "slowest ms", "CPU ms", "× bare, CPU", "peak MB"),
        *("told in the block", "newest told", "then read, s", "batch meanwhile, × bare", "told after that"),
    ]
    print(table(head, rows))
    sys.exit(0 if good else 1)


def measure(folder: Path, mb: float, times: int, launch: Path) -> tuple[list[str], bool]:
    path, project = folder / f"{mb:g}.jsonl", folder / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    writer = Quiet(path, session="late")
    for part, (order, decision) in enumerate(zip(_ORDERS, _DECISIONS, strict=True), 1):
        says(path, writer, order, decision)
        writer.grow_to(int(mb * 1e6 * min(part / 2, 1)))
    argv = [PYTHON, "-I", "-S", str(launch)]
    bare, costs, told, after, took, batches, newest = [], [], [], [], [], [], []
    for number in range(times + 1):
        home = folder / f"home-{mb:g}-{number}"
        environ = {"HOLDFAST_HOME": str(home), "HOME": str(folder)}
        run(argv, b"{}", environ)  # so that what it loads is made
        start = run([PYTHON, "-I", "-S", "-c", "pass"], b"", environ)
        cost = run(argv, writer.pre_compact(project), environ)
        began, late = time.monotonic(), home / "sessions" / "late" / "late"
        meanwhile = []
        while late.exists() and time.monotonic() - began < 600:
            meanwhile.append(run(argv, writer.post_tool_batch(), environ).cpu_s)
            time.sleep(0.2)
        done = time.monotonic() - began
        block = said(argv, writer.pre_compact(project), environ)
        if number:  # the first reads the file from the disk
            bare.append(start.cpu_s)
            costs.append(cost)
            took.append(done)
            batches += meanwhile[1:]  # the first may take a checkpoint
            after.append(share(block))
            shown = first_block(folder, argv, writer.pre_compact(project), number)
            told.append(share(shown))
            newest.append(share(shown, slice(2, 3)))
        progress(f"{mb:g} MB, round {number} of {times}")
    slowest = max(cost.wall_s for cost in costs)
    reference = statistics.median(bare)
    row = [
        f"{os.path.getsize(path) / 1e6:.0f} MB",
        f"{statistics.median(cost.wall_s for cost in costs) * 1000:.0f}",
        f"{slowest * 1000:.0f}",
        f"{statistics.median(cost.cpu_s for cost in costs) * 1000:.0f}",
        f"{statistics.median(cost.cpu_s for cost in costs) / reference:.1f}",
        f"{max(cost.rss_mb for cost in costs):.0f}",
        f"{statistics.mean(told):.0%}",
        f"{statistics.mean(newest):.0%}",
        f"{statistics.median(took):.1f}",
        f"{statistics.median(batches) / reference:.2f}" if batches else "–",
        f"{statistics.mean(after):.0%}",
    ]
    return row, slowest <= GOAL_S and min(newest) == 1 and min(after) == 1


def first_block(folder: Path, argv: list[str], payload: bytes, number: int) -> str:
    """What is printed the first time, in a home of its own."""
    environ = {"HOLDFAST_HOME": str(folder / f"again-{os.urandom(4).hex()}-{number}"), "HOME": str(folder)}
    return said(argv, payload, environ)


def said(argv: list[str], payload: bytes, environ: dict[str, str]) -> str:
    ran = subprocess.run(argv, input=payload, env=environ, stdout=subprocess.PIPE, check=True)
    return ran.stdout.decode()


def share(block: str, which: slice = slice(None)) -> float:
    """Of the orders and decisions that were planted: how many are told."""
    planted = [*_ORDERS[which], *_DECISIONS[which]]
    return sum(one in block for one in planted) / len(planted)


def says(path: Path, writer: made.Session, order: str, decision: str) -> None:
    """A person orders, and the model decides."""
    blocks = [{"type": "text", "text": decision}]
    message = {"role": "assistant", "id": f"msg_{order[:9]}", "model": "claude-opus-4-6", "content": blocks}
    with path.open("a") as file:
        file.write(writer._line("user", message={"role": "user", "content": order}, promptSource="typed"))
        file.write(writer._line("assistant", message=message))


if __name__ == "__main__":
    main()
