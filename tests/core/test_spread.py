"""How far off estimates are: one, and many together."""

from __future__ import annotations

import random
from math import exp, log

import pytest

from holdfast.core.spread import Spread, learned, range_of, together


def drawn(own: float, shared: float, sessions: int, each: int, slope: float = 0.0) -> list:
    """(session, estimate, cost), spread as said; by `slope` less for each power of e."""
    chance, rows = random.Random(4), []
    for name in range(sessions):
        pace = chance.gauss(0, shared)
        for _ in range(each):
            estimate = exp(chance.uniform(7, 11))
            far = own + slope * (log(estimate) - 9)
            rows.append((f"s{name}", estimate, round(estimate * exp(pace + chance.gauss(0, far)))))
    return rows


def test_what_is_a_tasks_own_and_what_a_sessions_is_told_apart() -> None:
    found = learned(drawn(0.6, 0.3, sessions=150, each=12))
    assert found.level == pytest.approx(0.6, abs=0.04)
    assert found.shared == pytest.approx(0.3, abs=0.07)
    assert learned(drawn(0.6, 0.0, sessions=150, each=12)).shared < 0.12


def test_large_tasks_may_be_surer_than_small_ones() -> None:
    found = learned(drawn(0.6, 0.0, sessions=100, each=12, slope=-0.1))
    assert found.of(exp(7.5)) > found.of(exp(10.5)) + 0.2
    small, large = found.between(exp(7.5)), found.between(exp(10.5))
    assert small[1] / small[0] > 1.5 * large[1] / large[0]


def test_four_in_five_lie_in_the_range_of_one_and_of_many() -> None:
    rows = drawn(0.6, 0.3, sessions=200, each=8)
    found = learned(rows)
    lying = [low <= cost <= high for _, one, cost in rows for low, high in [found.between(one)]]
    assert sum(lying) / len(lying) == pytest.approx(0.8, abs=0.02)
    sums = [rows[first : first + 4] for first in range(0, len(rows), 4)]
    lying, above = [], 0
    for tasks in sums:
        middle, own = together([(one, found.of(one)) for _, one, _ in tasks])
        low, high = range_of(middle, own, found.shared)
        cost = sum(cost for _, _, cost in tasks)
        lying.append(low <= cost <= high)
        above += cost > middle
    assert sum(lying) / len(lying) == pytest.approx(0.8, abs=0.06)
    assert above / len(sums) == pytest.approx(0.5, abs=0.06)


def test_the_middle_of_a_sum_is_more_than_the_sum_of_the_middles() -> None:
    assert together([(1000, 0.6)]) == pytest.approx((1000, 0.6))
    middle, own = together([(1000, 0.6)] * 8)
    assert 9_000 < middle < 9_600
    assert own < 0.25
    assert together([(1000, 0.0)] * 8) == pytest.approx((8000, 0))
    assert together([]) == (0, 0)


def test_a_sum_is_surer_the_more_a_session_has_told() -> None:
    low, high = range_of(1000, 0.3, 0.3)
    later_low, later_high = range_of(1000, 0.3, 0.3, told=8)
    assert low < later_low < 1000 < later_high < high


def test_tasks_that_are_all_alike_or_alone_are_no_trouble() -> None:
    found = learned([("s1", 1000, 1000)] * 20)
    assert found.between(1000) == (1000, 1000)
    assert found.shared == 0
    alone = learned([(f"s{number}", 1000, 1000 * (1 + number)) for number in range(20)])
    assert alone.of(1000) > 1
    assert isinstance(alone, Spread)
