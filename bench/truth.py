"""Measure what holdfast says against what is so: python bench/truth.py [SECTION ...] [--wild DIR]

One table. Each section is a module in bench/truths with its cases as data beside it: where a case came
from, and what is right about it, decided before the code was asked. A case from a session names the
session and the entry and holds none of its text, so sections that need the sessions say so where they are
not at hand. Ends with 1 if a goal is missed, and with 2 if nothing was measured.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import REPO, progress, table
from truths import Corpora, NotMeasured, Row

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
SECTIONS = ("speakers", "verdicts", "decisions", "receipts", "orders", "thresholds")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=" ".join(SECTIONS))
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument(
        "--wild", type=Path, help="strangers' sessions, as the corpus's lay_out.py puts them"
    )
    asked = parser.parse_args()
    for section in asked.sections:
        if section not in SECTIONS:
            parser.error(f"{section} is no section: {' '.join(SECTIONS)}")
    corpora = Corpora(asked.corpus, asked.wild)
    rows: list[Row] = []
    for section in asked.sections or SECTIONS:
        progress(section)
        try:
            rows += importlib.import_module(f"truths.{section}").measure(corpora)
        except NotMeasured as reason:
            print(f"{section} was not measured: {reason}", file=sys.stderr)
    progress("")
    print(table(["section", "what", "cases", "figure", "goal", ""], [row.shown() for row in rows]))
    if not rows:
        return 2
    return int(any(not row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
