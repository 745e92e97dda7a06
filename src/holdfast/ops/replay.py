"""What holdfast would have done in a session, turn by turn, from its transcript alone.

The transcript is read once, in order, by the code hooks run; at each moment at which a hook would have been
called the same functions decide. Nothing is written and nothing of what was said is kept.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from holdfast.app import Holdfast
from holdfast.clock import at
from holdfast.core import decide, guard
from holdfast.core.events import Event
from holdfast.core.fold import NOWHERE, fold
from holdfast.core.gauge import measure
from holdfast.core.heard import pass_time
from holdfast.core.ladder import LEVELS, PROMPT, name_of
from holdfast.core.lines import BOOKKEEPING, Account, is_dense, records
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.core.thrash import Burst
from holdfast.core.transcript import Entry, entry
from holdfast.disk import files, transcripts
from holdfast.errors import BadInput, HoldfastError, NotFound
from holdfast.ops.context import of_file
from holdfast.ops.progress import Bar

_RUNGS = [*((key, name) for _, key, name in LEVELS), (PROMPT, "prompt warning")]


@dataclass(frozen=True)
class Moment:
    """One call of a hook: what was measured, and what would have been done."""

    turn: int
    at: str
    event: str
    used: int
    capacity: int
    fill: float
    level: str
    velocity: float
    turns_left: list[int]
    soon: bool
    told: list[str]
    checkpoint: str
    compaction: str


@dataclass(frozen=True)
class Replayed:
    transcript: str
    model: str
    window: int
    capacity: int
    #: Name -> percent of the capacity.
    rungs: dict[str, int]
    turns: int
    compactions: int
    checkpoints: dict[str, int]
    told: dict[str, int]
    #: Turns between "soon" and each compaction the client began by itself; -1: it was not said.
    notice: list[int]
    moments: list[Moment]
    problem: str = ""


@dataclass(frozen=True)
class Folder:
    folder: str
    sessions: list[Replayed]
    turns: int
    compactions: int
    checkpoints: int
    told: dict[str, int]
    notice: list[int] = field(default_factory=list)


def replay(app: Holdfast, path: str, *, png: str = "", html: str = "") -> Replayed | Folder:
    """What holdfast would have done in a session, turn by turn: measured, told, saved.

    Parameters
    ----------
    path
        A transcript, or a folder of transcripts.
    png
        Draw it into this file: usage, rungs, forecast, checkpoints, compactions.
    html
        The same as a page with the table below it.
    """
    if os.path.isdir(path):
        if png or html:
            raise BadInput("--png and --html draw one session; give its transcript instead of a folder")
        return _folder(app, path)
    if not os.path.exists(path):
        raise NotFound(f"{path!r} does not exist; give a transcript, or a folder that holds some")
    done = one(app, path)
    if not done.moments:
        raise BadInput(f"{path} holds no response of a model: there is nothing to replay")
    if png or html:
        from holdfast.ops import picture

        picture.save(done, png, html)
    return done


def _folder(app: Holdfast, folder: str) -> Folder:
    paths = sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(".jsonl")
    )
    if not paths:
        raise NotFound(f"no transcript (*.jsonl) is below {folder}")
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    done = []
    with Bar("replaying") as bar:
        for number, path in enumerate(paths):
            bar.show(sum(sizes[:number]), sum(sizes))
            done.append(_tried(app, path))
    told: Counter[str] = Counter()
    for session in done:
        told.update(session.told)
    return Folder(
        folder=folder,
        sessions=done,
        turns=sum(session.turns for session in done),
        compactions=sum(session.compactions for session in done),
        checkpoints=sum(sum(session.checkpoints.values()) for session in done),
        told=dict(told),
        notice=[turns for session in done for turns in session.notice],
    )


def _tried(app: Holdfast, path: str) -> Replayed:
    try:
        return one(app, path)
    except (HoldfastError, OSError) as problem:  # one bad file must not hide the others
        return Replayed(path, "", 0, 0, {}, 0, 0, {}, {}, [], [], problem=str(problem))


def one(app: Holdfast, path: str) -> Replayed:
    """Of one transcript. Where the session went back, what was abandoned is left out."""
    path = os.path.abspath(path)
    state, player = _begun(app, path, [])
    try:
        moments = _unhindered(player, path)
    except _WentBack:
        state, player = _begun(app, path, transcripts.abandoned(Seen(player.state.agent), path))
        player.is_told = True
        moments = _unhindered(player, path)
    reading = measure(state, state.seen.offset, app.window)
    saved = Counter(moment.checkpoint for moment in moments if moment.checkpoint)
    told = Counter(what for moment in moments for what in moment.told)
    return Replayed(
        transcript=path,
        model=reading.model,
        window=reading.window,
        capacity=reading.capacity,
        rungs={name: app.config[key] for key, name in _RUNGS},
        turns=state.seen.turns,
        compactions=state.seen.compacted,
        checkpoints=dict(saved),
        told=dict(told),
        notice=_notice(moments),
        moments=moments,
    )


def _begun(app: Holdfast, path: str, dead: list) -> tuple[State, _Player]:
    state = of_file(app, path)
    state.seen.dead = dead
    return state, _Player(state, app)


def _unhindered(player: _Player, path: str) -> list[Moment]:
    """Parsed JSON is garbage without cycles: collecting it costs a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return list(player.play(path))
    finally:
        if was_on:
            gc.enable()


