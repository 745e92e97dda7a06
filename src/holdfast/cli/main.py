"""`holdfast <operation> [flags]`, made from the registry: a new operation needs no change here."""

from __future__ import annotations

import errno
import io
import os
import sys

from holdfast import __version__
from holdfast.cli.arguments import misused, parameters, parse, unknown
from holdfast.errors import BadInput, HoldfastError, MissingExtra
from holdfast.extras import extra_command
from holdfast.ops.calling import call, plain
from holdfast.ops.registry import Operation, everything

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_HELP = frozenset(("-h", "--help"))
#: Characters of a sentence that says what is wrong: some name ten files, none needs more.
_LONGEST = 4000


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our characters gets others
    try:
        return _run(words)
    except HoldfastError as problem:
        print(f"holdfast: {_readable(str(problem))}", file=sys.stderr)
        return problem.exit_code
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.startswith("holdfast"):
            raise
        print(
            f"holdfast: this needs {problem.name}, of the extra `cli`: {extra_command('cli')} "
            "(hooks work without)",
            file=sys.stderr,
        )
        return MissingExtra.exit_code
    except BrokenPipeError:  # `holdfast sessions | head`
        sys.stderr.close()
        return 0
    except OSError as problem:
        print(f"holdfast: {_readable(_refused(problem))}", file=sys.stderr)
        return BadInput.exit_code if problem.errno == errno.ENAMETOOLONG else 1


def _readable(said: str) -> str:
    """What was given stands in what is said of it: nothing in there repaints a terminal, and its length
    hides neither what was wrong nor what to do."""
    said = "".join(one if one.isprintable() or one == "\n" else "\ufffd" for one in said)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST // 2]} … {said[-_LONGEST // 2 :]}"


def _refused(problem: OSError) -> str:
    """What the system did not let us do; of a folder that was removed under us it names nothing."""
    try:
        os.getcwd()
    except OSError:
        return "this folder is gone, or closed to you; cd to another"
    where = f"{problem.filename}: " if problem.filename else ""
    if problem.errno == errno.ENAMETOOLONG:
        return f"{where}{problem.strerror}; there is nothing of that name"
    return f"{where}{problem.strerror}; see `holdfast status`"


def _run(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        print(__version__)
        return 0
    end = words.index("--") if "--" in words else len(words)
    helped = not _HELP.isdisjoint(words[:end])
    asked = [word for word in words if word not in _HELP] if helped else words
    operation, rest = _found(asked)
    if operation and not helped:
        command = " ".join(["holdfast", *asked[: len(asked) - len(rest)]])
        return _call(operation, parse(rest, parameters(operation.load()), command))
    from holdfast.cli.help import overview, page

    print(page(operation) if operation else overview(asked))
    return 0


def _found(words: list[str]) -> tuple[Operation | None, list[str]]:
    """The operation asked for, and what it is given; none where a group is named, or nothing."""
    paths = {tuple(operation.name.split(".")): operation for operation in everything()}
    for place in range(len(words) + 1):
        if tuple(words[:place]) in paths:
            return paths[tuple(words[:place])], words[place:]
        inside = {path[place] for path in paths if path[:place] == tuple(words[:place])}
        if place < len(words) and words[place] not in inside:
            what = unknown("command", words[place], sorted(inside))
            raise misused(what, " ".join(["holdfast", *words[:place]]))
    return None, []


def _call(operation: Operation, given: dict[str, Any]) -> int:
    as_json = given.pop("json", False)
    value = call(operation, given, given.pop("config", ()))
    if as_json:
        import json

        print(json.dumps(plain(value), indent=2))
    else:
        _shown(value)
    return int(getattr(value, "exit_code", 0))


def _shown(value: object) -> None:
    if type(value).__str__ is not object.__str__ and not isinstance(value, list):
        if words := str(value):
            print(words)  # says itself what it is: nothing is wrapped, so that a diff stays a patch
        elif not getattr(value, "is_quiet", False):  # beside the output, which may be read by a program
            print("holdfast: nothing to show here yet", file=sys.stderr)
        return
    from holdfast.cli.show import show

    show(value)
