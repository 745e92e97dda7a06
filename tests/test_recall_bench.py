"""bench/recall.py, where some of the conversations are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

import recall
from conversations import Question
from holdfast.memory.index import Index


def test_conversations_that_nobody_asked_about_have_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "loaded", lambda _: ([], [Question(0, "where is it", ["u1"])]))
    with Index(str(tmp_path / "memory.db")) as shelf:
        shown = recall.quality(tmp_path, shelf, None)
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in shown.splitlines()[3:]]
    assert rows == [
        [name, some, "1"] for name in ("plain FTS5", "keyword only") for some in ("1 to 5", "all")
    ]
