"""How full a session's window is."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core.config import Config
from holdfast.core.gauge import Reading, measure
from holdfast.core.guard import look
from holdfast.core.ladder import LEVELS
from holdfast.core.state import State
from holdfast.disk import client, sessions, transcripts
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, Damaged, NotFound
from holdfast.ops import asking

_ALL = 1 << 62
#: (key of the percentage below which it is so, the service's word)
_STATUS = (
    ("service.healthy_below", "healthy"),
    ("auto_context.thresholds.warning", "warning"),
    ("auto_context.thresholds.critical", "critical"),
)

#: Characters of an id from which a session may be named by its beginning.
_TOLD_APART = 8


@dataclass(frozen=True)
class Bytes:
    """Where every byte of the transcript went."""

    size: int
    parsed: int
    salvaged: int
    skipped: int
    lines: int
    damaged_lines: int


@dataclass(frozen=True)
class Usage:
    used: int
    max: int
    percent: float
    capacity: int
    fill: float
    until_compaction: int
    status: str
    action: dict[str, object]
    level: str
    rungs: list[int]
    source: str
    window_source: str
    model: str
    context: int
    output: int
    estimated: int
    input: int
    cache_read: int
    cache_creation: int
    session: str
    transcript: str
    turns: int
    prompts: int
    tool_calls: int
    compactions: int
    bytes: Bytes | None
    degraded: list[str]


def usage(app: Holdfast, *, transcript: str | None = None, session: str | None = None) -> Usage:
    """How full the window of a session is, and how that is known.

    Parameters
    ----------
    transcript
        Measure this transcript file.
    session
        Measure the session with this id. Without either: the newest session.
    """
    state, path, degraded = locate(app, transcript, session)
    size = os.path.getsize(path) if path else 0
    return describe(app, state, measure(state, size, app.window), path, size, degraded)


def measured(app: Holdfast, session: str | None = None) -> Reading:
    """A session's window, up to date; without its id the newest session's."""
    state, path, _ = locate(app, None, session)
    return measure(state, os.path.getsize(path) if path else 0, app.window)


def locate(app: Holdfast, transcript: str | None, session: str | None) -> tuple[State, str, list[str]]:
    """The state that is asked for, brought up to date; its transcript, and what is amiss."""
    if transcript is not None and session is not None:
        raise BadInput("give --transcript or --session, not both: a transcript names its session itself")
    if transcript is not None:
        path = os.path.abspath(transcript) if transcript else ""
        state = of_file(app, path)
        degraded: list[str] = []
        if not os.path.exists(path):
            raise NotFound(f"{transcript!r} does not exist; `holdfast sessions` lists the sessions that do")
    else:
        state, path, degraded = find(app, session if session is not None else newest(app))
    if path:
        degraded += read(state, path, _ALL)
    if transcript is not None and not state.seen.entries and os.path.getsize(path):
        raise BadInput(f"{path} is not a transcript of Claude Code: none of its lines is part of one")
    return state, path, degraded


def find(app: Holdfast, session: str) -> tuple[State, str, list[str]]:
    """A session's state as saved, its transcript ("" when there is none), and what is amiss."""
    degraded = []
    try:
        state = sessions.peek(app.home, session)
    except Damaged as problem:
        state, degraded = None, [f"{problem}; its next hook sets it aside and reads the transcript again"]
    path = state.heard.transcript if state else ""
    if not os.path.exists(path):
        path = client.transcript(app.client_dir, session)
    if state is None:
        if not path and not degraded:
            return find(app, _known(app, session))
        state = _fresh(app, session)
    if not path:
        gone = "the transcript is gone: shown is what had been read of it"
        degraded.append(gone if state.seen.entries else "no transcript: only what the hooks were told")
    return state, path, degraded


def _known(app: Holdfast, part: str) -> str:
    name = whole_id(app, part)
    if name == part:
        raise NotFound(f"no session {part!r} is known here; `holdfast sessions` lists those that are")
    return name


def whole_id(app: Holdfast, part: str) -> str:
    """Of the one session whose id begins so: the beginning is what tables and messages show of it. What is
    an id, or the beginning of none that is known here, stays as it is."""
    if len(part) < _TOLD_APART or (is_safe_name(part) and os.path.isdir(app.home.session(part))):
        return part
    matching = [name for _, name in newest_first(app) if name.startswith(part)]
    if part in matching or not matching:
        return part
    if len(matching) > 1:
        raise BadInput(
            f"{len(matching)} sessions begin with {part!r}: {', '.join(matching[:3])} …; name one"
        )
    return matching[0]


