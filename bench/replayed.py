"""Transcripts replayed turn by turn, and what the forecast and simpler rules would have said after each.

Oldest session first, each user's past sessions known by then, as the hooks would have known them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gauge import read
from holdfast.core.fold import fold
from holdfast.core.forecast import Habit, forecast, habit, is_soon, pace
from holdfast.core.gauge import measure
from holdfast.core.meter import Meter, seconds_between
from holdfast.core.rewind import Rewinds
from holdfast.core.state import State
from holdfast.core.transcript import Entry
from holdfast.disk import habits
from holdfast.disk.home import Home

#: Share of the capacity from which on a compaction is one that could be expected.
NEAR = 0.9
#: Where sessions are also cut, because real compactions are few.
IMAGINED = (80_000, 120_000, 160_000, 200_000, 250_000, 300_000, 400_000, 500_000)
_LEAST_IMAGINED = 10


class Said(NamedTuple):
    """What one contender said after one turn; None where it says nothing of the kind."""

    soon: bool
    stays: bool  # soon, if it was before
    turns: float | None = None
    interval: tuple[float, float] | None = None
    minutes: tuple[float, float] | None = None
    stretch: float = 0.0  # room / pace


class Cycle(NamedTuple):
    """From a compaction, or the start, to the next: the turns in it, and how it ended."""

    session: str
    ended: str  # compacted | unexpected | manual | open
    said: dict[str, list[Said]]
    seconds: list[float]  # of work, from the first turn to each


class Point(NamedTuple):
    """What is known after a turn."""

    meter: Meter
    used: int
    capacity: int
    before: Habit
    mean: float  # tokens a turn of this cycle added

    @property
    def room(self) -> int:
        return max(0, self.capacity - self.used)


def holdfast(at: Point) -> Said:
    made = forecast(at.meter, at.room, at.before)
    if made is None:
        return Said(soon=False, stays=True)
    interval, minutes = (made.low, made.high), (made.minutes_low, made.minutes_high)
    stretch = at.room / pace(at.meter, at.before)
    return Said(is_soon(made), is_soon(made, was=True), made.turns, interval, minutes, stretch)


def without_habits(at: Point) -> Said:
    return holdfast(at._replace(before=habit(at.meter.model, ())))


def last_increment(at: Point) -> Said:
    curve = at.meter.curve
    return _extrapolated(at, curve[-1][0] - curve[-2][0] if len(curve) > 1 else 0)


def mean_increment(at: Point) -> Said:
    return _extrapolated(at, at.mean)


def _extrapolated(at: Point, increment: float) -> Said:
    """Said to be near when the forecast's median is, too; not any more at twice that."""
    turns = at.room / increment if increment > 0 else None
    return Said(turns is not None and turns <= 15, turns is None or turns <= 30, turns)


def sixty(at: Point) -> Said:
    is_full = at.used >= 0.6 * at.capacity
    return Said(is_full, is_full)


CONTENDERS: dict[str, Callable[[Point], Said]] = {
    "holdfast": holdfast,
    "without past sessions": without_habits,
    "last increment": last_increment,
    "mean since the compaction": mean_increment,
    "60 % full": sixty,
}


class Replay:
    def __init__(self, folder: Path) -> None:
        self.folder = folder  # of the users' homes
        self.real: list[Cycle] = []
        self.imagined: list[Cycle] = []
        self._compactions: set[str] = set()  # a fork's file repeats those of the session it came from
        self._points: list[tuple[Point, int]] = []  # with the second of the day

    def session(self, path: Path) -> None:
        home = Home(str(self.folder / user(path)))
        state = State(path.name.partition(".jsonl")[0])
        known: dict[str, Habit] = {}
        in_turn = False
        for made in _on_the_chain(list(read(path))):
            begins = made.kind == "answer" and not made.failed and made.message != state.seen.meter.message
            if in_turn and (begins or made.kind == "boundary"):
                self._end_turn(state, home, known)
                in_turn = False
            if made.kind == "boundary":
                self._end_cycle(state.session, made)
            fold(state.seen, made)
            in_turn = in_turn or begins
        if in_turn:
            self._end_turn(state, home, known)
        self._end_cycle(state.session, None)
        habits.bring_up(home, state)

    def _end_turn(self, state: State, home: Home, known: dict[str, Habit]) -> None:
        """All that the next request will hold has been read, as in the last hook before it."""
        meter, reading = state.seen.meter, measure(state)
        if meter.model not in known:
            known[meter.model] = habits.of(home, meter.model)
        then = Meter.from_json(meter.to_json())
        turns = len(self._points)
        grown = meter.context - self._points[0][0].meter.context if turns > 2 else 0
        point = Point(then, reading.used, reading.capacity, known[meter.model], grown / max(1, turns))
        self._points.append((point, meter.curve[-1][1] if meter.curve else 0))

    def _end_cycle(self, session: str, boundary: Entry | None) -> None:
        timed, self._points = self._points, []
        if not timed or (boundary and boundary.uuid in self._compactions):
            return
        points, seconds = [point for point, _ in timed], [0.0]
        for (_, then), (_, now) in itertools.pairwise(timed):
            seconds.append(seconds[-1] + seconds_between(then, now))
        said = {name: [rule(point) for point in points] for name, rule in CONTENDERS.items()}
        self.real.append(Cycle(session, _how(boundary, points[-1].capacity), said, seconds))
        if boundary:
            self._compactions.add(boundary.uuid)
        for capacity in IMAGINED:
            reached = next((turn for turn, point in enumerate(points) if point.used >= capacity), 0)
            if reached >= _LEAST_IMAGINED:
                cut = [holdfast(point._replace(capacity=capacity)) for point in points[: reached + 1]]
                self.imagined.append(Cycle(session, "compacted", {"holdfast": cut}, seconds[: reached + 1]))


def _how(boundary: Entry | None, capacity: int) -> str:
    if boundary is None:
        return "open"
    if boundary.trigger == "manual":
        return "manual"
    return "compacted" if boundary.pre_tokens >= NEAR * capacity else "unexpected"


def user(path: Path) -> str:
    """The corpus names a repository before a tilde, the client a project by a folder."""
    owner, tilde, _ = path.name.partition("~")
    return owner if tilde else path.parent.name


def began(path: Path) -> str:
    return next((made.at for made in read(path) if made.at), "")


def _on_the_chain(entries: list[Entry]) -> Iterator[Entry]:
    """Without other agents' lines, and without what a rewind abandoned."""
    own = [made for made in entries if not made.agent]
    rewinds = Rewinds()
    for made in own:
        rewinds.take(made)
    for made in own:
        if not any(start <= made.offset < end for start, end in rewinds.dead):
            yield made
