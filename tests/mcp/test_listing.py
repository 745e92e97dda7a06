"""The list of tools: fresh, whole, valid, and short enough to be in every session's context."""

from __future__ import annotations

import json
import re

from jsonschema import Draft202012Validator

from holdfast.mcp import listing, protocol, tools
from holdfast.ops import registry

LISTED = {tool["name"]: tool for tool in json.loads(tools.listed())["tools"]}
#: As the client names a tool of the plugin, in at most 64 characters.
PREFIX = "mcp__plugin_holdfast_holdfast__"


def test_the_list_is_that_of_the_registry() -> None:
    with open(tools.PATH, encoding="ascii") as file:
        assert file.read() == listing.made(), "run: .venv/bin/python -m holdfast.mcp.listing"


def test_it_is_one_line() -> None:
    assert "\n" not in tools.listed()


def test_every_operation_but_the_local_ones_is_a_tool_once() -> None:
    shared = {*registry.READS.values(), *registry.WRITES.values()}
    assert sorted(one.place for one in tools.operations().values()) == sorted(shared)
    assert not any(one.local for one in tools.operations().values())
    assert "checkpoint_verify" in LISTED
    assert "verify" not in LISTED


def test_the_tables_name_operations_that_are() -> None:
    shared = {*registry.READS, *registry.WRITES}
    assert {*registry.ALWAYS_LOADED, *registry.BY_HAND} <= shared
    assert {*registry.DESTRUCTIVE, *registry.IDEMPOTENT} <= {*registry.WRITES}


def test_names_fit_and_schemas_are_schemas() -> None:
    for name, tool in LISTED.items():
        assert re.fullmatch(r"[a-z][a-z_]+", name)
        assert len(PREFIX + name) <= 64
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


def test_whatever_is_taken_is_described() -> None:
    for name, tool in LISTED.items():
        assert 20 <= len(tool["description"]) <= 400, name
        for parameter, schema in tool["inputSchema"]["properties"].items():
            assert schema.get("description"), f"{name}: {parameter}"
            assert schema.get("type") or schema.get("anyOf"), f"{name}: {parameter}"


def test_no_tool_takes_the_name_of_a_file_to_write() -> None:
    assert set(LISTED["replay"]["inputSchema"]["properties"]) == {"path"}


def test_hints_say_who_reads_and_who_writes() -> None:
    assert LISTED["usage"]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert LISTED["checkpoint_pin"]["annotations"] == {
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_few_are_always_loaded() -> None:
    always = [name for name, tool in LISTED.items() if tool.get("_meta") == {"anthropic/alwaysLoad": True}]
    assert sorted(always) == sorted(name.replace(".", "_") for name in registry.ALWAYS_LOADED)
    assert len(always) <= 6


def test_the_instructions_are_short_and_name_tools_that_are() -> None:
    told = json.loads(protocol.answer({"jsonrpc": "2.0", "id": 1, "method": "initialize"}))["result"]
    assert len(told["instructions"]) <= 400
    named = set(re.findall(r"`(\w+)`", told["instructions"]))
    assert named <= set(LISTED)
    assert len(named) >= 3
