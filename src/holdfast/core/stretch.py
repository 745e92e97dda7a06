"""What a prompt caused: the turns until the next one, and what they added to the window."""

from holdfast.core import shellfiles, spoken
from holdfast.core.foreseen import Facts, file_tokens
from holdfast.core.rewind import Rewinds
from holdfast.core.transcript import Entry, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

#: Tools that name a file: one shows it, one writes all of it, the others change it.
_READS, _WRITES = "Read", "Write"
_TOUCH = (_READS, _WRITES, "Edit", "MultiEdit")
_SHELL = "Bash"
#: What a command puts here is its own, and no file that anybody would have planned with.
_PASSING = ("/dev/", "/tmp/", "/private/tmp/", "/var/folders/")  # noqa: S108 - nothing is put there
_BRACKETS = str.maketrans("'\"`()[]{}<>,;:!?", " " * 16)


class Stretch:
    """`words`: what was typed. `cost`: the tokens by which the window grew from one response to the next,
    all in all; what a compaction took away does not count against it. `changed` and `read`: files with
    their bytes as they were before, None where nobody knows; what is changed is not also read. `before`
    and `window`: the files that the window held when it began, and when it ended. `by_tool`: some of these
    were touched by a tool for files, not by a command alone. `is_done`: it was not cut off."""

    __slots__ = (
        "before",
        "by_tool",
        "changed",
        "cost",
        "created",
        "files",
        "is_done",
        "offset",
        "read",
        "turns",
        "uuid",
        "window",
        "words",
    )

    def __init__(self, words: str, offset: int, uuid: str = "", before: frozenset = frozenset()) -> None:
        self.words = words
        self.offset = offset
        self.uuid = uuid
        self.before = before
        self.window = set(before)
        self.turns = self.cost = 0
        self.is_done = self.by_tool = False
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

    def touched(self) -> set:
        return {*self.changed, *self.read, *self.created}

    def facts(self, held: "Container[str] | None" = None) -> Facts | None:
        """As somebody would have known them who had planned it: with the files it will change and read, and
        their sizes then; `held` are those in the window, as it began where nothing else is said. None where
        no tool has touched any: that a command names one does not make a task of it."""
        if not self.by_tool:
            return None
        held = self.before if held is None else held
        changed, read = self.changed, self.read
        tokens = [sum(map(file_tokens, of.values())) for of in (changed, read)]
        there = [sum(file_tokens(of[path]) for path in of if path in held) for of in (changed, read)]
        return Facts(len(self.words), len(changed), len(self.created), len(read), *tokens, *there)

    def task(self) -> dict:
        """As somebody would have written it down before: with the files it names, and no more."""
        files = named_files(self.words)
        return {"description": self.words, **({"files": files} if files else {})}


def stretches(lines: "Iterable[tuple[Entry, dict]]") -> "list[Stretch]":
    """Of one session, oldest first; of what a rewind left behind nothing. One in which nothing was answered
    cost nothing, and is left out; what the window holds after it is what the last of them ends with."""
    kept = [(made, record) for made, record in lines if not made.agent]
    rewinds = Rewinds()
    for made, _ in kept:
        rewinds.take(made)
    cut = _Cut()
    for made, record in kept:
        if not any(start <= made.offset < end for start, end in rewinds.dead):
            cut.take(made, record)
    found = [one for one in cut.found if one.turns]
    if found:
        found[-1].window = cut.found[-1].window
    return found


class _Cut:
    """The entries of a session, one after the other."""

    def __init__(self) -> None:
        self.found: list[Stretch] = []
        self._last, self._message = 0, ""
        self._asked: dict[str, tuple[str, str, str]] = {}
        self._sizes: dict[str, int | None] = {}
        self._window: set[str] = set()

    def take(self, made: Entry, record: dict) -> None:
        if (words := _typed(made, record)) is not None:
            self.found.append(Stretch(words, made.offset, made.uuid, frozenset(self._window)))
            self._window = self.found[-1].window
        elif made.kind == "boundary":
            self._last = 0
            self._window.clear()
            if self.found and not self.found[-1].turns:
                self.found[-1].before = frozenset()
        elif made.kind == "answer" and not made.failed:
            self._answer(made)
        elif self.found and made.denied:
            self.found[-1].is_done = False
        if made.kind == "result" and self.found:
            self._results(made, self.found[-1])

    def _answer(self, made: Entry) -> None:
        used = made.usage.context + made.usage.output if made.usage else 0
        if self.found:
            current = self.found[-1]
            current.turns += made.message != self._message
            current.is_done = not made.uses
            for name, tool, given in made.uses:
                if type(path := given.get("file_path")) is str:
                    current.files.add(path)
                    if tool in _TOUCH:
                        self._asked[name] = tool, path, ""
                elif tool == _SHELL and type(command := given.get("command")) is str:
                    self._asked[name] = tool, command, made.cwd
            current.cost += max(0, used - self._last) if self._last and used else 0
        self._last, self._message = used or self._last, made.message

    def _results(self, made: Entry, current: Stretch) -> None:
        for name, is_error, result, _ in made.results:
            tool, said, folder = self._asked.pop(name, ("", "", ""))
            if is_error:
                continue
            if tool == _SHELL:
                for path, how in shellfiles.files(said, folder):
                    if not path.startswith(_PASSING):
                        # What is changed in its place was there before, as is what was met before.
                        is_new = how == shellfiles.PUT and path not in self._sizes
                        size = self._sizes.setdefault(path, None)
                        current.touch(path, how == shellfiles.SHOWN, is_new, size)
                        self._window.add(path)
            elif tool:
                before, after, is_new = _sizes(tool, result, self._sizes.get(said))
                current.touch(said, tool == _READS, is_new, before)
                current.by_tool = True
                self._sizes[said] = after
                self._window.add(said)


def _typed(made: Entry, record: dict) -> str | None:
    """What a person typed to give the model something to do: also a command of theirs, which the client
    writes down in its own words. None for all else."""
    if made.kind == "prompt":
        return spoken.asked(record)
    words = spoken.slash_command(record) if made.kind == "note" else ""
    return words if words.partition(" ")[0] not in spoken.TO_CLIENT else None


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
