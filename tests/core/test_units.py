"""What was said, cut into units."""

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gathering import OTHER_SCRIPTS
from holdfast.core.cues import INSTRUCTION, judge
from holdfast.core.plain import one_line
from holdfast.core.units import LONGEST, LONGEST_TYPED, units
from taken import assert_visible

#: Letters of many scripts, marks of Markdown, ends of sentences, what cannot be seen, and empty lines.
PIECES = st.sampled_from(
    [
        *("word", "Zürich", "端口", "テスト", "линтер", "منفذ", "🚀", "x = 1", "a.b", "e.g. this"),
        *(". ", "! ", "? ", "。", "！", ", ", "; ", " – ", "\n", "\n\n", "\n- ", "\n1. ", "\n# ", "\n> "),
        *("```", "\n```\n", "|", "**", "`", "[link](", ")", "\u200b", "\u202e", "\x1b[31m", "\0", "\u2028"),
        *("\U000e0041", "\ufe0f", "\ud800", " ", "\t", "Let me ", "Great! ", "x" * 120, "y" * 500),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=40).map("".join), st.text(st.characters(categories=None), max_size=600)
)


def said(words, typed=False):
    return [unit for unit, _ in units(words, typed)]


def letters(words):
    """All that is no blank, and can be seen: what must not be lost."""
    return "".join(one_line(words).split())


@given(TEXTS, st.booleans())
@example(". ``` – ", False)
def test_a_unit_is_one_short_line_with_nothing_invisible(words, typed):
    for unit, form in units(words, typed):
        assert 0 < len(unit) <= (LONGEST_TYPED if typed else LONGEST)
        assert one_line(unit) == unit
        assert_visible(unit)
        assert form in "pirco"


@given(TEXTS)
def test_nothing_that_was_typed_is_dropped_or_moved(words):
    assert "".join(letters(unit) for unit in said(words, typed=True)) == letters(words)


@given(
    st.lists(st.sampled_from(["Alpha {} is ready now.", "Beta {} failed here.", "* item {}"]), max_size=30)
)
def test_what_the_model_said_stays_in_order(parts):
    numbered = [part.format(f"N{number:03d}") for number, part in enumerate(parts)]
    words = " ".join(said("\n".join(numbered))).replace(";", " ").split()
    found = [word for word in words if word[1:].isdecimal()]
    assert found == [f"N{number:03d}" for number in range(len(parts))]


@pytest.mark.parametrize("words", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
@pytest.mark.parametrize("times", [1, 30])
def test_other_scripts_are_kept_whole(words, times):
    text = words * times
    assert "".join(map(letters, said(text, typed=True))) == letters(text)
    assert "".join(map(letters, said(text))) == letters(text)
    assert all(len(unit) <= LONGEST for unit in said(text))
    assert {form for _, form in units(text, typed=True)} == {"p"}  # and nothing that a machine printed


@pytest.mark.parametrize(
    "short", ["y", "no", "ok", "1", "?", "v2", "do it", "go on", "c", "好", "👍", "b)"]
)
def test_the_shortest_thing_a_person_types_is_a_unit(short):
    assert said(short, typed=True) == [short]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ("One sentence that stands alone.", ["One sentence that stands alone."]),
        ("First of all this. Then that follows.", ["First of all this. Then that follows."]),
        ("# A heading\nThe text under it.", ["The text under it."]),
        ("#12 is still open\n#!/bin/sh is missing", ["#12 is still open #!/bin/sh is missing"]),
        ("- first item\n- second item", ["first item; second item"]),
        ("1. first item\n2. second item", ["1. first item; 2. second item"]),
        ("These are the steps:\n- compile it\n- test it", ["These are the steps: compile it; test it"]),
        ("Now run it again:", []),
        ("Reverting it since the cache is shared:", ["Reverting it since the cache is shared:"]),
        ("Das kommt zurück, weil es geteilt wird:", ["Das kommt zurück, weil es geteilt wird:"]),
        ("| name | value |\n| --- | --- |\n| port | 5433 |", ["port | 5433"]),
        ("```\nmake all\nmake test\n```", ["make all ⏎ make test"]),
        ("```py\nnever = closed", ["never = closed"]),
        ("Use `poll.py` and [the docs](https://x.dev/a).", ["Use poll.py and the docs."]),
        ("An [unclosed](link", ["An [unclosed](link"]),
        ("Let me look at the parser.", []),
        ("Checking what the parser does with it.", []),
        ("On to the lexer. One more look at a.py before I go on.", []),
        ("I'll have a look at the parser.", []),
        ("I'll keep the parser in one file.", ["I'll keep the parser in one file."]),
        ("Running it twice doesn't help.", ["Running it twice doesn't help."]),
        (
            "Let me revert it because the cache is shared.",
            ["Let me revert it because the cache is shared."],
        ),
        ("Great! The port is 5433 on the server.", ["The port is 5433 on the server."]),
        ("e.g. the old one. And more of it here.", ["e.g. the old one. And more of it here."]),
    ],
)
def test_what_the_model_said_by_example(words, expected):
    assert said(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The **port** is **5433**.", "The port is 5433."),
        ("**Decision:** use it", "Decision: use it"),
        ("**`poll.py`** changed today", "poll.py changed today"),
        ("这是**重要**的端口", "这是重要的端口"),
        ("It has 2**8 entries and 3**2 more", "It has 2**8 entries and 3**2 more"),
        ("Only src/**/*.py and lib/**/*.ts match", "Only src/**/*.py and lib/**/*.ts match"),
        ("call it with **options or f(**a, **b)", "call it with **options or f(**a, **b)"),
        ("an unclosed **mark stays", "an unclosed **mark stays"),
        ("**** and ** stay", "**** and ** stay"),
    ],
)
def test_emphasis_goes_and_everything_else_that_has_two_stars_stays(words, expected):
    assert said(words) == [expected]
    assert said(f"```\n{words}\n```")[0] == words.replace("`", "")


