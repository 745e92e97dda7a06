"""A config.yaml that has changed is compiled by a process of its own: hooks have no library for YAML, and
nobody waits for one. Loaded only when it has changed.

Each change once, however many hooks see it. Which one was asked for last stands in the lock file.
"""

import posix
import sys

from holdfast.clock import now
from holdfast.core.jsontext import dump
from holdfast.disk import files
from holdfast.disk.compiled import signature
from holdfast.disk.home import Home
from holdfast.errors import BadInput

#: After so long whoever was asked will not have compiled it any more; and then another is asked.
_LATE_MS, _AGAIN_MS = 60_000, 600_000


def look(home: Home, changed: list[int]) -> tuple[bool, str]:
    """(whether somebody has to be asked to compile this change, what to say if it took too long)."""
    try:
        fd = files.open_regular(home.config_lock)
    except (OSError, BadInput):
        return True, ""
    try:
        waited = _waited(fd, changed)
    finally:
        posix.close(fd)
    if waited < _LATE_MS:
        return waited < 0, ""
    late = (
        f"{home.config} has changed and could not be compiled, so that what it said before still holds; "
        "run `holdfast config check`"
    )
    return waited >= _AGAIN_MS, late


def ask(home: Home, environ: dict[str, str], by: str) -> None:
    """`by` is the interpreter that compiled it last; one without our libraries cannot."""
    lock = files.Lock(home.config_lock)
    if not lock.attempt():
        return  # somebody compiles or asks just now; if it was for an older change, the next hook asks
    with lock:
        changed = signature(home.config)
        if 0 <= _waited(lock.fd, changed) < _AGAIN_MS:
            return
        posix.ftruncate(lock.fd, 0)
        posix.pwrite(lock.fd, dump(changed).encode(), 0)
    if not posix.fork():
        try:
            _become(by or sys.executable, home, environ)
        finally:
            posix._exit(0)


def _waited(fd: int, changed: list[int]) -> int:
    """Milliseconds since somebody was asked to compile this change; -1: nobody was."""
    if posix.pread(fd, 256, 0) != dump(changed).encode():
        return -1
    return max(0, now() - posix.fstat(fd).st_mtime_ns // 1_000_000)


def _become(python: str, home: Home, environ: dict[str, str]) -> None:
    """In a session of its own, so that the client does not end it with the hook, and without the hook's
    output, for whose end the client waits. It runs in the project's folder, of which nothing may be
    imported: `-P`, and no variable that leads the interpreter elsewhere."""
    posix.setsid()
    nothing = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(nothing, fd)
    kept = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    kept["HOLDFAST_HOME"] = home.root
    posix.execve(python, [python, "-P", "-m", "holdfast", "config", "compile"], kept)