def _fresh(app: Holdfast, session: str, agent: str = "") -> State:
    """A session no hook has told us of: assume the settings its client would start with now."""
    state = State(session, agent)
    state.heard.client = client.settings(app.environ, app.client_dir, "")
    return state


def of_file(app: Holdfast, path: str) -> State:
    """A transcript anywhere on the disk, read from its beginning. What the hooks know of its session
    still holds; of one that is not this user's, the user's settings say nothing."""
    session = os.path.basename(path).removesuffix(".jsonl")
    agent = session.removeprefix("agent-") if session.startswith("agent-") else ""
    own = path.startswith(os.path.abspath(app.client_dir) + "/projects/")
    state = _fresh(app, session, agent) if own else State(session, agent)
    try:
        known = sessions.peek(app.home, session)
    except (BadInput, Damaged):  # a file may have any name, and a state any damage
        return state
    if known:
        for name in ("client", "window", "window_of", "model", "model_at"):
            setattr(state.heard, name, getattr(known.heard, name))
    return state


def read(state: State, path: str, most: int) -> list[str]:
    """Bring a state up to date in memory. What keeps it from being complete, in words."""
    try:
        why = transcripts.catch_up(state, path, most)
    except PermissionError:
        raise BadInput(f"{path} cannot be read: permission denied; run as its owner") from None
    return ["only the newest part of the transcript has been read so far"] if why == "behind" else []


def read_all(app: Holdfast, transcript: str | None, session: str | None) -> tuple[State, str]:
    """The state of what was asked for, with all that its transcript says, and where that is."""
    state, path, _ = locate(app, transcript, session)
    if not path:
        raise NotFound(f"the transcript of session {state.session} is gone, and with it what was said")
    return state, path


def newest(app: Holdfast) -> str:
    inside = asking.session(app)
    if inside:
        return inside
    found = newest_first(app)
    if not found:
        raise NotFound(
            f"no sessions yet: none under {app.client_dir}/projects and none in {app.home.root}. "
            "Measure a file with --transcript PATH"
        )
    return found[0][1]


def newest_first(app: Holdfast) -> list[tuple[float, str]]:
    """(time of the last change, id) of every session: those hooks told of and those found."""
    times: dict[str, float] = {}
    for path, changed, _ in client.transcripts(app.client_dir):
        name = os.path.basename(path).removesuffix(".jsonl")
        if is_safe_name(name):
            times[name] = max(changed, times.get(name, 0))
    for name in sessions.names(app.home):
        changed = os.stat(app.home.session(name)).st_mtime
        times[name] = max(changed, times.get(name, 0))
    return sorted(((changed, name) for name, changed in times.items()), reverse=True)


def describe(
    app: Holdfast, state: State, reading: Reading, path: str, size: int, degraded: list[str]
) -> Usage:
    seen, now = state.seen, look(state, reading, app.config)
    parsed, salvaged, skipped, lines, damaged = seen.bytes
    torn = max(0, size - seen.offset) if not seen.start else 0
    return Usage(
        used=reading.used,
        max=reading.window,
        percent=reading.percent,
        capacity=reading.capacity,
        fill=reading.fill,
        until_compaction=reading.until_compaction,
        status=status_of(reading.percent, app.config),
        action=action_at(reading.percent, app.config),
        level=now.level,
        rungs=[app.config[key] for _, key, _ in LEVELS],
        source=reading.source,
        window_source=reading.window_source,
        model=reading.model,
        context=reading.context,
        output=reading.output,
        estimated=reading.estimated,
        input=seen.meter.given,
        cache_read=seen.meter.cache_read,
        cache_creation=seen.meter.cache_creation,
        session=state.session,
        transcript=path,
        turns=seen.turns or state.heard.batches + state.heard.stops,
        prompts=seen.typed or state.heard.typed,
        tool_calls=seen.calls or state.heard.calls,
        compactions=seen.compacted or state.heard.compactions,
        # A last line that is not whole yet has not been read: it counts as skipped for now.
        bytes=Bytes(size, parsed, salvaged, skipped + torn, lines, damaged) if path else None,
        degraded=degraded,
    )


def status_of(percent: float, config: Config) -> str:
    """In the words of the service's contract, of the window."""
    return next((name for key, name in _STATUS if percent < config[key]), "overflow")


def action_at(percent: float, config: Config) -> dict[str, object]:
    shown = round(percent, 1)
    if percent < config["auto_context.thresholds.warning"]:
        return {"type": "none"}
    if percent < config["auto_context.thresholds.critical"]:
        return {"type": "save", "message": f"Context at {shown}%. Consider saving session."}
    message = f"Context at {shown}%. Save and restart recommended."
    return {"type": "save_and_restart", "message": message, "auto": True}
