"""Tools called as the protocol calls them, on real files: what they give fits what they promise."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from holdfast.mcp import tools
from holdfast.ops import checkpoints, context
from session import Script, text

LISTED = {tool["name"]: tool for tool in json.loads(tools.listed())["tools"]}
GIVEN = {
    "checkpoint_diff": {"old": "latest"},
    "checkpoint_pin": {"name": "latest"},
    "checkpoint_verify": {"name": "latest"},
}


@pytest.fixture
def worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which a session has done something. Gives its transcript."""
    project = tmp_path / "tidegate"
    project.mkdir()
    folder = tmp_path / "client/projects/-tidegate"
    folder.mkdir(parents=True)
    script = Script("alpha")
    script.prompt("fix the tide table; never touch the harbour file", cwd=str(project))
    script.answer(text("We go with the lunar table because the solar one drifts."), context=90_000)
    script.prompt("go on", cwd=str(project))
    script.answer(text("Done."), context=91_000)
    path = folder / "alpha.jsonl"
    path.write_bytes(script.bytes())
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    return path


def called(name: str, /, **arguments: Any) -> dict[str, Any]:
    return json.loads(tools.call(name, arguments))


def said(result: dict[str, Any]) -> str:
    (content,) = result["content"]
    assert content["type"] == "text"
    return content["text"]


def test_what_every_tool_gives_fits_its_schema(worked: Path) -> None:
    """Those that need something that is not there say so; the others give what they promise."""
    called("checkpoint_take", session="alpha", note="before all else")
    fitted = []
    for name, tool in LISTED.items():
        needs = tool["inputSchema"].get("required", [])
        arguments = GIVEN.get(name) or dict.fromkeys(needs, str(worked))
        result = called(name, **arguments)
        assert said(result)
        if "isError" not in result:
            Draft202012Validator(tool["outputSchema"]).validate(result["structuredContent"])
            fitted.append(name)
    assert len(fitted) >= len(LISTED) * 0.6, sorted(set(LISTED) - set(fitted))
    assert {"usage", "health", "brief", "sessions", "status", "checkpoint_list"} <= set(fitted)


def test_the_text_says_what_the_structure_says(worked: Path) -> None:
    result = called("usage", session="alpha")
    assert result["structuredContent"]["used"] == 91_050
    assert "\nmax: 200000\n" in said(result)
    assert "degraded" not in said(result), "what is empty is left out"


def test_a_list_is_given_as_an_object(worked: Path) -> None:
    made = called("checkpoint_take", session="alpha", note="one")["structuredContent"]
    listed = called("checkpoint_list", limit=1)
    assert [one["id"] for one in listed["structuredContent"]["result"]] == [made["id"]]
    assert said(listed).startswith(f"- id: {made['id']}\n  uid: ")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"session": 5}, "`session` is integer, and has to be string"),
        ({"session": ["alpha"]}, "`session` is array"),
        ({"sesion": "alpha"}, "there is no `sesion`; it takes transcript, session"),
        ({"session": "../../etc"}, "that cannot be a session"),
        ({"session": "beta"}, "no session 'beta' is known here"),
        ({"transcript": "/nowhere/x.jsonl"}, "does not exist"),
        ({"transcript": "a\x00b"}, "does not exist"),
    ],
)
def test_bad_arguments_are_the_callers_to_mend(worked: Path, arguments: dict, what: str) -> None:
    result = called("usage", **arguments)
    assert result["isError"] is True
    assert what in said(result)


def test_what_is_missing_is_named(worked: Path) -> None:
    assert "`name` is missing" in said(called("checkpoint_verify"))


def test_null_is_as_good_as_nothing(worked: Path) -> None:
    assert called("usage", session="alpha", transcript=None)["structuredContent"]["session"] == "alpha"


def test_a_full_disk_is_told_and_survived(worked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/home/state.json")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "take", full)
        result = called("checkpoint_take")
    assert (result["isError"], "/home/state.json: No space left" in said(result)) == (True, True)
    assert "isError" not in called("usage", session="alpha")


def test_a_mistake_of_ours_is_told_without_what_it_was_about(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "usage", lambda app, **_: {}["the words of a session"])
    result = called("usage")
    assert result["isError"] is True
    assert said(result).startswith("KeyError in <lambda>, line ")
    assert "words" not in said(result)


def test_what_json_cannot_carry_is_a_mistake_of_ours_too(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "usage", lambda app, **_: {"path": Path("x")})
    assert called("usage")["isError"] is True
    monkeypatch.setattr(context, "usage", lambda app, **_: {"share": float("nan"), "odd": "\udc80"})
    assert called("usage")["structuredContent"] == {"share": None, "odd": "\udc80"}


def test_a_library_that_is_missing_is_named(worked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(app: object) -> None:
        import no_such_library  # noqa: F401

    monkeypatch.setattr(context, "usage", lacking)
    assert "needs the package no_such_library" in said(called("usage"))


def test_a_wrong_setting_is_told_by_whoever_cannot_go_on(
    worked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_WINDOW", "many")
    assert "HOLDFAST_WINDOW" in said(called("usage"))
    assert "isError" not in called("status")


def test_there_is_no_tool_for_what_is_local() -> None:
    for name in ("install", "uninstall", "checkpoint_prune", "config_set", "mcp", "verify", ""):
        assert tools.call(name, {}) == ""


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["usage", "checkpoint_show", "checkpoint_list", "summaries_show", "receipt"]),
    arguments=st.dictionaries(
        st.sampled_from(["session", "transcript", "name", "limit", "project", "old"]), VALUES, max_size=3
    ),
)
def test_any_arguments_get_an_answer(worked: Path, name: str, arguments: dict) -> None:
    result = json.loads(tools.call(name, arguments))
    assert said(result)
    assert "a mistake of holdfast's" not in said(result), (name, arguments)
