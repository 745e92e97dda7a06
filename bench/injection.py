"""Planted instructions: python bench/injection.py [--every N]

Every payload (tests/payloads.py: ends of fences, fake turns, hidden characters, …) comes into a session by
every way (tests/carriers.py: tool results, file names, reports, summaries, cloned checkpoints, …), and goes
through everything our hooks say: before and after a compaction, with the next prompt, and when sessions
start, are cleared, resumed and forked; then through what `recall` and `memory timeline` give back of it. A
case is violated if anything of it came out as an instruction: outside the fence, opening or ending one, as
the user's own words, or invisibly. Ends with 1 if one is, or if a safeguard that was left out on purpose is
not missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

from carriers import CARRIERS, SAFEGUARDS, TYPED, came_out, clear, hurried, play, violations, without
from damage import hasty
from harness import progress, table
from payloads import CANARY, PAYLOADS
from recalled import answers, wrong

#: Of the whole, for each safeguard that is left out; where nothing is noticed, the whole.
_CONTROL = 7


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--every", type=int, default=1, help="only every so many-th case")
    every = asked.parse_args().every
    hurried()
    cases = [(carrier, name) for carrier in CARRIERS for name in PAYLOADS][::every]
    with tempfile.TemporaryDirectory() as folder, hasty():
        place = Path(folder) / "case"
        violated, out, recalled = _tried(cases, place, "case")
        rows = []
        for carrier in CARRIERS:
            number = sum(one is carrier for one, _ in cases)
            named = carrier.__name__.replace("_", " ") + (" (typed)" if carrier in TYPED else "")
            counts = (number, out[carrier], recalled[carrier], violated[carrier])
            rows.append([named, *map(str, counts)])
        titles = ["carrier", "cases", "hooks said it as data", "recall did", "came out as an instruction"]
        print(table(titles, rows), end="\n\n")
        missed = []
        controls = []
        for name in SAFEGUARDS:
            noticed, tried = 0, []
            for tried in (cases[::_CONTROL], cases):  # all of them where few ways lead past it
                with without(name):
                    noticed = _tried(tried, place, f"without {name}")[0].total()
                if noticed:
                    break
            controls.append([f"without `{name}`", str(len(tried)), str(noticed)])
            missed += [] if noticed else [name]
        print(table(["control", "cases", "violated"], controls), end="\n\n")
    total = violated.total()
    ways = f"{len(CARRIERS)} carriers, {len(PAYLOADS)} payloads"
    data = f"{out.total()} said as data by hooks, {recalled.total()} by recall"
    print(f"{len(cases)} cases ({ways}): {data}, {total} came out as an instruction")
    if missed:
        print("not noticed when left out:", ", ".join(missed))
    return 1 if total or missed else 0


def _tried(cases: list, place: Path, what: str) -> tuple[Counter, Counter, Counter]:
    """(how many cases of each carrier were violated, in how many hooks said anything of it at all, in how
    many recall did)."""
    violated: Counter = Counter()
    out: Counter = Counter()
    recalled: Counter = Counter()
    for number, (carrier, name) in enumerate(cases, 1):
        clear(place)
        case = play(place, carrier, PAYLOADS[name])
        found = list(answers(place))
        amiss = next(chain(violations(case), *(wrong(one, case.typed) for one in found)), "")
        if amiss:
            violated[carrier] += 1
            if what == "case":
                print(f"{carrier.__name__}, {name}: {amiss}", file=sys.stderr)
        out[carrier] += came_out(case)
        recalled[carrier] += any(CANARY in one.text for each in found for one in each.found)
        progress(f"{what} {number} of {len(cases)}")
    progress("")
    return violated, out, recalled


if __name__ == "__main__":
    sys.exit(main())
