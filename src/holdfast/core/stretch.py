"""What a prompt caused: the turns until the next one, and what they added to the window."""

from holdfast.core import spoken
from holdfast.core.foreseen import Facts, file_tokens
from holdfast.core.rewind import Rewinds
from holdfast.core.transcript import Entry, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Tools that name a file: one shows it, one writes all of it, the others change it.
_READS, _WRITES = "Read", "Write"
_TOUCH = (_READS, _WRITES, "Edit", "MultiEdit")
_BRACKETS = str.maketrans("'\"`()[]{}<>,;:!?", " " * 16)


class Stretch:
    """`words`: what was typed. `cost`: the tokens by which the window grew from one response to the next,
    all in all; what a compaction took away does not count against it. `changed` and `read`: files with
    their bytes as they were before, None where nobody knows; what is changed is not also read."""

    __slots__ = ("changed", "cost", "created", "files", "offset", "read", "turns", "words")

    def __init__(self, words: str, offset: int) -> None:
        self.words = words
        self.offset = offset
        self.turns = self.cost = 0
        self.files: set[str] = set()
        self.changed: dict[str, int | None] = {}
        self.read: dict[str, int | None] = {}
        self.created: set[str] = set()

    def touch(self, path: str, is_read: bool, is_new: bool, size: int | None) -> None:
        if path in self.created or path in self.changed:
            return
        size = self.read.get(path, size)
        if is_read:
            self.read[path] = size
            return
        self.read.pop(path, None)
        if is_new:
            self.created.add(path)
        else:
            self.changed[path] = size

    def facts(self) -> Facts | None:
        """As somebody would have known them who had planned it: with the files it will change and read, and
        their sizes then. None where it touched none."""
        if not (self.changed or self.read or self.created):
            return None
        changed, read = (sum(map(file_tokens, of.values())) for of in (self.changed, self.read))
        counts = len(self.changed), len(self.created), len(self.read)
        return Facts(len(self.words), *counts, changed, read)

    def task(self) -> dict:
        """As somebody would have written it down before: with the files it names, and no more."""
        files = named_files(self.words)
        return {"description": self.words, **({"files": files} if files else {})}


def stretches(lines: "Iterable[tuple[Entry, dict]]") -> "list[Stretch]":
    """Of one session, oldest first; of what a rewind left behind nothing. One in which nothing was answered
    cost nothing, and is left out."""
    kept = [(made, record) for made, record in lines if not made.agent]
    rewinds = Rewinds()
    for made, _ in kept:
        rewinds.take(made)
    return [one for one in _cut(kept, rewinds.dead) if one.turns]


def _cut(lines: "list[tuple[Entry, dict]]", dead: list) -> "Iterator[Stretch]":
    current: Stretch | None = None
    last, message = 0, ""
    asked: dict[str, tuple[str, str]] = {}
    sizes: dict[str, int | None] = {}
    for made, record in lines:
        if any(start <= made.offset < end for start, end in dead):
            continue
        if made.kind == "prompt":
            if current:
                yield current
            current = Stretch(spoken.typed(record), made.offset)
        elif made.kind == "boundary":
            last = 0
        elif made.kind == "result" and current:
            for name, is_error, result, _ in made.results:
                tool, path = asked.pop(name, ("", ""))
                if path and not is_error:
                    before, after, is_new = _sizes(tool, result, sizes.get(path))
                    current.touch(path, tool == _READS, is_new, before)
                    sizes[path] = after
        elif made.kind == "answer" and not made.failed:
            used = made.usage.context + made.usage.output if made.usage else 0
            if current:
                current.turns += made.message != message
                for name, tool, given in made.uses:
                    if type(path := given.get("file_path")) is str:
                        current.files.add(path)
                        asked[name] = (tool, path) if tool in _TOUCH else ("", "")
                current.cost += max(0, used - last) if last and used else 0
            last, message = used or last, made.message
    if current:
        yield current


def _sizes(tool: str, result: object, known: int | None) -> tuple:
    """(bytes of a file before, bytes after, whether it is new), by what the client kept of a call."""
    told = result if type(result) is dict else {}
    if tool == _READS:
        file = told.get("file")
        size = _whole(file) if type(file) is dict else None
        return (known, known, False) if size is None else (size, size, False)
    before, content = told.get("originalFile"), told.get("content")
    size = _bytes(before) if type(before) is str else known
    if tool != _WRITES:
        return size, size, False
    is_new = told.get("type") == "create" or ("type" not in told and size is None)
    return size, _bytes(content) if type(content) is str else None, is_new


def _whole(file: dict) -> int | None:
    """Bytes of all of it, where a part was shown."""
    content, shown, lines = file.get("content"), count(file.get("numLines")), count(file.get("totalLines"))
    if type(content) is not str or not shown:
        return None
    return _bytes(content) * max(lines, shown) // shown


def _bytes(words: str) -> int:
    return len(words.encode("utf-8", "surrogatepass"))


def named_files(words: str) -> list[str]:
    """What looks like a file among words: an ending of letters behind a dot, no address."""
    found = []
    for word in words.translate(_BRACKETS).split():
        name = word.lstrip("@").rstrip(".")
        ending = name.rpartition("/")[2].rpartition(".")[2]
        if (
            "." in name
            and "//" not in name
            and 0 < len(ending) <= 5
            and ending.isalpha()
            and ending.islower()
        ):
            found.append(name)
    return list(dict.fromkeys(found))[:64]
