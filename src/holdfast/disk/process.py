"""Whether the process of a client still runs."""

import posix
import time


def is_gone(process: int, last_at: int) -> bool:
    """Whether the client is. A number may be given to another process: one that began later is another."""
    if not process:
        return False
    try:
        fd = posix.open(f"/proc/{process}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            began = int(posix.read(fd, 4096).rpartition(b")")[2].split()[19])
        finally:
            posix.close(fd)
    except (FileNotFoundError, ProcessLookupError):
        return _has_proc() or not _answers(process)
    except (OSError, ValueError, IndexError):
        return False
    up = _boot_ms() + began * 1000 // posix.sysconf("SC_CLK_TCK")
    return last_at > 0 and up > last_at + 60_000


def _has_proc() -> bool:
    try:
        posix.stat("/proc/self")
    except OSError:
        return False
    return True


def _answers(process: int) -> bool:
    """Where there is no /proc."""
    try:
        posix.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot_ms() -> int:
    """When the machine was started, by the clock as it is now."""
    return int((time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)) * 1000)
