"""Time as it is written, and read again."""

import random

import pytest

from holdfast.clock import at, rfc3339


@pytest.mark.parametrize(
    "words", ["1970-01-01T00:00:00.000Z", "2000-02-29T23:59:59.999Z", "2026-12-31T00:00:00.001Z"]
)
def test_a_time_is_read_as_it_was_written(words):
    assert rfc3339(at(words)) == words


def test_any_time_comes_back():
    dice = random.Random(1)
    for _ in range(5000):
        moment = dice.randrange(4_102_444_800_000)
        assert at(rfc3339(moment)) == moment
