"""Only what differs is touched, in the style of what is around it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from holdfast.errors import BadInput
from holdfast.install.jsonedit import rewrite
from holdfast.install.jsonspan import decode, parse
from install import random_settings


@pytest.mark.parametrize(
    ("text", "new", "result"),
    [
        ("{}", {"a": 1}, '{\n  "a": 1\n}'),
        ("{ }\n", {"a": [1]}, '{\n  "a": [\n    1\n  ]\n}\n'),
        ("{\r\n}\r\n", {"a": 1}, '{\r\n  "a": 1\r\n}\r\n'),
        ('{"a":1}', {"a": 1, "b": {"c": [2, 3]}}, '{"a":1,"b":{"c":[2,3]}}'),
        ('{"a": 1}', {"a": 1, "b": [2, 3]}, '{"a": 1, "b": [2, 3]}'),
        ('{ "a" : 1 }', {"a": 1, "b": 2}, '{ "a" : 1, "b" : 2 }'),
        ('{\n\t"a": 1\n}', {"a": 1, "b": [2]}, '{\n\t"a": 1,\n\t"b": [\n\t\t2\n\t]\n}'),
        ('{\n"a": 1\n}', {"a": 1, "b": 2}, '{\n"a": 1,\n"b": 2\n}'),
        ('{\r\n  "a": 1}', {"a": 1, "b": {}}, '{\r\n  "a": 1,\r\n  "b": {}}'),
        ('{\n  "a": [1,2]\n}', {"a": [1, 2, {"x": 3}]}, '{\n  "a": [1,2,{"x": 3}]\n}'),
        ('{\n  "a": []\n}', {"a": [1]}, '{\n  "a": [\n    1\n  ]\n}'),
        (
            '{\n  "a": [\n    1\n  ]\n}',
            {"a": [1, [2]]},
            '{\n  "a": [\n    1,\n    [\n      2\n    ]\n  ]\n}',
        ),
        ('{"a": [1, 2, 3]}', {"a": [2]}, '{"a": [2]}'),
        ('{"a": [ 1 , 2 , 3 ]}', {"a": [1, 3]}, '{"a": [ 1 , 3 ]}'),
        ('{"a": [ 1 , 2 ]}', {"a": []}, '{"a": []}'),
        ('{"a": 1, "b": 2, "c": 3}', {"c": 3}, '{"c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', {"a": 1, "b": 2}, '{"a": 1, "b": 2}'),
        ('{"a": 1, "b": 2}', {"a": 1, "c": 3}, '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2}', {}, "{}"),
        ('{ "a" :\t1, "b": 2}', {"a": 7, "b": 2}, '{ "a" :\t7, "b": 2}'),
        ('{"a": [1, 2]}', {"a": [0, 1, 2]}, '{"a": [0, 1, 2]}'),
        ('{"b": 2, "a": 1}', {"a": 1, "b": 2}, '{"a": 1, "b": 2}'),
        ('{"a": 1}', {"a": True}, '{"a": true}'),
        ('{"\\u0061": "\\u00e9\\/"}', {"a": "é/", "b": 0}, '{"\\u0061": "\\u00e9\\/", "b": 0}'),
        ('{"a": {"x": 1, "y": 2}}', {"a": {"y": 2, "x": 1}}, '{"a": {"y": 2, "x": 1}}'),
    ],
)
def test_an_edit(text: str, new: dict[str, Any], result: str) -> None:
    assert rewrite(text, new, "f") == result


def test_what_is_not_meant_to_change_keeps_its_bytes() -> None:
    for seed in range(300):
        random = Random(seed)
        old, new = random_settings.settings(random), random_settings.settings(random)
        words = random_settings.text(random, old)
        assert rewrite(words, old, "f") == words
        assert json.dumps(json.loads(rewrite(words, new, "f"))) == json.dumps(new)


def test_taking_out_what_was_put_in_leaves_the_text_as_it_was() -> None:
    for seed in range(300):
        random = Random(seed)
        old = random_settings.settings(random)
        if old:
            words = random_settings.text(random, old)
            longer = rewrite(words, {**old, "new": random_settings.anything(random, 3)}, "f")
            assert rewrite(longer, old, "f") == words


MALFORMED = [
    (b"", 1, 1, "an empty file"),
    (b" \n ", 2, 2, "an empty file"),
    (b"[]", 1, 1, "not an object"),
    (b"null", 1, 1, "not an object"),
    (b'"{}"', 1, 1, "not an object"),
    (b"\xef\xbb\xbf{}", 1, 1, "byte order mark"),
    (b'{\n "a": "\xff"}', 2, 8, "not UTF-8"),
    (b'{"a": 1,}', 1, 9, "a trailing comma"),
    (b'{"a": [1,\n]}', 2, 1, "a trailing comma"),
    (b'{\r\n  // why\r\n  "a": 1}', 2, 3, "a comment"),
    (b'{"a": 1 /* why */}', 1, 9, "a comment"),
    (b'{"a": 1}\n# why', 2, 1, "a comment"),
    (b'{"a": 1, "b": 2, "a": 3}', 1, 18, "'a' a second time"),
    (b'{"x": {"a": 1, "\\u0061": 3}}', 1, 16, "'a' a second time"),
    (b'{"a": NaN}', 1, 7, "no JSON value"),
    (b'{"a": -Infinity}', 1, 7, "no JSON value"),
    (b'{"a": 01}', 1, 8, "no comma"),
    (b'{"a": 1e999}', 1, 7, "too large"),
    (b'{"a": 1' + b"0" * 5000 + b"}", 1, 7, "too large"),
    (b'{"a": +1}', 1, 7, "no JSON value"),
    (b"{'a': 1}", 1, 2, "without quotes"),
    (b"{a: 1}", 1, 2, "without quotes"),
    (b'{"a" 1}', 1, 6, "no colon"),
    (b'{"a": 1 "b": 2}', 1, 9, "no comma"),
    (b'{"a": [1}', 1, 9, "does not match"),
    (b'{"a": 1', 1, 8, "end of the file"),
    (b'{"a', 1, 2, "a string that does not end"),
    (b'{"a": "\t"}', 1, 7, "control character"),
    (b'{"a": "\\x41"}', 1, 7, "unknown escape"),
    (b'{"a": tru}', 1, 7, "no JSON value"),
    (b"{} {}", 1, 4, "after the end"),
    (b"{}\x00", 1, 3, "after the end"),
    (b'{"a":\xc2\xa01}', 1, 6, "no JSON value"),
    (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", 1, 207, "levels of nesting"),
]


@pytest.mark.parametrize(("raw", "line", "column", "what"), MALFORMED)
def test_what_is_not_strict_json_is_refused_with_its_place(
    raw: bytes, line: int, column: int, what: str
) -> None:
    with pytest.raises(BadInput) as refused:
        parse(decode(raw, "/s.json"), "/s.json")
    assert str(refused.value).startswith(f"/s.json, line {line}, column {column}: ")
    assert what in str(refused.value)


def test_whatever_is_accepted_means_the_same_to_the_standard_library() -> None:
    """Random damage: either refused, or understood as `json` does."""
    accepted = 0
    for seed in range(3000):
        random = Random(seed)
        raw = bytearray(random_settings.text(random, random_settings.settings(random)).encode())
        at = random.randrange(len(raw))
        raw[at : at + random.randrange(2)] = random.choice(
            [b"", b'"', b",", b"}", b"0", b"\\", b" ", b"\xc3"]
        )
        try:
            data = parse(decode(bytes(raw), "f"), "f").data
        except BadInput:
            continue
        accepted += 1
        assert json.dumps(json.loads(raw)) == json.dumps(data)
    assert 300 < accepted < 2700
