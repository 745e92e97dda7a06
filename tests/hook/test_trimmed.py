"""The client cuts away what was before a compaction and writes the rest anew (seen with 2.1.327 and
CLAUDE_CODE_TRANSCRIPT_LOCAL_GC: 8.5 MB became 0.6). What was said there is known all the same, and once."""

import json

import pytest

from hooks import copy_package, edit, folder, heard, state
from session import Script
from told import DECIDED, RULE, Work, day, repository


@pytest.fixture
def work(home, tmp_path):
    return day(Work(home, repository(tmp_path / "tidegate")))


def compact(work: Work) -> str:
    block, _, _ = work.compact("It was about a harbour.")
    return block


def results(work: Work) -> None:
    for number in range(120):
        work.call("Bash", f"line {number}\n" + "x" * 100_000, command=f"cat log{number}")


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


@pytest.mark.parametrize("kept", [0, 1, 2, 6])
@pytest.mark.parametrize("times", [1, 2])
def test_going_back_after_it_was_cut_loses_only_what_was_abandoned(work, kept, times):
    before = compact(work)
    trim(work, kept)
    work.prompt("And the buoys?")
    work.say("They blink.")
    for _ in range(times):
        parent = work.script.leaf
        work.prompt("Paint them red.")
        work.say("Chose crimson because the buoy is dark.")
        assert "crimson" in work.hook("PreCompact")
        work.script.leaf = parent
        work.prompt("Rather paint them white.")
        work.say("Chose ivory because the buoy is dark.")
        after = work.hook("PreCompact")
    for said in (RULE, DECIDED):
        assert after.count(said) == before.count(said), "neither lost nor told twice"
    assert "crimson" not in after
    assert "Chose ivory" in after


def test_a_child_that_reads_on_keeps_what_was_cut_away(work, home):
    """More comes between two hooks than one may take in."""
    compact(work)
    trim(work, 2)
    work.prompt("And the buoys?")
    work.hook("PreCompact")
    results(work)
    work.hook("PreCompact")
    facts = json.loads((folder(home) / "facts.json").read_bytes())
    assert (facts["start"], facts["offset"]) == (0, work.path.stat().st_size)
    assert RULE in str(facts["units"])
    assert work.hook("PreCompact").count(RULE) == 1


def test_of_a_session_met_late_what_was_known_is_kept(work, home, tmp_path):
    """Where nobody had read all of it, nobody can any more: it is not read late."""
    package = copy_package(tmp_path / "childless")
    edit(package / "catchup.py", "        _read_apart(place, path, app)\n", "        pass\n")
    work.more["package"] = package
    results(work)
    assert RULE in compact(work)
    assert json.loads((folder(home) / "facts.json").read_bytes())["start"]
    trim(work, 2)
    del work.more["package"]
    for _ in range(3):
        work.prompt("And the buoys?")
        said = work.hook("PreCompact")
        assert RULE in said
        assert "came late" not in said


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
