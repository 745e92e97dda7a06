"""`holdfast mcp`, for clients that are set up by hand: what `install --mcp` names starts faster."""

from __future__ import annotations

from typing import NoReturn

from holdfast.app import Holdfast
from holdfast.mcp import stdio


def serve(app: Holdfast) -> NoReturn:
    """Serve an agent's client as its MCP server, on stdin and stdout, until stdin ends."""
    stdio.main()
