"""The official SDK's client against the server: it starts, lists, calls, and is told what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from hooks import environ, event, run_silently
from speaking import COMMAND


async def _talk(home: Path) -> dict[str, Any]:
    server = StdioServerParameters(
        command=COMMAND[0], args=COMMAND[1:], env=environ(home), cwd=str(home.parent)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        started = await session.initialize()
        listed = await session.list_tools()
        await session.send_ping()
        together = await asyncio.gather(
            session.call_tool("usage", {"session": "s1"}),
            session.call_tool("status", {}),
            session.call_tool("checkpoint_list", {"limit": 0}),
        )
        wrong = await session.call_tool("usage", {"session": "nobody"})
        return {"started": started, "tools": listed.tools, "together": together, "wrong": wrong}


def test_the_official_client_is_content(home: Path) -> None:
    run_silently(event("SessionStart", source="startup"), home)
    run_silently(event("PostToolBatch"), home)
    told = asyncio.run(_talk(home))
    assert told["started"].protocol_version == "2025-11-25"
    assert told["started"].server_info.name == "holdfast"
    tools = {tool.name: tool for tool in told["tools"]}
    assert tools["usage"].annotations.read_only_hint is True
    assert tools["health"].meta == {"anthropic/alwaysLoad": True}
    usage, status, checkpoints = told["together"]  # the client has held each against its schema
    assert usage.structured_content["session"] == "s1"
    assert status.structured_content["ok"] is True
    assert checkpoints.structured_content == {"result": []}
    assert told["wrong"].is_error is True
    assert "no session 'nobody'" in told["wrong"].content[0].text
