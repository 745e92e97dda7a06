"""Where work stands, saved by environment: what was said, and the newest checkpoint of that work.

Whoever saves (a person, a full window, a breakpoint) makes a `Draft`, and `keep` keeps as many as there are
with one write for each environment. What can be wrong with a draft is found when it is made.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.disk import checkpoints, index, saves
from holdfast.disk.home import Home
from holdfast.errors import BadInput
from holdfast.material import Ground, redactor_of

_WORK = ("project", "lineage", "branch", "commit")


@dataclass(frozen=True)
class Draft:
    """What is to be saved. `project` is empty where nobody knows of which work it is; `branch` and
    `commit` where nobody knows better than git."""

    environment: str
    source: str
    task: str = ""
    context: str = ""
    next_steps: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    branch: str = ""
    commit: str = ""
    used: int = 0
    max: int = 0

    def __post_init__(self) -> None:
        """What cannot be kept is refused here, and not when it is kept with others."""
        saves.check_name(self.environment)
        if self.project and (not self.project.startswith("/") or "\0" in self.project):
            raise BadInput(f"{self.project[:200]!r} is no project: name its folder by its whole path")


@dataclass(frozen=True)
class Saved:
    """A save as it is on the disk. `checkpoint` is a path, empty if there was none; `joined` how it is
    known of which work it is: told, before (by the environment's save before it) or newest."""

    id: str
    at: str
    environment: str
    source: str
    task: str
    context: str
    next_steps: str
    tags: list[str]
    checkpoint: str
    joined: str
    project: str
    lineage: str
    session_id: str
    branch: str
    commit: str
    used: int
    max: int


def keep(app: Holdfast, drafts: Sequence[Draft]) -> list[Saved]:
    """All of them durable when this returns, in this order. What many have in common is found out once."""
    at = now()
    works = {place: _joined(app, *place) for place in {(d.project, d.environment) for d in drafts}}
    projects = {work["project"] for work in works.values()}
    redact = {project: cache(redactor_of(app, project).text) for project in projects}
    made = []
    for draft in drafts:
        work = works[draft.project, draft.environment]
        if draft.branch or draft.commit:
            work = {**work, "branch": draft.branch, "commit": draft.commit}
        said = {name: getattr(draft, name) for name in ("task", "context", "next_steps", "used", "max")}
        clean = redact[work["project"]]
        made.append(saves.made(at, draft.environment, draft.source, clean, draft.tags, **said, **work))
    saves.add(app.home, made)
    return [saved(save) for save in made]


def saved(save: dict) -> Saved:
    return Saved(**{name: save[name] for name in Saved.__dataclass_fields__})


def _joined(app: Holdfast, project: str, environment: str) -> dict[str, str]:
    """Of which work it is, and where that stands."""
    before = None if project else saves.last(app.home, environment)
    if project:
        ground, how = Ground(project), saves.TOLD
        work = {name: getattr(ground, name) for name in _WORK}
        entry = _newest(app.home, ground.lineage)
    elif before and before["joined"] in (saves.TOLD, saves.BEFORE):
        how, entry = saves.BEFORE, _newest(app.home, before["lineage"])
        known = {name: before[name] for name in ("project", "lineage")}
        work = {**{name: entry.get(name, "") for name in _WORK}, **known}
    else:
        how, entry = saves.NEWEST, _newest(app.home, "")
        work = {name: entry.get(name, "") for name in _WORK}
    found = {"checkpoint": entry.get("path", ""), "session_id": entry.get("session_id", "")}
    return {**work, **found, "joined": how if work["project"] else ""}


def _newest(home: Home, lineage: str) -> dict:
    """The entry of the newest checkpoint of a lineage, or of all; {} without one. A service asks thousands
    of times a second: the answer holds until there is another checkpoint."""
    try:
        state = os.stat(home.index)
    except FileNotFoundError:
        return {}
    return _newest_then(home.root, lineage, (state.st_size, state.st_ino, state.st_mtime_ns))


@lru_cache(maxsize=256)
def _newest_then(root: str, lineage: str, index_was: tuple[int, int, int]) -> dict:
    home = Home(root)
    entries = index.newest(home, index_was[0])[::-1]
    if not lineage:
        return next((entry for entry in entries if not entry["agent_id"]), {})
    mine = [entry for entry in entries if entry["lineage"] == lineage]
    return mine[0] if mine else checkpoints.head(home, lineage)
