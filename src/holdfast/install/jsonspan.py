"""JSON text as a tree that knows where everything stands, so that an edit can touch only its place.

Strict, because a settings file that we understand differently from the client is one we would break:
a comment, a trailing comma, a duplicate key or NaN is refused with its line and column. Nothing is
guessed and nothing is repaired.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from holdfast.errors import BadInput

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_NAMES = {"true": True, "false": False, "null": None}
_DEEPEST = 200  # far below the interpreter's own limit, which would end in a RecursionError
_LONGEST_NUMBER = 1000


@dataclass(frozen=True, slots=True)
class Node:
    """One value: text[start:end], what it means, and for objects and arrays what is in them."""

    start: int
    end: int
    data: Any
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object (start is where its key begins) or an item of an array (key is None)."""

    start: int
    key: str | None
    node: Node

    @property
    def end(self) -> int:
        return self.node.end


def decode(raw: bytes, name: str) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        refuse(name, "", 0, "a byte order mark, which JSON does not allow")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8")
        refuse(name, before, len(before), "bytes that are not UTF-8")


def parse(text: str, name: str) -> Node:
    """The whole file, whose root must be an object. `name` is what the file is called in errors."""
    parser = _Parser(text, name)
    root = parser.value(parser.skip(0), 0)
    after = parser.skip(root.end)
    if after != len(text):
        parser.fail(after, "something after the end of the object")
    if type(root.data) is not dict:
        parser.fail(root.start, "a value that is not an object: settings begin with {")
    return root


def refuse(name: str, text: str, offset: int, what: str) -> NoReturn:
    """`what` is a noun phrase: the thing at `offset` that is not as the client wants it."""
    lines = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    raise BadInput(
        f"{name}, line {len(lines)}, column {len(lines[-1]) + 1}: {what}. "
        "Nothing was changed; correct it there and run this again"
    )


class _Parser:
    __slots__ = ("name", "text")

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    def fail(self, at: int, what: str) -> NoReturn:
        if self.text.startswith(("//", "/*", "#"), at):
            what = "a comment, which JSON does not allow"
        elif at >= len(self.text):
            what = "the end of the file, in the middle of a value" if self.text.strip() else "an empty file"
        refuse(self.name, self.text, at, what)

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match  # the pattern matches nothing, too
        return match.end()

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            self.fail(at, f"more than {_DEEPEST} levels of nesting")
        first = self.text[at : at + 1]
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        if first == '"':
            return self._string(at)
        if match := _WORD.match(self.text, at):
            return Node(at, match.end(), _NAMES[match[0]])
        return self._number(at)

    def _string(self, at: int) -> Node:
        match = _STRING.match(self.text, at)
        if not match:
            self.fail(
                at, "a string that does not end, or holds a raw control character or an unknown escape"
            )
        inner = match[0]
        return Node(at, match.end(), json.loads(inner) if "\\" in inner else inner[1:-1])

    def _number(self, at: int) -> Node:
        match = _NUMBER.match(self.text, at)
        if not match:
            self.fail(at, "something that is no JSON value")
        if len(match[0]) > _LONGEST_NUMBER or math.isinf(float(match[0])):
            self.fail(at, "a number too large to be kept")
        return Node(at, match.end(), json.loads(match[0]))

    def _object(self, start: int, depth: int) -> Node:
        children: list[Child] = []
        data: dict[str, Any] = {}
        at = self.skip(start + 1)
        while not (children == [] and self.text.startswith("}", at)):
            if not self.text.startswith('"', at):
                self.fail(at, "a trailing comma" if self._closes(at) else "a key without quotes")
            key = self._string(at)
            if key.data in data:
                self.fail(at, f"the key {key.data!r} a second time in the same object")
            colon = self.skip(key.end)
            if not self.text.startswith(":", colon):
                self.fail(colon, f"no colon after the key {key.data!r}")
            node = self.value(self.skip(colon + 1), depth + 1)
            data[key.data] = node.data
            children.append(Child(at, key.data, node))
            at = self.skip(node.end)
            if self.text.startswith("}", at):
                break
            at = self._after_comma(at)
        return Node(start, at + 1, data, tuple(children))

    def _array(self, start: int, depth: int) -> Node:
        children: list[Child] = []
        at = self.skip(start + 1)
        while not (children == [] and self.text.startswith("]", at)):
            if self._closes(at):
                self.fail(at, "a trailing comma")
            node = self.value(at, depth + 1)
            children.append(Child(at, None, node))
            at = self.skip(node.end)
            if self.text.startswith("]", at):
                break
            at = self._after_comma(at)
        return Node(start, at + 1, [child.node.data for child in children], tuple(children))

    def _closes(self, at: int) -> bool:
        return self.text.startswith(("}", "]"), at)

    def _after_comma(self, at: int) -> int:
        if not self.text.startswith(",", at):
            self.fail(at, "no comma between two values, or a bracket that does not match")
        return self.skip(at + 1)
