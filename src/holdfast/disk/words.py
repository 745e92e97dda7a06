"""The words at a place of a transcript. State keeps places, never text: whoever needs what was said
reads it here, within a bound, and redacts it before anything else happens to it."""

import posix

from holdfast.core.lines import LONGEST, Account, records
from holdfast.disk import files
from holdfast.errors import BadInput

#: Read in all for one checkpoint. Parsing 1 MB takes a hook about one start of the interpreter.
_MOST = 3 << 20


class Words:
    """Without a transcript, or where it cannot be read, nobody said anything. `trouble`: why not, where
    there is something."""

    __slots__ = ("_fd", "_left", "_read", "trouble")

    def __init__(self, path: str, most: int = _MOST) -> None:
        self.trouble = ""
        self._left = most
        self._read: dict[int, list] = {}
        try:
            self._fd = files.open_regular(path) if path else -1
        except (OSError, ValueError, BadInput):
            self._fd = -1

    def __call__(self, offset: int, length: int) -> list:
        """The records of the line at `offset`: one, or what could be salvaged of a damaged one."""
        found = self._read.get(offset)
        if found is None:
            found = self._read[offset] = self._records(offset, length)
        return found

    def _records(self, offset: int, length: int) -> list:
        if self._fd < 0 or not 0 < length <= min(self._left, LONGEST):
            return []
        self._left -= length
        try:
            data = posix.pread(self._fd, length, offset)
        except OSError as problem:  # a disk that fails in places; the rest is still worth saving
            self.trouble = f"{type(problem).__name__}: {problem.strerror}"
            return []
        return records(data, Account())

    def close(self) -> None:
        if self._fd >= 0:
            posix.close(self._fd)
            self._fd = -1
