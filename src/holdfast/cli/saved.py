"""Saves as text for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import grid, render
from holdfast.core.plain import excerpt, one_line
from holdfast.ops.words import ago

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.breakpoints import Breakpoints
    from holdfast.ops.saves import Saved, Saves


@render.register
def _(value: Saves) -> RenderableType:
    if not value:
        return Text("nothing saved that fits; save with: holdfast ss")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("environment", "saved", "by", "task", "tags", "project"):
        table.add_column(name, no_wrap=name in ("environment", "saved", "by"), overflow="fold")
    for row in value:
        task, tags = excerpt(row.task, 100), one_line(", ".join(row.tags))
        table.add_row(row.environment, ago(row.at), row.source, task, tags, one_line(row.project))
    return table


@render.register
def _(value: Breakpoints) -> RenderableType:
    if not value:
        return Text("no breakpoints yet: a commit is one (holdfast install --git), and a test run")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("at", "environment", "what", "branch", "project"):
        table.add_column(name, no_wrap=name in ("at", "environment"), overflow="fold")
    for row in value:
        waiting = f"{row.kind} {row.commit[:8]}, waits to be saved"
        what = excerpt(row.task, 100) if row.state == "saved" else waiting
        table.add_row(ago(row.at), row.environment, what, one_line(row.branch), one_line(row.project))
    return table


@render.register
def _(value: Saved) -> RenderableType:
    head = Text.assemble((f"{value.environment}, {value.id}", "bold"), f", saved {ago(value.at)}")
    names = (
        *("source", "task", "tags", "project", "branch", "commit", "session_id", "checkpoint"),
        *("used", "max", "context", "next_steps"),
    )
    found = {name: getattr(value, name) for name in names}
    found["tags"] = ", ".join(value.tags)
    rows = [(name, "\n".join(map(one_line, str(said).split("\n")))) for name, said in found.items() if said]
    return Group(head, grid(rows))
