"""The guard: on which rung of the ladder the window stands, and who is told of it, each once per cycle.

A cycle is what lies between two compactions. What was told in it stands in `heard.guard`, and is saved
before it is said: a hook that is killed in between keeps silent about one rung, and none is told twice.
"""

from holdfast.core.events import Event
from holdfast.core.forecast import Forecast, Habit, first_warning, forecast, habit, is_soon, velocity
from holdfast.core.gauge import Reading
from holdfast.core.jsontext import text
from holdfast.core.ladder import ADVISORY, CRITICAL, LEVELS, PROMPT, name_of, reached
from holdfast.core.state import State
from holdfast.core.thrash import thrashing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.core.config import Config

#: Where the client shows what a hook says to the person, and waits for it.
TELLS = ("UserPromptSubmit", "PostToolBatch", "Stop")
#: Where a session is saved: hooks, and not what only reports.
_SAVES = (
    *("SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop", "StopFailure", "PreCompact"),
    *("SessionEnd", "AfterBatch", "CheckpointAsked"),
)
#: Where it can be said to the model: not at Stop, which would start another request.
_ADVISES = ("UserPromptSubmit", "PostToolBatch")
#: What is told once per cycle besides the rungs.
SOON, ADVICE, FULL = "soon", "advice", "full"
#: What a statusline of holdfast says all the time.
_SHOWN = (*(rung for rung, _, _ in LEVELS if rung != CRITICAL), SOON)
#: The level at which a session is saved besides L2 and L4: nothing fits any more.
NO_SPACE = 100
#: A rung is left only when the window is this much emptier than when it was reached: after a rewind, not
#: because the pace has slackened.
_SLACK = 5.0
_MOST_PRESSED = 16
#: Cycles that have no place in the transcript: a compaction was heard of but not read yet; only the newest
#: part was read, and none is in it; there is no transcript (and so many compactions).
_AWAITED, UNKNOWN, _UNWRITTEN = -1, -2, -3
_REMEMBERED = {"cycle", "rung", "fill", "told"}
_HABIT = 4


class Look:
    """How things stand, as every surface shows it."""

    __slots__ = ("forecast", "is_early", "is_soon", "rung", "velocity")

    def __init__(
        self, rung: int, is_early: bool, velocity: float, coming: Forecast | None, is_soon: bool
    ) -> None:
        self.rung = rung
        self.is_early = is_early
        self.velocity = velocity
        self.forecast = coming
        self.is_soon = is_soon

    @property
    def level(self) -> str:
        return name_of(self.rung)


def cycle(state: State) -> int:
    """Which one this is, by where the compaction before it stands in the transcript: how many there were
    changes when the whole of a transcript is read after its newest part."""
    seen = state.seen
    if not state.has_transcript:
        return _UNWRITTEN - state.heard.compactions
    if state.awaits_boundary:
        return _AWAITED
    if seen.compactions:
        return int(seen.compactions[-1][4])
    return UNKNOWN if seen.start else 0


def _known(state: State) -> dict:
    """What is remembered of this cycle, {} when it has just begun."""
    known = state.heard.guard
    if not known.keys() >= _REMEMBERED:
        return {}
    before, now = known["cycle"], cycle(state)
    is_same = now in (before, UNKNOWN) or (before in (_AWAITED, UNKNOWN) and now != _AWAITED)
    return known if is_same else {}


def look(state: State, reading: Reading, config: "Config") -> Look:
    """From the state alone, whoever asks: hook, statusline and command line show the same."""
    meter = state.seen.meter
    known = _known(state)
    curve, capacity = meter.curve, reading.capacity
    pace = velocity(curve, reading.used, capacity, config["guard.velocity_samples"])
    first = first_warning(
        curve,
        capacity,
        config["ladder.warning"],
        min(100 - config["guard.least_left"], config["ladder.advisory"]),
        config["guard.dynamic_samples"],
    )
    rung = reached(reading.fill, config, pace, first)
    # A window that reads as empty for one tick has not been emptied.
    if known and rung < known["rung"] and (not reading.used or reading.fill > known["fill"] - _SLACK):
        rung = known["rung"]
    coming = forecast(meter, reading.until_compaction, _habit(state, reading.model))
    is_early = rung > reached(reading.fill, config, first=first)
    return Look(rung, is_early, pace, coming, is_soon(coming, bool(known.get("soon"))))


def _habit(state: State, model: str) -> Habit:
    """Of this user, as far as the hooks of the session know it."""
    known = state.heard.habit
    return Habit(*known[1:]) if len(known) == _HABIT else habit(model, ())


