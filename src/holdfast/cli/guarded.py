"""What the guard knows and what a replay found, as text for people."""

from __future__ import annotations

import os

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import grid, render, style_of
from holdfast.core.plain import one_line
from holdfast.ops.words import many, model_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.health import Health
    from holdfast.ops.replay import Folder, Replayed


@render.register
def _(value: Health) -> RenderableType:
    coming = value.predicted_exhaustion
    when = "not known yet"
    if coming:
        when = f"about {coming.turns} turns ({coming.turns_low}–{coming.turns_high})"
        when += f", {coming.minutes:.0f} minutes ({coming.minutes_low:.0f}–{coming.minutes_high:.0f})"
    rows = [
        ("level", value.level + (", under pressure" if value.under_pressure else "")),
        ("fill", f"{value.fill:g} %, {value.velocity:.1f} % a step"),
        ("exhaustion", when),
        ("room", f"{value.room:,} tokens for new work"),
        ("specs", f"{value.specs} large ones taken, {value.specs_left} left"),
        ("session", one_line(value.session)),
    ]
    return Group(grid(rows), *[Text(f"! {words}", style="yellow") for words in value.degraded])


@render.register
def _(value: Replayed) -> RenderableType:
    from holdfast.ops.picture import done_at, expected

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("turn", "used", "fill", "level", "expected", "what holdfast would have done"):
        table.add_column(name, justify="right" if name in ("turn", "used", "fill") else "left")
    for moment in value.moments:
        done = done_at(moment)
        if done:
            fill = Text(f"{moment.fill:g} %", style=style_of(moment.level))
            table.add_row(
                str(moment.turn),
                f"{moment.used:,}",
                fill,
                moment.level,
                expected(moment),
                Text(one_line(done)),
            )
    return Group(table, Text(""), Text(_replayed(value)))


def _replayed(value: Replayed) -> str:
    saved, told = sum(value.checkpoints.values()), sum(value.told.values())
    return (
        f"{value.turns:,} turns of {model_of(value.model)}, {many(value.compactions, 'compaction')}: "
        f"{many(saved, 'checkpoint')}, {many(told, 'message')} to the person"
    )


@render.register
def _(value: Folder) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("transcript", "model", "turns", "compactions", "checkpoints", "told", "notice in turns"):
        table.add_column(name, justify="left" if name in ("transcript", "model") else "right")
    for row in value.sessions:
        name = one_line(os.path.relpath(row.transcript, value.folder))
        if row.problem:
            table.add_row(name, Text(row.problem, style="yellow"))
            continue
        notice = ", ".join("none" if turns < 0 else str(turns) for turns in row.notice)
        counts = (row.turns, row.compactions, sum(row.checkpoints.values()), sum(row.told.values()))
        table.add_row(name, model_of(row.model), *[f"{count:,}" for count in counts], notice)
    told = ", ".join(f"{name} {times}" for name, times in value.told.items())
    about = (
        f"{len(value.sessions)} sessions, {value.turns:,} turns, {many(value.compactions, 'compaction')}, "
        f"{many(value.checkpoints, 'checkpoint')}; told: {told or 'nothing'}"
    )
    return Group(table, Text(""), Text(about))
