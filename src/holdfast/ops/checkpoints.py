"""Checkpoints: take one, find them, look at them, compare them, decide about them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core import checkpoint, decide
from holdfast.core.digest import sha256_hex
from holdfast.core.events import Event
from holdfast.disk import checkpoints, index, marks, sessions
from holdfast.disk.kept import look
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.material import Ground
from holdfast.ops import asking
from holdfast.ops.context import find, newest_first, read


@dataclass(frozen=True)
class Listed:
    """A checkpoint as the index knows it; `state`: ok, missing, or damaged; `work`: how its work stands (in
    progress, finished, only talk), where it can be read. Of a team: which `machine` has it, and `who` sent
    it; the state is ok, or listed where what it says stayed there."""

    id: str
    uid: str
    created: str
    trigger: str
    reason: str
    iteration: int
    summary: str
    project: str
    path: str
    branch: str
    session_id: str
    agent_id: str
    lineage: str
    pinned: bool
    state: str
    machine: str = ""
    who: str = ""
    work: str = ""


class Listing(list[Listed]):
    """Checkpoints, newest first."""


@dataclass(frozen=True)
class Shown:
    fields: dict[str, object]
    sections: dict[str, list[str]]
    path: str
    trust: str
    text: str


@dataclass(frozen=True)
class Verdict:
    path: str
    verified: bool
    trust: str
    problems: list[str]

    @property
    def exit_code(self) -> int:
        return 0 if self.verified else 1


@dataclass(frozen=True)
class Difference:
    old: str
    new: str
    sections: dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class Marked:
    path: str
    what: str


def take(app: Holdfast, *, session: str | None = None, note: str = "") -> Listed:
    """Take a checkpoint of a session now.

    Parameters
    ----------
    session
        Of the session with this id. Without it: of the session that asks, else the newest in this folder.
    note
        A remark to keep with it.
    """
    state, transcript, _ = find(app, session or session_in(app, os.getcwd()))
    if transcript and not state.heard.project:  # no hook has told us where it is; its own lines do
        read(state, transcript, 1 << 20)
    cwd = state.heard.project or state.seen.cwd
    data = {"transcript_path": transcript, "cwd": cwd, "note": note}
    taken = engine.handle(Event(decide.ASKED, state.session, now(), data), app).checkpoint
    if not taken:
        saved = sessions.peek(app.home, state.session)
        why = saved.heard.owed.get("what", "") if saved else ""
        raise HoldfastError(
            f"no checkpoint was taken: {why or 'see `holdfast status`'}. "
            "It is owed; the next hook tries again"
        )
    return _listed(app, taken, set())


def session_in(app: Holdfast, folder: str) -> str:
    """The session that asks, else the newest of the work in a folder."""
    inside = asking.session(app)
    if inside:
        return inside
    found = newest_first(app)
    if not found:
        raise NotFound(f"no sessions yet: none under {app.client_dir}/projects and none in {app.home.root}")
    here = Ground(folder)
    for _, name in found[:50]:
        try:
            known = sessions.peek(app.home, name)
        except Damaged:
            continue
        if known and known.heard.project and Ground(known.heard.project).lineage == here.lineage:
            return name
    raise NotFound(
        f"no session of {here.project} is known; name one with --session (see `holdfast sessions`)"
    )


def list_all(app: Holdfast, *, project: str | None = None, limit: int = 20, team: bool = False) -> Listing:
    """All checkpoints, newest first.

    Parameters
    ----------
    project
        Only those of this folder.
    limit
        How many to show; 0 for all.
    team
        Those of all machines of the team, as its store knows them.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    if team:
        from holdfast.ops import elsewhere  # which asks the store
        from holdfast.store.projects import name_of

        name = name_of(os.path.realpath(project)) if project else None
        return of_team(elsewhere.checkpoints(elsewhere.store_of(app), name, limit))
    pinned = marks.pinned(app.home)
    wanted = os.path.realpath(project) if project else None
    entries = [e for e in _entries(app) if wanted is None or e["project"] == wanted]
    return Listing(_listed(app, entry, pinned) for entry in entries[::-1][: limit or None])


def of_team(found: Iterable[tuple[Any, dict]]) -> Listing:
    return Listing(
        _known(entry, pinned=False, state="ok" if one.size else "listed", machine=one.machine, who=one.who)
        for one, entry in found
    )


def show(app: Holdfast, name: str = "latest", *, team: bool = False) -> Shown:
    """What a checkpoint says.

    Parameters
    ----------
    name
        Its name, uid or path. Without it: the newest of this folder.
    team
        One of any machine of the team, by its uid.
    """
    if team:
        from holdfast.ops import elsewhere  # which asks the store

        path, data = elsewhere.checkpoint(elsewhere.store_of(app), name)
    else:
        path, data = _found(app, name)
    made = checkpoint.parse(data, path)
    return Shown(made.fields, made.sections, path, marks.trust(app.home, data), data.decode())


def verify(app: Holdfast, name: str) -> Verdict:
    """Whether a checkpoint is what was written: exists, parses, whole, its hash fits. Exit code 0 or 1.

    Parameters
    ----------
    name
        Its path, name or uid.
    """
    try:
        path, data = _found(app, name)
    except (NotFound, BadInput) as problem:
        return Verdict(name, verified=False, trust="", problems=[str(problem)])
    problems = checkpoint.problems(data, os.path.basename(path).removesuffix(checkpoints.SUFFIX))
    return Verdict(path, not problems, marks.trust(app.home, data), problems)


