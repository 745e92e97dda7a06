"""A session that compacts again and again: whether that is so. Every hook may ask: the state is enough.

The client gives up when the window is full again within three turns of a compaction, three times in a row.
This is so one compaction earlier, while there is still time to say what fills the window (`culprit`).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.state import State

#: So many compactions that nobody asked for, within so many turns. The client's own breaker trips when a
#: fourth is due and the three before it lie within four turns. In 57 real sessions a window lasts at least
#: 19 turns, mostly about a hundred, and no three compactions lie within less than 150.
COMPACTIONS, TURNS = 3, 10
#: Triggers of compactions that say nothing of how fast the window fills.
_NOT_FULL = ("manual", "idle")


class Burst:
    """Compactions in quick succession. `first` is where the first of them stands in the transcript;
    `number` that of the last among all, to be passed as `after` once it was spoken of. The window was last
    filled between `begin` and `end`, with `used` tokens (0: not known)."""

    __slots__ = ("begin", "compactions", "end", "first", "number", "turns", "used")

    def __init__(self, compactions: list[tuple], turns: int) -> None:
        self.compactions = len(compactions)
        self.turns = turns
        self.first: int = compactions[0][1]
        self.number: int
        self.number, self.end, self.begin, self.used = compactions[-1]


def thrashing(
    state: "State", trigger: str = "", after: int = 0, compactions: int = COMPACTIONS, turns: int = TURNS
) -> Burst | None:
    """Whether the window fills up again and again as soon as it was compacted.

    `trigger` is that of a compaction which a hook was told of and the transcript does not show yet; `after`
    the number of the last one that was spoken of.
    """
    seen = state.seen
    if len(seen.compactions) + 1 < compactions:
        return None
    turned = seen.turned
    since = turned[-turns - 1] if len(turned) > turns else -1
    found = []  # (number, offset, where the cycle it ended began, tokens by then)
    number, begin = seen.compacted - len(seen.compactions), seen.start
    for _, by, used, _, offset, _ in seen.compactions:
        number += 1
        if by not in _NOT_FULL and number > after and offset > since:
            found.append((number, offset, begin, used))
        begin = offset
    if trigger == "auto" and state.awaits_boundary and number >= after:
        found.append((number + 1, seen.offset, begin, _used(state)))
    if len(found) < compactions:
        return None
    return Burst(found, sum(began > found[0][1] for began in turned[-turns:]))


def _used(state: "State") -> int:
    """Before a compaction that the meter has not seen."""
    meter = state.seen.meter
    ratio = meter.ratio()
    return round(meter.context + meter.written(ratio) + meter.added(ratio)) if meter.context else 0
