"""What a question is looked for by."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.memory.index import Index
from holdfast.memory.search import asked, search
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
