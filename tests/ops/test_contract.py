"""`context usage` and `context auto-save`: what scripts read; bad input is refused."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.app import Holdfast
from holdfast.disk import saves
from holdfast.errors import BadInput, NotFound
from holdfast.ops.contract import answered, auto_save, drafted, usage
from holdfast.ops.saves import keep
from hooks import PACKAGE
from session import Script, text

HUGE = 10**5000


@pytest.fixture
def app(tmp_path: Path) -> Holdfast:
    return Holdfast.open(
        {
            "HOLDFAST_HOME": str(tmp_path / "home"),
            "CLAUDE_CONFIG_DIR": str(tmp_path / "client"),
            "HOME": str(tmp_path),
            "PATH": str(on_path(tmp_path)),
        }
    )


def on_path(tmp_path: Path) -> Path:
    """A folder of programs, with holdfast among them."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "holdfast").write_text(f'#!/bin/sh\nexec python3 {PACKAGE}/__main__.py "$@"\n')
    (folder / "holdfast").chmod(0o755)
    return folder


def test_usage_has_the_fields_of_the_contract(app: Holdfast) -> None:
    assert asdict(usage(app, used_tokens=150_000)) == {
        "used": 150_000,
        "max": 200_000,
        "percent": 75.0,
        "status": "critical",
        "action": {"type": "save", "message": "Context at 75.0%. Consider saving session."},
    }


@pytest.mark.parametrize(
    ("used", "status", "action"),
    [
        (0, "healthy", "none"),
        (99_999, "healthy", "none"),
        (100_000, "warning", "none"),
        (139_999, "warning", "none"),  # 70.0 when rounded
        (140_000, "critical", "save"),
        (169_999, "critical", "save"),
        (170_000, "overflow", "save_and_restart"),
        (200_000, "overflow", "save_and_restart"),
        (205_000, "overflow", "save_and_restart"),
        (99_999_999, "overflow", "save_and_restart"),
    ],
)
def test_each_limit_holds_to_the_token(app: Holdfast, used: int, status: str, action: str) -> None:
    found = usage(app, used_tokens=used)
    assert (found.status, found.action["type"]) == (status, action)
    assert found.action.get("auto", False) == (action == "save_and_restart")


def test_without_used_tokens_the_session_is_measured(app: Holdfast, tmp_path: Path) -> None:
    folder = tmp_path / "client/projects/-home-mira-tidegate"
    folder.mkdir(parents=True)
    script = Script("alpha")
    script.answer(text("hello"), context=150_000, output=10)
    (folder / "alpha.jsonl").write_bytes(script.bytes())
    for found in (usage(app), usage(app, session="alpha")):
        assert (found.used, found.max, found.status) == (150_010, 200_000, "critical")
    with pytest.raises(NotFound, match="no session 'beta'"):
        usage(app, session="beta")
    with pytest.raises(BadInput, match="not both"):
        usage(app, used_tokens=1, max_tokens=2, session="alpha")


@pytest.mark.parametrize(
    ("used", "most", "said"),
    [
        (-1, 200_000, "used_tokens is -1"),
        (100_000_000, 200_000, "used_tokens is 100000000"),
        (0, 0, "max_tokens is 0"),
        (1, -5, "max_tokens is -5"),
        (1, 100_000_000, "max_tokens is 100000000"),
        (HUGE, 200_000, "more than 18 digits"),
        (-HUGE, 200_000, "more than 18 digits"),
        (1, HUGE, "more than 18 digits"),
    ],
    ids=range(8),
)
def test_numbers_that_cannot_be_are_refused_and_nothing_is_written(
    app: Holdfast, used: int, most: int, said: str
) -> None:
    for ask in (
        lambda: usage(app, used_tokens=used, max_tokens=most),
        lambda: auto_save(app, environment="dev", used_tokens=used, max_tokens=most),
    ):
        with pytest.raises(BadInput, match=said) as refused:
            ask()
        assert refused.value.status == 400
    assert not Path(app.home.root).exists()


@pytest.mark.parametrize("name", ["", "../up", "a b", "$(id)", "a\0b", "x" * 10_000_000])
def test_a_name_that_is_none_is_refused_when_drafted(app: Holdfast, name: str) -> None:
    with pytest.raises(BadInput, match="environment") as refused:
        drafted(name, 1, 2)
    assert len(str(refused.value)) < 500
    with pytest.raises(BadInput, match="whole path"):
        drafted("dev", 1, 2, project="../here")
    assert not Path(app.home.root).exists()


