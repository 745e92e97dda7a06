"""Reading on in a transcript that hooks came to late: by one child at low priority, which nobody waits for.

Loaded only then. What it has read stands in a folder of its own, `late/`, as state and facts of the front
of the transcript, so that the next child goes on where one was killed, and a hook may use it meanwhile. At
the end it takes the session's lock, and puts its own in the place of what was read from the newest part.
"""

import posix

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.core.facts import Facts
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.disk import files, gathered, late, sessions, trail, transcripts
from holdfast.errors import MISTAKES, HoldfastError
from holdfast.material import redactor_of

#: Bytes that are read in one go, after how many of them progress is saved, and seconds until it leaves the
#: rest to the next one.
_SLICE, _SAVED_EVERY, _LONGEST_S = 4 << 20, 32 << 20, 900.0
#: The session's lock is held for no more than this is read.
_NEAR = 1 << 20
#: As low as there is: whoever works here comes first.
_NICE = 19


def leave(place: late.Place, path: str, app: Holdfast) -> None:
    """Start a child that reads on. Three that came no further are enough for a while, and hooks read on
    themselves."""
    place.make()
    try:
        if posix.fork():
            return
    except OSError:
        place.count()
        return
    try:
        posix.setsid()  # when the client ends its hooks, this is finished
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for fd in (0, 1, 2):
            posix.dup2(nothing, fd)
        app.in_hook = False
        _read_apart(place, path, app)
    finally:
        posix._exit(0)


def _size(path: str) -> int:
    try:
        return posix.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _read_apart(place: late.Place, path: str, app: Holdfast) -> None:
    whose = {"session": place.session, "agent": place.agent}
    try:
        with place.lock() as held:
            if held.fd >= 0:
                posix.nice(_NICE)  # now: where much runs, one that is started after it would be first
                if not place.count():
                    trail.note(app.home, "catchup.began", **whose, bytes=_size(path))
                Reader(place, path, app).read()
    except FileNotFoundError:
        return  # its session was removed meanwhile, or the transcript was: nobody needs it any more
    except (OSError, HoldfastError) as problem:
        trail.note(app.home, "degraded.catchup", **whose, what=f"{type(problem).__name__}: {problem}"[:300])
    except MISTAKES as problem:  # of ours; its message may hold text of the session
        trail.note(app.home, "degraded.catchup", **whose, what=type(problem).__name__)


class Reader:
    """Reads a transcript from where the last one stopped to its end, and keeps what it has read."""

    def __init__(self, place: late.Place, path: str, app: Holdfast) -> None:
        self._place, self._path, self._app = place, path, app
        state = sessions.peek(app.home, place.session, place.agent) or State(place.session, place.agent)
        self._redact = redactor_of(app, state.heard.project).text
        known, facts = place.view(), place.facts()
        if known is None:
            known = state.behind or state.seen
            facts = facts or gathered.load(app.home, state)
            if state.behind:
                known.identity = []  # a view that is being built has none
            if facts.start or facts.rereads != state.seen.rereads:
                facts = None
        self._view: Seen = Seen(place.agent) if known.start else known
        self._facts = facts if facts and facts.offset <= self._view.offset else Facts()

    def read(self) -> None:
        until, began, saved = elapsed() + _LONGEST_S, elapsed(), 0
        fd = files.open_regular(self._path)
        try:
            if not self._facts.offset:
                self._begin_again(fd)
            while elapsed() < until:
                size = posix.fstat(fd).st_size
                if transcripts.changed(self._view.identity, self._view.offset, fd, size):
                    self._view = Seen(self._place.agent)
                    self._begin_again(fd)
                is_near = size - self._view.offset <= _NEAR and self._facts.offset == self._view.offset
                if is_near and self._finish(fd, began):
                    return
                saved += self._slice(fd, size)
                if saved >= _SAVED_EVERY and self._place.is_wanted():
                    self._place.save(self._view, self._facts)
                    saved = 0
                if not self._place.is_wanted():  # its session was removed meanwhile
                    return
        finally:
            posix.close(fd)
        self._place.save(self._view, self._facts)

    def _begin_again(self, fd: int) -> None:
        """With nothing but what the session knows of a beginning that the client has cut away."""
        own = gathered.load(self._app.home, State(self._place.session, self._place.agent))
        self._facts = gathered.begin_again(own, self._view, fd)

    def _slice(self, fd: int, size: int) -> int:
        """Read so much further; how much that was."""
        before = self._facts.offset
        if self._facts.offset >= self._view.offset:
            stop = transcripts.line_end(fd, min(size, self._view.offset + _SLICE), size)
            self._view = transcripts.read_on(self._view, fd, size, stop)
        self._facts = gathered.read_on(self._facts, self._view, fd, self._redact, _SLICE)
        return max(1, self._facts.offset - before)

    def _finish(self, fd: int, began: float) -> bool:
        """Under the session's lock, read what is left and put it in the session's place. False: a rewind
        reaches back, and what has to be read again is read without the lock."""
        home, place = self._app.home, self._place
        with sessions.lock(home.session(place.session, place.agent)):
            state = sessions.load(home, place.session, place.agent)
            size = posix.fstat(fd).st_size
            if transcripts.changed(state.seen.identity, state.seen.offset, fd, size):
                return True  # the session's next hook finds out, and begins again
            if state.behind is not None or state.seen.start:
                rereads = self._view.rereads
                self._view = transcripts.read_on(self._view, fd, size, size, most=0)
                if self._view.rereads != rereads:
                    self._begin_again(fd)
                    return False
                if self._view.offset < state.seen.offset:
                    return True
                state.seen, state.behind = self._view, None
                state.settle()
            if gathered.is_rewound(self._facts, state.seen):
                self._view = state.seen
                self._begin_again(fd)
                return False
            while self._facts.offset < state.seen.offset:
                before = self._facts.offset
                self._facts = gathered.read_on(self._facts, state.seen, fd, self._redact, _SLICE)
                if self._facts.offset == before:
                    break
            gathered.save(home, state, self._facts)
            sessions.save(home, state)
        place.clear()
        whose = {"session": place.session, "agent": place.agent}
        seconds = round(elapsed() - began, 1)
        trail.note(home, "catchup.done", **whose, bytes=self._facts.offset, seconds=seconds)
        return True


def progress(app: Holdfast, state: State) -> str:
    """How far a transcript has been read that hooks came to late, and how it goes on; "" if to its end."""
    place = late.Place(app.home, state.session, state.agent)
    if not (state.behind or files.is_there(place.folder)):
        return ""
    view, facts = place.view() or state.behind, place.facts()
    read = min(view.offset if view else state.seen.offset, facts.offset if facts else 0)
    size = max(1, state.seen.offset)
    how = "reads on in the background" if place.is_busy() else "goes on with its next hook"
    if place.has_failed():
        how = "came no further three times, and tries again ten minutes after the last"
    return (
        f"{read // 1_000_000} of {size // 1_000_000} MB of its transcript ({100 * read // size} %) are "
        f"read, and its newest part; holdfast {how}"
    )
