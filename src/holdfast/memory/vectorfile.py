"""memory.db.vectors: the vectors of a memory.db laid out as they are compared, for every process to map.

A cache of a cache: one that is missing, strange, of another database or in doubt is made anew. It is
changed under the lock of memory.db alone. Rows are added behind the last and cleared where they stand, but
never moved, so whoever has it mapped goes on reading; one that is cleared has no id and is near to nothing.
Standard library only: whoever takes a memory away need not have what compares them.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

from holdfast.core.seen import checksum

VERSION = 1
END = ".vectors"
#: Bytes that the head has, whatever it says.
HEAD = 4096
_BEGINS = b'{"v":%d,"sum":' % VERSION
#: Not in step with anything: somebody was killed while they took a row away.
IN_DOUBT = -1
_SCOPES = 3


@dataclass(frozen=True)
class Head:
    """Which database it belongs to and up to which `change` of its vectors; of which model and size; and
    that `count` of `room` rows are filled. `components`: by so many they are compared first; 0: whole."""

    database: int
    change: int
    model: str
    size: int
    room: int
    count: int
    components: int

    @property
    def widths(self) -> dict[str, int]:
        """Bytes that one row has in each part of the file, in their order."""
        return {"ids": 8, "scopes": 8 * _SCOPES, "whole": 2 * self.size, "part": 4 * self.components}

    @property
    def axes(self) -> int:
        """Where the rows begin, behind the axes of the components."""
        return HEAD + 4 * self.size * self.components

    def place(self, part: str) -> int:
        at = self.axes
        for name, width in self.widths.items():
            if name == part:
                return at
            at += width * self.room
        return at

    @property
    def total(self) -> int:
        return self.place("the end")

    def packed(self) -> bytes:
        rest = json.dumps(asdict(self))[1:].encode()
        return (b"%s%d,%s" % (_BEGINS, checksum(rest), rest)).ljust(HEAD)


def unpacked(data: bytes) -> Head | None:
    data = data.rstrip(b" ")
    written, _, rest = data.removeprefix(_BEGINS).partition(b",")
    if not data.startswith(_BEGINS) or written != b"%d" % checksum(rest):
        return None
    return Head(**json.loads(b"{" + rest))


def head_of(fd: int) -> Head | None:
    """None for what is not a whole file of ours."""
    head = unpacked(os.pread(fd, HEAD, 0))
    return head if head and os.fstat(fd).st_size == head.total else None


def write(fd: int, data: bytes, at: int) -> None:
    """All of it: a disk may take a part when it is full."""
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], at + done)


@contextmanager
def opened(path: str, flags: int) -> Iterator[int]:
    """FileNotFoundError where there is none."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def without(path: str, ids: Iterable[int]) -> Iterator[None]:
    """Around the commit that takes these vectors away: they are gone from here before it. Whoever is killed
    or refused in between leaves a file in doubt, which is made anew."""
    gone = frozenset(ids)
    if gone:
        remove(path + ".tmp")  # of one that was killed while it made the file
    if not gone or not os.path.exists(path):
        yield
        return
    with opened(path, os.O_RDWR) as fd:
        head = head_of(fd)
        if head is None:
            remove(path)
            yield
            return
        write(fd, replace(head, change=IN_DOUBT).packed(), 0)
        _clear(fd, head, gone)
        os.fdatasync(fd)
        yield
        settle(path.removesuffix(END))
        write(fd, head.packed(), 0)


def _clear(fd: int, head: Head, gone: frozenset[int]) -> None:
    ids = array("q", os.pread(fd, head.widths["ids"] * head.room, head.place("ids")))
    for at, one in enumerate(ids):
        if one in gone:
            for part, width in head.widths.items():
                write(fd, bytes(width), head.place(part) + at * width)


def settle(database: str) -> None:
    """A power cut must not take back a change that the head says is in the file."""
    with suppress(FileNotFoundError), opened(database + "-wal", os.O_RDONLY) as fd:
        os.fdatasync(fd)


def remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
