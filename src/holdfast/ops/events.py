"""What holdfast has done lately, from its trail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core.plain import excerpt
from holdfast.disk import trail
from holdfast.errors import BadInput
from holdfast.ops.context import whole_id
from holdfast.ops.happened import sentence

_LONGEST = 200
#: Read of the trail for the newest, and for all of them.
_NEWEST, _ALL = 1 << 18, 4 << 20
_NAMED = ("at", "event", "session", "agent")


@dataclass(frozen=True)
class Noted:
    at: str
    event: str
    session: str
    agent: str
    about: str
    machine: str = ""

    def __str__(self) -> str:
        said = f"{self.at[:19]}  {self.event:20}  {self.session[:8]:8}  {self.about}"
        return f"{said}  ({self.machine})" if self.machine else said


@dataclass(frozen=True)
class Events:
    """Newest first."""

    events: list[Noted]

    def __str__(self) -> str:
        return "\n".join(map(str, self.events)) or "no such event has been noted"


def events(
    app: Holdfast, *, kind: str = "", session: str | None = None, limit: int = 50, team: bool = False
) -> Events:
    """What holdfast has done lately, newest first: levels reached, checkpoints, briefs, what is degraded.

    Parameters
    ----------
    kind
        Only events whose name begins so: checkpoint, injection, restore, degraded, CONTEXT_PRESSURE.
    session
        Only those of the session with this id.
    limit
        How many to show; 0 for all that the newest file of the trail holds.
    team
        What was noted on all machines of the team, as its store heard of it.
    """
    if limit < 0:
        raise BadInput(f"--limit is {limit}; it takes 0 (all) or more")
    session = session and whole_id(app, session)
    if team:
        from holdfast.ops import elsewhere  # which asks the store

        return of_team(elsewhere.events(elsewhere.store_of(app), kind, session, limit))
    found = [
        _noted(note)
        for note in reversed(trail.recent(app.home, _NEWEST if limit else _ALL))
        if str(note.get("event", "")).startswith(kind)
        and (session is None or note.get("session") == session)
    ]
    return Events(found[: limit or None])


def of_team(found: Iterable[tuple[dict, str]]) -> Events:
    return Events([_noted(note, machine) for note, machine in found])


def _noted(note: dict, machine: str = "") -> Noted:
    at, event, session, agent = (excerpt(str(note.get(name, "")), _LONGEST) for name in _NAMED)
    return Noted(at, event, session, agent, excerpt(sentence(note), _LONGEST), machine)
