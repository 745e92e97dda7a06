"""The trail as it grows: what was appended since, also when the file has been rotated in between."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from holdfast.core.jsontext import UNREADABLE, load
from holdfast.disk.home import Home

#: Read at a time.
_MOST = 1 << 18


class Place(NamedTuple):
    """Behind a line: in which file, and how far into it. As text it is the id of an event."""

    inode: int
    offset: int

    def __str__(self) -> str:
        return f"{self.inode:x}-{self.offset:x}"

    @classmethod
    def parse(cls, text: str) -> Place | None:
        inode, _, offset = text.partition("-")
        try:
            place = cls(int(inode, 16), int(offset, 16))
        except ValueError:
            return None
        return place if 0 <= place.inode < 1 << 64 and 0 <= place.offset < 1 << 62 else None


class Tail:
    """`after`: goes on behind that place, and where its file is gone, at the oldest line there is. Without:
    at the end."""

    def __init__(self, home: Home, after: Place | None = None) -> None:
        self.path = home.trail
        self.fd, self.inode, self.offset = -1, 0, 0
        if after is None:
            self._open(self.path)
            self.offset = os.fstat(self.fd).st_size if self.fd >= 0 else 0
            return
        for path in (
            self.path,
            self.path + ".1",
        ):  # where neither is the one: the older, from its beginning
            if self._open(path) and self.inode == after.inode:
                size = os.fstat(self.fd).st_size
                self.offset = after.offset if after.offset <= size else 0
                return

    def read(self) -> list[tuple[Place, dict[str, Any]]]:
        """New notes, each with the place behind it; [] when there is none."""
        rotated = self._is_rotated()  # asked first: a file that has been renamed grows no more
        found = self._notes() if self.fd >= 0 else []
        if not found and rotated and self._open(self.path):
            found = self._notes()
        return found

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _open(self, path: str) -> bool:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self.close()
        self.fd, self.inode, self.offset = fd, os.fstat(fd).st_ino, 0
        return True

    def _is_rotated(self) -> bool:
        try:
            return os.stat(self.path).st_ino != self.inode
        except FileNotFoundError:
            return False

    def _notes(self) -> list[tuple[Place, dict[str, Any]]]:
        data = os.pread(self.fd, _MOST, self.offset)
        found = []
        for raw in data.split(b"\n")[:-1]:  # behind the last one a line may be half written
            self.offset += len(raw) + 1
            try:
                note = load(raw.decode("utf-8", "replace"))
            except UNREADABLE:
                continue
            if isinstance(note, dict):
                found.append((Place(self.inode, self.offset), note))
        if len(data) == _MOST and b"\n" not in data:  # no note is as long
            self.offset += _MOST
        return found
