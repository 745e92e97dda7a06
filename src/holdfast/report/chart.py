"""The course of a session, drawn: how the window filled, the rungs, what was saved, when it was compacted,
and where it is heading. SVG by hand: no script, no network, the same in a mail and on a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from holdfast.ops.history import FALLS, Compaction, History, Point
from holdfast.ops.words import many
from holdfast.report.markup import colour, joined, tokens

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 124, 18, 34
#: At most this share of the width is for what has not happened yet.
_AHEAD = 0.25
#: Pixels between two rungs' names, and between two times.
_APART, _TIMES = 12, 90
#: Marks of checkpoints nearer than this are one mark.
_CLOSE = 5


@dataclass(frozen=True)
class _Scale:
    """Turns and tokens as places in a picture."""

    width: int
    height: int
    narrow: bool
    first: int
    last: float
    top: float

    @property
    def right(self) -> int:
        return self.width - (12 if self.narrow else _RIGHT)

    def x(self, turn: float) -> float:
        share = (turn - self.first) / max(1e-9, self.last - self.first)
        return round(_LEFT + min(1.0, max(0.0, share)) * (self.right - _LEFT), 1)

    def y(self, used: float) -> float:
        room = self.height - _TOP - _BOTTOM
        return round(_TOP + room - min(1.0, used / self.top) * room, 1)


def curve(of: History, width: int = 960, height: int = 300) -> Markup:
    """Empty where nothing has been measured yet."""
    if not of.points:
        return Markup("")
    scale = _scaled(of, width, height)
    said = Markup("<title>{}</title><desc>{}</desc>").format("How the window filled", told(of))
    parts = [said, _rungs(of, scale), _ahead(of, scale), _filled(of, scale), _cuts(of, scale)]
    parts += [_saved(of, scale), _times(of, scale)]
    return Markup('<svg class="curve" role="img" viewBox="0 0 {} {}" aria-label="{}">{}</svg>').format(
        width, height, "Usage curve: " + told(of), joined(parts)
    )


def checkpoints(of: History) -> str:
    """How many there are. Of a session that no hook has seen there are none, only those there would be."""
    counted = many(len(of.checkpoints), "checkpoint")
    return counted if of.known or not of.checkpoints else f"{counted} would have been taken"


def told(of: History) -> str:
    """The picture in words, for whoever does not see it."""
    words = [
        f"{of.usage.used:,} of {of.usage.capacity:,} tokens before the client compacts",
        many(len(of.compactions), "compaction"),
        checkpoints(of),
    ]
    if of.forecast:
        ahead = of.forecast
        words.append(f"about {ahead.turns} turns left ({ahead.turns_low} to {ahead.turns_high})")
    return ", ".join(words)


def _scaled(of: History, width: int, height: int) -> _Scale:
    first, last = of.points[0].turn, max(of.points[-1].turn, of.points[0].turn + 1)
    ahead = of.forecast.turns_high if of.forecast else 0
    reach = last + min(ahead, (last - first) * _AHEAD / (1 - _AHEAD))
    top = 1.06 * max(of.usage.capacity, *(one.used for one in of.points))
    return _Scale(width, height, width < 600, first, reach, top)


def _rungs(of: History, scale: _Scale) -> Markup:
    """Lines across, each in its colour, its name at the right where there is room for it."""
    rows = [("client compacts", 100, "full"), *((name, at, colour(name)) for name, at in of.rungs.items())]
    parts, last = [], -1e9
    for name, percent, kind in sorted(rows, key=lambda row: -row[1]):
        y = scale.y(of.usage.capacity * percent / 100)
        parts.append(
            Markup('<line class="rung {}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
                kind, _LEFT, y, scale.right, y
            )
        )
        if not scale.narrow:
            last = max(y + 3.5, last + _APART)
            label = Markup('<text class="name {}" x="{}" y="{}">{}</text>')
            parts.append(label.format(kind, scale.right + 8, round(last, 1), f"{percent} {_short(name)}"))
    for share in (0, 0.5, 1):
        amount = of.usage.capacity * share
        axis = Markup('<text class="axis" text-anchor="end" x="{}" y="{}">{}</text>')
        parts.append(axis.format(_LEFT - 8, scale.y(amount) + 4, tokens(round(amount))))
    return joined(parts)


def _short(name: str) -> str:
    return {"proactive checkpoint": "checkpoint"}.get(name, name)


def _cycles(points: list[Point]) -> Iterator[list[Point]]:
    """Cut where the window was emptied: a line down would say that it emptied slowly."""
    part: list[Point] = []
    for point in points:
        if part and point.used < part[-1].used * FALLS:
            yield part
            part = []
        part.append(point)
    yield part


def _filled(of: History, scale: _Scale) -> Markup:
    parts = []
    base = scale.y(0)
    for part in _cycles(of.points):
        places = " ".join(f"{scale.x(one.turn)},{scale.y(one.used)}" for one in part)
        start, end = scale.x(part[0].turn), scale.x(part[-1].turn)
        area = Markup('<polygon class="area" points="{},{} {} {},{}"/>')
        parts.append(area.format(start, base, places, end, base))
        parts.append(Markup('<polyline class="line" points="{}"/>').format(places))
    last = of.points[-1]
    dot = Markup('<circle class="now {}" cx="{}" cy="{}" r="4.5"/>')
    parts.append(dot.format(colour(of.usage.level), scale.x(last.turn), scale.y(last.used)))
    return joined(parts)


def _ahead(of: History, scale: _Scale) -> Markup:
    """From now to where the window will be full: between the earliest and the latest that is likely."""
    coming, last = of.forecast, of.points[-1]
    if coming is None or last.used >= of.usage.capacity:
        return Markup("")
    full = of.usage.capacity
    x, y, top = scale.x(last.turn), scale.y(last.used), scale.y(full)
    ends = []
    for turns in (coming.turns_low, coming.turns, coming.turns_high):
        shown = min(1.0, (scale.last - last.turn) / max(1, turns))
        ends.append((scale.x(last.turn + turns * shown), scale.y(last.used + (full - last.used) * shown)))
    (low_x, low_y), (mid_x, mid_y), (high_x, high_y) = ends
    corner = f" {scale.right},{top}" if high_y > top and low_y == top else ""
    band = Markup('<polygon class="band" points="{},{} {},{}{} {},{}"/>')
    line = Markup('<line class="likely" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    return band.format(x, y, low_x, low_y, corner, high_x, high_y) + line.format(x, y, mid_x, mid_y)


def _cuts(of: History, scale: _Scale) -> Markup:
    mark = Markup(
        '<g class="cut"><title>{}</title><line x1="{}" y1="{}" x2="{}" y2="{}"/>'
        '<rect x="{}" y="{}" width="18" height="14" rx="3"/><text x="{}" y="{}">{}</text></g>'
    )
    parts = []
    for cut in of.compactions:
        x = scale.x(cut.turn)
        parts.append(
            mark.format(_of(cut), x, _TOP - 4, x, scale.y(0), x - 9, _TOP - 16, x, _TOP - 5.5, cut.number)
        )
    return joined(parts)


def _of(cut: Compaction) -> str:
    kept = ""
    if cut.receipt and cut.receipt.get("items"):
        kept = f"; its summary kept {cut.receipt['kept']} of {cut.receipt['items']} items"
    return f"Compaction {cut.number} ({cut.trigger}), {cut.before:,} tokens{kept}"


def _saved(of: History, scale: _Scale) -> Markup:
    """On the line below: each where it was taken; those that would lie over one another are one."""
    y, last, parts = scale.y(0) + 6, -1e9, []
    for one in of.checkpoints:
        x = scale.x(one.turn)
        if x - last >= _CLOSE:
            mark = Markup('<path class="saved{}" d="M{} {}l3.5 6h-7z"><title>{}</title></path>')
            what = one.id or "would have been taken"
            parts.append(mark.format("" if one.id else " not", x, y, f"Checkpoint {what}: {one.reason}"))
            last = x
    return joined(parts)


def _times(of: History, scale: _Scale) -> Markup:
    """When that was, in UTC; where it all went fast, at which turn."""
    parts, last, told = [], -1e9, ""
    for one in of.points:
        x = scale.x(one.turn)
        if x - last >= _TIMES and x < scale.right - 20:
            text = Markup('<text class="axis" x="{}" y="{}">{}</text>')
            when = one.at[11:16]
            parts.append(text.format(x, scale.height - 6, f"turn {one.turn}" if when == told else when))
            last, told = x, when
    return joined(parts)
