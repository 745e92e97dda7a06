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
import signal
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.errors import Unavailable

#: Of Linux; without them the order is left to chance.
_WAIT, _TRY = getattr(fcntl, "F_OFD_SETLKW", 0), getattr(fcntl, "F_OFD_SETLK", 0)
_FLOCK = "hhqqi4x"  # struct flock: kind, from where, start, length, process
_LAST = 1 << 62  # whatever the file says
_DOOR = 0  # the byte that is held while a number is drawn


@contextmanager
def turn(path: str, patience_s: float) -> Iterator[None]:
    """Between threads as well: each holds the lock through a description of its own."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        number = _drawn(fd) if _WAIT else 0
        if not _is_free(fd, number) and not _waited(fd, number, patience_s):
            raise Unavailable(
                f"{path} has been held for {patience_s:g} seconds, by a process that was stopped? "
                f"`fuser -v {path}` names who has it open"
            )
        yield
    finally:
        os.close(fd)  # also releases all locks


def _drawn(fd: int) -> int:
    _lock(fd, _WAIT, fcntl.F_WRLCK, _DOOR)
    number = int.from_bytes(os.pread(fd, 8, 0), "little") % _LAST + 1
    _lock(fd, _WAIT, fcntl.F_WRLCK, number)
    os.pwrite(fd, number.to_bytes(8, "little"), 0)
    _lock(fd, _WAIT, fcntl.F_UNLCK, _DOOR)
    return number


def _is_free(fd: int, number: int) -> bool:
    try:
        if number > 1:
            _lock(fd, _TRY, fcntl.F_RDLCK, 1, number - 1)
            _lock(fd, _TRY, fcntl.F_UNLCK, 1, number - 1)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(fd: int, number: int) -> None:
    if number > 1:
        _lock(fd, _WAIT, fcntl.F_RDLCK, number - 1)
        if number > 2:
            _lock(fd, _WAIT, fcntl.F_RDLCK, 1, number - 2)
        _lock(fd, _WAIT, fcntl.F_UNLCK, 1, number - 1)
    fcntl.flock(fd, fcntl.LOCK_EX)


def _lock(fd: int, how: int, kind: int, start: int, length: int = 1) -> None:
    fcntl.fcntl(fd, how, struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0))


class _Late(BaseException):
    """The alarm rang."""


def _waited(fd: int, number: int, seconds: float) -> bool:
    """Whether it came in time. A wait in the kernel is ended by a signal, which only the main thread can be
    sent, and only where nobody else uses that one. Others wait through another thread, which costs a busy
    machine several times as much."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGALRM) != signal.SIG_DFL
        or signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
    ):
        return _waited_elsewhere(fd, number, seconds)

    def ring(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        _wait(fd, number)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _Late:
        return False
    finally:  # also after Ctrl-C: an alarm that rings later would end the process
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return True


def _waited_elsewhere(fd: int, number: int, seconds: float) -> bool:
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
