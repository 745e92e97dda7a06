"""The catalogue of all checkpoints: checkpoints/index.jsonl, one line for each, and `index.json`, its
rendering for people and scripts. Both are caches: files are the truth, `repair` makes them anew.

A line is appended after its file is durable and before the checkpoint is acknowledged. Lines carry a
checksum; a line that says `gone` takes one back, so that what was pruned is never reported.
"""

import posix

from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import checksum
from holdfast.disk import files, outbox
from holdfast.disk.home import Home
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = 1
#: The seed's schema, in its order.
SHOWN = ("id", "uid", "path", "project", "created", "trigger", "verified", "iteration", "summary")
#: What else a line says of a checkpoint; all of it stands in the checkpoint itself.
MORE = "reason session_id agent_id lineage parent branch commit used_tokens window sha256 kept".split()
#: Of what is not text.
_TYPES = {"verified": bool, "iteration": int, "used_tokens": int, "window": int}
_NAMES = (*SHOWN, *MORE)
_KINDS = [_TYPES.get(name, str) for name in _NAMES]
#: In `index.json`: more than anyone reads, little enough to be written with every checkpoint.
_MOST_SHOWN = 200
_TAIL, _RECENT = 1 << 18, 1 << 16
_LARGEST = 1 << 30
_HEAD = b'{"v":%d,"sum":' % VERSION
#: Where that begins which is not shown.
_BEYOND = b',"%s":' % MORE[0].encode()


def entry(fields: dict, path: str, kept: str) -> dict:
    """A line of the index, from the frontmatter of a checkpoint. `kept`: in the project or at home."""
    named = {**fields, "path": path, "kept": kept}
    return {name: named[name] for name in _NAMES}


def line(said: dict) -> bytes:
    rest = dump(said)[1:].encode()
    return b"%s%d,%s" % (_HEAD, checksum(rest), rest)


def add(home: Home, said: dict) -> None:
    """Durable when it returns. What is no file, or cannot be opened, is in the way and set aside: the
    index can be made anew, the checkpoint cannot."""
    files.make_dir(home.checkpoints)
    try:
        files.append_durably(home.index, line(said))
    except OSError:
        if not files.clear_the_way(home.index):
            raise
        files.append_durably(home.index, line(said))
    outbox.put(home, outbox.CHECKPOINT, said, said.get("uid", ""))


def find(home: Home, uid: str) -> dict | None:
    """The entry of one that was added lately, and is durable by now."""
    try:
        fd = files.open_regular(home.index)
    except (OSError, BadInput):
        return None
    try:
        size = posix.fstat(fd).st_size
        tail = posix.pread(fd, _RECENT, max(0, size - _RECENT))
        named = f'"uid":"{uid}"'.encode()
        lines = tail.split(b"\n")[:-1] if named in tail else []
        found = [_read(raw) for raw in lines if named in raw]
        if found:
            posix.fdatasync(fd)  # whoever wrote it may have been killed before it was
    finally:
        posix.close(fd)
    return found[0] if found else None


def drop(home: Home, uids: list[str], remove: "Callable[[], None]") -> None:
    """Say that checkpoints are gone, then remove them. Whoever makes the index anew waits until both are
    done: it would find the files and not the lines."""
    fd = files.open_shared(home.index)
    try:
        at = rfc3339(now())
        files.append_durably(home.index, b"\n".join(line({"gone": uid, "at": at}) for uid in uids))
        show(home, wait=True)
        remove()
    finally:
        posix.close(fd)
    for uid in uids:
        outbox.put(home, outbox.GONE, {}, uid)


class Catalogue:
    """`entries` by uid, oldest first: a uid sorts by time; `gone` those that were taken back. `damaged`
    counts lines that cannot be read, `torn` those that somebody was killed over: never acknowledged, and
    of no consequence."""

    __slots__ = ("damaged", "entries", "gone", "repeated", "torn")

    def __init__(self, lines: "list[bytes]") -> None:
        found: dict[str, dict] = {}
        self.damaged = 0
        self.gone: set[str] = set()
        self.repeated: list[str] = []
        self.torn = 0
        for raw in lines:
            said = _read(raw)
            if said is None or not raw.startswith(_HEAD) or raw.rfind(_HEAD):
                torn = said is not None or is_torn(raw)
                self.torn += torn
                self.damaged += not torn
            if said is None:
                continue
            if "gone" in said:
                found.pop(said["gone"], None)
                self.gone.add(said["gone"])
            elif said["uid"] in found:
                self.repeated.append(said["uid"])
            else:
                found[said["uid"]] = said
        self.entries = dict(sorted(found.items()))


