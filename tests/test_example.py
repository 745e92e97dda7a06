"""The example session: the file checked in is what its generator writes, and tells the story it should."""

import itertools
import json
import re
import runpy
import statistics
from pathlib import Path

import pytest

import gauge as bench
from holdfast.app import Holdfast
from holdfast.core.fold import fold
from holdfast.core.seen import Seen
from holdfast.core.transcript import Entry
from holdfast.ops.context import Usage, usage

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SESSION = EXAMPLES / "session.jsonl"


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return list(bench.read(SESSION))


@pytest.fixture(scope="module")
def seen(entries: list[Entry]) -> Seen:
    folded = Seen()
    for entry in entries:
        fold(folded, entry)
    return folded


@pytest.fixture
def reading(home: Path) -> Usage:
    return usage(Holdfast.open({"HOME": str(home)}), transcript=str(SESSION))


def test_the_generator_writes_exactly_the_file_that_is_checked_in() -> None:
    story = runpy.run_path(str(EXAMPLES / "make_session.py"))["story"]
    assert story().encode() == SESSION.read_bytes()


def test_every_byte_is_parsed(reading: Usage) -> None:
    size = SESSION.stat().st_size
    assert reading.bytes is not None
    assert (reading.bytes.parsed, reading.bytes.salvaged, reading.bytes.skipped) == (size, 0, 0)
    assert reading.bytes.damaged_lines == 0
    assert size < 1_200_000


def test_the_gauge_stands_at_four_fifths_of_the_capacity(reading: Usage) -> None:
    assert (reading.max, reading.capacity, reading.model) == (200_000, 167_000, "claude-opus-4-6")
    assert 80.5 <= reading.fill <= 81.5
    assert reading.used == reading.context + reading.output + reading.estimated
    assert (reading.level, reading.source) == ("L2 Advisory", "usage+estimate")
    assert reading.degraded == []


def test_the_story_is_all_there(reading: Usage, seen: Seen) -> None:
    assert (reading.prompts, reading.turns, reading.compactions) == (14, 72, 1)
    (compaction,) = seen.compactions
    assert compaction[1] == "auto"
    assert 167_000 <= compaction[2] < 170_000
    assert {row[0] for row in seen.tasks.values()} == {"completed", "in_progress"}
    assert (len(seen.tasks), len(seen.plans), len(seen.rejections), len(seen.agents)) == (4, 1, 1, 1)
    assert {"Read", "Grep", "Edit", "Write", "Bash", "Agent", "ExitPlanMode"} <= set(seen.tools)
    assert seen.branch == "rate-limits"


def test_every_failed_test_run_was_repeated_until_it_passed(seen: Seen) -> None:
    failed = [command[0] for command in seen.commands if command[5] == 1 and command[6]]
    passed = {command[0] for command in seen.commands if command[5] == 0}
    assert len(failed) == 3
    assert set(failed) <= passed
    assert all(resolved for *_, resolved in seen.errors)


def test_the_gauge_predicts_each_request_within_a_point(entries: list[Entry]) -> None:
    errors = list(bench.predictions(entries, hide_usage=False))
    assert statistics.median(error for error, _ in errors) < 1
    assert max(error for error, _ in errors) < 1
    assert sum(after_compaction for _, after_compaction in errors) == 1


def test_usage_adds_up(entries: list[Entry]) -> None:
    """No response has less context than the one before and its output, except after the compaction."""
    usages = {entry.message: entry.usage for entry in entries if entry.usage}
    rows = list(usages.values())
    falls = [
        now for before, now in itertools.pairwise(rows) if now.context < before.context + before.output
    ]
    assert len(falls) == 1
    assert all(
        now.cache_read == before.context for before, now in itertools.pairwise(rows) if now not in falls
    )


def test_time_only_moves_forward_for_about_three_hours(entries: list[Entry]) -> None:
    times = [entry.at for entry in entries]
    assert times == sorted(times)
    assert (times[0][:13], times[-1][:13]) == ("2026-03-12T13", "2026-03-12T16")


def test_it_names_no_real_place_and_nothing_like_a_secret() -> None:
    text = SESSION.read_text()
    assert set(re.findall(r"/home/\w+|/root|/Users|/tmp|/work\b", text)) == {"/home/mira"}
    assert not re.search(r"(?i)password|api[_-]?key|bearer |BEGIN [A-Z ]*KEY|sk-|ghp_|AKIA", text)
    assert {json.loads(line)["sessionId"] for line in text.splitlines()} == {
        "71de6a7e-0312-4a11-8c0d-5e55105a9b1e"
    }
