"""What a shared service does for the members of a team, each with its own rights.

These are the operations of the same names, without what belongs to a machine: no folder is looked at, no
session, no file of the service's home. A project is named as the team names it, `host/path`; who holds
something is always the member, with a name of its choice behind it. Which rows there are for it, the engine
decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from holdfast.errors import BadInput
from holdfast.ops.tasks import (
    Chain,
    Claimed,
    Tasks,
    check_lease,
    check_limit,
    check_name,
    check_priority,
    claimed,
    cleaned,
)
from holdfast.store.holders import Holder
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import Queue
from holdfast.store.task import Draft, Task

_LONGEST_PROJECT = 500
#: Tasks that one answer holds.
_MOST = 1000


@dataclass(frozen=True)
class Desk:
    """Where a member is served: `store` with that one's rights; `clean` takes secrets out of a text."""

    who: str
    store: PostgreSQL
    clean: Callable[[str], str]

    @property
    def queue(self) -> Queue:
        return Queue(self.store)

    def holder(self, name: str | None) -> str:
        return check_name(f"{self.who}/{name}" if name else self.who)


def add(
    desk: Desk, description: str, project: str, *, priority: int = 0, needs: tuple[int, ...] = ()
) -> Tasks:
    """Add a task that any agent of the project may claim.

    Parameters
    ----------
    description
        What is to be done.
    project
        Its name in the team, host/path.
    priority
        Higher ones are claimed first.
    needs
        The number of a task that has to be finished before; may be given several times.
    """
    check_priority("this task", priority)
    words = cleaned(description, desk.clean)
    if not words.strip():
        raise BadInput("this task has no description; say what is to be done")
    return Tasks(desk.queue.add([Draft(words, named(project), priority, needs)], desk.holder(None)))


def claim(
    desk: Desk, project: str, task: int | None = None, *, lease: int = 600, holder: str | None = None
) -> Claimed:
    """Claim a task: the one named, or the next of the project that is free. Nobody else gets it.

    Parameters
    ----------
    project
        Its name in the team, host/path.
    task
        Its number. Without it: highest priority first, then the oldest, whose needs are finished.
    lease
        Seconds after which the claim ends unless it is renewed.
    holder
        Which of your agents claims it; your name stands before it.
    """
    check_lease(lease)
    return claimed(desk.queue, Holder(desk.holder(holder)), named(project), task, lease)


def renew(desk: Desk, task: int, *, lease: int = 600, holder: str | None = None) -> Task:
    """Keep a claim for longer.

    Parameters
    ----------
    task
        Its number.
    lease
        Seconds from now on.
    holder
        Which of your agents holds it.
    """
    check_lease(lease)
    return desk.queue.renew(task, desk.holder(holder), lease)


def finish(desk: Desk, task: int, *, result: str = "", holder: str | None = None) -> Task:
    """Say that a task is done. Tasks that need it can be claimed from now on.

    Parameters
    ----------
    task
        Its number.
    result
        What came of it, for whoever needs it.
    holder
        Which of your agents did it.
    """
    return desk.queue.finish(task, desk.holder(holder), cleaned(result, desk.clean))


def release(desk: Desk, task: int, *, holder: str | None = None, force: bool = False) -> Task:
    """Give a claim back: the task is open again.

    Parameters
    ----------
    task
        Its number.
    holder
        Which of your agents holds it.
    force
        Also when somebody else holds it.
    """
    return desk.queue.release(task, desk.holder(holder), force)


def list_all(
    desk: Desk,
    *,
    project: str | None = None,
    state: Literal["open", "blocked", "claimed", "finished"] | None = None,
    limit: int = 50,
) -> Tasks:
    """Tasks of a project, or of all that you are in: those to be done first in front.

    Parameters
    ----------
    project
        Its name in the team, host/path. Without it: all of yours.
    state
        Only those.
    limit
        How many to show, up to 1,000.
    """
    check_limit(limit)
    return Tasks(desk.queue.tasks(project and named(project), state, min(limit or _MOST, _MOST)))


def show(desk: Desk, task: int) -> Task:
    """All there is to know of a task.

    Parameters
    ----------
    task
        Its number.
    """
    return desk.queue.task(task)


def chain(desk: Desk, task: int | None = None) -> Chain:
    """Who waits for whom, as far as your projects go.

    Parameters
    ----------
    task
        Only what this one depends on.
    """
    return Chain(desk.queue.chain(task))


def named(project: str) -> str:
    if not 0 < len(project) <= _LONGEST_PROJECT or not project.isprintable():
        raise BadInput("project is the name of one in the team, as host/path")
    return project
