"""The board of a project: board/<key>.jsonl in home, one line for each message and each mark upon one.

It is truth that nothing can rebuild, so a line is on the disk before anybody is told of it. Lines are those
of the index: each carries its checksum, a damaged one costs only itself, and one that somebody was killed
over is passed over. What is over is left out when the file has grown, under a lock that waits for all.

All working trees of a repository share one. `.coordination/blackboard.json` is its rendering in the
project, for people and scripts. It is never read back: a cloned repository must not speak to our agents.
"""

import posix

from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import dump, text
from holdfast.core.seen import checksum
from holdfast.disk import compiled, files, index, messages, outbox, spool, worktree
from holdfast.disk.folder import TEMPORARY, Folder
from holdfast.disk.home import Home
from holdfast.errors import BadInput

_LARGEST = 1 << 26
#: Bytes from which on it is looked, each time it has grown by a step, whether most of it is over; and of
#: what is not, before no more is taken.
_TIDY, _STEP, _MOST = 1 << 18, 1 << 16, 1 << 20
#: Of that, what may be of other machines: however much they say, there is room for what is said here, and a
#: hook reads all of it in some hundredths of a second.
_MOST_OF_OTHERS = _MOST // 2
#: Bytes before a place by which it is known again.
_TAIL = 64
#: Bytes of an id.
_ID = 26
#: Bytes in which its first line stands.
_FIRST = 1 << 13
_FOLDER, _SHOWN, _IGNORE = ".coordination", "blackboard.json", ".gitignore"
#: By this our rendering is known: what somebody else keeps there is not overwritten.
_OURS = b'{"version":"1.0","holdfast":"rendering, never read back",'
_MOST_SHOWN = 200


class Place:
    """Of a board: the name of its file, and the project that it is of."""

    __slots__ = ("key", "root")

    def __init__(self, key: str, root: str) -> None:
        self.key = key
        self.root = root


def place(folder: str) -> Place:
    """The board for whoever works in this folder."""
    tree = worktree.find(folder)
    if tree is None:
        real = worktree.real(folder)
        return Place(spool.key(real), real)
    main, _, name = tree.common.rpartition("/")
    return Place(spool.key(tree.common), main if name == ".git" and main else tree.root)


class Board:
    """What was read of one: messages in the order in which they were posted, and the marks upon each, also
    upon those that are not among them. `end` is the place up to which was read. With a reader only what
    concerns that one is looked at: of the words of many agents each is meant for few."""

    __slots__ = ("damaged", "end", "marks", "messages", "root", "starts", "torn")

    def __init__(
        self,
        data: bytes = b"",
        start: int = 0,
        before: bytes = b"",
        reader: messages.Reader | None = None,
    ) -> None:
        self.messages: dict[str, dict] = {}
        self.marks: dict[str, list[dict]] = {}
        self.starts: dict[str, list[int]] = {}  # of each message: the place before it
        self.damaged: list[bytes] = []
        self.torn = 0
        self.root = ""
        data = before + data
        at, ahead = len(before), start - len(before)
        *whole, _ = data[at:].split(b"\n")
        wanted = _concerning(whole, reader) if reader else None
        for number, raw in enumerate(whole):
            if wanted is None or number in wanted:
                said = self._take(raw)
                if said and said not in self.starts:
                    self.starts[said] = [ahead + at, checksum(data[max(0, at - _TAIL) : at])]
            at += len(raw) + 1
        self.end = [ahead + at, checksum(data[max(0, at - _TAIL) : at])]

    def _take(self, raw: bytes) -> str:
        """The id of a message, or ""."""
        said = index.checked(raw)
        if said is None:
            torn = index.is_torn(raw)
            self.torn += torn
            self.damaged += [] if torn else [raw]
        elif messages.is_message(said):
            self.messages.setdefault(said["id"], said)
            return str(said["id"])
        elif messages.is_mark(said):
            self.marks.setdefault(said["of"], []).append(said)
        elif type(said.get("board")) is str:
            self.root = self.root or said["board"]
        else:
            self.damaged.append(raw)
        return ""

    def of(self, uid: str) -> list[dict]:
        return self.marks.get(uid, [])

    def open(self, at: int) -> list[dict]:
        return [one for uid, one in self.messages.items() if not messages.is_over(one, self.of(uid), at)]

    def waiting(self, reader: messages.Reader, at: int) -> list[dict]:
        """What is still to be delivered to this reader, oldest first."""
        return [
            one for uid, one in self.messages.items() if messages.waits_for(one, self.of(uid), reader, at)
        ]


