"""What deep memory holds, and what an engine that keeps it has to be able to do.

An engine finds candidates and says how near each is in its own terms; which of them answer a question best
is decided in one place, `search`, whatever engine they come from. Engines are caches: files are the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from holdfast.core.speaker import SPEAKERS

if TYPE_CHECKING:
    import numpy

COLLECTIONS = (
    "topics",
    "checkpoints",
    "decisions",
    "issues",
    "cold",
    "sessions",
    "commands",
    "files",
    "saves",
    "learned",
)
#: Whose words they are. Only those of the first may ever be rendered as an instruction. What the user of
#: another machine typed is a `teammate`'s.
ORIGINS = (*SPEAKERS, "teammate")
#: The longest text of one item; what is longer is cut into parts when it is fed.
LONGEST = 2000
MOST_SOURCES = 16


@dataclass(frozen=True)
class Item:
    """One memory. `uid` is made from what it is: the same thing, fed twice, is one, and so are texts of one
    project and collection that say the same. `thread` and `seq` say what stands before and after it;
    `shape` is the same for texts that say the same, wherever they stand. `by`: the name of who said it."""

    uid: str
    collection: str
    text: str
    project: str = ""
    lineage: str = ""
    session: str = ""
    agent: str = ""
    origin: str = "file"
    by: str = ""
    kind: str = ""
    at: int = 0
    title: str = ""
    files: tuple[str, ...] = ()
    source: str = ""
    thread: str = ""
    seq: int = 0
    shape: str = ""


@dataclass(frozen=True)
class Row(Item):
    """An item as it is kept: how often it was met, between when and when, and in which files."""

    count: int = 1
    first_at: int = 0
    sources: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Told(Row):
    """A row as a team has it: and who said it, on which machine."""

    who: str = ""
    machine: str = ""


@dataclass(frozen=True)
class Filter:
    """Which items are meant; what is empty does not limit. Times are milliseconds, `until` is exclusive."""

    projects: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    session: str = ""
    file: str = ""
    since: int = 0
    until: int = 0


@dataclass(frozen=True)
class Counts:
    """Items by collection; how many have a vector of this model; which other models there are."""

    collections: dict[str, int] = field(default_factory=dict)
    vectors: int = 0
    models: dict[str, int] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return sum(self.collections.values())


class Shelf(Protocol):
    """An engine. Scores are higher for what fits better, and are compared with others of one call only."""

    def add(self, items: Sequence[Item]) -> int:
        """How many are new. One whose uid is known is dated anew, has one source more, and, where its shape
        is another, says from now on what the newer one says."""

    def remove(self, uids: Iterable[str]) -> int:
        """Gone: from rows, words, vectors and whatever log the engine keeps."""

    def keyword(self, words: Sequence[str], where: Filter, most: int) -> list[tuple[str, float]]:
        """Items that hold some of the words, themselves or just before or after: (uid, score)."""

    def nearest(
        self, model: str, vector: numpy.ndarray, where: Filter, most: int
    ) -> list[tuple[str, float]]:
        """Items whose vectors are nearest: (uid, cosine)."""

    def similar(self, model: str, vector: numpy.ndarray, uids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of these that has a vector."""

    def common(self, words: Sequence[str], where: Filter) -> dict[str, float]:
        """In what share of the items meant each word stands itself: about, where there are many."""

    def size(self, where: Filter) -> int:
        """How many items there are of those projects, collections and origins, about."""

    def rows(self, uids: Sequence[str]) -> dict[str, Row]: ...

    def around(self, uid: str, before: int, after: int) -> list[Row]:
        """The item with those of its thread before and after it, in their order."""

    def timeline(self, where: Filter, most: int) -> list[Row]:
        """Those that were first said last, newest first."""

    def lacking(self, model: str, size: int, most: int) -> list[tuple[str, str]]:
        """(uid, text to embed) of items without a vector of this model and size."""

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, numpy.ndarray]]) -> None: ...

    def counts(self, model: str = "") -> Counts: ...
