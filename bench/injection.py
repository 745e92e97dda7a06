"""Planted instructions: python bench/injection.py [--every N]

Every payload (tests/payloads.py: ends of fences, fake turns, hidden characters, …) comes into a session by
every way (tests/carriers.py: tool results, file names, reports, summaries, cloned checkpoints, …), and goes
through everything our hooks say: before and after a compaction, with the next prompt, and when sessions
start, are cleared, resumed and forked. A case is violated if anything of it came out as an instruction:
outside the fence, opening or ending one, as the user's own words, or invisibly. Ends with 1 if one is, or
if a safeguard that was left out on purpose is not missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

from carriers import CARRIERS, SAFEGUARDS, TYPED, came_out, clear, hurried, play, violations, without
from damage import hasty
from harness import progress, table
from payloads import PAYLOADS

#: Of the whole, for each safeguard that is left out.
_CONTROL = 7


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--every", type=int, default=1, help="only every so many-th case")
    every = asked.parse_args().every
    hurried()
    cases = [(carrier, name) for carrier in CARRIERS for name in PAYLOADS][::every]
    with tempfile.TemporaryDirectory() as folder, hasty():
        place = Path(folder) / "case"
        violated, out = _tried(cases, place, "case")
        rows = []
        for carrier in CARRIERS:
            number = sum(one is carrier for one, _ in cases)
            named = carrier.__name__.replace("_", " ") + (" (typed)" if carrier in TYPED else "")
            rows.append([named, str(number), str(out[carrier]), str(violated[carrier])])
        print(table(["carrier", "cases", "came out as data", "as an instruction"], rows), end="\n\n")
        missed = []
        controls = []
        for name in SAFEGUARDS:
            with without(name):
                noticed, _ = _tried(cases[::_CONTROL], place, f"without {name}")
            controls.append([f"without `{name}`", str(len(cases[::_CONTROL])), str(noticed.total())])
            missed += [] if noticed.total() else [name]
        print(table(["control", "cases", "violated"], controls), end="\n\n")
    total = violated.total()
    ways = f"{len(CARRIERS)} carriers, {len(PAYLOADS)} payloads"
    print(f"{len(cases)} cases ({ways}): {total} came out as an instruction")
    if missed:
        print("not noticed when left out:", ", ".join(missed))
    return 1 if total or missed else 0


def _tried(cases: list, place: Path, what: str) -> tuple[Counter, Counter]:
    """(how many cases of each carrier were violated, in how many anything of it was said at all)."""
    violated: Counter = Counter()
    out: Counter = Counter()
    for number, (carrier, name) in enumerate(cases, 1):
        clear(place)
        case = play(place, carrier, PAYLOADS[name])
        wrong = next(violations(case), "")
        if wrong:
            violated[carrier] += 1
            if what == "case":
                print(f"{carrier.__name__}, {name}: {wrong}", file=sys.stderr)
        out[carrier] += came_out(case)
        progress(f"{what} {number} of {len(cases)}")
    progress("")
    return violated, out


if __name__ == "__main__":
    sys.exit(main())
