"""Tasks sized to the window, for scripts.

    python -c "from holdfast.agents.task_batcher import get_available_context as of; print(of())"

These go by the rule of thumb alone. `holdfast batch plan` knows more: the sizes of files, which of them
change together, what past tasks have cost, and the room of a session.
"""

from __future__ import annotations

from holdfast.core import batch
from holdfast.errors import NotFound

#: Tokens somebody may plan with who knows nothing of the window.
TOTAL_BUDGET = 100_000


def estimate_task_tokens(task: dict) -> int:
    """Tokens that a task will take, by its description and the number of its files."""
    return batch.thumb(task)


def split_task_for_context(task: dict, available_tokens: int) -> list[dict]:
    """The task as it is, if it fits; else its subtasks; else groups of its files. What cannot be split is
    given back with a warning, in the task itself."""
    parts = batch.split(task, available_tokens, batch.thumb)
    if len(parts) == 1 and "warning" in parts[0] and not task.get("files"):
        task["warning"] = parts[0]["warning"]
        return [task]
    return parts


def split_by_file_groups(task: dict, files: list[str], available_tokens: int) -> list[dict]:
    """Parts of a task with some of its files each, those that belong together in one."""
    return batch.by_files(task, files, available_tokens, batch.thumb)


def batch_tasks_by_context(tasks: list[dict], available_tokens: int | None = None) -> list[list[dict]]:
    """Tasks in batches that fit into what is available, each after all that it depends on."""
    available = get_available_context() if available_tokens is None else available_tokens
    return batch.batches(tasks, available, batch.thumb)


def create_batched_workflow(tasks: list[dict]) -> dict:
    """A workflow of batches, with a checkpoint between each two: what `holdfast run` carries out."""
    return batch.workflow(batch_tasks_by_context(tasks))


def get_available_context() -> int:
    """Tokens to plan with now: what is unused of 100,000, by the share of its window that the session which
    asks, or else the newest, has used; never more than is left until it is compacted."""
    from holdfast.app import Holdfast
    from holdfast.ops.context import measured

    try:
        reading = measured(Holdfast.open())
    except NotFound:  # no session yet: all of it
        return TOTAL_BUDGET
    unused = int(TOTAL_BUDGET * max(0.0, 1.0 - reading.used / reading.window))
    return min(unused, max(0, reading.until_compaction))
