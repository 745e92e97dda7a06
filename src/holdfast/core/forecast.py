"""How long until the client compacts: `forecast(meter, room, habit)`, in turns and in minutes of work.

What a turn adds is wild, a word or a file of thirty thousand tokens, and the newest turns say little of the
next. So a pace is drawn from four witnesses, each with its weight: the newest turns, the session so far,
this user's past sessions, and what is typical. All of them are means of roots (see `meter.root`). How many
turns a room lasts is then close to a line in room / pace, for the median as for both ends of the interval.
The lines were fitted to stretches of real sessions: `bench/forecast.py` holds them against whole ones.
"""

from holdfast.core.meter import Meter, has_old_tokenizer, root, seconds_between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: What is typical: tokens that a turn adds, by tokenizer, and seconds it takes.
_PACE_OLD, _PACE_NEW, _SECONDS = 900.0, 1100.0, 17.5
#: How many times faster or slower than that a past session is believed to have been.
_FARTHEST = 4.0
#: Weights, in turns: the newest as they are; of the session so far a share, up to so many; what was before
#: it counts for more the more sessions it comes from.
_NEWEST = 16
_SESSION_SHARE, _SESSION_MOST = 0.5, 32.0
_BEFORE, _BEFORE_EACH, _BEFORE_MOST = 16, 2, 32
#: Turns of a cycle before anything is said of it.
_LEAST = 3
#: At less than this share of the usual pace nothing grows: the client clears as fast as work adds.
_STANDSTILL = 1 / 9
#: (slope, offset) of the lower end, the median and the upper end: of turns in room / pace, and of minutes
#: in room / pace × the minutes of a turn.
_TURNS = ((0.55, 0.0), (1.0, 0.5), (1.6, 1.0))
_MINUTES = ((0.5, 0.0), (1.5, 0.0), (2.8, 3.0))
#: A compaction is near when in one case of ten it comes within so many turns; not any more when it is so
#: far that the capacity must be another than was thought.
_SOON, _NOT_SOON = 8, 100
#: The first warning comes so many turns ahead, at the pace of the last samples, but not before this fill;
#: that is where it usually comes at this one.
_WARNED_AHEAD, _EARLIEST, _USUAL = 50, 65.0, 70.0

TOO_FEW, NO_GROWTH = "too few turns since the last compaction", "usage is not growing"


class Habit:
    """Tokens that a turn of this user adds and seconds it takes, from so many past sessions."""

    __slots__ = ("pace", "seconds", "sessions")

    def __init__(self, pace: float, seconds: float, sessions: int) -> None:
        self.pace = pace
        self.seconds = seconds
        self.sessions = sessions


class Forecast:
    """Turns and minutes until the client compacts; in four cases of five between low and high. A turn is
    a response of the model. Minutes are of work: a pause counts as five at most."""

    __slots__ = ("basis", "high", "low", "minutes", "minutes_high", "minutes_low", "turns")

    def __init__(self, stretch: float, seconds: float, basis: str) -> None:
        """`stretch` is room / pace, `seconds` what a turn takes."""
        self.low, self.turns, self.high = [round(slope * stretch + more) for slope, more in _TURNS]
        work = stretch * seconds / 60
        self.minutes_low, self.minutes, self.minutes_high = [
            round(slope * work + more, 1) for slope, more in _MINUTES
        ]
        self.basis = basis


def habit(model: str, sessions: "Iterable[list]") -> Habit:
    """`sessions` are [model, turns, tokens that one added, seconds it took]. What is typical counts as one
    more of them; what another model did, as much as it was of that model's typical pace."""
    paces, seconds, known = 1.0, 1.0, 1
    for of, _, tokens, took in sessions:
        paces += min(_FARTHEST, max(1 / _FARTHEST, tokens / _typical(of)))
        seconds += min(_FARTHEST, max(1 / _FARTHEST, took / _SECONDS))
        known += 1
    return Habit(_typical(model) * paces / known, _SECONDS * seconds / known, known - 1)


