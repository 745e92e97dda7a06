"""What `--help` prints: the operations in their groups, or all that one of them takes."""

from __future__ import annotations

import re
import textwrap
from itertools import groupby
from shutil import get_terminal_size
from typing import Any

from holdfast.cli.arguments import REQUIRED, Parameter, parameters
from holdfast.ops.described import docstring
from holdfast.ops.registry import Operation, everything

#: A pipe has no width.
_WIDTH, _MARGIN, _WIDEST_NAME = 100, "  ", 34
_EVERY = {
    "json": "Print the value as JSON.",
    "config": "Set a key for this command alone; may be repeated.",
}


def overview(group: list[str]) -> str:
    """Of all operations, or of a group: the docstring of each as far as the first colon or full stop."""
    paths = {operation: operation.name.split(".") for operation in everything()}
    paths = {one: path for one, path in paths.items() if path[: len(group)] == group}
    chosen = sorted(paths, key=lambda one: (len(paths[one]) > 1, one.name))
    blocks = [
        [(" ".join(paths[one]), _first_words(one)) for one in alike]
        for _, alike in groupby(chosen, key=lambda one: paths[one][:-1])
    ]
    name = " ".join(["holdfast", *group])
    about = ["Keeps a coding agent's work alive when its context window fills up."] if not group else []
    return "\n\n".join(
        [
            f"usage: {name} COMMAND [OPTIONS]",
            *about,
            *_columns(blocks, lines=1),
            textwrap.fill(
                f"`{name} COMMAND --help` says what it takes; all take --json and --config KEY=VALUE.",
                _width(),
            ),
        ]
    )


def page(operation: Operation) -> str:
    """All of its docstring, and each parameter."""
    taken = parameters(operation.load())
    about, told = docstring(operation.load())
    told = {**_EVERY, **told}
    usage = ["usage: holdfast", *operation.name.split(".")]
    usage += [one.word if one.default is REQUIRED else f"[{one.word}]" for one in taken if one.by_place]
    usage += [f"{one.flag} {one.word}" for one in taken if one.default is REQUIRED and not one.by_place]
    rows = [(_named(one), told.get(one.name, "") + _default(one)) for one in taken]
    paragraphs = [textwrap.fill(text, _width()) for text in about.split("\n\n")]
    return "\n\n".join([" ".join([*usage, "[OPTIONS]"]), *paragraphs, *_columns([rows])])


def _first_words(operation: Operation) -> str:
    return re.split(r"[:;.](?=\s|$)", docstring(operation.load())[0], maxsplit=1)[0]


def _named(one: Parameter) -> str:
    if one.kind is bool:
        return f"{one.flag}, --no-{one.flag[2:]}" if one.default else one.flag
    word = "{" + ",".join(map(str, one.choices)) + "}" if one.choices else one.word
    return f"{one.word}, {one.flag}" if one.by_place else f"{one.flag} {word}"


def _default(one: Parameter) -> str:
    said: Any = one.default
    return f" (default: {said})" if said not in (REQUIRED, None, "", ()) and one.kind is not bool else ""


def _columns(blocks: list[list[tuple[str, str]]], lines: int | None = None) -> list[str]:
    """Names and what they are, aligned over all blocks; of each at most so many lines."""
    left = min(max(len(name) for block in blocks for name, _ in block), _WIDEST_NAME)
    wrap = textwrap.TextWrapper(_width(), max_lines=lines, placeholder=" …")
    wrap.subsequent_indent = " " * (len(_MARGIN) + left + 2)
    return [
        "\n".join(wrap.fill(f"{_MARGIN}{name:{left}}  {text}") for name, text in block) for block in blocks
    ]


def _width() -> int:
    return max(get_terminal_size((_WIDTH, 24)).columns, 40)
