"""Reading the client's transcript: only what is new, never more than allowed, in bounded memory.

The file is append-only until it is not: it may be torn, spliced, rewritten, shrunk, replaced or
gone. What was read is recognised by a fingerprint of its first and last bytes; where that no longer
fits, reading starts over. A cost that depends on what is new and never on the size of the file is
the point of this module.
"""

import gc
import posix

from holdfast.clock import elapsed
from holdfast.core.fold import NOWHERE, fold
from holdfast.core.guard import UNKNOWN
from holdfast.core.jsontext import UNREADABLE, scan
from holdfast.core.lines import LONGEST, Account, is_dense, records
from holdfast.core.rewind import Rewinds, joined
from holdfast.core.seen import Seen, checksum
from holdfast.core.state import State
from holdfast.core.transcript import entry
from holdfast.disk import files
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = tuple[int, bytes, int]

_CHUNK = 1 << 20
_HEAD, _TAIL = 256, 128
_WORTH_NO_GC = 1 << 20
#: Of more than may be read at once, this much of the newest comes first.
_NEWEST = 8 << 20
#: When time has run out: this much of it all the same, in at most so many seconds more.
_NEWEST_LATE, _EXTRA_S = 1 << 20, 0.15
#: Why a file is another one than was read.
REWRITTEN = SHRUNK, REPLACED, CHANGED = "shrunk", "replaced", "rewritten"
#: How often reading may start over in one call. Twice is enough for any file that holds still.
_RESTARTS = 4


def catch_up(state: State, path: str, most: int, seconds: float = 1e9, fills: bool = True) -> str:
    """Fold what `path` holds beyond what `state` has seen, within about `most` bytes and `seconds`.

    Returns "" when the view is complete, else why it is not. With more to read than allowed, the
    newest part comes first and the rest is read later, from the front, by whoever calls next. Unless it
    `fills`: then somebody else reads that.
    """
    until = elapsed() + seconds
    try:
        fd = files.open_regular(path)
    except FileNotFoundError:
        return "missing" if state.has_transcript else ""
    try:
        size = posix.fstat(fd).st_size
        pause = size - state.seen.offset > _WORTH_NO_GC and gc.isenabled()
        if pause:  # parsed JSON is garbage without cycles: collecting it costs a fifth of the time
            gc.disable()
        try:
            return _catch_up(state, fd, size, most, until, fills)
        finally:
            if pause:
                gc.enable()
    finally:
        posix.close(fd)


