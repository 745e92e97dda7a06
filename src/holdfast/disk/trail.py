"""holdfast's own diagnostics and audit events: home/events.jsonl, one object a line.

Notes carry ids, counts and places in our code, never text of a session. Writing one must not
fail the caller: a trail that cannot be written is found by `status`, which tries the disk itself.
"""

import posix

from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files
from holdfast.disk.home import Home

VERSION = 1
#: Rotated beyond this size; one older file is kept beside it.
LARGEST = 4 << 20


def note(home: Home, event: str, **data: object) -> bool:
    """Append one event. False when it could not be written."""
    said = {"v": VERSION, "at": rfc3339(now()), "event": event, **data}
    try:
        files.make_dir(home.root)
        files.append_line(home.trail, dump(said).encode(), rotate_at=LARGEST)
    except OSError:
        return False
    if files.is_there(home.outbox):
        from holdfast.disk import outbox  # only in a team

        outbox.put(home, outbox.EVENT, said)
    return True


def recent(home: Home, most: int = 1 << 18) -> list[dict]:
    """The newest notes, oldest first, from the last `most` bytes."""
    try:
        fd = files.open_regular(home.trail)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        size = posix.fstat(fd).st_size
        data = posix.pread(fd, most, max(0, size - most))
    finally:
        posix.close(fd)
    notes = []
    for raw in data.split(b"\n"):
        try:
            value = load(raw.decode("utf-8", "replace"))
        except UNREADABLE:
            continue
        if type(value) is dict:
            notes.append(value)
    return notes