def _concerning(lines: list[bytes], reader: messages.Reader) -> set[int]:
    """Which lines: all but those that are surely a message to others, or a mark upon one. Most are, and to
    read each would be most of what a hook does among many agents."""
    names = [b'"to":"%s"' % name.encode("utf-8", "replace") for name in reader.names]
    found, ids, marks = set(), set(), []
    for number, raw in enumerate(lines):
        kind, _, rest = index.sealed(raw).partition(b'":"')
        if kind == b'"of':
            marks.append((number, rest[:_ID]))
        elif kind != b'"id':
            found.add(number)
        elif any(name in rest for name in names):
            found.add(number)
            ids.add(rest[:_ID])
    return found.union(number for number, uid in marks if uid in ids)


def load(home: Home, key: str) -> Board:
    """All of it; an empty one where there is none."""
    return since(home, key, [])


def since(home: Home, key: str, known: list[int], reader: messages.Reader | None = None) -> Board:
    """What was written beyond a place that is known; all of it where that is not the same file any more.
    With a reader what concerns that one."""
    try:
        fd = files.open_regular(path(home, key))
    except (FileNotFoundError, NotADirectoryError):
        return Board()
    try:
        size = posix.fstat(fd).st_size
        if size > _LARGEST:
            raise BadInput(f"{path(home, key)} has {size} bytes, more than a board ever has; move it away")
        start, before = 0, b""
        if known and 0 < known[0] <= size:
            tail = posix.pread(fd, min(_TAIL, known[0]), max(0, known[0] - _TAIL))
            if checksum(tail) == known[1]:
                start, before = known[0], tail
        return Board(_read(fd, start, size), start, before, reader)
    finally:
        posix.close(fd)


def _read(fd: int, start: int, end: int) -> bytes:
    parts = []
    while start < end and (piece := posix.pread(fd, min(end - start, 1 << 20), start)):
        parts.append(piece)
        start += len(piece)
    return b"".join(parts)


def post(home: Home, where: Place, message: dict) -> None:
    """Durable when it returns."""
    _refuse_full(home, where.key)
    _write_down(home, where, [message])
    outbox.put(home, outbox.MESSAGE, {"root": where.root, "said": message}, message["id"])


def take_in(home: Home, where: Place, said: list[dict], there: Board) -> int:
    """Messages and marks of other machines, which the team knows already, as many as there is room for
    beside those that are `there`. How many; they are durable when it returns."""
    stand = there.open(now())
    marks = [mark for message in stand for mark in there.of(message["id"])]
    room = _MOST_OF_OTHERS - sum(len(index.line(one)) for one in [*stand, *marks] if "machine" in one)
    taken = []
    for one in said:
        room -= len(index.line(one))
        if room < 0:
            break
        taken.append(one)
    if taken:
        _write_down(home, where, taken)
    return len(taken)


def _write_down(home: Home, where: Place, said: list[dict]) -> None:
    files.make_dir(home.board)
    data = b"\n".join(map(index.line, said))
    own = path(home, where.key)
    try:
        size = posix.stat(own).st_size
    except FileNotFoundError:
        size, data = 0, b"%s\n%s" % (index.line({"board": where.root}), data)
    _append(own, data)
    if size // _STEP != (size + len(data)) // _STEP and size > _TIDY - _STEP:
        _tidy(home, where.key)


