"""The table of keys: what each takes, what it is called in the environment, which of them must rise."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.config import (
    DEFAULTS,
    KEYS,
    STANDARD,
    Config,
    expected,
    fallen,
    fits,
    of_environment,
    parse,
    variable,
    written,
)
from holdfast.errors import BadInput

LADDER = [key for key in DEFAULTS if key.startswith("ladder.")]


@pytest.mark.parametrize("row", KEYS, ids=[row[0] for row in KEYS])
def test_every_key_has_a_default_it_takes_and_a_purpose(row):
    key, default, takes, what = row
    assert len(row) == 4
    assert what
    assert len(what) < 80
    assert fits(key, default) or key == "window"  # of which 0 means: as measured
    assert parse(key, written(default)) == default if key != "window" else takes[0] > 0
    assert type(default) in (int, bool, str)


def test_no_two_keys_share_a_name_or_a_variable():
    assert len(DEFAULTS) == len(KEYS)
    assert len({variable(key) for key in DEFAULTS}) == len(KEYS)
    assert variable("ladder.warning") == "HOLDFAST_LADDER_WARNING"
    assert variable("window") == "HOLDFAST_WINDOW"


def test_no_key_is_a_section_of_others():
    assert not [key for key in DEFAULTS for other in DEFAULTS if other.startswith(key + ".")]


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("window", "200000", 200_000),
        ("window", "1000", 1000),
        ("ladder.warning", "1", 1),
        ("ladder.warning", "100", 100),
        ("brief.session_tokens", "0", 0),
        ("guard.tell_model", "false", False),
        ("guard.tell_model", "No", False),
        ("guard.tell_model", "on", True),
        ("guard.tell_model", "1", True),
        ("compaction.block_unverified", "manual", "manual"),
    ],
)
def test_a_text_gives_a_value(key, text, value):
    assert parse(key, text) is value or parse(key, text) == value
    assert type(parse(key, text)) is type(value)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(
            ("window", text)
            for text in ("0", "999", "100000000", "-5", "2e5", "200k", "1.5", "²", "٣" * 5, "", " ")
        ),
        *(("ladder.warning", text) for text in ("0", "101", "70 %", "70.5", "true", "seventy")),
        *(("guard.tell_model", text) for text in ("2", "maybe", "")),
        *(("compaction.block_unverified", text) for text in ("always", "Never", "")),
    ],
)
def test_what_is_none_is_refused_with_what_the_key_takes(key, text):
    with pytest.raises(BadInput) as refused:
        parse(key, text)
    assert str(refused.value) == f"is {text!r}; it takes {expected(key)}"


def test_a_refusal_is_short_however_long_the_text_is():
    with pytest.raises(BadInput) as refused:
        parse("window", "9" * 1_000_000)
    assert len(str(refused.value)) < 120


@given(
    st.sampled_from(list(DEFAULTS)),
    st.one_of(st.integers(), st.booleans(), st.text(), st.none(), st.floats()),
)
def test_only_what_can_be_written_and_read_again_fits(key, value):
    if fits(key, value):
        assert type(value) is type(DEFAULTS[key])
        assert parse(key, written(value)) == value
    elif type(value) is type(DEFAULTS[key]):
        with pytest.raises(BadInput):
            parse(key, written(value))


@pytest.mark.parametrize(
    "item", [("ladder.warning", True), ("guard.tell_model", 1), ("no.such.key", 5), ("", None)]
)
def test_what_is_of_another_kind_or_key_does_not_fit(item):
    assert not fits(*item)


def test_each_layer_is_above_the_one_before():
    layers = {"window": 1000}, {"window": 2000}, {"window": 3000}
    assert STANDARD["window"] == 0
    assert [Config(*layers[:upto])["window"] for upto in (1, 2, 3)] == [1000, 2000, 3000]
    assert Config(None, None, layers[2])["ladder.warning"] == DEFAULTS["ladder.warning"]
    with pytest.raises(KeyError):
        STANDARD["no.such.key"]


def test_the_environment_gives_values_and_says_what_is_wrong_with_others():
    environ = {
        "HOLDFAST_HOME": "/h",
        "HOLDFAST_LADDER_WARNING": " 65 ",
        "HOLDFAST_GUARD_TELL_MODEL": "off",
        "HOLDFAST_COLD_EVERY_TURNS": "",
        "HOLDFAST_WINDOW": "lots",
        "HOLDFAST_BRIEF_TOKENS": "9",
        "HOLDFAST_LADER_WARNING": "5",
        "PATH": "/bin",
    }
    values, wrong = of_environment(environ)
    assert values == {"ladder.warning": 65, "guard.tell_model": False}
    assert wrong == (
        "HOLDFAST_WINDOW is 'lots'; it takes a whole number from 1000 to 99999999; "
        "HOLDFAST_BRIEF_TOKENS is '9'; it takes a whole number from 200 to 2700"
    )
    assert of_environment({"HOLDFAST_HOME": "/h", "PATH": "/bin"}) == ({}, "")


def test_a_rung_may_be_as_high_as_the_one_before_it_but_not_lower():
    assert fallen(STANDARD) == []
    assert fallen(Config(dict.fromkeys(LADDER, 50))) == []
    assert [(lower, upper) for lower, upper, _ in fallen(Config({"ladder.advisory": 75}))] == [
        ("ladder.prompt_warning", "ladder.advisory")
    ]
    ((_, _, what),) = fallen(Config({"auto_context.thresholds.warning": 90}))
    above = "auto_context.thresholds"
    assert what == f"{above}.warning is 90 and {above}.critical 85, which may not be less"


@given(st.lists(st.integers(1, 100), min_size=len(LADDER), max_size=len(LADDER)))
def test_whatever_order_is_given_only_falling_pairs_are_named(values):
    named = {(lower, upper) for lower, upper, _ in fallen(Config(dict(zip(LADDER, values, strict=True))))}
    given = dict(zip(LADDER, values, strict=True))
    pairs = pairwise(LADDER)
    assert named == {(lower, upper) for lower, upper in pairs if given[lower] > given[upper]}
