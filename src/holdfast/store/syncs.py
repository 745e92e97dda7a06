"""One sync of a file does for all who have written to it before, and each of them is woken once: when it is
over.

Syncs are counted: in the file of a lock stands which has begun last, and which has ended last. Whoever has
written belongs to the one after the last that has begun. The first of those leads it: it holds a lock on
that sync's byte until all is on the disk, and waits before it begins until the one before is over. All
others wait for that byte. A leader may be killed, stopped or told of an error at any moment: then its sync
is not counted, and all who depended on it sync for themselves. What is believed is only what was counted
while one waited; whatever else the file may say costs a sync of one's own, and nothing more.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from functools import partial

from holdfast.disk import files
from holdfast.store.turns import BEHIND, BEYOND, TRY, WAIT, can_ring, in_time, lock

#: Seconds for which one depends on others.
_PATIENCE_S = 0.5
_NUMBER = struct.Struct("<Q")
_BEGUN, _ENDED = BEHIND, BEHIND + _NUMBER.size
_MOST = 1 << 60
_DOOR = BEYOND + _MOST  # the byte that is held while it is written which has begun


def sync(fd: int, path: str, numbers: str) -> None:
    """What was written to the file at `path`, open as `fd`, is on the disk then. `numbers` is the file of a
    lock. Who cannot wait in the kernel does it in the other way, which needs none of this; so does who is
    not at a disk of this machine: others of it know nothing of what another machine wrote."""
    if not WAIT or not os.major(os.fstat(fd).st_dev) or not can_ring():
        files.sync_together(fd, path)
        return
    try:
        own = os.open(numbers, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:  # what was written is there all the same
        os.fdatasync(fd)
        return
    try:
        _together(fd, path, own)
    finally:
        os.close(own)  # also releases all locks


def _together(fd: int, path: str, own: int) -> None:
    """Only what the sync itself says is an error: it says so once, and another after it would say nothing.
    Whatever else fails costs a sync of one's own."""
    mine, leads = 0, False
    with suppress(OSError):
        mine = _joined(own)
        leads = mine > 0 and _leads(own, mine)
        if mine and not leads and _is_over(own, mine) and files.is_at(fd, path):
            return
    os.fdatasync(fd)
    with suppress(OSError):
        if leads and files.is_at(fd, path):  # not one of a file that nobody else means
            _end(own, mine)


def _joined(own: int) -> int:
    """The sync that one belongs to; 0 if the file is not believed. What has ended is read first: others may
    begin and end theirs in between."""
    ended = _read(own, _ENDED)
    mine = _read(own, _BEGUN) + 1
    if ended < mine < _MOST:
        return mine
    _write(own, _BEGUN, 0)  # nobody has written that
    _write(own, _ENDED, 0)
    return 0


def _leads(own: int, mine: int) -> bool:
    """Whether it is for oneself to do it; else it is over, or will not be soon."""
    try:
        lock(own, TRY, fcntl.F_WRLCK, BEYOND + mine)
    except BlockingIOError:
        if not in_time(_PATIENCE_S, partial(_pass, own, WAIT, BEYOND + mine)):
            _begin(own, mine)  # its leader was stopped: who comes now belongs to the next
        return False
    if _read(own, _BEGUN) >= mine:
        return False
    try:
        _pass(own, TRY, BEYOND + mine - 1)
    except BlockingIOError:  # only so that those who come meanwhile belong to ours as well
        in_time(_PATIENCE_S, partial(_pass, own, WAIT, BEYOND + mine - 1))
    return _begin(own, mine)


def _begin(own: int, mine: int) -> bool:
    """Whether it had not begun, and has now. One at a time looks and writes, and who was stopped in between
    lets nobody else: the number never goes back."""
    try:
        lock(own, TRY, fcntl.F_WRLCK, _DOOR)
    except BlockingIOError:
        return False
    if is_new := _read(own, _BEGUN) < mine:
        _write(own, _BEGUN, mine)
    lock(own, TRY, fcntl.F_UNLCK, _DOOR)
    return is_new


def _end(own: int, mine: int) -> None:
    if _read(own, _BEGUN) == mine:  # not one that took so long that another went ahead
        _write(own, _ENDED, mine)


def _is_over(own: int, mine: int) -> bool:
    """None that ended without having begun: the file was damaged, and somebody began anew."""
    ended = _read(own, _ENDED)
    return mine <= ended <= _read(own, _BEGUN)


def _pass(own: int, how: int, byte: int) -> None:
    """Where nobody holds it, or not any more."""
    lock(own, how, fcntl.F_RDLCK, byte)
    lock(own, how, fcntl.F_UNLCK, byte)


def _read(own: int, where: int) -> int:
    return int.from_bytes(os.pread(own, _NUMBER.size, where), "little")


def _write(own: int, where: int, number: int) -> None:
    os.pwrite(own, _NUMBER.pack(number), where)
