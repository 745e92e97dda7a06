"""Deep memory as operations use it: opened, brought up to date, asked."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape, glob

from holdfast.app import Holdfast
from holdfast.disk import noted
from holdfast.errors import Damaged, HoldfastError, MissingExtra
from holdfast.memory import embed
from holdfast.memory.feed import Fed, Feed, embedded
from holdfast.memory.index import Index
from holdfast.memory.search import Found, search
from holdfast.memory.shelf import Counts, Filter

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
def opened(app: Holdfast, project: str = "") -> Iterator[tuple[Index, Fed]]:
    """With all that hooks have noted, and what the client remembers of this project."""
    with shelved(app) as shelf:
        feed = Feed(app, shelf)
        feed.drain(project)
        embedded(shelf, app.config["memory.embedder"])
        yield shelf, feed.fed


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


def take_in(app: Holdfast) -> None:
    """What hooks have noted, for those who have time. Vectors are made when somebody asks: a service that
    nobody asks shall hold no model."""
    with shelved(app) as shelf:
        Feed(app, shelf).drain()


def answers(app: Holdfast, shelf: Index, query: str, where: Filter, most: int) -> tuple[list[Found], str]:
    """The best first, and what they were found by."""
    embedder, why = embedder_of(app)
    found = search(shelf, embedder, query, where, most)
    return found, why or f"words and vectors ({app.config['memory.embedder']})"


def embedder_of(app: Holdfast) -> tuple[embed.Embedder | None, str]:
    try:
        return embed.named(app.config["memory.embedder"]), ""
    except MissingExtra as problem:
        return None, f"{KEYWORD_ONLY}: {problem}"


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
    return Standing(os.path.getsize(path), counts, mode, waiting, aside)
