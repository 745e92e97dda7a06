"""conductor-state.json: how far a workflow is, on the disk before a task is started and after it has ended.

A workflow has one folder in home, by the path of its file. Whoever carries it out holds its kernel lock, so
that what stands in the state is either being done by the holder or was left behind by one that is gone.
"""

from __future__ import annotations

import os
import uuid

import msgspec

from holdfast.agents.workflow import Workflow
from holdfast.clock import now, rfc3339
from holdfast.core.digest import sha256_hex
from holdfast.disk import files
from holdfast.disk.conducted import NAME
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import BadInput, Damaged

VERSION = 1
_LARGEST = 32 << 20
WAITING, STARTING, RUNNING, DONE, FAILED, STOPPED = (
    "waiting",
    "starting",
    "running",
    "done",
    "failed",
    "stopped",
)


class TaskState(msgspec.Struct, forbid_unknown_fields=True):
    """`status`: waiting, starting (it may or may not have been started), running, done, failed, stopped."""

    status: str = WAITING
    tries: int = 0
    estimate: int = 0
    cost: int = 0
    session: str = ""
    pid: int = 0
    exit_code: int | None = None
    began: str = ""
    ended: str = ""
    why: str = ""


class NodeState(msgspec.Struct, forbid_unknown_fields=True):
    """`spent`: tokens of its tasks, anew after each checkpoint that had to be taken within it."""

    status: str = WAITING
    spent: list[int] = []
    checkpoints: list[str] = []
    why: str = ""


class SessionState(msgspec.Struct, forbid_unknown_fields=True):
    """`closed`: a task failed or was ended in it."""

    id: str
    tasks: int = 0
    closed: bool = False


class State(msgspec.Struct, forbid_unknown_fields=True):
    """`pid`: the process that carries it out, or did last."""

    v: int
    run: str
    workflow: str
    digest: str
    folder: str
    status: str
    began: str
    changed: str
    nodes: dict[str, NodeState]
    tasks: dict[str, TaskState]
    sessions: list[SessionState]
    pid: int = 0


class Place:
    """Where a workflow's files are."""

    def __init__(self, home: Home, workflow: str) -> None:
        stem = os.path.basename(workflow).partition(".")[0]
        key = sha256_hex(os.fsencode(workflow))[:12]
        self.folder = f"{home.workflows}/{stem[:40] + '-' if is_safe_name(stem) else ''}{key}"
        self.state = f"{self.folder}/{NAME}"
        self.logs = self.folder + "/logs"
        files.make_dir(self.logs)
        self.lock = files.Lock(self.folder + "/lock")
        # In the environment of all that is started for this workflow. With the lock held, whoever has it
        # was left behind, also where the state that named it is damaged or set aside.
        self.mark = os.path.realpath(self.folder)

    def log(self, task: str, attempt: int) -> str:
        return f"{self.logs}/{task}.{attempt}.log"


def load(place: Place, workflow: Workflow, restart: bool) -> State:
    """As it was left, or from the beginning."""
    try:
        data = files.read(place.state, _LARGEST)
    except FileNotFoundError:
        return _begun(workflow)
    if restart:
        files.set_aside(place.state)
        return _begun(workflow)
    try:
        found = msgspec.json.decode(data, type=State)
        if found.v != VERSION:
            raise msgspec.DecodeError(f"version {found.v}")
    except msgspec.DecodeError as problem:
        raise Damaged(
            f"{place.state} is not what holdfast writes there ({problem}); --restart sets it aside and "
            "begins anew"
        ) from None
    if found.digest != workflow.digest:
        raise BadInput(
            f"{workflow.path} has changed since it was begun; undo that, or begin anew with --restart"
        )
    if found.folder != workflow.folder:
        raise BadInput(
            f"{workflow.path} was begun in {found.folder}; run it there, or begin anew with --restart"
        )
    return found


def _begun(workflow: Workflow) -> State:
    at = rfc3339(now())
    return State(
        v=VERSION,
        run=uuid.uuid4().hex,
        workflow=workflow.path,
        digest=workflow.digest,
        folder=workflow.folder,
        status=RUNNING,
        began=at,
        changed=at,
        nodes={node.name: NodeState() for node in workflow.nodes},
        tasks={name: TaskState(estimate=task["estimate"]) for name, task in workflow.tasks.items()},
        sessions=[],
    )


def save(place: Place, state: State) -> None:
    """Old or new, never half, and on the disk when this returns."""
    state.changed = rfc3339(now())
    files.replace(
        place.state, msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n", durable=True
    )
