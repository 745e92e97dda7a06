"""config.yaml as text: what it says, with the line of everything that is wrong with it, and an edit that
touches one value and leaves every other byte as it is.

The file is only ever parsed into nodes. Nothing is constructed from it, so that no tag, anchor or alias in
it can do anything; they are refused like everything else that is not a plain value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.reader import ReaderError

from holdfast.core.config import DEFAULTS, Config, expected, fallen, parse
from holdfast.errors import BadInput

_SECTIONS = {key[:i] for key in DEFAULTS for i, letter in enumerate(key) if letter == "."}
_NULL = "tag:yaml.org,2002:null"
_STEP = 2
_LONGEST = 80


@dataclass(frozen=True)
class Problem:
    """`line` is 0 where the whole file is meant."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(frozen=True)
class Entry:
    """A key or a section: where it stands, and in which mapping."""

    inside: MappingNode
    key: ScalarNode
    value: Node

    @property
    def line(self) -> int:
        return _line(self.key)


@dataclass
class Document:
    text: str
    root: Node | None = None
    values: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read(text: str) -> Document:
    made = Document(text)
    try:
        made.root = YAML(pure=True).compose(text)
    except RecursionError:
        made.problems.append(Problem(0, "it is nested too deep to be a configuration"))
    except YAMLError as problem:
        made.problems.append(_not_yaml(problem, text))
    if isinstance(made.root, MappingNode):
        _take(made, made.root, "")
    elif made.root is not None and made.root.tag != _NULL:
        made.problems.append(
            Problem(_line(made.root), "it takes keys with values, such as `window: 200000`")
        )
    for lower, upper, what in fallen(Config(made.values)):
        line = max(made.entries[key].line for key in (lower, upper) if key in made.entries)
        made.problems.append(Problem(line, what))
    made.problems.sort(key=lambda problem: problem.line)
    return made


def nearest(name: str, known: Any = tuple(DEFAULTS)) -> str:
    """Which one was meant, as the end of a sentence."""
    found = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean `{found[0]}`?" if found else "`holdfast config show` lists those there are"


def _not_yaml(problem: YAMLError, text: str) -> Problem:
    if isinstance(problem, ReaderError):
        line = text.count("\n", 0, problem.position) + 1
        return Problem(
            line, f"there is a character that YAML does not allow (U+{ord(text[problem.position]):04X})"
        )
    if isinstance(problem, MarkedYAMLError) and problem.problem_mark is not None:
        said = " ".join(str(problem.problem or problem.context).split())
        mark = problem.problem_mark
        if "end of stream" in said and problem.context_mark is not None:
            mark = problem.context_mark  # where that began which has no end
        before = text[text.rfind("\n", 0, mark.index) + 1 : mark.index + 1]
        if "\t" in before and not before.strip():
            return Problem(mark.line + 1, "a line begins with a tab; indent it with spaces")
        return Problem(mark.line + 1, f"it is not YAML: {said}")
    return Problem(0, f"it is not YAML: {type(problem).__name__}")


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _take(made: Document, node: MappingNode, above: str) -> None:
    for key, value in node.value:
        name = above + key.value if isinstance(key, ScalarNode) else ""
        wrong = _wrong(made, key, value, name)
        if wrong:
            made.problems.append(Problem(_line(key), wrong))
            continue
        made.entries[name] = Entry(node, key, value)
        if isinstance(value, MappingNode):
            _take(made, value, name + ".")
        elif name in DEFAULTS:
            try:
                made.values[name] = parse(name, value.value)
            except BadInput as problem:
                made.problems.append(Problem(_line(key), f"`{name}` {problem}"))


