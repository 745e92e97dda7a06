"""Where work stands, saved by environment: what was said, and the newest checkpoint of that work.

Whoever saves (a person, a full window, a breakpoint) makes a `Draft`, and `keep` keeps as many as there are
with one write for each environment. What can be wrong with a draft is found when it is made.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core.decide import unsaved
from holdfast.disk import checkpoints, index, saves, spool
from holdfast.disk.home import Home
from holdfast.errors import BadInput, HoldfastError, NotFound
from holdfast.material import Ground, redactor_of
from holdfast.ops.checkpoints import session_in, take
from holdfast.ops.context import find, read

_WORK = ("project", "lineage", "branch", "commit")
#: Environments that an error names.
_NAMED = 20


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


class Saves(list[Saved]):
    """Saves, newest first."""


class Tags(dict[str, int]):
    """Tag -> how many saves have it, most first."""

    def __str__(self) -> str:
        return "\n".join(f"{count:>5}  {tag}" for tag, count in self.items()) or "no tags yet"


@dataclass(frozen=True)
class Said:
    """What `ss` did; `trouble` is why what the session did last could not be saved with it."""

    saved: Saved
    trouble: str

    def __str__(self) -> str:
        saved = self.saved
        lines = [f"saved as {saved.environment} ({saved.id})"]
        if self.trouble:
            lines.append(f"what the session did last is not in it: {self.trouble}")
        lines.append(f"checkpoint: {saved.checkpoint or 'there is none of this folder yet'}")
        return "\n".join([*lines, f"go on with: holdfast rs {saved.environment}"])


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


def ss(
    app: Holdfast,
    environment: str | None = None,
    *,
    task: str = "",
    context: str = "",
    next: str = "",  # noqa: A002
    tag: tuple[str, ...] = (),
    project: str | None = None,
) -> Said:
    """Save where work stands, to go on with it later: `holdfast rs` does.

    Parameters
    ----------
    environment
        Under which name it is found again. Without it: CONTEXTS_ENV, else development.
    task
        What is being done.
    context
        What whoever goes on has to know.
    next
        What is to be done next.
    tag
        A word to find it by; may be given several times.
    project
        The folder of the work. Without it: this one.
    """
    if project and not os.path.isdir(project):
        raise BadInput(f"{project} is not a folder; --project takes the folder of the work")
    folder = os.path.abspath(project) if project else os.getcwd()
    draft = Draft(
        named(app, environment), saves.MANUAL, task, context, next, tags=tuple(tag), project=folder
    )
    from holdfast.ops.breakpoints import drain  # which saves as well

    drain(app)
    trouble = bring_up(app, folder)
    return Said(keep(app, [draft])[0], trouble)


def named(app: Holdfast, environment: str | None) -> str:
    return environment or spool.environment(app.environ)


def bring_up(app: Holdfast, folder: str) -> str:
    """Take a checkpoint if the session there did something since its last one. Why that failed, or ""."""
    try:
        session = session_in(app, folder)
        state, transcript, _ = find(app, session)
        if transcript:
            read(state, transcript, 1 << 30)
        if unsaved(state):
            take(app, session=session)
    except NotFound:
        return ""  # nothing is known to be unsaved
    except (OSError, HoldfastError) as problem:
        return str(problem)
    return ""


def list_all(
    app: Holdfast, *, environment: str | None = None, tag: str | None = None, limit: int = 20
) -> Saves:
    """What was saved, newest first: the last of each environment, or all of one.

    Parameters
    ----------
    environment
        All that was saved under this name.
    tag
        Only what has this tag: all of it, under whatever name.
    limit
        How many to show; 0 for all.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    if environment is not None:
        found = of(app, environment)
    elif tag is not None:
        found = _every(app)
    else:
        newest = (saves.last(app.home, name) for name in saves.environments(app.home))
        found = [saved(save) for save in newest if save]
    found = [one for one in found if tag is None or tag in one.tags]
    newest_first = sorted(found, key=lambda one: one.at)[::-1]
    return Saves(newest_first[: limit or None])


def show(app: Holdfast, environment: str, id: str | None = None) -> Saved:  # noqa: A002
    """All that one save says.

    Parameters
    ----------
    environment
        Under which name it was saved.
    id
        Which of them. Without it: the newest.
    """
    found = of(app, environment)
    if id is None:
        return found[-1]
    match = [one for one in found if one.id == id.upper()]
    if not match:
        raise NotFound(
            f"no save {id[:40]!r} in {environment}; `holdfast saves list --environment {environment}` "
            "shows those there are"
        )
    return match[0]


def tags(app: Holdfast) -> Tags:
    """Every tag, and how many saves have it."""
    counted = Counter(tag for one in _every(app) for tag in one.tags)
    return Tags(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def of(app: Holdfast, environment: str) -> list[Saved]:
    """Oldest first; NotFound names those that exist."""
    found = [saved(save) for save in saves.of(app.home, environment)]
    if found:
        return found
    known = saves.environments(app.home)
    if not known:
        raise NotFound(f"nothing was saved as {environment}, nor under any other name: `holdfast ss` saves")
    near = get_close_matches(environment, known, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise NotFound(f"nothing was saved as {environment}; {meant}Saved were: {', '.join(known[:_NAMED])}")


def _every(app: Holdfast) -> list[Saved]:
    names = saves.environments(app.home)
    return [saved(save) for name in names for save in saves.of(app.home, name)]


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
    entries = index.latest(home, index_was[0])[::-1]
    if not lineage:
        return next((entry for entry in entries if not entry["agent_id"]), {})
    mine = [entry for entry in entries if entry["lineage"] == lineage]
    return mine[0] if mine else checkpoints.head(home, lineage)
