"""The scanner and dumper of the hot path against those of `json`, on whatever may come."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import jsontext
from holdfast.core.jsontext import UNREADABLE, dump, load, portable, scan
from hooks import notes
from made import Session

SOURCES = str(Path(jsontext.__file__).parents[2])
PYTHON = os.path.realpath(sys.executable)

READABLE = r"""
{} [] null true false 0 -0 1.5 1e5 "" "x" "\u2028\n\"\\\/" "\ud800" "\ud83d\ude00"
[1,[2,[3,{}]]] {"a":{"b":[]}}
{"a":1,"a":2} NaN [NaN,Infinity,-Infinity] 1e400 -1e400 123456789012345678901234567890
0.1e-400 {"":null} 01 {}x
""".split()
READABLE += [
    '{ "a" : [ 1 , 2 ] }',
    '"a\tb\x00c\x1f"',
    '"é漢\u2028😀"',
    '"\udcff\ud800"',
    "9" * 4000,
    "[" * 300 + "]" * 300,
]
HOSTILE = r"""
{ [ " tru nul - . +1 ' {] [} {"a" {"a": {"a":1 {"a":1, {"a":1,} [1 [1, [1,] {a:1} {1:1} {"a"1} "\x"
"\u12" "\ud8 \
"""
HOSTILE = [
    *HOSTILE.split(),
    "",
    " ",
    " {}",
    "\0",
    "\ufeff{}",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5000,
    "-" + "9" * 5000,
]
HOSTILE += [
    '["' + "x" * 1000,
    '{"type":"user","uuid":"a{"type":"user","uuid":"b"}',
    "[1 2]",
    '{"a":1 "b":2}',
]

VALUES = [
    *(None, True, False, 0, -1, 10**30, 0.5, -0.0, 1e-320, 1.7976931348623157e308, "", "x", [], {}, (1, 2)),
    *(
        "\u2028",
        "\ud800",
        "\0\x1f\x7f",
        '"\\/',
        "é漢😀",
        {"b": 1, "a": [1, {"": None}]},
        [[[]]],
        {1: 2, None: True},
    ),
    {"v": 1, "seen": {"tail": [["abc", 1, 2.5]]}, "behind": None},
]
UNWRITABLE = [
    math.nan,
    math.inf,
    -math.inf,
    [math.nan],
    {"a": math.inf},
    b"x",
    {1},
    len,
    {"a": [b""]},
    {(1,): 2},
]


def outcome(call, *given: object) -> object:
    """What a call gives or refuses; the kind of refusal matters only as far as callers look at it."""
    try:
        return repr(call(*given))
    except UNREADABLE:
        return "unreadable"
    except TypeError:
        return "not JSON"


def test_this_interpreter_has_the_native_scanner():
    assert jsontext.NATIVE


@pytest.mark.parametrize("text", READABLE + HOSTILE, ids=lambda text: ascii(text[:20]))
def test_both_scanners_read_the_same(text):
    slow, _ = portable()
    assert outcome(scan, text, 0) == outcome(slow, text, 0)
    for at in range(1, min(len(text), 40)):
        assert outcome(scan, text, at) == outcome(slow, text, at)


def test_what_is_readable_is_read_and_what_is_hostile_is_unreadable():
    assert [text for text in READABLE if outcome(scan, text, 0) == "unreadable"] == []
    assert [text for text in HOSTILE if outcome(scan, text, 0) != "unreadable"] == []


def test_numbers_that_json_does_not_have_are_read_as_nothing():
    assert load("[NaN,Infinity,-Infinity]") == [None, None, None]


def test_a_text_is_one_value_and_blanks_after_it():
    assert load('{"a":1} \r\n') == {"a": 1}
    for text in ("{} {}", "1 2", "{}\0", '{"a":1}}'):
        assert outcome(load, text) == "unreadable"


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_both_dumpers_write_the_same_ascii(value):
    _, slow = portable()
    assert dump(value) == slow(value)
    assert dump(value).isascii()
    assert " " not in dump(value).replace('" ', "")


@pytest.mark.parametrize("value", UNWRITABLE, ids=ascii)
def test_both_dumpers_refuse_what_is_not_json(value):
    _, slow = portable()
    assert outcome(dump, value) == outcome(slow, value) != repr(value)
    assert outcome(dump, value) in ("unreadable", "not JSON")


def test_a_value_that_holds_itself_is_refused_by_both():
    ring: list = []
    ring.append(ring)
    for write in (dump, portable()[1]):
        with pytest.raises(RecursionError):
            write(ring)


numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(words, inner, max_size=6),
)


@given(values)
def test_what_was_dumped_is_loaded_unchanged(value):
    assert load(dump(value)) == value
    assert dump(value) == portable()[1](value) == json.dumps(value, separators=(",", ":"))


@given(st.text(st.sampled_from('{}[]",:\\u0123e+-.truefalsn \t\0d8')) | words)
def test_both_scanners_agree_on_any_text(text):
    assert outcome(scan, text, 0) == outcome(portable()[0], text, 0)


# -- in interpreters as hooks find them


def bare(program: str, stdin: bytes = b"", **environ: str) -> str:
    command = [PYTHON, "-I", "-S", "-c", f"import sys\nsys.path.insert(0, {SOURCES!r})\n{program}"]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=environ)
    assert done.stderr.decode() == ""
    return done.stdout.decode()


REPORT = """
from holdfast.core import jsontext
def outcome(call, *given):
    try:
        return repr(call(*given))
    except jsontext.UNREADABLE:
        return "unreadable"
    except TypeError:
        return "not JSON"
nan, inf = float("nan"), float("inf")
print(jsontext.NATIVE, "json" in sys.modules)
for text in {texts}:
    print(ascii(outcome(jsontext.scan, text, 0)))
for value in {values}:
    print(ascii(outcome(jsontext.dump, value)))
"""


@pytest.mark.parametrize("native", [True, False])
def test_results_are_the_same_without_json_and_without_its_private_half(native):
    """A hook imports neither `json` nor anything that does; `_json` must not rely on it."""
    texts, writable = [t for t in READABLE + HOSTILE if len(t) < 10_000], VALUES + UNWRITABLE[:6]
    program = REPORT.format(texts=ascii(texts), values=ascii(writable))
    if not native:
        program = "sys.modules['_json'] = None\n" + program
    first, *rest = bare(program).splitlines()
    assert first == ("True False" if native else "False True")
    expected = [outcome(scan, text, 0) for text in texts] + [outcome(dump, value) for value in writable]
    assert rest == [ascii(one) for one in expected]


@pytest.mark.parametrize(
    "damage", [b"", b'{"type":"user","uuid":"cut{"a":1}\n', b'{"type":"assistant","mess']
)
def test_a_hook_without_the_native_scanner_comes_to_the_same_state(tmp_path, damage):
    session = Session(tmp_path / "t.jsonl", "s1")
    session.grow_to(200_000)
    with session.path.open("ab") as file:
        file.write(damage)
    states = []
    for name, before in (("native", ""), ("portable", "sys.modules['_json'] = None\n")):
        home = tmp_path / name
        environ = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(home), "CLAUDE_CONFIG_DIR": str(tmp_path)}
        program = before + "from holdfast import hook\nhook.main()\n"
        assert bare(program, session.post_tool_batch(), **environ) == ""
        assert notes(home) == []
        state = json.loads((home / "sessions" / "s1" / "state.json").read_bytes())
        assert state["seen"]["turns"] == session.number
        states.append({key: state[key] for key in ("v", "session", "seen", "behind", "sampled")})
    assert states[0] == states[1]
