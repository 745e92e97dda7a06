"""Which facts go into so many characters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gathering import facts_of, said
from holdfast.core.facts import USER
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


def test_what_was_weighed_is_not_weighed_again_where_few_have_come_since():
    facts = facts_of(talk())
    fresh = [item.worth for item in weighed(facts)]
    whole = facts.worths
    facts.worths = [0.5] * len(fresh)
    told = [item.worth for item in weighed(facts)]
    assert told == pytest.approx([worth * 0.5 / was for worth, was in zip(fresh, whole, strict=True)])
    assert facts.worths == [0.5] * len(fresh)
    facts.worths = [0.5] * (len(fresh) - 1)
    weighed(facts)
    assert facts.worths == [*[0.5] * (len(fresh) - 1), whole[-1]]
    facts.worths = [0.5] * (len(fresh) // 2)  # too many
    assert [item.worth for item in weighed(facts)] == fresh


def test_with_another_prompt_nothing_is_weighed_again():
    script = talk()
    facts = facts_of(script)
    was = [item.worth for item in weighed(facts)]
    before, read = list(facts.worths), len(script.lines)
    script.prompt("and now the gate at the pier, please")
    facts_of(script.lines[read:], known=facts)
    now = [item.worth for item in weighed(facts)]
    assert facts.worths[: len(before)] == before
    *others, ended = [new / old for new, old in zip(now, was, strict=False)]
    assert others == pytest.approx([others[0]] * len(others))
    assert others[0] < 1, "another prompt is the newest"
    assert ended > others[0], "it turned out to be what the model ended with"
    again = [item.worth for item in weighed(facts_of(script))]
    assert now[len(was) :] == again[len(was) :]
    assert now == pytest.approx(again, rel=0.1)


def test_what_was_said_from_some_place_on_is_left_out():
    facts = facts_of(talk())
    every = weighed(facts)
    until = facts.sayings[40][1]
    some = weighed(facts, until)
    assert [item.text for item in some] == [item.text for item in every][: len(some)]
    assert 30 < len(some) < len(every) - 10
    facts.worths = []
    assert len(weighed(facts, until)) == len(facts.worths) == len(some)


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


def day(rules, chatter=40):
    """Compactions, with a rule, a choice, a value and much work before each of them."""
    script = Script()
    for number, rule in enumerate(rules):
        script.prompt(f"{rule}. now the next one, please")
        script.answer(text(f"Going with sluice_{number}: the other would mean two owners."))
        for turn in range(chatter):
            if turn % 8 == 7:
                script.prompt("ok, go ahead with the next file, same as before")
            script.answer(text(f"The levels of src/tide_{turn % 9}.py are still consistent with the rest."))
        script.boundary()
    return script


RULES = [f"{word} belongs to us alone" for word in "weir lock ferry pier gate buoy quay".split()]


def test_a_choice_that_no_summary_has_told_comes_before_what_the_last_ones_told():
    facts = facts_of(day(RULES))
    told = [item.text for item in chosen(weighed(facts), 700)]
    assert any("sluice_6" in words for words in told)
    assert not any("sluice_0" in words for words in told)


def test_a_compaction_after_which_nothing_was_said_has_told_nothing_yet():
    script = day(RULES)
    before = [(item.text, item.fresh) for item in weighed(facts_of(script.lines[:-1]))]
    assert [(item.text, item.fresh) for item in weighed(facts_of(script))] == before
    script.answer(text("Then the gauge of the northern harbour was read once more."))
    assert not any(item.fresh for item in weighed(facts_of(script))[:-1])


@pytest.mark.parametrize("rules", [RULES, [f"Never touch the {rule}" for rule in RULES]])
def test_what_the_person_said_holds_however_often_it_was_compacted(rules):
    told = "\n".join(item.text for item in chosen(weighed(facts_of(day(rules))), 1000))
    assert [rule for rule in rules if rule not in told] == []


def test_what_the_person_says_over_and_over_does_not_hold():
    items = [item for item in weighed(facts_of(day(RULES))) if item.kind == USER]
    (first, *_) = items
    again = [item for item in items if item.text.startswith("ok, go ahead")]
    assert again[0].worth < first.worth / 3


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
        items.append(Item(words, 9, order, worth=worth, words=("", words), order=order))
    picked = chosen(items, room)
    assert sum(len(item.text) + 1 for item in picked) <= room
    assert len({id(item) for item in picked}) == len(picked)
    assert {id(item) for item in picked} <= {id(item) for item in items}


@settings(deadline=None)
@given(
    st.lists(st.tuples(WORDS, st.floats(0.01, 50), st.integers(0, 4)), max_size=40), st.integers(0, 2000)
)
def test_a_place_is_named_once_for_all_that_share_it(given_items, room):
    places = {}
    items = []
    for order, (words, worth, place) in enumerate(given_items):
        items.append(Item(words, 2, order, worth=worth, words=("", words), order=order))
        places[order] = place
    picked = chosen(items, room, cost=3, place=lambda item: (places[item.order], 21))
    assert len({item.order for item in picked}) == len(picked)
    named = {places[item.order] for item in picked}
    assert sum(len(item.text) + 3 for item in picked) + 21 * len(named) <= room


def test_of_equals_the_one_whose_place_is_named_already_comes_first():
    about = "weir lock pier ferry".split()
    items = [
        Item(f"the {word} is old", 2, 1, worth=1.0, words=("", word), order=at)
        for at, word in enumerate(about)
    ]
    items[0].worth = 2.0
    picked = chosen(items, 70, place=lambda item: (item.order // 3 if item.order else 1, 10))
    assert [item.order for item in picked] == [0, 3]


@pytest.mark.parametrize("room", [31, 200, 1000, 20_000])
def test_more_room_holds_more(room):
    items = weighed(facts_of(talk(40)))
    small = sum(len(item.text) for item in chosen(items, room))
    large = sum(len(item.text) for item in chosen(items, 2 * room))
    assert small <= large
    assert large > 0 or room < 60
