"""What an operation takes and gives, read from its signature and its docstring."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, getdoc, getsource, signature
from typing import Any, get_origin, get_type_hints

REQUIRED = Parameter.empty


@dataclass(frozen=True)
class Taken:
    """A parameter: `kind` is its type, `default` REQUIRED where it has none; `by_place`: on a command line
    it may go without its name."""

    name: str
    kind: Any
    default: Any
    what: str
    by_place: bool


@dataclass(frozen=True)
class Described:
    summary: str
    about: str
    takes: list[Taken]
    gives: Any


def described(function: Callable[..., Any]) -> Described:
    """Of an operation: without its first parameter, which is the app."""
    about, told = docstring(function)
    summary, _, more = about.partition("\n\n")
    seen = signature(function, locals=_for_types(function), eval_str=True)
    takes = [
        Taken(
            one.name,
            one.annotation,
            one.default,
            told.get(one.name, ""),
            one.kind is one.POSITIONAL_OR_KEYWORD,
        )
        for one in list(seen.parameters.values())[1:]
    ]
    return Described(_on_one_line(summary), _on_one_line(more), takes, _plain(seen.return_annotation))


def docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """(what it says before its parameters, what it says of each)."""
    about, _, listed = (getdoc(function) or "").partition("\n\nParameters\n----------\n")
    told = re.findall(r"^(\w+).*\n((?:[ \n].*\n?)*)", listed + "\n", re.MULTILINE)
    return about, {name: _on_one_line(words) for name, words in told}


def fields_of(kind: Any) -> dict[str, Any]:
    """Name -> type of what a value says of itself: of a dataclass, or of a class with slots; else {}."""
    if not isinstance(kind, type) or not (is_dataclass(kind) or vars(kind).get("__slots__")):
        return {}
    return get_type_hints(kind)


def _for_types(function: Callable[..., Any]) -> dict[str, Any]:
    """What the function's module imports for type checkers alone: it says what the function gives, but is
    loaded only when that is made."""
    names: dict[str, Any] = {}
    for part in ast.parse(getsource(sys.modules[function.__module__])).body:
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING":
            code = compile(ast.Module(part.body, []), function.__module__, "exec")
            exec(code, names)  # noqa: S102  imports in our own source
    return names


def _plain(kind: Any) -> Any:
    """A list with a name of its own, which it has to be shown well, is a list to everybody else."""
    bases = getattr(kind, "__orig_bases__", ())
    return next((base for base in bases if get_origin(base) in (list, dict)), kind)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
