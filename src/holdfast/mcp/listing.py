"""tools.json, made from the registry: `python -m holdfast.mcp.listing` after an operation has changed.

It is kept in the package, and a test holds it against the registry: a server then answers `tools/list`
without importing one operation, also where the libraries that some of them need are not installed.
"""

from __future__ import annotations

import json

from holdfast.mcp import tools
from holdfast.ops import registry, schema
from holdfast.ops.described import described
from holdfast.ops.registry import Operation


def made() -> str:
    """One tool on each line, so that a change shows as the lines it changes."""
    lines = [json.dumps(_tool(*one), separators=(",", ":")) for one in tools.operations().items()]
    return '{"tools":[\n' + ",\n".join(lines) + "\n]}\n"


def _tool(name: str, operation: Operation) -> dict[str, object]:
    function = operation.load()
    told = described(function)
    tool: dict[str, object] = {
        "name": name,
        "description": f"{told.summary} {told.about}".strip(),
        "inputSchema": schema.taken(function, registry.BY_HAND.get(operation.name, ())),
        "outputSchema": schema.given(function),
        "annotations": _hints(operation),
    }
    if operation.name in registry.ALWAYS_LOADED:
        tool["_meta"] = {"anthropic/alwaysLoad": True}
    return tool


def _hints(operation: Operation) -> dict[str, bool]:
    """What it does not say holds by the protocol's defaults, which expect the worst."""
    if not operation.writes:
        return {"readOnlyHint": True, "openWorldHint": False}
    destructive = operation.name in registry.DESTRUCTIVE
    idempotent = operation.name in registry.IDEMPOTENT
    return {"destructiveHint": destructive, "idempotentHint": idempotent, "openWorldHint": False}


def main() -> None:
    text = made()
    with open(tools.PATH, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
