"""A checkpoint proves itself: what is written is read back, and what was changed is found out."""

import json
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import checkpoint
from holdfast.core.checkpoint import (
    FIELDS,
    SECTIONS,
    Checkpoint,
    body,
    diff,
    is_sealed,
    parse,
    problems,
    render,
)
from holdfast.errors import Damaged

KEY = bytes(range(32))
STEM = "2026-11-16-045334"
USUAL = {
    "id": STEM,
    "uid": "01M7HB84ATVSE4HP052BT171K6",
    "created": "2026-11-16T04:53:34.170Z",
    "trigger": "auto",
    "reason": "compaction",
    "project": "/home/mira/tidegate",
    "lineage": "f9a1a0ceec19f2c3",
    "session_id": "s1",
    "agent_id": "",
    "iteration": 3,
    "parent": "2026-11-16-045000",
    "branch": "main",
    "commit": "c0ffee" * 6 + "c0ff",
    "used_tokens": 110_132,
    "window": 200_000,
    "summary": "fix the parser - 2 files modified",
    "work": "in progress",
}
ITEMS = {
    "Goal": ["fix the parser (turn 1, entry 0a1b2c3d)"],
    "What Changed": ["[src/parser.py:12] - `return None` (+1 −1)", "[b.py:1] - written, 3 lines"],
    "Plan and Workflow": ["Plan:\n> 1. read\n> 2. write", "Task 1 (pending): parse"],
}
TEXTS = "reason project lineage session_id agent_id parent branch commit summary".split()
#: Whatever a path can hold: no high surrogates, which no file system gives.
ANY = st.text(st.characters(categories=None, exclude_characters=[chr(c) for c in range(0xD800, 0xDC80)]))
HOSTILE = (
    *("", " ", "a ", " a", '"', "\\", "\\n", "a\nb", "a\r\nb", "a\tb", "a: b", "a #b", "#", "- a", "---"),
    *("...", "'", "[x](y)", "{a: b}", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "?", ":", "~", "null"),
    *(
        "true",
        "No",
        "off",
        "y",
        "n",
        "Yes",
        "ON",
        "nan",
        "inf",
        "0x1f",
        "1e5",
        "12",
        "012",
        "1_000",
        "1:30",
    ),
    *(".inf", "-.5", "+1", "2026-11-16", "=", "<<", "é", "日本", "👍", "\x00", "\x7f", "\x85", "\xa0"),
    *("\u2028", "\ufeff", "\u202e", "\ufffe", "\uffff", "\ufffd", "\udcff", "👩‍👧", "a" * 5000),
)


def made(sections=ITEMS, key=KEY, **fields):
    return render({**USUAL, **fields}, body(sections), key)


def test_what_is_written_is_read_back():
    data = made()
    assert problems(data, STEM) == []
    assert is_sealed(data, KEY)
    found = parse(data, "here")
    assert {name: found.fields[name] for name in USUAL} == USUAL
    assert found.fields["verified"] is True
    assert list(found.fields) == FIELDS
    assert found.sections == {name: ITEMS.get(name, []) for name in SECTIONS}
    assert data.endswith(found.body.encode())


def test_every_section_is_there_when_there_is_nothing_to_say():
    words = made({}).decode()
    assert [line[3:] for line in words.split("\n") if line.startswith("## ")] == list(SECTIONS)
    assert words.count("\n_None recorded._\n") == len(SECTIONS)
    assert problems(words.encode(), STEM) == []


def test_the_sections_are_those_that_were_promised():
    assert (
        *("Goal", "What Changed", "Why Changed", "Active Issues", "Key Decisions", "Standing Instructions"),
        *("Plan and Workflow", "Next Steps", "Commands and Tests", "Agents"),
    ) == SECTIONS


@pytest.mark.parametrize("words", HOSTILE, ids=lambda words: ascii(words[:12]))
def test_a_field_holds_any_text(words):
    given = dict.fromkeys(TEXTS, words)
    data = made(**given)
    found = parse(data, "here").fields
    assert {field: found[field] for field in TEXTS} == given
    assert problems(data, STEM) == []
    assert is_sealed(data, KEY)
    assert len(data.split(b"\n---\n")[0].split(b"\n")) == len(FIELDS) + 1


