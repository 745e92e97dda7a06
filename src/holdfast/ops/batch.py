"""`batch plan`, `batch calibrate`: tasks sized to the window that is left, by what is known of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from dataclasses import dataclass

import msgspec

from holdfast.app import Holdfast
from holdfast.core import batch, foreseen, together
from holdfast.core.costs import apart, median_error
from holdfast.disk import client, files
from holdfast.errors import BadInput, NotFound
from holdfast.ops import cochange, costs, tasklist
from holdfast.ops.context import find, measured
from holdfast.ops.health import health
from holdfast.ops.progress import Bar

VERSION = 1
#: What anybody has who knows nothing of a window.
_WITHOUT_SESSION = 100_000
#: Sessions are judged in so many groups, each by all others.
_FOLDS = 10
TOO_LARGE = "larger than any window"


@dataclass(frozen=True)
class PlannedTask:
    """`likely` is between what four of five tasks lay; `warning` is empty where nothing is wrong."""

    id: str
    description: str
    estimate: int
    likely: list[int]
    files: list[str]
    depends_on: list[str]
    warning: str


@dataclass(frozen=True)
class PlannedBatch:
    """`estimate` and `likely` are of all its tasks together: surer than one, and no plain sum of them."""

    name: str
    tasks: list[PlannedTask]
    estimate: int
    likely: list[int]


@dataclass(frozen=True)
class Plan:
    """`budget_from`: flag, session, fresh (where a session's own room is used up) or default. `calibrated`:
    the past tasks that estimates were scaled by, 0: none. `pace`: how much more than others the session
    takes for the same; estimates have it in them. `workflow` is what `holdfast run` takes."""

    folder: str
    budget: int
    budget_from: str
    calibrated: int
    batches: list[PlannedBatch]
    warnings: list[str]
    workflow: dict[str, object]
    written: str = ""
    pace: float = 1.0


@dataclass(frozen=True)
class Calibrated:
    """`median_error` is a share of what each task cost, every session judged by the others: by the words of
    a prompt alone. `planned`: tasks that touched files; `planned_error`: theirs, estimated as if these had
    been named beforehand."""

    sessions: int
    tasks: int
    kept: int
    median_error: float
    without: float
    within: float
    planned: int = 0
    planned_error: float = 0.0


def plan(
    app: Holdfast, path: str, *, session: str | None = None, budget: int | None = None, out: str = ""
) -> Plan:
    """Tasks in batches that fit into the window that is left, with a checkpoint between each two.

    Parameters
    ----------
    path
        File with the tasks: a list of objects with `description` and, where known, `id`, `files`,
        `creates`, `reads`, `estimated_files`, `subtasks`, `depends_on`, `keep_together`.
    session
        Plan for the room that this session has left, at the pace it has worked at.
    budget
        Tokens that the tasks of a batch may take together. Without it, and without a session: 100,000.
    out
        Write the workflow to this file, for `holdfast run`.
    """
    folder = os.getcwd()
    session = session and find(app, session)[0].session
    room, room_from = _budget(app, session, budget)
    listed = tasklist.read(path, folder)
    if out and os.path.exists(out) and os.path.samefile(out, path):
        raise BadInput(f"{out} is the list of tasks itself: name another file for the workflow")
    scales = costs.scales(app)
    going = costs.going(app, session, scales) if session else costs.Going()
    if room_from == "fresh":
        going = going._replace(held=frozenset())  # a new session has read nothing
    by = _Estimates(listed, folder, scales, going)
    names = [name for task in tasklist.everything(listed) for name in task.get("files", ())]
    planned = batch.batches(
        listed, room, by.cost, together.by_history(cochange.shares(folder, names, app.environ)), by.whole
    )
    shown = [by.batch(f"batch_{number}", one) for number, one in enumerate(planned)]
    made = _workflow(planned, by.cost, room, folder)
    if out:
        _write(out, made)
    warnings = [f"{task.id}: {task.warning}" for one in shown for task in one.tasks if task.warning]
    if room_from == "fresh":
        warnings.append(f"session {session} has no room left: this is planned for a new one of its kind")
    return Plan(
        folder,
        room,
        room_from,
        scales.every.rows,
        shown,
        warnings,
        made,
        os.path.abspath(out) if out else "",
        round(going.pace, 2),
    )


def _budget(app: Holdfast, session: str | None, budget: int | None) -> tuple[int, str]:
    if budget is not None:
        if budget <= 0:
            raise BadInput(f"--budget is {budget}; it takes the tokens a batch may use, 1 or more")
        return budget, "flag"
    if session is None:
        return _WITHOUT_SESSION, "default"
    room = health(app, session=session).room
    if room > 0:
        return room, "session"
    return measured(app, session).capacity * app.config["orchestrator.room_percent"] // 100, "fresh"


class _Estimates:
    """Of the tasks of one list, for one session that goes on, or for none."""

    def __init__(self, listed: list[dict], folder: str, scales: costs.Scales, going: costs.Going) -> None:
        names = {name for task in tasklist.everything(listed) for name in tasklist.named(task)}
        self._sizes = {name: costs.file_tokens(folder, name) for name in names}
        self._scales, self._going = scales, going
        self._held = costs.named_in(going.held, folder, names)
        self._costs: dict[tuple[int, frozenset[str]], tuple[dict, int]] = {}

    def cost(self, task: dict) -> int:
        return self._cost(task, ())

    def _cost(self, task: dict, more: Container[str]) -> int:
        """Kept, since tasks are asked for again with every batch they might go into: by what is held of
        their own files, beside the task, so that no other takes its place in memory."""
        held = frozenset(name for name in tasklist.named(task) if name in self._held or name in more)
        at = id(task), held
        if at not in self._costs:
            estimate = round(self._scales.cost(task, self._sizes, held) * self._going.pace)
            self._costs[at] = task, estimate
        return self._costs[at][1]

    def whole(self, tasks: list[dict]) -> int:
        return self._together(tasks)[0]

    def _together(self, tasks: list[dict]) -> tuple[int, int, int]:
        """What one has read is in the window for the next, where they are done in one session."""
        more, estimates = set[str](), []
        for task in tasks:
            estimates.append(self._cost(task, more))
            if self._going.held:
                more.update(tasklist.named(task))
        return self._scales.together(tasks, estimates, self._going.told)

    def batch(self, name: str, tasks: list[dict]) -> PlannedBatch:
        estimate, *likely = self._together(tasks)
        return PlannedBatch(name, [self._task(task) for task in tasks], estimate, likely)

    def _task(self, task: dict) -> PlannedTask:
        estimate = self.cost(task)
        warning = str(task.get("warning", ""))
        if estimate > batch.LARGEST_WINDOW:
            warning = f"{batch.WARNING}: {TOO_LARGE}"
        return PlannedTask(
            id=str(task.get("id", "")),
            description=task["description"],
            estimate=estimate,
            likely=list(self._scales.likely(task, estimate)),
            files=[*task.get("files", ()), *task.get("creates", ())],
            depends_on=task.get("depends_on", []),
            warning=warning,
        )


def _workflow(
    planned: list[list], cost: Callable[[dict], int], room: int, folder: str
) -> dict[str, object]:
    made = batch.workflow([[{**task, "estimate": cost(task)} for task in one] for one in planned])
    for node in made["nodes"].values():
        if node["type"] == "single":
            node["operation"] = "checkpoint.take"
    return {"version": VERSION, "budget": room, "folder": folder, **made}


def _write(path: str, made: dict[str, object]) -> None:
    data = msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"
    files.replace(os.path.abspath(path), data, durable=False)


def calibrate(app: Holdfast, folder: str = "") -> Calibrated:
    """Learn from past sessions what tasks cost: each prompt with the turns it caused is one.

    Parameters
    ----------
    folder
        A folder of transcripts. Without it: your own sessions.
    """
    paths = _transcripts(app, folder)
    found: dict[str, dict[str, costs.Row]] = {}
    rows: dict[str, costs.Row] = {}
    known = set[str]()
    with Bar("reading sessions", counts=True) as bar:
        for number, path in enumerate(paths):
            bar.show(number, len(paths))
            name = os.path.basename(path).removesuffix(".jsonl")
            own = {f"{name}@{one.offset}": costs.row(one) for one in costs.apart(path, known)}
            found[name] = own
            rows |= own
    if not rows:
        raise NotFound(f"no prompt with an answer is in the {len(paths)} transcripts that were read")
    judged = apart(
        {name: [(row.estimate, row.cost) for row in own.values()] for name, own in found.items()}
    )
    planned = as_planned(found)
    kept = costs.note(app, rows)
    return Calibrated(
        sessions=sum(map(bool, found.values())),
        tasks=len(rows),
        kept=kept,
        median_error=round(median_error((one.estimate, one.cost) for one in judged), 3),
        without=round(median_error((row.estimate, row.cost) for row in rows.values()), 3),
        within=round(sum(one.is_within for one in judged) / len(judged), 3),
        planned=len(planned),
        planned_error=round(median_error(planned), 3),
    )


def as_planned(sessions: dict[str, dict[str, costs.Row]]) -> list[tuple[int, int]]:
    """(estimate, cost) of those with files, each session by what others teach: all of them, or, where there
    are many, nine tenths."""
    names, pairs = list(sessions), []
    for first in range(min(_FOLDS, len(names))):
        apart_from = set(names[first::_FOLDS])
        others = {at: row for name in names if name not in apart_from for at, row in sessions[name].items()}
        model = foreseen.learned(costs.with_files(others), True)
        mine = [row for name in apart_from for row in sessions[name].values()]
        pairs += [(model(known), row.cost) for row in mine if (known := row.known())] if model else []
    return pairs


def _transcripts(app: Holdfast, folder: str) -> list[str]:
    if not folder:
        known = sorted(client.transcripts(app.client_dir), key=lambda one: one[1])
        paths = [path for path, _, _ in known]
    else:
        paths = sorted(
            os.path.join(place, name)
            for place, _, names in os.walk(folder)
            for name in names
            if name.endswith(".jsonl")
        )
    if not paths:
        raise NotFound(f"no transcript (*.jsonl) is below {folder or app.client_dir + '/projects'}")
    return paths
