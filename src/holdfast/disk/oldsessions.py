"""What is known of sessions that were over long ago, removed: their transcript is gone, so that nobody goes
on with them; no checkpoint that is still there is theirs, and they owe none."""

import posix

from holdfast.disk import files, index, sessions
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

_DAY_MS = 24 * 3600 * 1000
_MONTH = 30
#: Removed at a time: somebody's disk may be slow.
_MOST = 16
#: Before the name of a folder that is being removed, which makes it none of a session.
_GOING = ".going-"


def prune(home: Home, now: int, days: int) -> list[str]:
    """The ids of those that are removed. None is where no session was at work the day before, or in the
    weeks before that: a clock may just have leapt."""
    _finish(home)
    at = {name: _worked(f"{home.sessions}/{name}") for name in sessions.names(home)}
    old = sorted((when, name) for name, when in at.items() if 0 < when < now - days * _DAY_MS)
    if not old or not any(now - _MONTH * _DAY_MS < when < now - _DAY_MS for when in at.values()):
        return []
    named = {entry["session_id"] for entry in index.load_all(home).entries.values()}
    gone: list[str] = []
    for _, name in old:
        if len(gone) == _MOST:
            break
        if name not in named and _may_go(home, name) and _remove(home, name):
            gone.append(name)
    return gone


def _worked(folder: str) -> int:
    """When its state changed last; 0 for what is no folder, or has none."""
    try:
        if posix.lstat(folder).st_mode & 0o170000 != 0o040000:
            return 0
        return posix.lstat(folder + "/state.json").st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _may_go(home: Home, name: str) -> bool:
    """What cannot be read is kept: `status` tells of it."""
    try:
        state = sessions.peek(home, name)
        if state is None or state.heard.owed or sessions.owing(home, name):
            return False
        return not (state.heard.transcript and files.is_there(state.heard.transcript))
    except (OSError, ValueError, BadInput, Damaged):  # ValueError: a path with a NUL
        return False


def _remove(home: Home, name: str) -> bool:
    folder, going = f"{home.sessions}/{name}", f"{home.sessions}/{_GOING}{name}"
    lock = sessions.lock(folder)
    if not lock.attempt():
        return False  # it has come back this very moment
    with lock:
        try:
            posix.rename(folder, going)  # whole or not at all: killed after this, the next one finishes
        except OSError:
            return False
    _clear(going)
    return True


def _finish(home: Home) -> None:
    try:
        names = posix.listdir(home.sessions)
    except OSError:
        return
    for name in names:
        if name.startswith(_GOING):
            _clear(f"{home.sessions}/{name}")


def _clear(folder: str) -> None:
    """No link is followed."""
    try:
        with posix.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                _clear(entry.path)
            else:
                posix.unlink(entry.path)
        posix.rmdir(folder)
    except OSError:
        pass  # another is at it, or may next time
