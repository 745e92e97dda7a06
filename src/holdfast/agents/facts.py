"""What is known of every session of this machine and of its agents, read again where it has changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import at
from holdfast.core import decide, guard
from holdfast.core.gauge import measure
from holdfast.core.ladder import CHECKPOINT
from holdfast.core.state import State
from holdfast.core.thrash import thrashing
from holdfast.disk import compiled, sessions, transcripts
from holdfast.disk.home import is_safe_name
from holdfast.disk.messages import Reader
from holdfast.errors import HoldfastError

#: Of a transcript that has grown since: more than a session writes between two looks.
_MOST = 2 << 20
#: A session that nobody has heard of for so long, and whose client is gone, is history.
_OLD_MS = 24 * 3_600_000
#: Percent below the threshold from which on a session is looked at between two looks at all of them.
_NEAR = 15
FINISHED = "SubagentStop"


@dataclass(frozen=True)
class Facts:
    """Of one session, or one agent of it, as its files tell it. Times are milliseconds; `told_at` is when a
    hook came last, `last_at` also when the transcript grew; `since` is when this cycle began,
    `repeated` how often the same command was the last one, in a row."""

    session: str
    agent: str
    role: str
    project: str
    transcript: str
    model: str
    level: str
    used: int
    capacity: int
    percent: float
    fill: float
    turns: int
    unsaved: int
    is_saved_here: bool
    active_ms: int
    told_at: int
    last_at: int
    last: str
    ended: str
    process: int
    started: str
    owed: str
    owed_at: int
    since: int
    saved_at: int
    saved: str
    repeated: int
    failing: int
    thrashes: bool
    messages: int
    calls: int

    @property
    def name(self) -> str:
        return Reader(self.session, self.agent).name


def facts_of(app: Holdfast, state: State, parent: Facts | None = None) -> Facts:
    """With what the transcript says beyond the state, which nobody has told us yet."""
    heard = state.heard
    path = _beside(parent, state) if parent else heard.transcript
    changed = _catch_up(state, path)
    reading = measure(state, state.seen.offset, app.window)
    config = app.config
    turns, most = config["guard.thrash_turns"], config["guard.thrash_compactions"]
    seen = state.seen
    return Facts(
        session=state.session,
        agent=state.agent,
        role=heard.role or "lead",
        project=heard.project or heard.cwd or seen.cwd,
        transcript=path,
        model=reading.model,
        level=guard.look(state, reading, config).level,
        used=reading.used,
        capacity=reading.capacity,
        percent=reading.percent,
        fill=reading.fill,
        turns=decide.work(state),
        unsaved=decide.unsaved(state),
        is_saved_here=decide.saved_rung(state) >= CHECKPOINT,
        active_ms=decide.worked_ms(state),
        told_at=heard.last_at,
        last_at=max(heard.last_at, changed),
        last=heard.stage or heard.last,
        ended=heard.ended or (parent.ended if parent else ""),
        process=parent.process if parent else heard.process,
        started=heard.started or (parent.started if parent else ""),
        owed=str(heard.owed.get("why", "")),
        owed_at=int(heard.owed.get("at", 0)),
        since=_cycle_began(state),
        saved_at=int(heard.saved.get("at", 0)),
        saved=str(heard.saved.get("id", "")),
        repeated=_in_a_row([row[0] for row in seen.commands]),
        failing=_in_a_row([row[0] for row in seen.errors if not row[5]]),
        thrashes=thrashing(state, compactions=most, turns=turns) is not None,
        messages=seen.messages or heard.messages,
        calls=seen.calls or heard.calls,
    )


def _beside(parent: Facts, state: State) -> str:
    """An agent is told its parent's transcript; its own stands beside it."""
    stem = (parent.transcript or state.heard.transcript).removesuffix(".jsonl")
    return f"{stem}/subagents/agent-{state.agent}.jsonl" if stem else ""


def _catch_up(state: State, path: str) -> int:
    """When the transcript last grew, in milliseconds; 0: nobody knows."""
    try:
        found = os.stat(path)
        if found.st_size != state.seen.offset:
            transcripts.catch_up(state, path, _MOST)
    except (OSError, ValueError, HoldfastError):
        return 0
    return int(found.st_mtime * 1000)


def _cycle_began(state: State) -> int:
    compactions = state.seen.compactions
    try:
        return at(compactions[-1][0]) if compactions else state.heard.first_at
    except (ValueError, TypeError):
        return state.heard.first_at


def _in_a_row(names: list[int]) -> int:
    """How many of the last are the same."""
    count = 0
    for name in reversed(names):
        if name != names[-1]:
            break
        count += 1
    return count


class Machine:
    """All sessions of a home. Keeps what it has read, and reads again what has changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[list[int], Facts]] = {}

    def look(self, app: Holdfast, now: int, at_all: bool = True) -> list[Facts]:
        """Those that may still be at work, sessions before their agents. Not `at_all`: what is far from
        being full is not read again, however much it has changed."""
        before, self._known = self._known, {}
        near = -1.0 if at_all else app.config["ladder.checkpoint"] - _NEAR
        found = []
        for name in sessions.names(app.home):
            lead = self._one(app, name, "", None, before, near)
            if lead is None or (lead.ended and not lead.owed) or now - lead.last_at > _OLD_MS:
                continue
            agents = [self._one(app, name, agent, lead, before, near) for agent in _agents(app, name)]
            found += [lead, *filter(None, agents)]
        return [one for one in found if one.last != FINISHED or one.owed]

    def _one(
        self,
        app: Holdfast,
        session: str,
        agent: str,
        parent: Facts | None,
        before: dict[tuple[str, str], tuple[list[int], Facts]],
        near: float,
    ) -> Facts | None:
        path = app.home.session(session, agent) + "/state.json"
        known = before.get((session, agent))
        try:
            if known is None or (known[1].fill >= near and known[0] != _looks(path, known[1].transcript)):
                state = sessions.peek(app.home, session, agent)
                if state is None:
                    return None
                facts = facts_of(app, state, parent)
                known = _looks(path, facts.transcript), facts
        except (OSError, HoldfastError):
            return None  # `status` says so, and the next hook of the session mends it
        self._known[session, agent] = known
        return known[1]


def _agents(app: Holdfast, session: str) -> list[str]:
    try:
        names = os.listdir(app.home.session(session) + "/agents")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(filter(is_safe_name, names))


def _looks(path: str, transcript: str) -> list[int]:
    return compiled.signature(path) + _size(transcript)


def _size(path: str) -> list[int]:
    try:
        return [os.stat(path).st_size] if path else []
    except OSError:
        return []
