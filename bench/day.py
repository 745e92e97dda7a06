"""A day of the real client through many compactions: python bench/day.py

More than a thousand tool calls and a compaction every seventy or so, of every kind there is, with
summaries that keep nothing. After each the model must be told again all that was planted: this user's
instructions of the whole day, and the decisions, dead ends, values and open errors since the compaction
before. `--without` runs the same day without holdfast, which fails. `scripts/test` runs a short form of
both. See tests/client/day.py, plan.py and verdict.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from harness import REPO, progress, table

sys.path.insert(0, str(REPO / "src"))
sys.path.insert(0, str(REPO / "tests"))

from client.binary import ensure
from client.day import Size, play
from client.verdict import Report, examine

_SHOWN = 12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--compactions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", action="store_true", help="the same day, without holdfast")
    parser.add_argument("--keep", type=Path, help="a new folder, for all that the day leaves behind")
    args = parser.parse_args()
    size = Size.full(args.calls, args.compactions)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as temporary:
        progress(f"{args.calls} tool calls, some minutes")
        began = time.monotonic()
        day = play(args.keep or Path(temporary), ensure(), args.seed, size, not args.without)
        took = time.monotonic() - began
        report = examine(day, not args.without)
    progress("")
    head = [
        f"a day {'without' if args.without else 'with'} holdfast, seed {args.seed}",
        f"{took / 60:.1f} min",
    ]
    print(table(head, report.rows))
    return tell(report)


def tell(report: Report) -> int:
    """What is wrong, if anything; the exit status."""
    for about, problems in report.problems.items():
        for problem in problems[:_SHOWN]:
            print(f"{about}: {problem}")
        if len(problems) > _SHOWN:
            print(f"{about}: and {len(problems) - _SHOWN} more")
    return 0 if report.clean else 1


if __name__ == "__main__":
    sys.exit(main())
