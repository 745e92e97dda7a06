"""How good estimates of tasks are: python bench/estimate.py [--transcripts DIR] [--json]

A task is a stretch of a real session: what a person typed, with the turns it caused; its cost is what these
added to the window. Calibrated is by the tasks of all other sessions, never by one of its own.

By words: estimated from what was typed, and from the files it names, alone.

As planned: what `batch plan` is given is more. A task of tasks.json names the files that it will change
(`files`), make (`creates`) and only read (`reads`). So the same stretches are estimated as if somebody had
planned them: from the length of what was typed, these files, and the bytes each had before the stretch
touched it. Nothing else that is known only afterwards goes in: no turns, no answers, no outputs, not how
often or how much of a file was read or changed, no tests, searches or commands. Stretches that touched no
file (questions, "commit this") are no tasks that one could plan in this way, and are left out.

At the session's pace: as planned, times what the session's tasks before it took more than others.

Batches: consecutive tasks of a session up to the budget that `batch plan` has by default, estimated
together before the first of them begins; the pace is that of the batches before.

How much of the error is the task's own is shown beside it: by an estimator that is told how many turns a
task will take and which files it will touch. The goal is that of single tasks, as planned, at the session's
pace. Ends with 1 if it is missed.
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
from holdfast.core.foreseen import Facts, Model, learned, pace
from holdfast.core.stretch import Stretch
from holdfast.ops import costs

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
GOAL = 0.30
#: Letters from which on a prompt describes a task rather than goes on with one.
_LONG = 300
_NEIGHBOURS = 15
#: Tokens: what `batch plan` has where nothing else is said.
_BUDGET = 100_000
_AT_PACE = "as planned, at the session's pace"


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
    sys.exit(found[_AT_PACE].median_error > GOAL)


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
    rows = {name: [by_words(one) for one in tasks] for name, tasks in sessions.items()}
    long = {name: [one for one in tasks if len(one.words) >= _LONG] for name, tasks in sessions.items()}
    long_rows = {name: [by_words(one) for one in tasks] for name, tasks in long.items()}
    planned = {
        name: [(known, one.cost) for one in tasks if (known := one.facts())]
        for name, tasks in sessions.items()
    }
    return {
        "rule of thumb": judged([row for own in rows.values() for row in own]),
        "by words": ranged(apart(rows)),
        f"by words, prompts of {_LONG} letters or more": ranged(apart(long_rows)),
        "as planned, without what is only read": as_planned(planned, with_reads=False),
        "as planned": as_planned(planned),
        _AT_PACE: as_planned(planned, paced=True),
        f"batches of these, up to {_BUDGET:,} tokens": judged(batched(planned)),
        "told the turns and files beforehand": judged(foreseen(sessions)),
        "the same, of those that touched files": judged(
            foreseen({name: [one for one in tasks if one.facts()] for name, tasks in sessions.items()})
        ),
    }


def by_words(one: Stretch) -> tuple[int, int]:
    row = costs.row(one)
    return row.estimate, row.cost


Planned = dict[str, list[tuple[Facts, int]]]


def taught(planned: Planned, but: str, with_reads: bool = True) -> Model:
    """By all sessions but one."""
    model = learned([row for name, rows in planned.items() if name != but for row in rows], with_reads)
    assert model, "too few tasks to learn from"
    return model


def as_planned(planned: Planned, with_reads: bool = True, paced: bool = False) -> Figures:
    pairs, within = [], 0
    for name, rows in planned.items():
        model, done = taught(planned, name, with_reads), list[tuple[int, int]]()
        for known, cost in rows:
            estimate = round(model(known) * (pace(done) if paced else 1))
            within += estimate * model.low <= cost <= estimate * model.high
            pairs.append((estimate, cost))
            done.append((model(known), cost))
    return judged(pairs, within / len(pairs))


def batched(planned: Planned) -> list[tuple[int, int]]:
    """(estimate, cost) of each batch. What is too large alone is one."""
    pairs = []
    for name, rows in planned.items():
        model, done = taught(planned, name), list[tuple[int, int]]()
        left = [(model(known), cost) for known, cost in rows]
        while left:
            times, size, taken = pace(done), 0.0, 0
            while taken < len(left) and (not taken or size + left[taken][0] * times <= _BUDGET):
                size += left[taken][0] * times
                taken += 1
            pairs.append((round(size), sum(cost for _, cost in left[:taken])))
            done, left = [*done, *left[:taken]], left[taken:]
    return pairs


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
            f"{one.median_error:.1%}",
            f"{one.median_factor:.1f}",
            f"{one.within_goal:.0%}",
            "" if one.in_range is None else f"{one.in_range:.0%}",
        ]
        for name, one in found.items()
    ]
    return table(head, lines)


if __name__ == "__main__":
    main()
