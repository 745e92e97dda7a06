"""The course of a session that holdfast met when it had long begun."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.ops import replay
from holdfast.ops.checkpoints import take
from holdfast.ops.history import history

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/session.jsonl"


@pytest.fixture
def app(tmp_path: Path) -> Holdfast:
    project = tmp_path / ".claude/projects/p"
    project.mkdir(parents=True)
    shutil.copy(EXAMPLE, project / "s1.jsonl")
    return Holdfast.open({"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home")})


def test_what_came_before_the_first_sample_is_told_by_the_transcript(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = history(app, session="s1")
    take(app, session="s1")
    after = history(app, session="s1")
    assert (before.known, after.known) == (False, True)
    assert [cut.turn for cut in after.compactions] == [cut.turn for cut in before.compactions] == [40]
    assert after.points[:-1] == [point for point in before.points if point.turn < after.points[-1].turn]
    assert [kept.turn for kept in after.checkpoints] == [after.points[-1].turn]
    monkeypatch.setattr(replay, "one", None)  # a long transcript is not read again with every look
    assert history(app, session="s1").points == after.points