def _notice(moments: list[Moment]) -> list[int]:
    found, said = [], -1
    for moment in moments:
        if moment.soon and said < 0:
            said = moment.turn
        if moment.compaction:
            if not moment.compaction.startswith("manual"):
                found.append(moment.turn - said if said >= 0 else -1)
            said = -1
    return found


class _WentBack(Exception):
    """A branch was abandoned: whoever reads has to know from the start."""


class _Player:
    """The moments of one session, in order."""

    def __init__(self, state: State, app: Holdfast) -> None:
        self.state = state
        self.window = app.window
        self.config = app.config
        self.is_told = False  # of all that was abandoned

    def play(self, path: str) -> Iterator[Moment]:
        seen = self.state.seen
        due = ""  # the hook that is called once nothing more comes of what it is called for
        for made in self._entries(path):
            kind = made.kind
            read, seen.offset = seen.offset, made.offset  # until now nobody has read this line
            is_new = kind == "answer" and made.message[:64] != seen.meter.message
            if due and (kind in ("prompt", "note", "boundary") or (is_new and due != "Stop")):
                yield self._moment(due)
                due = ""
            if kind == "boundary":
                yield self._moment("PreCompact", made)
            seen.offset = read
            if fold(seen, made) != NOWHERE and not self.is_told:
                raise _WentBack
            if kind in ("prompt", "note"):
                self.state.heard.prompts += 1
                self.state.heard.typed += kind == "prompt"
                due = "UserPromptSubmit"
            elif kind == "result":
                due = "PostToolBatch"
            elif is_new:
                due = "Stop"
        if due:
            yield self._moment(due)

    def _entries(self, path: str) -> Iterator[Entry]:
        account = Account()
        seen = self.state.seen
        fd = files.open_regular(path)
        try:
            size = os.fstat(fd).st_size
            for offset, raw, length in transcripts.live_lines(seen, fd, size, account, 1e18):
                for record in _records(raw, account):
                    made = entry(record, offset, length)
                    if made is not None and made.agent == seen.agent:
                        yield made
        finally:
            os.close(fd)

    def _pass_time(self, name: str) -> None:
        try:
            now = at(self.state.seen.last_at)
        except ValueError:
            return
        pass_time(self.state.heard, name, now)

    def _moment(self, name: str, boundary: Entry | None = None) -> Moment:
        state = self.state
        self._pass_time(name)
        reading = measure(state, state.seen.offset, self.window)
        now = guard.look(state, reading, self.config)
        guard.note(state, reading, now)
        whose = {"agent_id": state.agent} if state.agent else {}
        event = Event(name, state.session, 0, whose)
        saved = decide.due(state, event, now.rung, self.config)
        told = guard.due(state, event, reading, now, self.config)
        if saved:
            rung = max(now.rung, decide.saved_rung(state))
            state.heard.saved = {**decide.reached(state), "rung": rung, "cycle": state.seen.compacted}
            state.heard.active = 0
        coming = now.forecast
        return Moment(
            turn=state.seen.turns,
            at=state.seen.last_at,
            event=name,
            used=reading.used,
            capacity=reading.capacity,
            fill=reading.fill,
            level=now.level,
            velocity=now.velocity,
            turns_left=[coming.low, coming.turns, coming.high] if coming else [],
            soon=now.is_soon,
            told=[_named(what) for what in told],
            checkpoint=saved,
            compaction=f"{boundary.trigger or 'auto'} {boundary.pre_tokens}" if boundary else "",
        )


def _named(what: object) -> str:
    if what == PROMPT:
        return "prompt warning"
    if isinstance(what, Burst):
        return "thrashing"
    return name_of(what) if isinstance(what, int) else str(what)


def _records(raw: bytes, account: Account) -> list:
    """As hooks read them; a line that is whole is parsed by the faster parser."""
    if not raw.startswith(BOOKKEEPING) and not is_dense(raw):
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return records(raw, account)
        if type(value) is dict:
            return [value]
    return records(raw, account)
