"""A bar is for people who wait."""

from __future__ import annotations

import io
import sys

import pytest

from holdfast.ops import progress
from holdfast.ops.progress import Bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, patience_s: float) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE_S", patience_s)
    with Bar("reading transcripts") as bar:
        bar.show(500_000, 1_000_000)
        bar.show(1_000_000, 1_000_000)
    return screen.getvalue()


def test_on_a_terminal_it_says_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(monkeypatch, Screen(), 0)
    assert "reading transcripts" in said
    assert "1.0 MB" in said


def test_nothing_is_shown_before_somebody_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Screen(), 60) == ""


def test_where_nobody_looks_a_plain_line_says_it_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), 0) == ""
    monkeypatch.setattr(progress, "_PLAIN_S", 0)
    said = shown(monkeypatch, io.StringIO(), 0)
    assert said.splitlines() == [
        "holdfast: reading transcripts: 50 %",
        "holdfast: reading transcripts: 100 %",
    ]


def test_things_are_counted_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0)
    with Bar("looking at checkpoints", counts=True) as bar:
        bar.show(3, 7)
    assert "3/7" in screen.getvalue()
