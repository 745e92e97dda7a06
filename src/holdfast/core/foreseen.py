"""What a task will cost whose files are known beforehand: so much at all, for each letter of its words, for
each file it changes, makes or only reads, and a share of what these files hold: a smaller one of those that
the window holds already.

The shares are learned from past tasks, so that as many cost more as cost less, by factors: a task that cost
a third is as far off as one that cost three times as much.
"""

from math import exp, log

from holdfast.core import spread
from holdfast.core.plain import PER_TOKEN
from holdfast.core.spread import OTHERS, Spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Past = tuple[str, "Facts", int]  # session, what was known, cost

#: Tasks from which on they are believed.
LEAST = 20
#: Tokens of a file of which nothing else is known.
PER_FILE = 2000
#: What the client shows of a file before its content begins, and a number before each line.
_SHOWN, _AROUND = 1.2, 300
#: More of one file the client does not read at once.
_MOST_OF_FILE = 25_000
#: Where learning begins, in tokens: at all, a letter, a file changed, made, read, a token of them, one that
#: is in the window; and how many tasks of which nothing is known that counts for.
_FIRST, _COUNTS = (3000.0, 0.5, 3000.0, 4000.0, 1000.0, 0.3, 0.1), 1.0
#: Factors that are nearer than this are as good as right.
_NEAR = 0.2
_ROUNDS = 25
#: The last of a session by which its pace is known.
LAST = 8


class Facts:
    """What is known of a task before it is done. `changed` and `read`: tokens of the files that it changes,
    and of those it only reads; `changed_held` and `read_held`: of these, what the window holds already.
    `reads` is -1 where nobody has said which these are."""

    __slots__ = ("changed", "changed_held", "changes", "creates", "letters", "read", "read_held", "reads")

    def __init__(
        self,
        letters: int,
        changes: int,
        creates: int,
        reads: int,
        changed: int,
        read: int,
        changed_held: int = 0,
        read_held: int = 0,
    ) -> None:
        self.letters = letters
        self.changes = changes
        self.creates = creates
        self.reads = reads
        self.changed = changed
        self.read = read
        self.changed_held = changed_held
        self.read_held = read_held

    def as_list(self) -> list[int]:
        counts = [self.letters, self.changes, self.creates, self.reads]
        return [*counts, self.changed, self.read, self.changed_held, self.read_held]


def file_tokens(size: int | None) -> int:
    """What reading a file of so many bytes adds to a window."""
    return PER_FILE if size is None else min(_MOST_OF_FILE, round(size / PER_TOKEN * _SHOWN)) + _AROUND


class Model:
    """Tokens by facts, and how far off they were."""

    __slots__ = ("rows", "shares", "spread", "with_reads")

    def __init__(self, shares: "Sequence[float]", with_reads: bool, told: "Sequence[Past]") -> None:
        self.shares = shares
        self.with_reads = with_reads
        self.rows = len(told)
        self.spread: Spread = spread.learned([(name, self(facts) or 1, cost) for name, facts, cost in told])

    def __call__(self, facts: Facts) -> int:
        return round(sum(map(_times, self.shares, _parts(facts, self.with_reads))))


def learned(rows: "Sequence[Past]", with_reads: bool) -> Model | None:
    """By tasks of which it was said which files they only read, or else without. None: they are too few."""
    told = [row for row in rows if row[2] > 0 and (row[1].reads >= 0 or not with_reads)]
    if len(told) < LEAST:
        return None
    points = [(_parts(facts, with_reads), log(cost)) for _, facts, cost in told]
    first = _FIRST if with_reads else (*_FIRST[:4], *_FIRST[5:])
    return Model(_fitted(points, [log(share) for share in first]), with_reads, told)


def pace(pairs: "Sequence[tuple[int, int]]") -> float:
    """Of (estimate, cost) of what a session has done: how much more it takes than others, as far as so few
    tell."""
    off = [log(cost / estimate) for estimate, cost in pairs if estimate > 0 and cost > 0][-LAST:]
    return exp(sum(off) / (len(off) + OTHERS))


def _parts(facts: Facts, with_reads: bool) -> tuple:
    counts = 1, facts.letters, facts.changes, facts.creates
    if with_reads:
        held = facts.changed_held + facts.read_held
        return *counts, facts.reads, facts.changed + facts.read - held, held
    return *counts, facts.changed - facts.changed_held, facts.changed_held


def _times(share: float, part: float) -> float:
    return share * part


def _fitted(points: list, start: list) -> list:
    """The shares for which the middle of all factors is smallest, by steps of Gauss and Newton. What is
    sought is their logarithms: none can be negative."""
    at, count = list(start), len(start)
    for _ in range(_ROUNDS):
        shares = [exp(one) for one in at]
        square = [[_COUNTS * (row == column) for column in range(count)] for row in range(count)]
        right = [_COUNTS * (first - now) for first, now in zip(start, at, strict=True)]
        for parts, cost in points:
            pieces = [*map(_times, shares, parts)]
            whole = sum(pieces)
            off = cost - log(whole)
            weight = 1 / max(abs(off), _NEAR)
            slopes = [piece / whole for piece in pieces]
            for row, slope in enumerate(slopes):
                if slope:
                    heavy = weight * slope
                    right[row] += heavy * off
                    line = square[row]
                    for column in range(row + 1):
                        line[column] += heavy * slopes[column]
        step = _solved(square, right)
        longest = max(map(abs, step))
        scale = min(1.0, 0.7 / longest) if longest else 0.0
        at = [now + scale * more for now, more in zip(at, step, strict=True)]
        if longest < 1e-3:
            break
    return [exp(one) for one in at]


def _solved(square: list, right: list) -> list:
    """Of a symmetric system, whose lower half is given and which is positive: by Cholesky."""
    count = len(right)
    low = [[0.0] * count for _ in range(count)]
    for row in range(count):
        for column in range(row + 1):
            rest = square[row][column] - sum(map(_times, low[row][:column], low[column][:column]))
            low[row][column] = rest**0.5 if row == column else rest / low[column][column]
    found = list(right)
    for row in range(count):
        found[row] = (found[row] - sum(map(_times, low[row][:row], found[:row]))) / low[row][row]
    for row in reversed(range(count)):
        above = sum(low[other][row] * found[other] for other in range(row + 1, count))
        found[row] = (found[row] - above) / low[row][row]
    return found
