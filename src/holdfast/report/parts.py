"""Parts of a page: a gauge, a forecast, what fills a window, a compaction's receipt, a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from markupsafe import Markup

from holdfast.core.plain import one_line
from holdfast.core.receipt import in_words
from holdfast.ops.explain import KINDS, Explanation, Source
from holdfast.ops.health import Exhaustion
from holdfast.ops.history import Compaction, History, Kept
from holdfast.ops.words import many, model_of, short
from holdfast.report.chart import checkpoints, curve
from holdfast.report.markup import chip, clock, colour, joined, percent, prose, short_path, tokens

#: Rows of a table before the rest is folded away.
_ROWS = 8
#: The longest runway that is told apart from longer ones, in turns.
_FAR = 100


def gauge(fill: float, level: str, rungs: Sequence[int]) -> Markup:
    """How full the room before a compaction is, with the rungs on the way."""
    marks = joined(Markup('<i style="left:{}%"></i>').format(rung) for rung in rungs)
    bar = Markup(
        '<div class="gauge {}" role="meter" aria-label="fill of the window" aria-valuemin="0" '
        'aria-valuemax="100" aria-valuenow="{}"><b style="width:{}%"></b>{}</div>'
    )
    return bar.format(colour(level), round(fill), min(100.0, fill), marks)


def runway(turns_left: Sequence[int]) -> Markup:
    """Turns until the client compacts: the likely number, and between what it lies, on a scale that bends."""
    if not turns_left:
        return Markup('<div class="runway none">no forecast yet</div>')
    low, likely, high = (_bent(turns) for turns in turns_left)
    words = f"{turns_left[1]} {'turn' if turns_left[1] == 1 else 'turns'}"
    span = f"{turns_left[0]}–{turns_left[2]}"
    return Markup(
        '<div class="runway"><span class="n">{}</span> <span class="dim">{}</span>'
        '<div class="track" aria-hidden="true"><b style="left:{}%;width:{}%"></b><i style="left:{}%"></i></div></div>'
    ).format(words, span, low, max(2, high - low), likely)


def _bent(turns: int) -> int:
    return round(100 * min(1.0, sqrt(turns / _FAR)))


def session_head(of: History, model: str) -> Markup:
    now = of.usage
    figures = [
        (percent(now.fill), "of the room before the client compacts"),
        (tokens(now.used), f"tokens used, {tokens(now.until_compaction)} left"),
        (many(now.turns, "turn"), many(now.prompts, "prompt") + ", " + many(now.tool_calls, "tool call")),
        _coming(of.forecast),
        (many(now.compactions, "compaction"), checkpoints(of)),
    ]
    cells = joined(
        Markup('<div><dt class="dim">{}</dt><dd class="big">{}</dd></div>').format(words, figure)
        for figure, words in figures
    )
    return Markup(
        '<header class="who"><h1>{}</h1> {} <p class="dim">{} · <code>{}</code></p></header>'
        '<dl class="figures">{}</dl>{}'
    ).format(
        short_path(of.project),
        chip(now.level),
        model_of(model) or "no model yet",
        short(of.session),
        cells,
        gauge(now.fill, now.level, now.rungs),
    )


def _coming(ahead: Exhaustion | None) -> tuple[str, str]:
    if ahead is None:
        return "–", "turns left: too few so far to tell"
    return (
        f"{ahead.turns} turns",
        f"left: {ahead.turns_low}–{ahead.turns_high}, about {ahead.minutes:.0f} min",
    )


def course(of: History) -> Markup:
    """The picture at two sizes, one of which is shown, and what its marks mean."""
    if not of.points:
        words = (
            "Nothing has been measured yet: the first answer of the model is the first point of the curve."
        )
        return Markup('<p class="empty">{}</p>').format(words)
    saved = "checkpoint" if of.known else "checkpoint that would have been taken"
    legend = Markup(
        '<p class="legend dim"><span><i class="k line"></i>used</span> <span><i class="k band"></i>four of five '
        'forecasts lie here</span> <span><i class="k saved"></i>{}</span> <span><i class="k cut"></i>compaction</span></p>'
    ).format(saved)
    wide, slim = curve(of), curve(of, 360, 240)
    return Markup('<div class="wide">{}</div><div class="slim">{}</div>{}').format(wide, slim, legend)


def fills(of: Explanation) -> Markup:
    """What the window holds: one bar for all of it, then the sources that brought the most."""
    kinds = [kind for kind in of.kinds if kind.tokens]
    if not kinds:
        return Markup('<p class="empty">{}</p>').format("The window is empty.")
    bar = joined(
        Markup('<i class="f{}" style="flex-grow:{}" title="{}"></i>').format(
            place % 8, kind.tokens, f"{KINDS[kind.kind]}: {kind.tokens:,}"
        )
        for place, kind in enumerate(kinds)
    )
    rows = joined(
        Markup(
            '<tr><td><i class="k f{}"></i>{}</td><td class="n">{}</td><td class="n dim">{}</td></tr>'
        ).format(place % 8, KINDS[kind.kind], tokens(kind.tokens), percent(kind.percent or 0.01))
        for place, kind in enumerate(kinds)
    )
    tables = joined(
        _sources(title, sources)
        for title, sources in (("Tools", of.tools), ("Files", of.files), ("MCP servers", of.servers))
        if sources
    )
    whole = Markup(
        '<div class="stack" aria-hidden="true">{}</div><div class="columns"><table>{}{}</table>{}</div>'
    )
    return whole.format(bar, _head("Kind", "Tokens", "Of window"), rows, tables)


def _head(*names: str, figures: int = 2) -> Markup:
    """The last so many columns hold figures."""
    first = len(names) - figures
    cells = joined(
        Markup('<th scope="col"{}>{}</th>').format(Markup(' class="n"') if place >= first else "", name)
        for place, name in enumerate(names)
    )
    return Markup("<thead><tr>{}</tr></thead>").format(cells)


def _sources(title: str, sources: list[Source]) -> Markup:
    rows = joined(
        Markup(
            '<tr><td class="cut-off" title="{}">{}</td><td class="n">{}</td><td class="n dim">{}</td></tr>'
        ).format(one.name, one.name, tokens(one.tokens), f"{one.times:,} ×" if one.times else "")
        for one in sources[:_ROWS]
    )
    more = len(sources) - _ROWS
    rest = (
        Markup('<tr><td class="dim" colspan="3">and {} more</td></tr>').format(f"{more:,}")
        if more > 0
        else ""
    )
    return Markup("<table>{}{}{}</table>").format(_head(title, "Tokens", "Times"), rows, rest)


def compaction(cut: Compaction) -> Markup:
    """What it cost: what the summary kept of what was saved before, what it lost, and made up."""
    went = f"{tokens(cut.before)} → {tokens(cut.after)}" if cut.after else tokens(cut.before)
    head = Markup(
        '<header><h3>Compaction {}</h3><span class="dim">{} · turn {} · {}</span><span class="n">{}</span></header>'
    ).format(cut.number, cut.trigger or "auto", cut.turn, clock(cut.at), went)
    body = (
        _receipt(cut.receipt)
        if cut.receipt
        else Markup('<p class="dim">{}</p>').format(
            "No receipt: there was no checkpoint before it, or nobody was told its summary."
        )
    )
    return Markup('<article class="card">{}{}</article>').format(head, body)


def _receipt(said: dict[str, Any]) -> Markup:
    kept, lost, wrong = (int(said.get(name) or 0) for name in ("kept", "lost", "contradicted"))
    bar = joined(
        Markup('<i class="{}" style="flex-grow:{}"></i>').format(name, count)
        for name, count in (("kept", kept), ("lost", lost), ("wrong", wrong))
        if count
    )
    score = {"items": kept + lost + wrong, "kept": kept, "lost": lost, "contradicted": wrong}
    words = f"{in_words(score)}."
    lists = joined(
        _items(title, count, [(str(row[0]), " → ".join(map(str, row[1:]))) for row in said.get(name) or ()])
        for title, count, name in (
            ("Lost", lost, "lost_items"),
            ("Contradicted", wrong, "contradicted_items"),
        )
    )
    claims = _items(
        "In the summary as the user's words, and nobody typed it",
        0,
        [("", str(one)) for one in said.get("invented") or ()],
    )
    return Markup('<div class="stack small" aria-hidden="true">{}</div><p>{}</p>{}{}').format(
        bar, words, lists, claims
    )


def _items(title: str, count: int, rows: list[tuple[str, str]]) -> Markup:
    """`count`: how many there are, where a receipt keeps only the first of them."""
    if not rows:
        return Markup("")
    items = joined(
        Markup('<li><span class="tag">{}</span> {}</li>').format(kind, prose(text)) for kind, text in rows
    )
    return Markup("<details><summary>{} ({})</summary><ul>{}</ul></details>").format(
        title, f"{len(rows)} of {count:,}" if count > len(rows) else len(rows), items
    )


def sections(of: dict[str, list[str]]) -> Markup:
    """A checkpoint as it is read: section by section, without those that have nothing to say."""
    return joined(
        Markup("<section><h3>{}</h3><ul>{}</ul></section>").format(
            name, joined(Markup("<li>{}</li>").format(prose(item)) for item in items)
        )
        for name, items in of.items()
        if items
    )


def warnings(words: Sequence[str]) -> Markup:
    return joined(Markup('<p class="warning" role="status">{}</p>').format(one_line(one)) for one in words)


def kept(those: Sequence[Kept]) -> Markup:
    """Newest first. Of those that would have been taken there is no name."""
    if not those:
        return Markup('<p class="dim">{}</p>').format("None was taken.")
    named = any(one.id for one in those)
    row = Markup('<tr><td class="{}">{}</td><td>{}</td>{}<td class="n">{}</td></tr>')
    rows = joined(
        row.format(
            "when broad" if named else "when",
            clock(one.at),
            prose(one.reason),
            Markup("<td><code>{}</code></td>").format(one.id) if named else "",
            f"turn {one.turn}",
        )
        for one in reversed(those)
    )
    names = ["Time", "Why", *(["Checkpoint"] if named else []), "Where"]
    head = _head(*names, figures=1)
    if named:
        head = head.replace(Markup("<th "), Markup('<th class="broad" '), 1)
    return Markup("<table>{}{}</table>").format(head, rows)
