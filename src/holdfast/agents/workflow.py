"""workflow.json, as `holdfast batch plan --out` or people write it: read, and refused where it is wrong."""

from __future__ import annotations

import os
from dataclasses import dataclass

import msgspec

from holdfast.core.batch import CHECKPOINT, ordered, thumb
from holdfast.core.digest import sha256_hex
from holdfast.errors import BadInput
from holdfast.ops import tasklist

TAKE = "checkpoint.take"


@dataclass(frozen=True)
class Node:
    """A batch, or, without tasks, a checkpoint; `after` are the batches it saves the work of."""

    name: str
    tasks: list[dict]
    after: list[str]


@dataclass(frozen=True)
class Workflow:
    """`nodes` in the order in which they are carried out; `digest` changes with what the file says."""

    path: str
    folder: str
    digest: str
    budget: int
    nodes: list[Node]

    @property
    def tasks(self) -> dict[str, dict]:
        return {task["id"]: task for node in self.nodes for task in node.tasks}


class _Edge(msgspec.Struct, rename={"start": "from", "end": "to"}):
    start: str
    end: str


class _Node(msgspec.Struct):
    type: str
    tasks: list[dict] = []
    prompt: str = ""
    operation: str = ""


class _Workflow(msgspec.Struct):
    nodes: dict[str, _Node]
    edges: list[_Edge] = []
    version: int = 1
    budget: int = 0
    folder: str = ""


def read(path: str) -> Workflow:
    raw = tasklist.load(path)
    try:
        found = msgspec.convert(raw, _Workflow)
    except msgspec.ValidationError as problem:
        raise BadInput(
            f"{path} is no workflow ({problem}); `holdfast batch plan tasks.json --out {path}` makes one"
        ) from None
    if found.version != 1:
        raise BadInput(f"{path} has version {found.version}; this holdfast carries out version 1")
    if found.budget < 0:
        raise BadInput(f"{path}: budget is {found.budget}; it takes the tokens of a batch, or 0 for any")
    beside = os.path.dirname(os.path.abspath(path))
    folder = os.path.normpath(os.path.join(beside, found.folder)) if found.folder else os.getcwd()
    if not os.path.isdir(folder):
        raise BadInput(f"{path}: its folder {folder} is not there")
    nodes = _in_order(found, path)
    if not any(node.tasks for node in nodes):
        raise BadInput(f"{path} holds no task")
    _check(nodes, path)
    digest = sha256_hex(msgspec.json.encode(raw, order="sorted"))
    return Workflow(os.path.realpath(path), folder, digest, found.budget, nodes)


def _in_order(found: _Workflow, path: str) -> list[Node]:
    before: dict[str, list[str]] = {name: [] for name in found.nodes}
    for edge in found.edges:
        for name in (edge.start, edge.end):
            if name not in before:
                raise BadInput(f"{path}: an edge names {name!r}, which is no node")
        before[edge.end].append(edge.start)
    names = ordered([{"id": name, "depends_on": waits} for name, waits in before.items()])
    return [_node(one["id"], found.nodes[one["id"]], before[one["id"]], path) for one in names]


def _node(name: str, node: _Node, after: list[str], path: str) -> Node:
    if node.type == "parallel":
        return Node(name, [_task(task, f"{name}.{at}") for at, task in enumerate(node.tasks, 1)], after)
    if node.type != "single":
        raise BadInput(f"{path}: node {name} is {node.type!r}; there are `parallel` and `single`")
    if node.operation == TAKE or (not node.operation and node.prompt == CHECKPOINT):
        return Node(name, [], after)
    if node.operation:
        raise BadInput(f"{path}: node {name} asks for {node.operation!r}; the one operation is {TAKE}")
    return Node(name, [_task({"description": node.prompt}, name)], after)


def _task(task: dict, name: str) -> dict:
    return {"id": name, **task}


def _check(nodes: list[Node], path: str) -> None:
    """Each task by itself, and that none waits for one that comes later."""
    listed = [task for node in nodes for task in node.tasks]
    tasklist.checked(listed, os.sep, path, files=False)
    for task in listed:
        estimate = task.setdefault("estimate", thumb(task))
        if type(estimate) is not int or estimate < 0:
            raise BadInput(
                f"{path}: task {task['id']}: estimate is {estimate!r}; it takes a number of tokens"
            )
    known: set[str] = set()
    for node in nodes:
        inside = {task["id"] for task in node.tasks}
        for task in node.tasks:
            for other in task.get("depends_on", ()):
                if other not in known | inside:
                    raise BadInput(
                        f"{path}: task {task['id']} waits for {other!r}, which does not come before it"
                    )
        ordered(
            [
                {**task, "depends_on": [one for one in task.get("depends_on", ()) if one in inside]}
                for task in node.tasks
            ]
        )
        known |= inside
