"""`holdfast <operation> [flags]`, made from the registry: a new operation needs no change here."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json as json_module
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from holdfast import __version__
from holdfast.app import Holdfast
from holdfast.core.config import HOME, PREFIX
from holdfast.errors import BadInput, HoldfastError, MissingExtra
from holdfast.ops.registry import Operation, everything


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our characters gets others
    try:
        return _run(words)
    except HoldfastError as problem:
        print(f"holdfast: {problem}", file=sys.stderr)
        return problem.exit_code
    except BrokenPipeError:  # `holdfast sessions | head`
        sys.stderr.close()
        return 0
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        print(f"holdfast: {where}{problem.strerror}; see `holdfast status`", file=sys.stderr)
        return 1


def _run(words: list[str]) -> int:
    try:
        import cyclopts
    except ImportError:
        raise MissingExtra(
            "the command line needs the extra `cli`: pip install 'holdfast[cli]' (hooks work without)"
        ) from None
    app = cyclopts.App(
        name="holdfast",
        help="Keeps a coding agent's work alive when its context window fills up.",
        version=__version__,
        result_action="return_value",
    )
    for operation in _wanted(words):
        _add(app, cyclopts, operation)
    try:
        result = app(words, exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as problem:
        print(f"holdfast: {_plain(problem)} See `holdfast --help`.", file=sys.stderr)
        return 2
    return result if isinstance(result, int) else 0


def _plain(problem: Exception) -> str:
    text = " ".join(str(problem).split())
    return text if text.endswith((".", "?", "!")) else text + "."


def _wanted(words: list[str]) -> list[Operation]:
    """The operation asked for, so that only it is imported; all of them to list or to complain."""
    asked = ".".join(word for word in words[:2] if not word.startswith("-"))
    matching = [o for o in everything() if asked == o.name or asked.startswith(o.name + ".")]
    return matching or everything()


def _add(app: Any, cyclopts: Any, operation: Operation) -> None:
    *groups, name = operation.name.split(".")
    for group in groups:
        if group not in app:
            app.command(cyclopts.App(name=group))
        app = app[group]
    app.command(_command(cyclopts, operation), name=name)


def _command(cyclopts: Any, operation: Operation) -> Callable[..., int]:
    """The operation as a command: without its first parameter, with --json."""
    function = operation.load()
    signature = inspect.signature(function, eval_str=True)
    given = list(signature.parameters.values())[1:]
    flag = inspect.Parameter(
        "json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, cyclopts.Parameter(negative="", show_default=False)],
    )

    settings = inspect.Parameter(
        "config",
        inspect.Parameter.KEYWORD_ONLY,
        default=(),
        annotation=Annotated[tuple[str, ...], cyclopts.Parameter(negative="", show_default=False)],
    )

    def command(*args: Any, json: bool = False, config: tuple[str, ...] = (), **kwargs: Any) -> int:
        app = _opened(config)
        if app.trouble and not operation.mends:
            raise BadInput(app.trouble)
        value = function(app, *args, **kwargs)
        if json:
            print(json_module.dumps(plain(value), indent=2))
        else:
            from holdfast.cli.show import show

            show(value)
        return int(getattr(value, "exit_code", 0))

    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*given, flag, settings], return_annotation=int
    )
    command.__annotations__ = {p.name: p.annotation for p in [*given, flag, settings]}
    command.__doc__ = _with_json(inspect.getdoc(function) or "")
    return command


def _opened(config: tuple[str, ...]) -> Holdfast:
    app = Holdfast.open()
    variables = [name for name in app.environ if name.startswith(PREFIX) and name != HOME]
    if app.compiled.is_stale or app.compiled.trouble or config or variables:
        from holdfast.ops.config import settled  # which loads the library for YAML

        return settled(app, config)
    return app


def _with_json(doc: str) -> str:
    heading = "\n\nParameters\n----------" if "Parameters\n---" not in doc else ""
    more = "json\n    Print the value as JSON.\nconfig\n    KEY=VALUE: set a key for this command alone."
    return f"{doc}{heading}\n{more}"


def plain(value: object) -> Any:
    """A value as JSON can carry it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value
