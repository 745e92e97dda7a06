"""Tasks that agents share: add, claim, finish; who waits for whom."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from holdfast.app import Holdfast
from holdfast.core.plain import in_lines, one_line
from holdfast.disk import sessions, trail
from holdfast.errors import BadInput, Damaged
from holdfast.material import redactor_of
from holdfast.memory.place import project_of
from holdfast.ops import tasklist
from holdfast.ops.asking import session
from holdfast.store.chains import Link
from holdfast.store.database import opened
from holdfast.store.holders import Holder, here, is_gone
from holdfast.store.projects import name_of
from holdfast.store.queue import Queue
from holdfast.store.task import LARGEST, Draft, Task

_LONGEST, _LONGEST_NAME = 20_000, 200
#: What of a task in a file has a place of its own here.
_OURS = ("id", "description", "priority", "depends_on")
_LEAST_LEASE_S, _MOST_LEASE_S = 1, 7 * 24 * 3600
_MOST_WAIT_S = 3600
_MOST_PRIORITY = 1_000_000


class Tasks(list[Task]):
    """Tasks; those to be done first in front."""


@dataclass(frozen=True)
class Claimed:
    """`task` is empty where nothing could be claimed, and `why` says so."""

    task: Task | None
    why: str

    @property
    def exit_code(self) -> int:
        return 0 if self.task else 3


@dataclass(frozen=True)
class Waited:
    finished: bool
    task: Task

    @property
    def exit_code(self) -> int:
        return 0 if self.finished else 1


class Chain(list[Link]):
    """Who waits for which task, and who is at that."""


def add(
    app: Holdfast,
    description: str | None = None,
    *,
    priority: int = 0,
    needs: tuple[int, ...] = (),
    file: tuple[str, ...] = (),
    creates: tuple[str, ...] = (),
    plan: Path | None = None,
    project: str | None = None,
) -> Tasks:
    """Add a task that any agent may claim, or all the tasks in a file.

    Parameters
    ----------
    description
        What is to be done.
    priority
        Higher ones are claimed first.
    needs
        The number of a task that has to be finished before; may be given several times.
    file
        A file that the task is about; may be given several times.
    creates
        A file that the task is to make; may be given several times.
    plan
        A tasks.json instead, as `batch plan` reads it; its tasks may have a priority.
    project
        The folder of the work. Without it: the client's, or the repository we are in.
    """
    if (plan is None) == (description is None):
        raise BadInput("say what is to be done, or name a file of tasks with --plan, but not both")
    folder = project_of(app, project)
    if plan is not None:
        drafts = _planned(plan, folder)
    else:
        check_priority("this task", priority)
        if not (description or "").strip():
            raise BadInput("the task has no description; say what is to be done")
        named = {"files": list(file), "creates": list(creates)}
        payload = {name: paths for name, paths in named.items() if paths}
        (one,) = tasklist.checked([{"description": description, **payload}], folder, "this")
        payload = {name: one[name] for name in payload}
        drafts = [Draft(one["description"], name_of(folder), priority, needs, payload)]
    clean = redactor_of(app, folder).text
    drafts = [
        replace(
            draft,
            description=cleaned(draft.description, clean),
            payload={name: cleaned(value, clean) for name, value in draft.payload.items()},
        )
        for draft in drafts
    ]
    return Tasks(_queue(app).add(drafts, _holder(app, None)))


def claim(
    app: Holdfast,
    task: int | None = None,
    *,
    lease: int = 600,
    holder: str | None = None,
    process: int | None = None,
    project: str | None = None,
) -> Claimed:
    """Claim a task: the one named, or the next of this project that is free. Nobody else gets it.

    The claim ends when it is released or finished, when it is not renewed within its lease, and when the
    session that holds it, or the process named, has ended.

    Parameters
    ----------
    task
        Its number. Without it: highest priority first, then the oldest, whose needs are finished.
    lease
        Seconds after which the claim ends unless it is renewed.
    holder
        Who claims it. Without it: this session, or you.
    process
        The number of a process with which the claim ends, `$$` in a script.
    project
        The folder of the work. Without it: the client's, or the repository we are in.
    """
    check_lease(lease)
    return claimed(_queue(app), _who(app, holder, process), name_of(project_of(app, project)), task, lease)


def claimed(queue: Queue, holder: Holder, shared: str, task: int | None, lease: int) -> Claimed:
    """What a claim comes to, in a project as the store names it."""
    found = queue.claim(holder, shared, task, lease)
    if found:
        return Claimed(found, "")
    counts = queue.counts(shared)
    blocked, held = counts.get("blocked", 0), counts.get("claimed", 0)
    why = f"{held} held, {blocked} blocked by what they need" if blocked or held else "no task is open"
    return Claimed(None, f"nothing to claim in {shared}: {why}")


def renew(app: Holdfast, task: int, *, lease: int = 600, holder: str | None = None) -> Task:
    """Keep a claim for longer.

    Parameters
    ----------
    task
        Its number.
    lease
        Seconds from now on.
    holder
        Who holds it. Without it: this session, or you.
    """
    check_lease(lease)
    return _queue(app).renew(task, _holder(app, holder), lease)


def finish(app: Holdfast, task: int, *, result: str = "", holder: str | None = None) -> Task:
    """Say that a task is done. Tasks that need it can be claimed from now on.

    Parameters
    ----------
    task
        Its number.
    result
        What came of it, for whoever needs it.
    holder
        Who did it. Without it: this session, or you.
    """
    clean = redactor_of(app, project_of(app, None)).text
    return _queue(app).finish(task, _holder(app, holder), in_lines(clean(result), _LONGEST))


def release(app: Holdfast, task: int, *, holder: str | None = None, force: bool = False) -> Task:
    """Give a claim back: the task is open again.

    Parameters
    ----------
    task
        Its number.
    holder
        Who holds it. Without it: this session, or you.
    force
        Also when somebody else holds it.
    """
    return _queue(app).release(task, _holder(app, holder), force)


def list_all(
    app: Holdfast,
    *,
    state: Literal["open", "blocked", "claimed", "finished"] | None = None,
    all: bool = False,  # noqa: A002
    project: str | None = None,
    limit: int = 50,
) -> Tasks:
    """The tasks of this project: those to be done first in front, then what is finished.

    Parameters
    ----------
    state
        Only those.
    all
        Of all projects.
    project
        The folder of the work. Without it: the client's, or the repository we are in.
    limit
        How many to show; 0 for all.
    """
    check_limit(limit)
    return Tasks(_queue(app).tasks(None if all else name_of(project_of(app, project)), state, limit))


def show(app: Holdfast, task: int) -> Task:
    """All there is to know of a task.

    Parameters
    ----------
    task
        Its number.
    """
    return _queue(app).task(task)


def wait(app: Holdfast, task: int, *, seconds: int = 20, holder: str | None = None) -> Waited:
    """Wait until a task is finished. Refused where that would never be: where it waits for you.

    Parameters
    ----------
    task
        Its number.
    seconds
        How long at most.
    holder
        Who waits. Without it: this session, or you.
    """
    if not 0 <= seconds <= _MOST_WAIT_S:
        raise BadInput(f"--seconds is {seconds}; it takes 0 to {_MOST_WAIT_S:,}")
    found = _queue(app).wait(task, _holder(app, holder), seconds)
    return Waited(found.state == "finished", found)


def chain(app: Holdfast, task: int | None = None) -> Chain:
    """Who waits for whom: agents for tasks, tasks for what they need.

    Parameters
    ----------
    task
        Only what this one depends on.
    """
    return Chain(_queue(app).chain(task))


def _queue(app: Holdfast) -> Queue:
    return Queue(opened(app), partial(is_gone, app.home), partial(trail.note, app.home))


def _holder(app: Holdfast, given: str | None) -> str:
    return check_name(
        given if given is not None else session(app) or f"{getpass.getuser()}@{socket.gethostname()}"
    )


def check_name(name: str) -> str:
    if not name or len(name) > _LONGEST_NAME or one_line(name) != name:
        raise BadInput(
            f"{name[:40]!r} cannot be a holder: a name has 1 to {_LONGEST_NAME} characters on a line"
        )
    return name


def _who(app: Holdfast, given: str | None, process: int | None) -> Holder:
    """With the process that it ends with: the one named, or the client of the session that asks."""
    name = _holder(app, given)
    if process is not None:
        return here(name, process, is_named=True)
    try:
        state = sessions.peek(app.home, name.partition("/")[0])
    except (BadInput, Damaged):
        state = None
    client = state.heard.process if state and not state.heard.ended else 0
    return here(name, client if client and os.path.exists(f"/proc/{client}") else 0)


def check_limit(limit: int) -> None:
    """Beyond the largest a store cannot even be asked."""
    if not 0 <= limit <= LARGEST:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) to {LARGEST:,}")


def check_lease(seconds: int) -> None:
    if not _LEAST_LEASE_S <= seconds <= _MOST_LEASE_S:
        raise BadInput(f"--lease is {seconds}; it takes {_LEAST_LEASE_S} to {_MOST_LEASE_S:,} seconds")


def _planned(plan: Path, folder: str) -> list[Draft]:
    """The tasks of a tasks.json. What the batcher knows of them beyond this stays in the payload."""
    drafts = []
    for one in tasklist.read(str(plan), folder):
        rest = {name: value for name, value in one.items() if name not in _OURS}
        needs, priority = tuple(one.get("depends_on", ())), one.get("priority", 0)
        check_priority(f"{plan}, task {one['id']}", priority)
        drafts.append(Draft(one["description"], name_of(folder), priority, needs, rest, one["id"]))
    return drafts


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Without secrets, and without what cannot be seen, wherever in it a text stands; of a path with two
    spaces no other is made."""
    if isinstance(value, str):
        words = clean(value)
        seen = in_lines(words, _LONGEST)
        return words if words.replace(" ", "") == seen.replace(" ", "") else seen
    if isinstance(value, list):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, dict):
        return {name: cleaned(one, clean) for name, one in value.items()}
    return value


def check_priority(where: str, priority: object) -> None:
    if type(priority) is not int or abs(priority) > _MOST_PRIORITY:
        raise BadInput(
            f"{where}: priority is {priority!r}; it takes a whole number up to {_MOST_PRIORITY:,}"
        )
