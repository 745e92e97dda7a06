"""Is it honest what `explain` says? python bench/shares.py --transcripts DIR

For every cycle of every transcript (from one compaction to the next, or to the end): what the parts come to
before they are scaled, against what the API's usage says is in the window. Then what windows are filled
with, how many of the sessions would be said to thrash, and what an attribution costs a hook.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import made
from harness import PYTHON, REPO, median, progress, run, table

sys.path.insert(0, str(REPO / "src"))

from holdfast.core.gauge import measure
from holdfast.core.shares import Shares
from holdfast.core.state import State
from holdfast.core.thrash import COMPACTIONS, thrashing
from holdfast.disk import attributed, transcripts

_ALL, _LONG = 1 << 62, 1e9
#: A window that has seen fewer turns has taught the meter nothing.
_LEAST_TURNS = 3
_GOALS = "goals: median 0.95 to 1.05, p10 and p90 within 0.1 of 1, nobody told"


class Cycle(NamedTuple):
    number: int
    shares: Shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--transcripts", type=Path, required=True, help="folder of .jsonl or .jsonl.gz files"
    )
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    paths = sorted([*args.transcripts.rglob("*.jsonl"), *args.transcripts.rglob("*.jsonl.gz")])
    if not paths:
        sys.exit(f"no .jsonl or .jsonl.gz files under {args.transcripts}")
    found, states = [], []
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        for done, path in enumerate(paths):
            progress(f"{done} of {len(paths)} transcripts")
            state, cycles = look(path, Path(folder))
            found += cycles
            states.append(state)
        progress("")
        print(honesty(found), kinds(found), thrash(states), cost(Path(folder), args.rounds), sep="\n\n")
    print(f"\n{_GOALS}")


def look(path: Path, folder: Path) -> tuple[State, list[Cycle]]:
    """The state of a transcript, and its cycles as they were when they ended."""
    plain = folder / "session.jsonl"
    plain.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    state = State("bench")
    transcripts.catch_up(state, str(plain), _ALL)
    return state, list(_cycles(state, str(plain)))


def _cycles(state: State, path: str) -> Iterator[Cycle]:
    ends = [*(row[4] for row in state.seen.compactions), state.seen.offset]
    for number, end in enumerate(ends, 1):
        then = State("bench")
        then.seen = transcripts.fold_part(state.seen, path, 0, end, _ALL, _LONG)
        reading = measure(then)
        if reading.source.startswith("usage") and len(then.seen.meter.curve) >= _LEAST_TURNS:
            yield Cycle(number, attributed.shares_of(path, then, reading.used, _ALL, _LONG))


def told(state: State) -> bool:
    """Whether a person would have been told at any time that the session thrashes."""
    then = State("bench")
    turned, rows = state.seen.turned, state.seen.compactions
    for count in range(COMPACTIONS, len(rows) + 1):
        then.seen.compactions, then.seen.compacted = rows[:count], count
        then.seen.turned = [began for began in turned if began < rows[count - 1][4]]
        if thrashing(then):
            return True
    return False


def honesty(cycles: list[Cycle]) -> str:
    groups: dict[str, Callable[[Cycle], bool]] = {
        "all cycles": lambda _: True,
        "before the first compaction": lambda cycle: cycle.number == 1,
        "after a compaction": lambda cycle: cycle.number > 1,
    }
    rows = []
    for name, belongs in groups.items():
        ratios = sorted(c.shares.measured / c.shares.used for c in cycles if belongs(c))
        if ratios:
            at = [ratios[int(len(ratios) * share)] for share in (0.1, 0.9)]
            figures = [ratios[0], at[0], statistics.median(ratios), at[1], ratios[-1]]
            rows.append([name, str(len(ratios)), *(f"{figure:.3f}" for figure in figures)])
    return table(["measured / used", "cycles", "least", "p10", "median", "p90", "most"], rows)


def kinds(cycles: list[Cycle]) -> str:
    shares: dict[str, list[float]] = {}
    for cycle in cycles:
        for kind, tokens in cycle.shares.kinds():
            shares.setdefault(kind, []).append(100 * tokens / cycle.shares.used)
    means = sorted(
        ((sum(found) / len(cycles), max(found), kind) for kind, found in shares.items()), reverse=True
    )
    rows = [[kind, f"{mean:.1f}", f"{most:.1f}"] for mean, most, kind in means]
    return table(["% of what is used", "mean", "most"], rows)


def thrash(states: list[State]) -> str:
    spans = [
        sum(rows[at][4] < began < rows[at + COMPACTIONS - 1][4] for began in state.seen.turned)
        for state in states
        for rows in [state.seen.compactions]
        for at in range(len(rows) - COMPACTIONS + 1)
    ]
    counted = [
        ["sessions", str(len(states))],
        ["of these compacted", str(sum(bool(state.seen.compactions) for state in states))],
        [f"fewest turns within which {COMPACTIONS} compactions lie", str(min(spans, default=0))],
        ["told that they thrash", str(sum(map(told, states)))],
    ]
    return table(["thrashing", ""], counted)


def cost(folder: Path, rounds: int) -> str:
    """Of the largest part a hook may read."""
    session = made.Session(folder / "large.jsonl", session="large")
    session.grow_to(attributed.MOST - (1 << 16))
    path = str(session.path)
    state = State("large")
    transcripts.catch_up(state, path, _ALL)
    whole = State("large")
    whole.seen.offset = state.seen.offset
    bare = median([run([PYTHON, "-I", "-S", "-c", "pass"], b"", {}) for _ in range(rounds + 4)]).cpu_s
    readers: dict[str, Callable[[], object]] = {
        "fold of it": lambda: transcripts.catch_up(State("large"), path, _ALL),
        "attribution of it, as of one cycle": lambda: attributed.shares_of(path, whole, 150_000),
        "whether it thrashes, a thousand times": lambda: [thrashing(state) for _ in range(1000)],
    }
    rows = []
    for name, reader in readers.items():
        spent = []
        for _ in range(rounds):
            began = time.process_time()
            reader()
            spent.append(time.process_time() - began)
        rows.append([name, f"{1000 * min(spent):.1f}", f"{min(spent) / bare:.1f}"])
    return table([f"{session.path.stat().st_size / 1e6:.0f} MB", "CPU ms", "× bare start"], rows)


if __name__ == "__main__":
    main()
