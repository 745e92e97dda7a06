"""A lock that is given in the order in which it was asked for; when its holder dies the kernel frees it.

Where many wait for a kernel lock, whoever happens to run when it comes free gets it, and some wait for
seconds. So everybody draws a number first, and waits for the one before: for a lock on one byte of the file
that nobody else waits for. The numbers only bring order; what excludes is the lock on the whole file. A
holder, or one who waits, may be killed at any moment: its byte is free then, and who waited for it goes on
to wait for all before it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from holdfast.errors import Unavailable

if TYPE_CHECKING:
    from signal import ITIMER_REAL, SIG_DFL, SIGALRM, getitimer, getsignal, setitimer, signal
else:  # `signal` makes three times as much of them, while others wait
    from _signal import ITIMER_REAL, SIG_DFL, SIGALRM, getitimer, getsignal, setitimer, signal

#: Of Linux; without them the order is left to chance.
WAIT, TRY = getattr(fcntl, "F_OFD_SETLKW", 0), getattr(fcntl, "F_OFD_SETLK", 0)
_FLOCK = "hhqqi4x"  # struct flock: kind, from where, start, length, process
_LAST = 1 << 62  # whatever the file says
_DOOR = 0  # the byte that is held while a number is drawn
_LOOKED = 8  # where it stands, behind the number, when something was last done for all
#: From here on the bytes of the file are not ours: neither those that are locked nor those that are there.
BEYOND, BEHIND = _LAST + 1, 24


@contextmanager
def turn(path: str, patience_s: float) -> Iterator[None]:
    """Between threads as well: each holds the lock through a description of its own."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        number = _drawn_at_once(fd)
        if (number is None or not _is_free(fd, number)) and not _waited(fd, number, patience_s):
            raise Unavailable(
                f"{path} has been held for {patience_s:g} seconds, by a process that was stopped? "
                f"`fuser -v {path}` names who has it open"
            )
        yield
    finally:
        os.close(fd)  # also releases all locks


def is_first(path: str, at: int, within: int, who: bytes) -> bool:
    """Whether none of `who` (eight bytes) that shares this lock has asked so lately, by a clock that they
    share: of what is to be done for all now and then, one does it. Two who ask in the same moment may both
    be told so, and what else may stand in the file says nothing."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        said = os.pread(fd, 16, _LOOKED)
        if said[8:] == who and 0 <= at - int.from_bytes(said[:8], "little") < within:
            return False
        os.pwrite(fd, at.to_bytes(8, "little") + who, _LOOKED)
        return True
    finally:
        os.close(fd)


def _drawn_at_once(fd: int) -> int | None:
    """None: somebody is at the door, who may have been stopped there. 0: there is no order."""
    try:
        return _drawn(fd, TRY) if TRY else 0
    except BlockingIOError:
        return None


def _drawn(fd: int, how: int) -> int:
    lock(fd, how, fcntl.F_WRLCK, _DOOR)
    number = int.from_bytes(os.pread(fd, 8, 0), "little") % _LAST + 1
    lock(fd, how, fcntl.F_WRLCK, number)
    os.pwrite(fd, number.to_bytes(8, "little"), 0)
    lock(fd, WAIT, fcntl.F_UNLCK, _DOOR)
    return number


def _is_free(fd: int, number: int) -> bool:
    try:
        if number > 1:
            lock(fd, TRY, fcntl.F_RDLCK, 1, number - 1)
            lock(fd, TRY, fcntl.F_UNLCK, 1, number - 1)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(fd: int, number: int | None) -> None:
    if number is None:
        number = _drawn(fd, WAIT)
    if number > 1:
        lock(fd, WAIT, fcntl.F_RDLCK, number - 1)
        if number > 2:
            lock(fd, WAIT, fcntl.F_RDLCK, 1, number - 2)
        lock(fd, WAIT, fcntl.F_UNLCK, 1, number - 1)
    fcntl.flock(fd, fcntl.LOCK_EX)


def lock(fd: int, how: int, kind: int, start: int, length: int = 1) -> None:
    """Of so many bytes of the file, by the kernel; it is its holder's description's, not its process's."""
    fcntl.fcntl(fd, how, struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0))


class _Late(BaseException):
    """The alarm rang."""


def _waited(fd: int, number: int | None, seconds: float) -> bool:
    """Whether it came in time. Who cannot be interrupted waits through another thread, which costs a busy
    machine several times as much."""
    if not can_ring():
        return _waited_elsewhere(fd, number, seconds)
    return in_time(seconds, partial(_wait, fd, number))


def can_ring() -> bool:
    """A wait in the kernel is ended by a signal, which only the main thread can be sent, and only where
    nobody else uses that one."""
    return (
        threading.current_thread() is threading.main_thread()
        and getsignal(SIGALRM) == SIG_DFL
        and getitimer(ITIMER_REAL) == (0.0, 0.0)
    )


def in_time(seconds: float, wait: Callable[[], None]) -> bool:
    """Whether it came to an end; where one `can_ring`."""

    def ring(*_: object) -> None:
        raise _Late

    signal(SIGALRM, ring)
    try:
        setitimer(ITIMER_REAL, seconds)
        wait()
        setitimer(ITIMER_REAL, 0)
    except _Late:
        return False
    finally:  # also after Ctrl-C: an alarm that rings later would end the process
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, SIG_DFL)
    return True


def _waited_elsewhere(fd: int, number: int | None, seconds: float) -> bool:
    """In a thread with a descriptor of its own. When nobody wants the lock any more, that is the last one,
    and the lock is free again as soon as it was got."""
    own, has_it = os.dup(fd), threading.Event()

    def waiting() -> None:
        try:
            _wait(own, number)
            has_it.set()
        finally:
            os.close(own)

    threading.Thread(target=waiting, daemon=True).start()
    return has_it.wait(seconds)
