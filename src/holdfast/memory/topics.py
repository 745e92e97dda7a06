"""The client's own memory of a project: an index, MEMORY.md, and a file for each topic.

The client reads and writes them whenever it likes. So there is no copy and no second index: each file is
read when it is needed, and replaced only if it still holds what was read. What is not meant to change stays
as it is, to the byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from holdfast.core.digest import sha256_hex
from holdfast.core.plain import one_line
from holdfast.disk import files
from holdfast.errors import BadInput, HoldfastError, NotFound
from holdfast.memory import swap

INDEX = "MEMORY.md"
TYPES = ("user", "feedback", "project", "reference")
#: What the client loads of the index, and what it asks of one line.
MOST_LINES, MOST_CHARACTERS, LONGEST_LINE = 200, 25_000, 150
#: A topic that is larger is not read; one that is larger than the second says too much at once.
LARGEST, LARGE = 1 << 20, 64 << 10
_MOST_FILES, _DEEPEST, _TRIES = 2000, 3, 8
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_LINK = re.compile(r"^\s*[-*+]\s*\[([^\]]*)\]\(<?([^)>]+)>?\)(.*)$")
_FOLDED = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Topic:
    """`file` is its path below the folder; `problem`: why it cannot be used as it is."""

    file: str
    name: str
    description: str
    type: str
    text: str
    body: str
    size: int
    problem: str

    @property
    def front(self) -> str:
        return self.text[: len(self.text) - len(self.body)]


@dataclass(frozen=True)
class Entry:
    """A line of the index that leads to a topic."""

    number: int
    line: str
    title: str
    file: str
    hook: str


class Memory:
    """The folder as it is now."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self.topics = [one for file in _files(self.folder) if (one := self._topic(file))]
        self.index = _text(swap.current(self.path(INDEX))) if self._has_index() else ""
        self.entries = list(entries(self.index))

    def _has_index(self) -> bool:
        path = self.path(INDEX)
        if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
            raise BadInput(f"{path} is not a plain file; holdfast leaves it alone")
        return os.path.exists(path)

    def path(self, file: str) -> str:
        """Of a file in it, and of nothing else."""
        path = os.path.normpath(os.path.join(self.folder, file))
        if not path.startswith(self.folder + os.sep):
            raise BadInput(f"{file[:80]!r} leads out of {self.folder}")
        return path

    def _topic(self, file: str) -> Topic | None:
        try:
            return self._read(file)
        except FileNotFoundError:
            return None  # since it was listed
        except OSError as problem:
            return Topic(file, "", "", "", "", "", 0, f"it cannot be read: {problem.strerror}")

    def _read(self, file: str) -> Topic:
        path = self.path(file)
        size = os.lstat(path).st_size
        if os.path.islink(path):
            return Topic(file, "", "", "", "", "", size, "it is a link: not read")
        if size > LARGEST:
            return Topic(file, "", "", "", "", "", size, f"it has {size:,} bytes: not read")
        data = files.read(path, LARGEST)
        if b"\0" in data:
            return Topic(file, "", "", "", "", "", size, "it is no text")
        return parsed(file, _text(data), size)

    def named(self, name: str) -> Topic:
        """The one that is meant: by its name, its file, or how one of them begins."""
        wanted = [one for one in self.topics if name in (one.name, one.file, one.file.removesuffix(".md"))]
        if not wanted and len(name) > 2:
            wanted = [one for one in self.topics if one.name.startswith(name) or one.file.startswith(name)]
        if not wanted:
            raise NotFound(
                f"no topic {name[:80]!r} in {self.folder}; `holdfast memory list` shows those there are"
            )
        if len(wanted) > 1:
            known = ", ".join(one.file for one in wanted[:10])
            raise BadInput(f"{len(wanted)} topics are called {name[:80]!r}; name one by its file: {known}")
        return wanted[0]


def entries(index: str) -> Iterator[Entry]:
    for number, line in enumerate(index.splitlines(), 1):
        found = _LINK.match(line)
        if found and "://" not in found[2]:
            hook = found[3].strip().lstrip("—–-: ").strip()
            yield Entry(number, line, found[1].strip(), found[2].strip().removeprefix("./"), hook)


def parsed(file: str, text: str, size: int) -> Topic:
    front = _FRONT.match(text)
    if not front:
        what = "its frontmatter has no end" if text.startswith("---") else "it has no frontmatter"
        return Topic(file, "", "", "", text, text, size, what)
    body = text[front.end() :]
    try:
        said = YAML(typ="safe", pure=True).load(front[1])
    except (YAMLError, ValueError, RecursionError) as problem:
        what = one_line(str(problem).partition("\n")[0])[:120]
        return Topic(file, "", "", "", text, body, size, f"its frontmatter is not YAML: {what}")
    if not isinstance(said, dict):
        return Topic(file, "", "", "", text, body, size, "its frontmatter holds no keys")
    more = said.get("metadata")
    kind = said.get("type") or (more.get("type") if isinstance(more, dict) else None)
    name, description, kind = (
        one_line(str(one or "")) for one in (said.get("name"), said.get("description"), kind)
    )
    missing = [
        key for key, one in (("name", name), ("description", description), ("type", kind)) if not one
    ]
    wrong = f"its frontmatter lacks {', '.join(missing)}" if missing else ""
    if kind and kind not in TYPES:
        wrong = f"its type is {kind[:40]!r}; there are {', '.join(TYPES)}"
    return Topic(file, name, description, kind, text, body, size, wrong)


