"""The sections of bench/truth.py: a module each, with the function `measure(corpora) -> list[Row]`."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple


class NotMeasured(Exception):
    """A section lacks what it measures; the message says what."""


class Row(NamedTuple):
    section: str
    what: str
    cases: int
    figure: float
    goal: float
    at_most: bool = False  # the goal is a ceiling
    unit: str = "%"

    @property
    def holds(self) -> bool:
        return self.figure <= self.goal if self.at_most else self.figure >= self.goal

    def shown(self) -> list[str]:
        bound = "≤" if self.at_most else "≥"
        return [
            self.section,
            self.what,
            f"{self.cases:,}",
            f"{self.figure:.1f} {self.unit}",
            f"{bound} {self.goal:g} {self.unit}",
            "" if self.holds else "missed",
        ]


class Corpora:
    """Where real sessions are: the labelled corpus (gzipped), and strangers' sessions, laid out."""

    def __init__(self, corpus: Path, wild: Path | None) -> None:
        self.corpus = corpus
        self.wild = wild

    def session(self, name: str) -> bytes:
        """A transcript by its name: a file of the corpus or, with a folder in it, one of `wild`."""
        if "/" in name:
            if self.wild is None:
                raise NotMeasured("it needs strangers' sessions: --wild DIR")
            path = self.wild / name
            if not path.exists():
                raise NotMeasured(f"there is no {path}")
            return path.read_bytes()
        path = self.corpus / "transcripts" / f"{name}.gz"
        if not path.exists():
            raise NotMeasured(f"there is no {path}: --corpus DIR")
        return gzip.decompress(path.read_bytes())

    def names(self) -> list[str]:
        """Every session at hand, in a fixed order."""
        found = [path.name.removesuffix(".gz") for path in (self.corpus / "transcripts").glob("*.gz")]
        if self.wild:
            found += [str(path.relative_to(self.wild)) for path in self.wild.rglob("*.jsonl")]
        return sorted(found)
