"""Notes of the trail, as people read them."""

from __future__ import annotations

import pytest

from holdfast.ops.happened import sentence

WHO = "2d9f3b17-0312-4a11-8c0d-5e55105a9b1e"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (
            {"event": "CONTEXT_PRESSURE", "level": "L4 Critical", "fill": 97.04, "turns": [1, 2, 4]},
            "reached L4 Critical at 97.0 %; about 2 turns left",
        ),
        (
            {"event": "CONTEXT_PRESSURE", "level": "normal", "fill": 18, "turns": [], "early": False},
            "the window has room again: normal at 18.0 %",
        ),
        (
            {"event": "injection.brief", "why": "compact", "tokens": 1499, "sum": 2979},
            "the session was given back what its summary lost (1,499 tokens)",
        ),
        (
            {"event": "injection.brief", "why": "resume", "tokens": 9},
            "the session was told something (resume) (9 tokens)",
        ),
        ({"event": "checkpoint.taken", "id": "a-1", "reason": "compaction"}, "checkpoint a-1: compaction"),
        ({"event": "task.claimed", "task": 3, "holder": f"{WHO}/c9"}, "task 3 was claimed by 2d9f3b17/c9"),
        (
            {"event": "board.delivered", "ids": ["a"], "by": "agent:c9"},
            "1 message of the board delivered to agent c9",
        ),
        ({"event": "degraded.index", "what": "OSError: full"}, "index degraded: OSError: full"),
        ({"event": "degraded.config", "what": ""}, "config is well again"),
    ],
)  # fmt: skip
def test_what_happened_is_a_sentence(note: dict, said: str) -> None:
    assert sentence({"v": 1, "at": "x", "session": WHO, "uid": "u", **note}) == said


@pytest.mark.parametrize(
    "note",
    [
        {"event": "something.new", "count": 3},
        {"event": "CONTEXT_PRESSURE", "level": "L1 Warning", "fill": "much", "count": 3},
        {"event": "task.claimed", "count": 3},
        {"event": "board.delivered", "ids": 7, "count": 3},
        {"event": ["?"], "count": 3},
    ],
)
def test_what_has_no_sentence_shows_what_it_holds(note: dict) -> None:
    assert sentence(note).endswith("count 3")


def test_a_name_in_braces_is_no_name_of_a_field() -> None:
    assert (
        sentence({"event": "checkpoint.taken", "id": "{reason}", "reason": "{0}"})
        == "checkpoint {reason}: {0}"
    )
