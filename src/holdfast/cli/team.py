"""Who is in a team, as text for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import render
from holdfast.core.plain import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.members import Members, Tokens


@render.register
def _(value: Members) -> RenderableType:
    if not value:
        return Text("nobody yet; let somebody in with: holdfast team member add NAME --project host/path")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("member", "projects"):
        table.add_column(name, overflow="fold")
    for row in value:
        table.add_row(one_line(row.who), one_line(", ".join(row.projects)))
    return table


@render.register
def _(value: Tokens) -> RenderableType:
    if not value:
        return Text("no tokens; make one with: holdfast team token add NAME")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("token", "of", "made", "until", "state"):
        table.add_column(name, overflow="fold")
    for row in value:
        state = Text(row.state, "" if row.state == "valid" else "dim")
        table.add_row(row.name, one_line(row.who), row.made, row.expires, state)
    return table
