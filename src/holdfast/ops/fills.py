"""How full the window of each session is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.app import Holdfast
from holdfast.clock import rfc3339
from holdfast.core.gauge import measure
from holdfast.core.guard import look
from holdfast.core.state import State
from holdfast.disk import index
from holdfast.disk.home import is_safe_name
from holdfast.errors import HoldfastError
from holdfast.ops.context import find, newest_first, read

#: Read of each transcript: its newest part says how full it is.
_MOST = 4 << 20


@dataclass(frozen=True)
class Session:
    """`turns_left`: until the client compacts, as [at least, likely, at most]; [] where nobody can tell."""

    session: str
    project: str = ""
    model: str = ""
    used: int = 0
    max: int = 0
    percent: float = 0.0
    fill: float = 0.0
    level: str = ""
    source: str = ""
    capacity: int = 0
    turns_left: list[int] = field(default_factory=list)
    minutes_left: float = 0.0
    turns: int = 0
    compactions: int = 0
    agents: int = 0
    checkpoint: str = ""
    saved: str = ""
    last: str = ""
    known: bool = False
    problem: str = ""


#: Session -> what the index says of its newest checkpoint.
Saved = Mapping[str, dict]


def newest(app: Holdfast, limit: int) -> list[Session]:
    """Of the newest so many, or of all of them if it is 0."""
    found = newest_first(app)[: limit or None]
    return list(described(app, found, last_saved(app))) if found else []


def last_saved(app: Holdfast) -> Saved:
    """Of an index that cannot be read nothing; `status` tells of it."""
    try:
        entries = index.load_all(app.home).entries
    except (HoldfastError, OSError):
        return {}
    return {said["session_id"]: said for said in entries.values()}


def described(app: Holdfast, found: Iterable[tuple[float, str]], saved: Saved) -> Iterable[Session]:
    for changed, name in found:
        last = rfc3339(int(changed * 1000))
        try:
            yield _one(app, name, last, saved.get(name, {}))
        except (HoldfastError, OSError) as problem:  # one bad session must not hide the others
            yield Session(name, last=last, problem=str(problem))


def agents_of(app: Holdfast, session: str) -> list[str]:
    """Those a session has had, by their ids."""
    try:
        return sorted(filter(is_safe_name, os.listdir(app.home.session(session) + "/agents")))
    except OSError:
        return []


def _one(app: Holdfast, name: str, last: str, saved: dict) -> Session:
    state, path, problems = find(app, name)
    known = bool(state.heard.events)
    if path and not _is_current(state, path):
        problems += read(state, path, _MOST)
    reading = measure(state, state.seen.offset, app.window)
    now = look(state, reading, app.config)
    coming = now.forecast
    return Session(
        session=name,
        project=state.heard.cwd or state.seen.cwd,
        model=reading.model,
        used=reading.used,
        max=reading.window,
        percent=reading.percent,
        fill=reading.fill,
        level=now.level,
        source=reading.source,
        capacity=reading.capacity,
        turns_left=[coming.low, coming.turns, coming.high] if coming else [],
        minutes_left=coming.minutes if coming else 0.0,
        turns=state.seen.turns or state.heard.batches + state.heard.stops,
        compactions=state.seen.compacted or state.heard.compactions,
        agents=len(agents_of(app, name)),
        checkpoint=saved.get("id", ""),
        saved=saved.get("created", ""),
        last=last,
        known=known,
        problem="; ".join(problems),
    )


def _is_current(state: State, path: str) -> bool:
    return bool(state.seen.offset) and state.seen.offset == os.path.getsize(path)
