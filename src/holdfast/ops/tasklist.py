"""tasks.json: what people write down, read and refused where it cannot be planned."""

from __future__ import annotations

import os

import msgspec

from holdfast.core.plain import excerpt
from holdfast.disk import files
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, NotFound

_LARGEST = 8 << 20
_MOST = 2000
_DEEPEST = 20


class Task(msgspec.Struct):
    """What holdfast knows of a task. What else stands in one is kept as it is."""

    description: str
    id: str = ""
    files: list[str] = []
    creates: list[str] = []
    reads: list[str] = []
    estimated_files: int | None = None
    subtasks: list[Task] = []
    depends_on: list[str] = []
    keep_together: bool = False
    timeout_s: int | None = None
    retries: int | None = None


def read(path: str, folder: str) -> list[dict]:
    """The tasks of a file, each with an id. BadInput says which of them is wrong, and how."""
    raw = load(path)
    listed = raw.get("tasks") if isinstance(raw, dict) else raw
    if not isinstance(listed, list):
        raise BadInput(f'{path} holds no tasks; it takes a list of them, or {{"tasks": […]}}')
    if not listed:
        raise BadInput(f"{path} holds no task")
    return checked(listed, folder, path)


def load(path: str) -> object:
    try:
        data = files.read(path, _LARGEST)
    except FileNotFoundError:
        raise NotFound(f"{path!r} does not exist") from None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise BadInput(f"{path} is no JSON: {problem}") from None


def checked(listed: list, folder: str, where: str, files: bool = True) -> list[dict]:
    """Types, names, descriptions, numbers and, if wanted, whether `files` and `reads` exist;
    dependencies are looked at when they are ordered."""
    for number, one in enumerate(listed, 1):
        _has_description(one, f"task {number}", where, 0)
    try:
        msgspec.convert(listed, list[Task])
    except msgspec.ValidationError as problem:
        raise BadInput(f"{where}: {problem}") from None
    found = [{"id": f"task-{number}", **task} for number, task in enumerate(listed, 1)]
    names: set[str] = set()
    for task in everything(found):
        _check(task, names, where)
        if files:
            _has_files(task, folder, where)
    if len(found) > _MOST:
        raise BadInput(f"{where} holds {len(found)} tasks; at most {_MOST} are planned at once")
    return found


def _has_description(task: object, name: str, where: str, depth: int) -> None:
    if not isinstance(task, dict):
        raise BadInput(f"{where}: {name} is no object")
    if depth > _DEEPEST:
        raise BadInput(f"{where}: there are subtasks of subtasks, more than {_DEEPEST} deep")
    name = f"task {task['id']}" if isinstance(task.get("id"), str) and task["id"] else name
    words = task.get("description")
    if words is None or (isinstance(words, str) and not words.strip()):
        raise BadInput(f"{where}: {name} has no description; say what is to be done")
    subtasks = task.get("subtasks")
    for number, one in enumerate(subtasks if isinstance(subtasks, list) else [], 1):
        _has_description(one, f"{name}, subtask {number}", where, depth + 1)


def everything(tasks: list[dict]) -> list[dict]:
    """Tasks and their subtasks."""
    return [one for task in tasks for one in (task, *everything(task.get("subtasks", [])))]


def named(task: dict) -> list[str]:
    """The files that are there before it."""
    return [*task.get("files", ()), *task.get("reads", ())]


def _check(task: dict, names: set[str], where: str) -> None:
    name = task.get("id")
    said = f"{where}: task {name or excerpt(task['description'], 40)}"
    if name is not None and not is_safe_name(name):
        raise BadInput(
            f"{said}: an id is at most 128 letters, digits, - _ . and begins with a letter or digit"
        )
    if name in names:
        raise BadInput(f"{said}: there are two of this id")
    if name is not None:
        names.add(name)
    for key in ("estimated_files", "timeout_s", "retries"):
        value = task.get(key)
        if value is not None and value < (1 if key == "timeout_s" else 0):
            raise BadInput(f"{said}: {key} is {value}, which cannot be")


def _has_files(task: dict, folder: str, where: str) -> None:
    for file in named(task):
        if not os.path.exists(os.path.join(folder, file)):
            raise BadInput(
                f"{where}: task {task.get('id', '')} names {file}, which is not in {folder}; what it is to "
                "make belongs under `creates`"
            )