def diff(app: Holdfast, old: str, new: str = "latest") -> Difference:
    """What changed between two checkpoints.

    Parameters
    ----------
    old
        Name, uid or path of the earlier one.
    new
        Of the later one. Without it: the newest of this folder.
    """
    (old_path, before), (new_path, after) = _found(app, old), _found(app, new)
    changed = checkpoint.diff(checkpoint.parse(before, old_path), checkpoint.parse(after, new_path))
    sections = {name: {"gone": gone, "added": added} for name, (gone, added) in changed.items()}
    return Difference(old_path, new_path, sections)


def pin(app: Holdfast, name: str, *, undo: bool = False) -> Marked:
    """Keep a checkpoint for good: it is never pruned.

    Parameters
    ----------
    name
        Its name, uid or path.
    undo
        Let it go with the others again.
    """
    path, data = _found(app, name)
    uid = str(checkpoint.parse(data, path).fields["uid"])
    marks.add(app.home, "unpin" if undo else "pin", uid, sha256_hex(data))
    return Marked(path, "no longer pinned" if undo else "pinned: it is never pruned")


def approve(app: Holdfast, name: str) -> Marked:
    """Trust a checkpoint that this user's holdfast did not write: as it is now, to the byte.

    Parameters
    ----------
    name
        Its path.
    """
    path, data = _found(app, name)
    fields = checkpoint.parse(data, path).fields
    wrong = checkpoint.problems(data, os.path.basename(path).removesuffix(checkpoints.SUFFIX))
    if wrong:
        raise Damaged(f"{path} cannot be approved: {wrong[0]}")
    if marks.trust(app.home, data) != "foreign":
        return Marked(path, "already trusted: nothing to approve")
    marks.add(app.home, "approve", str(fields["uid"]), sha256_hex(data))
    return Marked(path, "approved: it may be given to a session")


def _entries(app: Holdfast) -> list[dict]:
    return list(index.load_all(app.home).entries.values())


def _listed(app: Holdfast, entry: dict, pinned: set[str]) -> Listed:
    state, work = _state(app, entry["path"])
    return _known(entry, pinned=entry["uid"] in pinned, state=state, work=work)


def _known(entry: dict, **more: Any) -> Listed:
    return Listed(**{name: entry[name] for name in Listed.__dataclass_fields__ if name in entry}, **more)


def _state(app: Holdfast, path: str) -> tuple[str, str]:
    """(whether it is there and whole, how its work stands): looked at, not believed."""
    try:
        kept = look(app.home, path)
    except NotFound:
        return "missing", ""
    except (OSError, HoldfastError):
        return "missing" if not os.path.lexists(path) else "damaged", ""
    return ("ok", kept.work) if kept.is_verified else ("damaged", "")


def _found(app: Holdfast, name: str) -> tuple[str, bytes]:
    """(path, bytes) of the checkpoint that a person means by `name`."""
    path = _path(app, name)
    folder, _, file = path.rpartition("/")
    try:
        with checkpoints.open_folder(folder or "/") as opened:
            return path, opened.read(file, checkpoint.LARGEST)
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist; `holdfast checkpoint list` shows those that do") from None
    except NotADirectoryError:
        raise BadInput(f"{folder} is not a folder, or there is a link in it that leads elsewhere") from None
    except OSError as problem:
        raise BadInput(f"{path} cannot be read: {problem.strerror}") from None
    except ValueError:  # a NUL, or half a character
        raise BadInput(f"{path!a} cannot be the name of a file") from None


def _path(app: Holdfast, name: str) -> str:
    if "/" in name or name.endswith(checkpoints.SUFFIX):
        path = _behind_latest(os.path.abspath(name))
        if not checkpoints.is_stem(os.path.basename(path).removesuffix(checkpoints.SUFFIX)):
            raise BadInput(f"{name[:200]!r} is no checkpoint: they are called 2026-11-16-043904.md")
        return path
    entries = _entries(app)
    here = os.path.realpath(os.getcwd())
    if name == "latest":
        mine = [entry for entry in entries if entry["project"] == here]
        if not mine:
            raise NotFound(
                f"no checkpoint of {here} yet; `holdfast checkpoint list` shows those of other folders"
            )
        return str(mine[-1]["path"])
    if not (checkpoints.is_stem(name) or name.isalnum()):
        raise BadInput(f"{name[:80]!r} is no name of a checkpoint: they look like 2026-11-16-043904")
    found = [entry for entry in entries if name in (entry["id"], entry["uid"])]
    found = [entry for entry in found if entry["project"] == here] or found
    if not found:
        raise NotFound(f"no checkpoint {name}; `holdfast checkpoint list` shows those there are")
    if len(found) > 1:
        paths = "\n  ".join(entry["path"] for entry in found)
        raise BadInput(f"{len(found)} checkpoints are called {name}; name one by its path:\n  {paths}")
    return str(found[0]["path"])


def _behind_latest(path: str) -> str:
    """`latest.md` is a link to a neighbour; no other link is followed."""
    if os.path.basename(path) != "latest.md" or not os.path.islink(path):
        return path
    target = os.readlink(path)
    if not checkpoints.is_stem(target.removesuffix(checkpoints.SUFFIX)):
        raise BadInput(f"{path} leads to {target[:200]!r}, which is no checkpoint beside it")
    return os.path.join(os.path.dirname(path), target)
