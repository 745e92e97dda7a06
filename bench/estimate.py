"""How good estimates of tasks are: python bench/estimate.py [--transcripts DIR] [--json]

A task is a stretch of a real session: what a person typed, with the turns it caused; its cost is what these
added to the window. What was cut off is none: it has no cost that anybody could have foreseen. What a fork
repeats of another session counts once. Calibrated is by the tasks of all other sessions, never by one of
its own.

By words: estimated from what was typed, and from the files it names, alone.

As planned: what `batch plan` is given is more. A task of tasks.json names the files that it will change
(`files`), make (`creates`) and only read (`reads`). So the same stretches are estimated as if somebody had
planned them: from the length of what was typed, these files, the bytes each had before the stretch touched
it, and whether the window held it already. A file that a command shows or writes is one of them, as is one
that a tool does. Nothing else that is known only afterwards goes in: no turns, no answers, no outputs, not
how often or how much of a file was read or changed, no tests, searches or other commands. Stretches in
which no tool touched a file (questions, "commit this") are no tasks that one could plan in this way, and
are left out.

At the session's pace: as planned, times what the session's tasks before it took more than others.

Batches: consecutive tasks of a session up to a budget, estimated together before the first of them begins;
the pace is that of the tasks before, and the window holds what it held then and what those before in the
batch have touched. 100,000 tokens is what `batch plan` has by default. Begun at every task: a batch for
each task of a session, as if a plan had been made just then.

How much of the error is the task's own is shown beside it: by an estimator that is told how many turns a
task will take and which files it will touch; and by what two tasks of one session cost of which all that is
known beforehand is alike, each taken for the estimate of the other.

19 of 20: the median error of so many samples of as many sessions, drawn again from these.

The goal is a median error of 30 %, of single tasks, as planned, at the session's pace. What a plan rests on
is the batch. Ends with 0 if both keep to it, with 1 if only batches do, with 2 if these do not either.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import REPO, progress, table
from holdfast.core import spread
from holdfast.core.costs import apart
from holdfast.core.foreseen import LAST, Facts, Model, learned, pace
from holdfast.core.stretch import Stretch
from holdfast.ops import costs

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
GOAL = 0.30
#: Letters from which on a prompt describes a task rather than goes on with one.
_LONG = 300
_NEIGHBOURS = 15
#: Tokens: what `batch plan` has where nothing else is said, and half and twice as much.
_BUDGET, _BUDGETS = 100_000, (50_000, 100_000, 200_000)
_AGAIN = 1000
_AT_PACE = "as planned, at the session's pace"


class Judged(NamedTuple):
    """`in_range` is None where no range was given."""

    session: str
    estimate: float
    cost: int
    in_range: bool | None = None

    @property
    def error(self) -> float:
        return abs(self.estimate - self.cost) / self.cost


class Figures(NamedTuple):
    tasks: int
    median_error: float
    interval: tuple[float, float]
    median_factor: float
    within_goal: float
    in_range: float | None


def main() -> int:
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
    missed = [
        name
        for name in (_AT_PACE, batches(_BUDGET))
        if name not in found or found[name].median_error > GOAL
    ]
    for name in missed:
        said = f"{found[name].median_error:.1%}" if name in found else "there is none"
        print(f"missed: {name}: {said}, goal {GOAL:.0%}", file=sys.stderr)
    return 2 if batches(_BUDGET) in missed else len(missed)


def read(folder: Path) -> dict[str, list[Stretch]]:
    paths = sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")])
    if not paths:
        sys.exit(f"no .jsonl or .jsonl.gz files under {folder}")
    found, known = {}, set[str]()
    for done, path in enumerate(paths):
        progress(f"{done} of {len(paths)} transcripts")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            tasks = costs.taught_by(file, known)
        if tasks:
            found[path.name] = tasks
    progress("")
    return found


def batches(budget: int) -> str:
    return f"batches of these, up to {budget:,} tokens"


def figures(sessions: dict[str, list[Stretch]]) -> dict[str, Figures]:
    long = {name: [one for one in tasks if len(one.words) >= _LONG] for name, tasks in sessions.items()}
    planned = {
        name: with_files for name, tasks in sessions.items() if (with_files := [*filter(is_planned, tasks)])
    }
    models = {name: taught(planned, name) for name in planned}
    by_size = [Judged(name, *by_words(one)) for name, tasks in sessions.items() for one in tasks]
    single = as_planned(planned, models, paced=True)
    many = [number for tasks in planned.values() for number in (len(one.touched()) for one in tasks)]
    without = {name: taught(planned, name, with_reads=False) for name in planned}
    return {
        name: judged(rows)
        for name, rows in {
            "rule of thumb": by_size,
            "by words": scaled(sessions),
            f"by words, prompts of {_LONG} letters or more": scaled(long),
            "as planned, without what is only read": as_planned(planned, without),
            "as planned": as_planned(planned, models),
            _AT_PACE: single,
            "the same, with 3 files or more": [*itertools.compress(single, [one >= 3 for one in many])],
            "the same, with 5 files or more": [*itertools.compress(single, [one >= 5 for one in many])],
            **{batches(budget): batched(planned, models, budget) for budget in _BUDGETS},
            f"up to {_BUDGET:,}, begun at every task": batched(planned, models, _BUDGET, every=True),
            "told the turns and files beforehand": told_turns(planned),
            "by a task of the session that seemed alike": alike(planned),
        }.items()
        if rows
    }


def by_words(one: Stretch) -> tuple[int, int]:
    row = costs.row(one)
    return row.estimate, row.cost


def scaled(sessions: dict[str, list[Stretch]]) -> list[Judged]:
    rows = {name: [by_words(one) for one in tasks] for name, tasks in sessions.items()}
    names = [name for name, own in rows.items() for _ in own]
    found = zip(names, apart(rows), strict=True)
    return [Judged(name, one.estimate, one.cost, one.is_within) for name, one in found]


Planned = dict[str, list[Stretch]]


def is_planned(one: Stretch) -> bool:
    return one.by_tool


def known(one: Stretch, held: set[str] | None = None) -> Facts:
    found = one.facts(held)
    assert found
    return found


def taught(planned: Planned, but: str, with_reads: bool = True) -> Model:
    """By all sessions but one."""
    rows = [(name, known(one), one.cost) for name, tasks in planned.items() if name != but for one in tasks]
    model = learned(rows, with_reads)
    assert model, "too few tasks to learn from"
    return model


def as_planned(planned: Planned, models: dict[str, Model], paced: bool = False) -> list[Judged]:
    found = []
    for name, tasks in planned.items():
        model, done = models[name], list[tuple[int, int]]()
        for one in tasks:
            estimate = round(model(known(one)) * (pace(done) if paced else 1))
            low, high = model.spread.between(estimate)
            found.append(Judged(name, estimate, one.cost, low <= one.cost <= high))
            done.append((model(known(one)), one.cost))
    return found


def batched(planned: Planned, models: dict[str, Model], budget: int, every: bool = False) -> list[Judged]:
    """What is too large alone is a batch."""
    found = []
    for name, tasks in planned.items():
        model, first = models[name], 0
        done = [(model(known(one)), one.cost) for one in tasks]
        while first < len(tasks):
            parts = together(model, tasks[first:], pace(done[:first]), budget)
            middle, own = spread.together(parts)
            low, high = spread.range_of(middle, own, model.spread.shared, min(LAST, first))
            if len(parts) == 1:
                low, high = model.spread.between(middle)
            cost = sum(one.cost for one in tasks[first : first + len(parts)])
            found.append(Judged(name, middle, cost, low <= cost <= high))
            first += 1 if every else len(parts)
    return found


def together(model: Model, tasks: list[Stretch], times: float, budget: int) -> list[tuple[float, float]]:
    """(estimate, spread) of the first of them that go together."""
    held, parts = set(tasks[0].before), list[tuple[float, float]]()
    for one in tasks:
        estimate = model(known(one, held)) * times
        more = [*parts, (estimate, model.spread.of(estimate))]
        if parts and spread.together(more)[0] > budget:
            break
        parts = more
        held |= one.touched()
    return parts


def told_turns(planned: Planned) -> list[Judged]:
    """By the median of those tasks of other sessions that took about as many turns and files."""

    def place(one: Stretch) -> tuple[float, float]:
        return math.log(one.turns), 0.5 * math.log(1 + len(one.files))

    found = []
    for name, tasks in planned.items():
        others = [
            (place(one), one.cost) for other, theirs in planned.items() if other != name for one in theirs
        ]
        for one in tasks:
            nearest = sorted(others, key=_distance(place(one)))[:_NEIGHBOURS]
            found.append(Judged(name, middle([cost for _, cost in nearest]), one.cost))
    return found


def _distance(at: tuple[float, float]) -> Callable[[tuple[tuple[float, float], int]], float]:
    return lambda other: math.dist(at, other[0])


def alike(planned: Planned) -> list[Judged]:
    """As many files changed, made and read; about as much to read that is new, and about as many words."""

    def seem(one: Facts, other: Facts) -> bool:
        new, new_too = (
            all_of.changed + all_of.read - all_of.changed_held - all_of.read_held + 3000
            for all_of in (one, other)
        )
        return (
            one.as_list()[1:4] == other.as_list()[1:4]
            and abs(math.log(new / new_too)) < 0.25
            and abs(math.log((one.letters + 200) / (other.letters + 200))) < 0.5
        )

    return [
        Judged(name, one.cost, other.cost)
        for name, tasks in planned.items()
        for one, other in itertools.permutations(tasks, 2)
        if seem(known(one), known(other))
    ]


def judged(rows: list[Judged]) -> Figures:
    errors = [one.error for one in rows]
    factors = [max(one.estimate, one.cost) / max(1, min(one.estimate, one.cost)) for one in rows]
    within = sum(error <= GOAL for error in errors) / len(errors)
    ranges = [one.in_range for one in rows if one.in_range is not None]
    share = sum(ranges) / len(ranges) if ranges else None
    return Figures(len(rows), middle(errors), interval(rows), middle(factors), within, share)


def interval(rows: list[Judged]) -> tuple[float, float]:
    """Of the median error: tasks of one session are no separate witnesses, so sessions are drawn."""
    chance = random.Random(0)
    sessions: dict[str, list[float]] = {}
    for one in rows:
        sessions.setdefault(one.session, []).append(one.error)
    own = [*sessions.values()]
    drawn = sorted(
        middle([error for errors in chance.choices(own, k=len(own)) for error in errors])
        for _ in range(_AGAIN)
    )
    return drawn[int(_AGAIN * 0.025)], drawn[int(_AGAIN * 0.975)]


def middle(values: list[float] | list[int]) -> float:
    return sorted(values)[len(values) // 2]


def shown(found: dict[str, Figures]) -> str:
    head = [
        "estimate",
        "tasks",
        "median error",
        "19 of 20",
        "median factor",
        f"within {GOAL:.0%}",
        "in its range",
    ]
    lines = [
        [
            name,
            str(one.tasks),
            f"{one.median_error:.1%}",
            f"{one.interval[0]:.1%} – {one.interval[1]:.1%}",
            f"{one.median_factor:.1f}",
            f"{one.within_goal:.0%}",
            "" if one.in_range is None else f"{one.in_range:.0%}",
        ]
        for name, one in found.items()
    ]
    return table(head, lines)


if __name__ == "__main__":
    sys.exit(main())
