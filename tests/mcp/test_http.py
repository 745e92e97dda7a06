"""The server over HTTP: what each request gets, and that the official SDK's client is content."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from holdfast.errors import HoldfastError
from holdfast.mcp import protocol
from holdfast.mcp.http import Endpoint
from holdfast.ops.registry import Operation
from speaking import call, request


async def in_thread(operation: Operation, work: Callable[[], str]) -> str:
    return await asyncio.to_thread(work)


async def late(operation: Operation, work: Callable[[], str]) -> str:
    problem = HoldfastError("not done in 5 s")
    problem.status = 503
    raise problem


def asked(
    body: bytes | object, method: str = "POST", run: Any = in_thread, **headers: str
) -> tuple[int, Any, dict[bytes, bytes]]:
    """(status, what is answered, headers) of one request, its body in two parts."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = [
        {"type": "http.request", "body": raw[:10], "more_body": True},
        {"type": "http.request", "body": raw[10:]},
    ]
    sent: list[dict] = []
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def receive() -> dict:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Endpoint(run)({"type": "http", "method": method, "headers": named}, receive, send))
    start, content = sent
    answer = json.loads(content["body"]) if content["body"] else None
    return start["status"], answer, dict(start["headers"])


def test_a_request_is_answered_as_json() -> None:
    status, answer, headers = asked(request("ping", 7), mcp_protocol_version="2025-06-18")
    assert (status, answer) == (200, {"jsonrpc": "2.0", "id": 7, "result": {}})
    assert headers[b"content-type"] == b"application/json"
    assert b"mcp-session-id" not in headers


def test_a_session_that_somebody_names_changes_nothing() -> None:
    assert asked(request("tools/list"), mcp_session_id="s" * 50)[0] == 200


def test_a_tool_is_called_where_the_service_does_its_work() -> None:
    status, answer, _ = asked(call("usage", 3, session=5))
    assert (status, answer["id"], answer["result"]["isError"]) == (200, 3, True)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"\xff" * 20, 400, -32700),
        (b"x" * (protocol.LARGEST + 1), 413, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, 200, -32601),
    ],
)
def test_what_is_wrong_is_told(body: object, status: int, code: int) -> None:
    found, answer, _ = asked(body)
    assert (found, answer["error"]["code"]) == (status, code)


def test_each_message_of_a_batch_is_worked_on_where_it_belongs() -> None:
    asked_for: list[str] = []

    async def noted(operation: Operation, work: Callable[[], str]) -> str:
        asked_for.append(operation.name)
        return work()

    batch = [call("usage", 1, session=5), request("ping", 2), call("checkpoint_show", 3, name=5), 7]
    status, answers, _ = asked(batch, run=noted)
    assert (status, [one["id"] for one in answers]) == (200, [1, 2, 3, None])
    assert asked_for == ["usage", "checkpoint.show"]
    assert asked([call("usage")] * 101, run=noted)[1]["error"]["code"] == -32600
    assert len(asked_for) == 2


def test_what_needs_no_answer_is_accepted() -> None:
    assert asked({"jsonrpc": "2.0", "method": "notifications/initialized"})[:2] == (202, None)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_nothing_to_listen_to(method: str) -> None:
    status, answer, headers = asked(b"", method)
    assert (status, answer, headers[b"allow"]) == (405, None, b"POST")


def test_a_version_nobody_knows_is_refused() -> None:
    status, answer, _ = asked(request("ping"), mcp_protocol_version="1999-01-01")
    assert (status, "2025-11-25" in answer["error"]["message"]) == (400, True)


def test_work_that_takes_too_long_is_told_with_its_id() -> None:
    status, answer, _ = asked(call("status", "mine"), run=late)
    assert (status, answer["id"], answer["error"]["message"]) == (503, "mine", "not done in 5 s")


@pytest.fixture
def url() -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(Endpoint(in_thread), port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()


async def _talk(url: str) -> tuple[Any, Any, Any]:
    async with streamable_http_client(url) as (read, write, *_), ClientSession(read, write) as session:
        started = await session.initialize()
        listed = await session.list_tools()
        return started, listed.tools, await session.call_tool("status", {})


def test_the_official_client_is_content(url: str) -> None:
    started, listed, status = asyncio.run(_talk(url))
    assert started.protocol_version == "2025-11-25"
    assert len(listed) > 15
    assert status.structured_content["version"]
