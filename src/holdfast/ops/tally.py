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
    from collections.abc import Callable, Iterable, Iterator

    from holdfast.ops.responses import Part

    Row = list | tuple  # model, input, cache read, cache creation, output, told aside

#: From so many bytes on, several processes read them.
_WORTH_PROCESSES, _MOST_PROCESSES = 128 << 20, 4


class Transcript:
    """A file as it was when it was looked at, and what was used in it."""

    __slots__ = ("changed", "identity", "inode", "name", "offset", "responses", "size", "used")

    def __init__(self, listed: str) -> None:
        size, changed, inode, self.name = listed.split(" ", 3)  # its name: below the folder
        self.size = int(size)
        self.changed = int(changed)  # in nanoseconds
        self.inode = int(inode)
        #: How far it was read, and how that part is known again.
        self.offset = 0
        self.identity: list[int] = []
        self.responses: dict[str, Row] = {}  # all it holds, by message
        #: What counts of that: model -> [responses, input, cache read, cache creation, output]
        self.used: dict[str, list[int]] = {}

    @property
    def listed(self) -> str:
        return f"{self.size} {self.changed} {self.inode} {self.name}"


class Scan:
    """The first value of an answer is about all of it, then comes one for each session, the newest first:
    [project, session, time of the last change, models, file -> what counts in it]."""

    __slots__ = ("bytes", "files", "models", "problems", "read", "sessions")

    def __init__(self, answer: list, read: int, problems: list[str]) -> None:
        (self.files, self.bytes, self.models), *self.sessions = answer
        self.read = read  # bytes
        self.problems = problems


def scan(home: Home, folder: str, told: Callable[[int, int], None], limit: int = 0) -> Scan:
    """With so many sessions, or with all. `told` hears how many of how many bytes have been read."""
    problems: list[str] = []
    listed = _walk(folder, problems)
    most = 1 + limit if limit else len(listed) + 1
    known = scans.answer(home, folder, listed, most)
    if known:
        return Scan(known, 0, problems)
    transcripts = [Transcript(one) for one in listed]
    changed = _recall(transcripts, scans.everything(home, folder))
    read = _read(changed, folder, problems, told)
    answer = _answer(sorted(transcripts, key=lambda one: one.name))
    try:
        parts = [[one.offset, one.identity, one.responses] for one in transcripts]
        scans.keep(home, folder, [one.listed for one in transcripts], answer, parts)
    except OSError as problem:
        problems.append(f"what was read could not be kept in {home.scans}: {problem.strerror}")
    return Scan(answer[:most], read, problems)


def _walk(folder: str, problems: list[str]) -> list[str]:
    """`<size> <time of the last change> <inode> <name>` of each, in the order of the system, which is the
    same while nothing changes. Links are not followed: they lead elsewhere."""
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
                found.append(f"{state.st_size} {state.st_mtime_ns} {state.st_ino} {below}{entry.name}")
    return found


def _recall(transcripts: list[Transcript], known: dict[str, list]) -> list[Transcript]:
    """Those that have changed. One that has only grown is read on from where it was."""
    before = {one.name: one for one in map(Transcript, known)}
    changed = []
    for transcript in transcripts:
        old = before.get(transcript.name)
        same = old is not None and old.listed == transcript.listed
        if old and (same or (old.inode == transcript.inode and old.size < transcript.size)):
            transcript.offset, transcript.identity, transcript.responses = known[old.listed]
        if not same:
            changed.append(transcript)
    return changed


def _read(
    changed: list[Transcript], folder: str, problems: list[str], told: Callable[[int, int], None]
) -> int:
    """How many bytes it took."""
    changed.sort(key=lambda one: one.offset - one.size)  # so that no process ends long after the others
    of = sum(one.size - one.offset for one in changed)
    jobs = [(f"{folder}/{one.name}", one.size, one.offset, one.identity) for one in changed]
    read = 0
    for transcript, part in zip(changed, _parts(jobs, of), strict=True):
        if part.problem:
            problems.append(part.problem)
            transcript.inode = 0  # so that it is looked at again
            continue
        if part.start < transcript.offset:
            transcript.responses = {}
        transcript.responses |= part.responses
        transcript.offset, transcript.identity = part.offset, part.identity
        read += transcript.size - part.start
        told(read, max(read, of))
    return read


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


def _answer(transcripts: list[Transcript]) -> list:
    """Of transcripts by name. What `Scan` is made of."""
    _settle(transcripts)
    models: dict[str, list] = {}
    sessions: dict[tuple[str, str], list[Transcript]] = {}
    for one in transcripts:
        for model, counts in one.used.items():
            models.setdefault(model, []).append(counts)
        if one.used:
            sessions.setdefault(_session_of(one.name), []).append(one)
    rows: list[list] = [
        [
            *place,
            max(one.changed for one in inside),
            list(dict.fromkeys(model for one in inside for model in one.used)),
            {one.name: _sum(one.used.values()) for one in inside},
        ]
        for place, inside in sessions.items()
    ]
    rows.sort(key=lambda row: row[2], reverse=True)
    size = sum(one.size for one in transcripts)
    return [[len(transcripts), size, {model: _sum(models[model]) for model in sorted(models)}], *rows]


def _sum(counts: Iterable[list[int]]) -> list[int]:
    return [sum(numbers) for numbers in zip(*counts, strict=True)]


def _session_of(name: str) -> tuple[str, str]:
    """(project, session) of a transcript, from where it stands below the projects."""
    *folders, file = name.split("/")
    session = file.removesuffix(".jsonl")
    if "subagents" in folders[1:]:
        folders = folders[: folders.index("subagents", 1)]
        session = folders.pop()
    return "/".join(folders), session


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
