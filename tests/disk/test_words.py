"""What was said, where a disk still says it."""

from __future__ import annotations

import errno
import posix
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.app import Holdfast
from holdfast.core.events import Event
from holdfast.disk import trail, words
from holdfast.engine import handle
from hooks import Transcript


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has a bad sector in the first line."""

    def pread(fd: int, size: int, at: int) -> bytes:
        if at == 0:
            raise OSError(errno.EIO, "Input/output error")
        return posix.pread(fd, size, at)

    monkeypatch.setattr(words, "posix", SimpleNamespace(pread=pread, close=posix.close))


def test_a_place_that_cannot_be_read_says_nothing(failing: None, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a":1}\n{"b":2}\n')
    said = words.Words(str(path))
    assert (said(0, 8), said.trouble) == ([], "OSError: Input/output error")
    assert said(8, 8) == [{"b": 2}]
    said.close()


def test_a_checkpoint_is_taken_of_what_can_be_read(failing: None, tmp_path: Path, home: Path) -> None:
    transcript = Transcript(tmp_path / "t.jsonl")
    transcript.prompt("fix the parser")
    transcript.prompt("and the lexer")
    transcript.answer(50_000, "I will")
    app = Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(tmp_path)})
    data = {"cwd": str(tmp_path), "transcript_path": str(transcript.path), "trigger": "auto"}
    taken = handle(Event("PreCompact", "s1", 1_794_000_000_000, data), app).checkpoint
    assert "and the lexer" in Path(taken["path"]).read_text()
    (note,) = (note for note in trail.recent(app.home) if note["event"] == "degraded.words")
    assert (note["session"], note["what"]) == ("s1", "OSError: Input/output error")
