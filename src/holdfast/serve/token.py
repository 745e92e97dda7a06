"""The token of the service: home/token, which only its owner may read. Whoever can read it is this user."""

from __future__ import annotations

import errno
import os
import secrets
import stat

from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

_SHORTEST, _LONGEST = 32, 4096


def kept(home: Home) -> str:
    """The token; made at the first start. The caller has the lock of the service."""
    path = home.root + "/token"
    if not os.path.lexists(path):
        _make(path)
    return read(path)


def _make(path: str) -> None:
    """Whole or not at all, and never over another."""
    temporary = path + ".tmp"
    files.replace(temporary, secrets.token_urlsafe(32).encode() + b"\n", durable=True)
    os.link(temporary, path)
    os.unlink(temporary)
    files.sync_dir(os.path.dirname(path))


def read(path: str) -> str:
    """What stands in it; BadInput where others could know it too, or nobody could."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise _refused(path, "is a link") from None
        raise
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise _refused(path, "is not a file")
        if state.st_uid != os.geteuid():
            raise _refused(path, f"belongs to another user ({state.st_uid})")
        if state.st_mode & 0o077:
            raise _refused(path, f"can be read by others (its mode is {state.st_mode & 0o777:04o})")
        words = os.read(fd, _LONGEST + 1).decode("ascii", "replace").strip()
    finally:
        os.close(fd)
    if not _SHORTEST <= len(words) <= _LONGEST or not words.isprintable() or not words.isascii():
        raise _refused(path, f"holds no token: one has at least {_SHORTEST} letters and digits")
    if " " in words:
        raise _refused(path, "holds more than one word")
    return words


def _refused(path: str, what: str) -> BadInput:
    return BadInput(
        f"{path} {what}; remove it, and the next start makes a new one (the service did not start)"
    )