def test_more_than_the_window_holds_is_shown_and_saved_as_it_is(app: Holdfast) -> None:
    """That is when it matters."""
    found = usage(app, used_tokens=205_000)
    assert (found.used, found.max, found.percent, found.status) == (205_000, 200_000, 102.5, "overflow")
    assert found.action["message"] == "Context at 102.5%. Save and restart recommended."
    answer = auto_save(app, environment="dev", used_tokens=205_000)
    (save,) = saves.of(app.home, "dev")
    assert (answer.status, answer.percent_at_save, answer.session_id) == ("saved", 102.5, save["id"])
    assert (save["used"], save["max"], save["task"]) == (205_000, 200_000, "[Auto-save at 102% context]")


def test_the_window_of_a_session_that_is_named_is_the_measured_one(app: Holdfast, tmp_path: Path) -> None:
    folder = tmp_path / "client/projects/-home-mira-tidegate"
    folder.mkdir(parents=True)
    script = Script("alpha")
    script.answer(text("hello"), context=150_000, output=10)
    (folder / "alpha.jsonl").write_bytes(script.bytes().replace(b"claude-opus-4-6", b"claude-opus-5-5"))
    assert usage(app, used_tokens=205_000, session="alpha").max == 1_000_000
    assert auto_save(app, environment="dev", used_tokens=860_000, session="alpha").percent_at_save == 86.0
    with pytest.raises(NotFound, match="no session 'beta'"):
        auto_save(app, environment="dev", used_tokens=1, session="beta")
    assert len(saves.of(app.home, "dev")) == 1


def test_an_auto_save_answers_with_the_fields_of_the_contract(app: Holdfast) -> None:
    answer = asdict(auto_save(app, environment="staging", used_tokens=174_000))
    (save,) = saves.of(app.home, "staging")
    assert answer == {
        "status": "saved",
        "session_id": save["id"],
        "percent_at_save": 87.0,
        "restart_command": "rs staging",
        "message": "Session saved. Run 'holdfast rs staging' to continue.",
    }
    assert save["task"] == "[Auto-save at 87% context]"
    assert save["context"] == "Automatic save triggered at 174000/200000 tokens"
    assert save["next_steps"] == "Continue from auto-save point"
    assert save["tags"] == ["auto-save", "tokens-174000"]
    assert (save["source"], save["used"], save["max"]) == ("auto-save", 174_000, 200_000)


def test_what_was_inferred_is_kept(app: Holdfast) -> None:
    auto_save(
        app, environment="dev", used_tokens=9, max_tokens=10, inferred_task="dredge", inferred_context="mud"
    )
    (save,) = saves.of(app.home, "dev")
    assert (save["task"], save["context"]) == ("dredge", "mud")


def test_many_are_kept_with_one_write_for_each_environment(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended: list[str] = []
    real: Any = saves.files.append_durably

    def counted(path: str, line: bytes) -> None:
        appended.append(path.rpartition("/")[2])
        real(path, line)

    monkeypatch.setattr(saves.files, "append_durably", counted)
    drafts = [drafted(("dev", "ops")[number % 2], number, 100) for number in range(64)]
    answers = [answered(app, saved) for saved in keep(app, drafts)]
    assert sorted(appended) == ["dev.jsonl", "ops.jsonl"]
    assert [answer.percent_at_save for answer in answers] == list(range(64))
    assert [save["used"] for save in saves.of(app.home, "ops")] == list(range(1, 64, 2))


@given(st.text(max_size=200), st.text(max_size=200))
def test_whatever_is_said_is_kept_as_data(tmp_path_factory: Any, task: str, context: str) -> None:
    root = tmp_path_factory.mktemp("any")
    app = Holdfast.open({"HOLDFAST_HOME": str(root / "home"), "HOME": str(root)})
    answer = auto_save(
        app,
        environment="dev",
        used_tokens=1,
        max_tokens=2,
        inferred_task=task + "$(touch x)`'\"\n",
        inferred_context=context,
    )
    (save,) = saves.of(app.home, "dev")
    assert save["id"] == answer.session_id
    assert "$(touch x)`'\"" in save["task"] or len(save["task"]) > 200
    assert save["source"] == "auto-save"
    assert save["environment"] == "dev"
