"""Fuzzed lines through the reader, in the portion a change can wait for. `bench/fuzz.py` does more."""

from __future__ import annotations

import pytest

from fuzz import Maker, Naive, Reader, fuzz


@pytest.mark.parametrize("seed", range(6))
def test_fifty_thousand_damaged_lines_break_nothing(seed):
    result = fuzz(50_000, seed, Reader)
    assert result.problems() == []
    assert result.lines == 50_000
    assert result.owed > 10_000
    assert result.salvaged > 1_000_000


def test_the_reader_one_writes_first_fails_in_every_way():
    result = fuzz(10_000, 1, Naive)
    assert any("RecursionError" in error for error in result.errors)
    assert result.recovered < 0.9 * result.owed
    assert result.wrongly_accounted > 1000
    assert len(result.problems()) > 3


def test_a_reader_that_hangs_or_hoards_is_found_out():
    class Slow(Reader):
        def read(self, raw: bytes) -> list[dict]:
            if len(raw) > 100_000:
                sum(range(12_000_000))
            return super().read(raw)

        def save(self) -> bytes:
            return bytes(1 << 20)

    problems = fuzz(2_000, 1, Slow).problems()
    assert any("ms" in problem for problem in problems)
    assert any("KB" in problem for problem in problems)


def test_the_same_seed_makes_the_same_lines():
    one, other, third = Maker(7), Maker(7), Maker(8)
    first = [next(lines) for lines in [iter(one)] for _ in range(500)]
    assert first == [next(lines) for lines in [iter(other)] for _ in range(500)]
    assert first != [next(lines) for lines in [iter(third)] for _ in range(500)]


def test_every_kind_of_damage_is_made():
    lines = iter(Maker(1))
    kinds = {next(lines).kind.split()[0] for _ in range(6_000)}
    assert kinds >= set("whole cut splice join flip junk repeated swap number deep other long".split())
