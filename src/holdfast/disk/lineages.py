"""What the sessions of a lineage have left behind, newest first, and which of it is unfinished.

Asked when a session begins, and when somebody wants to go on. The files are the truth; the index says which
there are.
"""

import posix

from holdfast.clock import at
from holdfast.core import workstate
from holdfast.core.plain import ago, excerpt
from holdfast.core.state import State
from holdfast.disk import checkpoints, index, process, sessions
from holdfast.disk.home import Home
from holdfast.disk.kept import Kept, look
from holdfast.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST_GOAL = 120
#: So many files are read for one answer.
MOST = 48
#: A session heard of since then is still at work, where nobody knows its process.
_LIVE_MS = 15 * 60_000


class Left:
    """The last checkpoint of a session that holds work. `work` is how that stands: OPEN, FINISHED, or
    FINISHED because a later session finished it."""

    __slots__ = ("_home", "_state", "kept", "path", "work")

    def __init__(self, home: Home, kept: Kept, path: str) -> None:
        self.kept, self.path, self.work = kept, path, kept.work
        self._home = home
        self._state: State | None = None

    @property
    def id(self) -> str:
        return str(self.kept.fields["id"])

    @property
    def uid(self) -> str:
        return str(self.kept.fields["uid"])

    @property
    def session(self) -> str:
        return str(self.kept.fields["session_id"])

    @property
    def created(self) -> int:
        return at(self.kept.fields["created"])

    @property
    def state(self) -> State:
        """What is still known of its session."""
        if self._state is None:
            try:
                self._state = sessions.peek(self._home, self.session) or State(self.session)
            except (OSError, HoldfastError):
                self._state = State(self.session)
        return self._state

    def line(self, now: int) -> str:
        """For a list: its name, what it is about, how old it is and how it stands."""
        return (
            f"{self.id}: {excerpt(self.kept.goal, _LONGEST_GOAL)} ({ago(now - self.created)}; {self.work})"
        )

    def is_live(self, now: int) -> bool:
        """Whether that session is at work in another process."""
        heard = self.state.heard
        if heard.ended:
            return False
        if heard.process and heard.process != posix.getppid():
            return not process.is_gone(heard.process, heard.last_at)
        return now - heard.last_at < _LIVE_MS


def left(home: Home, lineage: str, but: str = "") -> list[Left]:
    """What the sessions of a lineage have left, `but` for one: newest first, one checkpoint of each."""
    return [one for one in settled(_newest(home, lineage, but)) if one.work != workstate.TALK]


def settled(found: "Iterable[Left]") -> list[Left]:
    """These, newest first. What a later one finished counts as finished, and so does what that went on
    with."""
    every: list[Left] = []
    done: list[Left] = []
    for one in found:
        sections = one.kept.sections
        if one.work == workstate.OPEN and any(workstate.closes(e.kept.sections, sections) for e in done):
            one.work = workstate.FINISHED
        if one.work == workstate.FINISHED:
            done.append(one)
        every.append(one)
    return every


def told(home: Home, lineage: str, state: State) -> str:
    """What a session can have been told of the work before it."""
    for one in left(home, lineage, state.session):
        return "\n".join(item for items in one.kept.sections.values() for item in items)
    return ""


def _newest(home: Home, lineage: str, but: str) -> "Iterator[Left]":
    """The newest checkpoint of each session that can be trusted."""
    entries = index.having(home, "lineage", lineage)
    head = checkpoints.head(home, lineage)
    if head and not any(entry["uid"] == head["uid"] for entry in entries):  # an index that was lost
        entries.append(head)
    seen, looked = {but}, 0
    for entry in reversed(entries):
        session, path = entry.get("session_id", ""), entry.get("path", "")
        if session in seen:
            continue
        looked += 1
        if looked > MOST:
            return
        try:
            kept = look(home, path)
        except (OSError, HoldfastError):
            continue
        if kept.is_trusted and kept.fields["lineage"] == lineage:
            seen.add(session)
            yield Left(home, kept, path)
