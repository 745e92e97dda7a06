"""A file replaced only if it still holds what was read: compare and swap, between any number of writers.

The client rewrites its settings whenever it likes and knows nothing of our lock. Comparing and then
renaming would leave a moment in between in which its write is lost. Where the kernel can exchange two
names in one step (Linux, `renameat2`), we look at what came out, and give back what was not expected.
Elsewhere the moment remains; it lasts microseconds.
"""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress

from holdfast.disk import files

LARGEST = 4 << 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_AT_FDCWD, _EXCHANGE = -100, 2


def current(path: str) -> bytes | None:
    try:
        return files.read(path, LARGEST)
    except FileNotFoundError:
        return None


def put(path: str, expected: bytes | None, new: bytes | None, temporary: str, mode: int = 0o600) -> bool:
    """Whether `path` held `expected` and holds `new` now; None stands for no file. A file keeps its
    mode and owner, a new one has `mode`. The caller holds a lock under which `temporary` is its alone."""
    if new is None:
        return _remove(path, expected, temporary)
    try:
        _write(temporary, new, None if expected is None else os.stat(path), mode)
        if expected is None:
            done = _create(temporary, path)
        else:
            done = current(path) == expected and _swap(temporary, path, expected, new)
    except FileNotFoundError:
        if expected is None or os.path.exists(path):
            raise
        done = False  # removed by someone since it was read
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    files.sync_dir(os.path.dirname(path))
    return done


def _write(path: str, data: bytes, like: os.stat_result | None, mode: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # left by a process that was killed
    fd = os.open(path, _CREATE, 0o600)
    try:
        if like and (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(fd, like.st_uid, like.st_gid)
        os.fchmod(fd, like.st_mode & 0o7777 if like else mode)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove(path: str, expected: bytes | None, temporary: str) -> bool:
    """Moved aside first and looked at then: what someone wrote at the last moment is put back."""
    os.rename(path, temporary)
    done = current(temporary) == expected
    if not done:
        _create(temporary, path)
    os.unlink(temporary)
    files.sync_dir(os.path.dirname(path))
    return done


def _create(temporary: str, path: str) -> bool:
    try:
        os.link(temporary, path)  # unlike rename, never over a file that appeared meanwhile
    except FileExistsError:
        return False
    return True


def _swap(temporary: str, path: str, expected: bytes, new: bytes) -> bool:
    """Exchange until what came out is what we last knew to be there. Usually that is once. If someone
    wrote between our look and the exchange, theirs came out: it goes back, and we have done nothing."""
    held = new
    while exchange(temporary, path):
        out = current(temporary)
        if out == expected:
            return held is new
        assert out is not None  # exchanged a moment ago; its name is ours alone
        held, expected = out, held
    os.rename(temporary, path)
    return held is new


def exchange(one: str, other: str) -> bool:
    """Two files change names in one step; False where kernel, libc or file system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), one, None, other)