def note(state: State, reading: Reading, now: Look) -> int:
    """Remember where the window stands. The rung before, or -1 if that is the same as now."""
    before, known, number = state.heard.guard.get("rung", 0), _known(state), cycle(state)
    if not known:
        known = state.heard.guard = {"cycle": number, "rung": now.rung, "fill": reading.fill, "told": []}
    elif now.rung != before:
        known.update(rung=now.rung, fill=reading.fill)
    known["cycle"] = number if number != UNKNOWN else known["cycle"]
    known["soon"] = int(now.is_soon)
    _press(state, now.rung >= ADVISORY)
    return before if before != now.rung else -1


def _press(state: State, is_pressed: bool) -> None:
    """Where in the transcript it is said under pressure: [from, to), 0 while that lasts."""
    pressed, offset = state.heard.pressed, state.seen.offset
    lasts = bool(pressed) and not pressed[-1][1]
    if is_pressed and not lasts:
        state.heard.pressed = [*pressed, [offset, 0]][-_MOST_PRESSED:]
    elif lasts and not is_pressed:
        pressed[-1][1] = offset


def under_pressure(pressed: "Sequence[list[int]]", offset: int) -> bool:
    return any(start <= offset and (offset < end or not end) for start, end in pressed)


def due(state: State, event: Event, reading: Reading, now: Look, config: "Config") -> list:
    """What is to be told with this event, marked as told: rungs, PROMPT, SOON, FULL, ADVICE, a Burst."""
    if event.agent or event.name not in TELLS or not reading.used:
        return []
    told = state.heard.guard["told"]
    found: list = []
    if now.rung and now.rung not in told:
        found.append(now.rung)
        told += [rung for rung, _, _ in LEVELS if rung < now.rung and rung not in told]
    if now.is_soon and SOON not in told:
        told.append(SOON)
        found += [] if found else [SOON]  # a rung says as much
    word = text(event.data, "prompt").partition(" ")[0]
    is_command = word.startswith("/") and word.count("/") == 1  # perhaps the very one it would speak of
    if event.name == "UserPromptSubmit" and not is_command:
        if is_full(state, reading):  # only now: the client shows nobody what is said of a turn that failed
            found += [] if FULL in told else [FULL]
        elif reading.fill >= config[PROMPT]:
            found += [] if PROMPT in told else [PROMPT]
    if event.name in _ADVISES and now.rung >= ADVISORY and ADVICE not in told:
        found += [ADVICE] if config["guard.tell_model"] and _wants_help(state, config) else []
    told += [what for what in found if what not in told]
    most, turns = config["guard.thrash_compactions"], config["guard.thrash_turns"]
    burst = thrashing(state, after=state.heard.burst, compactions=most, turns=turns)
    if burst:
        state.heard.burst = burst.number
        found.append(burst)
    return found


def spoken(due: list, has_statusline: bool) -> list:
    """What of it is said. The statusline shows every level and the forecast; beside it the person is told
    only what must not be missed: the warning with a prompt, L4, a full window, and what refills it."""
    return [what for what in due if what not in _SHOWN] if has_statusline else due


def is_full(state: State, reading: Reading) -> bool:
    """Whether nothing goes on until somebody makes room."""
    heard = state.heard
    return bool(heard.full or (heard.client.get("compaction_off") and reading.fill >= 100))


def save_due(state: State, event: Event, reading: Reading, config: "Config") -> int:
    """The level at which the session is to be saved under its environment now, marked as seen to: once per
    level and cycle, and at the latest when the client compacts by itself. 0: none. A level that only the
    pace has raised early is none: the save says how full the window was."""
    if state.agent or event.name not in _SAVES or not (reading.used or state.heard.full):
        return 0
    level = reached(reading.fill, config)
    level = level if level in (ADVISORY, CRITICAL) else ADVISORY if level > ADVISORY else 0
    if event.name == "PreCompact" and event.data.get("trigger") == "auto":
        level = level or ADVISORY
    level = NO_SPACE if is_full(state, reading) else level
    known = state.heard.guard
    if level <= known.get("saved", 0):
        return 0
    known["saved"] = level
    return level


def _wants_help(state: State, config: "Config") -> bool:
    """Whether the model should know: this client will not compact, or what it does cannot be saved."""
    heard = state.heard
    spent = heard.injected[1] if heard.injected else 0
    is_wanted = heard.client.get("compaction_off") or heard.owed.get("what")
    return bool(is_wanted and spent < config["brief.session_tokens"])
