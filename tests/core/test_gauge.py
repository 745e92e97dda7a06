"""What the gauge says, and how it says it knows."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.core.events import Event
from holdfast.core.gauge import measure
from holdfast.core.heard import Heard
from holdfast.core.state import State
from session import Script, folded, text, use


def state_of(script: Script | None = None, **heard: object) -> State:
    state = State("s1")
    if script:
        state.seen = folded(script.lines)
    for name, value in heard.items():
        assert hasattr(Heard, name) or hasattr(state.heard, name)
        setattr(state.heard, name, value)
    return state


def event(name: str, **data: object) -> Event:
    return Event(name, "s1", 1, {"hook_event_name": name, **data})


def called(tool: str, uid: str, response: object) -> Event:
    """A batch of one call."""
    call = {"tool_name": tool, "tool_use_id": uid, "tool_response": response}
    return event("PostToolBatch", tool_calls=[call])


@pytest.mark.parametrize(
    ("model", "window", "capacity"),
    [
        ("claude-haiku-4-5-20251001", 200_000, 200_000),
        ("claude-sonnet-4-5-20250929", 200_000, 200_000),
        ("claude-opus-4-5-20251101", 200_000, 200_000),
        ("claude-sonnet-4-6", 200_000, 167_000),
        ("claude-opus-4-6", 200_000, 167_000),
        ("claude-sonnet-4-5[1m]", 1_000_000, 1_000_000),
        ("claude-sonnet-4-6[1m]", 1_000_000, 1_000_000),
        ("claude-opus-4-7", 1_000_000, 967_000),
        ("claude-opus-5-5", 1_000_000, 967_000),
        ("claude-haiku-5-5", 1_000_000, 967_000),
        ("us.anthropic.claude-opus-4-6-v1:0", 200_000, 167_000),
        ("somebody-elses-model", 1_000_000, 967_000),
    ],
)
def test_window_and_threshold_are_those_of_the_client(model: str, window: int, capacity: int) -> None:
    script = Script(model=model)
    script.answer(context=30_000)
    reading = measure(state_of(script))
    assert (reading.window, reading.capacity) == (window, capacity)
    assert reading.until_compaction == capacity - reading.used


@pytest.mark.parametrize(
    ("client", "model", "capacity", "source"),
    [
        (
            {"auto_window": 100_000, "auto_window_from": "environment"},
            "claude-opus-5-5",
            67_000,
            "environment",
        ),
        ({"auto_window": 100_000, "auto_window_from": "settings"}, "claude-sonnet-4-5", 67_000, "settings"),
        ({"percent": 70}, "claude-opus-4-6", 126_000, "model"),
        ({"percent": 30}, "claude-opus-4-6", 54_000, "model"),
        ({"percent": 99}, "claude-opus-4-6", 167_000, "model"),  # can only lower it
        ({"percent": 70}, "claude-sonnet-4-5", 200_000, "model"),  # nothing to lower
        ({"model_windows": {"claude-opus-5-5": 200_000}}, "claude-opus-5-5", 167_000, "settings"),
        ({"model_windows": {"claude-opus-5-5": 200_000}}, "claude-opus-4-7", 967_000, "model"),
        ({"no_1m": True}, "claude-opus-5-5", 167_000, "environment"),
        ({"compaction_off": True}, "claude-opus-4-6", 177_000, "model"),
    ],
)
def test_the_clients_settings_move_the_threshold(
    client: dict, model: str, capacity: int, source: str
) -> None:
    script = Script(model=model)
    script.answer(context=30_000)
    reading = measure(state_of(script, client=client))
    assert (reading.capacity, reading.window_source) == (capacity, source)


@pytest.mark.parametrize(
    ("version", "capacity"), [("2.1.7", 155_000), ("2.1.31", 167_000), ("2.1.327", 200_000)]
)
def test_older_clients_compacted_earlier(version: str, capacity: int) -> None:
    script = Script(model="claude-opus-4-5-20251101", version=version)
    script.answer(context=30_000)
    assert measure(state_of(script)).capacity == capacity


def test_window_sources_have_their_order() -> None:
    script = Script(model="claude-opus-4-6")
    script.answer(context=30_000)
    state = state_of(script)
    assert measure(state).window_source == "model"
    state.seen.meter.highest = 250_000
    assert (measure(state).window, measure(state).window_source) == (1_000_000, "usage")
    state.heard.model = "claude-opus-4-6[1m]"
    assert measure(state).window_source == "model id"
    state.heard.window, state.heard.window_of = 500_000, "claude-opus-4-6"
    assert (measure(state).window, measure(state).window_source) == (500_000, "client")
    assert (measure(state, window=300_000).window, measure(state, window=300_000).window_source) == (
        300_000,
        "config",
    )


def cases(name: str) -> list:
    found = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    return [
        pytest.param(case, id=f"{at}-{case.get('why') or case['model']}") for at, case in enumerate(found)
    ]


@pytest.mark.parametrize("case", cases("windows"))
def test_the_window_of_a_model_depends_on_who_is_asked(case: dict) -> None:
    script = Script(model=case["model"].removesuffix("[1m]"), version=case["version"])
    script.answer(context=30_000)
    state = state_of(script, model=case["model"])
    reading = measure(state)
    assert (reading.window, reading.capacity) == (case["window"], case["capacity"])


def compacted(case: dict) -> Script:
    """A session with these compactions, each after a pause and with what the client says beside it."""
    script = Script(model=case["model"], version=case["version"])
    now = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)

    def at(later_s: int) -> str:
        nonlocal now
        now += timedelta(seconds=later_s)
        return now.isoformat().replace("+00:00", "Z")

    for one in case["compactions"]:
        script.model = one.get("model", case["model"])
        script.prompt("go on", timestamp=at(20))
        script.answer(context=one["at"] - 60)
        script.lines[-1] = script.lines[-1].replace(script.stamp.encode(), at(10).encode())
        # What the client writes while nobody is there is no work.
        script.line("system", subtype="away_summary", content="a recap", timestamp=at(0))
        data = {"trigger": "auto", "preTokens": one["at"], "postTokens": 9_000}
        data |= {key: one[key] for key in ("trigger", "precomputed") if key in one}
        data["durationMs"] = 1000 * one.get("lasted_s", 0)
        script.line(
            "system",
            subtype="compact_boundary",
            compactMetadata=data,
            timestamp=at(one.get("idle_s", 30)),
        )
        if "says" in one:
            script.line("system", subtype="informational", content=one["says"], timestamp=at(0))
    script.model = case["model"]
    script.answer(context=20_000)
    return script


@pytest.mark.parametrize("case", cases("thresholds"))
def test_a_compaction_teaches_where_the_client_compacts_only_if_the_window_was_full(case: dict) -> None:
    script = compacted(case)
    reading = measure(state_of(script, model=case["model"]))
    assert reading.capacity == case["capacity"]
    is_learned = case["capacity"] in [one["at"] for one in case["compactions"]]
    assert (reading.window_source == "compactions") == is_learned


def test_a_context_larger_than_a_compaction_refutes_what_it_taught() -> None:
    """It was not for want of room: there are more reasons than holdfast knows."""
    script = Script(model="claude-opus-4-6")
    script.answer(context=150_000)
    script.boundary("auto", 150_010)
    script.answer(context=130_000)
    assert measure(state_of(script)).capacity == 150_010
    script.answer(context=160_000)
    assert measure(state_of(script)).capacity == 167_000


def test_however_much_is_taken_away_something_is_left() -> None:
    script = Script()
    script.answer(context=30_000)
    script.answer(context=90_000)
    script.line("system", subtype="microcompact_boundary", microcompactMetadata={"tokensSaved": 90_000})
    assert 20_000 < measure(state_of(script)).used <= 30_000


def test_without_a_transcript_the_statusline_is_believed() -> None:
    state = state_of()
    window = {
        "context_window_size": 200_000,
        "current_usage": {"input_tokens": 150_000, "output_tokens": 50},
    }
    told = Event("StatusLine", "s1", 1, {"model": {"id": "claude-opus-4-6"}, "context_window": window})
    state.overlay(told)
    assert (measure(state).used, measure(state).source) == (150_050, "usage")


@pytest.mark.parametrize("size", [0, 1, 999])
def test_a_window_too_small_to_be_one_is_not_believed(size: int) -> None:
    state = state_of()
    state.overlay(Event("StatusLine", "s1", 1, {"context_window": {"context_window_size": size}}))
    assert measure(state).window == 1_000_000


def test_what_another_model_did_says_nothing_of_this_one() -> None:
    script = Script(model="claude-opus-5-5")
    script.answer(context=500_000)
    script.boundary("auto", 600_000)
    script.model = "claude-sonnet-4-6"
    script.answer(context=30_000)
    reading = measure(state_of(script))
    assert (reading.window, reading.capacity, reading.window_source) == (200_000, 167_000, "model")


def test_a_model_that_was_switched_to_counts_before_it_has_answered() -> None:
    script = Script(model="claude-opus-4-6")
    script.answer(context=165_000)
    state = state_of(script, model="claude-opus-4-6[1m]")
    assert measure(state).window == 1_000_000
    state.overlay(event("PostModelSwitch", from_model="claude-opus-4-6[1m]", to_model="claude-opus-4-6"))
    assert measure(state).fill > 98
    state.overlay(event("PostModelSwitch", from_model="x", to_model="claude-opus-5-5"))
    assert measure(state).window == 1_000_000
    script.answer(context=166_000)
    state.seen = folded(script.lines)
    assert measure(state).model == "claude-opus-4-6"  # it answered after all


def test_after_a_restart_with_other_settings_an_old_compaction_teaches_nothing() -> None:
    script = Script(model="claude-opus-5-5")
    script.boundary("auto", 67_009)
    script.answer(context=30_000)
    client = {"auto_window": 500_000, "auto_window_from": "settings", "since": 1}
    assert measure(state_of(script, client=client)).capacity == 467_000


def test_context_is_the_clients_own_count_and_the_rest_stands_beside_it() -> None:
    script = Script()
    script.answer(use("t1", "Bash", command="ls"), context=42_000, output=500)
    reading = measure(state_of(script))
    assert (reading.context, reading.output, reading.estimated) == (42_000, 500, 0)
    assert (reading.used, reading.source) == (42_500, "usage")
    script.result("t1", "x" * 3000)
    reading = measure(state_of(script))
    assert (reading.context, reading.source) == (42_000, "usage+estimate")
    assert reading.estimated == 3000 / 3 + 15


def test_an_output_count_of_the_streams_first_moment_is_not_believed() -> None:
    script = Script()
    script.answer(text("w" * 6000), context=42_000, output=1)
    script.lines = [line.replace(b'"end_turn"', b"null") for line in script.lines]
    assert measure(state_of(script)).output == 6000 * 0.85 / 3


def test_a_one_tick_zero_is_not_believed() -> None:
    script = Script()
    script.answer(context=42_000, output=500)
    script.answer(context=10, output=0, input_tokens=0, cache_read_input_tokens=0)
    reading = measure(state_of(script))
    assert reading.context == 42_000
    assert reading.used >= 42_500


def test_the_session_teaches_the_price_of_a_character() -> None:
    script, context = Script(), 30_000
    for turn in range(30):
        script.answer(use(f"t{turn}", "Read", file_path="/a"), context=context, output=100)
        script.result(f"t{turn}", "x" * 8000)
        context += 100 + 8000 // 2 + 15
    state = state_of(script)
    assert state.seen.meter.ratio() == pytest.approx(2.0, abs=0.1)
    assert measure(state).used == pytest.approx(context, rel=0.01)


def test_without_usage_the_text_is_weighed_then_the_calls_then_the_file() -> None:
    script = Script()
    script.prompt("p" * 3000)
    zero = {"input_tokens": 0, "cache_read_input_tokens": 0}
    script.answer(text("a" * 6000), context=10, output=0, **zero)
    reading = measure(state_of(script))
    assert (reading.source, reading.context) == ("estimate", 0)
    assert 40_000 < reading.used < 44_000

    bare = state_of()
    bare.seen.entries, bare.seen.messages, bare.seen.reads = 9, 4, 3
    reading = measure(bare)
    assert (reading.source, reading.used) == ("weights", round(0.10 * reading.window))

    empty = state_of()
    empty.seen.entries = 1
    reading = measure(empty, size=400_000)
    assert (reading.source, reading.used) == ("size", 100_000)


def test_what_stdin_tells_is_laid_over_the_file_until_the_file_has_it() -> None:
    script = Script()
    script.prompt()
    script.answer(use("t1", "Bash", command="ls"), context=42_000, output=500)
    state = state_of(script)
    done = called("Bash", "t1", "x" * 3000)
    state.overlay(done)
    before = measure(state)
    assert before.estimated == 3000 / 3 + 15
    script.result("t1", "x" * 3000)
    state.seen = folded(script.lines)
    state.settle()
    assert measure(state).used == before.used
    state.overlay(done)  # told twice, or late: the file already has it
    assert measure(state).used == before.used


def test_a_prompt_waits_to_be_read_only_until_it_is_answered() -> None:
    script = Script()
    script.answer(context=42_000, output=500)
    state = state_of(script)
    state.overlay(event("UserPromptSubmit", prompt="y" * 3000))
    assert measure(state).estimated == 3000 / 3 + 15
    script.answer(context=44_000, output=500)
    state.seen = folded(script.lines)
    state.settle()
    assert measure(state).used == 44_500


def test_what_a_later_response_was_sent_is_no_longer_pending() -> None:
    """The result may never be read: the client was killed, or its line could not be parsed."""
    script = Script()
    script.answer(context=42_000, output=500)
    state = state_of(script)
    state.overlay(called("Bash", "lost", "x" * 90_000))
    for context in (50_000, 60_000):
        script.answer(context=context, output=4)
    state.seen = folded(script.lines)
    state.settle()
    assert measure(state).used == 60_004


def test_what_a_killed_client_did_not_write_is_not_waited_for_after_a_restart() -> None:
    state = state_of(Script())
    state.overlay(called("Bash", "lost", "x" * 90_000))
    state.overlay(event("SessionStart", source="resume"))
    assert state.heard.pending == {}


@pytest.mark.parametrize(
    "response",
    [
        [{"type": "image", "source": {"type": "base64", "data": "A" * 660_000, "media_type": "image/png"}}],
        [{"type": "image", "data": "A" * 660_000, "mimeType": "image/png"}],
        [{"type": "document", "source": {"type": "base64", "data": "A" * 660_000}}],
    ],
)
def test_an_image_is_an_image_on_stdin_too(response: object) -> None:
    script = Script()
    script.answer(context=50_000)
    state = state_of(script)
    state.overlay(called("Read", "t", response))
    assert measure(state).estimated == 1515


@pytest.mark.parametrize(
    "response",
    [
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "Permission to use Edit has been denied.",
        "The user doesn't want to proceed with this tool use.",
        "Exit code 1",
    ],
)
def test_a_call_that_failed_or_was_not_run_counts_as_failed(response: str) -> None:
    state = state_of(Script())
    state.overlay(called("Edit", "t", response))
    assert (state.heard.calls, state.heard.failures) == (1, 1)


def test_every_call_of_a_batch_counts() -> None:
    script = Script()
    script.answer(context=50_000)
    state = state_of(script)
    calls = [
        {"tool_name": name, "tool_use_id": name, "tool_response": "x" * 3000} for name in ("Read", "Grep")
    ]
    calls.append({"tool_name": "Bash", "tool_use_id": "b", "tool_response": "Exit code 3\nno such gate"})
    state.overlay(event("PostToolBatch", tool_calls=[*calls, "odd", None]))
    assert (state.heard.calls, state.heard.failures, state.heard.batches) == (3, 1, 1)
    assert state.heard.tools == {"Read": [1, 0, 3000], "Grep": [1, 0, 3000], "Bash": [1, 1, 24]}
    assert round(measure(state).estimated) == round(6024 / 3 + 3 * 15)


def test_no_result_counts_for_more_than_the_client_shows() -> None:
    script = Script()
    script.answer(context=50_000)
    state = state_of(script)
    state.overlay(called("x", "t", "y" * 9_000_000))
    assert measure(state).estimated == 120_000 / 3 + 15


def test_usage_resets_when_the_compaction_is_heard_of_before_the_file_shows_it() -> None:
    script = Script()
    script.answer(context=160_000)
    state = state_of(script)
    state.overlay(event("SessionStart", source="compact"))
    state.overlay(
        event("PostCompact", compact_summary="<analysis>" + "z" * 9000 + "</analysis>" + "s" * 3000)
    )
    reading = measure(state)
    assert reading.source == "estimate"
    assert reading.used < 60_000
    script.boundary()
    script.answer(context=31_000)
    state.seen = folded(script.lines)
    assert measure(state).context == 31_000


def test_without_a_transcript_the_hooks_are_the_only_source() -> None:
    state = state_of()
    assert measure(state).used == 0
    for _ in range(10):
        state.overlay(called("Read", "", "x" * 3000))
    reading = measure(state)
    assert reading.source == "estimate"
    assert reading.used > 40_000 + 10 * 3000 / 3


def test_a_state_survives_being_written_and_read() -> None:
    from holdfast.core.state import parse

    script = Script()
    script.prompt()
    script.answer(use("t1", "Bash", command="pytest"), context=42_000)
    state = state_of(script, window=200_000)
    state.overlay(event("SessionStart", source="compact"))
    state.overlay(event("UserPromptSubmit", prompt="x"))
    again = parse(state.render(), "here")
    assert again.render() == state.render()
    assert measure(again).used == measure(state).used
