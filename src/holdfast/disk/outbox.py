"""What this home has to tell its team: outbox/ in home, which is there only while it is in one.

Hooks append to `now.jsonl`, one line for each thing that happened, as the index writes its lines, and go
on: whether the team's store answers is no concern of theirs. When it has grown it becomes a segment,
numbered in their order; whoever sends removes a segment once all of it is in the store. Lines are not
synced: what they tell of stands elsewhere, and is compared with the store after a boot, or when one could
not be written.
"""

import posix

from holdfast.clock import new_id, now
from holdfast.disk import files
from holdfast.disk.home import Home

EVENT, CHECKPOINT, GONE, MESSAGE, MARK = "event", "checkpoint", "gone", "message", "mark"
#: What a line begins with, after its checksum, that tells of an event.
_OF_EVENT = b',"kind":"event",'
_HEAD = 48
_NOW, _SUFFIX, _DIGITS = "now.jsonl", ".jsonl", 10
#: Bytes from which on it becomes a segment.
_SEGMENT = 1 << 20
_LARGEST = 1 << 28
_MISSED, _DROPPED = "/missed", "/dropped"


def put(home: Home, kind: str, data: dict, uid: str = "", at: int = 0) -> None:
    """Where there is no team, one failed look. It never fails the caller, whose own work is done: what
    could not be written is found by comparing, and that this is needed is noted."""
    if not files.is_there(home.outbox):
        return
    from holdfast.disk.index import line  # which tells us of checkpoints itself

    at = at or now()
    said = {"kind": kind, "uid": uid or new_id(at), "at": at, "data": data}
    try:
        if files.append_together(f"{home.outbox}/{_NOW}", line(said)) >= _SEGMENT:
            seal(home)
            most = _most(home)
            if len(segments(home)) > most:  # nobody has come to send them
                trim(home, most * _SEGMENT)
    except FileNotFoundError:
        pass  # the team was left a moment ago
    except OSError:
        miss(home)


def _most(home: Home) -> int:
    """Segments beyond which a hook itself lets events go: as many MB as may wait. Whoever notes something
    has no settings at hand; with each segment there is time to look."""
    from holdfast.core.config import Config, of_environment, variable
    from holdfast.disk import compiled

    key = "team.outbox_mb"
    name = variable(key)
    own, _ = of_environment({name: posix.environ.get(name.encode(), b"").decode("utf-8", "replace")})
    return int(Config(compiled.current(home).values, own)[key])


def miss(home: Home) -> None:
    """What is here is to be compared with the store."""
    try:
        posix.close(
            posix.open(home.outbox + _MISSED, posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        )
    except OSError:
        pass  # then there is not even room for a name: `status` says so


def has_missed(home: Home) -> bool:
    """Whether something was missed since this was last asked."""
    found = files.is_there(home.outbox + _MISSED)
    remove(home.outbox + _MISSED)
    return found


def seal(home: Home) -> None:
    """Make a segment of what there is. Nobody is in the middle of a line meanwhile, nor will be: who waited
    finds that the file has another name."""
    path = f"{home.outbox}/{_NOW}"
    fd = files.open_shared(path, alone=True)
    try:
        if posix.fstat(fd).st_size:
            posix.rename(path, f"{home.outbox}/{_next(home):0{_DIGITS}d}{_SUFFIX}")
    finally:
        posix.close(fd)


def put_back(home: Home, path: str) -> None:
    """Make a file of lines the newest segment."""
    fd = files.open_shared(f"{home.outbox}/{_NOW}", alone=True)  # who names one has this lock
    try:
        posix.rename(path, f"{home.outbox}/{_next(home):0{_DIGITS}d}{_SUFFIX}")
    finally:
        posix.close(fd)


def _next(home: Home) -> int:
    """By counting, not by the clock, which may be set back."""
    return 1 + max(
        (int(path[-_DIGITS - len(_SUFFIX) : -len(_SUFFIX)]) for path in segments(home)), default=0
    )


def segments(home: Home) -> list[str]:
    """Their paths, the oldest first."""
    try:
        names = posix.listdir(home.outbox)
    except (FileNotFoundError, NotADirectoryError):
        return []
    whole = _DIGITS + len(_SUFFIX)
    found = [name for name in names if len(name) == whole and name[:_DIGITS].isdigit()]
    return [f"{home.outbox}/{name}" for name in sorted(found) if name.endswith(_SUFFIX)]


def lines(path: str, events: bool = True) -> "tuple[list[dict], int]":
    """(what a segment says, with its events or without, lines of it that cannot be read). A torn one was
    never acknowledged."""
    from holdfast.disk.index import checked, is_torn

    found, damaged = [], 0
    for raw in _raw(path):
        if not events and _OF_EVENT in raw[:_HEAD]:
            continue
        said = checked(raw)
        if said is not None and _is_line(said):
            found.append(said)
        elif not is_torn(raw):
            damaged += 1
    return found, damaged


def _is_line(said: dict) -> bool:
    shape = (str, str, int, dict)
    return tuple(type(said.get(name)) for name in ("kind", "uid", "at", "data")) == shape


def _raw(path: str) -> list[bytes]:
    try:
        data = files.read(path, _LARGEST)
    except FileNotFoundError:
        return []
    *whole, rest = data.split(b"\n")
    return [*whole, rest] if rest else whole


def waiting(home: Home) -> int:
    """Lines that are not in the store yet."""
    return sum(map(len, map(_raw, _all(home))))


def size(home: Home) -> int:
    """Bytes of them, which costs less to know."""
    found = 0
    for path in _all(home):
        try:
            found += posix.stat(path).st_size
        except FileNotFoundError:
            pass  # sent meanwhile
    return found


def _all(home: Home) -> list[str]:
    return [*segments(home), f"{home.outbox}/{_NOW}"]


def first(home: Home) -> int:
    """When the oldest thing that waits has happened; 0: nothing waits."""
    from holdfast.disk.index import checked

    for path in _all(home):
        for raw in _raw(path):
            said = checked(raw)
            if said is not None and _is_line(said):
                return int(said["at"])
    return 0


def trim(home: Home, most: int) -> int:
    """Let the oldest events go until so many bytes wait; of nothing else. How many went: they are
    counted."""
    lock = files.Lock(home.outbox + "/trim.lock")
    if not lock.attempt():
        return 0
    with lock:
        total, gone = size(home), 0
        for path in segments(home):
            if total <= most:
                break
            raw = _raw(path)
            kept = [line for line in raw if _OF_EVENT not in line[:_HEAD]]
            if len(kept) == len(raw):
                continue
            gone += len(raw) - len(kept)
            total -= sum(map(len, raw)) - sum(map(len, kept)) + len(raw) - len(kept)
            if kept:
                files.replace(path, b"".join(line + b"\n" for line in kept), durable=False)
            else:
                remove(path)
        let_go(home, gone)
    return gone


def let_go(home: Home, count: int) -> None:
    """So many events more."""
    if count:
        files.replace(home.outbox + _DROPPED, b"%d\n" % (dropped(home) + count), durable=False)


def dropped(home: Home) -> int:
    """Events that were let go since this home is in its team."""
    try:
        digits = files.read(home.outbox + _DROPPED, 64).strip()
    except FileNotFoundError:
        return 0
    return int(digits) if digits.isdigit() else 0


def remove(path: str) -> None:
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass
