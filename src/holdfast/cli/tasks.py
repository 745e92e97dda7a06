"""Tasks as text for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import grid, render
from holdfast.core.plain import excerpt, one_line
from holdfast.ops.words import ago, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.tasks import Chain, Claimed, Tasks, Waited
    from holdfast.store.task import Task

_STYLES = {"claimed": "yellow", "finished": "dim", "blocked": "dim"}


@render.register
def _(value: Tasks) -> RenderableType:
    if not value:
        return Text(
            "no tasks here; add one with: holdfast task add, see all with: holdfast task list --all"
        )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("task", "state", "priority", "needs", "by", "description"):
        table.add_column(name, no_wrap=name in ("task", "state"), overflow="fold")
    for row in value:
        by = row.holder or row.finished_by
        table.add_row(
            *(str(row.number), Text(row.state, _STYLES.get(row.state, "")), str(row.priority)),
            *(" ".join(map(str, row.needs)), short(by), excerpt(row.description, 120)),
        )
    return table


@render.register
def _(value: Task) -> RenderableType:
    held = f"{value.holder}, for {value.lease_s:.0f} s more" if value.holder else ""
    finished = f"{ago(value.finished_at)} by {value.finished_by}" if value.finished_by else ""
    rows = {
        "added": f"{ago(value.added_at)} by {value.added_by}",
        "priority": str(value.priority),
        "needs": ", ".join(map(str, value.needs)),
        "held by": held,
        "claims": str(value.claim or ""),
        "finished": finished,
        "result": value.result,
        "project": value.project,
        **{name: _listed(said) for name, said in value.payload.items()},
    }
    head = Text.assemble((f"task {value.number}", "bold"), f", {value.state}")
    shown = [(one_line(name), _lines(said)) for name, said in rows.items() if said]
    return Group(head, Text(_lines(value.description)), grid(shown))


@render.register
def _(value: Claimed) -> RenderableType:
    return render(value.task) if value.task else Text(value.why)


@render.register
def _(value: Waited) -> RenderableType:
    return render(value.task)


@render.register
def _(value: Chain) -> RenderableType:
    if not value:
        return Text("nobody waits for anything")
    return Text(
        "\n".join(f"{link} ({(link.holder and 'held by ' + link.holder) or link.state})" for link in value)
    )


def _listed(said: object) -> str:
    return ", ".join(map(str, said)) if isinstance(said, list) else str(said)


def _lines(said: str) -> str:
    return "\n".join(map(one_line, said.split("\n")))
