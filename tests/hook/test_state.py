"""A damaged state is set aside and rebuilt; nothing is deleted."""

import json
import random
from pathlib import Path

import pytest

from hooks import (
    Transcript,
    assert_same_fold,
    encode,
    event,
    folder,
    heard,
    notes,
    run_silently,
    write_state,
)


def set_aside(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder(home).glob("state.json.damaged-*"))]


@pytest.fixture
def saved(home, transcript):
    """A state as a hook wrote it."""
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    run_silently(event("UserPromptSubmit", transcript=transcript.path), home)
    return (folder(home) / "state.json").read_bytes()


def assert_rebuilt(home: Path, transcript: Transcript, damaged: bytes) -> None:
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert set_aside(home) == [damaged]
    noted = [(n["event"], n["session"], n["aside"][:19]) for n in notes(home)]
    assert noted == [("degraded.state", "s1", "state.json.damaged-")]
    assert_same_fold(home, transcript.path)
    assert heard(home) == {"PostToolBatch": 1}


@pytest.mark.parametrize("share", [0.0, *(n / 16 for n in range(1, 16)), 0.9999])
def test_a_state_cut_short_is_set_aside_and_rebuilt(share, saved, home, transcript):
    damaged = saved[: int(len(saved) * share)]
    write_state(home, damaged)
    assert_rebuilt(home, transcript, damaged)


@pytest.mark.parametrize(
    "damaged",
    [
        b"\0" * 3000,
        random.Random(2).randbytes(3000),
        b"\xff\xfe",
        b"not JSON",
        b"[]",
        b'"v"',
        b"1",
        b"null",
        b"{}",
        b'{"v":1}',
        b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_state_that_is_none_is_set_aside_and_rebuilt(damaged, saved, home, transcript):
    write_state(home, damaged)
    assert_rebuilt(home, transcript, damaged)


SHAPES = {
    "another version": {"v": 2},
    "no version": {"v": None},
    "a version of text": {"v": "1"},
    "a session of another name": {"session": "s2"},
    "a session of no name": {"session": 7},
    "an agent's": {"agent": "a1"},
    "seen: a list": {"seen": []},
    "seen: empty": {"seen": {}},
    "seen: a text as offset": {"seen.offset": "12"},
    "seen: a negative offset": {"seen.offset": -12},
    "seen: a null as offset": {"seen.offset": None},
    "seen: numbers as texts": {"seen.turns": "3"},
    "seen: a number as list": {"seen.answered": 3},
    "seen: a text as list": {"seen.identity": "abcd"},
    "seen: a short list": {"seen.identity": [1]},
    "seen: short bytes": {"seen.bytes": [1]},
    "seen: a list as table": {"seen.tools": []},
    "seen: rows that are numbers": {"seen.tools": {"Bash": 5}},
    "seen: places that are numbers": {"seen.prompts": [1, 2, 3]},
    "seen: no meter": {"seen.meter": None},
    "seen: a meter of texts": {"seen.meter.context": "many"},
    "seen: a tail of numbers": {"seen.meter.tail": 5},
    "behind: a number": {"behind": 5},
    "heard: a list": {"heard": []},
    "heard: a number as table": {"heard.events": 5},
    "heard: texts as counts": {"heard.calls": "many"},
    "heard: a list as table": {"heard.pending": [1]},
    "heard: rows that are numbers": {"heard.tools": {"Bash": 7}},
    "heard: pending numbers": {"heard.pending": {"1": 5}},
    "heard: pending texts": {"heard.pending": {"1": ["a", "b"]}},
    "heard: a client of texts": {"heard.client": {"auto_window": "large"}},
    "heard: a text as client": {"heard.client": "2.1"},
    "heard: a text as window": {"heard.window": "large"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_state_of_another_shape_is_set_aside_and_rebuilt(shape, saved, home, transcript):
    """The hook must not fail on it for the rest of the session."""
    value = json.loads(saved)
    for dotted, wrong in SHAPES[shape].items():
        *path, last = dotted.split(".")
        place = value
        for name in path:
            place = place[name]
        place[last] = wrong
    damaged = encode(value)
    write_state(home, damaged)
    transcript.result("toolu_2", "more")
    assert_rebuilt(home, transcript, damaged)


def test_what_stands_in_the_state_s_place_but_is_no_file_does_not_end_the_session(saved, home, transcript):
    path = folder(home) / "state.json"
    path.unlink()
    path.mkdir()
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert heard(home) == {"PostToolBatch": 1}
    assert len(list(folder(home).glob("state.json.damaged-*"))) == 1


def test_what_a_killed_hook_left_half_written_is_ignored(saved, home, transcript):
    (folder(home) / "state.json.tmp").write_bytes(saved[:100])
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert heard(home) == {"PostToolBatch": 2, "UserPromptSubmit": 1}
    assert not (folder(home) / "state.json.tmp").exists()
