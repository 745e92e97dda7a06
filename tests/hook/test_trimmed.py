"""The client cuts away what was before a compaction and writes the rest anew (seen with 2.1.327 and
CLAUDE_CODE_TRANSCRIPT_LOCAL_GC: 8.5 MB became 0.6). What was said there is known all the same, and once."""

import pytest

from hooks import heard, state
from session import Script
from told import DECIDED, RULE, Work, day, repository


@pytest.fixture
def work(home, tmp_path):
    return day(Work(home, repository(tmp_path / "tidegate")))


def compact(work: Work) -> str:
    block, _, _ = work.compact("It was about a harbour.")
    return block


def trim(work: Work, kept: int) -> None:
    """Leave what the compaction kept (so many lines before it), the compaction, and what came after."""
    lines = work.script.lines
    (at,) = [number for number, line in enumerate(lines) if b'"compact_boundary"' in line]
    work.script.lines = lines[max(0, at - kept) : at] + lines[at:]
    work.path.unlink()  # it is another file, under the same name


@pytest.mark.parametrize("kept", [0, 1, 2, 6])
def test_what_was_said_before_is_still_told(work, kept):
    before = compact(work)
    assert RULE in before
    assert DECIDED in before
    trim(work, kept)
    work.prompt("And the buoys?")
    work.say("Chose lantern because the buoy is dark.")
    work.hook("Stop")
    after = work.hook("PreCompact")
    for said in (RULE, DECIDED):
        assert after.count(said) == before.count(said), "neither lost nor told twice"
    assert after.count("Chose lantern") == 1
    brief = work.start("compact")
    assert brief.count(RULE) == 1


def test_what_is_measured_is_what_is_left(work, home):
    compact(work)
    trim(work, 2)
    work.context = 31_000
    work.prompt("And the buoys?")
    work.say("They blink.")
    work.hook("Stop")
    saved = state(home)
    assert (saved["seen"]["rereads"], saved["seen"]["reread_why"]) == (1, "shrunk")
    assert saved["seen"]["meter"]["context"] == 31_010
    assert "awaits" not in saved["heard"]
    assert heard(home)["PostCompact"] == 1


def test_a_session_cut_twice_keeps_what_was_said_first(work):
    compact(work)
    trim(work, 1)
    work.prompt("And the buoys?")
    work.say("We chose lanterns instead of bells because the harbour is foggy.")
    work.hook("PreCompact")
    work.boundary("It was about buoys.")
    work.script.lines = work.script.lines[-2:]
    work.path.unlink()
    work.prompt("And the pier?")
    work.say("It stands.")
    after = work.hook("PreCompact")
    assert after.count(RULE) == 1
    assert after.count("lanterns instead of bells") == 1


def test_another_conversation_in_the_same_place_is_not_mixed_with_it(work):
    """The control: nothing in it is known, so nothing is kept."""
    compact(work)
    work.script = Script("s1")
    work.script.count = 5_000
    work.prompt("Something else altogether")
    work.say("We chose bells because they ring.")
    work.path.unlink()
    after = work.hook("PreCompact")
    assert RULE not in after
    assert DECIDED not in after
