"""A transcript whose beginning the client has cut away, as it can from 2.1.304 on, after a compaction. What
was said there is in the facts, and is not in the file any more."""

import posix

from holdfast.clock import elapsed
from holdfast.core.facts import MARK, Facts
from holdfast.core.lines import Account, records
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.core.transcript import entry
from holdfast.disk import files, transcripts
from holdfast.errors import BadInput

#: Seconds in which a file that was rewritten is looked through.
_LOOKS_S = 0.5
_ATTACHED = b'"type":"attachment"'


def carried_over(facts: Facts, state: State, path: str) -> Facts | None:
    """The facts as they are, to be read on behind the last line they know. None: the file is another one,
    or the session went back."""
    seen = state.seen
    is_rewritten = seen.reread_why in transcripts.REWRITTEN and facts.rereads < seen.rereads
    if not (is_rewritten and facts.recent and path) or seen.start:
        return None
    try:
        fd = files.open_regular(path)
    except (OSError, BadInput):
        return None
    try:
        known = _known_to(facts, state, fd)
    finally:
        posix.close(fd)
    if known < 0:
        return None
    facts.trim()
    facts.offset, facts.start = known, min(facts.start, 1)
    return facts


def _known_to(facts: Facts, state: State, fd: int) -> int:
    """The end of what the facts know of the file; -1: it begins with something else, or is too long to be
    looked through."""
    recent, place, known = set(facts.recent), Seen(state.agent), -1
    stop, until = state.seen.offset, elapsed() + _LOOKS_S
    for offset, raw, length in transcripts.live_lines(place, fd, stop, Account(), until):
        for record in records(raw, Account()) if _ATTACHED not in raw[:600] else ():
            made = entry(record, offset, length)
            if made is None or not made.uuid or made.agent != place.agent:
                continue
            if made.uuid[:MARK] in recent:
                known = offset + length
            elif made.kind == "boundary" and known < 0:
                known = offset  # nothing was kept of what was before it
            elif known < 0:
                return -1
    return known if place.offset >= stop else -1