def rendered(name: str, description: str, kind: str, body: str) -> str:
    """A new topic, in the client's own form."""
    return f"{heading(name, description, kind)}\n{body.strip()}\n"


def heading(name: str, description: str, kind: str) -> str:
    return (
        f"---\nname: {scalar(name)}\ndescription: {scalar(description)}\nmetadata:\n  type: {kind}\n---\n"
    )


def scalar(words: str) -> str:
    """As YAML reads it back."""
    plain = re.fullmatch(r"[A-Za-z0-9][\w ,.()/+-]*", words) and not words.endswith((" ", "."))
    return (
        words
        if plain and not re.fullmatch(r"[\d._eE+-]+|true|false|null|yes|no|on|off", words, re.I)
        else _quoted(words)
    )


def _quoted(words: str) -> str:
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


def changed(topic: Topic, key: str, value: str) -> str:
    """The text with one key of the frontmatter set anew; everything else as it is. A value that stands on
    more than one line goes as a whole."""
    end = "\r\n" if "\r\n" in topic.front else "\n"
    lines = topic.front.splitlines(keepends=True)
    pattern = re.compile(rf"^([ \t]*){key}[ \t]*:")
    at = next((number for number, line in enumerate(lines) if number and pattern.match(line)), 0)
    if not at:
        lines.insert(len(lines) - 1, f"{key}: {scalar(value)}{end}")
        return "".join(lines) + topic.body
    indent = pattern.match(lines[at])[1]  # type: ignore[index]
    after = at + 1
    while after < len(lines) - 1 and (not lines[after].strip() or _deeper(lines[after], indent)):
        after += 1
    lines[at:after] = [f"{indent}{key}: {scalar(value)}{end}"]
    return "".join(lines) + topic.body


def _deeper(line: str, indent: str) -> bool:
    return len(line) - len(line.lstrip(" \t")) > len(indent)


def file_for(name: str, kind: str, taken: set[str]) -> str:
    """A name of its own for a new topic."""
    stem = _FOLDED.sub("_", f"{kind}_{name.lower()}").strip("_")[:80]
    if stem == f"{kind}":
        stem = f"{kind}_{sha256_hex(name.encode())[:8]}"
    found, number = f"{stem}.md", 2
    while found in taken:
        found, number = f"{stem}_{number}.md", number + 1
    return found


def line_for(topic: Topic) -> str:
    line = f"- [{topic.name.replace('[', '(').replace(']', ')')}]({topic.file}) — {topic.description}"
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 2].rstrip() + " …"


def with_line(index: str, line: str) -> str:
    end = "\r\n" if "\r\n" in index else "\n"
    return f"{index}{end if index and not index.endswith(chr(10)) else ''}{line}{end}"


def without(index: str, numbers: set[int]) -> str:
    lines = index.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, 1) if number not in numbers)


def check_limits(index: str) -> None:
    """An index the client would cut is not made."""
    if len(index.splitlines()) > MOST_LINES or len(index) > MOST_CHARACTERS:
        raise BadInput(
            f"{INDEX} would have more than {MOST_LINES} lines or {MOST_CHARACTERS:,} characters, and the "
            "client would cut it; forget or join some topics first (`holdfast memory lint`)"
        )


def edit(memory: Memory, file: str, change: Callable[[str | None], str | None]) -> tuple[str, str]:
    """(before, after) of one file. `change` is given what stands there (None: no file) and gives what shall
    (None: none); where somebody else wrote in between it is asked again. The caller holds the lock."""
    path = memory.path(file)
    if os.path.islink(path):
        raise BadInput(f"{path} is a link; holdfast does not write through it")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{os.path.dirname(path)}/.holdfast-{os.path.basename(path)}.tmp"
    for _ in range(_TRIES):
        before = swap.current(path)
        after = change(None if before is None else _text(before))
        new = None if after is None else after.encode("utf-8", "surrogateescape")
        if new == before or (before is not None and swap.put(path, before, new, temporary)):
            return _text(before), after or ""
        if before is None and swap.put(path, None, new, temporary):
            return "", after or ""
    raise HoldfastError(f"{path} is being written by somebody else again and again; try again")


def _text(data: bytes | None) -> str:
    """Whatever bytes there are come out again as they were."""
    return (data or b"").decode("utf-8", "surrogateescape")


def _files(folder: str, below: str = "", depth: int = 0) -> Iterator[str]:
    """Every Markdown file but the index; links to folders are not followed."""
    try:
        found = sorted(os.scandir(os.path.join(folder, below)), key=lambda one: one.name)[:_MOST_FILES]
    except FileNotFoundError:
        return
    for one in found:
        name = f"{below}{one.name}"
        if one.name.startswith("."):
            continue
        if one.is_dir(follow_symlinks=False) and depth < _DEEPEST:
            yield from _files(folder, f"{name}/", depth + 1)
        elif one.name.endswith(".md") and name != INDEX and (one.is_symlink() or one.is_file()):
            yield name
