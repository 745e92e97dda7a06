"""Breakpoints: commits and test runs, as scripts report them, and what waits in the spool."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast import breaks, engine
from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core import decide
from holdfast.core.events import Event
from holdfast.core.state import State
from holdfast.disk import saves, sessions, spool, worktree
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.material import redactor_of
from holdfast.ops.context import newest_first
from holdfast.ops.junit import counted
from holdfast.ops.saves import Draft, keep

#: More than any repository or test run has.
_MOST = 1_000_000_000
_LONGEST = 16 << 20
_HEX = frozenset("0123456789abcdefABCDEF")
#: A session that said nothing for so long has been left; and how many are looked at.
_LIVE_MS, _MOST_LIVE = 24 * 3_600_000, 50
#: In a process with threads the kernel's lock of a session is everybody's.
_ALONE = threading.Lock()


@dataclass(frozen=True)
class Committed:
    status: str
    session_id: str
    commit: str

    def __str__(self) -> str:
        return f"saved at commit {self.commit} ({self.session_id})"


@dataclass(frozen=True)
class Tested:
    status: str
    session_id: str
    tests_passed: bool

    def __str__(self) -> str:
        return f"saved, tests {'passed' if self.tests_passed else 'failed'} ({self.session_id})"


@dataclass(frozen=True)
class Breakpoint:
    """`state`: saved, or waiting to be."""

    id: str
    at: str
    kind: str
    environment: str
    task: str
    project: str
    branch: str
    commit: str
    state: str


class Breakpoints(list[Breakpoint]):
    """Newest first."""


def commit(
    app: Holdfast,
    *,
    environment: str,
    commit_sha: str,
    commit_message: str,
    branch: str,
    files_changed: int,
    project: str | None = None,
) -> Committed:
    """Save where work stands at a commit.

    Parameters
    ----------
    environment
        Under which name it is found again.
    commit_sha
        The commit, in hexadecimal digits.
    commit_message
        Its message; the first line counts.
    branch
        The branch it is on.
    files_changed
        How many files it changes.
    project
        The folder of the work. Without it: the one this environment was saved from before, else the one
        with the newest checkpoint.
    """
    _refuse_unwanted(app, spool.COMMIT)
    if not 4 <= len(commit_sha) <= 64 or not _HEX.issuperset(commit_sha):
        raise BadInput(f"commit_sha is {commit_sha[:80]!r}; it takes 4 to 64 hexadecimal digits")
    _check_number("files_changed", files_changed)
    _check_text(commit_message=commit_message, branch=branch)
    sha, message = commit_sha.lower(), commit_message.lstrip("\r\n").split("\n")[0]
    redactor = redactor_of(app, project or "")
    said = breaks.commit_said(redactor, message, branch, sha, files_changed)
    draft = Draft(
        environment,
        saves.COMMIT,
        said["task"],
        said["context"],
        tags=tuple(breaks.commit_tags(branch, sha)),
        project=project or "",
        branch=branch,
        commit=sha,
    )
    _tell_sessions(app, project, {"kind": spool.COMMIT, "commit": sha})
    return Committed("saved", keep(app, [draft])[0].id, commit_sha[:8])


def result(
    app: Holdfast,
    *,
    environment: str,
    passed: bool,
    test_count: int,
    duration_seconds: float,
    failed_count: int = 0,
    test_command: str | None = None,
    project: str | None = None,
) -> Tested:
    """Save where work stands after a test run.

    Parameters
    ----------
    environment
        Under which name it is found again.
    passed
        Whether the run as a whole did.
    test_count
        How many tests ran.
    duration_seconds
        How long they took.
    failed_count
        How many failed.
    test_command
        What ran them.
    project
        The folder of the work. Without it: the one this environment was saved from before, else the one
        with the newest checkpoint.
    """
    _refuse_unwanted(app, spool.TESTS)
    _check_number("test_count", test_count)
    _check_number("failed_count", failed_count)
    if failed_count > test_count:
        raise BadInput(f"failed_count is {failed_count}, more than the {test_count} tests there were")
    if passed and failed_count:
        raise BadInput(f"passed is true, but failed_count is {failed_count}; one of them is wrong")
    if not math.isfinite(duration_seconds) or not 0 <= duration_seconds <= _MOST:
        raise BadInput(f"duration_seconds is {duration_seconds}; it takes 0 or more")
    _check_text(test_command=test_command or "")
    run = _Run(passed, test_count, failed_count, float(duration_seconds), test_command or "")
    return Tested("saved", _keep_run(app, environment, run, project), passed)


@dataclass(frozen=True)
class _Run:
    passed: bool
    count: int
    failed: int
    seconds: float
    command: str


def _keep_run(app: Holdfast, environment: str, run: _Run, project: str | None) -> str:
    """The id of its save."""
    said, tags = breaks.tests_said(run.passed, run.count, run.failed, run.seconds, run.command)
    texts = said["task"], said["context"]
    draft = Draft(environment, saves.TESTS, *texts, tags=tuple(tags), project=project or "")
    tree = worktree.find(project) if project else None
    if tree:
        breaks.note_run(app, tree, vars(run))
    _tell_sessions(app, project, {**vars(run), "kind": spool.TESTS, "commit": ""})
    return keep(app, [draft])[0].id


def junit(
    app: Holdfast,
    path: str,
    *,
    environment: str | None = None,
    command: str = "",
    project: str | None = None,
) -> Tested:
    """Save where work stands after a test run, from its JUnit file.

    Parameters
    ----------
    path
        The XML file that pytest, jest, maven, gotestsum … wrote.
    environment
        Under which name it is found again. Without it: CONTEXTS_ENV, else development.
    command
        What ran the tests.
    project
        The folder of the work. Without it: this one.
    """
    _refuse_unwanted(app, spool.TESTS)
    count, failed, seconds = counted(path)
    name = environment or spool.environment(app.environ)
    run = _Run(not failed, count, failed, seconds, command)
    folder = os.path.abspath(project) if project else os.getcwd()
    return Tested("saved", _keep_run(app, name, run, folder), not failed)


def list_all(app: Holdfast, *, environment: str | None = None, limit: int = 20) -> Breakpoints:
    """Commits and test runs at which work was saved, or is about to be, newest first.

    Parameters
    ----------
    environment
        Only those of this environment.
    limit
        How many to show; 0 for all.
    """
    if limit < 0:
        raise BadInput(f"limit is {limit}; it takes 0 (all) or more")
    names = saves.environments(app.home) if environment is None else [environment]
    found = [one for name in names for one in _saved(app, name)]
    found += [one for one in _waiting(app) if environment in (None, one.environment)]
    found.sort(key=lambda one: one.id, reverse=True)
    return Breakpoints(found[: limit or None])


def _saved(app: Holdfast, environment: str) -> Iterator[Breakpoint]:
    kinds = {saves.COMMIT: spool.COMMIT, saves.TESTS: spool.TESTS}
    for save in saves.of(app.home, environment):
        if save["source"] in kinds:
            said = {name: save[name] for name in ("id", "at", "task", "project", "branch", "commit")}
            kind = kinds[save["source"]]
            yield Breakpoint(**said, kind=kind, environment=environment, state="saved")


def _waiting(app: Holdfast) -> Iterator[Breakpoint]:
    for tree in spool.trees(app.home):
        for entry in spool.entries(app.home, tree):
            said = {name: entry[name] for name in ("at", "environment", "branch", "commit")}
            kind = spool.TESTS if entry["kind"] == spool.TESTS else spool.COMMIT
            yield Breakpoint(
                **said, id=entry["uid"], kind=kind, task="", project=entry["root"], state="waiting"
            )


def drain(app: Holdfast) -> int:
    """Everything that waits in the spool is saved, and sessions that are live there take a checkpoint if
    they have something to save. How many saves were made. What cannot be saved now waits on."""
    with _ALONE:
        trees = [tree for tree in spool.trees(app.home) if spool.names(app.home, tree)]
        if not trees:
            return 0
        try:
            for state in _live(app):
                if state.heard.tree in trees:
                    _tell(app, state, [])
            return len(breaks.settle(app, trees))
        except OSError as problem:
            breaks.note(app, problem)
            return 0


def _tell_sessions(app: Holdfast, project: str | None, entry: dict[str, object]) -> None:
    """What was reported, told to the sessions it is about: those of that working tree, or, where nobody
    has said which it is, those that stand at that commit."""
    tree = worktree.find(project) if project else None
    wanted, sha = spool.key(tree.root) if tree else "", str(entry["commit"])
    with _ALONE:
        for state in _live(app):
            is_meant = state.heard.tree == wanted
            if not project and sha:
                here = worktree.find(state.heard.project)
                is_meant = here is not None and here.commit.startswith(sha)
            if is_meant:
                _tell(app, state, [entry])


def _live(app: Holdfast) -> list[State]:
    found = []
    for _, name in newest_first(app)[:_MOST_LIVE]:
        try:
            state = sessions.peek(app.home, name)
        except Damaged:
            continue
        if state and not state.heard.ended and now() - state.heard.last_at < _LIVE_MS:
            found.append(state)
    return found


def _tell(app: Holdfast, state: State, reported: list[dict[str, object]]) -> None:
    """A checkpoint, if one is due. Where it cannot be taken the save is made nevertheless."""
    heard = state.heard
    data = {"cwd": heard.cwd, "transcript_path": heard.transcript, "breakpoints": reported}
    try:
        engine.handle(Event(decide.BROKE, state.session, now(), data), app)
    except (OSError, HoldfastError) as problem:
        breaks.note(app, problem, state.session)


def _refuse_unwanted(app: Holdfast, kind: str) -> None:
    if not breaks.is_wanted(app.config, kind):
        name = "test_result" if kind == spool.TESTS else "git_commit"
        raise BadInput(
            f"nothing was saved: auto_context.enabled or auto_context.hooks.{name} is false in the settings"
        )


def _check_number(name: str, value: int) -> None:
    if not 0 <= value <= _MOST:
        shown = value if abs(value) < 10**18 else "a number of more than 18 digits"
        raise BadInput(f"{name} is {shown}; it takes 0 to {_MOST}")


def _check_text(**texts: str) -> None:
    for name, words in texts.items():
        if len(words) > _LONGEST:
            raise BadInput(f"{name} has {len(words)} characters; it takes at most {_LONGEST}")
