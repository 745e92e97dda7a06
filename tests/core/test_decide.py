"""When a checkpoint is due: every rule as a row."""

import pytest

from holdfast.core import decide
from holdfast.core.config import DEFAULTS, STANDARD, Config
from holdfast.core.decide import compaction_due, due, is_cold_due, is_news, is_other, rest, unsaved, work
from holdfast.core.events import Event
from holdfast.core.gauge import Reading
from holdfast.core.ladder import reached
from holdfast.core.state import State

MINUTE = 60_000
FIRST, EVERY = DEFAULTS["checkpoints.first_turns"], DEFAULTS["checkpoints.every_turns"]
BATCH, PROMPT = "PostToolBatch", "UserPromptSubmit"
COLD_AFTER, COLD_EVERY = DEFAULTS["cold.after_turns"], DEFAULTS["cold.every_turns"]
FULL = {"last_assistant_message": "API Error: Prompt is too long for this model"}


def state(turns=0, saved=None, active=0, compacted=0, batches=0, stops=0, prompts=0):
    """`saved` is what the last checkpoint left: (turns, rung, cycle)."""
    made = State("s1")
    made.seen.turns, made.seen.compacted = turns, compacted
    made.heard.batches, made.heard.stops, made.heard.active = batches, stops, active
    made.heard.prompts = prompts
    if saved:
        made.heard.saved = dict(zip(("work", "rung", "cycle"), saved, strict=True))
    return made


