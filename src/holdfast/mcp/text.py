"""A value as text for a model: names and values, a line each, without what is empty."""

from __future__ import annotations

from typing import Any

NOTHING = "nothing"


def readable(value: Any) -> str:
    return "\n".join(_lines(value)) or NOTHING


def _lines(value: Any) -> list[str]:
    if type(value) is dict:
        return [line for name, item in value.items() if not _is_empty(item) for line in _named(name, item)]
    if type(value) is list:
        return [line for item in value for line in _listed(item)]
    return _words(value).split("\n")


def _named(name: str, value: Any) -> list[str]:
    lines = _lines(value)
    if len(lines) == 1 and type(value) not in (dict, list):
        return [f"{name}: {lines[0]}"]
    return [f"{name}:", *(f"  {line}" for line in lines)]


def _listed(item: Any) -> list[str]:
    first, *more = _lines(item) or [NOTHING]
    return [f"- {first}", *(f"  {line}" for line in more)]


def _is_empty(value: Any) -> bool:
    """0 and False say something."""
    return value is None or value in ("", [], {})


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
