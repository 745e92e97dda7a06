"""Sessions and checkpoints that deep memory has to look at: memory-spool.jsonl in home, a line each.

Hooks only append, when something worth remembering was written: a checkpoint, a summary, a session's end.
Whoever looks next takes all of it in and then removes what was taken. Lines only say where to look: one
that is taken twice does no harm, and what was lost is found by `holdfast memory rebuild`.
"""

import posix

from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

VERSION = 1
#: Nobody has come for so much: then everything is looked at anyway.
MOST = 1 << 20
_TAKEN = ".taken"


def note(home: Home, session: str, agent: str = "", checkpoint: str = "") -> None:
    """It may be lost, and costs nothing else: files are the truth."""
    said = {
        "v": VERSION,
        "at": rfc3339(now()),
        "session": session,
        "agent": agent,
        "checkpoint": checkpoint,
    }
    try:
        if size(home) < MOST:
            files.append_line(home.noted, dump(said).encode())
    except (OSError, BadInput):
        pass


def size(home: Home) -> int:
    """Bytes that wait."""
    found = 0
    for path in (home.noted, home.noted + _TAKEN):
        try:
            found += posix.stat(path).st_size
        except FileNotFoundError:
            pass
    return found


def taken(home: Home) -> list[dict]:
    """All that waits, and what somebody was killed over. It stays until `done`; the caller is alone."""
    if not files.is_there(home.noted + _TAKEN) and files.is_there(home.noted):
        fd = files.open_locked(home.noted)  # nobody is in the middle of a line
        try:
            posix.rename(home.noted, home.noted + _TAKEN)
        finally:
            posix.close(fd)
    try:
        lines = files.read(home.noted + _TAKEN, 4 * MOST).split(b"\n")
    except FileNotFoundError:
        return []
    return [said for line in lines if (said := _read(line))]


def _read(line: bytes) -> dict | None:
    try:
        said = load(line.decode())
    except UNREADABLE:
        return None
    texts = ("session", "agent", "checkpoint")
    is_ours = (
        type(said) is dict and said.get("v") == VERSION and all(type(said.get(one)) is str for one in texts)
    )
    return said if is_ours else None  # type: ignore[return-value]


def done(home: Home) -> None:
    try:
        posix.unlink(home.noted + _TAKEN)
    except FileNotFoundError:
        pass