#: state, event, its data, fill of the room, why a checkpoint is due.
RULES = [
    # Asked for, or the last chance.
    ({}, decide.ASKED, {}, 0, "asked for"),
    ({}, "PreCompact", {"trigger": "auto"}, 0, "compaction"),
    ({}, "PreCompact", {"trigger": "manual"}, 0, "compaction"),
    ({}, "StopFailure", FULL, 0, "the window is full"),
    ({}, "StopFailure", {"last_assistant_message": 5}, 0, ""),
    ({"turns": 1}, "StopFailure", {"last_assistant_message": "API Error: 529"}, 0, "stopped by an error"),
    # Agents.
    ({}, "SubagentStop", {"last_assistant_message": "Found."}, 0, "agent finished"),
    ({}, "SubagentStop", {"last_assistant_message": ""}, 0, ""),
    ({"turns": 1}, "SubagentStop", {}, 0, "agent finished"),
    ({"turns": 5, "saved": (5, 0, 0)}, "SubagentStop", {}, 0, ""),
    # The ends of a session.
    ({"turns": 1}, "SessionEnd", {}, 0, "session ended"),
    ({"turns": 5, "saved": (5, 0, 0)}, "SessionEnd", {}, 99, ""),
    ({"turns": 1}, "SessionStart", {"source": "compact"}, 0, "compacted since the last"),
    ({"turns": 5, "saved": (5, 0, 0)}, "SessionStart", {"source": "compact"}, 0, ""),
    ({"turns": 9}, "SessionStart", {"source": "resume"}, 99, ""),  # not one of ours
    ({"turns": 9, "prompts": 1}, "SessionStart", {"source": "resume"}, 0, "left unsaved"),
    ({"turns": 9, "prompts": 1, "saved": (9, 0, 0)}, "SessionStart", {"source": "resume"}, 0, ""),
    ({"turns": 9, "prompts": 1}, "SessionStart", {"source": ["resume"]}, 99, ""),
    ({"turns": 9}, "SessionStart", {}, 99, ""),
    # The ladder: once for each rung in a cycle.
    ({"turns": 1}, "PostToolBatch", {}, 59.9, ""),
    ({"turns": 1}, "PostToolBatch", {}, 60, "proactive checkpoint"),
    ({"turns": 1}, "PostToolBatch", {}, 97, "L4 Critical"),
    ({"turns": 2, "saved": (1, 60, 0)}, "PostToolBatch", {}, 84.9, ""),
    ({"turns": 2, "saved": (1, 60, 0)}, "PostToolBatch", {}, 85, "L2 Advisory"),
    ({"turns": 2, "saved": (1, 85, 0)}, "Stop", {}, 93, "L3 Yellow Alert"),
    ({"turns": 2, "saved": (1, 93, 0)}, "UserPromptSubmit", {}, 97, "L4 Critical"),
    ({"turns": 2, "saved": (1, 97, 0)}, "PostToolBatch", {}, 99, ""),
    ({"turns": 2, "saved": (2, 60, 0)}, "PostToolBatch", {}, 99, ""),
    ({"turns": 2, "saved": (1, 97, 0), "compacted": 1}, "PostToolBatch", {}, 59, ""),
    ({"turns": 2, "saved": (1, 97, 0), "compacted": 1}, "PostToolBatch", {}, 61, "proactive checkpoint"),
    ({"turns": 2, "saved": (1, 60, 1), "compacted": 1}, "PostToolBatch", {}, 61, ""),
    ({"turns": 1}, "PreToolUse", {}, 99, ""),
    # Half an hour of work.
    ({"turns": 2, "saved": (1, 0, 0), "active": 30 * MINUTE - 1}, "PostToolBatch", {}, 10, ""),
    (
        {"turns": 2, "saved": (1, 0, 0), "active": 30 * MINUTE},
        "PostToolBatch",
        {},
        10,
        "30 minutes of work",
    ),
    ({"turns": 2, "saved": (1, 0, 0), "active": 30 * MINUTE}, "Stop", {}, 10, "30 minutes of work"),
    ({"turns": 1, "saved": (1, 0, 0), "active": 90 * MINUTE}, "PostToolBatch", {}, 10, ""),
    ({"turns": 2, "saved": (1, 0, 0), "active": 90 * MINUTE}, "Notification", {}, 10, ""),
    # Turns.
    ({"turns": FIRST - 1}, "PostToolBatch", {}, 10, ""),
    ({"turns": FIRST}, "PostToolBatch", {}, 10, f"{FIRST} turns of work"),
    ({"turns": 2 + EVERY, "saved": (3, 0, 0)}, "PostToolBatch", {}, 10, ""),
    ({"turns": 3 + EVERY, "saved": (3, 0, 0)}, "PostToolBatch", {}, 10, f"{EVERY} turns of work"),
    ({"turns": 2 + FIRST, "saved": (3, 0, 0)}, "Stop", {}, 10, ""),
    ({"turns": 3 + FIRST, "saved": (3, 0, 0)}, "Stop", {}, 10, f"{FIRST} turns of work"),
    # Without a transcript, what hooks counted; after a rewind, what is left.
    ({"batches": 2, "stops": 1}, "Stop", {}, 10, "3 turns of work"),
    ({"turns": 3, "saved": (40, 0, 0)}, "Stop", {}, 10, "3 turns of work"),
    ({"turns": 2, "saved": (40, 0, 0)}, "SessionEnd", {}, 10, "session ended"),
    # What hooks do not know.
    ({"turns": 99}, "unknown", {}, 99, ""),
    ({"turns": 99}, "StatusLine", {}, 99, ""),
]


@pytest.mark.parametrize(("given", "name", "data", "fill", "why"), RULES)
def test_a_checkpoint_is_due(given, name, data, fill, why):
    assert due(state(**given), Event(name, "s1", 0, data), reached(fill, STANDARD), STANDARD) == why


def test_work_that_is_saved_is_not_unsaved():
    assert (work(state(turns=5)), unsaved(state(turns=5))) == (5, 5)
    assert unsaved(state(turns=5, saved=(5, 0, 0))) == 0
    assert unsaved(state(turns=8, saved=(5, 0, 0))) == 3


