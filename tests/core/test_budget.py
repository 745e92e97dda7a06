"""The five compartments of a brief."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import brief, budget
from holdfast.core.budget import ACTIVE, AMBIENT, COMPARTMENTS, PREFERENCES, SAFETY, Budget, Pin, ident
from holdfast.core.config import STANDARD
from holdfast.core.cues import DECISION, INSTRUCTION, OTHER
from holdfast.core.facts import ANSWER, SAID_MID, USER, Facts
from holdfast.core.worth import Item, known

WORDS = "harbour gauge pump lantern buoy tide ledger valve sluice beacon anchor cable winch motor".split()


def item(number: int, kind: int = SAID_MID, cls: str = OTHER, worth: float = 1.0) -> Item:
    words = " ".join(f"{word}{number}" for word in WORDS[:6])
    return Item(f"saying {number} of {words}", kind, 1, cls, "", worth, (words, words), number)


def told(items: list[Item], made: Budget, tokens: float = 300) -> list[str]:
    return brief.lines(Facts(), items, tokens, [], [], made)


def shares(**given: int) -> Budget:
    return Budget({name: given.get(name, 0) for name in COMPARTMENTS})


def test_everything_has_a_compartment():
    assert budget.compartment(item(0, USER, INSTRUCTION)) == SAFETY
    assert budget.compartment(item(0, USER)) == ACTIVE
    assert budget.compartment(item(0, ANSWER)) == PREFERENCES
    assert budget.compartment(item(0, SAID_MID, DECISION)) == budget.BACKGROUND
    assert budget.compartment(known("x", 1, 1, OTHER)) == AMBIENT


def test_standing_instructions_have_their_share_before_ambient_knowledge():
    """However much more the rest is worth."""
    loud = [item(number, worth=1000.0) for number in range(40)]
    quiet = item(99, USER, INSTRUCTION, worth=0.001)
    assert brief.said(quiet) not in told([*loud, quiet], shares())
    assert brief.said(quiet) in told([*loud, quiet], shares(safety_constraints=15))


def test_who_is_served_first_where_there_is_not_room_for_all():
    one, other = item(1, USER, INSTRUCTION), item(2, ANSWER)
    both = dict.fromkeys(COMPARTMENTS, 0) | {SAFETY: 90, PREFERENCES: 90}
    for priorities, kept in (({SAFETY: 1, PREFERENCES: 2}, one), ({SAFETY: 2, PREFERENCES: 1}, other)):
        made = Budget(both, priorities)
        assert told([one, other], made, 30) == [brief.said(kept)]


def test_what_is_pinned_comes_first_and_what_is_evicted_not_at_all():
    items = [item(number) for number in range(4)]
    pins = [Pin("1", AMBIENT, "second", ""), Pin("2", SAFETY, "first", "")]
    made = Budget(shares().shares, {}, pins, {ident(items[2].text.upper()): ""})
    lines = told(items, made)
    assert lines[:2] == ["Pinned (safety_constraints): first", "Pinned (ambient_knowledge): second"]
    assert brief.said(items[1]) in lines
    assert brief.said(items[2]) not in lines


def test_pins_do_not_fill_a_brief():
    pins = [Pin(str(number), ACTIVE, "x" * 240, "") for number in range(12)]
    lines = told([item(1)], Budget(shares().shares, {}, pins))
    assert 0 < len(lines[:-1]) < 3
    assert brief.said(item(1)) == lines[-1]


def test_a_brief_never_outgrows_its_room():
    items = [item(number, USER, INSTRUCTION) for number in range(30)]
    for tokens in (50, 200, 500):
        lines = told(items, shares(safety_constraints=100), tokens)
        assert sum(len(line) + 1 for line in lines) <= tokens * 3.5 + 1


def test_the_projects_own_word_counts_more_than_the_configuration():
    made = budget.of(STANDARD, {"shares": {SAFETY: 40}, "priorities": {SAFETY: 5}})
    assert made.shares == {**budget.STANDARD.shares, SAFETY: 40}
    assert made.order[-1] == SAFETY or made.priorities[made.order[-1]] == 5


@given(
    st.lists(st.integers(0, 30), min_size=5, max_size=5),
    st.lists(st.integers(0, 100), min_size=5, max_size=5),
)
def test_rebalancing_loses_no_share_and_starves_nobody(given_shares, wanted):
    before = dict(zip(COMPARTMENTS, given_shares, strict=True))
    asked = dict(zip(COMPARTMENTS, wanted, strict=True))
    after = budget.rebalanced(before, asked)
    assert sum(after.values()) == sum(before.values())
    assert all(share >= 0 for share in after.values())
    if sum(asked.values()) >= sum(before.values()):
        assert all(after[name] <= asked[name] for name in COMPARTMENTS)
