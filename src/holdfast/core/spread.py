"""How far an estimate may be off: of one task, and of many together.

Costs are spread by factors, not by tokens, and the larger a task, the less. Part of it is a task's own and
evens out among many; the rest is a session's, which takes more or less for all it does, and stays. And the
middle of a sum is more than the sum of the middles: what costs three times as much adds more than what
costs a third takes away.
"""

from math import exp, log, sqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Four in five lie between.
LOW, HIGH = 0.1, 0.9
#: So many deviations from the middle they end, where all are spread evenly to both sides.
_FOUR_IN_FIVE = 1.2816
#: The mean distance from the middle, as a part of a deviation.
_MEAN = 1.2533
#: Nothing is known more exactly; and how much the first rows count against all tasks being spread alike.
_FINEST, _ALIKE = 0.05, 20
#: How many others the last of a session count against; `foreseen.pace` goes by them, too.
OTHERS = 4


class Spread:
    """`level`: of the logarithm of what a task costs, at `middle`, the logarithm of an estimate; `slope`:
    for each more. `shared`: of a session's. `low`, `high`: deviations between which four in five lay."""

    __slots__ = ("high", "level", "low", "middle", "shared", "slope")

    def __init__(
        self, level: float, slope: float, middle: float, shared: float, low: float, high: float
    ) -> None:
        self.level, self.slope, self.middle = level, slope, middle
        self.shared = shared
        self.low, self.high = low, high

    def of(self, estimate: float) -> float:
        found = self.level + self.slope * (log(max(1.0, estimate)) - self.middle)
        return min(max(found, self.level / 2), self.level * 1.5)

    def between(self, estimate: float) -> tuple[int, int]:
        own = self.of(estimate)
        return round(estimate * exp(self.low * own)), round(estimate * exp(self.high * own))


def learned(rows: "Sequence[tuple[str, float, int]]") -> Spread:
    """Of (session, estimate, cost)."""
    sizes = [log(estimate) for _, estimate, _ in rows]
    off = [log(cost / estimate) for _, estimate, cost in rows]
    sessions: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        sessions.setdefault(row[0], []).append(place)
    means = {name: sum(off[place] for place in places) / len(places) for name, places in sessions.items()}
    # A session's mean is nearer to its own tasks than the truth is; and of a single task it says nothing.
    own = [
        (sizes[place], abs(off[place] - means[name]) * sqrt(len(places) / (len(places) - 1)))
        for name, places in sessions.items()
        if len(places) > 1
        for place in places
    ] or [(size, abs(one)) for size, one in zip(sizes, off, strict=True)]
    middle, level = (sum(column) / len(own) for column in zip(*own, strict=True))
    wide = sum((size - middle) ** 2 for size, _ in own)
    slope = sum((size - middle) * (far - level) for size, far in own) / (
        wide * (1 + _ALIKE / len(own)) or 1.0
    )
    level = max(_FINEST, level * _MEAN)
    found = Spread(level, slope * _MEAN, middle, _shared(sessions, means, level, len(rows)), 0.0, 0.0)
    far = sorted(one / found.of(exp(size)) for size, one in zip(sizes, off, strict=True))
    found.low, found.high = far[int(len(far) * LOW)], far[min(len(far) - 1, int(len(far) * HIGH))]
    return found


def _shared(sessions: dict, means: dict, level: float, count: int) -> float:
    """How far the means of sessions lie apart, less what chance would put between them."""
    whole = sum(means[name] * len(places) for name, places in sessions.items()) / count
    apart = sum(len(places) * (means[name] - whole) ** 2 for name, places in sessions.items()) / count
    return sqrt(max(0.0, apart - level**2 * len(sessions) / count))


def together(parts: "Sequence[tuple[float, float]]") -> tuple[float, float]:
    """Of (estimate, spread of its own): the middle of their sum, and its spread. As of a sum of log-normal
    values, which is nearly one (Fenton and Wilkinson)."""
    mean = sum(estimate * exp(own**2 / 2) for estimate, own in parts)
    if not mean:
        return 0.0, 0.0
    square = sum((estimate * exp(own**2 / 2)) ** 2 * (exp(own**2) - 1) for estimate, own in parts) / mean**2
    return mean / sqrt(1 + square), sqrt(log(1 + square))


def range_of(middle: float, own: float, shared: float, told: int = 0) -> tuple[int, int]:
    """Between which four in five of such sums lie. `told`: the tasks by which a session's pace is known."""
    far = exp(_FOUR_IN_FIVE * sqrt(own**2 + shared**2 * OTHERS / (OTHERS + told)))
    return round(middle / far), round(middle * far)
