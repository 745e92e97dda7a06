"""Lines of a transcript on which somebody speaks, found by their bytes without parsing the rest.

What people typed and what the model said is a twentieth of a transcript's bytes. Where there is no time to
read all of a large one, these lines are found at the speed of the disk, the newest first.
"""

import posix

from holdfast.clock import elapsed

_CHUNK = 4 << 20
#: So much of the front is looked at in any case: there stands what it is all about.
_FRONT = 1 << 20
#: Longer lines hold a picture or a file.
_LONGEST = 1 << 18
#: Type, role and the marks of a result stand near one end of a line, whoever wrote it.
_END = 2048
_SIDE = (b'"isSidechain":true', b'"isSidechain": true')
#: A line of the user's side that is no tool's result, but for answers to a question.
_USER, _RESULT, _ANSWERS = b'"user"', b'"tool_use_id"', b'"answers"'
_MODEL, _TEXT = b'"assistant"', b'"text"'
#: What else matters: where it was compacted, what was typed while the model worked, questions and plans.
_ALSO = (b"compact_boundary", b'"queued_command"', b'"AskUserQuestion"', b'"ExitPlanMode"')
#: Beginnings of words by which the model tells a decision, a dead end or what is open.
_TELLS = tuple(
    sign.encode()
    for sign in (
        "decid|chose|choos|because|instead|rather|doesn't|does not|can't|cannot|won't|fail|error|wrong"
        "|revert|todo|TODO|still|open |must|never|always|next|need|will |we'll|I'll"
    ).split("|")
)
ASKED, TELLS, SAID = 2, 1, 0


def find(fd: int, start: int, stop: int, agent: str, until: float) -> tuple[list[list[int]], int]:
    """([offset, length, rank] of each such line in [start, stop), oldest first; how many bytes were not
    looked at). `stop` is where a line begins."""
    parts: list[list[list[int]]] = []
    front = posix.pread(fd, min(_FRONT, stop - start), start)
    front = front[: front.rfind(b"\n") + 1]
    end, left = stop, start + len(front)
    while end > left and elapsed() < until:
        at = max(left, end - _CHUNK)
        data = posix.pread(fd, end - at, at)
        if at > left:  # what stands before the first line end belongs to a line that begins earlier
            first = data.find(b"\n") + 1
            if first in (0, len(data)):  # one line, longer than any that is kept
                end = at
                continue
            at, data = at + first, data[first:]
        parts.append(_in(data, at, agent))
        end = at
    parts.append(_in(front, start, agent))
    return [one for part in reversed(parts) for one in part], max(0, end - left)


def _in(data: bytes, at: int, agent: str) -> list[list[int]]:
    found = []
    for line in data.split(b"\n")[:-1]:  # behind the last line end: nothing, or a part of a longer one
        length = len(line) + 1
        ends = line if length <= 2 * _END else line[:_END] + line[-_END:]
        rank = _rank(ends, line) if length <= _LONGEST else -1
        if rank >= 0 and (agent or not any(side in ends for side in _SIDE)):
            found.append([at, length, rank])
        at += length
    return found


def _rank(ends: bytes, line: bytes) -> int:
    """-1: nobody speaks there."""
    if _USER in ends:
        if _RESULT not in ends or _ANSWERS in ends:
            return ASKED
    elif _TEXT in ends and _MODEL in ends:
        return TELLS if any(sign in line for sign in _TELLS) else SAID
    return ASKED if any(mark in ends for mark in _ALSO) else -1


def newest(found: list[list[int]], asked: int, said: int, first: int) -> list[list[int]]:
    """Of these lines so many of each kind, in their order: the newest, but of the person's own words also
    the `first`, which say what it is all about; of the model's, those first that tell something."""
    ours = [one for one in found if one[2] == ASKED]
    theirs = [one for one in found if one[2] != ASKED]
    if len(ours) > asked:
        ours = ours[:first] + ours[first - asked :]
    theirs = sorted(theirs, key=lambda one: (one[2], one[0]))[-said:] if said else []
    return sorted(ours + theirs)
