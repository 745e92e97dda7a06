"""Messages and watched sessions as text for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import render
from holdfast.core.plain import excerpt, one_line
from holdfast.ops.words import ago

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.agents.watcher import Watch
    from holdfast.ops.board import Messages


@render.register
def _(value: Messages) -> RenderableType:
    if not value:
        return Text("nothing stands on the board here; post with: holdfast board post TEXT")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "posted", "type", "from", "to", "state", "message"):
        table.add_column(name, no_wrap=name != "message", overflow="fold")
    for row in value:
        said = one_line(row.text) or row.reason
        where = f"{row.state} by {', '.join(row.done)}" if row.done else row.state
        table.add_row(
            row.id, ago(row.at), row.type, row.sender, row.to, excerpt(where, 60), excerpt(said, 160)
        )
    return table


@render.register
def _(value: Watch) -> RenderableType:
    from holdfast.agents.table import table

    return table(value)
