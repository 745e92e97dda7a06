"""What `bench/live.py` concludes from sessions: never more than they show."""

import math
import random

import pytest

from live import CONTROL, NONE, OURS, Round, interval, judged


def rounds(ours: float, control: float, times: int = 12, spread: float = 0.3) -> list[Round]:
    """Sessions that differ by more than what is looked for, in which one call in forty stalls."""
    chance = random.Random(7)
    played = []
    for _ in range(times):
        session = chance.uniform(40, 80)
        gaps = {}
        for kind, added in ((NONE, 0.0), (OURS, ours), (CONTROL, control)):
            own = session + 10 * (added + chance.uniform(-spread, spread))
            gaps[kind] = [(own + 3 * chance.random() + 900 * (n % 40 == 0)) / 1000 for n in range(200)]
        played.append(Round(0.01, gaps))
    return played


@pytest.mark.parametrize(
    ("ours", "control", "good"), [(0.8, 3.0, True), (1.9, 3.0, False), (1.5, 3.0, False), (0.8, 1.2, False)]
)
def test_the_goal_is_met_only_if_all_of_the_interval_is_below_it_and_the_control_above(ours, control, good):
    assert judged(rounds(ours, control), 200)[1] == good


def test_few_rounds_show_nothing():
    assert judged(rounds(0.1, 3.0, times=5), 200)[1] is False
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (-math.inf, math.inf)


def test_the_interval_is_that_of_coins():
    """Of 6 all lie on one side of the median in 3 of 100 cases, of 12 ten or more in 4."""
    assert interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) == (1.0, 6.0)
    assert interval([float(n) for n in range(12)]) == (2.0, 9.0)
    drawn = random.Random(1)
    held = 0
    for _ in range(400):
        low, high = interval([drawn.expovariate(1) for _ in range(15)])
        held += low <= math.log(2) <= high
    assert held / 400 > 0.93
