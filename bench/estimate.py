"""How good estimates of tasks are: python bench/estimate.py [--transcripts DIR] [--json]

A task is a stretch of a real session: what a person typed, with the turns it caused; its cost is what these
added to the window. Estimated is from what was typed, and from the files it names, alone; calibrated by the
tasks of all other sessions, never by one of its own. Ends with 1 if the goal is missed.

How much of the error is the task's own is shown beside it: by an estimator that is told how many turns a
task will take and which files it will touch, which nobody knows before.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import REPO, progress, table
from holdfast.core.costs import Judged, apart
from holdfast.core.stretch import Stretch
from holdfast.ops import costs

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
GOAL = 0.30
#: Letters from which on a prompt describes a task rather than goes on with one.
_LONG = 300
_NEIGHBOURS = 15


class Figures(NamedTuple):
    tasks: int
    median_error: float
    median_factor: float
    within_goal: float
    in_range: float | None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--transcripts", type=Path, default=CORPUS / "transcripts", help="folder of *.jsonl[.gz]"
    )
    parser.add_argument("--json", action="store_true", help="figures for programs")
    args = parser.parse_args()
    sessions = read(args.transcripts)
    found = figures(sessions)
    if args.json:
        print(json.dumps({name: one._asdict() for name, one in found.items()}, indent=2))
    else:
        taken = sorted(one.cost for tasks in sessions.values() for one in tasks)
        low, high = (taken[int(len(taken) * share)] for share in (0.05, 0.95))
        print(
            f"{len(taken)} tasks of {len(sessions)} sessions; nine in ten cost {low:,} to {high:,} tokens\n"
        )
        print(shown(found))
    sys.exit(found["calibrated"].median_error > GOAL)


def read(folder: Path) -> dict[str, list[Stretch]]:
    paths = sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")])
    if not paths:
        sys.exit(f"no .jsonl or .jsonl.gz files under {folder}")
    found = {}
    for done, path in enumerate(paths):
        progress(f"{done} of {len(paths)} transcripts")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            tasks = [one for one in costs.of_lines(file) if one.cost > 0]
        if tasks:
            found[path.name] = tasks
    progress("")
    return found


def figures(sessions: dict[str, list[Stretch]]) -> dict[str, Figures]:
    rows = {name: [costs.row(one) for one in tasks] for name, tasks in sessions.items()}
    long = {name: [one for one in tasks if len(one.words) >= _LONG] for name, tasks in sessions.items()}
    long_rows = {name: [costs.row(one) for one in tasks] for name, tasks in long.items()}
    return {
        "rule of thumb": judged([row for own in rows.values() for row in own]),
        "calibrated": ranged(apart(rows)),
        f"calibrated, prompts of {_LONG} letters or more": ranged(apart(long_rows)),
        "told the turns and files beforehand": judged(foreseen(sessions)),
    }


def judged(pairs: list[tuple[int, int]], in_range: float | None = None) -> Figures:
    errors = [abs(estimate - cost) / cost for estimate, cost in pairs]
    factors = [max(estimate, cost) / max(1, min(estimate, cost)) for estimate, cost in pairs]
    within = sum(error <= GOAL for error in errors) / len(errors)
    return Figures(len(pairs), middle(errors), middle(factors), within, in_range)


def ranged(found: list[Judged]) -> Figures:
    pairs = [(one.estimate, one.cost) for one in found]
    return judged(pairs, sum(one.is_within for one in found) / len(found))


def foreseen(sessions: dict[str, list[Stretch]]) -> list[tuple[int, int]]:
    """By the median of those tasks of other sessions that took about as many turns and files."""

    def place(one: Stretch) -> tuple[float, float]:
        return math.log(one.turns), 0.5 * math.log(1 + len(one.files))

    pairs = []
    for name, tasks in sessions.items():
        others = [
            (place(one), one.cost) for other, theirs in sessions.items() if other != name for one in theirs
        ]
        for one in tasks:
            nearest = sorted(others, key=_distance(place(one)))[:_NEIGHBOURS]
            pairs.append((round(middle([cost for _, cost in nearest])), one.cost))
    return pairs


def _distance(at: tuple[float, float]) -> Callable[[tuple[tuple[float, float], int]], float]:
    return lambda other: math.dist(at, other[0])


def middle(values: list[float] | list[int]) -> float:
    return sorted(values)[len(values) // 2]


def shown(found: dict[str, Figures]) -> str:
    head = ["estimate", "tasks", "median error", "median factor", f"within {GOAL:.0%}", "in its range"]
    lines = [
        [
            name,
            str(one.tasks),
            f"{one.median_error:.0%}",
            f"{one.median_factor:.1f}",
            f"{one.within_goal:.0%}",
            "" if one.in_range is None else f"{one.in_range:.0%}",
        ]
        for name, one in found.items()
    ]
    return table(head, lines)


if __name__ == "__main__":
    main()
