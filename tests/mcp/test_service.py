"""The path /mcp of the service: behind its gate, and beside its routes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from asking import get, post
from door import serving
from holdfast.app import Holdfast
from holdfast.serve.server import guarded
from holdfast.serve.work import Work
from hooks import event, run_silently
from speaking import call, request

TOKEN = "t" * 43
HOST = "127.0.0.1:8100"


def posted(tmp_path: Path, message: object, method: str = "POST", **changed: str) -> tuple[int, Any]:
    """Status and answer of one request; `changed` replaces headers, "" takes one out."""
    headers = {
        "host": HOST,
        "authorization": f"Bearer {TOKEN}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **changed,
    }
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": json.dumps(message).encode()}

    async def send(part: Any) -> None:
        sent.append(part)

    async def ask() -> None:
        work = Work(Holdfast.open({"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}))
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "headers": [(k.encode(), v.encode()) for k, v in headers.items() if v],
        }
        await guarded(work, TOKEN, [HOST], "http")(scope, receive, send)
        assert work.close(30)

    asyncio.run(ask())
    body = b"".join(part.get("body", b"") for part in sent)
    return sent[0]["status"], json.loads(body) if body else None


def test_messages_are_answered(tmp_path: Path) -> None:
    status, answer = posted(tmp_path, request("initialize", protocolVersion="2025-11-25"))
    assert (status, answer["result"]["serverInfo"]["name"]) == (200, "holdfast")
    status, answer = posted(tmp_path, call("status", 2))
    assert (status, answer["result"]["structuredContent"]["ok"]) == (200, True)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"origin": "https://example.org"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "rebound.example.org:8100"}, 421),
        ({"content-type": "text/plain"}, 415),
    ],
)
def test_the_gate_stands_before_it(tmp_path: Path, changed: dict[str, str], status: int) -> None:
    found, answer = posted(tmp_path, call("status"), **changed)
    assert (found, list(answer)) == (status, ["error"])
    assert isinstance(answer["error"], str), "the gate's own words, not the protocol's"


def test_there_is_no_stream(tmp_path: Path) -> None:
    assert posted(tmp_path, {}, "GET")[0] == 405


def test_it_is_of_no_session_whoever_started_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run_silently(event("SessionStart", "newest", source="startup"), home)
    with serving(home, environ={"CLAUDE_CODE_SESSION_ID": "begun-in"}) as service:
        _, told = post(service, "/mcp", call("health"))
        assert told["result"]["structuredContent"]["session"] == "newest"
        assert get(service, "/health")[1]["session"] == "newest"
