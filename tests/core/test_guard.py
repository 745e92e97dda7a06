"""The ladder and the guard: which rung, what is told, and each of it once per cycle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import guard
from holdfast.core.config import STANDARD, Config
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.guard import ADVICE, FULL, SOON, TELLS, Look, due, note, under_pressure
from holdfast.core.ladder import ADVISORY, LEVELS, PROMPT, WARNING, name_of, reached
from holdfast.core.state import State, parse

RUNGS = [rung for rung, _, _ in LEVELS]
FILLS = st.floats(0, 130)


def reading(fill: float) -> Reading:
    return Reading(fill * 1000, 0, 0, "usage", 200_000, 100_000, "model", "claude-opus-4-6")


def look(rung: int, soon: bool = False) -> Look:
    return Look(rung, is_early=False, velocity=0.0, coming=None, is_soon=soon)


def session(compacted: int = 0) -> State:
    made = State("s1")
    made.seen.entries = 1
    made.seen.turned = list(range(10_000, 10_020))  # long after the compactions
    compact(made, compacted)
    return made


def compact(state: State, times: int = 1, offset: int = 1000) -> None:
    for number in range(times):
        state.seen.compacted += 1
        state.seen.compactions.append(["", "auto", 167_000, 9_000, offset + number, "claude-opus-4-6"])


def told(state: State, name: str, fill: float, rung: int | None = None, soon: bool = False, **data) -> list:
    now = look(reached(fill, STANDARD) if rung is None else rung, soon)
    note(state, reading(fill), now)
    return due(state, Event(name, "s1", 0, data), reading(fill), now, STANDARD)


# -- the ladder


@pytest.mark.parametrize(
    ("fill", "name"),
    [(0, "normal"), (59.9, "normal"), (250, "L4 Critical"), *((rung, name) for rung, _, name in LEVELS)],
)
def test_a_level_is_the_highest_rung_reached(fill, name):
    assert name_of(reached(fill, STANDARD)) == name


def test_a_first_warning_that_comes_late_hides_no_rung_that_is_configured_lower():
    ladder = {"checkpoint": 40, "warning": 70, "prompt_warning": 71, "advisory": 72}
    made = session()
    made.seen.meter.curve = [[70_000 + 50 * turn, 0] for turn in range(12)]  # slow: it would come at 84 %
    config = Config({f"ladder.{name}": fill for name, fill in ladder.items()})
    assert [guard.look(made, reading(fill), config).rung for fill in (71, 75)] == [60, ADVISORY]


@pytest.mark.parametrize(
    ("fill", "pace", "first", "rung"),
    [
        (50, 0, WARNING, 0),
        (50, 3.3, WARNING, 0),
        (50, 3.4, WARNING, 60),  # there in three operations
        (20, 5.1, WARNING, 60),  # fast
        (20, 5.0, WARNING, 0),
        (61, 40, WARNING, WARNING),  # however fast, one rung
        (66, 0, 65, WARNING),  # the first warning comes earlier
        (83, 0, 84, 60),  # or later
        (84, 0, 84, WARNING),
        (99, 40, WARNING, 97),
        (92, -8, WARNING, ADVISORY),
    ],
)
def test_a_rung_is_raised_early_when_the_window_fills_fast(fill, pace, first, rung):
    assert reached(fill, STANDARD, pace, first) == rung


def test_the_rungs_are_where_the_configuration_puts_them():
    config = Config({"ladder.checkpoint": 10, "ladder.warning": 20, "ladder.critical": 99})
    assert [name_of(reached(fill, config)) for fill in (9, 10, 20, 98, 99)] == [
        "normal",
        "proactive checkpoint",
        "L1 Warning",
        "L3 Yellow Alert",
        "L4 Critical",
    ]


@given(FILLS, st.floats(0, 100), st.floats(60, 84))
def test_pace_never_raises_more_than_one_rung(fill, pace, first):
    at_rest, raised = reached(fill, STANDARD, 0, first), reached(fill, STANDARD, pace, first)
    rungs = [0, *RUNGS]
    assert raised in (at_rest, rungs[min(len(RUNGS), rungs.index(at_rest) + 1)])


# -- what is told


@given(st.lists(st.tuples(st.sampled_from([*TELLS, "PostToolUse", "PreCompact"]), FILLS, st.booleans())))
def test_nothing_is_told_twice_between_two_compactions(steps):
    for compacted in range(2):
        state = session(compacted)
        found: list = []
        for name, fill, soon in steps:
            found += told(state, name, fill, soon=soon)
            state = parse(state.render(), "here")  # every event is another process
        assert len(found) == len(set(map(str, found)))


def test_each_rung_is_told_as_it_is_reached():
    state = session()
    found = [told(state, "PostToolBatch", fill) for fill in range(101)]
    assert [what for said in found for what in said] == RUNGS
    assert [found.index([rung]) for rung in RUNGS] == RUNGS


def test_of_several_rungs_at_once_the_highest_is_told():
    state = session()
    assert told(state, "PostToolBatch", 94) == [93]
    assert told(state, "PostToolBatch", 70) == []
    assert told(state, "PostToolBatch", 98) == [97]


def test_a_compaction_begins_again():
    state = session()
    assert told(state, "Stop", 86) == [85]
    state.heard.awaits = [1, 0]  # heard of, not read yet
    assert told(state, "Stop", 61) == [60]
    state.heard.awaits = []
    compact(state)  # read: the same one
    assert told(state, "Stop", 62) == []
    compact(state, offset=2000)
    assert told(state, "Stop", 62) == [60]


def test_a_compaction_that_was_never_written_down_does_not_begin_anew():
    state = session(1)
    state.heard.awaits = [2, 0]
    assert told(state, "Stop", 61) == [60]
    state.heard.awaits = []  # two responses later nobody waits for it any more
    assert told(state, "Stop", 62) == []


def test_reading_the_whole_after_the_newest_part_tells_nothing_again():
    state = session()
    state.seen.start = 5000  # none of it is a compaction
    assert told(state, "Stop", 86) == [85]
    state.seen.start = 0
    compact(state, 4)
    assert told(state, "Stop", 87) == []
    fresh = session(1)
    fresh.seen.start = 900  # one is
    assert told(fresh, "Stop", 86) == [85]
    fresh.seen.start, fresh.seen.compacted = 0, 4
    fresh.seen.compactions = [["", "auto", 1, 1, at, ""] for at in (100, 200, 300, 1000)]
    assert told(fresh, "Stop", 87) == []


@pytest.mark.parametrize("missing", ["cycle", "rung", "fill", "told"])
def test_a_state_that_lacks_a_part_is_as_good_as_none(missing):
    state = session()
    told(state, "Stop", 86)
    del state.heard.guard[missing]
    state.heard.habit = ["claude"]
    now = guard.look(state, reading(86), STANDARD)
    note(state, reading(86), now)
    assert state.heard.guard.keys() >= {"cycle", "rung", "fill", "told"}


def test_the_prompt_warning_comes_with_a_prompt_and_not_with_a_command():
    state = session()
    assert told(state, "Stop", 86) == [85]
    assert told(state, "UserPromptSubmit", 86, prompt="/holdfast:save") == []
    assert told(state, "UserPromptSubmit", 86, prompt="go on") == [PROMPT]
    assert told(state, "UserPromptSubmit", 87, prompt="go on") == []


@pytest.mark.parametrize(
    ("full", "client", "fill", "is_told"),
    [
        (1, {}, 90, True),  # the API has said so
        (0, {"compaction_off": 1}, 100, True),  # the client will not ask it any more
        (0, {"compaction_off": 1}, 99, False),
        (0, {}, 101, False),  # it compacts by itself
    ],
)
def test_how_to_go_on_is_told_with_the_next_prompt_once_the_window_is_full(full, client, fill, is_told):
    state = session()
    state.heard.full, state.heard.client = full, client
    assert FULL not in told(state, "Stop", fill) + told(state, "PostToolBatch", fill)
    assert FULL not in told(state, "UserPromptSubmit", fill, prompt="/compact")
    assert (FULL in told(state, "UserPromptSubmit", fill, prompt="go on")) is is_told
    assert FULL not in told(state, "UserPromptSubmit", fill, prompt="go on")


def test_soon_is_told_unless_a_rung_says_it():
    state = session()
    assert told(state, "Stop", 50, soon=True) == [SOON]
    assert told(session(), "Stop", 61, soon=True) == [60]
    assert told(state, "Stop", 52, soon=True) == []


@pytest.mark.parametrize(
    ("client", "owed", "name", "fill", "advised"),
    [
        ({}, {}, "PostToolBatch", 99, False),  # it compacts, and all is saved: nothing for the model to do
        ({"compaction_off": 1}, {}, "PostToolBatch", 84, False),
        ({"compaction_off": 1}, {}, "PostToolBatch", 85, True),
        ({"compaction_off": 1}, {}, "UserPromptSubmit", 85, True),
        ({"compaction_off": 1}, {}, "Stop", 99, False),  # would start another request
        ({}, {"what": "No space left on device"}, "PostToolBatch", 85, True),
        ({}, {"uid": "x"}, "PostToolBatch", 99, False),  # owed, but nothing went wrong
    ],
)
def test_the_model_is_told_only_where_it_can_help(client, owed, name, fill, advised):
    state = session()
    state.heard.client, state.heard.owed = client, owed
    assert (ADVICE in told(state, name, fill)) == advised
    assert ADVICE not in told(state, name, fill)


def test_agents_and_empty_windows_are_not_told():
    state = session()
    assert told(state, "Stop", 99, agent_id="a1") == []
    assert told(state, "Stop", 0, rung=97) == []


# -- where the window stands


def test_the_rung_before_is_told_only_when_it_changes():
    state = session()
    before = [note(state, reading(fill), look(reached(fill, STANDARD))) for fill in (10, 61, 62, 86)]
    assert before == [-1, 0, -1, 60]
    compact(state)
    assert note(state, reading(20), look(0)) == 85


def test_a_rung_is_kept_until_the_window_is_emptier():
    """Not for a tick that reads as nothing, nor because the pace slackens; after a rewind it is left."""
    state = session()
    note(state, reading(82), look(ADVISORY))  # raised early
    assert [guard.look(state, reading(fill), STANDARD).rung for fill in (82, 0, 78, 76)] == [85, 85, 85, 70]
    compact(state)
    assert guard.look(state, reading(82), STANDARD).rung == WARNING


def test_what_is_said_above_l2_is_said_under_pressure():
    state = session()
    for offset, fill in ((100, 50), (200, 86), (300, 96), (400, 20), (500, 99)):
        state.seen.offset = offset
        note(state, reading(fill), look(reached(fill, STANDARD)))
    pressed = parse(state.render(), "here").heard.pressed
    assert pressed == [[200, 400], [500, 0]]
    found = [under_pressure(pressed, at) for at in (0, 199, 200, 399, 400, 499, 500, 9999)]
    assert found == [False, False, True, True, False, False, True, True]


@pytest.mark.parametrize(
    ("key", "value", "fill", "pace"),
    [("guard.velocity_percent", 2, 20, 4), ("guard.operations_ahead", 5, 52, 2)],
)
def test_how_early_a_rung_comes_can_be_set(key, value, fill, pace):
    assert reached(fill, STANDARD, pace) == 0
    assert reached(fill, Config({key: value}), pace) == LEVELS[0][0]
