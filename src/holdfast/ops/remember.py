"""Deep memory looked after: what it holds, what is added and erased by hand, how it is made anew."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import new_id, now, rfc3339
from holdfast.core.fence import inert
from holdfast.core.plain import excerpt, one_line
from holdfast.errors import BadInput, NotFound
from holdfast.material import redactor_of
from holdfast.memory import database, deep, own
from holdfast.memory.feed import Feed, embedded
from holdfast.memory.index import Index
from holdfast.memory.place import project_of, repository_of
from holdfast.memory.shelf import COLLECTIONS, LONGEST, Told
from holdfast.memory.standing import shelved, standing
from holdfast.memory.terms import key, shape, storable, words
from holdfast.ops.progress import Bar

_TITLE = 160


@dataclass(frozen=True)
class Collection:
    name: str
    items: int


@dataclass(frozen=True)
class Collections:
    """`mode`: what is searched by; `waiting`: bytes that hooks have noted and nobody has taken in."""

    path: str
    bytes: int
    items: int
    vectors: int
    mode: str
    waiting: int
    collections: list[Collection]
    trouble: str


@dataclass(frozen=True)
class Learned:
    uid: str
    text: str

    def __str__(self) -> str:
        return f"learned {self.uid}: {self.text}"


@dataclass(frozen=True)
class Erased:
    """`still_in`: files that say it; it does not come back from them. `waits`: why the team has not been
    told yet; it will be."""

    erased: int
    still_in: list[str]
    waits: str = ""

    def __str__(self) -> str:
        rest = "".join(f"\nthe file still says it: {path}" for path in self.still_in)
        if self.waits:
            rest += f"\nthe team will be told when its store answers: {self.waits}"
        return f"{self.erased} erased for good; they are not taken in again{rest}"


@dataclass(frozen=True)
class Drained:
    """`amiss`: what could not be taken in, and why."""

    new: int
    items: int
    mode: str
    amiss: dict[str, str]

    def __str__(self) -> str:
        rest = "".join(f"\nnot taken in: {path}: {why}" for path, why in self.amiss.items())
        return f"{self.new:,} new, {self.items:,} in all; {self.mode}{rest}"


@dataclass(frozen=True)
class Rebuilt:
    items: int
    gone: int
    mode: str
    amiss: dict[str, str]

    def __str__(self) -> str:
        rest = "".join(f"\nnot taken in: {path}: {why}" for path, why in self.amiss.items())
        gone = f"{self.gone:,} that no file says any more are gone; " if self.gone else ""
        return f"{self.items:,} memories from files; {gone}{self.mode}{rest}"


def collections(app: Holdfast) -> Collections:
    """How much deep memory holds, by collection, and what it is searched by."""
    found = standing(app)
    counts = found.counts
    return Collections(
        app.home.memory,
        found.bytes,
        counts.items,
        counts.vectors,
        found.mode,
        found.waiting,
        [Collection(name, counts.collections.get(name, 0)) for name in COLLECTIONS],
        found.trouble,
    )


def learn(
    app: Holdfast,
    text: str,
    *,
    title: str = "",
    type: str = "note",  # noqa: A002
    files: list[str] | None = None,
    project: str | None = None,
) -> Learned:
    """Keep a finding for later sessions of this project: a fix, a reason, a dead end. `recall` finds it.

    Parameters
    ----------
    text
        What is to be remembered, so that it can stand alone.
    title
        What it is about.
    type
        note, decision, issue, deadend or howto.
    files
        Files it is about.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    kinds = ("note", "decision", "issue", "deadend", "howto")
    if type not in kinds:
        raise BadInput(f"there is no type {type[:40]!r}; there are {', '.join(kinds)}")
    folder = project_of(app, project)
    redact = redactor_of(app, folder).text
    said = one_line(redact(text[: 8 * LONGEST]))
    if not words(said):
        raise BadInput("there is nothing to remember: the text is empty")
    if len(text) > LONGEST:
        raise BadInput(f"the text has {len(text):,} characters; one memory has {LONGEST:,} at most")
    if own.Forgotten(app).holds(repository_of(folder), shape(said)):
        raise BadInput("that was erased for good, and is not taken in again; say it in other words")
    uid = new_id(now())
    paths = [excerpt(redact(one), 300) for one in (files or [])[:16]]
    made = {
        "uid": uid,
        "at": rfc3339(now()),
        "project": repository_of(folder),
        "kind": type,
        "files": paths,
    }
    own.learn(app, {**made, "title": excerpt(redact(title), _TITLE), "text": said})
    with deep.opened(app):  # which takes it in
        return Learned(key("learned", uid), inert(said))


def erase(app: Holdfast, uids: list[str]) -> Erased:
    """Make deep memory forget: out of text, words, vectors and log, and never taken in again from any file.

    Parameters
    ----------
    uids
        Of the memories, as `recall` names them.
    """
    with deep.asked(app) as memory:
        rows = memory.rows([storable(uid) for uid in uids])
        unknown = [uid for uid in uids if uid not in rows]
        if unknown:
            why = f" (local only: {memory.why})" if memory.why else ""
            raise NotFound(
                f"there is no memory {unknown[0][:80]!r}{why}; `holdfast recall` names those there are"
            )
        shapes = sorted({row.shape for row in rows.values()})
        alike = memory.shelf.alike(shapes)  # also what says the same elsewhere
        projects = {row.project for row in (*rows.values(), *memory.shelf.rows(alike).values())}
        memory.tell_to_forget(projects, shapes)
        own.forget(app, shapes)
        own.unlearn(app, {said["uid"] for said in own.learned(app) if shape(said["text"]) in shapes})
        gone = memory.shelf.remove(alike)
        waits = memory.sent()
        here = [row for row in rows.values() if not isinstance(row, Told)]
    still = {path for row in here for path in row.sources if os.path.exists(path)}
    return Erased(gone, sorted(still - {own.learned_path(app)}), waits)


def drain(app: Holdfast) -> Drained:
    """Take in what hooks have noted, and make vectors of all that have none."""
    with Bar("taking in", counts=True) as bar, shelved(app) as shelf:
        feed = Feed(app, shelf)
        feed.drain(project_of(app, None))
        embedded(shelf, app.config["memory.embedder"], 1e9, bar.show)
        items = shelf.counts().items
    return Drained(feed.fed.new, items, standing(app).mode, feed.fed.amiss)


def rebuild(app: Holdfast) -> Rebuilt:
    """Make deep memory anew from all files: transcripts, checkpoints, summaries, topics, saves."""
    database.mend(app.home.memory)
    with Bar("reading", counts=True) as bar, Index(app.home.memory) as shelf:
        feed = Feed(app, shelf)
        gone = feed.rebuild(bar.show)
        embedded(shelf, app.config["memory.embedder"], 1e9, bar.show)
        items = shelf.counts().items
    return Rebuilt(items, gone, standing(app).mode, feed.fed.amiss)
