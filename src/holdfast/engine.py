"""One event from beginning to end: lock, catch up, measure, save, reply.

`handle` is the only place where something that was decided is done. Hooks call it; so will whoever
else brings an event.
"""

import posix
import time

from holdfast.app import Holdfast
from holdfast.core.events import Event, text
from holdfast.core.gauge import Reading, measure
from holdfast.core.state import State
from holdfast.disk import sessions, transcripts

#: Bytes of transcript a hook may read, and seconds it may take. A tool call waits for its hook:
#: 2 MB are some 30 ms. Where the person or a compaction is waited for anyway, more.
_MOST = (2 << 20, 0.3)
_MOST_AT = {
    "SessionStart": (32 << 20, 0.8),
    "UserPromptSubmit": (8 << 20, 0.3),
    "Stop": (32 << 20, 0.8),
    "PreCompact": (64 << 20, 1.2),
    "SessionEnd": (32 << 20, 0.6),
}
#: The newest lines reach the file up to a tenth of a second after PreCompact.
_SETTLE_S, _SETTLE_STEP_S = 0.25, 0.02


class Reply:
    """What the client is sent (nothing, so far) and what was measured."""

    __slots__ = ("reading", "stdout")

    def __init__(self, reading: Reading, stdout: str = "") -> None:
        self.reading = reading
        self.stdout = stdout


def handle(event: Event, app: Holdfast) -> Reply:
    home = app.home
    path = _transcript(event)
    if event.name == "PreCompact" and path:
        _settle(path)
    with sessions.lock(home.session(event.session, event.agent)):
        state = sessions.load(home, event.session, event.agent)
        if path:
            transcripts.catch_up(state, path, *_MOST_AT.get(event.name, _MOST))
        if event.name == "SessionStart" or not state.heard.events:
            _ask_client(state, event, app)
        state.overlay(event)
        reading = measure(state, state.seen.offset, app.window)
        sessions.sample(home, state, reading, event.at)
        sessions.save(home, state)
    return Reply(reading)


def _transcript(event: Event) -> str:
    """A subagent is told its parent's transcript; its own stands beside it."""
    if not event.agent:
        return event.transcript
    own = text(event.data, "agent_transcript_path")
    if own or not event.transcript:
        return own
    stem = event.transcript.removesuffix(".jsonl")
    return f"{stem}/subagents/agent-{event.agent}.jsonl"


def _settle(path: str) -> None:
    """Wait until the file has stopped growing, but never long."""
    last = -1
    for _ in range(int(_SETTLE_S / _SETTLE_STEP_S)):
        try:
            size = posix.stat(path).st_size
        except FileNotFoundError:
            return
        if size == last:
            return
        last = size
        time.sleep(_SETTLE_STEP_S)


def _ask_client(state: State, event: Event, app: Holdfast) -> None:
    from holdfast.disk import client  # once per session: not worth loading on every tool call

    model = text(event.data, "model") or state.seen.meter.model
    state.heard.client = client.settings(app.environ, app.client_dir, event.cwd, model)
