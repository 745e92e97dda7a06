"""How far a transcript has been read that hooks came to late: the folder `late/` of a session.

State and facts of the transcript's front, in the forms in which a session has them; the lock of the child
that reads on; and a byte for every child that has read on since something was last saved.
"""

import posix

from holdfast.clock import now
from holdfast.core.seen import Seen
from holdfast.core.state import State, parse
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.facts import Facts

_LARGEST_STATE, _LARGEST_FACTS = 16 << 20, 8 << 20
#: So many may read on without getting any further; after so long others are tried.
_TRIES, _FORGOTTEN_MS = 3, 600_000


class Place:
    def __init__(self, home: Home, session: str, agent: str = "") -> None:
        self.session, self.agent = session, agent
        self._parent = home.session(session, agent)
        self.folder = self._parent + "/late"

    # Who reads

    def is_busy(self) -> bool:
        """Whether somebody reads on just now. Asked without taking the lock: a child that is about to
        would find it taken, and end."""
        try:
            fd = posix.open(self.folder + "/lock", posix.O_RDWR | posix.O_CLOEXEC)
        except OSError:
            return False
        try:
            posix.lockf(fd, posix.F_TEST, 0)
        except (BlockingIOError, PermissionError):  # which of them depends on the system
            return True
        finally:
            posix.close(fd)
        return False

    def make(self) -> None:
        files.make_dir(self.folder)

    def lock(self) -> files.Lock:
        """Held, unless another has it (then its `fd` is negative). FileNotFoundError: no such session."""
        held = _Tried(self.folder + "/lock")
        held.attempt()
        return held

    def count(self) -> int:
        """One more reads on; how many did before, since something was last saved. For who has the lock:
        one that found another at it has not failed."""
        before = self._tries()
        self._write_tries(before + 1)
        return before

    def has_failed(self) -> bool:
        """Whether as many as are tried came no further, the last of them a short while ago."""
        return self._tries() >= _TRIES and not self.is_busy()

    def is_wanted(self) -> bool:
        return files.is_there(self._parent)

    def _tries(self) -> int:
        try:
            found = posix.stat(self.folder + "/tries")
        except OSError:
            return 0
        return found.st_size if now() - found.st_mtime * 1000 < _FORGOTTEN_MS else 0

    def _write_tries(self, count: int) -> None:
        files.replace(self.folder + "/tries", b"." * count, durable=False)

    # What was read

    def view(self) -> Seen | None:
        """What the front of the transcript says; None: nothing was read yet, or it cannot be used."""
        path = self.folder + "/state.json"
        try:
            state = parse(files.read(path, _LARGEST_STATE), path)
        except (OSError, Damaged, BadInput):
            return None  # it is read again
        return state.seen if (state.session, state.agent) == (self.session, self.agent) else None

    def facts(self) -> "Facts | None":
        from holdfast.core import facts  # which a hook that only asks who reads does without

        path = self.folder + "/facts.json"
        try:
            return facts.parse(files.read(path, _LARGEST_FACTS), path)
        except (OSError, Damaged, BadInput):
            return None

    def save(self, view: Seen, facts: "Facts") -> None:
        state = State(self.session, self.agent)
        state.seen = view
        files.replace(self.folder + "/state.json", state.render(), durable=False)
        files.replace(self.folder + "/facts.json", facts.render(), durable=False)
        self._write_tries(1)

    def keep(self, facts: str) -> None:
        """Facts that are whole as far as they go, for the child to go on from: the session's get a gap."""
        files.make_dir(self.folder)
        try:
            posix.link(facts, self.folder + "/facts.json")
        except OSError:
            return  # a child was here before, and is further; or it begins at the front

    def clear(self) -> None:
        """It is all in the session's own state and facts now."""
        for name in ("state.json", "facts.json", "tries", "lock"):
            try:
                posix.unlink(f"{self.folder}/{name}")
            except OSError:
                continue
        try:
            posix.rmdir(self.folder)
        except OSError:
            return


class _Tried(files.Lock):
    """One that may not have been had: then there is nothing to wait for, nor to close."""

    __slots__ = ()

    def __enter__(self) -> files.Lock:
        return self

    def __exit__(self, *_: object) -> None:
        if self.fd >= 0:
            self._close()
