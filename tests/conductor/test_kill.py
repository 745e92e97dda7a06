"""A conductor killed at every step: before and after each write of its state, each start of a task and each
checkpoint. The next run does what was not done, nothing that was, and nothing beside what still goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conductor.carried import Project, in_child, in_children
from holdfast.agents import children, kept
from holdfast.ops import checkpoints

#: What may happen to a conductor is between these.
STEPS = ((kept, "save"), (children, "start"), (checkpoints, "take"))


class Killed:
    """Ends this process at the step that is due: each call is one before and one after."""

    def __init__(self, due: int) -> None:
        self.left = due

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def patch(self) -> None:
        for module, name in STEPS:
            setattr(module, name, self._around(getattr(module, name)))

    def _around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        if real is children.start:

            async def starting(*given: Any) -> Any:
                self.step()
                made = await real(*given)
                self.step()
                return made

            return starting

        def calling(*given: Any, **named: Any) -> Any:
            self.step()
            made = real(*given, **named)
            self.step()
            return made

        return calling


def nothing() -> None:
    pass


def forgetful() -> None:
    """The control: a conductor that does not write down what is done."""
    real = kept.save

    def save(place: kept.Place, state: kept.State) -> None:
        if "done" not in {task.status for task in state.tasks.values()}:
            real(place, state)

    kept.save = save


def blind() -> None:
    """The control: one that does not look for what was left running."""
    children.end_leftovers = lambda run, known: []


def project_in(folder: Path, broken: Callable[[], None]) -> Project:
    """What is not looked for must still be there when the next run begins."""
    folder.mkdir()
    seconds = 4 if broken is blind else 0.3
    return Project(
        folder, {"a": f"{seconds} transcript 10", "b": "0 transcript 10"}, {"c": "0.3"}, **CHECKPOINT
    )


def _checkpoint() -> dict:
    """Two batches with a checkpoint between: `Project` makes the batches."""
    node = {"type": "single", "prompt": "Run /checkpoint to save progress"}
    return {
        "more": {"checkpoint_0": node},
        "edges": [{"from": "batch_0", "to": "checkpoint_0"}, {"from": "checkpoint_0", "to": "batch_1"}],
    }


CHECKPOINT = _checkpoint()


def killed_at(due: int, folder: Path, broken: Callable[[], None] = nothing) -> tuple[bool, list[str]]:
    """(whether the kill came before the end, what is wrong after another run)."""
    project = project_in(folder, broken)

    def first() -> None:
        broken()
        Killed(due).patch()
        project.run()

    def second() -> None:
        broken()
        project.run()

    ended = in_child(first)
    done = (
        [name for name, status in project.statuses().items() if status == "done"] if _begun(project) else []
    )
    ends = [line for line in project.journal if line.startswith("end")]
    begun = {name: project.journal.count(f"begin {name}") for name in "abc"}
    wrong = [] if in_child(second) == 0 else ["it did not go on"]
    if set(project.statuses().values()) != {"done"} and broken is not forgetful:
        wrong.append(f"not all is done: {project.statuses()}")
    wrong += [
        f"{name} was done again" for name in done if project.journal.count(f"begin {name}") > begun[name]
    ]
    if broken is forgetful:  # it never says so: what had ended is what must not be repeated but for one
        wrong += [f"{line[4:]} was done again" for line in ends if project.journal.count(line) > 1]
    wrong += [line for line in project.journal if line.startswith("beside")]
    wrong += [f"{name} was never done" for name in "abc" if f"end {name}" not in project.journal]
    saved = project.state["nodes"]["checkpoint_0"]["checkpoints"]
    wrong += [] if saved and all(Path(path).exists() for path in saved) else ["no checkpoint between"]
    shutil.rmtree(folder)
    return ended == -signal.SIGKILL, wrong


def _begun(project: Project) -> bool:
    return any(project.home.glob("workflows/*/conductor-state.json"))


def killed_at_each(
    dues: range, folder: Path, broken: Callable[[], None] = nothing
) -> list[tuple[bool, list[str]]]:
    """The same for several steps at once."""

    def tried(due: int) -> None:
        (folder / f"{due}.json").write_text(json.dumps(killed_at(due, folder / str(due), broken)))

    in_children([partial(tried, due) for due in dues])
    return [tuple(json.loads((folder / f"{due}.json").read_text())) for due in dues]


def test_a_conductor_killed_at_any_step_is_gone_on_with(tmp_path: Path) -> None:
    found: list[tuple[bool, list[str]]] = []
    while all(was_killed for was_killed, _ in found):
        found += killed_at_each(range(len(found), len(found) + 8), tmp_path)
    assert [(due, wrong) for due, (_, wrong) in enumerate(found) if wrong] == []
    assert sum(was_killed for was_killed, _ in found) > 30  # there are as many steps


@pytest.mark.parametrize(
    ("broken", "said"), [(forgetful, "was done again"), (blind, "beside")], ids=["forgetful", "blind"]
)
def test_a_conductor_without_its_care_is_found_out(
    tmp_path: Path, broken: Callable[[], None], said: str
) -> None:
    found = killed_at_each(range(14, 22), tmp_path, broken)
    assert any(said in words for _, wrong in found for words in wrong), found