def test_a_long_sentence_is_cut_between_words_and_nothing_of_it_is_lost():
    words = " ".join(f"word{number}" for number in range(300))
    found = said(words)
    assert " ".join(found) == words
    assert all(100 < len(unit) <= LONGEST for unit in found[:-1])


def test_what_a_person_typed_is_never_filler_and_keeps_its_marks():
    words = "Let me do **that** myself.\nGreat! `x`"
    assert said(words, typed=True) == ["Let me do **that** myself. Great! `x`"]


def steps(function, *given):
    """Lines of our own code that ran: what it costs, whatever the machine is doing."""
    counted = 0

    def count(frame, what, arg):
        nonlocal counted
        counted += what == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        function(*given)
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "a b. ",
        "word ",
        "x. y! z? ",
        "- item\n",
        "| a | b\n",
        "`](",
        "端口。",
        "**a** ",
        "```\nx\n",
        "\n\n",
    ],
)
def test_the_cost_grows_with_the_text_and_not_faster(piece, typed):
    small, large = 1 << 12, 1 << 15
    few = steps(units, piece * (small // len(piece)), typed)
    many = steps(units, piece * (large // len(piece)), typed)
    assert many < 12 * few + 500


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("5affe17 refs/tags/v0.5.2 f2ddf9f refs/tags/v0.5.3 746a74c refs/tags/v0.5.4", "o"),
        ("level=INFO msg=planned branch=refs/heads/main chain_len=41 batches=1", "o"),
        ("run `make test` in src/core before you commit", "p"),
        ("https://x.dev/issues/532", "p"),
        ("每次 提交 前 运行 npm test", "p"),
    ],
)
def test_what_a_machine_printed_is_told_from_what_a_person_said(words, form):
    assert units(words, typed=True) == [(words, form)]


def test_the_end_of_a_long_sentence_is_not_left_alone():
    words = "keep the paths relative to the home folder " * 6 + "please"
    found = [unit for unit, _ in units(words, typed=True)]
    assert " ".join(found) == words
    assert min(map(len, found)) > 40


TABLES = "| run | time |\n|---|---|\n| alpha run failed badly | 31 |\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (f"{TABLES}\n| a | b |\n|---|---|\n", ["alpha run failed badly | 31"]),
        (
            f"{TABLES}|  |  |\n| beta run worked | 1 |",
            ["alpha run failed badly | 31", "beta run worked | 1"],
        ),
        (
            f"Here are the results so far:\n\n{TABLES}",
            ["Here are the results so far: alpha run failed badly | 31"],
        ),
    ],
)
def test_only_the_names_of_columns_are_left_out_of_a_table(words, expected):
    assert said(words) == expected


def test_a_lead_is_told_also_without_a_list_if_it_says_something():
    lead, item = (
        "We never deploy on a Friday because the on-call is gone, so these hold:",
        "item of words " * 14,
    )
    assert said(f"{lead}\n- {item}") == [lead, item.strip()]
    assert said("The root cause is a missing lock in disk/files.py:")
    assert said("Let me check the tests:") == said("Now the tests:") == []


@pytest.mark.parametrize(
    "order",
    [
        "Do not use ports 8080, 8081, 9000, 9001, 5432 or 6379.",
        "NEVER touch src/a.py, src/b.py, src/c.py or src/d.py!",
    ],
)
def test_an_order_that_names_many_things_stays_one(order):
    ((unit, form),) = units(order, typed=True)
    assert judge(unit, form, typed=True)[1] == INSTRUCTION
