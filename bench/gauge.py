"""How well the gauge predicts: python bench/gauge.py --transcripts DIR

For every response of every transcript: what the gauge said just before it, against the context the
API then reported. Errors are in points of the window. Once as the files are, and once with all usage
removed, as behind a proxy that reports none.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import REPO, progress, table

sys.path.insert(0, str(REPO / "src"))

from holdfast.core.fold import fold
from holdfast.core.gauge import measure
from holdfast.core.lines import Account, records
from holdfast.core.state import State
from holdfast.core.transcript import Entry, entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--transcripts", type=Path, required=True, help="folder of .jsonl or .jsonl.gz files"
    )
    args = parser.parse_args()
    paths = sorted([*args.transcripts.rglob("*.jsonl"), *args.transcripts.rglob("*.jsonl.gz")])
    if not paths:
        sys.exit(f"no .jsonl or .jsonl.gz files under {args.transcripts}")
    print(report(paths))


def report(paths: list[Path]) -> str:
    with_usage, after, without = [], [], []
    for done, path in enumerate(paths):
        progress(f"{done} of {len(paths)} transcripts")
        entries = list(read(path))
        errors = list(predictions(entries, hide_usage=False))
        with_usage += [error for error, _ in errors]
        after += [error for error, compacted in errors if compacted]
        without += [error for error, _ in predictions(entries, hide_usage=True)]
    progress("")
    rows = [
        row("next request, with usage", with_usage),
        row("of these, the first after a compaction", after),
        row("all usage removed", without),
    ]
    return table(["prediction", "requests", "median", "p90", "p99", "worst"], rows)


def row(name: str, errors: list[float]) -> list[str]:
    if not errors:
        return [name, "0", "", "", "", ""]
    errors.sort()
    at = [errors[int(len(errors) * share)] for share in (0.9, 0.99)]
    figures = [statistics.median(errors), *at, errors[-1]]
    return [name, f"{len(errors):,}", *(f"{figure:.3f}" for figure in figures)]


def read(path: Path) -> Iterator[Entry]:
    account, offset = Account(), 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for raw in file:
            for record in records(raw, account):
                made = entry(record, offset, len(raw))
                if made is not None:
                    yield made
            offset += len(raw)


def predictions(entries: list[Entry], hide_usage: bool) -> Iterator[tuple[float, bool]]:
    """(error in points of the window, whether it was the first response after a compaction)."""
    window = _window(entries)
    state = State("bench")
    last, first = "", True
    for made in entries:
        usage, message = made.usage, made.message
        if made.kind == "answer" and usage and not made.failed and message != last:
            # A file's very first request has nothing to be predicted from but its text.
            if not first or hide_usage:
                error = abs(measure(state).used - usage.context) / window * 100
                yield error, state.seen.compacted > 0 and not state.seen.meter.context
            last, first = message, False
        if hide_usage:
            made.usage = None
        fold(state.seen, made)
        made.usage = usage


def _window(entries: list[Entry]) -> int:
    state = State("bench")
    for made in entries:
        fold(state.seen, made)
    return measure(state).window


if __name__ == "__main__":
    main()
