"""What tasks have really cost, beside what was estimated; and what that says of the next estimate.

A prompt says little of what it will cost: of past tasks four in five lay between an eighth of what was
estimated and seven times as much. So an estimate comes with a range, learned from the same rows.
"""

from math import exp, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Tasks from which on they are believed.
LEAST = 20
#: Four in five lie between.
_LOW, _HIGH = 0.1, 0.9
#: How much the first rows count against the rule of thumb: so many rows that agree with it.
_THUMB = 10
#: Before anything is known: what 827 prompts of 57 sessions came to.
_TYPICAL = (0.12, 7.3)


class Scale:
    """`cost = exp(level + slope * log(estimate))`, and the factors between which the truth lay."""

    __slots__ = ("high", "level", "low", "rows", "slope")

    def __init__(self, level: float, slope: float, low: float, high: float, rows: int) -> None:
        self.level, self.slope = level, slope
        self.low, self.high = low, high
        self.rows = rows

    def __call__(self, estimate: int) -> int:
        return round(exp(self.level + self.slope * log(max(1, estimate))))

    def between(self, estimate: int) -> tuple[int, int]:
        middle = self(estimate)
        return round(middle * self.low), round(middle * self.high)


#: Where too little is known, an estimate is what it is.
UNKNOWN = Scale(0.0, 1.0, *_TYPICAL, 0)


def learned(rows: "Iterable[tuple[int, int]]") -> Scale:
    """From (estimate, cost) of past tasks: a line through their logarithms, as many above it as below."""
    points = [(log(estimate), log(cost)) for estimate, cost in rows if estimate > 0 and cost > 0]
    if len(points) < LEAST:
        return UNKNOWN
    count = len(points)
    middle_x = sum(x for x, _ in points) / count
    middle_y = sum(y for _, y in points) / count
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    shared = sum((x - middle_x) * (y - middle_y) for x, y in points)
    typical = spread / count or 1.0
    slope = (shared + _THUMB * typical) / (spread + _THUMB * typical)
    slope = min(max(slope, 0.0), 2.0)
    off = sorted(y - slope * x for x, y in points)
    level = off[count // 2]
    low, high = off[int(count * _LOW)], off[min(count - 1, int(count * _HIGH))]
    return Scale(level, slope, exp(low - level), exp(high - level), count)


class Judged:
    """One task's estimate by what all other sessions had taught."""

    __slots__ = ("cost", "estimate", "is_within")

    def __init__(self, by: Scale, estimate: int, cost: int) -> None:
        low, high = by.between(estimate)
        self.estimate, self.cost, self.is_within = by(estimate), cost, low <= cost <= high


def apart(sessions: "dict[str, list[tuple[int, int]]]") -> list[Judged]:
    """Every session's tasks, each session judged by the others alone."""
    found = []
    for name, rows in sessions.items():
        by = learned(row for other, theirs in sessions.items() if other != name for row in theirs)
        found += [Judged(by, estimate, cost) for estimate, cost in rows if cost > 0]
    return found


def median_error(pairs: "Iterable[tuple[int, int]]") -> float:
    """Of (estimated, cost): how far off in the median, as a share of the cost."""
    errors = sorted(abs(estimated - cost) / cost for estimated, cost in pairs if cost > 0)
    return errors[len(errors) // 2] if errors else 0.0
