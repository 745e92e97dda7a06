"""What sessions have used, as text for people."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import ago, many, model_of, render, short
from holdfast.core.plain import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.spent import Spending, Tokens

_COUNTED = {
    "responses": "responses",
    "input": "input",
    "cache_read": "cache read",
    "cache_creation": "cache written",
    "output": "output",
}


@render.register
def _(value: Spending) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("session", no_wrap=True)
    for title in _COUNTED.values():
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("models")
    table.add_column("last", no_wrap=True)
    for row in value.sessions:
        models = one_line(", ".join(map(model_of, row.models)))
        table.add_row(short(one_line(row.session)), *_counts(row.tokens), models, ago(row.last))
    if len(value.models) > 1:
        table.add_row()
        for model, tokens in value.models.items():
            table.add_row("", *_counts(tokens), one_line(model_of(model)), style="dim")
    table.add_row(f"all, in {many(value.files, 'file')}", *_counts(value.tokens), style="bold")
    notes = [Text(f"! {one_line(words)}", style="yellow") for words in value.problems]
    return Group(Text(one_line(value.folder), style="dim"), table, *notes)


def _counts(tokens: Tokens) -> list[str]:
    return [f"{getattr(tokens, name):,}" for name in _COUNTED]
