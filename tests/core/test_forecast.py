"""How many turns and minutes are left, who is believed, and when it is said."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.forecast import (
    NO_GROWTH,
    TOO_FEW,
    Forecast,
    Habit,
    first_warning,
    forecast,
    habit,
    is_soon,
    unknown,
    velocity,
)
from holdfast.core.meter import Meter, root, seconds_between

MODEL = "claude-opus-4-6"
TYPICAL = habit(MODEL, ())


def metered(steps: list[int], start: int = 60_000, seconds: int = 20) -> Meter:
    """A meter that has seen turns which added so much."""
    meter = Meter()
    contexts = [*itertools.accumulate(steps, initial=start)]
    meter.curve = [[context, turn * seconds] for turn, context in enumerate(contexts)]
    meter.steps = len(steps)
    meter.step_tokens = sum(round(100 * root(step)) for step in steps)
    meter.step_seconds = sum(round(100 * root(seconds_between(0, seconds))) for _ in steps)
    return meter


def turns(steps: list[int], room: int = 40_000, before: Habit = TYPICAL) -> int:
    made = forecast(metered(steps), room, before)
    assert made is not None
    return made.turns


def test_a_steady_session_goes_on_as_it_did() -> None:
    made = forecast(metered([900] * 40), 18_000, Habit(900, 20, 0))
    assert made is not None
    assert (made.low, made.turns, made.high) == (11, 20, 33)
    assert made.minutes_low < made.minutes < made.minutes_high
    assert made.minutes == pytest.approx(10, abs=0.1)  # half again of 20 turns of 20 seconds: pauses


def test_a_session_that_adds_more_has_fewer_turns_left() -> None:
    assert turns([3_000] * 40) < turns([900] * 40) < turns([300] * 40)


def test_the_newest_turns_count_for_more_than_those_before() -> None:
    assert turns([300] * 40 + [3_000] * 16) < turns([3_000] * 40 + [300] * 16)


def test_one_large_result_is_not_believed_to_come_again_with_every_turn() -> None:
    calm, jump = [500] * 40, [500] * 39 + [30_000]
    assert turns(calm) * 0.7 < turns(jump) < turns(calm)


def test_what_is_all_ten_times_as_large_lasts_as_long() -> None:
    steps = [100, 2_500, 700, 900, 400] * 8
    small = forecast(metered(steps), 30_000, Habit(1_000, 20, 3))
    large = forecast(metered([10 * step for step in steps]), 300_000, Habit(10_000, 20, 3))
    assert small is not None
    assert large is not None
    assert (small.low, small.turns, small.high) == (large.low, large.turns, large.high)


def test_past_sessions_draw_a_forecast_towards_them_the_more_of_them_there_are() -> None:
    def slow(sessions: int) -> Habit:
        return habit(MODEL, [[MODEL, 100, 300, 20.0]] * sessions)

    left = [turns([1_000] * 5, before=slow(sessions)) for sessions in (0, 1, 4, 24)]
    assert left == sorted(left)
    assert left[-1] > 2 * left[0]


def test_another_models_sessions_count_by_what_is_typical_of_that_model() -> None:
    """An old tokenizer makes fewer tokens of the same text: 900 then are 1100 now."""
    assert habit("claude-opus-5-5", [[MODEL, 100, 900, 17.5]] * 8).pace == pytest.approx(1100)
    assert habit(MODEL, [["claude-opus-5-5", 100, 1100, 17.5]] * 8).pace == pytest.approx(900)


def test_a_past_session_is_believed_only_so_far() -> None:
    made = habit(MODEL, [[MODEL, 100, 10**9, 10.0**9], [MODEL, 100, 0, 0.0]])
    assert 0 < made.pace < 2 * TYPICAL.pace
    assert 0 < made.seconds < 2 * TYPICAL.seconds
    assert made.sessions == 2


@pytest.mark.parametrize("steps", [[], [500]])
def test_nothing_is_said_after_too_few_turns(steps: list[int]) -> None:
    meter = metered(steps)
    assert forecast(meter, 40_000, TYPICAL) is None
    assert unknown(meter, TYPICAL) == TOO_FEW
    assert unknown(Meter(), TYPICAL) == TOO_FEW


def test_nothing_is_said_while_the_client_clears_as_fast_as_work_adds() -> None:
    falling = metered([-2_000, 500] * 20, start=150_000)
    assert forecast(falling, 40_000, TYPICAL) is None
    assert unknown(falling, TYPICAL) == NO_GROWTH
    once = metered([900] * 30 + [-40_000, 900, 900], start=100_000)
    assert forecast(once, 40_000, TYPICAL) is not None
    assert unknown(once, TYPICAL) == ""


@pytest.mark.parametrize("room", [0, -5_000])
def test_no_room_is_no_turn(room: int) -> None:
    made = forecast(metered([900] * 20), room, TYPICAL)
    assert made is not None
    assert (made.low, made.turns, made.high) == (0, 0, 1)


def test_it_says_what_it_is_made_from() -> None:
    made = forecast(metered([900] * 20), 9_000, habit(MODEL, [[MODEL, 99, 900, 20.0]] * 3))
    alone = forecast(metered([900] * 20), 9_000, TYPICAL)
    assert made is not None
    assert alone is not None
    assert made.basis == "20 turns of this session, 3 before"
    assert alone.basis == "20 turns of this session, what is typical"


@given(
    st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 86_399)), max_size=40),
    st.integers(-1_000, 10**6),
    st.integers(0, 24),
)
def test_whatever_was_used_the_interval_holds_the_median_and_more_room_is_more_turns(
    points: list[tuple[int, int]], room: int, sessions: int
) -> None:
    meter = Meter()
    for context, second in points:
        meter._step(context, f"2026-03-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z")
    before = habit(MODEL, [[MODEL, 50, 1_000, 15.0]] * sessions)
    made, more = forecast(meter, room, before), forecast(meter, room + 50_000, before)
    assert (made is None) == bool(unknown(meter, before))
    if made and more:
        assert 0 <= made.low <= made.turns <= made.high
        assert 0 <= made.minutes_low <= made.minutes <= made.minutes_high
        assert (more.low, more.turns, more.high) >= (made.low, made.turns, made.high)
        assert more.minutes >= made.minutes


def far(low: int) -> Forecast:
    made = Forecast(0, 20, "")
    made.low = low
    return made


@pytest.mark.parametrize(
    ("low", "was", "soon"),
    [
        (0, False, True),
        (8, False, True),
        (9, False, False),
        (9, True, True),
        (60, True, True),
        (400, True, False),
        (400, False, False),
    ],
)
def test_a_compaction_that_was_near_stays_so_unless_it_is_very_far(low: int, was: bool, soon: bool) -> None:
    assert is_soon(far(low), was) is soon


@pytest.mark.parametrize("was", [True, False])
def test_without_a_forecast_it_stays_as_it_was(was: bool) -> None:
    assert is_soon(None, was) is was


@pytest.mark.parametrize(
    ("contexts", "used", "percent"),
    [
        ([], 50_000, 0),
        ([50_000], 60_000, 0),
        ([50_000, 51_000], 54_000, 2),
        ([10_000, 50_000, 51_000], 54_000, 2),
        ([50_000, 51_000], 51_000, 0.5),
        ([50_000, 51_000], 40_000, 0),
    ],
    ids=["none", "one", "three", "the last three", "the response alone", "falling"],
)
def test_velocity_is_of_the_last_three_samples(contexts: list[int], used: int, percent: float) -> None:
    curve = [[context, 0] for context in contexts]
    assert velocity(curve, used, 100_000) == pytest.approx(percent)


@pytest.mark.parametrize(
    ("step", "capacity", "fill"),
    [(900, 167_000, 73), (900, 967_000, 84), (3_000, 167_000, 65), (1_002, 167_000, 70), (0, 167_000, 84)],
    ids=["usual", "a large window", "fast", "as configured", "at rest"],
)
def test_the_first_warning_comes_early_in_fast_conversations_and_late_in_slow_ones(
    step: int, capacity: int, fill: int
) -> None:
    assert first_warning(metered([step] * 12).curve, capacity) == pytest.approx(fill, abs=0.5)


@pytest.mark.parametrize("usual", [20, 50, 65, 70, 80])
def test_the_first_warning_moves_with_where_it_is_wanted(usual: int) -> None:
    for curve in (metered([step] * 12).curve for step in (50, 500, 1500, 5000)):
        moved = first_warning(curve, 167_000, usual)
        assert moved == min(84, first_warning(curve, 167_000) + usual - 70)
        assert first_warning(curve, 167_000, usual, latest=40) <= 40


def test_the_first_warning_is_the_usual_one_while_nothing_is_known() -> None:
    assert first_warning([], 167_000) == first_warning([[1, 0], [90_000, 0]], 167_000) == 70


def test_only_the_last_ten_samples_decide_on_the_first_warning() -> None:
    slow = metered([30_000] * 9 + [200] * 9).curve
    assert first_warning(slow, 167_000) == 84
    assert first_warning(slow[:-1], 167_000) < 84


@given(st.lists(st.integers(0, 1 << 30), max_size=40), st.integers(1, 10**6))
def test_the_first_warning_always_comes_before_the_next_rung(contexts: list[int], capacity: int) -> None:
    assert 65 <= first_warning([[context, 0] for context in contexts], capacity) <= 84
