"""What is marked in a file of instructions, and which files it is for."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.rules import LONGEST, Document, marked, matches, typed


def rules(words: str) -> list[tuple[int, str]]:
    return [(rule.line, rule.text) for rule in Document(words).rules("CLAUDE.md")]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("- Never push (CRITICAL)", [(1, "Never push (CRITICAL)")]),
        (
            "1. **Never** push (ENFORCED)\n   on Fridays\n2. other",
            [(1, "1. Never push (ENFORCED) on Fridays")],
        ),
        ("(CRITICAL) Ask first\nand wait\n\nother", [(1, "(CRITICAL) Ask first and wait")]),
        ("## Keys (CRITICAL)\n\nNo keys.\n- none\n## Next\nx", [(1, "Keys (CRITICAL); No keys.; none")]),
        ("## Keys (CRITICAL)\n- None (ENFORCED)", [(1, "Keys (CRITICAL)"), (2, "None (ENFORCED)")]),
        ("<!-- never (CRITICAL) -->\nx <!-- (CRITICAL)\n(CRITICAL) --> y", []),
        ("```\ncode (CRITICAL)\n```\n~~~\n(CRITICAL)\n", []),
        ("Mark it with `(CRITICAL)`.", []),
        ("critical (critical) (Critical)", []),
        ("---\nname: x (CRITICAL)\n---\ny (CRITICAL)\n", [(4, "y (CRITICAL)")]),
        ("---\nno end (CRITICAL)\n", [(2, "no end (CRITICAL)")]),
        ("Windows (CRITICAL)\r\nlines\r\n", [(1, "Windows (CRITICAL) lines")]),
        ("- Use tabs (ENFORCED)\n@docs/style.md\n", [(1, "Use tabs (ENFORCED)")]),
        ("## Keys (CRITICAL)\n@keys.md\nNone.\n", [(1, "Keys (CRITICAL); None.")]),
        ("Ask (CRITICAL)\n@mira or @jon first", [(1, "Ask (CRITICAL) @mira or @jon first")]),
        ("", []),
    ],
)
def test_what_is_a_rule(words, expected):
    assert rules(words) == expected


def test_a_rule_is_one_line_without_anything_invisible_and_not_too_long():
    ((_, text),) = rules("never\u200b\x1b[2J " + "x" * 5000 + " (CRITICAL)")
    assert text.isprintable()
    assert len(text) <= LONGEST + 2


def test_there_is_an_end_to_the_rules_of_a_file():
    assert len(rules("- x (CRITICAL)\n" * 10_000)) == 48


@pytest.mark.parametrize(
    ("front", "paths"),
    [
        ("paths: src/**/*.ts, lib/{a,b}.py", ["src/**/*.ts", "lib/a.py", "lib/b.py"]),
        ("paths:\n  - 'src/**'\n  - \"*.md\"\nother: x", ["src", "*.md"]),
        ("paths: ['a.py', b.py]", ["a.py", "b.py"]),
        ('paths: "**"', []),
        ("paths:", []),
        ("title: x", []),
    ],
)
def test_which_paths_a_file_is_for(front, paths):
    assert Document(f"---\n{front}\n---\nx\n").paths == paths


def test_what_is_imported():
    words = "See @docs/a.md, @./b.md#part and @~/c.md; not me@here.org, `@none`, @(x)\n```\n@code.md\n```\n"
    assert Document(words).imports() == ["docs/a.md,", "./b.md", "~/c.md;"]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/**/*.ts", "src/a/b.ts", True),
        ("src/**/*.ts", "src/b.ts", True),
        ("src/*.py", "src/a/b.py", False),
        ("*.py", "a/b/c.py", True),
        ("src", "src/x/y", True),
        ("src/", "a/src/y", True),
        ("/src/x", "src/x/y", True),
        ("a/src/x", "src/x", False),
        ("**/t/*", "a/t/q", True),
        ("t?de", "tide/x", True),
        ("[slug]/x.ts", "[slug]/x.ts", True),
        ("**", "x", True),
    ],
)
def test_a_pattern_is_read_as_git_reads_it(pattern, path, expected):
    assert matches(pattern, path) is expected


@given(st.text("ab*?", max_size=8), st.text("ab", min_size=1, max_size=8))
def test_within_a_name_it_is_what_shells_know(pattern, name):
    if pattern and "**" not in pattern:
        assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


def test_a_hostile_pattern_takes_no_time():
    assert not matches("/".join(["**", "*a" * 200] * 16), "/".join(["a" * 200 + "b"] * 40))


def test_a_mark_that_was_cut_off_goes_back_to_its_sentence():
    assert typed(["Never push.", "(CRITICAL) And go on."]) == ["Never push. (CRITICAL) And go on."]
    assert typed(["x", "Ask first (ENFORCED)"]) == ["Ask first (ENFORCED)"]
    assert marked("x") == ""