@pytest.mark.parametrize(
    ("turned", "turns", "offset", "expected"),
    [
        ([100, 5000, 5100], 2950, 6000, 2),  # went back, and two turns came since
        ([100, 200], 2950, 6000, 0),  # went back, and none
        ([3000, 5000], 4900, 6000, 1),  # the whole was read after the newest part of it
        (list(range(4000, 4256)), 9000, 9000, 256),
        ([100, 200], 3, 4000 - 1, 3),  # another file than the one that was saved
    ],
)
def test_after_a_rewind_only_what_came_since_is_unsaved(turned, turns, offset, expected):
    made = state(turns=turns, saved=(3000, 0, 0) if turns < 3000 else (100, 0, 0))
    made.heard.saved["offset"] = 4000
    made.seen.turned, made.seen.offset = turned, offset
    assert unsaved(made) == expected


#: What happens, as (minute, event); minutes of work. Four builds of 25 minutes once saved nothing; the rest
#: follows from what the client's hooks mean.
PASSED = {
    "four slow builds": ([(0, PROMPT), (25, BATCH), (50, BATCH), (75, BATCH), (100, BATCH)], 100),
    "a slow model": ([(0, PROMPT), (12, "Stop")], 12),
    "the person is away": ([(0, PROMPT), (2, "Stop"), (122, PROMPT), (123, BATCH)], 3),
    "away after a failure": ([(0, PROMPT), (2, "StopFailure"), (90, PROMPT)], 2),
    "away after a resume": ([(0, BATCH), (9, "SessionStart"), (200, PROMPT), (201, BATCH)], 6),
    "interrupted, then away": ([(0, PROMPT), (3, BATCH), (190, PROMPT)], 3 + 5),
    "typed while it works": ([(0, PROMPT), (4, PROMPT), (29, BATCH)], 29),
    "the statusline ticks on": ([(0, BATCH), (1, "Stop"), (40, "StatusLine"), (80, "StatusLine")], 1),
    "and while a tool runs": ([(0, BATCH), (10, "StatusLine"), (20, "StatusLine"), (25, BATCH)], 25),
    "another model meanwhile": ([(0, BATCH), (1, "Stop"), (60, "PostModelSwitch"), (90, BATCH)], 1),
    "compacted in a turn": ([(0, BATCH), (1, "PreCompact"), (3, "compact"), (28, BATCH)], 28),
    "compacted at rest": ([(0, BATCH), (1, "Stop"), (55, "PreCompact"), (57, "compact"), (99, BATCH)], 1),
    "a machine that slept": ([(0, PROMPT), (700, BATCH)], 60),
    "a clock set ahead": ([(0, BATCH), (5_000_000, BATCH), (5_000_001, BATCH)], 61),
    "a clock set back": ([(100, BATCH), (10, BATCH), (13, BATCH)], 3),
    "nothing before": ([(100, BATCH)], 0),
}  # fmt: skip


@pytest.mark.parametrize("what", PASSED)
def test_what_passes_in_a_turn_is_work_and_what_passes_between_two_is_not(what):
    happened, expected = PASSED[what]
    made = State("s1")
    for minute, name in happened:
        data = {"source": "compact"} if name == "compact" else {"source": "resume"}
        name = "SessionStart" if name == "compact" else name
        made.overlay(Event(name, "s1", minute * MINUTE + 1, data))
    assert made.heard.active == expected * MINUTE


@pytest.mark.parametrize(
    ("slow", "active", "offset", "expected"),
    [
        ([[10, 25 * MINUTE], [20, 25 * MINUTE]], 0, 0, 50),
        ([[10, 25 * MINUTE], [20, 25 * MINUTE]], 3 * MINUTE, 15, 25),
        ([[10, 25 * MINUTE]], 40 * MINUTE, 0, 40),
        ([], 4 * MINUTE, 0, 4),
    ],
)
def test_the_transcript_knows_of_slow_steps_that_hooks_were_not_told_of(slow, active, offset, expected):
    made = state(active=active)
    made.seen.slow, made.heard.saved = slow, {"offset": offset}
    assert decide.worked_ms(made) == expected * MINUTE


