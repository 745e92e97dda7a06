"""A signature as a command line: what is given, and what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import pytest

from holdfast.cli.arguments import REQUIRED, parameters, parse
from holdfast.errors import BadInput
from holdfast.ops.registry import everything


def compare(app: object, old: str, new: str = "latest", *, limit: int = 20) -> None: ...


def draw(
    app: object,
    path: Path | None = None,
    *,
    scale: float,
    colour: Literal["dark", "light"] = "dark",
    shade: Literal["dark", "light"] | None = None,
    grid: bool = True,
    dry_run: bool = False,
) -> None: ...


def look(app: object, path: str = "", *, deep: bool = False, all_of_it: bool = False) -> None: ...


def gather(
    app: object, names: list[str], *, tags: tuple[str, ...] = (), sizes: list[int] | None = None
) -> None: ...


@pytest.mark.parametrize(
    ("function", "line", "given"),
    [
        (compare, "a", {"old": "a"}),
        (compare, "a b", {"old": "a", "new": "b"}),
        (compare, "a --new b", {"old": "a", "new": "b"}),
        (compare, "--new b a", {"old": "a", "new": "b"}),
        (compare, "--old a --new b", {"old": "a", "new": "b"}),
        (compare, "a --limit 3 b", {"old": "a", "new": "b", "limit": 3}),
        (compare, "a --json b", {"old": "a", "new": "b", "json": True}),
        (compare, "--limit=-3 -5 -0.5", {"old": "-5", "new": "-0.5", "limit": -3}),
        (compare, "-- --limit -x", {"old": "--limit", "new": "-x"}),
        (compare, "a --", {"old": "a"}),
        (compare, "'' 'b c'", {"old": "", "new": "b c"}),
        (compare, "--old=--json", {"old": "--json"}),
        (compare, "--old=a=b", {"old": "a=b"}),
        (compare, "a --config x=1 --config y=2 b", {"old": "a", "new": "b", "config": ("x=1", "y=2")}),
        (draw, "--scale 1.5", {"scale": 1.5}),
        (draw, "/x --scale 2", {"path": Path("/x"), "scale": 2.0}),
        (draw, "--scale 2 --colour light --shade dark", {"scale": 2.0, "colour": "light", "shade": "dark"}),
        (draw, "--scale 2 --no-grid --dry-run", {"scale": 2.0, "grid": False, "dry_run": True}),
        (draw, "--scale 2 --grid --no-dry-run", {"scale": 2.0, "grid": True, "dry_run": False}),
        (look, "", {}),
        (look, "--deep --json --deep", {"deep": True, "json": True}),
        (look, "--no-deep --all-of-it", {"deep": False, "all_of_it": True}),
        (gather, "a b c", {"names": ["a", "b", "c"]}),
        (gather, "--names a --names b", {"names": ["a", "b"]}),
        (gather, "a --tags x b --tags y", {"names": ["a", "b"], "tags": ("x", "y")}),
        (gather, "a --sizes 1 --sizes 2", {"names": ["a"], "sizes": [1, 2]}),
    ],
)
def test_what_is_given_is_taken_by_flag_or_by_place(function, line, given) -> None:
    assert parse(shlex.split(line), parameters(function)) == given


@pytest.mark.parametrize(
    ("function", "line", "says"),
    [
        (compare, "", "OLD is missing."),
        (compare, "--new b", "OLD is missing."),
        (compare, "a b c", "'c' is one too many."),
        (compare, "a --old b", "OLD is given twice: 'a', and with --old."),
        (compare, "--old a b", "OLD is given twice: 'b', and with --old."),
        (compare, "a --limit", "--limit: expected one argument."),
        (compare, "a --limit --json", "--limit: expected one argument."),
        (compare, "a --limit x", "--limit: invalid int value: 'x'."),
        (compare, "a --limt 3", 'Unknown option "--limt". Did you mean "--limit"?'),
        (compare, "a --lim=3", 'Unknown option "--lim". Did you mean "--limit"?'),
        (compare, "a -x", 'Unknown option "-x".'),
        (compare, "a -", 'Unknown option "-".'),
        (compare, "a --no-limit 3", "Unknown option"),
        (draw, "", "--scale is missing."),
        (draw, "--scale x", "--scale: invalid float value: 'x'."),
        (draw, "--scale 1 --colour blue", "--colour: invalid choice: 'blue'"),
        (draw, "--scale 1 --grid=yes", "--grid"),
        (gather, "", "NAMES is missing."),
        (gather, "a --names b", "NAMES is given twice"),
        (gather, "a --sizes many", "--sizes: invalid int value: 'many'."),
    ],
)
def test_what_cannot_be_understood_is_said_and_where_to_look(function, line, says) -> None:
    with pytest.raises(BadInput) as refused:
        parse(shlex.split(line), parameters(function))
    assert str(refused.value).startswith(says)
    assert str(refused.value).endswith(" See `holdfast --help`.")


@pytest.mark.parametrize("operation", everything(), ids=lambda operation: operation.name)
def test_every_operation_of_the_registry_can_be_given_all_it_takes(operation) -> None:
    taken = parameters(operation.load())
    values = {str: "x", int: "7", float: "7", Path: "x"}
    words, expected = [], {}
    for one in taken:
        if one.kind is bool:
            words.append(one.flag)
            expected[one.name] = True
            continue
        word = str(one.choices[0]) if one.choices else values[one.kind]
        words += [one.flag, word]
        expected[one.name] = one.many([one.kind(word)]) if one.many else one.kind(word)
    assert parse(words, taken) == expected
    placed = [one for one in taken if one.by_place]
    needed = [one.default is REQUIRED for one in placed]
    assert needed == sorted(needed, reverse=True)
