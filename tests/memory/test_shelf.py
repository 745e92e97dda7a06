"""What every engine of deep memory has to do: one file of tests for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from holdfast.memory.shelf import Filter, Item, Shelf

TIDE = Item(
    "a1", "decisions", "The gauge is polled every minute", "/p", "l", "s", at=10, source="/c/1", thread="t"
)


def found(shelf: Shelf, *words: str, **where: object) -> list[str]:
    return [uid for uid, _ in shelf.keyword(words, Filter(**where), 10)]


def test_what_is_put_in_is_found_by_its_words_and_by_their_stems(shelf: Shelf) -> None:
    assert shelf.add([TIDE, replace(TIDE, uid="a2", text="Nothing of the kind", seq=9, thread="u")]) == 2
    assert found(shelf, "gauge") == ["a1"]
    assert found(shelf, "polling", "gauges") == ["a1"]
    assert found(shelf, 'NEAR("gauge") OR *') == []


def test_the_same_thing_twice_is_one_with_two_sources(shelf: Shelf) -> None:
    shelf.add([TIDE])
    assert shelf.add([replace(TIDE, at=20, source="/c/2"), replace(TIDE, at=5)]) == 0
    row = shelf.rows(["a1"])["a1"]
    assert (row.first_at, row.at, row.count, row.sources) == (5, 20, 2, ("/c/1", "/c/2"))


def test_an_item_is_found_by_what_stands_beside_it_but_after_the_item_itself(shelf: Shelf) -> None:
    said = ["Which database?", "SQLite", "Good", "fine", "yes", "Which colour?"]
    shelf.add([replace(TIDE, uid=f"s{at}", text=one, seq=at) for at, one in enumerate(said)])
    assert found(shelf, "database")[:2] == ["s0", "s1"]
    assert "s5" not in found(shelf, "database")
    assert [row.uid for row in shelf.around("s2", 1, 2)] == ["s1", "s2", "s3", "s4"]
    row = shelf.rows(["s1"])["s1"]
    assert (row.before, row.after) == ("s0", "s2")


def test_one_that_comes_between_two_becomes_their_neighbour(shelf: Shelf) -> None:
    shelf.add([replace(TIDE, uid="s0", text="first", seq=0), replace(TIDE, uid="s2", text="third", seq=20)])
    shelf.add([replace(TIDE, uid="s1", text="harbour", seq=10)])
    assert found(shelf, "harbour") == ["s1", "s0", "s2"] or set(found(shelf, "harbour")) == {
        "s0",
        "s1",
        "s2",
    }
    assert found(shelf, "harbour")[0] == "s1"


@pytest.mark.parametrize(
    "where",
    [
        {"projects": ("/q",)},
        {"collections": ("issues",)},
        {"origins": ("user",)},
        {"kinds": ("feedback",)},
        {"session": "t2"},
        {"file": "src/tide.py"},
        {"since": 1000},
    ],
    ids=str,
)
def test_every_filter_holds_for_words_vectors_and_time_alike(shelf: Shelf, where: dict) -> None:
    other = replace(
        TIDE,
        uid="b1",
        project="/q",
        collection="issues",
        origin="user",
        kind="feedback",
        session="t2",
        files=("/p/src/tide.py",),
        at=2000,
        thread="u",
    )
    shelf.add([TIDE, other])
    one = numpy.array([1.0, 0.0], dtype=numpy.float32)
    shelf.put_vectors("m", [("a1", one), ("b1", one)])
    assert found(shelf, "gauge", **where) == ["b1"]
    assert [uid for uid, _ in shelf.nearest("m", one, Filter(**where), 5)] == ["b1"]
    assert [row.uid for row in shelf.timeline(Filter(**where), 5)] == ["b1"]
    assert {row.uid for row in shelf.timeline(Filter(until=2000), 5)} == {"a1"}


def test_vectors_of_another_size_or_model_count_as_none(shelf: Shelf) -> None:
    shelf.add([TIDE])
    shelf.put_vectors("m", [("a1", numpy.ones(4, dtype=numpy.float32))])
    assert shelf.nearest("m", numpy.ones(8, dtype=numpy.float32), Filter(), 5) == []
    assert shelf.nearest("n", numpy.ones(4, dtype=numpy.float32), Filter(), 5) == []
    assert shelf.lacking("n", 4, 5) == [("a1", TIDE.text)]
    assert len(shelf.nearest("m", numpy.ones(4, dtype=numpy.float32), Filter(), 5)) == 1


def test_how_common_a_word_is_is_told_of_what_is_searched(shelf: Shelf) -> None:
    other = [
        replace(TIDE, uid=f"b{at}", project="/q", text="harbour wall", thread="", origin="user")
        for at in range(3)
    ]
    shelf.add([replace(TIDE, thread=""), *other])
    assert shelf.common(["harbour", "gauge"], Filter(("/p",))) == {"harbour": 0.0, "gauge": 1.0}
    assert shelf.common(["harbour", "gauge"], Filter(("/q",))) == {"harbour": 1.0, "gauge": 0.0}
    assert shelf.common(["harbour"], Filter()) == {"harbour": 0.75}
    assert (shelf.size(Filter(("/q",))), shelf.size(Filter())) == (3, 4)
