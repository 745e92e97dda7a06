"""A replayed session as a picture: above, how the window filled and what was done; below, when the next
compaction was expected, and when it came."""

from __future__ import annotations

import html as markup
import io
import os
from typing import TYPE_CHECKING, Any

from holdfast.core.plain import one_line
from holdfast.disk import files
from holdfast.errors import BadInput, MissingExtra
from holdfast.extras import extra_command

if TYPE_CHECKING:
    from holdfast.ops.replay import Moment, Replayed

_SIZE, _DPI = (13, 7.6), 110
_USED, _SAVED, _TOLD, _CUT, _BAND, _RUNG = "#1f5f8b", "#2e8b57", "#d9822b", "#b03a48", "#9ec5e0", "#8a8a8a"
_TICKS = (0, 5, 10, 20, 50, 100, 200, 500, 1000)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222; }}
svg {{ width: 100%; height: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: 13px; }}
th, td {{ text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #e4e4e4; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style></head><body>
<h1>{title}</h1>
<p>{about}</p>
{drawing}
<table><thead><tr><th>turn</th><th>time</th><th>used</th><th>fill</th><th>level</th><th>expected</th>
<th>what holdfast would have done</th></tr></thead><tbody>
{rows}
</tbody></table></body></html>
"""


def save(session: Replayed, png: str, html: str) -> None:
    for path in filter(None, (png, html)):
        if os.path.exists(path) and os.path.samefile(path, session.transcript):
            raise BadInput(f"{path} is the transcript itself: name another file for the picture")
    figure = _draw(session)
    if png:
        _write(png, _as(figure, "png"))
    if html:
        drawing = _as(figure, "svg").decode()
        _write(html, _page(session, drawing[drawing.index("<svg") :]).encode())


def _write(path: str, data: bytes) -> None:
    files.replace(os.path.abspath(path), data, durable=False)


def _as(figure: Any, form: str) -> bytes:
    held = io.BytesIO()
    figure.savefig(held, format=form, dpi=_DPI, metadata={"Date": None} if form == "svg" else {})
    return held.getvalue()


def _draw(session: Replayed) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra(f"pictures need the extra `pictures`: {extra_command('pictures')}") from None
    figure = Figure(figsize=_SIZE, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _usage(above, session)
    _forecast(below, session.moments)
    figure.suptitle(one_line(_about(session)), fontsize=11, parse_math=False)
    return figure


def _usage(axes: Any, session: Replayed) -> None:
    moments = session.moments
    for cycle in _cycles(moments):
        turns, used = [m.turn for m in cycle], [m.used / 1000 for m in cycle]
        axes.plot(turns, used, color=_USED, linewidth=1.6)
        axes.fill_between(turns, used, color=_USED, alpha=0.08, linewidth=0)
    full = session.capacity / 1000
    turns = [m.turn for m in moments]
    known = [m for m in moments if m.turn] or moments  # before the first answer nobody knows the model
    room = [m.capacity / 1000 for m in known]
    axes.step([m.turn for m in known], room, color=_CUT, linewidth=1.2, where="post")
    _label(axes, turns[-1], full, "the client compacts", _CUT, above=4)
    for name, percent in session.rungs.items():
        axes.axhline(full * percent / 100, color=_RUNG, linewidth=0.6, linestyle=(0, (4, 4)))
        _label(axes, turns[-1], full * percent / 100, f"{percent} %  {name}", _RUNG)
    _marks(axes, [m for m in moments if m.checkpoint], "|", _SAVED, "checkpoint", 60)
    _marks(axes, [m for m in moments if m.told], "v", _TOLD, "told to the person", 30)
    for number, moment in enumerate([m for m in moments if m.compaction]):
        label = None if number else "compacted"
        axes.axvline(moment.turn, color=_CUT, linewidth=0.9, alpha=0.7, label=label)
    axes.set_ylabel("thousand tokens")
    axes.set_xlim(turns[0], max(turns[-1], turns[0] + 1))
    axes.set_ylim(0, 1.12 * max(full, *(m.used / 1000 for m in moments)))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", fontsize=8, frameon=False, ncols=4)
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Any, x: float, y: float, words: str, colour: str, above: int = 0) -> None:
    """At the right edge, beside the line it is for."""
    axes.annotate(
        words,
        (x, y),
        (6, above - 3),
        textcoords="offset points",
        color=colour,
        fontsize=7,
        annotation_clip=False,
    )


def _marks(axes: Any, moments: list[Moment], shape: str, colour: str, label: str, size: int) -> None:
    if moments:
        used = [m.used / 1000 for m in moments]
        axes.scatter(
            [m.turn for m in moments], used, s=size, marker=shape, color=colour, label=label, zorder=3
        )


def _forecast(axes: Any, moments: list[Moment]) -> None:
    """In turns until compaction: expected, and what came. The scale bends, because what is near matters."""
    for number, cycle in enumerate(_cycles(moments)):
        known = [m for m in cycle if m.turns_left]
        turns = [m.turn for m in known]
        low, likely, high = ([m.turns_left[place] for m in known] for place in range(3))
        names = ("80 %", "expected", "as it came") if number == 0 else (None, None, None)
        axes.fill_between(turns, low, high, color=_BAND, alpha=0.6, linewidth=0, label=names[0])
        axes.plot(turns, likely, color=_USED, linewidth=1.2, label=names[1])
        if cycle[-1].compaction:
            end = cycle[-1].turn
            axes.plot(
                [m.turn for m in cycle],
                [end - m.turn for m in cycle],
                color=_CUT,
                linewidth=1,
                linestyle=(0, (3, 2)),
                label=names[2],
            )
    axes.set_yscale("symlog", linthresh=10)
    furthest = axes.get_ylim()[1]
    axes.set_yticks(_TICKS, map(str, _TICKS))
    axes.set_ylim(0, furthest)
    axes.set_ylabel("turns until compaction")
    axes.set_xlabel("turn")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left", fontsize=8, frameon=False, ncols=3)
    axes.spines[["top", "right"]].set_visible(False)


def _cycles(moments: list[Moment]) -> list[list[Moment]]:
    found: list[list[Moment]] = [[]]
    for moment in moments:
        found[-1].append(moment)
        if moment.compaction:
            found.append([])
    return [cycle for cycle in found if cycle]


def _about(session: Replayed) -> str:
    saved = sum(session.checkpoints.values())
    return (
        f"{os.path.basename(session.transcript)}: {session.model}, {session.turns} turns, "
        f"{session.compactions} compaction{'s' * (session.compactions != 1)}, {saved} checkpoints"
    )


def _page(session: Replayed, drawing: str) -> str:
    rows = []
    for moment in session.moments:
        done = done_at(moment)
        if done:
            cells = (
                f'<td class="n">{moment.turn}</td><td>{markup.escape(moment.at[:19])}</td>'
                f'<td class="n">{moment.used:,}</td><td class="n">{moment.fill:g} %</td>'
                f"<td>{moment.level}</td><td>{expected(moment)}</td><td>{markup.escape(done)}</td>"
            )
            rows.append(f"<tr>{cells}</tr>")
    title = markup.escape(f"Replay of {os.path.basename(session.transcript)}")
    return _PAGE.format(
        title=title, about=markup.escape(_about(session)), drawing=drawing, rows="\n".join(rows)
    )


def expected(moment: Moment) -> str:
    if not moment.turns_left:
        return ""
    low, likely, high = moment.turns_left
    return f"{likely} turns ({low}–{high})"


def done_at(moment: Moment) -> str:
    """What would have been done, in words; "" for a moment at which nothing was."""
    parts = [f"told: {what}" for what in moment.told]
    parts += [f"checkpoint: {moment.checkpoint}"] if moment.checkpoint else []
    parts += [f"compaction: {moment.compaction} tokens"] if moment.compaction else []
    return "; ".join(parts)
