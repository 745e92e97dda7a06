"""Whose compaction the client tells of. Before 2.1.323 it does not say that one is a subagent's: the hooks
of both look alike, and what is said there goes to the agent.

Loaded only at a compaction of a session that has agents.
"""

import posix

from holdfast.app import READ, Holdfast
from holdfast.clock import elapsed
from holdfast.core.events import Event
from holdfast.core.gauge import measure
from holdfast.core.jsontext import text
from holdfast.core.seen import numbers
from holdfast.core.state import State
from holdfast.disk import sessions, transcripts
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, Damaged

_SAYS_WHOSE = (2, 1, 323)
#: Of agents that run: how many are compared, how long after they were heard of last, and seconds to find
#: them in.
_MOST, _RECENT_MS, _FIND_S = 32, 3_600_000, 0.1
#: What is read of each one's transcript, and of all of them.
_BYTES, _SECONDS, _ALL_S = 1 << 20, 0.1, 0.3


def agent_of(event: Event, app: Holdfast) -> str:
    """The agent that is compacted; "": the session itself."""
    if text(event.data, "trigger") == "manual" or text(event.data, "source") not in ("", "compact"):
        return ""
    agents = _running(event, app)
    lead = _state(event, app, "") if agents else None
    if not lead:
        return ""
    if event.name == "PreCompact":
        until = elapsed() + _ALL_S
        fullest = max([lead, *agents], key=lambda state: _fill(state, event, app, until))
        return fullest.agent
    began = [one for one in (*agents, lead) if _is_at(one, event)]
    return max(began, key=lambda state: state.heard.last_at).agent if began else ""


def _running(event: Event, app: Holdfast) -> list[State]:
    """Agents of the session that have not ended, if its client is one that does not name them; those that
    were heard of last first."""
    folder = app.home.session(event.session) + "/agents"
    try:
        names = posix.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found: list[State] = []
    until = elapsed() + _FIND_S
    for name in sorted(filter(is_safe_name, names), key=lambda name: -_written(f"{folder}/{name}")):
        if len(found) >= _MOST or elapsed() >= until:
            break
        state = _state(event, app, name)
        if not state or state.heard.last == "SubagentStop" or event.at - state.heard.last_at > _RECENT_MS:
            continue
        version = numbers(state.seen.version)
        found += [state] if version and version < _SAYS_WHOSE else []
    return found


def _written(folder: str) -> float:
    try:
        return posix.stat(folder + "/state.json").st_mtime
    except OSError:
        return 0


def _is_at(state: State, event: Event) -> bool:
    """Whether this is the next that is to be heard of a compaction of its own."""
    return bool(state.heard.compacting) if event.name == "SessionStart" else state.awaits_boundary


def _state(event: Event, app: Holdfast, agent: str) -> State | None:
    try:
        return sessions.peek(app.home, event.session, agent)
    except (OSError, Damaged):
        return None  # `status` says so


def _fill(state: State, event: Event, app: Holdfast, until: float) -> float:
    """With what its transcript holds by now: the answer that filled a window came after its last hook."""
    path = event.transcript
    if state.agent:
        path = f"{path.removesuffix('.jsonl')}/subagents/agent-{state.agent}.jsonl"
    try:
        left = min(_SECONDS, until - elapsed(), app.left(READ))
        if path and left > 0:
            transcripts.catch_up(state, path, _BYTES, left)
    except (OSError, ValueError, BadInput):
        pass  # as it was when it was heard of last
    return measure(state, state.seen.offset, app.window).fill
