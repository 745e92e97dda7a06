"""What an operation takes and gives, read from its signature and its docstring."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Any, get_origin

REQUIRED = Parameter.empty
_LISTED = "\n\nParameters\n----------\n"


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
    about, _, listed = (getdoc(function) or "").partition(_LISTED)
    told = dict(re.findall(r"^(\w+).*\n((?:[ \n].*\n?)*)", listed + "\n", re.MULTILINE))
    summary, _, more = about.partition("\n\n")
    seen = signature(function, eval_str=True)
    takes = [
        Taken(
            one.name,
            one.annotation,
            one.default,
            _on_one_line(told.get(one.name, "")),
            one.kind is one.POSITIONAL_OR_KEYWORD,
        )
        for one in list(seen.parameters.values())[1:]
    ]
    return Described(_on_one_line(summary), _on_one_line(more), takes, _plain(seen.return_annotation))


def _plain(kind: Any) -> Any:
    """A list with a name of its own, which it has to be shown well, is a list to everybody else."""
    bases = getattr(kind, "__orig_bases__", ())
    return next((base for base in bases if get_origin(base) in (list, dict)), kind)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
