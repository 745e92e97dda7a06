"""`rs`: go on with what was saved for an environment: its context printed, or a client started with it.

What was saved may hold anything. It is given to a model as data, between two marks that nobody could know
who wrote any of it; of a checkpoint that does not verify, or is a stranger's, nothing is repeated.
"""

from __future__ import annotations

import os
import shlex
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.books import DATA, mark
from holdfast.clock import at, now
from holdfast.core.decide import AFTER
from holdfast.core.events import Event
from holdfast.core.fence import fenced, inert, not_typed
from holdfast.core.plain import PER_TOKEN, ago, excerpt, quoted
from holdfast.disk import lineages, saves, sessions
from holdfast.disk.kept import Kept, look
from holdfast.errors import MISTAKES, BadInput, HoldfastError, NotFound
from holdfast.installed import program, resume_command
from holdfast.material import Ground
from holdfast.ops.breakpoints import drain
from holdfast.ops.saves import Saved, of, show
from holdfast.restoring import HANDED, Earlier

#: As far as the end of a fence is looked for, there is one.
_LONGEST = 11_000
#: Other sessions that are named, and characters of what each worked on.
_NAMED, _SHORT = 5, 120
#: Sessions that are looked through for a save that was not finished.
_MOST_SESSIONS = 200
_CLIENT = "HOLDFAST_CLIENT"
_SOURCES = {
    saves.MANUAL: "by hand",
    saves.AUTO: "by itself, as the window filled up or before a compaction",
    saves.COMMIT: "at a commit",
    saves.TESTS: "after a test run",
}


@dataclass(frozen=True)
class Context:
    """What to go on with. `checkpoint` is the path of the one it is from, empty where none can be used;
    `trouble` is why."""

    save: Saved
    checkpoint: str
    trouble: str
    text: str
    others: list[Saved]  # the newest saves of other sessions under this name

    def __str__(self) -> str:
        return self.text


def rs(app: Holdfast, environment: str, *, id: str | None = None, start: bool = False) -> Context:  # noqa: A002
    """Go on with what was saved: print its context.

    Parameters
    ----------
    environment
        Under which name it was saved.
    id
        Which of its saves. Without it: the newest of the work in this folder.
    start
        Start the client with it, in the folder of the work.
    """
    drain(app)
    _finish_saves(app)
    every = _saved_as(app, environment)
    if id is not None:
        save = show(app, environment, id)
        before = [one for one in every if one.id < save.id]
    else:
        *before, save = _of_here(every)
    typed = [one for one in before if one.source == saves.MANUAL and one.lineage == save.lineage]
    latest = None if save.source == saves.MANUAL or not typed else typed[-1]
    context = _context(app, save, latest, _others(every, save))
    if start:
        _start(app, context)
    return context


def _saved_as(app: Holdfast, environment: str) -> list[Saved]:
    """Where nothing was, what there is instead is named: by goal, age and state."""
    try:
        return of(app, environment)
    except NotFound as problem:
        left = lineages.left(app.home, Ground(os.getcwd()).lineage)[:_NAMED]
        if not left:
            raise
        lines = "\n  ".join(one.line(now()) for one in left)
        raise NotFound(
            f"{problem}. Checkpoints of the work here ({program(app)} checkpoint show ID):\n  {lines}"
        ) from None


def _finish_saves(app: Holdfast) -> None:
    """Make the saves that were pending when their hook was killed."""
    for session in sessions.with_pending_save(app.home, _MOST_SESSIONS):
        with suppress(OSError, HoldfastError, *MISTAKES):  # what was saved before is there all the same
            engine.handle(Event(AFTER, session, now(), {}), app)


def _others(every: list[Saved], save: Saved) -> list[Saved]:
    """The newest save of each other session: first those of the same work, newest first."""
    newest = {one.session_id: one for one in every if one.session_id and one.session_id != save.session_id}
    return sorted(newest.values(), key=lambda one: (one.lineage == save.lineage, one.at), reverse=True)


def _of_here(every: list[Saved]) -> list[Saved]:
    """Those of the work in this folder, where there are any: many share a name that nobody chose."""
    lineage = Ground(os.getcwd()).lineage
    return [one for one in every if one.lineage == lineage] or every


def _context(app: Holdfast, save: Saved, typed: Saved | None, others: list[Saved]) -> Context:
    """`typed` is what a person saved of the same work before a commit or a full window did: it says what
    those cannot."""
    at_now, ground = now(), Ground(save.project) if save.project else None
    kept, path, trouble = _kept(app, save)
    lines = _said(save)
    if typed:
        lines += [f"Before that, {ago(at_now - at(typed.at))}, by hand:", *_said(typed)]
    if trouble:
        lines.append(not_typed(trouble))
    lines += [_named(app, one, save, at_now) for one in others[:_NAMED]]
    if len(others) > _NAMED:
        more = f"{program(app)} saves list --environment {save.environment}"
        lines.append(f"{len(others) - _NAMED} more: {more}")
    if kept and ground:
        lines += _from_checkpoint(app, kept, path, ground, at_now, _LONGEST - 600 - sum(map(len, lines)))
    where = f", in {inert(save.project)}" if save.project else ""
    says = (
        f"## Going on with {save.environment}\n"
        f"Saved {ago(at_now - at(save.at))} {_SOURCES.get(save.source, '')}{where}. {DATA}"
        + (f" More: {inert(path)}" if kept else "")
    )
    told = fenced(mark(), says, lines, _LONGEST)
    return Context(save, path if kept else "", trouble, told, others)


