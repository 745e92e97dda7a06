"""How a session stands, for whoever routes work to it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core.gauge import measure
from holdfast.core.guard import Look, look
from holdfast.core.ladder import ADVISORY
from holdfast.core.state import State
from holdfast.ops.context import locate

#: Bytes of a prompt's line from which on it is a specification, not a remark.
_SPEC = 6_000


@dataclass(frozen=True)
class Exhaustion:
    """Until the client compacts: what is likely, and between what it lies four times out of five."""

    turns: int
    turns_low: int
    turns_high: int
    minutes: float
    minutes_low: float
    minutes_high: float
    soon: bool


@dataclass(frozen=True)
class Health:
    session: str
    level: str
    under_pressure: bool
    fill: float
    velocity: float
    predicted_exhaustion: Exhaustion | None
    room: int
    specs: int
    specs_left: int
    degraded: list[str]


def health(app: Holdfast, *, session: str | None = None, transcript: str | None = None) -> Health:
    """Level, velocity, predicted exhaustion and room of a session, for orchestrators.

    Parameters
    ----------
    session
        Of the session with this id. Without: the newest session.
    transcript
        Of this transcript file.
    """
    state, _, degraded = locate(app, transcript, session)
    reading = measure(state, state.seen.offset, app.window)
    now = look(state, reading, app.config)
    taken = specs(state)
    return Health(
        session=state.session,
        level=now.level,
        under_pressure=now.rung >= ADVISORY,
        fill=reading.fill,
        velocity=now.velocity,
        predicted_exhaustion=exhaustion(now),
        room=max(0, reading.capacity * app.config["orchestrator.room_percent"] // 100 - reading.used),
        specs=taken,
        specs_left=max(0, app.config["orchestrator.specs"] - taken),
        degraded=degraded,
    )


def exhaustion(now: Look) -> Exhaustion | None:
    coming = now.forecast
    if coming is None:
        return None
    return Exhaustion(
        coming.turns,
        coming.low,
        coming.high,
        coming.minutes,
        coming.minutes_low,
        coming.minutes_high,
        now.is_soon,
    )


def specs(state: State) -> int:
    """Large pieces of work this session was given: long prompts, and those that led to a plan."""
    prompts = [row for row in state.seen.prompts if row[3]]
    begins = [row[1] for row in prompts]
    planned = {sum(at <= plan[0] for at in begins) for plan in state.seen.plans}
    return sum(row[2] >= _SPEC or number in planned for number, row in enumerate(prompts, 1))
