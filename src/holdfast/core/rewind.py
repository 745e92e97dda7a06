"""Going back in a session: what a rewind leaves behind, as byte ranges of the transcript.

A second prompt under one parent means that the first, and all that followed it, is no longer part of
the session. Only prompts tell: results, attachments and progress branch all the time.
"""

from holdfast.core.seen import fingerprint
from holdfast.core.transcript import Entry


def branch(entry: Entry) -> int:
    """What two prompts have in common if the second replaces the first: parent and session. Without a
    parent a prompt begins the session it names; a fork has its parent's prompts under another name."""
    named = entry.parent or entry.session
    return fingerprint(f"{entry.parent} {entry.session}" if named else str(entry.offset))


def joined(ranges: list, start: int, end: int) -> list:
    """`ranges`, sorted and apart, with one more: what it touches becomes part of it."""
    before, after = [], []
    for dead in ranges:
        if dead[1] < start:
            before.append(dead)
        elif dead[0] > end:
            after.append(dead)
        else:
            start, end = min(start, dead[0]), max(end, dead[1])
    return [*before, [start, end], *after]


class Rewinds:
    """All that was abandoned in a file, found in one pass over its prompts."""

    def __init__(self) -> None:
        self.dead: list = []
        self._first: dict = {}  # branch -> offset of its prompt
        self._order: list = []  # branches, oldest first

    def take(self, entry: Entry) -> None:
        if entry.kind not in ("prompt", "note"):
            return
        here, own = entry.offset, branch(entry)
        began = self._first.get(own)
        if began is not None:
            while self._order and self._first[self._order[-1]] >= began:
                del self._first[self._order.pop()]
            while self.dead and self.dead[-1][0] >= began:
                self.dead.pop()
            if self.dead and self.dead[-1][1] >= began:
                began = self.dead.pop()[0]
            self.dead.append([began, here])
        self._first[own] = here
        self._order.append(own)
