"""One event from beginning to end: lock, catch up, measure, save, reply.

`handle` is the only place where something that was decided is done. Hooks call it; so will whoever
else brings an event.
"""

import time

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.core.events import Event, text
from holdfast.core.gauge import Reading, measure
from holdfast.core.heard import STATUSLINE
from holdfast.core.state import State
from holdfast.disk import sessions, trail, transcripts
from holdfast.errors import BadInput

#: Bytes of transcript a hook may read, and seconds it may take. A tool call waits for its hook:
#: 2 MB are some 30 ms. Where the person or a compaction is waited for anyway, more.
_MOST = (2 << 20, 0.3)
_MOST_AT = {
    "SessionStart": (32 << 20, 0.8),
    "UserPromptSubmit": (8 << 20, 0.3),
    "Stop": (32 << 20, 0.8),
    "PreCompact": (64 << 20, 1.0),
    "SessionEnd": (32 << 20, 0.6),
}
#: The newest lines reach the file up to a tenth of a second after PreCompact.
_SETTLE_S, _SETTLE_STEP_S, _SETTLE_MOST = 0.25, 0.02, (2 << 20, 0.1)


class Reply:
    """What the client is sent (hooks: nothing, so far) and what was measured."""

    __slots__ = ("reading", "stdout")

    def __init__(self, reading: Reading | None = None, stdout: str = "") -> None:
        self.reading = reading
        self.stdout = stdout


def handle(event: Event, app: Holdfast) -> Reply:
    if event.name == "SubagentStop" and not event.agent_type:
        return Reply()  # the client's own summariser, at every compaction: no agent of the session
    home = app.home
    with sessions.lock(home.session(event.session, event.agent)):
        state = sessions.load(home, event.session, event.agent)
        trouble = _read(state, event) or app.trouble
        if trouble != state.heard.trouble:  # said once, not with every event
            state.heard.trouble = trouble
            trail.note(home, "degraded.session", session=event.session, agent=event.agent, what=trouble)
        if event.name == "SessionStart" or not state.heard.events:
            _ask_client(state, event, app)
        state.overlay(event)
        reading = measure(state, state.seen.offset, app.window)
        sessions.sample(home, state, reading, event.at)
        sessions.save(home, state)
    return Reply(reading, _answer(event, app, state, reading))


def _answer(event: Event, app: Holdfast, state: State, reading: Reading) -> str:
    if event.name != STATUSLINE:
        return ""
    from holdfast import statusline  # no hook needs it

    return statusline.beside_former(statusline.line(state, reading, app.environ), event, app)


def _transcript(event: Event) -> str:
    """A subagent is told its parent's transcript; its own stands beside it."""
    if not event.agent:
        return event.transcript
    own = text(event.data, "agent_transcript_path")
    if own or not event.transcript:
        return own
    stem = event.transcript.removesuffix(".jsonl")
    return f"{stem}/subagents/agent-{event.agent}.jsonl"


def _read(state: State, event: Event) -> str:
    """Catch up with the transcript. Why that was not possible, or "": the event counts in any case."""
    path = _transcript(event)
    if not path:
        return ""
    limits = _MOST_AT.get(event.name, _MOST)
    try:
        transcripts.catch_up(state, path, *limits)
        if event.name == "PreCompact":
            _settle(state, path)
    except (OSError, ValueError, BadInput) as problem:  # ValueError: a NUL in the path
        return f"the transcript cannot be read: {type(problem).__name__}"
    return ""


def _settle(state: State, path: str) -> None:
    """Read on until the file has stopped growing and holds every result that was told, never long."""
    still, until = 0, elapsed() + _SETTLE_S
    while elapsed() < until and (still < 2 or state.heard.pending):
        time.sleep(_SETTLE_STEP_S)
        before = state.seen.offset
        transcripts.catch_up(state, path, *_SETTLE_MOST)
        still = still + 1 if state.seen.offset == before else 0


def _ask_client(state: State, event: Event, app: Holdfast) -> None:
    from holdfast.disk import client  # once per session: not worth loading on every tool call

    model = text(event.data, "model") or state.seen.meter.model
    state.heard.client = client.settings(app.environ, app.client_dir, event.cwd, model)