def having(home: Home, name: str, value: str) -> list[dict]:
    """The entries of one lineage, or of one project, oldest first, read out of all others: to parse those
    would take far longer."""
    try:
        data = files.read(home.index, _LARGEST)
    except (OSError, BadInput):
        return []
    named = f'"{name}":{dump(value)}'.encode()
    lines = [raw for raw in data.split(b"\n")[:-1] if named in raw or b'"gone":"' in raw]
    return [entry for entry in Catalogue(lines).entries.values() if entry[name] == value]


def is_torn(raw: bytes) -> bool:
    """Nothing, or the beginning of a line of ours without its end."""
    return not raw.endswith(b"}") and (raw.startswith(_HEAD) or _HEAD.startswith(raw))


def _read(raw: bytes) -> dict | None:
    said = checked(raw)
    whole = said is not None and (type(said.get("gone")) is str or is_entry(said))
    return said if whole else None


def checked(raw: bytes) -> dict | None:
    """What `line` wrote, if its checksum fits."""
    rest = _unsealed(raw)
    if not rest:
        return None
    try:
        said = load("{" + rest.decode("utf-8"))
    except UNREADABLE:
        return None
    return said if type(said) is dict else None


def _unsealed(raw: bytes) -> bytes:
    """All that follows the checksum, if that fits. Somebody may have been killed in the very moment before
    the line was appended: then it stands behind the beginning of another."""
    raw = raw[max(0, raw.rfind(_HEAD)) :]
    written, _, rest = raw.removeprefix(_HEAD).partition(b",")
    return rest if raw.startswith(_HEAD) and written == b"%d" % checksum(rest) else b""


def sealed(raw: bytes) -> bytes:
    """All that follows the checksum, whether that fits or not: for who asks what a line could be about."""
    return raw[raw.rfind(_HEAD) + len(_HEAD) :].partition(b",")[2]


def is_entry(said: dict) -> bool:
    """Whether it says all that a line says of a checkpoint."""
    return list(map(type, map(said.get, _NAMES))) == _KINDS  # of hundreds, with every checkpoint


def load_all(home: Home) -> Catalogue:
    """A torn last line was never acknowledged and is not there."""
    try:
        data = files.read(home.index, _LARGEST)
    except FileNotFoundError:
        data = b""
    return Catalogue(data.split(b"\n")[:-1])


def show(home: Home, wait: bool = False) -> None:
    """Render `index.json`. Whoever finds another at it leaves: that one looks, when it has let go, whether
    there is more to show, up to three times. Who is about to remove something does `wait`: what is gone
    must not be shown."""
    size = -1
    for _ in range(3):
        if size == _size(home.index):
            return
        lock = files.Lock(home.checkpoints + "/index.lock")
        if not wait and not lock.attempt():
            return
        with lock:
            size = _size(home.index)
            _write(home, newest(home, size))


def newest(home: Home, size: int) -> list[bytes]:
    """The entries that `index.json` holds, as text."""
    found: list[bytes] = []
    for lines in _parts(home, size):
        found = _shown(lines)[-_MOST_SHOWN:]
        if len(found) == _MOST_SHOWN:
            break
    return found


def latest(home: Home, size: int) -> list[dict]:
    """The entries of the index when it had that size, newest last: all that its tail tells of, if any."""
    for lines in _parts(home, size):
        found = list(Catalogue(lines).entries.values())
        if found:
            return found
    return []


def _parts(home: Home, size: int) -> "Iterator[list[bytes]]":
    """The lines of its tail; then all of them, where the tail only says what is gone."""
    fd = files.open_regular(home.index)
    try:
        for start in sorted({max(0, size - _TAIL), 0}, reverse=True):
            yield posix.pread(fd, size - start, start).split(b"\n")[1 if start else 0 : -1]
    finally:
        posix.close(fd)


def _shown(lines: list[bytes]) -> list[bytes]:
    """What is shown of each, oldest first, cut out of its line: to parse them all would cost several times
    what the rest of a checkpoint does. What looks like a key is one: in a text its quotes are escaped."""
    found: dict[bytes, bytes] = {}
    for raw in lines:
        rest = _unsealed(raw)
        if rest.startswith(b'"gone":"'):
            found.pop(rest.split(b'"', 4)[3], None)
        elif uid := rest.partition(b',"uid":"')[2].partition(b'"')[0]:
            found.setdefault(uid, b"{%s}" % rest.partition(_BEYOND)[0])
    return [text for _, text in sorted(found.items())]


def _write(home: Home, entries: list[bytes]) -> None:
    whole = b'{"version":"1.0","checkpoints":[%s],"last_updated":"%s"}\n'
    data = whole % (b",".join(entries), rfc3339(now()).encode())
    files.replace(home.checkpoints + "/index.json", data, durable=False)


def _size(path: str) -> int:
    try:
        return posix.stat(path).st_size
    except FileNotFoundError:
        return 0
