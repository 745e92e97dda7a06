"""The usage curve the meter keeps: what each turn added and took."""

from __future__ import annotations

import json

import pytest

from holdfast.core.meter import Meter, root, seconds_between
from holdfast.core.state import State
from holdfast.disk import transcripts
from session import Script, folded, text, use


def turns(script: Script, *contexts: int) -> None:
    for context in contexts:
        script.answer(context=context)


def test_the_curve_holds_one_point_for_each_turn() -> None:
    script = Script()
    script.answer(text("a"), use("t1", "Bash", command="ls"), context=40_000)
    script.result("t1")
    script.answer(context=41_000)
    curve = folded(script.lines).meter.curve
    assert [context for context, _ in curve] == [40_000, 41_000]
    assert [second - 36_000 for _, second in curve] == [1, 4]


def test_the_curve_begins_anew_after_a_compaction_and_the_steps_go_on() -> None:
    script = Script()
    turns(script, 100_000, 100_400)
    script.boundary()
    turns(script, 40_000, 40_900)
    meter = folded(script.lines).meter
    assert [context for context, _ in meter.curve] == [40_000, 40_900]
    # No step leads over the compaction: 400 tokens in a second, then 900.
    assert (meter.steps, meter.step_tokens, meter.step_seconds) == (2, 2000 + 3000, 100 + 100)


def test_only_the_newest_seventeen_turns_are_saved() -> None:
    script = Script()
    turns(script, *range(30_000, 30_000 + 200 * 100, 100))
    meter = folded(script.lines).meter
    saved = json.loads(json.dumps(meter.to_json()))
    assert [context for context, _ in saved["curve"]] == [
        *range(30_000 + 183 * 100, 30_000 + 200 * 100, 100)
    ]
    assert Meter.from_json(saved).to_json() == saved
    assert meter.steps == 199
    assert len(json.dumps(saved["curve"])) < 400


def test_steps_are_those_of_the_model_that_is_used_now() -> None:
    script = Script()
    turns(script, 30_000, 31_000, 32_000)
    script.model = "claude-opus-5-5"
    turns(script, 33_000, 33_100)
    assert (folded(script.lines).meter.steps, folded(script.lines).meter.step_tokens) == (2, 3162 + 1000)


def test_a_response_without_usage_is_no_point() -> None:
    script = Script()
    turns(script, 30_000)
    script.answer(input_tokens=0, cache_read_input_tokens=0)
    turns(script, 30_500)
    assert [context for context, _ in folded(script.lines).meter.curve] == [30_000, 30_500]


def test_what_a_rewind_abandons_leaves_the_curve(tmp_path) -> None:
    script = Script()
    script.prompt("go")
    turns(script, 30_000, 31_000)
    parent = script.leaf
    script.prompt("one")
    turns(script, 60_000, 90_000)
    script.leaf = parent
    script.prompt("instead")
    turns(script, 32_000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes())
    state = State("s1")
    transcripts.catch_up(state, str(path), 1 << 40)
    assert [context for context, _ in state.seen.meter.curve] == [30_000, 31_000, 32_000]
    assert state.seen.meter.steps == 2


def test_a_prompt_that_is_typed_anew_before_an_answer_changes_nothing_of_the_curve() -> None:
    script = Script()
    script.prompt("go")
    turns(script, 30_000, 31_000)
    parent = script.leaf
    script.prompt("one")
    script.leaf = parent
    script.prompt("instead")
    turns(script, 32_000)
    assert [context for context, _ in folded(script.lines).meter.curve] == [30_000, 31_000, 32_000]


@pytest.mark.parametrize("at", ["", "yesterday", "2026-03-01T1٣:00:00Z", "2026-03-01", "x" * 40])
def test_a_time_that_is_none_takes_no_time(at: str) -> None:
    script = Script()
    turns(script, 30_000, 31_000)
    first = folded(script.lines).meter.step_seconds
    line = json.loads(script.lines[-1])
    line["message"]["id"] = "another"
    script.lines.append(json.dumps(line | {"uuid": "u", "timestamp": at}).encode() + b"\n")
    meter = folded(script.lines).meter
    assert (meter.steps, meter.step_seconds) == (2, first)


@pytest.mark.parametrize(
    ("then", "now", "seconds"),
    [(100, 160, 60), (100, 100, 0), (0, 40_000, 300), (86_390, 10, 20)],
    ids=["a minute", "at once", "a pause", "midnight"],
)
def test_a_pause_counts_as_five_minutes_at_most(then: int, now: int, seconds: int) -> None:
    assert seconds_between(then, now) == seconds


def test_a_root_keeps_its_sign() -> None:
    assert [root(amount) for amount in (400, 0, -400)] == [20, 0, -20]
