"""Making a JSON text say something else while touching as little of it as possible.

`rewrite` compares what the text means with what it shall mean and edits only where the two differ.
What is inserted follows the style around it: newline, indentation, spacing. Every other byte stays.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.install.jsonspan import Node, parse

_NEWLINE = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[ \t]*")

Edit = tuple[int, int, str]


def rewrite(text: str, new: dict[str, Any], name: str) -> str:
    """`text`, changed to mean `new`. Read back by another parser and compared before it is
    returned: a mistake in here must never reach a settings file."""
    root = parse(text, name)
    edits = _Editor(text, root).change(root, new)
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words + text[end:]
    if meaning(json.loads(text)) != meaning(new):
        raise HoldfastError(f"{name} could not be edited safely. Nothing was changed; please report this")
    return text


def meaning(data: Any) -> str:
    """Equal for equal content in equal order; unlike ==, tells 1 from 1.0 and from true."""
    return json.dumps(data)


@dataclass(frozen=True)
class _Style:
    newline: str
    unit: str | None  # one step of indentation; None: everything on one line
    colon: str
    comma: str

    def write(self, value: Any, indent: str | None) -> str:
        """`indent` is that of the line the value begins on; None: on one line."""
        if indent is None or self.unit is None:
            return json.dumps(value, separators=(self.comma, self.colon))
        words = json.dumps(value, indent=self.unit, separators=(",", self.colon))
        return words.replace("\n", self.newline + indent)


def _style(text: str, root: Node) -> _Style:
    found = _NEWLINE.search(text)
    newline = found[0] if found else "\n"
    if not root.children:
        return _Style(newline, "  ", ": ", ", ")
    first = root.children[0]
    colon = text[first.start : first.node.start].rpartition('"')[2]
    if _NEWLINE.search(colon):
        colon = ": "
    unit = _line_indent(text[root.start + 1 : first.start])
    return _Style(newline, unit, colon, ", " if colon.endswith(" ") else ",")


def _line_indent(gap: str) -> str | None:
    """The indentation after the last newline of some white space; None if it has no newline."""
    pieces = _NEWLINE.split(gap)
    return pieces[-1] if len(pieces) > 1 else None


class _Editor:
    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.style = _style(text, root)

    def change(self, node: Node, new: Any) -> list[Edit]:
        if meaning(node.data) == meaning(new):
            return []
        edits = None
        if type(node.data) is dict and type(new) is dict:
            edits = self._change_object(node, new)
        elif type(node.data) is list and type(new) is list:
            edits = self._change_array(node, new)
        return [self._replace(node, new)] if edits is None else edits

    def _replace(self, node: Node, new: Any) -> Edit:
        old = self.text[node.start : node.end]
        indent = self._indent_at(node.start) if _NEWLINE.search(old) else None
        return node.start, node.end, self.style.write(new, indent)

    def _change_object(self, node: Node, new: dict[str, Any]) -> list[Edit] | None:
        """None when the keys stand in another order: then the object is written anew."""
        kept = [key for key in node.data if key in new]
        added = [key for key in new if key not in node.data]
        if list(new) != kept + added:
            return None
        edits: list[Edit] = []
        for child in node.children:
            if child.key in new:
                edits += self.change(child.node, new[child.key])
        dropped = {i for i, child in enumerate(node.children) if child.key not in new}
        return edits + self._reshape(node, dropped, [(key, new[key]) for key in added])

    def _change_array(self, node: Node, new: list[Any]) -> list[Edit] | None:
        """None when something is to be inserted before the end: then the array is written anew."""
        edits: list[Edit] = []
        dropped: set[int] = set()
        added: list[tuple[str | None, Any]] = []
        matcher = SequenceMatcher(None, [meaning(x) for x in node.data], [meaning(x) for x in new], False)
        for _, i1, i2, j1, j2 in matcher.get_opcodes():
            both = min(i2 - i1, j2 - j1)
            for i, j in zip(range(i1, i1 + both), range(j1, j1 + both), strict=True):
                edits += self.change(node.children[i].node, new[j])
            dropped.update(range(i1 + both, i2))
            added += [(None, value) for value in new[j1 + both : j2]]
            if j1 + both < j2 and i2 < len(node.children):
                return None
        return edits + self._reshape(node, dropped, added)

    def _reshape(self, node: Node, dropped: set[int], added: list[tuple[str | None, Any]]) -> list[Edit]:
        """Children taken out, others put in at the end; the white space around the rest stays."""
        kept = [i for i in range(len(node.children)) if i not in dropped]
        if not kept:
            return [self._fill(node, added)] if dropped or added else []
        edits: list[Edit] = []
        if kept[0] > 0:
            edits.append((node.children[0].start, node.children[kept[0]].start, ""))
        edits += [
            (node.children[i - 1].end, node.children[i].end, "") for i in sorted(dropped) if i > kept[0]
        ]
        if added:
            end = node.children[-1].end
            edits.append((end, end, self._appended(node, kept[-1], added)))
        return edits

    def _appended(self, node: Node, last: int, added: list[tuple[str | None, Any]]) -> str:
        gap = self._gap(node, last)
        indent = _line_indent(gap)
        if indent is not None:
            gap = self.style.newline + indent
        elif last == 0:  # the gap after an opening bracket says nothing about commas
            gap = self.style.comma[1:]
        return "".join("," + gap + self._child(key, value, indent) for key, value in added)

    def _gap(self, node: Node, index: int) -> str:
        """The white space in front of a child."""
        start = node.children[index - 1].end if index else node.start
        between = self.text[start : node.children[index].start]
        return between.rpartition("," if index else between[0])[2]

    def _fill(self, node: Node, added: list[tuple[str | None, Any]]) -> Edit:
        """All that is between the brackets of a container that had nothing, or keeps nothing."""
        inside = (node.start + 1, node.end - 1)
        if not added:
            return (*inside, "")
        if self.style.unit is None:
            return (*inside, self.style.comma.join(self._child(key, value, None) for key, value in added))
        outer = self._indent_at(node.start)
        line = self.style.newline + outer + self.style.unit
        words = ("," + line).join(self._child(key, v, outer + self.style.unit) for key, v in added)
        return (*inside, line + words + self.style.newline + outer)

    def _child(self, key: str | None, value: Any, indent: str | None) -> str:
        words = self.style.write(value, indent)
        return words if key is None else json.dumps(key) + self.style.colon + words

    def _indent_at(self, offset: int) -> str:
        start = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1
        found = _INDENT.match(self.text, start)
        return found[0] if found else ""
