"""Deep memory as operations use it: opened, brought up to date, asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.app import Holdfast
from holdfast.errors import MissingExtra
from holdfast.memory import embed
from holdfast.memory.feed import Fed, Feed, embedded
from holdfast.memory.index import Index
from holdfast.memory.search import Found, search
from holdfast.memory.shelf import Filter
from holdfast.memory.standing import KEYWORD_ONLY, shelved


@contextmanager
def opened(app: Holdfast, project: str = "") -> Iterator[tuple[Index, Fed]]:
    """With all that hooks have noted, and what the client remembers of this project."""
    with shelved(app) as shelf:
        feed = Feed(app, shelf)
        feed.drain(project)
        embedded(shelf, app.config["memory.embedder"])
        yield shelf, feed.fed


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
