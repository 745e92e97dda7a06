"""Whole files replaced, lines appended, locks held: the three ways holdfast writes.

Everything goes through `posix` rather than `os`, whose import costs a quarter of an interpreter
start. Files are 0600 and directories 0700 whatever the umask.
"""

import posix
import time

from holdfast.clock import now, rfc3339
from holdfast.errors import BadInput

_RENEWED, _SYNCED = ".renewed", ".synced"
#: Seconds for which one waits for others that sync: half a second in all.
_WAITS = (0.001, 0.002, 0.004, 0.008, *(0.016,) * 30)
#: So many syncs must have ended since: the first may have begun before.
_ENDED_SINCE = 2
_CREATE = posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW


def make_dir(path: str) -> None:
    """Create a directory and its parents, 0700. Looked for first: mkdir(2) waits for whoever changes the
    one above, also where there is nothing to do."""
    if is_there(path):
        return
    try:
        _mkdir(path)
    except FileNotFoundError:
        parent = path.rpartition("/")[0]
        if not parent:
            raise
        make_dir(parent)
        _mkdir(path)  # once: below a link that leads nowhere, or in /proc, it is refused for ever


def _mkdir(path: str) -> None:
    try:
        posix.mkdir(path, 0o700)
    except FileExistsError:
        return


def read(path: str, most: int) -> bytes:
    """A whole regular file of at most `most` bytes."""
    fd = open_regular(path)
    try:
        return _read_fd(fd, path, most)
    finally:
        posix.close(fd)


def read_head(path: str, size: int) -> bytes:
    """So many bytes of a regular file, or what there is."""
    fd = open_regular(path)
    try:
        return posix.read(fd, size)
    finally:
        posix.close(fd)


def open_regular(path: str) -> int:
    """A file descriptor for reading; anything but a regular file is BadInput (a FIFO never hangs)."""
    fd = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
    kind = posix.fstat(fd).st_mode & 0o170000
    if kind == 0o100000:
        return fd
    posix.close(fd)
    what = "a directory" if kind == 0o040000 else "not a regular file"
    raise BadInput(f"{path} is {what}; name a file")


def _read_fd(fd: int, path: str, most: int) -> bytes:
    size = posix.fstat(fd).st_size
    if size > most:
        raise BadInput(f"{path} has {size} bytes, more than the {most} holdfast reads from it")
    parts, left = [], most  # a file of /proc says its size is 0 and may have no end
    at_once = min(size or 1 << 16, 1 << 20)  # room for more than there is costs time
    while left > 0 and (piece := posix.read(fd, min(left, at_once))):
        parts.append(piece)
        left -= len(piece)
    return b"".join(parts)


def replace(path: str, data: bytes, durable: bool) -> None:
    """Old or new, never half. The caller holds the lock of `path`, so the temporary name is fixed
    and what a killed process left behind is overwritten, not collected."""
    temporary = path + ".tmp"
    fd = posix.open(temporary, posix.O_WRONLY | posix.O_TRUNC | _CREATE, 0o600)
    try:
        _write_all(fd, data)
        if durable:
            posix.fsync(fd)
    finally:
        posix.close(fd)
    posix.rename(temporary, path)
    if durable:
        sync_dir(path.rpartition("/")[0])


def clear_the_way(path: str) -> str:
    """Where a file of ours should be and something else is, or one its owner may not open, that is renamed,
    never deleted. Its new name, or "" if nothing was in the way."""
    try:
        if posix.stat(path, follow_symlinks=False).st_mode & 0o170000 == 0o100000:
            posix.close(posix.open(path, posix.O_RDWR | posix.O_CLOEXEC | posix.O_NOFOLLOW))
            return ""
    except FileNotFoundError:
        return ""
    except PermissionError:
        pass
    return set_aside(path)


def set_aside(path: str) -> str:
    """What cannot be used is evidence. Its new name."""
    new = aside(path)
    posix.rename(path, new)
    return new


def try_aside(path: str) -> str:
    """The same, or "" where nothing can be renamed: then it stays in the way."""
    try:
        return set_aside(path)
    except OSError:
        return ""


