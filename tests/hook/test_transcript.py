"""Whatever stands where the transcript should be, the event counts."""

import os
import random
from pathlib import Path

import pytest

from hooks import (
    PYTHON,
    assert_same_fold,
    bound_by_modes,
    event,
    heard,
    notes,
    run_silently,
    state,
)


def test_a_transcript_that_is_not_there_yet_is_no_problem(home, tmp_path):
    run_silently(event("SessionStart", transcript=tmp_path / "none" / "s1.jsonl"), home)
    assert heard(home) == {"SessionStart": 1}
    assert not notes(home)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_unreadable(path: Path) -> None:
    path.write_bytes(b"{}\n")
    path.chmod(0)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


NO_TRANSCRIPTS = {
    "a directory": make_directory,
    "a FIFO": os.mkfifo,
    "unreadable": make_unreadable,
    "a link to itself": make_loop,
    "under a file": lambda path: path.parent.rmdir() or path.parent.touch(),
    "too long a name": lambda path: None,
    "a name with NUL": lambda path: None,
}


def not_a_transcript(kind: str, tmp_path: Path) -> str:
    path = tmp_path / "projects" / "s1.jsonl"
    path.parent.mkdir()
    NO_TRANSCRIPTS[kind](path)
    return {"too long a name": f"{path}{'x' * 300}", "a name with NUL": f"{path}\0"}.get(kind, str(path))


@pytest.mark.parametrize("kind", NO_TRANSCRIPTS)
def test_what_cannot_be_read_as_a_transcript_is_noted(kind, home, tmp_path):
    path = not_a_transcript(kind, tmp_path)
    run_silently(event("PostToolBatch", transcript=path), home, before=bound_by_modes())
    assert len(notes(home)) == 1


@pytest.mark.parametrize("kind", NO_TRANSCRIPTS)
def test_an_event_counts_even_if_its_transcript_cannot_be_read(kind, home, tmp_path):
    """What hooks are told is all there is then; nothing can rebuild it."""
    path = not_a_transcript(kind, tmp_path)
    run_silently(event("PostToolBatch", transcript=path), home, before=bound_by_modes())
    assert heard(home) == {"PostToolBatch": 1}


@pytest.mark.parametrize(
    "content",
    [
        Path(PYTHON).read_bytes()[: 3 << 20],
        random.Random(1).randbytes(1 << 20),
        b"\0" * (1 << 20),
        b"SQLite format 3\0" + b"\1" * 4096,
        b"[1, 2, 3]\n" * 1000,
        b'{"type":"user"}\n{"type":"assistant","message":5}\n{"type":["user"]}\n',
        b"no newline anywhere" * 10_000,
    ],
    ids="program random zeros sqlite lists records text".split(),
)
def test_another_programs_file_does_no_harm(content, home, tmp_path):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(content)
    for _ in range(3):
        run_silently(event("PostToolBatch", transcript=path), home)
    assert heard(home) == {"PostToolBatch": 3}
    assert not notes(home)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "damage",
    [
        b'{"parentUuid":"x","type":"user","message":{"content":"cut he\n',
        b'{"parentUuid":"x","type":"user","message":{"content":"cut, then {"type":"system"}\n',
        b'{"type":"user" "uuid"}\n',
        b"{\n",
        b"{x}\n",
        b"\0" * 300 + b"\n",
        b'"just a text\n',
        b"tru\n",
        b"\n\n",
        b"\xff\xfe{\n",
    ],
    ids=repr,
)
def test_a_damaged_line_is_passed_over(damage, home, transcript):
    """In a process that has not loaded `json`, where the scanner reports errors in its own way."""
    with transcript.path.open("ab") as file:
        file.write(damage)
    transcript.result("toolu_2", "after the damage")
    transcript.answer(53_000)
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert not notes(home)
    assert state(home)["seen"]["turns"] == 4
    assert_same_fold(home, transcript.path)


@pytest.mark.parametrize("size", [1, 30, 100, 200, 250])
def test_a_torn_last_line_is_read_when_its_end_is_there(size, home, transcript):
    whole = transcript.path.read_bytes()
    transcript.answer(53_000, "with } and {} and {")
    line = transcript.path.read_bytes()[len(whole) :]
    cuts = [cut for cut in range(1, len(line)) if line[:cut].endswith(b"}")]
    for cut in (size, *cuts[:2]):
        transcript.path.write_bytes(whole + line[:cut])
        run_silently(event("PostToolBatch", transcript=transcript.path), home)
        assert state(home)["seen"]["turns"] == 3
    transcript.path.write_bytes(whole + line)
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert not notes(home)
    assert_same_fold(home, transcript.path)
    assert state(home)["seen"]["turns"] == 4
