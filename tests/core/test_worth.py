"""Which facts go into so many characters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gathering import facts_of, said
from holdfast.core.facts import USER
from holdfast.core.transcript import Entry
from holdfast.core.worth import Item, chosen, known, together, weighed
from session import Script, text, use


def talk(turns=60):
    """The person asks, the model works and says something in every turn."""
    script = Script()
    script.prompt("Build the tide table. Always keep the port at 5433.")
    for turn in range(turns):
        script.answer(text(f"Gauge number {turn} uses module_{turn} because of reason{turn}."))
        script.answer(use(f"c{turn}", "Bash", command=f"make gauge{turn}"))
        script.result(f"c{turn}", "done")
    return script


def test_what_was_said_lately_is_worth_more_than_the_same_long_ago():
    items = [item for item in weighed(facts_of(talk())) if item.kind != USER]
    assert items[-1].worth > items[len(items) // 2].worth > items[0].worth


def test_what_was_weighed_is_not_weighed_again_until_another_record_is_taken_in():
    facts = facts_of(talk())
    fresh = [item.worth for item in weighed(facts)]
    facts.worths = [0.5] * len(fresh)
    assert {item.worth for item in weighed(facts)} == {0.5}
    facts.take({}, Entry(), str)
    assert [item.worth for item in weighed(facts)] == fresh


def test_what_a_person_typed_fades_less():
    items = weighed(facts_of(talk()))
    typed = [item for item in items if item.kind == USER]
    assert min(item.worth for item in typed) > max(item.worth for item in items[5:20])


def test_the_order_is_that_in_which_it_was_said():
    facts = facts_of(talk())
    items = together(weighed(facts), [known("Something known of it", 0.1, 1, "other")])
    assert [item.order for item in items] == list(range(len(items)))
    assert [item.text for item in items[:-1]] == said(facts)


def test_nothing_is_chosen_from_nothing():
    assert weighed(facts_of(Script())) == []
    assert chosen([], 1000) == []


def test_the_same_thing_is_not_told_twice():
    script = Script()
    script.prompt("go")
    for _ in range(20):
        script.answer(text("The gauge listens on port 5433 of the harbour server."))
    script.answer(text("The login page is served from another host altogether."))
    picked = [item.text for item in chosen(weighed(facts_of(script)), 5000)]
    assert sum("5433" in words for words in picked) == 1
    assert any("login page" in words for words in picked)


def test_what_stands_there_already_is_not_told_again():
    items = weighed(facts_of(talk(1)))
    taken = "\n".join(item.text for item in items)
    assert chosen(items, 5000, taken) == []


WORDS = st.lists(
    st.sampled_from("alpha beta port_5433 src/a.py fails never 端口 миграция because x".split()),
    min_size=1,
    max_size=20,
).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, st.floats(0.01, 50)), max_size=40), st.integers(0, 3000))
def test_what_is_chosen_fits_and_is_there_once(given_items, room):
    items = []
    for order, (words, worth) in enumerate(given_items):
        items.append(Item(words, 9, order, worth=worth, named=(), about=words.split(), order=order))
    picked = chosen(items, room)
    assert sum(len(item.text) + 1 for item in picked) <= room
    assert len({id(item) for item in picked}) == len(picked)
    assert {id(item) for item in picked} <= {id(item) for item in items}


@pytest.mark.parametrize("room", [31, 200, 1000, 20_000])
def test_more_room_holds_more(room):
    items = weighed(facts_of(talk(40)))
    small = sum(len(item.text) for item in chosen(items, room))
    large = sum(len(item.text) for item in chosen(items, 2 * room))
    assert small <= large
    assert large > 0 or room < 60