def _typical(model: str) -> float:
    return _PACE_OLD if has_old_tokenizer(model) else _PACE_NEW


def forecast(meter: Meter, room: float, before: Habit) -> Forecast | None:
    """`room` is what is left until the client compacts (`Reading.until_compaction`). None where nothing can
    be said; `unknown` says why."""
    tokens = pace(meter, before)
    if not tokens:
        return None
    return Forecast(max(0.0, room) / tokens, _seconds(meter, before), _basis(meter, before))


def unknown(meter: Meter, before: Habit) -> str:
    """Why there is no forecast, or ""."""
    if len(meter.curve) < _LEAST:
        return TOO_FEW
    return "" if pace(meter, before) else NO_GROWTH


def pace(meter: Meter, before: Habit) -> float:
    """Tokens a turn adds; 0 where that cannot be said."""
    if len(meter.curve) < _LEAST:
        return 0.0
    mean = _mean(_added(meter.curve), meter.steps, meter.step_tokens, before.pace, before.sessions)
    return mean * mean if mean > 0 and mean * mean >= _STANDSTILL * before.pace else 0.0


def _seconds(meter: Meter, before: Habit) -> float:
    times = [row[1] for row in meter.curve[-_NEWEST - 1 :]]
    took = [seconds_between(then, now) ** 0.5 for then, now in zip(times, times[1:], strict=False)]  # noqa: RUF007
    mean = _mean(took, meter.steps, meter.step_seconds, before.seconds, before.sessions)
    return mean * mean


def _added(curve: list) -> list[float]:
    used = [row[0] for row in curve[-_NEWEST - 1 :]]
    steps = [now - then for then, now in zip(used, used[1:], strict=False)]  # noqa: RUF007  no itertools here
    return [step**0.5 if step >= 0 else root(step) for step in steps]


def _mean(newest: list[float], steps: int, hundredths: int, usual: float, sessions: int) -> float:
    """Of roots: the newest, those of the session (a sum, in hundredths) and the usual one."""
    session = min(_SESSION_MOST, _SESSION_SHARE * steps)
    known = min(_BEFORE_MOST, _BEFORE + _BEFORE_EACH * sessions)
    total = sum(newest) + known * root(usual)
    if steps:
        total += session * hundredths / 100 / steps
    return total / (len(newest) + session + known)


def _basis(meter: Meter, before: Habit) -> str:
    turns = max(meter.steps, len(meter.curve) - 1)
    past = f"{before.sessions} before" if before.sessions else "what is typical"
    return f"{turns} turns of this session, {past}"


def is_soon(made: Forecast | None, was: bool = False) -> bool:
    """Whether a compaction is near. Once it `was`, in this cycle, it stays so unless it turns out to be
    many times as far: neither quiet turns nor a client that clears old results take it back, to say it
    anew."""
    if made is None:
        return was
    return made.low <= (_NOT_SOON if was else _SOON)


def velocity(curve: list, used: float, capacity: int, samples: int = 3) -> float:
    """Per cent of the capacity that an operation takes, from the last samples: responses, and what is used
    now. 0 while there are not as many, and when usage falls."""
    operations = samples - 1
    if len(curve) < operations:
        return 0.0
    before: int = curve[-operations][0]
    return max(0.0, 100 * (used - before) / operations / capacity)


def first_warning(
    curve: list, capacity: int, usual: float = _USUAL, latest: float = 84.0, samples: int = 10
) -> float:
    """The fill at which a person is warned first: earlier in fast conversations, later in slow ones, and
    never so late that the next rung would come before it. Who wants it elsewhere than usual has it moved
    by as much."""
    if len(curve) < _LEAST:
        return usual
    added = _added(curve[-samples:])
    mean = max(0.0, sum(added) / len(added))
    adapted = min(latest, max(_EARLIEST, 100 - 100 * _WARNED_AHEAD * mean * mean / capacity))
    return min(latest, adapted + usual - _USUAL)
