"""The course of a session: how its window filled, what was saved on the way, what each compaction cost.

Of a session that hooks have told of, from what they left: samples, index, receipts; the curve before the
first sample, where they came late, from the transcript. Of any other, and of a transcript anywhere, what
they would have done (`replay`).
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from holdfast import receipts
from holdfast.app import Holdfast
from holdfast.core.gauge import measure
from holdfast.core.guard import look
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.core.ladder import LEVELS
from holdfast.core.plain import one_line
from holdfast.core.state import State
from holdfast.disk import files, index
from holdfast.errors import HoldfastError
from holdfast.ops import replay
from holdfast.ops.context import Usage, describe, locate
from holdfast.ops.fills import agents_of
from holdfast.ops.health import Exhaustion, exhaustion
from holdfast.ops.survival import receipt

#: Read of the samples: the newest of a very long session.
_MOST = 4 << 20
#: A window that holds less than this share of what it did has been emptied.
FALLS = 0.6
#: Points of a curve; a screen has hardly more columns.
_POINTS = 720


@dataclass(frozen=True)
class Point:
    at: str
    turn: int
    used: int
    capacity: int


_MOST_REPLAYED = 16
#: Transcript and time of the first sample -> what came before it.
_REPLAYED: dict[tuple[str, str], list[Point]] = {}


@dataclass(frozen=True)
class Kept:
    """A checkpoint: where it was taken, or, where its `id` is empty, would have been."""

    at: str
    turn: int
    id: str
    path: str
    trigger: str
    reason: str
    agent: str


@dataclass(frozen=True)
class Compaction:
    number: int
    at: str
    turn: int
    trigger: str
    before: int
    after: int
    receipt: dict[str, object] | None


@dataclass(frozen=True)
class History:
    session: str
    project: str
    known: bool
    usage: Usage
    forecast: Exhaustion | None
    rungs: dict[str, int]
    points: list[Point]
    checkpoints: list[Kept]
    compactions: list[Compaction]
    agents: list[str]

    def __str__(self) -> str:
        now = self.usage
        said = [f"{now.used:,} of {now.max:,} tokens ({now.percent:g} %), {now.level}, {now.turns:,} turns"]
        for cut in self.compactions:
            said.append(f"{cut.at[:19]}  turn {cut.turn}: compacted ({cut.trigger}), {cut.before:,} tokens")
        for one in self.checkpoints:
            what = f"checkpoint {one.id}" if one.id else "a checkpoint would have been taken"
            said.append(f"{one.at[:19]}  turn {one.turn}: {what} ({one_line(one.reason)})")
        return "\n".join([said[0], *sorted(said[1:])])


def history(app: Holdfast, *, transcript: str | None = None, session: str | None = None) -> History:
    """How the window of a session filled: curve, checkpoints, compactions and what their summaries kept.

    Parameters
    ----------
    transcript
        Of this transcript file, as hooks would have seen it.
    session
        Of the session with this id. Without either: the newest session.
    """
    state, path, degraded = locate(app, transcript, session)
    size = os.path.getsize(path) if path else 0
    reading = measure(state, size, app.window)
    points = [] if transcript is not None else _sampled(app, state.session)
    known = bool(points)
    if points:
        points = [*_earlier(app, path, points[0]), *points]
        kept, cuts = _taken(app, state, points), _compacted(app, state, points)
    else:
        points, kept, cuts = _replayed(app, path)
        if cuts and path:
            cuts[-1] = _judged(app, cuts[-1], path)
    return History(
        session=state.session,
        project=state.heard.project or state.heard.cwd or state.seen.cwd,
        known=known,
        usage=describe(app, state, reading, path, size, degraded),
        forecast=exhaustion(look(state, reading, app.config)),
        rungs={name: app.config[key] for _, key, name in LEVELS},
        points=_thinned(points),
        checkpoints=kept,
        compactions=cuts,
        agents=agents_of(app, state.session),
    )


def _sampled(app: Holdfast, session: str) -> list[Point]:
    try:
        fd = files.open_regular(app.home.session(session) + "/samples.jsonl")
    except (OSError, HoldfastError):  # none yet, or something else in its place: `status` tells
        return []
    try:
        data = os.pread(fd, _MOST, max(0, os.fstat(fd).st_size - _MOST))
    finally:
        os.close(fd)
    found = []
    for raw in data.split(b"\n"):
        try:
            line = load(raw.decode("utf-8", "replace"))
            found.append(Point(line["at"], line["turn"], line["used"], line["capacity"]))  # type: ignore[index]
        except (KeyError, TypeError, *UNREADABLE):
            continue  # torn, or the line in which the newest part begins
    return found


def _earlier(app: Holdfast, path: str, first: Point) -> list[Point]:
    """The curve of a session that hooks met late, until the first sample. It does not change any more: a
    long transcript is not replayed whenever the dashboard looks again."""
    if not path or first.turn <= 1:
        return []
    key = (path, first.at)
    if key not in _REPLAYED:
        points = _replayed(app, path)[0]
        before = [point for point in points if point.at < first.at and point.turn < first.turn]
        if len(_REPLAYED) >= _MOST_REPLAYED:
            _REPLAYED.clear()
        _REPLAYED[key] = _thinned(before)
    return _REPLAYED[key]


def _taken(app: Holdfast, state: State, points: list[Point]) -> list[Kept]:
    times = [point.at for point in points]
    return [
        Kept(
            said["created"],
            _turn(points, times, said["created"]),
            said["id"],
            said["path"],
            said["trigger"],
            said["reason"],
            said["agent_id"],
        )
        for said in index.load_all(app.home).entries.values()
        if said["session_id"] == state.session
    ]


def _compacted(app: Holdfast, state: State, points: list[Point]) -> list[Compaction]:
    """The newest ones: a state names no more."""
    rows = state.seen.compactions
    first = state.seen.compacted - len(rows) + 1
    booked = {line.get("compaction"): line for line in receipts.every(app, state.session)}
    # Where the curve falls, the newest last; the clock only where it does not: a window may refill at once.
    falls = [before.turn for before, after in pairwise(points) if after.used < before.used * FALLS]
    times = [point.at for point in points]
    known = len(falls) - len(rows)
    turns = falls[known:] if known >= 0 else [_turn(points, times, row[0]) for row in rows]
    return [
        Compaction(number, at, turn, trigger, before, after, booked.get(number))
        for number, turn, (at, trigger, before, after, *_) in zip(
            range(first, first + len(rows)), turns, rows, strict=True
        )
    ]


def _turn(points: list[Point], times: list[str], at: str) -> int:
    """When it was so late. All times are UTC in one notation, so that text sorts as they do."""
    return points[max(0, bisect_right(times, at) - 1)].turn


def _replayed(app: Holdfast, path: str) -> tuple[list[Point], list[Kept], list[Compaction]]:
    moments = replay.one(app, path).moments if path else []
    points = [Point(one.at, one.turn, one.used, one.capacity) for one in moments]
    kept = [
        Kept(one.at, one.turn, "", "", one.checkpoint, one.checkpoint, "")
        for one in moments
        if one.checkpoint
    ]
    cuts: list[Compaction] = []
    for place, here in enumerate(moments):
        if here.compaction:
            trigger, _, before = here.compaction.partition(" ")
            left = moments[place + 1].used if place + 1 < len(moments) else 0
            cuts.append(
                Compaction(len(cuts) + 1, here.at, here.turn, trigger, int(before or 0), left, None)
            )
    return points, kept, cuts


def _judged(app: Holdfast, cut: Compaction, path: str) -> Compaction:
    try:
        (line,) = receipt(app, transcript=path).receipts
    except HoldfastError:  # it holds no summary
        return cut
    return Compaction(cut.number, cut.at, cut.turn, cut.trigger, cut.before, cut.after, line)


def _thinned(points: list[Point]) -> list[Point]:
    """As many as can be seen; of each group the lowest and the highest, so that no peak is lost."""
    if len(points) <= _POINTS:
        return points
    size = -(-len(points) * 2 // _POINTS)
    found: list[Point] = []
    for start in range(0, len(points), size):
        group = points[start : start + size]
        ends = {min(group, key=lambda one: one.used), max(group, key=lambda one: one.used)}
        found += sorted(ends, key=group.index)
    return [*found, points[-1]] if found[-1] != points[-1] else found
