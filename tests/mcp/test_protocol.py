"""Messages, good and hostile: each gets the answer that JSON-RPC and the protocol have for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.mcp import protocol, tools
from speaking import call, request

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = {
    "jsonrpc": st.just("2.0") | ANY,
    "id": st.integers() | st.text(max_size=5) | ANY,
    "method": st.sampled_from(["initialize", "ping", "tools/list", "tools/call"]) | ANY,
    "params": st.fixed_dictionaries({}, optional={"name": ANY, "arguments": ANY}) | ANY,
}
MESSAGES = st.fixed_dictionaries({}, optional=MEMBERS)


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tool does is not tried here."""
    monkeypatch.setattr(tools, "call", lambda name, arguments: "")


def answered(message: object) -> Any:
    said = protocol.answer(message)
    assert "\n" not in said
    return json.loads(said) if said else None


@pytest.mark.parametrize("version", protocol.VERSIONS)
def test_a_version_that_is_known_is_agreed_to(version: str) -> None:
    told = answered(request("initialize", protocolVersion=version, capabilities={}))["result"]
    assert told["protocolVersion"] == version
    assert told["serverInfo"]["name"] == "holdfast"
    assert told["capabilities"] == {"tools": {"listChanged": False}}


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "", None, 5, ["2025-11-25"]])
def test_to_any_other_the_newest_is_offered(version: object) -> None:
    assert answered(request("initialize", protocolVersion=version))["result"]["protocolVersion"] == (
        "2025-11-25"
    )


def test_ping_and_list() -> None:
    assert answered(request("ping", "a")) == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert len(answered(request("tools/list", 0))["result"]["tools"]) >= 15


@pytest.mark.parametrize(
    ("message", "code", "id_"),
    [
        (5, -32600, None),
        ("ping", -32600, None),
        (None, -32600, None),
        ([], -32600, None),
        ([{}] * 101, -32600, None),
        ({}, -32600, None),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, -32600, 3),
        ({"jsonrpc": "2.0", "id": 3}, -32600, 3),
        ({"jsonrpc": "2.0", "id": 3, "method": 7}, -32600, 3),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600, None),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600, None),
        (request("server/discover"), -32601, 1),
        (request("resources/list"), -32601, 1),
        (request("logging/setLevel", level="debug"), -32601, 1),
        ({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": []}, -32602, 4),
        (call("no_such_tool"), -32602, 1),
        (call("install"), -32602, 1),
        (call("config_set", key="a", value="b"), -32602, 1),
        (request("tools/call", 5, name=["usage"]), -32602, 5),
        (request("tools/call", 5, name="usage", arguments=[1]), -32602, 5),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_code(message: object, code: int, id_: object) -> None:
    told = answered(message)
    assert (told["error"]["code"], told["id"]) == (code, id_)
    assert told["error"]["message"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "usage"}},
        {"jsonrpc": "2.0", "method": "no/such"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}},
    ],
)
def test_nothing_is_said_to_who_asked_nothing(message: object) -> None:
    assert protocol.answer(message) == ""


def test_a_batch_is_answered_as_one() -> None:
    told = answered([request("ping", 1), {"jsonrpc": "2.0", "method": "n"}, 5, request("ping", 2)])
    assert [one["id"] for one in told] == [1, None, 2]
    assert protocol.answer([{"jsonrpc": "2.0", "method": "n"}]) == ""


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff\xfe", b'{"a":1}{', b"", b"[" * 100_000, b"1" * 10_000, b'"\\']
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(protocol.Refused) as refused:
        protocol.parse(raw)
    assert json.loads(protocol.refusal(refused.value))["error"]["code"] == -32700


@given(message=MESSAGES | st.lists(MESSAGES, max_size=3) | ANY)
@pytest.mark.usefixtures("unheard")
def test_whatever_is_said_the_answer_is_json_rpc(message: object) -> None:
    told = answered(message)
    for one in told if isinstance(told, list) else [told] if told else []:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) != ("error" in one)
        assert type(one["id"]) in (str, int, type(None))


@given(raw=st.binary(max_size=60))
def test_whatever_comes_in_is_read_or_refused(raw: bytes) -> None:
    try:
        protocol.answer(protocol.parse(raw))
    except protocol.Refused:
        pass
