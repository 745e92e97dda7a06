"""What an operation takes, read from its signature, and what it is given on a command line.

Every parameter is a flag. Those the function takes by place may go without it, in the same order.
Signatures are read without `inspect`, which alone takes half as long to load as the interpreter.
"""

from __future__ import annotations

from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REQUIRED = object()


class Parameter:
    """`kind` makes a value of a word; `many` of several: a list or a tuple."""

    __slots__ = ("by_place", "choices", "default", "kind", "many", "name", "word")

    def __init__(
        self, name: str, takes: Any, default: object = REQUIRED, *, by_place: bool = False
    ) -> None:
        parts = getattr(takes, "__args__", ())
        if type(None) in parts:
            (takes,) = (part for part in parts if part is not type(None))
        origin = getattr(takes, "__origin__", None)
        self.many = origin if origin in (list, tuple) else None
        if self.many:
            takes = takes.__args__[0]
        self.choices = getattr(takes, "__args__", None)  # of a Literal
        self.kind = type(self.choices[0]) if self.choices else takes
        self.name = name
        self.default = default
        self.by_place = by_place
        self.word = name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Of an operation: without its first, which is the app, and with what every command takes."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    placed, values = names[: code.co_argcount], function.__defaults__ or ()
    defaults = dict(zip(placed[len(placed) - len(values) :], values, strict=True))
    defaults |= function.__kwdefaults__ or {}
    found = []
    for name in names[1:]:
        takes = eval(function.__annotations__[name], function.__globals__)  # noqa: S307  our own source
        found.append(Parameter(name, takes, defaults.get(name, REQUIRED), by_place=name in placed))
    config = Parameter("config", tuple[str, ...], ())
    config.word = "KEY=VALUE"
    return [*found, Parameter("json", bool, default=False), config]


def parse(words: list[str], taken: list[Parameter], command: str = "holdfast") -> dict[str, Any]:
    """What is given, by name, and no more: the function knows its defaults. Whoever gets it wrong is told
    of the `command`'s own help."""
    try:
        return _parsed(words, taken)
    except BadInput as problem:
        raise misused(str(problem), command) from None


def _parsed(words: list[str], taken: list[Parameter]) -> dict[str, Any]:
    switches = {one.flag: one.name for one in taken if one.kind is bool}
    if switches.keys() >= set(words) and all(one.default is not REQUIRED for one in taken):
        return {switches[word]: True for word in words}  # argparse alone takes a third of a bare start
    import argparse

    parser = argparse.ArgumentParser(
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
        argument_default=argparse.SUPPRESS,
        # It is made for every argument, though it formats nothing; asked for the terminal's width, it
        # would load what unpacks archives.
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80),
    )
    for one in taken:
        if one.kind is bool:
            parser.add_argument(one.flag, action=argparse.BooleanOptionalAction)
        else:
            action = "append" if one.many else "store"
            flags = [one.flag, *(["-o"] if one.name == "output" else [])]  # as everywhere
            parser.add_argument(*flags, action=action, type=one.kind, choices=one.choices)
    end = words.index("--") if "--" in words else len(words)
    given = argparse.Namespace()
    try:
        _, loose = parser.parse_known_args(words[:end], given)
        for word in loose:
            if word.startswith("-") and not word[1:].lstrip(".")[:1].isdigit():
                known = [one.flag for one in taken]
                raise BadInput(unknown("option", word.partition("=")[0], known))
        parser.parse_args(_as_flags(loose + words[end + 1 :], taken, given), given)
    except argparse.ArgumentError as problem:
        raise BadInput(f"{problem.argument_name}: {problem.message}.") from None
    for one in taken:
        if one.default is REQUIRED and one.name not in given:
            raise BadInput(f"{one.word if one.by_place else one.flag} is missing.")
    return {
        one.name: one.many(vars(given)[one.name]) if one.many else vars(given)[one.name]
        for one in taken
        if one.name in given
    }


def _as_flags(words: list[str], taken: list[Parameter], given: Any) -> list[str]:
    """Words without a flag, each with the one whose place it stands in."""
    flags = []
    places = [one for one in taken if one.by_place]
    for word in words:
        if not places:
            raise BadInput(f"{word!r} is one too many.")
        if places[0].name in given:
            raise BadInput(f"{places[0].word} is given twice: {word!r}, and with {places[0].flag}.")
        flags.append(f"{places[0].flag}={word}")
        if not places[0].many:
            places.pop(0)
    return flags


def unknown(what: str, word: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, 1)
    return f'Unknown {what} "{word}".' + (f' Did you mean "{near[0]}"?' if near else "")


def misused(what: str, command: str) -> BadInput:
    return BadInput(f"{what} See `{command} --help`.")