@given(st.dictionaries(st.sampled_from(TEXTS), ANY))
def test_fields_round_trip(fields):
    data = made(**fields)
    found = parse(data, "here").fields
    assert {name: found[name] for name in fields} == fields
    assert problems(data, STEM) == []


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(SECTIONS), st.lists(st.text(max_size=20), max_size=3)))
def test_items_round_trip(sections):
    data = made(sections)
    assert parse(data, "here").sections == {name: sections.get(name, []) for name in SECTIONS}
    assert problems(data, STEM) == []


# Damage


CHANGES = {
    "the lowest bit": lambda byte: bytes([byte ^ 1]),
    "the case": lambda byte: bytes([byte ^ 0x20]),
    "the highest bit": lambda byte: bytes([byte ^ 0x80]),
    "to a blank": lambda byte: b" ",
    "to the end of a line": lambda byte: b"\n",
    "to zero": lambda byte: b"\0",
    "away": lambda byte: b"",
    "to two": lambda byte: bytes([byte, byte]),
    "to a blank more": lambda byte: bytes([byte]) + b" ",
    "to a line more": lambda byte: bytes([byte]) + b"\n",
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_byte_can_be_changed(change):
    data = made()
    for place, byte in enumerate(data):
        changed = data[:place] + CHANGES[change](byte) + data[place + 1 :]
        if changed != data:
            assert not is_sealed(changed, KEY), (place, data[place - 9 : place + 9])


def test_no_byte_of_the_text_can_be_changed_even_without_the_key():
    data = made()
    start = data.index(b"\n---\n") + 5
    for place in range(start, len(data)):
        for change in CHANGES.values():
            changed = data[:place] + change(data[place]) + data[place + 1 :]
            assert changed == data or problems(changed, STEM), (place, data[place - 9 : place + 9])


def test_nothing_can_be_cut_off():
    data = made()
    for end in range(len(data)):
        assert problems(data[:end], STEM), end
        assert not is_sealed(data[:end], KEY)
    for start in range(1, len(data)):
        assert problems(data[start:], STEM), start
        assert not is_sealed(data[start:], KEY)


@pytest.mark.parametrize("more", [b"\n", b" ", b"\0", b"- one more item\n", b"## Goal\n", b"---\n"])
def test_nothing_can_be_added(more):
    assert problems(made() + more, STEM)
    assert problems(more + made(), STEM)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "does not begin with ---"),
        (b"# A file of somebody's\n", "does not begin with ---"),
        (b"---\nid: 5\n", "has no end"),
        (b"---\n\n---\n", "in its frontmatter"),
        (made().replace(b"window: 200000\n", b""), "lacks window"),
        (made().replace(b"window: 200000", b"window: many"), "where a number should be"),
        (made().replace(b"window: 200000", b"window: 2\xd9\xa0"), "where a number should be"),
        (made().replace(b"window: 200000", b"window: " + b"9" * 5000), "where a number should be"),
        (made().replace(b"uid: ", b"id: "), "'id' in its frontmatter"),
        (made().replace(b'agent_id: ""', b'agent_id: "'), "a quote without an end"),
        (made().replace(b"## Goal", b"## Ziel"), "lacks ## Goal"),
        (made() + b"## More\n", "not in their order"),
        (b"\xff" + made(), "not UTF-8"),
        (b"\xef\xbb\xbf" + made(), "does not begin with ---"),
        (made().replace(b"\n", b"\r\n"), "does not begin with ---"),
        (made().replace(b"version: 1", b"version: 2"), "version 2"),
        (made(trigger="whim"), "its trigger is 'whim'"),
        (made(id="2026-11-16-045335"), "under the name"),
        (made().replace(b"fix the parser (", b"fix the lexer ("), "the hash of the body does not fit"),
        (b"x" * (checkpoint.LARGEST + 1), "more than any checkpoint"),
        (b"---\n" + b"a" * 100_000 + b"\n---\n", "in its frontmatter"),
        (b'---\nsummary: "' + b"[" * 100_000 + b'"\n---\n', "lacks id"),
    ],
)
def test_what_is_wrong_is_said(data, said):
    (what, *_) = problems(data, STEM)
    assert said in what
    assert len(what) < 400


