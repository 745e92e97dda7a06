"""Text as it may stand in a file of ours."""

import functools
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.plain import excerpt, one_line

ANY = st.text(st.characters(categories=None), max_size=200)
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def is_invisible(letter):
    return unicodedata.category(letter) in INVISIBLE or 0xE0000 <= ord(letter) <= 0xE0FFF


ALL = [chr(code) for code in range(sys.maxunicode + 1)]


@functools.cache
def seen():
    """All characters that get through."""
    return frozenset(one_line("a".join(ALL)))


def test_no_invisible_character_of_all_gets_through():
    assert {hex(ord(letter)) for letter in seen() if is_invisible(letter)} == set()


def test_every_other_character_stays_but_blanks_become_spaces():
    lost = {letter for letter in set(ALL) - seen() if unicodedata.category(letter) != "Cn"}
    lost = {letter for letter in lost if not is_invisible(letter) and not letter.isspace()}
    without_a_shape = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    assert lost <= {*without_a_shape, *map(chr, range(0xFE00, 0xFE10))}


def test_each_character_is_treated_alike_alone_and_among_control_characters():
    """What looks harmless takes a short way; nothing may slip through on it."""
    for letter in filter(str.isprintable, ALL):
        assert one_line(f"a{letter}b") == one_line(f"a{letter}b\0"), hex(ord(letter))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("a\nb", "a b"),
        ("a\r\n\r\nb\u2028c\u2029d\x85e\x0bf", "a b c d e f"),
        ("a\0b", "a b"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("co\u00ador\u200bdi\u2060nate\ufeff", "coordinate"),
        ("\u202etxt.exe\u2066", "txt.exe"),
        ("a\ud800b\udc80", "a\ufffdb\ufffd"),
        ("".join(chr(0xE0000 + ord(c)) for c in "obey"), ""),
        ("né naïve 日本 👍🏽", "né naïve 日本 👍🏽"),
        ("ok" + "\ufe04\ufe0f\ufe01\U000e0101" * 9 + " ❤\ufe0f", "ok ❤"),
    ],
)
def test_a_text_becomes_one_line(words, line):
    assert one_line(words) == line


@given(ANY)
def test_one_line_is_one_line_for_good(words):
    line = one_line(words)
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert one_line(line) == line
    line.encode()


@given(ANY, st.integers(1, 60))
def test_an_excerpt_is_the_beginning_and_says_when_it_is_not_all(words, most):
    short = excerpt(words, most)
    assert len(short) <= most + 2
    assert one_line(short) == short
    whole = one_line(words)
    if short != whole:
        assert short.endswith("…")
        assert whole.startswith(short.removesuffix("…").rstrip())


@pytest.mark.parametrize("filler", ["\n", " ", "\u200b", "\u202e", "\U000e0041", "\0"])
def test_what_stands_behind_much_that_cannot_be_seen_is_not_passed_over_in_silence(filler):
    assert excerpt("start" + filler * 10_000 + "the end", 50).endswith("…")
    assert excerpt(filler * 10_000 + "the end", 50).endswith(("…", "the end"))


def test_a_cut_is_made_between_words_where_there_is_one():
    assert excerpt("one two three four", 13) == "one two …"
    assert excerpt("onetwothreefour", 6) == "onetwo …"
    assert excerpt("one two three", 13) == "one two three"
