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
    """The facts as they are, to be read on behind the last line they know. After a rewind:
    as they were when they were carried over. None: the file is another one."""
    seen = state.seen
    is_rewritten = seen.reread_why in transcripts.REWRITTEN and facts.rereads < seen.rereads
    if not (facts.recent and path) or (is_rewritten and seen.start):
        return None
    try:
        fd = files.open_regular(path)
    except (OSError, BadInput):
        return None
    try:
        if not is_rewritten:
            return as_cut(facts, seen, fd)
        known = known_to(facts, state.agent, fd, seen.offset)
    finally:
        posix.close(fd)
    if known < 0:
        return None
    facts.trim(known)
    return facts


def as_cut(facts: Facts, seen: Seen, fd: int) -> Facts | None:
    """The facts as they were when something was cut away last, to be read on from there. None: they are of
    another file, or a rewind has abandoned some of what they know."""
    before = facts.as_cut()
    if any(dead[0] < before.offset for dead in seen.dead):
        return None
    stop = transcripts.line_end(fd, before.offset + 1, posix.fstat(fd).st_size)
    return before if known_to(before, seen.agent, fd, stop) == before.offset else None


def known_to(facts: Facts, agent: str, fd: int, stop: int) -> int:
    """The end of what the facts know of the file, up to `stop`; -1: it begins with something else, or is
    too long to be looked through."""
    recent, place, known = set(facts.recent), Seen(agent), -1
    until = elapsed() + _LOOKS_S
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
