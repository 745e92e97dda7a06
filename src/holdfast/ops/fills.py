"""How full the window of each session is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import rfc3339
from holdfast.core.gauge import measure
from holdfast.core.guard import look
from holdfast.core.state import State
from holdfast.errors import HoldfastError
from holdfast.ops.context import find, newest_first, read

#: Read of each transcript: its newest part says how full it is.
_MOST = 4 << 20


@dataclass(frozen=True)
class Session:
    session: str
    project: str
    model: str
    used: int
    max: int
    percent: float
    fill: float
    level: str
    source: str
    turns: int
    compactions: int
    last: str
    known: bool
    problem: str


def newest(app: Holdfast, limit: int) -> list[Session]:
    """Of the newest so many, or of all of them if it is 0."""
    return list(_describe(app, newest_first(app)[: limit or None]))


def _describe(app: Holdfast, found: Iterable[tuple[float, str]]) -> Iterable[Session]:
    for changed, name in found:
        last = rfc3339(int(changed * 1000))
        try:
            yield _one(app, name, last)
        except (HoldfastError, OSError) as problem:  # one bad session must not hide the others
            yield Session(name, "", "", 0, 0, 0, 0, "", "", 0, 0, last, known=False, problem=str(problem))


def _one(app: Holdfast, name: str, last: str) -> Session:
    state, path, problems = find(app, name)
    known = bool(state.heard.events)
    if path and not _is_current(state, path):
        problems += read(state, path, _MOST)
    reading = measure(state, state.seen.offset, app.window)
    return Session(
        session=name,
        project=state.heard.cwd or state.seen.cwd,
        model=reading.model,
        used=reading.used,
        max=reading.window,
        percent=reading.percent,
        fill=reading.fill,
        level=look(state, reading, app.config).level,
        source=reading.source,
        turns=state.seen.turns or state.heard.batches + state.heard.stops,
        compactions=state.seen.compacted or state.heard.compactions,
        last=last,
        known=known,
        problem="; ".join(problems),
    )


def _is_current(state: State, path: str) -> bool:
    return bool(state.seen.offset) and state.seen.offset == os.path.getsize(path)