def _catch_up(state: State, fd: int, size: int, most: int, until: float, fills: bool) -> str:
    why = changed(state.seen.identity, state.seen.offset, fd, size)
    if why:
        state.seen, state.behind = _again(state.seen, why), None
        _forget_places(state)
    left = most
    whole = False
    for _ in range(_RESTARTS):
        if size - state.seen.offset > left:
            state.behind = state.behind or _front(state.seen)
            state.seen = _newest(state.seen, line_end(fd, size - min(_NEWEST, most // 2), size))
        before = state.seen.offset
        abandoned = _fold_range(state.seen, fd, size, until)
        left -= state.seen.offset - before
        if not abandoned:
            whole = True
            break
        state.seen = _without(state.seen, abandoned, fd, size, most)
        state.heard.pending.clear()
    if elapsed() >= until and size - state.seen.offset > _NEWEST_LATE:
        # Out of time somewhere in the file: what is current is at its end, and a little of that is read
        # in any case.
        state.behind = state.behind or _front(state.seen)
        state.seen = _newest(state.seen, line_end(fd, size - _NEWEST_LATE, size))
        whole = not _fold_range(state.seen, fd, size, elapsed() + _EXTRA_S)
    state.seen.identity = identity(fd, state.seen.offset)
    if state.behind and left > 0 and fills:
        _fill_in(state, fd, size, left, until)
    state.settle()
    return "" if whole and not state.behind else "behind"


def is_at_end(seen: Seen, path: str) -> bool:
    """Whether there is nothing left to be read."""
    try:
        return posix.stat(path).st_size == seen.offset
    except (OSError, ValueError):
        return False


def is_of(seen: Seen, path: str) -> bool:
    """Whether what was read still stands in the file."""
    try:
        fd = files.open_regular(path)
    except (OSError, ValueError, BadInput):
        return False
    try:
        return not changed(seen.identity, seen.offset, fd, posix.fstat(fd).st_size)
    finally:
        posix.close(fd)


def fold_part(
    seen: Seen, path: str, start: int, stop: int, most: int, seconds: float, only: bytes = b""
) -> Seen:
    """What [start, stop) of a transcript says by itself, without what `seen` knows to be abandoned; of more
    than `most` bytes the newest. Where it really starts and stops is in its `start` and `offset`. `only`
    lines that hold this are looked at."""
    part = Seen(seen.agent)
    part.dead = [dead for dead in seen.dead if dead[1] > start and dead[0] < stop]
    fd = files.open_regular(path)
    try:
        first = start if stop - start <= most else line_end(fd, stop - most, stop)
        part.start = part.offset = max([first, *(to for since, to in part.dead if since < first < to)])
        for offset, raw, length in live_lines(part, fd, stop, Account(), elapsed() + seconds):
            for record in records(raw, Account()) if only in raw else ():
                made = entry(record, offset, length)
                if made is not None:
                    fold(part, made)
    finally:
        posix.close(fd)
    return part


def _fill_in(state: State, fd: int, size: int, most: int, until: float) -> None:
    behind = state.behind
    for _ in range(_RESTARTS):
        assert behind is not None
        stop = line_end(fd, min(size, behind.offset + most), size)
        abandoned = _fold_range(behind, fd, stop, until)
        if not abandoned:
            break
        behind = _without(behind, abandoned, fd, size, most)
    state.behind = behind
    if behind is not None and behind.offset >= state.seen.offset:
        behind.identity = identity(fd, behind.offset)
        state.seen, state.behind = behind, None


def read_on(seen: Seen, fd: int, size: int, stop: int, most: int = 1 << 62) -> Seen:
    """A view that begins at the front, read on to `stop`, however long that takes. At a rewind one that
    begins again, which has read nothing yet; others like it are looked for in a file of at most `most`."""
    abandoned = _fold_range(seen, fd, stop, 1e18)
    if abandoned:
        seen = _without(seen, abandoned, fd, size, most)
    seen.identity = identity(fd, seen.offset)
    return seen


def line_end(fd: int, at: int, size: int) -> int:
    """The end of the line that reaches over `at`; of a line too long to hold, some place in it."""
    start = at
    while at < min(size, start + LONGEST):
        found = posix.pread(fd, 1 << 16, at - 1 if at else 0).find(b"\n")
        if found >= 0:
            return at + found
        at += (1 << 16) - 1
    return min(at, size)


def _forget_places(state: State) -> None:
    """What was remembered by its place in a file that is another one now. The client may have cut away what
    was before a compaction; then it has written down the compaction, too."""
    heard = state.heard
    heard.pending.clear()
    if not heard.awaits and heard.guard:
        heard.guard["cycle"] = UNKNOWN
    heard.awaits, heard.pressed = [], []
    heard.saved.pop("offset", None)


def _again(seen: Seen, why: str) -> Seen:
    fresh = Seen(seen.agent)
    fresh.rereads = seen.rereads + 1
    fresh.reread_why = why
    return fresh


def _without(seen: Seen, abandoned: list, fd: int, size: int, most: int) -> Seen:
    """Start over from where the view began, leaving out what a rewind abandoned. Where there is one
    there may be many: all are looked for at once, where the file is not too large for that."""
    fresh = _again(seen, "rewind")
    fresh.start = fresh.offset = seen.start
    if size - seen.start <= most:
        fresh.dead = _all_abandoned(seen, fd, size)
    else:
        fresh.dead = joined(seen.dead, *abandoned)
    return fresh


def abandoned(seen: Seen, path: str) -> list:
    """All of a transcript that rewinds left behind: [from, to) each."""
    fd = files.open_regular(path)
    try:
        return _all_abandoned(seen, fd, posix.fstat(fd).st_size)
    finally:
        posix.close(fd)


def _all_abandoned(seen: Seen, fd: int, size: int) -> list:
    place, rewinds = Seen(), Rewinds()
    place.offset = seen.start
    for offset, raw, length in lines(place, fd, size, Account(), 1e18):
        if b'"user"' not in raw:  # no prompt
            continue
        for record in records(raw, Account()):
            made = entry(record, offset, length)
            if made is not None and made.agent == seen.agent:
                rewinds.take(made)
    return rewinds.dead


def _front(seen: Seen) -> Seen:
    """What has been read so far goes on being read from where it is."""
    return seen if not seen.start else Seen(seen.agent)


def _newest(seen: Seen, start: int) -> Seen:
    """A view of the end alone, beginning with a line that is not abandoned."""
    fresh = Seen(seen.agent)
    fresh.rereads, fresh.reread_why = seen.rereads, seen.reread_why
    for dead_start, dead_end in seen.dead:
        if dead_start <= start < dead_end:
            start = dead_end
    fresh.start = fresh.offset = start
    fresh.dead = [dead for dead in seen.dead if dead[0] >= start]
    return fresh


def _fold_range(seen: Seen, fd: int, stop: int, until: float) -> list:
    """Fold every whole line up to `stop`; [from, to) of a branch found abandoned ends it."""
    account = Account(*seen.bytes)
    abandoned: list = []
    for offset, raw, length in live_lines(seen, fd, stop, account, until):
        for record in records(raw, account):
            made = entry(record, offset, length)
            began = fold(seen, made) if made is not None else NOWHERE
            if began != NOWHERE:
                abandoned = [began, offset]
                break
        if abandoned:
            break
    seen.bytes = [account.parsed, account.salvaged, account.skipped, account.lines, account.damaged]
    return abandoned


def live_lines(seen: Seen, fd: int, stop: int, account: Account, until: float) -> "Iterator[Line]":
    """Every line but those a rewind abandoned. What is abandoned begins and ends with a line."""
    for start, end in seen.dead:
        if seen.offset < end:
            yield from lines(seen, fd, min(start, stop), account, until)
            if seen.offset == start:
                account.skipped += end - start
                seen.offset = end
    yield from lines(seen, fd, stop, account, until)


def lines(seen: Seen, fd: int, stop: int, account: Account, until: float) -> "Iterator[Line]":
    """(offset, line, length) of each line, newlines included, moving `seen.offset` past it first.

    A last line without newline is given only when it is a whole object already: nothing can be
    added to one. Otherwise it stays unread until its end is there.
    """
    carry: list[bytes] = []
    held = 0
    at = seen.offset
    while at < stop and elapsed() < until:
        chunk = posix.pread(fd, min(_CHUNK, stop - at), at)
        if not chunk:
            break
        at += len(chunk)
        pieces = chunk.split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            raw = piece + b"\n"
            if carry:
                raw = b"".join(carry) + raw
                carry.clear()
                held = 0
            offset = seen.offset
            seen.offset += len(raw)
            if seen.ended_mid_line:
                seen.ended_mid_line = 0
                account.skipped += len(raw)
            elif len(raw) > LONGEST:
                account.skip(len(raw), begins=True)
            else:
                yield offset, raw, len(raw)
        if rest:
            carry.append(rest)
            held += len(rest)
        if held > LONGEST or (held and seen.ended_mid_line):
            account.skip(held, begins=not seen.ended_mid_line)
            seen.offset += held
            seen.ended_mid_line = 1
            carry.clear()
            held = 0
    raw = b"".join(carry)
    if raw.endswith(b"}") and at >= stop and _is_whole(raw):
        offset = seen.offset
        seen.offset += held
        yield offset, raw, held


def _is_whole(piece: bytes) -> bool:
    if is_dense(piece):
        return False
    text = piece.decode("utf-8", "replace")
    try:
        value, end = scan(text, 0)
    except UNREADABLE:
        return False
    return type(value) is dict and end == len(text)


def _checksum_at(fd: int, start: int, length: int) -> int:
    return checksum(posix.pread(fd, length, start))


def identity(fd: int, offset: int) -> list[int]:
    """What the file looks like where reading began and where, at `offset`, it stopped."""
    head, tail = min(_HEAD, offset), min(_TAIL, offset)
    return [head, _checksum_at(fd, 0, head), tail, _checksum_at(fd, offset - tail, tail)]


def changed(known: list[int], offset: int, fd: int, size: int) -> str:
    """Why what was read no longer stands in the file, or "". A copy with the same content under
    another inode is the same transcript."""
    if not known:
        return ""
    head, head_print, tail, tail_print = known
    if size < offset:
        return SHRUNK
    if _checksum_at(fd, 0, head) != head_print:
        return REPLACED
    if _checksum_at(fd, offset - tail, tail) != tail_print:
        return CHANGED
    return ""
