"""Which memories are told within a budget: tables of values."""

from __future__ import annotations

import pytest

from holdfast.core.budget import (
    ACTIVE,
    AMBIENT,
    BACKGROUND,
    COMPARTMENTS,
    PREFERENCES,
    SAFETY,
    Budget,
    Pin,
    ident,
)
from holdfast.memory.granted import compartment, told
from holdfast.memory.shelf import Row

NONE = dict.fromkeys(COMPARTMENTS, 0)
RULE = {"origin": "user", "kind": "instruction"}
DECISION = {"collection": "decisions", "origin": "assistant", "kind": "decision"}


def rows(*kinds: dict) -> list[Row]:
    return [
        Row(f"u{at}", **{"collection": "sessions", "text": f"t{at}", **one}) for at, one in enumerate(kinds)
    ]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (RULE, SAFETY),
        ({"origin": "user", "kind": "other"}, ACTIVE),
        (DECISION, BACKGROUND),
        ({"collection": "decisions", "origin": "assistant", "kind": "deadend"}, BACKGROUND),
        ({"collection": "decisions", "origin": "tool", "kind": "commit"}, BACKGROUND),
        ({"collection": "issues", "origin": "assistant", "kind": "issue"}, ACTIVE),
        ({"collection": "issues", "origin": "tool", "kind": "resolved"}, AMBIENT),
        ({"collection": "commands", "origin": "tool", "kind": "failed"}, ACTIVE),
        ({"collection": "commands", "origin": "tool", "kind": "ran"}, AMBIENT),
        ({"collection": "topics", "kind": "feedback"}, PREFERENCES),
        ({"collection": "topics", "kind": "project"}, BACKGROUND),
        ({"collection": "topics", "kind": "reference"}, AMBIENT),
        ({"collection": "saves", "origin": "assistant", "kind": "manual"}, ACTIVE),
        ({"collection": "learned", "origin": "agent", "kind": "howto"}, AMBIENT),
        # Who is no person cannot make a rule.
        ({"origin": "assistant", "kind": "instruction"}, AMBIENT),
    ],
    ids=str,
)
def test_a_memory_belongs_to_the_compartment_its_words_would_have_in_a_brief(row: dict, name: str) -> None:
    assert compartment(rows(row)[0]) == name


OTHER: dict = {}


@pytest.mark.parametrize(
    ("kinds", "sizes", "budget", "tokens", "most", "expected"),
    [
        ([OTHER] * 4, [350, 7000, 175, 175], Budget(NONE), 200, 2, [0, 2]),
        ([OTHER], [7000], Budget(NONE), 50, 2, [0]),
        ([], [], Budget(NONE), 50, 2, []),
        ([OTHER, OTHER, RULE], [150, 150, 100], Budget(NONE), 100, 9, [0, 1]),
        ([OTHER, OTHER, RULE], [150, 150, 100], Budget({**NONE, SAFETY: 40}), 100, 9, [0, 2]),
        ([OTHER, OTHER, RULE], [150, 150, 200], Budget({**NONE, SAFETY: 40}), 100, 9, [0, 1]),
        ([OTHER, OTHER, RULE], [10, 10, 10], Budget({**NONE, SAFETY: 40}), 100, 2, [0, 2]),
        (
            [OTHER, DECISION, RULE],
            [150, 150, 150],
            Budget({**NONE, SAFETY: 50, BACKGROUND: 50}),
            90,
            9,
            [0, 2],
        ),
        (
            [OTHER, DECISION, RULE],
            [150, 150, 150],
            Budget({**NONE, SAFETY: 50, BACKGROUND: 50}, {BACKGROUND: 1, SAFETY: 2}),
            90,
            9,
            [0, 1],
        ),
    ],
    ids=[
        "what does not fit makes room",
        "the first in any case",
        "nothing",
        "without shares by rank",
        "a share is a guarantee",
        "of what fits into it",
        "also among few",
        "who is served first",
        "by priority",
    ],
)
def test_what_is_told(kinds, sizes, budget, tokens, most, expected) -> None:
    assert told(rows(*kinds), sizes, budget, tokens, most) == expected


def test_what_is_pinned_stands_first_within_its_part_of_an_answer() -> None:
    pins = [Pin(ident(f"t{at}"), ACTIVE, f"t{at}", "") for at in (2, 3)]
    made = rows(OTHER, OTHER, OTHER, OTHER)
    assert told(made, [10] * 4, Budget(NONE, pins=pins), 100, 9) == [2, 3, 0, 1]
    assert told(made, [10] * 4, Budget(NONE, pins=pins), 100, 2) == [2, 0], "and the best in any case"
    assert told(made, [140, 140, 140, 70], Budget(NONE, pins=pins), 100, 9) == [3, 0, 1], "30 % of it"
