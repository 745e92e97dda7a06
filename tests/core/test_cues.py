"""What a unit looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathering import OTHER_SCRIPTS
from holdfast.core import cues
from holdfast.core.cues import judge, names, topics

ANY = st.text(st.characters(categories=None), max_size=240)


@pytest.mark.parametrize(
    ("unit", "typed", "expected"),
    [
        ("always run the linter before you push", True, cues.INSTRUCTION),
        ("never touch the migrations, please", True, cues.INSTRUCTION),
        ("Bitte niemals direkt schieben", True, cues.INSTRUCTION),
        ("请始终使用端口，不要修改", True, cues.INSTRUCTION),
        ("必ずテストを実行してください", True, cues.INSTRUCTION),
        ("всегда запускай линтер, никогда не пропускай", True, cues.INSTRUCTION),
        ("We decided on sqlite rather than a server, because it needs no setup", False, cues.DECISION),
        ("It turned out that the cache doesn't work; the root cause is a race", False, cues.DEAD_END),
        ("The login error is still unresolved, and a risk", False, cues.ISSUE),
        ("Fixed and committed: added the parser, renamed it and updated both", False, cues.DONE),
        ("The port: 5433", False, cues.VALUE),
        ("The limit is set at weir.py:431 of src/gate.py:17", False, cues.VALUE),
        ("A look at src/gauge_3.py", False, cues.OTHER),
        ("The lock stays in the ferry; the weir was the alternative", False, cues.DECISION),
        ("Taking the pier: the buoy would need a second pass", False, cues.DECISION),
        ("Setting the flag makes no difference to the gauge", False, cues.DEAD_END),
        ("Backed out the tide cache, it broke the ferry", False, cues.DEAD_END),
        ("The weir is off limits, whenever the gate is open", True, cues.INSTRUCTION),
        ("A house by the lake", False, cues.OTHER),
        ("", False, cues.OTHER),
    ],
)
def test_the_class_of_a_unit(unit, typed, expected):
    assert judge(unit, "p", typed)[1] == expected


def test_what_a_person_typed_is_an_instruction_sooner():
    unit = "please prefer the small one, because the large one failed"
    assert judge(unit, "p", True)[1] == cues.INSTRUCTION
    assert judge(unit, "p", False)[1] != cues.INSTRUCTION


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("The server listens on port 5433 there", "p"), ("The server listens on some port there", "p")),
        (("We chose sqlite because it is small", "p"), ("We chose sqlite because it is small", "c")),
        (("The build failed on the second run", "p"), ("The build failed on the second run:", "p")),
        (("The cache is dropped here and there", "p"), ("Looking at the cache that is dropped", "p")),
    ],
)
def test_what_is_worth_more_than_what(better, worse):
    assert judge(*better, False)[0] > judge(*worse, False)[0]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("Use src/poll.py and poll_gauge() on port 5433", ["src/poll.py", "poll_gauge", "5433"]),
        ("Node v18.2.1, not 16", ["v18.2.1"]),
        ("readFile and XMLHttpRequest, but not README or Word", ["readfile", "xmlhttprequest"]),
        ("see file:12 and `--no-verify`.", []),
        ("a1b2c3d is the commit", ["a1b2c3d"]),
        ("端口在 config.toml 里", ["config.toml"]),
        ("twice: poll.py and poll.py", ["poll.py"]),
    ],
)
def test_names_are_what_a_summary_gets_wrong(unit, expected):
    assert names(unit) == expected


@pytest.mark.parametrize("words", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
def test_every_script_has_topics(words):
    assert topics(words)


def test_where_words_are_not_set_apart_pairs_of_letters_stand_for_them():
    assert topics("修改迁移") == ["修改", "改迁", "迁移"]
    assert set(topics("不要修改迁移文件")) & set(topics("修改迁移"))


@given(ANY, st.sampled_from("pirc"), st.booleans())
def test_any_text_is_judged(unit, form, typed):
    worth, name = judge(unit, form, typed)
    assert -4 < worth < 6
    assert name in vars(cues).values()
    for word in names(unit) + topics(unit):
        assert word
        assert not any(letter.isspace() for letter in word)
