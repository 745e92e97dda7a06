"""The tools: their list, and what one gives when it is called.

The list is a file (see `listing`). An operation is imported when its tool is called, and not before: until
then a server is little more than an interpreter.
"""

import sys

from holdfast.core.jsontext import dump, load
from holdfast.errors import BadInput, HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ops.registry import Operation

PATH = __file__.removesuffix("tools.py") + "tools.json"


def listed() -> str:
    """The answer to `tools/list`, on one line."""
    with open(PATH, encoding="ascii") as file:
        return file.read().replace("\n", "")


def operations() -> "dict[str, Operation]":
    """Name of the tool -> what it does. Where two names lead to one function, the one that says more."""
    from holdfast.ops.registry import everything

    by_place: dict[str, Operation] = {}
    for operation in everything():
        known = by_place.get(operation.place)
        if not operation.local and (known is None or len(known.name) < len(operation.name)):
            by_place[operation.place] = operation
    return {one.name.replace(".", "_").replace("-", "_"): one for one in by_place.values()}


def call(name: str, arguments: "dict[str, Any]") -> str:
    """What the tool gives, or what is wrong, both as the protocol wants them; "": there is no such tool."""
    schema = _schema(name)
    if schema is None:
        return ""
    try:
        return dump(_called(name, arguments, schema))
    except HoldfastError as problem:
        return _failed(str(problem))
    except ModuleNotFoundError as problem:
        from holdfast.extras import extra_command  # a server starts with as little as it can

        return _failed(
            f"this needs the package {problem.name}, which {sys.executable} does not have: "
            f"{extra_command('all')}, then `holdfast install --mcp`"
        )
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return _failed(f"{where}{problem.strerror or problem}; `status` says what works")
    except Exception as problem:  # a mistake of ours in one tool must not cost the session all others
        return _failed(_mistake(problem))


def _schema(name: str) -> "dict[str, Any] | None":
    tools: Any = load(listed())
    return next((one["inputSchema"] for one in tools["tools"] if one["name"] == name), None)


def _called(name: str, arguments: "dict[str, Any]", schema: "dict[str, Any]") -> "dict[str, Any]":
    if sys.flags.no_site and "site" not in sys.modules:
        import site  # the server starts without: looking for packages takes as long as all the rest

        site.main()
    from holdfast.mcp.text import readable
    from holdfast.ops import calling
    from holdfast.ops.schema import structured, unfit

    given = {key: value for key, value in arguments.items() if value is not None}
    wrong = unfit(given, schema)
    if wrong:
        raise BadInput(f"{wrong}. Call `{name}` again with that put right")
    value = calling.plain(calling.call(operations()[name], given))
    content = [{"type": "text", "text": readable(value)}]
    return {"content": content, "structuredContent": structured(value)}


def _failed(what: str) -> str:
    return dump({"content": [{"type": "text", "text": what}], "isError": True})


def _mistake(problem: Exception) -> str:
    """Where, and what kind: its message may carry a session's text."""
    place = problem.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    where = f" in {place.tb_frame.f_code.co_name}, line {place.tb_lineno}" if place else ""
    return f"{type(problem).__name__}{where}: a mistake of holdfast's, not yours. Go on without it"
