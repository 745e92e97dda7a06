"""Deep memory as it is: opened, and looked at. Needs nothing but the standard library, so that `status` can
say how it stands where the packages are missing that everything else of it needs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape, glob

from holdfast.app import Holdfast
from holdfast.disk import noted
from holdfast.errors import Damaged, HoldfastError
from holdfast.memory import embed, vectorfile
from holdfast.memory.index import Index
from holdfast.memory.shelf import Counts

KEYWORD_ONLY = "keyword only"


@dataclass(frozen=True)
class Standing:
    """`trouble`: why it does not work; `waiting`: bytes that hooks have noted; `aside`: damaged files."""

    bytes: int
    counts: Counts
    mode: str
    waiting: int
    aside: list[str] = field(default_factory=list)
    trouble: str = ""


@contextmanager
def shelved(app: Holdfast) -> Iterator[Index]:
    """As it is. Damage may show only where it is read."""
    try:
        with Index(app.home.memory) as shelf:
            yield shelf
    except sqlite3.OperationalError as problem:
        raise OSError(5, f"SQLite says: {problem}", app.home.memory) from problem
    except sqlite3.DatabaseError as problem:
        raise Damaged(f"{app.home.memory} is damaged ({problem}): holdfast memory rebuild") from problem


def standing(app: Holdfast) -> Standing:
    """Looked at, not brought up to date; nothing is made where there is nothing."""
    path = app.home.memory
    aside = sorted(glob(escape(path) + ".damaged-*[!lm]"))
    waiting = noted.size(app.home)
    name = app.config["memory.embedder"]
    why = embed.missing(name)
    mode = f"{KEYWORD_ONLY}: {why}" if why else f"words and vectors ({name})"
    if not os.path.exists(path):
        return Standing(0, Counts(), mode, waiting, aside)
    try:
        with shelved(app) as shelf:
            counts = shelf.counts(embed.model(name))
    except (HoldfastError, OSError) as problem:
        return Standing(0, Counts(), mode, waiting, aside, str(problem))
    size = sum(map(os.path.getsize, filter(os.path.exists, (path, path + vectorfile.END))))
    return Standing(size, counts, mode, waiting, aside)
