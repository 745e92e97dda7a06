"""docs/operations.md, written from the registry: python -m holdfast.serve.reference > docs/operations.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from holdfast.core.config import written
from holdfast.ops.described import REQUIRED, Taken, described, fields_of
from holdfast.ops.registry import BY_HAND, Operation, everything

_INTRODUCTION = """\
# Operations

All that holdfast can do, by command and by request ([service](service.md)). Written by `python -m
holdfast.serve.reference`, and checked by a test: nothing here is edited by hand.

On a command line every parameter is a flag; those shown in capitals alone may go without it. Every command
takes `--json` and `--config KEY=VALUE`. In a request a parameter is one of the query (GET) or of the JSON
body (POST). The value is the same: what `--json` prints, the service answers. Operations marked *command
line only* are reached by no request.
"""
_WORDS: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    object: "anything",
    Any: "anything",
    NoneType: "null",
}


def page() -> str:
    parts = [_INTRODUCTION, *map(_section, sorted(everything(), key=lambda one: one.name))]
    return "\n".join(parts)


def _section(operation: Operation) -> str:
    says = described(operation.load())
    method = "POST" if operation.writes else "GET"
    path = "/" + operation.name.replace(".", "/")
    request = "*command line only*" if operation.local else f"`{method} {path}`"
    lines = [f"## {operation.name}\n", f"`{_command(operation, says.takes)}` · {request}\n", says.summary]
    lines += ["", says.about] if says.about else []
    if says.takes:
        lines += ["", "| parameter | takes | default | |", "| --- | --- | --- | --- |"]
        lines += [_row(operation, one) for one in says.takes]
    lines += ["", f"Gives {_kind(says.gives)}.", *_fields(says.gives, set())]
    return "\n".join(lines) + "\n"


def _command(operation: Operation, takes: list[Taken]) -> str:
    words = ["holdfast", *operation.name.split(".")]
    for one in takes:
        word = one.name.upper() if one.by_place else f"--{one.name.replace('_', '-')} {one.name.upper()}"
        if one.default is REQUIRED:
            words.append(word)
        elif one.by_place:
            words.append(f"[{word}]")
    return " ".join(words)


def _row(operation: Operation, one: Taken) -> str:
    by_hand = " Command line only." if one.name in BY_HAND.get(operation.name, ()) else ""
    default = "" if one.default in (None, "", ()) else f"`{written(one.default)}`"
    default = "required" if one.default is REQUIRED else default
    what = one.what.replace("|", "\\|")
    return f"| `{one.name}` | {_kind(one.kind, is_input=True)} | {default} | {what}{by_hand} |"


def _kind(kind: Any, *, is_input: bool = False) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in inner)
    if origin in (list, tuple):
        return f"list of {_kind(inner[0])}"
    if origin is dict:
        return f"object of {_kind(inner[1])}"
    if inner:
        return " or ".join(_kind(one) for one in inner if not (is_input and one is NoneType))
    return _WORDS.get(kind) or f"`{kind.__name__}`"


def _fields(kind: Any, told: set[Any]) -> Iterator[str]:
    """Of every value with fields that is in it, each once."""
    found = fields_of(kind)
    if found and kind not in told:
        told.add(kind)
        said = ", ".join(f"`{name}` {_kind(one)}" for name, one in found.items())
        yield f"- `{kind.__name__}`: {said}"
        for one in found.values():
            yield from _fields(one, told)
    for inner in get_args(kind):
        yield from _fields(inner, told)


if __name__ == "__main__":
    sys.stdout.write(page())