#: turns, fill, the hook, what is known of the last look, rereads, whether it is time for another.
LOOKS = [
    (COLD_AFTER, 90, "PostToolBatch", [], 0, False),
    (COLD_AFTER + 1, 90, "PostToolBatch", [], 0, True),
    (COLD_AFTER + 1, 69.9, "PostToolBatch", [], 0, False),
    (COLD_AFTER + 1, 70, "Stop", [], 0, True),
    (50, 90, "UserPromptSubmit", [], 0, True),
    *((50, 90, name, [], 0, False) for name in ("PreCompact", "SessionEnd", "SessionStart", "StatusLine")),
    (50, 90, "PostToolBatch", [50, 0, 0], 0, False),
    (50 + COLD_EVERY - 1, 90, "PostToolBatch", [50, 0, 0], 0, False),
    (50 + COLD_EVERY, 90, "PostToolBatch", [50, 0, 0], 0, True),
    (45, 90, "PostToolBatch", [50, 0, 0], 0, True),
    (50, 90, "PostToolBatch", [50, 0, 0], 1, True),
    (50, 90, "PostToolBatch", [50, 1, -1], 1, False),
]


@pytest.mark.parametrize(("turns", "fill", "name", "looked", "rereads", "is_due"), LOOKS)
def test_finished_work_is_looked_through(turns, fill, name, looked, rereads, is_due):
    given = state(turns=turns)
    given.heard.cold, given.seen.rereads = looked, rereads
    assert is_cold_due(given, Event(name, "s1", 0, {}), fill, STANDARD) is is_due
    given.seen.start = 5  # only the newest part was read
    assert not is_cold_due(given, Event(name, "s1", 0, {}), fill, STANDARD)


#: What is set, state, fill of the room, why a checkpoint is due at PostToolBatch.
CONFIGURED = [
    ({"ladder.checkpoint": 40}, {"turns": 1}, 40, "proactive checkpoint"),
    ({"ladder.checkpoint": 70}, {"turns": 1}, 65, ""),
    ({"ladder.advisory": 90}, {"turns": 2, "saved": (1, 60, 0)}, 89, ""),
    ({"ladder.alert": 91}, {"turns": 2, "saved": (1, 85, 0)}, 92, "L3 Yellow Alert"),
    ({"ladder.critical": 99}, {"turns": 2, "saved": (1, 93, 0)}, 98, ""),
    (
        {"checkpoints.active_minutes": 5},
        {"turns": 2, "saved": (1, 0, 0), "active": 5 * MINUTE},
        9,
        "5 minutes of work",
    ),
    ({"checkpoints.active_minutes": 60}, {"turns": 2, "saved": (1, 0, 0), "active": 59 * MINUTE}, 9, ""),
    ({"checkpoints.first_turns": 4}, {"turns": 3}, 9, ""),
    ({"checkpoints.first_turns": 4}, {"turns": 4}, 9, "4 turns of work"),
    ({"checkpoints.every_turns": 9}, {"turns": 9, "saved": (1, 0, 0)}, 9, ""),
    ({"checkpoints.every_turns": 9}, {"turns": 10, "saved": (1, 0, 0)}, 9, "9 turns of work"),
]


@pytest.mark.parametrize(("values", "given", "fill", "why"), CONFIGURED)
def test_every_rule_follows_the_configuration(values, given, fill, why):
    config = Config(values)
    assert due(state(**given), Event("PostToolBatch", "s1", 0, {}), reached(fill, config), config) == why


@pytest.mark.parametrize(
    ("values", "turns", "fill", "looked", "is_due"),
    [
        ({"cold.from_percent": 50}, 30, 50, [], True),
        ({"cold.from_percent": 90}, 30, 80, [], False),
        ({"cold.after_turns": 5}, 6, 80, [], True),
        ({"cold.after_turns": 40}, 40, 80, [], False),
        ({"cold.every_turns": 3}, 33, 80, [30, 0, 0], True),
        ({"cold.every_turns": 30}, 59, 80, [30, 0, 0], False),
    ],
)
def test_so_does_the_look_for_cold_work(values, turns, fill, looked, is_due):
    given = state(turns=turns)
    given.heard.cold = looked
    assert is_cold_due(given, Event("Stop", "s1", 0, {}), fill, Config(values)) is is_due


