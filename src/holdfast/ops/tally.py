"""What was used in the transcripts below a folder, by the API's own count: read once, then what is new.

A response counts once. The client writes it in several lines, of which the last is right, and a session
that is resumed or forked copies it into another file. Of several copies one counts: a conversation's own
before one told aside, then the one that says most, then the first by path.

What was read is kept in a cache: while nothing changes, looking at the files is all it takes. So nothing
is loaded up here that only reading needs.
"""

from __future__ import annotations

import posix

from holdfast.disk import scans
from holdfast.disk.home import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.ops.responses import Part

    Row = list | tuple  # model, input, cache read, cache creation, output, told aside

#: From so many bytes on, several processes read them.
_WORTH_PROCESSES, _MOST_PROCESSES = 128 << 20, 4


class Transcript:
    """A file as it was when it was looked at, and what was used in it."""

    __slots__ = ("changed", "identity", "inode", "name", "offset", "responses", "size", "used")

    def __init__(self, name: str, size: int, changed: int, inode: int) -> None:
        self.name = name  # below the folder
        self.size = size
        self.changed = changed  # in nanoseconds
        self.inode = inode
        #: How far it was read, and how that part is known again.
        self.offset = 0
        self.identity: list[int] = []
        self.responses: dict[str, Row] = {}  # all it holds, by message
        #: What counts of that: model -> [responses, input, cache read, cache creation, output]
        self.used: dict[str, list[int]] = {}

    @property
    def row(self) -> list:
        part = [self.offset, self.identity, self.responses]
        return [self.name, self.size, self.changed, self.inode, self.used, part]


class Scan:
    __slots__ = ("problems", "read", "transcripts")

    def __init__(self) -> None:
        self.transcripts: list[Transcript] = []  # by path
        self.read = 0  # bytes
        self.problems: list[str] = []


def scan(home: Home, folder: str, told: Callable[[int, int], None]) -> Scan:
    """`told` hears how many of how many bytes have been read."""
    made = Scan()
    found = _walk(folder, made.problems)
    made.transcripts = [Transcript(*state) for state in found]
    known = scans.answers(home, folder)
    if [tuple(row[:4]) for row in known] == found:
        for transcript, row in zip(made.transcripts, known, strict=True):
            transcript.used = row[4]
        return made
    _read(made, folder, _recall(made.transcripts, scans.everything(home, folder)), told)
    _settle(made.transcripts)
    try:
        scans.keep(home, folder, [one.row for one in made.transcripts])
    except OSError as problem:
        made.problems.append(f"what was read could not be kept in {home.scans}: {problem.strerror}")
    return made


def _walk(folder: str, problems: list[str]) -> list[tuple[str, int, int, int]]:
    """(name, size, time of the last change, inode) of each. Links are not followed: they lead elsewhere."""
    found = []
    inside = [""]
    while inside:
        below = inside.pop()
        try:
            entries = list(posix.scandir(f"{folder}/{below}"))
        except OSError as problem:
            problems.append(f"{folder}/{below}: {problem.strerror}")
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inside.append(f"{below}{entry.name}/")
            elif entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                try:
                    state = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # since it was listed
                    continue
                found.append((below + entry.name, state.st_size, state.st_mtime_ns, state.st_ino))
    return sorted(found)


def _recall(transcripts: list[Transcript], known: list[list]) -> list[Transcript]:
    """Those that have changed. One that has only grown is read on from where it was."""
    rows = {row[0]: row for row in known}
    changed = []
    for transcript in transcripts:
        _, size, at, inode, _, part = rows.get(transcript.name, [""] * 6)
        same = (size, at, inode) == (transcript.size, transcript.changed, transcript.inode)
        if same or (inode == transcript.inode and size < transcript.size):
            transcript.offset, transcript.identity, transcript.responses = part
        if not same:
            changed.append(transcript)
    return changed


def _read(made: Scan, folder: str, changed: list[Transcript], told: Callable[[int, int], None]) -> None:
    changed.sort(key=lambda one: one.offset - one.size)  # so that no process ends long after the others
    of = sum(one.size - one.offset for one in changed)
    jobs = [(f"{folder}/{one.name}", one.size, one.offset, one.identity) for one in changed]
    for transcript, part in zip(changed, _parts(jobs, of), strict=True):
        if part.problem:
            made.problems.append(part.problem)
            transcript.inode = 0  # so that it is looked at again
            continue
        if part.start < transcript.offset:
            transcript.responses = {}
        transcript.responses |= part.responses
        transcript.offset, transcript.identity = part.offset, part.identity
        made.read += transcript.size - part.start
        told(made.read, max(made.read, of))


def _parts(jobs: list[tuple], of: int) -> Iterator[Part]:
    from os import cpu_count

    from holdfast.ops.responses import read_on

    processes = min(_MOST_PROCESSES, cpu_count() or 1, len(jobs))
    if of < _WORTH_PROCESSES or processes < 2:
        yield from (read_on(*job) for job in jobs)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(read_on, *zip(*jobs, strict=True))


def _settle(transcripts: list[Transcript]) -> None:
    """Which copy of a response counts."""
    best: dict[str, tuple[Transcript, Row]] = {}
    for transcript in transcripts:
        for message, row in transcript.responses.items():
            held = best.get(message)
            if held is None or _weight(row) > _weight(held[1]):
                best[message] = transcript, row
    for transcript, (model, given, read, made, output, _) in best.values():
        used = transcript.used.setdefault(model, [0] * 5)
        for place, number in enumerate((1, given, read, made, output)):
            used[place] += number


def _weight(row: Row) -> tuple[bool, int]:
    return not row[5], sum(row[1:5])
