"""`run`: a workflow carried out, batch after batch, the tasks of one at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from holdfast.agents import kept
from holdfast.agents.conducting import Conductor, Limits
from holdfast.agents.doing import Doer
from holdfast.agents.kept import DONE, STOPPED, Place
from holdfast.agents.workflow import read
from holdfast.app import Holdfast
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, HoldfastError


@dataclass(frozen=True)
class RanTask:
    id: str
    status: str
    tries: int
    estimate: int
    cost: int
    session: str
    why: str
    log: str


@dataclass(frozen=True)
class Ran:
    """`status`: done, failed or stopped. `state` is the file that says how far it is."""

    workflow: str
    state: str
    status: str
    done: int
    tasks: list[RanTask]
    checkpoints: list[str]
    warnings: list[str]

    @property
    def exit_code(self) -> int:
        return {DONE: 0, STOPPED: 130}.get(self.status, 1)


def run(
    app: Holdfast,
    workflow: str,
    *,
    command: str = "",
    parallel: int = 2,
    session: str = "",
    timeout: int = 60,
    retries: int = 1,
    restart: bool = False,
) -> Ran:
    """Carry out a workflow: batches in order, their tasks at once, checkpoints between; or go on with it.

    Parameters
    ----------
    workflow
        File that `holdfast batch plan --out` wrote.
    command
        What does a task, in place of the client: words, never given to a shell. The task comes on stdin, or
        where {prompt} stands; {task} is its id, {session} a new session's.
    parallel
        So many tasks at the same time.
    session
        A session of yours that is saved with those of the tasks.
    timeout
        Minutes a task may take; its own `timeout_s` comes first.
    retries
        How often one that failed is tried again; its own `retries` comes first.
    restart
        Begin anew, whatever was done before.
    """
    for name, value, least in (("parallel", parallel, 1), ("timeout", timeout, 1), ("retries", retries, 0)):
        if value < least:
            raise BadInput(f"--{name} is {value}; it takes {least} or more")
    if session and not is_safe_name(session):
        raise BadInput(f"--session {session!r} cannot be a session's id")
    found = read(workflow)
    doer = Doer(app, command)
    place = Place(app.home, found.path)
    if not place.lock.attempt():
        raise HoldfastError(
            f"{found.path} is being carried out by another holdfast run; wait for it, or stop it"
        )
    with place.lock:
        limits = Limits(parallel, 60 * timeout, retries, session)
        conductor = Conductor(app, found, place, doer, kept.load(place, found, restart), limits)
        asyncio.run(conductor.conduct())
        return _told(conductor)


def _told(conductor: Conductor) -> Ran:
    state, place = conductor.state, conductor.place
    return Ran(
        workflow=state.workflow,
        state=place.state,
        status=state.status,
        done=sum(task.status == DONE for task in state.tasks.values()),
        tasks=[
            RanTask(
                *(name, task.status, task.tries, task.estimate, task.cost, task.session, task.why),
                log=place.log(name, task.tries) if task.tries else "",
            )
            for name, task in state.tasks.items()
        ],
        checkpoints=[one for node in state.nodes.values() for one in node.checkpoints],
        warnings=conductor.warnings,
    )
