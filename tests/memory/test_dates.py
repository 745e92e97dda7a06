"""Times that a question names."""

from __future__ import annotations

from datetime import datetime

import pytest

from holdfast.memory.dates import Named, named, nearness


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what broke on 8 May, 2026", [Named(2026, 5, 8)]),
        ("what broke on May 8th", [Named(0, 5, 8)]),
        ("the 3rd of October 2026", [Named(2026, 10, 3)]),
        ("what did we decide in May?", [Named(0, 5)]),
        ("the outage of July 2026", [Named(2026, 7)]),
        ("2026-11-05 or 2026-10", [Named(2026, 11, 5), Named(2026, 10)]),
        ("what was released in 2025", [Named(2025)]),
        ("Sept 12 and 5 dec", [Named(0, 9, 12), Named(0, 12, 5)]),
        ("may I march on", []),
        ("why this may fail, and in this March 2026", [Named(2026, 3)]),
        ("dec the counter at port 2024", []),
        ("2026-13-45", []),
        ("in August and September", [Named(0, 8), Named(0, 9)]),
    ],
)
def test_days_months_and_years_are_told_from_other_words(text: str, found: list[Named]) -> None:
    assert named(text) == found


@pytest.mark.parametrize(
    ("said", "those", "near"),
    [
        ("2026-05-08", [Named(2026, 5, 8)], 1.0),
        ("2026-05-15", [Named(2026, 5, 8)], 0.0),
        ("2026-05-31", [Named(2026, 5)], 1.0),
        ("2025-05-31", [Named(2026, 5)], 0.0),
        ("2025-05-31", [Named(0, 5)], 1.0),
        ("2026-12-31", [Named(2026)], 1.0),
        ("2026-05-08", [Named(2026, 4, 1), Named(2026, 5, 8)], 1.0),
        ("2026-02-28", [Named(2026, 2, 31)], 1.0),
        ("2026-05-08", [], 0.0),
        ("2027-01-02", [Named(0, 12)], 1 - 2 / 7),
        ("2027-01-02", [Named(0, 12, 30)], 1 - 3 / 7),
        ("2026-12-30", [Named(0, 1, 1)], 1 - 2 / 7),
        ("2027-01-02", [Named(2027, 12, 30)], 0.0),
    ],
)
def test_what_was_said_then_is_near_and_a_week_away_is_far(
    said: str, those: list[Named], near: float
) -> None:
    assert nearness(int(datetime.fromisoformat(f"{said}T12:00").timestamp() * 1000), those) == near


def test_what_happened_may_be_told_some_days_later() -> None:
    later = int(datetime(2026, 5, 11, 12).timestamp() * 1000)
    assert 0.0 < nearness(later, [Named(2026, 5, 8)]) < 1.0


@pytest.mark.parametrize("at", [0, 1 << 62, -(1 << 62)])
def test_what_has_no_time_that_a_calendar_knows_is_near_to_none(at: int) -> None:
    assert nearness(at, [Named(2026, 5, 8)]) == 0.0
