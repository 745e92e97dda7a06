"""The guard at work: what it has to know, what it writes down, and what it says."""

from holdfast.app import Holdfast
from holdfast.core import guard
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.heard import STATUSLINE
from holdfast.core.ladder import ADVISORY, name_of
from holdfast.core.state import State
from holdfast.disk import trail


def look(state: State, app: Holdfast, reading: Reading) -> guard.Look:
    """Where the window stands. A change of the level goes into the trail, for whoever routes work by it."""
    if state.heard.habit[:1] != [reading.model]:
        _ask_habits(state, app, reading.model)
    now = guard.look(state, reading, app.config)
    before = guard.note(state, reading, now)
    if before >= 0:
        _note_change(state, app, reading, now, before)
    return now


def _ask_habits(state: State, app: Holdfast, model: str) -> None:
    from holdfast.disk import habits  # once per session and model

    known = habits.of(app.home, model)
    state.heard.habit = [model, round(known.pace), round(known.seconds, 1), known.sessions]


def remember(state: State, app: Holdfast) -> None:
    """What this session did so far, for those that come."""
    from holdfast.disk import habits

    habits.bring_up(app.home, state)


def _note_change(state: State, app: Holdfast, reading: Reading, now: guard.Look, before: int) -> None:
    coming = now.forecast
    trail.note(
        app.home,
        "CONTEXT_PRESSURE",
        session=state.session,
        agent=state.agent,
        level=now.level,
        before=name_of(before),
        early=now.is_early,
        fill=reading.fill,
        used=reading.used,
        capacity=reading.capacity,
        velocity=round(now.velocity, 2),
        turns=[coming.low, coming.turns, coming.high] if coming else [],
        under_pressure=now.rung >= ADVISORY,
    )


def due(state: State, event: Event, app: Holdfast, reading: Reading, now: guard.Look) -> list:
    """What is to be told with this event: each thing once per cycle, seen or not."""
    found = guard.due(state, event, reading, now, app.config)
    return guard.spoken(found, _has_statusline(state, app)) if found else found


def _has_statusline(state: State, app: Holdfast) -> bool:
    if STATUSLINE in state.heard.events:
        return True
    from holdfast.disk import wiring  # a few times in a cycle

    return wiring.has_statusline(app.client_dir, state.heard.project)


def tell(what: list, event: Event, state: State, app: Holdfast, reading: Reading, now: guard.Look) -> str:
    from holdfast import telling  # each rung once per cycle

    said, advice = telling.reply(what, event, state, app, reading, now)
    if advice:
        from holdfast import books

        books.book(event, state, app, "advice", len(advice))
    return said