def mark(home: Home, key: str, marks: list[dict]) -> None:
    """Say what became of messages; durable when it returns."""
    _append(path(home, key), b"\n".join(map(index.line, marks)))
    for one in marks:
        outbox.put(home, outbox.MARK, {"board": key, "said": one}, messages.mark_uid(one))


def _append(own: str, data: bytes) -> None:
    """What is no file, or cannot be opened, is in the way and set aside."""
    try:
        files.append_durably(own, data)
    except OSError:
        if not files.clear_the_way(own):
            raise
        files.append_durably(own, data)


def _refuse_full(home: Home, key: str) -> None:
    try:
        if posix.stat(path(home, key)).st_size <= _MOST:
            return
    except FileNotFoundError:
        return
    found, at = load(home, key), now()
    if len(_kept(found, at)) > _MOST:
        raise BadInput(
            f"the board of {found.root} is full: {len(found.open(at))} messages wait for somebody; "
            "`holdfast board list` shows them, `holdfast board ack ID` ends one"
        )


def _tidy(home: Home, key: str) -> None:
    """Leave out what is over where that is most of it. Those who write wait; who only reads has either."""
    at = now()
    found = load(home, key)
    if 2 * len(_kept(found, at)) > found.end[0]:
        return
    fd = files.open_shared(path(home, key), alone=True)
    try:
        found = Board(_read(fd, 0, posix.fstat(fd).st_size))
        if found.damaged:  # evidence
            aside = files.aside(path(home, key))
            files.replace(aside, b"\n".join(found.damaged) + b"\n", durable=True)
        files.renew(path(home, key), _kept(found, at))
    finally:
        posix.close(fd)


def _kept(found: Board, at: int) -> bytes:
    """What is not over, and all that was said of it."""
    lines = [{"board": found.root}, *found.open(at)]
    lines += [mark for message in lines[1:] for mark in found.of(message["id"])]
    return b"".join(index.line(one) + b"\n" for one in lines)


def root(home: Home, key: str) -> str:
    """The project that one is of, from its first line; "" where that cannot be read."""
    try:
        fd = files.open_regular(path(home, key))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    try:
        said = index.checked(posix.pread(fd, _FIRST, 0).partition(b"\n")[0])
    finally:
        posix.close(fd)
    return text(said or {}, "board")


def keys(home: Home) -> list[str]:
    """Of every board there is."""
    try:
        names = posix.listdir(home.board)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))


def show(home: Home, where: Place) -> str:
    """Write the rendering, in the project that the board is of, where no link leads elsewhere. Its path.
    Whoever finds another at it leaves: that one looks, when it is done, whether there is more to show."""
    own, shown = path(home, where.key), [0]
    for _ in range(3):
        if shown == compiled.signature(own):
            break
        lock = files.Lock(f"{home.board}/{where.key}.lock")
        if not lock.attempt():
            break
        with lock:
            shown = compiled.signature(own)
            _write(where.root, _rendered(load(home, where.key)))
    return f"{where.root}/{_FOLDER}/{_SHOWN}"


def _rendered(found: Board) -> bytes:
    newest = list(found.messages.items())[-_MOST_SHOWN:]
    said = [dump(messages.shown(one, found.of(uid))).encode() for uid, one in newest]
    return b'%s"messages":[%s],"last_updated":"%s"}\n' % (_OURS, b",".join(said), rfc3339(now()).encode())


def _write(root: str, data: bytes) -> None:
    with Folder.make(root, (_FOLDER, 0o755)) as folder:
        if not folder.has(_IGNORE):
            folder.create(_IGNORE, b"*\n", mode=0o644)
        if folder.has(_SHOWN) and folder.begin(_SHOWN, len(_OURS)) != _OURS:
            raise BadInput(f"{root}/{_FOLDER}/{_SHOWN} was not written by holdfast; move it away")
        folder.remove(_SHOWN + TEMPORARY)
        folder.create(_SHOWN + TEMPORARY, data)
        folder.rename(_SHOWN + TEMPORARY, _SHOWN)


def path(home: Home, key: str) -> str:
    return f"{home.board}/{key}.jsonl"
