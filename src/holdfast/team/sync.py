"""One round between a home and its team: what waits is sent, what others said is taken in.

Whoever comes does it: the service, the watcher, `holdfast sync`; one at a time for each home. What became
of it stands in outbox/state.json, for those who ask without waiting for a store that may not answer.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from holdfast.app import Holdfast
from holdfast.clock import elapsed, now
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.disk import files, outbox, trail
from holdfast.disk.home import Home
from holdfast.errors import BadInput, HoldfastError, Unavailable
from holdfast.store import machine
from holdfast.store.clocks import boot
from holdfast.store.database import Store, opened
from holdfast.store.named import Projects
from holdfast.team import compare
from holdfast.team.incoming import Incoming
from holdfast.team.outgoing import Outgoing, refused

VERSION = 1
#: Seconds after which a round sends no more, so that whoever does it gets on with its other work.
_SECONDS = 15.0
#: Seconds between two rounds where nothing waits; and after one that failed, at first and at last.
_IDLE_S, _AGAIN_S = 5.0, (2.0, 60.0)
#: And where what waits has to wait for somebody else.
_EARLY_S = 1.0
_LARGEST = 1 << 16


@dataclass(frozen=True)
class Round:
    """`waiting` lines are still to be sent, and so many `memories`, which one who only sends lines does not
    count; `trouble` says why. `early` are lines of which nobody can say yet which project they are of.
    `busy`: another is at it."""

    sent: int = 0
    received: int = 0
    waiting: int = 0
    trouble: str = ""
    early: int = 0
    busy: bool = False
    memories: int = 0


@dataclass(frozen=True)
class State:
    """How the last round ended, and when one last went well. `since`: when the trouble began. `compared`:
    for which start of the machine, and which store, what is there was compared with what is here; `asked`:
    the newest segment whose folders were asked which project they are. `why` the store has refused
    lines."""

    at: int = 0
    well_at: int = 0
    trouble: str = ""
    since: int = 0
    compared: str = ""
    asked: str = ""
    why: str = ""


def round(  # noqa: A001
    app: Holdfast,
    *,
    everything: bool = False,
    only_send: bool = False,
    begins: bool = True,
    seconds: float = _SECONDS,
) -> Round:
    """`everything`: also what the store has refused, and what it may lack; `only_send`: what waits, and no
    more. `begins`: also where the home has not told its team anything yet; who was not asked to do so by a
    person does not: the team may have been left a moment ago. What goes wrong with the store is told, not
    raised: it waits."""
    if not app.config["store.url"]:
        raise BadInput("no team is set up: holdfast team join postgresql://user@host/database")
    if begins:
        files.make_dir(app.home.outbox)
    lock = files.Lock(app.home.outbox + "/lock")
    try:
        if not lock.attempt():
            return Round(waiting=outbox.waiting(app.home), busy=True)
    except FileNotFoundError:
        return Round()
    with lock:
        return _Turn(app, everything, only_send, elapsed() + seconds).done()


class _Turn:
    def __init__(self, app: Holdfast, everything: bool, only_send: bool, until: float) -> None:
        self._app, self._home, self._until = app, app.home, until
        self._everything, self._only_send = everything, only_send
        self._projects = Projects(app)
        self._state = state(app.home)
        self._sent = self._received = self._early = 0

    def done(self) -> Round:
        before, trouble = self._state, ""
        try:
            self._gather()
            try:
                self._exchange(opened(self._app, is_known=self._only_send))
            except (HoldfastError, OSError):
                self._gather_memories()
                raise
            if self._projects.unsure:
                raise Unavailable(f"git does not say where {min(self._projects.unsure)} comes from")
        except (HoldfastError, OSError) as problem:
            trouble = str(problem)
        self._projects.keep()
        at = now()
        since = (before.since if before.trouble else at) if trouble else 0
        well_at = before.well_at if trouble else at
        said = replace(self._state, at=at, well_at=well_at, trouble=trouble, since=since)
        if not self._only_send or replace(said, at=before.at, well_at=before.well_at) != before:
            _keep(self._home, said)
        if trouble and trouble != before.trouble:  # said once, not every time
            trail.note(self._home, "degraded.team", what=trouble[:300])
        waiting, memories = outbox.waiting(self._home), self._memories()
        return Round(self._sent, self._received, waiting, trouble, early=self._early, memories=memories)

    def _gather(self) -> None:
        """What needs no store: as long as a folder is there, it can be asked which project it is."""
        outbox.seal(self._home)
        names = outbox.segments(self._home)
        asked = self._state.asked if names and self._state.asked <= names[-1] else ""
        for path in names:
            if path > asked:
                for line in outbox.lines(path, events=False)[0]:
                    self._projects.name(text(line["data"], "project") or text(line["data"], "root"))
        if not self._projects.unsure:
            self._state = replace(self._state, asked=names[-1] if names else "")
        if not self._only_send:
            self._projects.here()
        self._projects.keep()
        gone = outbox.trim(self._home, self._app.config["team.outbox_mb"] << 20)
        if gone:
            what = f"more than team.outbox_mb waits for the team's store: {gone:,} events were let go"
            trail.note(self._home, "degraded.team", what=what)

    def _gather_memories(self) -> None:
        """The same of what deep memory has, which nobody has asked for its folders this time. After all
        else: what is wrong with memory.db keeps back no line."""
        if not self._only_send:
            from holdfast.memory import shared  # which compares texts: not loaded only to send what waits

            for folder in shared.folders(self._app):
                self._projects.name(folder)

    def _exchange(self, store: Store) -> None:
        app, name = self._app, machine.this(self._app)
        outgoing = Outgoing(app, store, name, self._projects)
        if self._everything:
            self._state = replace(self._state, compared="", why="")
            with suppress(FileNotFoundError):
                outbox.put_back(self._home, refused(self._home))
        try:
            self._send(outgoing)
            if not self._only_send:
                self._compare(outgoing, store, name)
        finally:
            self._sent += outgoing.sent
            self._state = replace(self._state, why=outgoing.why or self._state.why)
        if self._only_send:
            return
        incoming = Incoming(app, store, self._everything)
        self._received += incoming.pull(self._projects.here())
        self._remember(store)
        if incoming.trouble:
            raise BadInput(incoming.trouble)

    def _send(self, outgoing: Outgoing) -> None:
        """The oldest first; a segment goes when all of it is in the store. Killed in between, it is sent
        again, and changes nothing."""
        for path in outbox.segments(self._home):
            if elapsed() > self._until:
                return
            lines, damaged = outbox.lines(path)
            ready: list[dict] = []
            early: list[dict] = []
            for line in lines:
                (early if outgoing.is_early(line) else ready).append(line)
            outgoing.send(ready)
            self._early += len(early)
            for line in early:
                outbox.put(self._home, line["kind"], line["data"], line["uid"], line["at"])
                if line["kind"] == outbox.CHECKPOINT:  # that it is gone may have been sent before it is
                    self._state = replace(self._state, compared="")
            if damaged:
                self._state = replace(self._state, compared="")
                what = f"{damaged} lines of the outbox cannot be read; what they told of is compared"
                trail.note(self._home, "degraded.team", what=what)
            outbox.remove(path)
        self._state = replace(self._state, asked="")

    def _compare(self, outgoing: Outgoing, store: Store, name: str) -> None:
        """Once for each start of this machine and each store; and where a line could not be written."""
        here = sha256_hex(f"{boot()} {store.where} {name}".encode())[:16]
        if outbox.has_missed(self._home) or self._state.compared != here:
            self._state = replace(self._state, compared="")  # until it is done
            outgoing.send(compare.owed(self._app, store, name, self._projects), compared=True)
            self._state = replace(self._state, compared="" if self._projects.unsure else here)

    def _remember(self, store: Store) -> None:
        """Deep memory, both ways, as long as there is time. What others erased comes first: nothing that
        hinders sending keeps it here."""
        from holdfast.memory import shared

        self._received += shared.pull(self._app, store, self._projects)
        seconds = max(1.0, self._until - elapsed())
        self._sent += shared.push(self._app, store, seconds, self._everything, self._projects)

    def _memories(self) -> int:
        """How many are still to be sent; 0 also where that cannot be read, which was told."""
        if not self._only_send:
            from holdfast.memory import shared

            with suppress(HoldfastError, OSError):
                return shared.waits(self._app)
        return 0


class Drain:
    """For those who come by every few seconds: a round as soon as something waits, else now and then, and
    more seldom after one that failed."""

    def __init__(self) -> None:
        self._next, self._failed = 0.0, 0
        self._last = -_IDLE_S

    def look(self, app: Holdfast) -> Round | None:
        """None: there was nothing to do."""
        if not app.config["store.url"] or elapsed() < self._next:
            return None
        is_due = elapsed() >= self._last + _IDLE_S
        if not is_due and not outbox.size(app.home):
            return None
        made = round(app, only_send=not is_due, begins=False)
        if is_due:
            self._last = elapsed()
        self._failed = self._failed + 1 if made.trouble else 0
        first, most = _AGAIN_S
        wait = min(most, first * 2 ** min(self._failed - 1, 10)) if self._failed else 0.0
        self._next = elapsed() + max(wait, _EARLY_S if made.early or made.busy else 0.0)
        return made


def state(home: Home) -> State:
    """As the last round left it; damaged or gone, nothing is known of it."""
    try:
        said = load(files.read(_path(home), _LARGEST).decode())
    except (OSError, BadInput, *UNREADABLE):
        return State()
    known = said if isinstance(said, dict) else {}
    kinds = {name: type(value) for name, value in asdict(State()).items()}
    return State(**{name: known[name] for name, kind in kinds.items() if type(known.get(name)) is kind})


def _keep(home: Home, said: State) -> None:
    files.replace(_path(home), dump({"v": VERSION, **asdict(said)}).encode() + b"\n", durable=False)


def _path(home: Home) -> str:
    return home.outbox + "/state.json"
