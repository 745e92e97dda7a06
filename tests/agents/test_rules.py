"""Every rule of the watcher, as a table of values."""

from dataclasses import fields, replace

import pytest

from holdfast.agents import rules
from holdfast.agents.context_monitor import estimate_context_usage
from holdfast.agents.facts import Facts
from holdfast.core.config import STANDARD as CONFIG
from holdfast.core.config import Config
from holdfast.disk.process import is_gone

NOW = 1_900_000_000_000
MINUTE = 60_000
_BLANK = {"str": "", "int": 0, "float": 0.0, "bool": False}
BLANK = Facts(**{one.name: _BLANK[one.type] for one in fields(Facts)})
CALM = replace(BLANK, session="s1", fill=20.0, last="PostToolBatch", last_at=NOW, told_at=NOW, unsaved=3)


OVERDUE = ("checkpoint_overdue", "trigger_checkpoint", "minutes_30_of_work")


@pytest.mark.parametrize(
    ("facts", "status", "action", "reason"),
    [
        ({}, "ok", "none", ""),
        ({"fill": 59.9}, "ok", "none", ""),
        ({"fill": 60.0}, "context_high", "trigger_checkpoint", "context_60_percent"),
        ({"fill": 99.0, "unsaved": 0}, "ok", "none", ""),
        ({"fill": 99.0, "is_saved_here": True}, "ok", "none", ""),
        ({"active_ms": 30 * MINUTE}, "checkpoint_overdue", "trigger_checkpoint", "minutes_30_of_work"),
        ({"active_ms": 30 * MINUTE, "unsaved": 0}, "ok", "none", ""),
        ({"active_ms": 22 * MINUTE, "told_at": NOW - 9 * MINUTE}, *OVERDUE),
        ({"active_ms": 5 * MINUTE, "told_at": NOW - 25 * MINUTE}, *OVERDUE),  # a slow tool still runs
        ({"active_ms": 5 * MINUTE, "told_at": NOW - 24 * MINUTE}, "ok", "none", ""),
        ({"active_ms": 26 * MINUTE, "told_at": NOW - 9 * MINUTE, "last": "Stop"}, "ok", "none", ""),
        ({"active_ms": 26 * MINUTE, "told_at": NOW + 9 * MINUTE}, "ok", "none", ""),
        ({"owed": "compaction", "owed_at": NOW - 5000}, "ok", "none", ""),  # it is just being taken
        ({"owed": "compaction"}, "checkpoint_owed", "trigger_checkpoint", "checkpoint_owed"),
        ({"last_at": NOW - 10 * MINUTE}, "stalled", "tell_person", "stalled"),
        ({"last_at": NOW - 10 * MINUTE, "last": "Stop"}, "ok", "none", ""),
        ({"last_at": NOW + 99 * MINUTE}, "ok", "none", ""),  # the clock was set back
        ({"repeated": 5}, "ok", "none", ""),
        ({"repeated": 6}, "looping", "tell_person", "looping"),
        ({"failing": 6}, "looping", "tell_person", "looping"),
        ({"thrashes": True}, "thrashing", "tell_person", "thrashing"),
        ({"thrashes": True, "fill": 70.0}, "context_high", "trigger_checkpoint", "context_60_percent"),
    ],
)  # fmt: skip
def test_a_session_is_found_to_be(facts, status, action, reason):
    found = rules.findings(replace(CALM, **facts), False, NOW, CONFIG)
    assert (rules.status_of(found), rules.action_of(found)) == (status, action)
    assert [one.reason for one in found][:1] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("facts", "action"),
    [({}, "save_for_it"), ({"unsaved": 0}, "none"), ({"unsaved": 0, "owed": "compaction"}, "save_for_it")],
)
def test_of_one_that_is_gone_only_what_it_left_counts(facts, action):
    found = rules.findings(replace(CALM, fill=80.0, **facts), True, NOW, CONFIG)
    assert [(one.status, one.action) for one in found] == [("dead", action)]


def test_the_thresholds_are_those_of_the_configuration():
    config = Config({"ladder.checkpoint": 40, "watcher.loop_calls": 3})
    found = rules.findings(replace(CALM, fill=41.0, repeated=3), False, NOW, config)
    assert [one.reason for one in found] == ["context_40_percent", "looping"]


def test_a_process_that_began_after_the_session_was_last_heard_of_is_another():
    import os

    assert not is_gone(os.getpid(), NOW)
    assert is_gone(os.getpid(), 1000)
    assert is_gone(2**22 + 1, NOW)
    assert not is_gone(0, NOW)  # nobody has told which it is


def test_usage_is_estimated_as_the_weights_say():
    assert estimate_context_usage({"message_count": 50, "file_reads": 10}) == pytest.approx(0.7)
    assert estimate_context_usage({}) == 0
    assert estimate_context_usage({"subagent_spawns": 99, "tool_calls": 4}) == 1.0
    assert estimate_context_usage({"message_count": -5, "file_edits": 2}) == pytest.approx(0.03)


def test_how_long_a_silence_is_a_stall_can_be_set():
    quiet = replace(CALM, last_at=NOW - 10 * MINUTE)
    patient = Config({"watcher.stall_minutes": 11})
    assert rules.status_of(rules.findings(quiet, False, NOW, CONFIG)) == "stalled"
    assert rules.status_of(rules.findings(quiet, False, NOW, patient)) == "ok"