@given(st.binary(max_size=300), st.sampled_from([b"", b"---\n", b"---\nid: 1\n---\n", made()[:400]]))
def test_bytes_of_any_kind_are_damaged_and_nothing_worse(data, before):
    assert problems(before + data, STEM)
    with pytest.raises(Damaged):
        parse(before + data, "here")
    assert not is_sealed(before + data, KEY)


@pytest.mark.parametrize("key", [b"", b"\0" * 32, KEY[:31], KEY[::-1]])
def test_only_the_same_key_seals(key):
    assert not is_sealed(made(), key)
    assert key == b"" or is_sealed(made(key=key), key)
    assert not is_sealed(made(key=key), b"")


# YAML


def with_yaml():
    """An interpreter that has PyYAML; "" if there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            tried = subprocess.run([python, "-c", "import yaml"], capture_output=True, check=False)
        except FileNotFoundError:
            continue
        if tried.returncode == 0:
            return python
    return ""


_READ = """
import json, sys, yaml
for line in sys.stdin:
    try:
        found = yaml.safe_load(json.loads(line))
        print(json.dumps({name: ascii(value) for name, value in found.items()}))
    except yaml.YAMLError as problem:
        print(json.dumps(str(problem)[:200]))
"""


def test_the_frontmatter_is_yaml_as_others_read_it():
    python = with_yaml()
    if not python:
        pytest.skip("no interpreter with PyYAML here; the rules below hold in its place")
    texts = [words for words in HOSTILE if words]
    heads = [made(summary=words, branch=words).decode()[4:].partition("\n---\n")[0] for words in texts]
    given = "".join(json.dumps(head) + "\n" for head in heads)
    read = subprocess.run(
        [python, "-c", _READ], input=given, capture_output=True, text=True, check=True, timeout=60
    )
    found = [json.loads(line) for line in read.stdout.split("\n")[:-1]]
    assert len(found) == len(texts)
    wrong = {}
    for words, fields in zip(texts, found, strict=True):
        expected = {name: value for name, value in USUAL.items() if name != "created"}
        expected |= {"summary": words, "branch": words, "verified": True, "version": 1}
        if type(fields) is str or any(fields[name] != ascii(value) for name, value in expected.items()):
            wrong[ascii(words)[:20]] = fields if type(fields) is str else fields["summary"]
    assert wrong == {}


@settings(max_examples=200)
@given(ANY)
def test_a_line_of_the_frontmatter_is_a_bare_word_or_a_quoted_one(words):
    """All of YAML that is used. What YAML does not print is written as an escape."""
    (line,) = [line for line in made(summary=words).decode().split("\n") if line.startswith("summary: ")]
    value = line.removeprefix("summary: ")
    assert not {unicodedata.category(c) for c in value} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not {"\ufffe", "\uffff"} & {*value}
    if not value.startswith('"'):
        assert value[0].isalpha() or value[0] == "/"
        assert value.replace("/", "").replace(".", "").replace("_", "").replace("-", "").isalnum()
        assert value.isascii()
    else:
        assert json.loads(value) == words


# Differences


def test_a_difference_names_what_went_and_what_came():
    old, new = Checkpoint({}, {name: [] for name in SECTIONS}, ""), parse(made(), "here")
    assert diff(old, old) == {}
    assert diff(old, new) == {name: ([], items) for name, items in ITEMS.items()}
    assert diff(new, old) == {name: (items, []) for name, items in ITEMS.items()}


@given(*(st.lists(st.sampled_from("abcdef"), unique=True) for _ in range(2)))
def test_a_difference_leads_from_one_to_the_other(before, after):
    old, new = (parse(made({"Goal": items}), "here") for items in (before, after))
    gone, added = diff(old, new).get("Goal", ([], []))
    assert sorted({*before} - {*gone} | {*added}) == sorted(after)
