"""Plans and runs of tasks, as text for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import render
from holdfast.core.gauge import thousands
from holdfast.core.plain import excerpt, one_line, quoted
from holdfast.ops.words import many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.agents.conductor import Ran
    from holdfast.ops.batch import Calibrated, Plan, PlannedBatch

_FROM = {
    "flag": "as you said",
    "session": "the room that the session has left",
    "fresh": "the room of a new session",
    "default": "what anybody has; --session plans for a session's room",
}


@render.register
def _(value: Plan) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("batch", "task", "estimate", "likely", "files", "after", "what"):
        right = name in ("estimate", "likely")
        table.add_column(
            name, justify="right" if right else "left", no_wrap=name in ("batch", "task", "estimate")
        )
    for batch in value.batches:
        for number, task in enumerate(batch.tasks):
            table.add_row(
                "" if number else batch.name,
                task.id,
                f"{task.estimate:,}",
                "–".join(map(thousands, task.likely)),
                one_line(" ".join(task.files)),
                " ".join(task.depends_on),
                excerpt(task.description, 60),
            )
    learned = f", scaled by {many(value.calibrated, 'past task')}" if value.calibrated else ""
    learned += f", at this session's pace (× {value.pace:g})" if value.pace != 1 else ""
    head = Text(
        f"{many(len(value.batches), 'batch').replace('batchs', 'batches')} of at most {value.budget:,} "
        f"tokens ({_FROM[value.budget_from]}){learned}"
    )
    lines: list[RenderableType] = [head, Text(""), table, Text(""), _graph(value)]
    lines += [Text(f"! {one_line(words)}", style="yellow") for words in value.warnings]
    if value.written:
        lines.append(Text(f"written: {value.written}; holdfast run {quoted(value.written)}"))
    return Group(*lines)


def _graph(value: Plan) -> Text:
    """Batches from top to bottom, what runs at once side by side."""
    lines = []
    for number, batch in enumerate(value.batches):
        if number:
            lines += ["   │", f"   ◆ checkpoint_{number - 1}", "   │"]
        lines.append(_node(batch, value.budget))
        for at, task in enumerate(batch.tasks):
            joint = "└" if at == len(batch.tasks) - 1 else "├"
            after = f"  ← {', '.join(task.depends_on)}" if task.depends_on else ""
            lines.append(f"   {joint}─ {task.id} ({thousands(task.estimate)}){after}")
    return Text("\n".join(lines))


def _node(batch: PlannedBatch, budget: int) -> str:
    likely = f", likely {'–'.join(map(thousands, batch.likely))}" if len(batch.tasks) > 1 else ""
    said = f"{batch.estimate:,} of {budget:,} tokens{likely}"
    return f"■ {batch.name}  {many(len(batch.tasks), 'task')}, {said}"


@render.register
def _(value: Calibrated) -> RenderableType:
    planned = (
        f"\n{value.planned:,} of them touched files. As if these had been named beforehand, an estimate is "
        f"off by {value.planned_error:.0%}."
    )
    return Text(
        f"{many(value.tasks, 'task')} of {many(value.sessions, 'session')} read; {value.kept:,} are kept.\n"
        f"Each session judged by the others: an estimate is off by {value.median_error:.0%} of the cost "
        f"in the median ({value.without:.0%} by the rule of thumb); {value.within:.0%} lie in its range."
        + (planned if value.planned else "")
    )


@render.register
def _(value: Ran) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "how", "tries", "estimate", "cost", "log"):
        right = name in ("tries", "estimate", "cost")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for task in value.tasks:
        style = {"done": "green", "failed": "red"}.get(task.status, "yellow")
        how = f"{task.status}: {task.why}" if task.why else task.status
        table.add_row(
            task.id,
            Text(how, style=style),
            str(task.tries),
            f"{task.estimate:,}",
            f"{task.cost:,}",
            task.log,
        )
    lines: list[RenderableType] = [table]
    lines += [Text(f"! {words}", style="yellow") for words in value.warnings]
    lines.append(
        Text(
            f"{value.status}: {value.done} of {many(len(value.tasks), 'task')}, "
            f"{many(len(value.checkpoints), 'checkpoint')}; {value.state}"
        )
    )
    return Group(*lines)
