"""How good the forecast is: python bench/forecast.py [--transcripts DIR] [--json]

Every transcript is replayed. After each turn: what was forecast, against the turns and minutes that came
until the client compacted; the same without past sessions; and what simpler rules would have said. Ends
with 1 if a goal is missed.

A compaction counts if the client did it by itself and where it was expected to: what a person does, or a
setting that no transcript shows, no count of tokens can tell. The others are listed. An alarm is false if
it was withdrawn, or if more than `PAST` turns later the cycle still went on. One that was open when the
session ended, or when a person compacted, is neither true nor false.

Real compactions are few. So sessions are also cut at imagined capacities, and the slopes of the interval
are chosen anew for each session, by all the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import REPO, progress, table
from holdfast.core import forecast as forecasts
from replayed import CONTENDERS, Cycle, Replay, Said, began

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
#: Turns after an alarm beyond which it was false.
PAST = 60
#: (least, most) of each figure.
GOALS = {
    "covered": (0.75, 0.85),
    "noticed": (0.95, 1.0),
    "notice": (0, 20),
    "false_alarms": (0, 1),
    "error_at_10": (0, 3),
    "said": (0, 1),
}
COLUMNS = {
    "covered": "turns in the interval",
    "minutes_covered": "minutes in it",
    "error_at_10": "error at 10 turns",
    "noticed": "3 turns' notice",
    "notice": "median notice",
    "false_alarms": "false alarms, worst session",
    "false_alarms_mean": "mean",
    "said": "said per cycle, most",
}
_SHARES = ("covered", "minutes_covered", "noticed")
_TRIALS = 60


def alarms(said: list[Said]) -> list[tuple[int, int]]:
    """(turn after which soon was said, turn after which it was withdrawn; or the length)."""
    found: list[tuple[int, int]] = []
    was = False
    for turn, one in enumerate(said):
        now = one.stays if was else one.soon
        if now and not was:
            found.append((turn, len(said)))
        elif was and not now:
            found[-1] = (found[-1][0], turn)
        was = now
    return found


def score(cycles: list[Cycle], name: str) -> dict[str, Any]:
    covered, minutes, errors, notices, unexpected = [], [], [], [], []
    false = dict.fromkeys((cycle.session for cycle in cycles), 0)
    still_open = most_said = 0
    for cycle in cycles:
        said, turns = cycle.said[name], len(cycle.said[name])
        raised = alarms(said)
        wrong = sum(end < turns or turns - 1 - start > PAST for start, end in raised)
        most_said = max(most_said, len(raised))
        false[cycle.session] += wrong
        notice = max((turns - 1 - start for start, end in raised if end == turns), default=0)
        if cycle.ended == "unexpected":
            unexpected.append(notice)
        if cycle.ended != "compacted":
            still_open += len(raised) - wrong
            continue
        notices.append(notice)
        for turn, one in enumerate(said):
            left, spent = turns - 1 - turn, (cycle.seconds[-1] - cycle.seconds[turn]) / 60
            if one.interval and one.minutes:
                covered.append(one.interval[0] <= left <= one.interval[1])
                minutes.append(one.minutes[0] <= spent <= one.minutes[1])
            if left == 10 and one.turns is not None:
                errors.append(abs(one.turns - 10))
    return {
        "compactions": len(notices),
        "turns": len(covered),
        "covered": _mean(covered),
        "minutes_covered": _mean(minutes),
        "error_at_10": round(statistics.median(errors), 1) if errors else None,
        "noticed": _mean([notice >= 3 for notice in notices]),
        "noticed_with_unexpected": _mean([notice >= 3 for notice in notices + unexpected]),
        "notice": statistics.median(notices) if notices else None,
        "false_alarms": max(false.values(), default=0),
        "false_alarms_mean": _mean(list(false.values())),
        "open": still_open,
        "said": most_said,
    }


def _mean(values: list[Any]) -> float | None:
    return round(statistics.fmean(values), 3) if values else None


def crossed(cycles: list[Cycle]) -> float | None:
    """The share covered when each session's interval has the slopes that suit the others best: both its
    width and what it misses cost (the interval score)."""
    chance = random.Random(7)
    (low, low_more), _, (high, high_more) = forecasts._TURNS
    trials = [(low * chance.uniform(0.6, 1.6), high * chance.uniform(0.6, 1.6)) for _ in range(_TRIALS)]
    costs: dict[str, list[float]] = defaultdict(lambda: [0.0] * _TRIALS)
    hits: dict[str, list[list[bool]]] = defaultdict(lambda: [[] for _ in trials])
    for cycle in cycles:
        for left, one in enumerate(reversed(cycle.said["holdfast"])):
            for number, (lower, upper) in enumerate(trials if one.interval else ()):
                start, end = round(lower * one.stretch + low_more), round(upper * one.stretch + high_more)
                outside = max(0, start - left, left - end)
                costs[cycle.session][number] += (end - start + 10 * outside) / (one.stretch + 1)
                hits[cycle.session][number].append(start <= left <= end)
    found: list[bool] = []
    for session in hits:
        others = [sum(cost[n] for name, cost in costs.items() if name != session) for n in range(_TRIALS)]
        found += hits[session][others.index(min(others))]
    return _mean(found)


def measured(paths: list[Path]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder))
        for done, path in enumerate(sorted(paths, key=began)):
            progress(f"{done} of {len(paths)} transcripts")
            replay.session(path)
    progress("")
    ended = [cycle.ended for cycle in replay.real]
    return {
        "transcripts": len(paths),
        "cycles": {how: ended.count(how) for how in ("compacted", "unexpected", "manual", "open")},
        "contenders": {name: score(replay.real, name) for name in CONTENDERS},
        "imagined": score(replay.imagined, "holdfast"),
        "covered_cross_validated": crossed([one for one in replay.real if one.ended == "compacted"]),
    }


def missed(found: dict[str, Any]) -> list[str]:
    mine = found["contenders"]["holdfast"]
    return [
        f"{name}: {mine[name]}, not {least} to {most}"
        for name, (least, most) in GOALS.items()
        if mine[name] is None or not least <= mine[name] <= most
    ]


def report(found: dict[str, Any]) -> str:
    named = {**found["contenders"], "holdfast, imagined capacities": found["imagined"]}
    rows = [[name, *(_shown(key, row[key]) for key in COLUMNS)] for name, row in named.items()]
    mine, cycles = found["contenders"]["holdfast"], found["cycles"]
    said = [
        f"{found['transcripts']} transcripts; {mine['compactions']} compactions where they were expected,"
        f" {found['imagined']['compactions']} imagined; {mine['turns']} turns with a forecast before them.",
        f"Not counted: {cycles['manual']} compactions by a person, {cycles['unexpected']} far below the"
        f" capacity (3 turns' notice with these: {_shown('noticed', mine['noticed_with_unexpected'])}),"
        f" {mine['open']} alarms open at the end.",
        "In the interval, its slopes chosen by the other sessions: "
        + _shown("covered", found["covered_cross_validated"]),
    ]
    return "\n".join([table(["said by", *COLUMNS.values()], rows), "", *said])


def _shown(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" if key in _SHARES else f"{value:g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    folder = CORPUS / "transcripts"
    parser.add_argument(
        "--transcripts", type=Path, default=folder, help="folder of .jsonl or .jsonl.gz files"
    )
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    given = parser.parse_args()
    paths = [path for ending in ("*.jsonl", "*.jsonl.gz") for path in given.transcripts.rglob(ending)]
    if not paths:
        print(
            f"no .jsonl or .jsonl.gz files under {given.transcripts}: nothing was measured", file=sys.stderr
        )
        return 2
    found = measured(paths)
    print(json.dumps(found, indent=2) if given.json else report(found))
    if not found["cycles"]["compacted"]:
        print("no compaction in them that could be expected: no goal was measured", file=sys.stderr)
        return 2
    for one in missed(found):
        print(f"missed: {one}", file=sys.stderr)
    return 1 if missed(found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
