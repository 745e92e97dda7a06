"""What a question is looked for by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy
import pytest

from holdfast.memory.index import Index
from holdfast.memory.search import WEIGHTS, asked, search
from holdfast.memory.shelf import Filter, Item


@pytest.mark.parametrize(
    ("items", "holding", "meant"),
    [
        (300, 150, "lamp"),
        (300, 31, "lamp"),
        (300, 29, "gauge lamp"),
        (8, 8, "gauge lamp"),
        (40, 19, "gauge lamp"),
        (40, 21, "lamp"),
    ],
)
def test_a_word_that_many_hold_is_no_part_of_what_is_meant_and_few_are_not_many(
    tmp_path: Path, items: int, holding: int, meant: str
) -> None:
    with Index(str(tmp_path / "memory.db")) as shelf:
        shelf.add(
            [
                Item(f"u{at}", "sessions", f"{'gauge' if at < holding else 'wall'} {at}", shape=str(at))
                for at in range(items)
            ]
        )
        assert asked(shelf, "gauge lamp", Filter()).meant == meant


def test_the_only_memory_there_is_answers_to_its_own_words(tmp_path: Path) -> None:
    with Index(str(tmp_path / "memory.db")) as shelf:
        shelf.add([Item("u", "decisions", "The gauge is polled every ninety seconds.", shape="s")])
        found = search(shelf, None, "how often is the gauge polled", Filter())
    assert [one.row.uid for one in found] == ["u"]


def test_what_follows_a_question_that_fits_gains_by_it_and_nothing_else_does(tmp_path: Path) -> None:
    said = [
        "The lamp is new.",
        "How often is the gauge polled?",
        "Every ninety seconds.",
        "The gauge is polled, I hear.",
    ]
    with Index(str(tmp_path / "memory.db")) as shelf:
        shelf.add(
            [
                Item(f"u{at}", "sessions", text, thread="t", seq=at, shape=str(at))
                for at, text in enumerate(said)
            ]
        )
        fits = {one.row.uid: one.score for one in search(shelf, None, "gauge polled", Filter())}
        plain = search(shelf, None, "gauge polled", Filter(), weights=replace(WEIGHTS, answers=0.0))
    assert fits["u2"] > next(one.score for one in plain if one.row.uid == "u2")
    assert fits["u0"] == next(one.score for one in plain if one.row.uid == "u0")


def test_what_was_said_when_the_question_names_comes_first(tmp_path: Path) -> None:
    days = {f"u{day}": datetime(2026, 5, day, 12).timestamp() for day in (2, 12, 22)}
    with Index(str(tmp_path / "memory.db")) as shelf:
        shelf.add(
            [
                Item(uid, "sessions", f"The gauge failed {uid}.", at=int(at * 1000), shape=uid)
                for uid, at in days.items()
            ]
        )
        best = [
            search(shelf, None, f"why did the gauge fail on {day} May 2026", Filter())[0].row.uid
            for day in (2, 12, 22)
        ]
    assert best == ["u2", "u12", "u22"]


def test_nothing_is_found_by_vectors_where_none_were_made(tmp_path: Path) -> None:
    class Blind:
        model, size, trust = "blind", 4, 1.0

        def vectors(self, texts: Sequence[str]) -> numpy.ndarray:
            return numpy.ones((len(texts), 4), dtype=numpy.float32)

    with Index(str(tmp_path / "memory.db")) as shelf:
        shelf.add([Item("u", "decisions", "The gauge is polled every ninety seconds.", shape="s")])
        assert [one.row.uid for one in search(shelf, Blind(), "the gauge", Filter())] == ["u"]