def _named(app: Holdfast, one: Saved, save: Saved, at_now: int) -> str:
    """Another save under the same name, in one line, and how to go on with it."""
    where = "" if one.lineage == save.lineage else f" in {inert(one.project)}"
    what = excerpt(not_typed(one.task), _SHORT)
    return (
        f"Another session{where} saved {ago(at_now - at(one.at))}: {what} "
        f"({resume_command(app, one.environment)} --id {one.id})"
    )


def _said(save: Saved) -> list[str]:
    """What the save itself says; nobody knows who typed it."""
    stood = " at ".join(filter(None, (save.branch, save.commit[:12])))
    said = {
        "Task": save.task,
        "Context": save.context,
        "Next steps": save.next_steps,
        "Tags": ", ".join(save.tags),
        "Branch": stood,
    }
    return [
        not_typed(line) for name, words in said.items() if words for line in f"{name}: {words}".split("\n")
    ]


def _kept(app: Holdfast, save: Saved) -> tuple[Kept | None, str, str]:
    """(the checkpoint that was the newest then, its path, ""), or, where that cannot be used, the newest of
    the same work, and why. A session that saved itself and went on is continued where it ended."""
    newest = next(iter(lineages.left(app.home, save.lineage)), None) if save.lineage else None
    last = _last_of(app, save) if save.source == saves.AUTO else None
    if last:
        return *last, ""
    wrong = "" if save.checkpoint else "There was no checkpoint of this work when it was saved."
    for path in dict.fromkeys(filter(None, (save.checkpoint, newest.path if newest else ""))):
        try:
            kept = look(app.home, path)
        except (OSError, HoldfastError) as problem:
            wrong = wrong or f"Its checkpoint cannot be used: {problem}"
            continue
        if kept.is_trusted and kept.fields["lineage"] == save.lineage:
            return kept, path, f"{wrong} This is a later one of the same work." if wrong else ""
        why = f"{quoted(path)} is of other work" if kept.is_trusted else kept.refusal(path)
        wrong = wrong or f"Its checkpoint cannot be used: {why}"
    return None, "", wrong


def _last_of(app: Holdfast, save: Saved) -> tuple[Kept, str] | None:
    """The last checkpoint of the session that was saved, where it is a later one, and its path."""
    try:
        state = sessions.peek(app.home, save.session_id) if save.session_id else None
        path = str(state.heard.saved.get("path", "")) if state else ""
        kept = look(app.home, path) if path and path != save.checkpoint else None
    except (OSError, HoldfastError):
        return None
    owner = [save.lineage, save.session_id]
    is_its = kept and kept.is_trusted and [kept.fields["lineage"], kept.fields["session_id"]] == owner
    return (kept, path) if kept and is_its else None


def _from_checkpoint(
    app: Holdfast, kept: Kept, path: str, ground: Ground, at_now: int, characters: int
) -> list[str]:
    one = lineages.Left(app.home, kept, path)
    earlier = Earlier(app, kept, one.state)
    head = f"Checkpoint {one.id}, verified, taken {ago(at_now - one.created)}; {one.work}"
    if one.is_live(at_now):
        head += ", by a session that is still at work"
    newest = next(iter(lineages.left(app.home, ground.lineage)), one)
    if newest.uid > one.uid:
        head += f"; there is a later one: {newest.id}"
    lines = [head, *earlier.checked(app, ground, at_now)]
    room = min(characters - sum(map(len, lines)), PER_TOKEN * app.config["brief.tokens"])
    return lines + (earlier.lines(room / PER_TOKEN) if room > 0 else [])


def _start(app: Holdfast, context: Context) -> None:
    """Become the client. Its hooks are told that this session has been told."""
    environment, folder = context.save.environment, context.save.project or os.getcwd()
    resume = resume_command(app, environment)
    if app.environ.get("CLAUDECODE"):
        raise BadInput(f"a session cannot start another in its place: {resume} prints it")
    if not os.path.isdir(folder):
        raise NotFound(
            f"{folder} is gone, where the work was; move it back, or go on elsewhere with what "
            f"`{resume}` prints"
        )
    command = client_command(app)
    session = str(uuid.uuid4())
    prompt = f"Go on with the work that was saved as {environment}.\n{context.text}"
    told = {"CONTEXTS_ENV": environment, HANDED: session, "PWD": folder}
    try:
        os.chdir(folder)
        os.execve(command[0], [*command, "--session-id", session, prompt], {**app.environ, **told})  # noqa: S606
    except OSError as problem:
        raise HoldfastError(f"{command[0]} cannot be started in {folder}: {problem.strerror}") from None


def client_command(app: Holdfast) -> list[str]:
    """How the client is started here."""
    named = app.environ.get(_CLIENT) or "claude"
    try:
        program, *words = shlex.split(named)
    except ValueError:
        raise BadInput(f"{_CLIENT} is {named!r}, which is no command") from None
    found = shutil.which(program, path=app.environ.get("PATH"))
    if not found:
        raise NotFound(
            f"{quoted(program)} is not found; name the client's command with {_CLIENT}, such as "
            f"{_CLIENT}=~/.local/bin/claude"
        )
    return [os.path.abspath(found), *words]
