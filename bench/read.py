"""How fast a transcript is read: python bench/read.py [--mb 100 1000] [--transcript FILE …]

First contact with an unread transcript: the full fold, the usage curve alone, a replay, and, as references
of the same run, reading the bytes and `json.loads` of every line. What hooks make of one: `late.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import made
from harness import REPO, progress, table

sys.path.insert(0, str(REPO / "src"))

from holdfast.app import Holdfast
from holdfast.core.state import State
from holdfast.disk import transcripts
from holdfast.ops import replay
from holdfast.ops.responses import curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, nargs="+", default=[100])
    parser.add_argument(
        "--transcript", type=Path, nargs="*", default=[], help="measure these files instead"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        paths = args.transcript or [_made(Path(folder), mb) for mb in args.mb]
        for path in paths:
            print(throughput(path, args.rounds), end="\n\n")


def _made(folder: Path, mb: float) -> Path:
    progress(f"making {mb:g} MB")
    session = made.Session(folder / f"{mb:g}mb.jsonl", session=f"s-{mb:g}")
    session.grow_to(int(mb * 1e6))
    return session.path


def throughput(path: Path, times: int) -> str:
    readers: dict[str, Callable[[Path], object]] = {
        "read the bytes": _bytes,
        "json.loads of every line": _json,
        "full fold": _fold,
        "usage curve alone": _curve,
        "replay": _replay,
    }
    best: dict[str, float] = {}
    for done in range(times):
        for name, reader in readers.items():
            progress(f"round {done + 1} of {times}: {name}")
            began = time.process_time()
            reader(path)
            spent = time.process_time() - began
            best[name] = min(spent, best.get(name, spent))
    progress("")
    mb = path.stat().st_size / 1e6
    reference = best["json.loads of every line"]
    rows = [
        [name, f"{spent:.2f}", f"{mb / spent:.0f}", f"{reference / spent:.2f}"]
        for name, spent in best.items()
    ]
    return table([f"{mb:.0f} MB", "CPU s", "MB per CPU-s", "× json.loads"], rows)


def _bytes(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def _json(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def _fold(path: Path) -> None:
    transcripts.catch_up(State("bench"), str(path), 1 << 62)


def _curve(path: Path) -> None:
    curve(str(path))


def _replay(path: Path) -> None:
    replay.one(Holdfast.open({"HOME": "/nowhere"}), str(path))


if __name__ == "__main__":
    main()