#: used of 100,000, how that is known, the threshold; what differs from a session at a screen, of which
#: 20,000 are always there; whether a compaction is asked for.
ASKS = [
    (50_000, "usage", 50, {}, True),
    (50_000, "usage+estimate", 50, {}, True),
    (49_900, "usage", 50, {}, False),
    (99_000, "usage", 0, {}, False),
    (99_000, "estimate", 50, {}, False),
    (99_000, "usage", 50, {"interactive": False}, False),
    (99_000, "usage", 50, {"interactive": 1}, False),
    # One was announced: it is under way, or someone has stopped it.
    (99_000, "usage", 50, {"compacting": 1}, False),
    (99_000, "usage", 50, {"compacting": 3, "compacted": 2}, False),
    (99_000, "usage", 50, {"compacted": 2}, True),
    (99_000, "usage", 50, {"compacted": 1, "awaits": [2, 9]}, False),
    # It would leave as much as that.
    (60_000, "usage", 20, {}, False),
    (60_000, "usage", 21, {}, True),
    (60_000, "usage", 50, {"after": 30_000}, False),
    (60_000, "usage", 50, {"after": 29_999}, True),
]


@pytest.mark.parametrize(("context", "source", "at", "given", "is_due"), ASKS)
def test_a_compaction_is_asked_for(context, source, at, given, is_due):
    made = state(turns=9, compacted=given.get("compacted", 0))
    made.seen.meter.base = 20_000
    if "after" in given:
        made.seen.compactions = [
            ["", "auto", 90_000, 40_000, 0, ""],
            ["", "manual", 90_000, given["after"], 0, ""],
        ]
    made.heard.compacting, made.heard.awaits = given.get("compacting", 0), given.get("awaits", [])
    reading = Reading(context, 0, 0, source, 200_000, 100_000, "client", "claude-opus-4-6")
    told = Event("Measured", "s1", 0, {"interactive": given.get("interactive", True)})
    assert compaction_due(made, told, reading, Config({"compaction.at": at})) == (at if is_due else 0)


#: What happened since the prompt before, and whether work rests then: {tool: times} is work that was begun.
RESTS = [
    (["commit"], True),
    (["rebase"], True),
    (["passed"], True),
    (["passed", "commit"], True),
    (["failed", "commit"], True),
    (["failed"], False),
    (["commit", "failed"], False),
    (["commit", {"Edit": 1}], False),
    (["commit", {"Write": 1}, "passed"], True),
    (["commit", {"Read": 3, "Bash": 2}], True),
    (["commit", "prompt"], False),
    ([], False),
]


@pytest.mark.parametrize(("steps", "rests"), RESTS)
@pytest.mark.parametrize(
    ("at", "at_breakpoint", "reached"), [(0, 50, 50), (90, 50, 50), (0, 61, 0), (0, 0, 0)]
)
def test_a_compaction_is_asked_for_at_a_breakpoint(steps, rests, at, at_breakpoint, reached):
    made = state(turns=9)
    made.heard.prompts = 4
    found = {
        "commit": commit(),
        "rebase": commit(kind="series"),
        "passed": run(),
        "failed": run(passed=False),
    }
    for step in steps:
        if step == "prompt":
            made.heard.prompts += 1
        elif type(step) is dict:
            made.heard.tools.update({tool: [times, 0, 0] for tool, times in step.items()})
        else:
            made.heard.broke.update(rest(made, [found[step]]))
    reading = Reading(60_000, 0, 0, "usage", 200_000, 100_000, "client", "claude-opus-4-6")
    told = Event("Measured", "s1", 0, {"interactive": True})
    config = Config({"compaction.at": at, "compaction.at_breakpoint": at_breakpoint})
    assert compaction_due(made, told, reading, config) == (reached if rests else 0)


def commit(sha="a" * 40, kind="commit"):
    return {"kind": kind, "commit": sha}


def run(passed=True, count=12):
    return {"kind": "tests", "passed": passed, "count": count, "commit": "a" * 40}


