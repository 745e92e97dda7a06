"""What the window is filled with, read from a part of the transcript: only when somebody asks for it."""

import posix

from holdfast.clock import elapsed
from holdfast.core.lines import Account, records
from holdfast.core.seen import Seen
from holdfast.core.shares import Filled, Shares, shares
from holdfast.core.state import State
from holdfast.core.transcript import entry
from holdfast.disk import files
from holdfast.disk.transcripts import line_end, live_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.thrash import Burst

#: Bytes of transcript a hook may read for it, and seconds it may take.
MOST, SECONDS = 8 << 20, 0.3
#: What a compaction kept stands before it; so far back it is looked for.
_BEFORE = 2 << 20


def shares_of(path: str, state: State, used: int, most: int = MOST, seconds: float = SECONDS) -> Shares:
    """Of the current cycle, as far as `state` has read the transcript; `used`: tokens in the window."""
    compactions = state.seen.compactions
    begin = compactions[-1][4] if compactions else state.seen.start
    return _read(path, state, begin, begin, state.seen.offset, used, most, seconds)


def refill_of(
    path: str, state: State, burst: "Burst", most: int = MOST, seconds: float = SECONDS
) -> Shares:
    """Of the cycle that the last compaction of a burst ended: what refilled the window."""
    return _read(path, state, burst.first, burst.begin, burst.end, burst.used, most, seconds)


def _read(
    path: str, state: State, first: int, begin: int, end: int, used: int, most: int, seconds: float
) -> Shares:
    """`begin` to `end` is the cycle, `first` the compaction from which on cycles are counted."""
    filled = Filled(state.agent)
    place = Seen(state.agent)
    place.dead = state.seen.dead
    until = elapsed() + seconds
    fd = files.open_regular(path)
    try:
        start = max(0, first - _BEFORE, end - most)
        place.offset = line_end(fd, start, end) if start else 0
        place.offset = max([place.offset, *(to for since, to in place.dead if since < place.offset < to)])
        is_whole = place.offset <= begin and not (state.seen.start and begin == state.seen.start)
        for offset, raw, length in live_lines(place, fd, end, Account(), until):
            for record in records(raw, Account()):
                made = entry(record, offset, length)
                if made is not None:
                    filled.take(record, made)
            if elapsed() >= until:
                break
    finally:
        posix.close(fd)
    meter = state.seen.meter
    return shares(filled, used, meter.bare(), meter.ratio(), is_whole and place.offset >= end)