def aside(path: str, why: str = "damaged") -> str:
    """The name under which something is kept that cannot stay where it is."""
    return f"{path}.{why}-{rfc3339(now()).replace(':', '')}"


def sync_dir(path: str) -> None:
    fd = posix.open(path, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    try:
        posix.fsync(fd)
    finally:
        posix.close(fd)


def sync_above(path: str, levels: int = 5) -> None:
    """A directory and those it is in, as far as they may be new: whoever made them may have been killed
    before their names were durable. What we may not open, we did not make."""
    sync_dir(path)
    for _ in range(levels - 1):
        path = path.rpartition("/")[0]
        try:
            sync_dir(path or "/")
        except OSError:
            break


def append_line(path: str, line: bytes, rotate_at: int = 1 << 62) -> None:
    """One line, whole or not at all, against any number of other appenders.

    A torn last line was never acknowledged: it is cut off first, so that it cannot swallow ours.
    A file that has reached `rotate_at` is renamed to `path`.1 once this line is in it.
    """
    fd = open_locked(path)
    try:
        end = _cut_torn(fd)
        try:
            _write_all(fd, line + b"\n")
        except OSError:
            posix.ftruncate(fd, end)
            raise
        if end >= rotate_at:
            posix.rename(path, path + ".1")
    finally:
        posix.close(fd)  # also releases the lock


def append_together(path: str, line: bytes) -> int:
    """One line, while others append as well; how large the file was. Appenders need no lock: the kernel
    appends each write whole. What somebody was killed over may stand before ours without an end; ours
    begins on a line of its own then, and readers know a torn one."""
    fd = open_shared(path)
    try:
        return _append(fd, path, line)
    finally:
        posix.close(fd)


def _append(fd: int, path: str, line: bytes) -> int:
    size = posix.fstat(fd).st_size
    torn = size and posix.pread(fd, 1, size - 1) != b"\n"
    data = (b"\n" if torn else b"") + line + b"\n"
    if posix.write(fd, data) != len(data):
        raise OSError(28, "the disk is full", path)
    return size


def append_durably(path: str, line: bytes) -> None:
    """One line, in the same way, that is on the disk when this returns: one sync may do for many."""
    fd = open_shared(path)
    try:
        if not posix.fstat(fd).st_size:  # before the first line: who finds one knows that the name is safe
            sync_above(path.rpartition("/")[0])
        _append(fd, path, line)
        sync_together(fd, path)
        if is_there(path + _RENEWED):  # whoever made it anew was killed before its name was durable
            sync_dir(path.rpartition("/")[0])
            _remove(path + _RENEWED)
    finally:
        posix.close(fd)


def sync_together(fd: int, path: str) -> None:
    """What was written to the file at `path` is on the disk then; of many at once a few do it for all."""
    # Without a block device (over a network) a sync here says nothing of what another machine wrote.
    if not posix.major(posix.fstat(fd).st_dev) or not _sync_in_turns(fd, path):
        posix.fdatasync(fd)


def _sync_in_turns(fd: int, path: str) -> bool:
    """Whether what we wrote is on the disk, by an fdatasync of ours or by another's that began later. They
    are made one at a time: in the middle of many nobody can even append.

    The length of `path`.synced is how many syncs have ended. Who finds another at it, and later two more
    counted, knows: the second began when the first had ended, and that was after it looked. Only what is
    counted while one waits is believed, so whatever a kill or a power cut leaves of the number is as good
    as any other. Nobody depends on another for long: then this is False.
    """
    try:
        turn = posix.open(path + _SYNCED, posix.O_RDWR | _CREATE, 0o600)
    except OSError:  # something is in the way
        return False
    try:
        found = -1
        for wait in _WAITS:
            if 0 <= found <= posix.fstat(turn).st_size - _ENDED_SINCE:
                return is_at(fd, path)
            if _have(turn):
                _sync_and_count(fd, path, turn)
                return True
            if found < 0:
                found = posix.fstat(turn).st_size
            time.sleep(wait)
    finally:
        posix.close(turn)  # also releases the lock
    return False


def _sync_and_count(fd: int, path: str, turn: int) -> None:
    """Counted are syncs of the file that is at `path`, once they have ended. An error the kernel tells each
    who had the file open once; so that all look for themselves, nobody finds the old number again."""
    try:
        posix.fdatasync(fd)
    except OSError:
        _remove(path + _SYNCED)
        raise
    try:
        if is_at(fd, path):
            posix.ftruncate(turn, posix.fstat(turn).st_size + 1)
    except OSError:  # no file, or one that may not grow: all sync for themselves
        pass


def _have(turn: int) -> bool:
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(turn, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def renew(path: str, data: bytes) -> None:
    """Replace a file to which others append durably; the caller has it `open_shared`, alone."""
    posix.close(posix.open(path + _RENEWED, posix.O_WRONLY | _CREATE, 0o600))
    replace(path, data, durable=True)
    _remove(path + _RENEWED)


def is_there(path: str) -> bool:
    try:
        posix.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _remove(path: str) -> None:
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass


def open_shared(path: str, alone: bool = False) -> int:
    """Open, and locked against whoever replaces it, or, `alone`, against everybody else. The lock is
    another kind than `Lock`'s: this one can be shared."""
    while True:
        fd = posix.open(path, posix.O_RDWR | posix.O_APPEND | _CREATE, 0o600)
        try:
            _share(fd, alone)
            if is_at(fd, path):
                return fd
        except BaseException:
            posix.close(fd)
            raise
        posix.close(fd)


def _share(fd: int, alone: bool) -> None:
    from fcntl import LOCK_EX, LOCK_SH, flock  # only where something is saved

    flock(fd, LOCK_EX if alone else LOCK_SH)


def open_locked(path: str) -> int:
    """Open and locked, and still the file at `path`: while one waits for the lock it may be replaced."""
    while True:
        fd = posix.open(path, posix.O_RDWR | posix.O_APPEND | _CREATE, 0o600)
        try:
            posix.lockf(fd, posix.F_LOCK, 0)
            if is_at(fd, path):
                return fd
        except BaseException:
            posix.close(fd)
            raise
        posix.close(fd)


def is_at(fd: int, path: str) -> bool:
    try:
        return posix.fstat(fd).st_ino == posix.stat(path).st_ino
    except FileNotFoundError:
        return False


def _cut_torn(fd: int) -> int:
    end = posix.lseek(fd, 0, 2)
    whole = end
    while whole and posix.pread(fd, 1, whole - 1) != b"\n":
        start = max(0, whole - 4096)
        whole = start + posix.pread(fd, whole - start, start).rfind(b"\n") + 1
    if whole != end:
        posix.ftruncate(fd, whole)
    return whole


def _write_all(fd: int, data: bytes) -> None:
    done = posix.write(fd, data)
    while done < len(data):
        done += posix.write(fd, data[done:])


class Lock:
    """A kernel lock on a file of its own: blocking, released by the kernel when the holder dies.

    `lockf` and not `flock`, because `posix` is already loaded. It is a per-process lock: a process
    must open a lock file through one Lock at a time (closing any descriptor of it releases it).
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1

    def __enter__(self) -> "Lock":
        self.take()
        return self

    def take(self) -> None:
        if self.fd < 0:
            self._take(posix.F_LOCK)

    def attempt(self) -> bool:
        """Take it unless another has it; then it is held until the `with` it is used in ends."""
        try:
            self._take(posix.F_TLOCK)
        except BlockingIOError:
            return False
        return True

    def _take(self, how: int) -> None:
        self.fd = posix.open(self.path, posix.O_RDWR | _CREATE, 0o600)
        try:
            posix.lockf(self.fd, how, 0)
        except BaseException:
            self._close()
            raise

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        posix.close(self.fd)
        self.fd = -1


class Unlocked:
    """In place of a lock where nothing can be written: there is nothing to keep from others."""

    __slots__ = ()

    def __enter__(self) -> "Unlocked":
        return self

    def __exit__(self, *_: object) -> None:
        pass