SERIES = commit("c" * 40, "series")
A, B = f"commit {'a' * 12}", f"commit {'b' * 12}"
#: state, what was found, milliseconds since the last one of a series, why a checkpoint is due, its trigger.
BREAKS = [
    ({"turns": 1}, [], None, "", ""),
    ({"turns": 1}, [commit()], None, A, "commit"),
    ({"turns": 5, "saved": (5, 0, 0)}, [commit()], None, "", ""),  # nothing is unsaved
    ({"turns": 1}, [commit(), commit("b" * 40)], None, B, "commit"),  # one for many
    ({"turns": 1}, [run()], None, "12 tests passed", "tests"),
    ({"turns": 1}, [run(count=0)], None, "tests passed", "tests"),
    ({"turns": 1}, [run(passed=False)], None, "", ""),
    ({"turns": 1}, [commit(), run(passed=False)], None, A, "commit"),
    ({"turns": 1}, [commit(""), run()], None, "12 tests passed", "tests"),
    ({"turns": 1}, [commit("")], None, "commit", "commit"),
    # A rebase in which hooks come by again and again.
    ({"turns": 1}, [SERIES], None, f"commit {'c' * 12}", "commit"),
    ({"turns": 1}, [SERIES], 10 * MINUTE - 1, "", ""),
    ({"turns": 1}, [SERIES], 10 * MINUTE, f"commit {'c' * 12}", "commit"),
    ({"turns": 1}, [SERIES], -1, f"commit {'c' * 12}", "commit"),  # the clock was set back
    ({"turns": 1}, [SERIES, commit()], 1, A, "commit"),
]


@pytest.mark.parametrize(("given", "found", "since", "why", "trigger"), BREAKS)
def test_at_which_breakpoints_a_checkpoint_is_due(given, found, since, why, trigger):
    made, at = state(**given), 1_794_852_000_000
    if since is not None:
        made.heard.broke = {"series": at - since}
    made.heard.broke.update(decide.broke(made, found, at))
    assert made.heard.broke.get("why", "") == why
    for name in ("PostToolBatch", "Stop", "UserPromptSubmit", decide.BROKE):
        event = Event(name, "s1", at, {})
        assert due(made, event, 0, STANDARD) == why
        if why:
            assert decide.trigger(made, event, why) == trigger
    assert due(made, Event("Notification", "s1", at, {}), 0, STANDARD) == ""


@pytest.mark.parametrize(
    ("name", "data", "why", "expected"),
    [
        (decide.ASKED, {}, "asked for", "manual"),
        ("PreCompact", {"trigger": "manual"}, "compaction", "manual"),
        ("PreCompact", {"trigger": "auto"}, "compaction", "auto"),
        ("SessionEnd", {}, "session ended", "end"),
        ("Stop", {}, "5 turns of work", "auto"),
        ("Stop", {}, A, "commit"),
    ],
)
def test_what_a_checkpoint_says_made_it(name, data, why, expected):
    made = state(turns=1)
    made.heard.broke = {"why": A, "trigger": "commit"}
    assert decide.trigger(made, Event(name, "s1", 0, data), why) == expected


@pytest.mark.parametrize(
    ("before", "turns", "passed", "expected"),
    [
        ([], 1, True, True),
        ([], 1, False, True),
        ([1, 1], 1, True, False),
        ([1, 1], EVERY, True, False),
        ([1, 1], EVERY + 1, True, True),
        ([1, 1], 2, False, True),
        ([0, 1], 2, True, True),
        ([0, 1], 2, False, False),
        ([1, 9], 1, True, True),  # another transcript
    ],
)
def test_which_outcome_is_news_for_a_session(before, turns, passed, expected):
    made = state(turns=turns)
    made.heard.tests = before
    assert is_news(made, passed, STANDARD) is expected


def test_which_outcome_is_news_for_an_environment():
    run = {"passed": True, "commit": "a"}
    assert is_other({}, run)
    assert not is_other(run, run)
    assert is_other({**run, "passed": False}, run)
    assert is_other({**run, "commit": "b"}, run)
