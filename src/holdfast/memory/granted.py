"""What the context budget grants the memories that answer a question: as much as it does lines of a brief.

The best answer comes in any case. Then come what is pinned and, in the order of their priorities, the best
of each compartment within its share; what is left is for whatever answers best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.core.budget import (
    ACTIVE,
    AMBIENT,
    BACKGROUND,
    FOR_PINS,
    PREFERENCES,
    SAFETY,
    Budget,
    ident,
)
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, ISSUE, NEXT
from holdfast.core.plain import PER_TOKEN
from holdfast.memory.shelf import Row

_BY_KIND = {
    DECISION: BACKGROUND,
    DEAD_END: BACKGROUND,
    ISSUE: ACTIVE,
    NEXT: ACTIVE,
    "failed": ACTIVE,
    "resolved": AMBIENT,
    "feedback": PREFERENCES,
    "user": PREFERENCES,
    "project": BACKGROUND,
}
_BY_COLLECTION = {"decisions": BACKGROUND, "issues": ACTIVE, "saves": ACTIVE}


def compartment(row: Row) -> str:
    """What it is about, as a brief would have it."""
    if row.origin == "user":
        return SAFETY if row.kind == INSTRUCTION else ACTIVE
    return _BY_KIND.get(row.kind) or _BY_COLLECTION.get(row.collection, AMBIENT)


def told(rows: Sequence[Row], sizes: Sequence[int], budget: Budget, tokens: int, most: int) -> list[int]:
    """Places of those that are told, pinned ones before the rest; `rows` come best first, `sizes` are what
    each takes in characters."""
    pins = {pin.id for pin in budget.pins}
    pinned = [at for at, row in enumerate(rows) if pins and ident(row.text) in pins]
    choice = _Choice(sizes, int(tokens * PER_TOKEN), most)
    choice.take([0] if rows else [], max(sizes, default=0))
    choice.take(pinned, int(tokens * PER_TOKEN * FOR_PINS))
    for name in budget.order:
        those = [at for at, row in enumerate(rows) if compartment(row) == name]
        choice.take(those, min(budget.room(name, tokens), choice.room))
    choice.take(range(len(rows)), choice.room)
    return sorted(choice.taken, key=lambda at: (at not in pinned, at))


class _Choice:
    def __init__(self, sizes: Sequence[int], room: int, most: int) -> None:
        self.room = room
        self.taken: list[int] = []
        self._sizes = sizes
        self._most = most

    def take(self, those: Iterable[int], room: int) -> None:
        """Of these, the first that fit into so much of the room."""
        for at in those:
            if len(self.taken) < self._most and at not in self.taken and self._sizes[at] <= room:
                self.taken.append(at)
                self.room -= self._sizes[at]
                room -= self._sizes[at]
