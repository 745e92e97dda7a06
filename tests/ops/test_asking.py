"""Which session asks, also when the one that a server was started in has ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.ops import asking
from hooks import event, run_silently

CLIENT = os.getpid()


@pytest.fixture
def app(home: Path, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    """As in a server that this process, the client of the test, has started in session `first`."""
    monkeypatch.setattr(os, "getppid", lambda: CLIENT)
    run_silently(event("SessionStart", "first", source="startup"), home)
    environ = {"HOLDFAST_HOME": str(home), "HOME": str(home.parent), "CLAUDE_CODE_SESSION_ID": "first"}
    return Holdfast.open(environ)


def cleared(home: Path) -> None:
    run_silently(event("SessionEnd", "first", reason="clear"), home)
    run_silently(event("SessionStart", "second", source="clear"), home)


def test_it_is_the_one_the_client_named(app: Holdfast, home: Path) -> None:
    run_silently(event("SessionStart", "second", source="startup"), home)
    assert asking.session(app) == "first"


def test_after_a_clear_it_is_the_one_that_the_same_client_began(app: Holdfast, home: Path) -> None:
    cleared(home)
    assert asking.session(app) == "second"


def test_it_is_never_that_of_another_client(
    app: Holdfast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared(home)
    monkeypatch.setattr(os, "getppid", lambda: CLIENT + 1)
    assert asking.session(app) == ""


def test_one_that_goes_on_again_is_itself(app: Holdfast, home: Path) -> None:
    cleared(home)
    run_silently(event("SessionEnd", "second", reason="resume"), home)
    run_silently(event("SessionStart", "first", source="resume"), home)
    assert asking.session(app) == "first"


def test_a_session_without_hooks_is_taken_at_its_word(home: Path) -> None:
    for name in ("unknown", "../odd"):
        environ = {"HOLDFAST_HOME": str(home), "HOME": str(home.parent), "CLAUDE_CODE_SESSION_ID": name}
        assert asking.session(Holdfast.open(environ)) == name
    del environ["CLAUDE_CODE_SESSION_ID"]
    assert asking.session(Holdfast.open(environ)) == ""