def _wrong(made: Document, key: Node, value: Node, name: str) -> str:
    """What is wrong with an entry itself, whatever its value."""
    if not name:
        return "a key is a word, such as `window`"
    if name in made.entries:
        return (
            f"`{name}` is set a second time (first in line {made.entries[name].line}); take one of them out"
        )
    if name not in DEFAULTS and name not in _SECTIONS:
        return f"there is no key `{name[:_LONGEST]}`; {nearest(name[:_LONGEST], [*DEFAULTS, *_SECTIONS])}"
    if key.anchor or value.anchor or _first(made, key) == "!" or _first(made, value) == "!":
        return f"`{name}` has an anchor, an alias or a tag; write the value itself"
    if name in _SECTIONS:
        is_section = isinstance(value, MappingNode) or value.tag == _NULL
        return "" if is_section else f"`{name}` takes keys of its own, each on a line below it, indented"
    if not isinstance(value, ScalarNode):
        return f"`{name}` takes {expected(name)}, and nothing below it"
    if value.tag == _NULL:
        return f"`{name}` has no value; give it {expected(name)}, or take the line out"
    if value.style and type(DEFAULTS[name]) is not str:
        return f"`{name}` is a text; it takes {expected(name)}, without quotes"
    return ""


def _first(made: Document, node: Node) -> str:
    at = node.start_mark.index
    return made.text[at : at + 1]


# An edit


def put(made: Document, key: str, value: str) -> str:
    """The text with a key set to a value, as it is written."""
    entry = made.entries.get(key)
    if entry:
        return _spliced(made.text, entry.value.start_mark.index, entry.value.end_mark.index, value)
    names = key.split(".")
    above = (depth for depth in range(len(names), 0, -1) if ".".join(names[:depth]) in made.entries)
    depth = next(above, 0)
    entry, names = made.entries.get(".".join(names[:depth])), names[depth:]
    inside = entry.value if entry else made.root
    if isinstance(inside, MappingNode) and inside.flow_style:
        return _put_in_braces(made.text, inside, names, value)
    column = entry.key.start_mark.column + _STEP if entry else 0  # of an empty section, or file
    if isinstance(inside, MappingNode):
        column = inside.value[0][0].start_mark.column
    at = _line_end(made.text, _end(entry)) if entry else len(made.text)
    lines = [f"{' ' * (column + _STEP * depth)}{name}:" for depth, name in enumerate(names)]
    newline = "\r\n" if "\r\n" in made.text else "\n"
    before = newline if at and made.text[at - 1] != "\n" else ""
    return _spliced(made.text, at, at, before + newline.join(lines) + f" {value}{newline}")


def drop(made: Document, key: str) -> str:
    """The text without a key. Its section stays, empty or not: somebody may have written beside it."""
    entry = made.entries[key]
    if entry.inside.flow_style:
        return _drop_in_braces(made.text, entry)
    start = made.text.rfind("\n", 0, entry.key.start_mark.index) + 1
    return _spliced(made.text, start, _line_end(made.text, _end(entry)), "")


def _put_in_braces(text: str, inside: MappingNode, names: list[str], value: str) -> str:
    new = ": {".join(names) + f": {value}" + "}" * (len(names) - 1)
    if not inside.value:
        return _spliced(text, inside.start_mark.index + 1, inside.start_mark.index + 1, new)
    at = inside.value[-1][1].end_mark.index
    return _spliced(text, at, at, ", " + new)


def _drop_in_braces(text: str, entry: Entry) -> str:
    """With the comma after it or, of the last, before it."""
    start, end = entry.key.start_mark.index, entry.value.end_mark.index
    pairs = entry.inside.value
    i = next(i for i, (key, _) in enumerate(pairs) if key is entry.key)
    if pairs[i + 1 :]:
        end = pairs[i + 1][0].start_mark.index
    elif i:
        start = pairs[i - 1][1].end_mark.index
    return _spliced(text, start, end, "")


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _end(entry: Entry) -> int:
    """Where what it says ends. A block's own mark is where the next thing begins, behind all comments, and
    so is that of a value which is not there."""
    value = entry.value
    if isinstance(value, MappingNode) and not value.flow_style:
        return _end(Entry(value, *value.value[-1]))
    return int(entry.key.end_mark.index if value.tag == _NULL else value.end_mark.index)


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found + 1 if found >= 0 else len(text)
