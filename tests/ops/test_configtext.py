"""config.yaml as text: everything that can be wrong with it, and edits that touch one value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.core.config import DEFAULTS, Config, fallen, written
from holdfast.ops.configtext import drop, nearest, put, read

SEED = """\
auto_context:
  enabled: true

  thresholds:
    warning: 70      # Suggest save
    critical: 85     # Auto-save and recommend restart

  hooks:
    git_commit: true
    test_result: true

  # How often Claude Code should poll (if using polling)
  poll_interval_seconds: 60
"""


def test_the_seeds_block_works_unchanged() -> None:
    made = read(SEED)
    assert made.problems == []
    assert made.values == {key: DEFAULTS[key] for key in DEFAULTS if key.startswith("auto_context.")}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# nothing yet\n", {}),
        ("---\n", {}),
        ("null\n", {}),
        ("ladder:\n#  warning: 75\n", {}),
        ("ladder: {}\n", {}),
        ("ladder: {warning: 75}\n", {"ladder.warning": 75}),
        ("ladder.warning: 75\n", {"ladder.warning": 75}),
        ("'window': 200000", {"window": 200_000}),
        ("\ufeffwindow: 200000\r\nladder:\r\n  warning: 75\r\n", {"window": 200_000, "ladder.warning": 75}),
        ("guard: {tell_model: no}", {"guard.tell_model": False}),
        ("compaction:\n  block_unverified: 'manual'\n", {"compaction.block_unverified": "manual"}),
        ("{window: 200000}", {"window": 200_000}),
        ("%YAML 1.1\n---\nguard:\n  tell_model: yes\n", {"guard.tell_model": True}),
    ],
)
def test_what_is_right_is_read(text: str, values: dict[str, Any]) -> None:
    assert (read(text).problems, read(text).values) == ([], values)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # Not YAML, or not ours.
        ("ladder:\n\twarning: 75\n", "line 2: a line begins with a tab; indent it with spaces"),
        ("window: 'x\n", "line 1: it is not YAML: found unexpected end of stream"),
        ("window: 5000\n  ladder: 3\n", "line 2: it is not YAML: mapping values are not allowed here"),
        ("window: 5000\n---\nwindow: 6000\n", "line 2: it is not YAML: but found another document"),
        ("window: \x00\n", "line 1: there is a character that YAML does not allow (U+0000)"),
        ("\n\nwindow: \x07\n", "line 3: there is a character that YAML does not allow (U+0007)"),
        ("[" * 5000, "it is nested too deep to be a configuration"),
        ("{a: " * 5000, "it is nested too deep to be a configuration"),
        ("- window\n", "line 1: it takes keys with values, such as `window: 200000`"),
        ("window\n", "line 1: it takes keys with values, such as `window: 200000`"),
        # Keys.
        ("\nwndow: 5000\n", "line 2: there is no key `wndow`; did you mean `window`?"),
        (
            "ladder:\n  waring: 75\n",
            "line 2: there is no key `ladder.waring`; did you mean `ladder.warning`?",
        ),
        ("lader:\n  warning: 75\n", "line 1: there is no key `lader`; did you mean `ladder`?"),
        ("warning: 75\n", "line 1: there is no key `warning`; did you mean `ladder.warning`?"),
        ("autocontext: {}\n", "line 1: there is no key `autocontext`; did you mean `auto_context`?"),
        ("qqqq: 1\n", "line 1: there is no key `qqqq`; `holdfast config show` lists those there are"),
        ("5: 1\n", "line 1: there is no key `5`; `holdfast config show` lists those there are"),
        ("[window]: 1\n", "line 1: a key is a word, such as `window`"),
        (
            "<<: {window: 5000}\n",
            "line 1: there is no key `<<`; `holdfast config show` lists those there are",
        ),
        (
            "window: 5000\n# again\nwindow: 6000\n",
            "line 3: `window` is set a second time (first in line 1); take one of them out",
        ),
        (
            "ladder: {warning: 75}\nladder.warning: 76\n",
            "line 2: `ladder.warning` is set a second time (first in line 1); take one of them out",
        ),
        # Values.
        ("window: many\n", "line 1: `window` is 'many'; it takes a whole number from 1000 to 99999999"),
        ("window: 5\n", "line 1: `window` is '5'; it takes a whole number from 1000 to 99999999"),
        (
            "ladder:\n  warning: 70%\n",
            "line 2: `ladder.warning` is '70%'; it takes a whole number from 1 to 100",
        ),
        (
            "ladder:\n  warning: .nan\n",
            "line 2: `ladder.warning` is '.nan'; it takes a whole number from 1 to 100",
        ),
        (
            "ladder:\n  warning: '70'\n",
            "line 2: `ladder.warning` is a text; it takes a whole number from 1 to 100, without quotes",
        ),
        (
            "window: |\n  5000\n",
            "line 1: `window` is a text; it takes a whole number from 1000 to 99999999, without quotes",
        ),
        (
            "guard: {tell_model: maybe}\n",
            "line 1: `guard.tell_model` is 'maybe'; it takes true or false",
        ),
        (
            "compaction: {block_unverified: auto}\n",
            "line 1: `compaction.block_unverified` is 'auto'; it takes never or manual",
        ),
        (
            "window:\n",
            "line 1: `window` has no value; give it a whole number from 1000 to 99999999, "
            "or take the line out",
        ),
        (
            "window: [5000]\n",
            "line 1: `window` takes a whole number from 1000 to 99999999, and nothing below it",
        ),
        ("ladder: 75\n", "line 1: `ladder` takes keys of its own, each on a line below it, indented"),
        # What YAML can do and a configuration need not.
        ("window: &w 5000\n", "line 1: `window` has an anchor, an alias or a tag; write the value itself"),
        (
            "ladder: &l {warning: 75}\nguard: *l\n",
            "line 1: `ladder` has an anchor, an alias or a tag; write the value itself",
        ),
        (
            "window: !!int 5000\n",
            "line 1: `window` has an anchor, an alias or a tag; write the value itself",
        ),
        (
            "window: !!python/object/apply:os.system [true]\n",
            "line 1: `window` has an anchor, an alias or a tag; write the value itself",
        ),
        # Together.
        (
            "ladder:\n  warning: 75\n\n  prompt_warning: 74\n",
            "line 4: ladder.warning is 75 and ladder.prompt_warning 74, which may not be less",
        ),
        (
            "ladder:\n  warning: 90\n",
            "line 2: ladder.warning is 90 and ladder.prompt_warning 80, which may not be less",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, problem: str) -> None:
    assert str(read(text).problems[0]) == problem


def test_everything_that_is_wrong_is_said_in_the_order_of_lines() -> None:
    made = read("lader: 1\nwindow: x\nladder:\n  warning: 99\n  alert: y\ncold: 3\n")
    assert [problem.line for problem in made.problems] == [1, 2, 4, 5, 6]


def test_a_bomb_of_aliases_is_refused_without_going_off() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]" for i in range(20)]
    made = read("\n".join([*lines, "window: *u"]))
    assert len(made.problems) == 22
    assert made.values == {}


def test_the_nearest_is_named_and_nothing_where_none_is_near() -> None:
    assert nearest("ladder.warnin") == "did you mean `ladder.warning`?"
    assert nearest("zzz") == "`holdfast config show` lists those there are"


@given(st.text(st.characters(categories=None), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    made = read(text)
    assert all(problem.what for problem in made.problems)


# Edits

COMMENTED = """\
# what I like
ladder:   # the rungs
    # earlier than usual
    checkpoint:   50     # half

    warning: 65

guard: {velocity_samples: 4, tell_model: no}  # quiet
cold:
# not yet
window: 150000"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("ladder.checkpoint", "55", "checkpoint:   50     # half", "checkpoint:   55     # half"),
        ("window", "1000", "window: 150000", "window: 1000"),
        ("guard.tell_model", "true", "tell_model: no}", "tell_model: true}"),
        ("ladder.alert", "94", "    warning: 65\n", "    warning: 65\n    alert: 94\n"),
        ("guard.least_left", "20", "tell_model: no}", "tell_model: no, least_left: 20}"),
        ("cold.every_turns", "5", "cold:\n", "cold:\n  every_turns: 5\n"),
        ("brief.tokens", "900", "window: 150000", "window: 150000\nbrief:\n  tokens: 900\n"),
        (
            "auto_context.hooks.git_commit",
            "false",
            "window: 150000",
            "window: 150000\nauto_context:\n  hooks:\n    git_commit: false\n",
        ),
    ],
)
def test_a_value_is_set_and_every_other_byte_stays(key: str, value: str, old: str, new: str) -> None:
    assert COMMENTED.count(old) == 1
    text = put(read(COMMENTED), key, value)
    assert text == COMMENTED.replace(old, new)
    assert read(text).problems == []
    assert written(read(text).values[key]) == value


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("ladder.checkpoint", "    checkpoint:   50     # half\n", ""),
        ("ladder.warning", "    warning: 65\n", ""),
        ("guard.velocity_samples", "velocity_samples: 4, ", ""),
        ("guard.tell_model", ", tell_model: no", ""),
        ("window", "window: 150000", ""),
    ],
)
def test_a_key_is_taken_out_with_its_line(key: str, old: str, new: str) -> None:
    text = drop(read(COMMENTED), key)
    assert text == COMMENTED.replace(old, new)
    assert read(text).problems == []
    assert key not in read(text).values


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("", "window", "window: 5000\n"),
        ("# mine", "window", "# mine\nwindow: 5000\n"),
        ("ladder: {}\n", "ladder.alert", "ladder: {alert: 5000}\n"),
        ("{}", "auto_context.enabled", "{auto_context: {enabled: 5000}}"),
        ("ladder:\r\n  warning: 75\r\n", "window", "ladder:\r\n  warning: 75\r\nwindow: 5000\r\n"),
        ("ladder:", "ladder.alert", "ladder:\n  alert: 5000\n"),
        ("  ladder:\n     warning: 75\n", "window", "  ladder:\n     warning: 75\n  window: 5000\n"),
        ("auto_context:\n hooks:\n", "auto_context.enabled", "auto_context:\n hooks:\n enabled: 5000\n"),
        (
            "auto_context.hooks: {git_commit: no}\n",
            "auto_context.hooks.test_result",
            "auto_context.hooks: {git_commit: no, test_result: 5000}\n",
        ),
    ],
)
def test_a_new_key_goes_where_it_belongs(text: str, key: str, expected: str) -> None:
    assert put(read(text), key, "5000") == expected


#: Values that are in order whichever of them are set.
VALUES = {
    key: [str(default), str(default + 1)] if type(default) is int and key != "window" else ["5000", "6000"]
    for key, default in DEFAULTS.items()
} | {key: ["true", "no"] for key, default in DEFAULTS.items() if type(default) is bool}
VALUES |= {key: ["/a/b", "~/c"] for key, default in DEFAULTS.items() if default == ""}
VALUES["compaction.block_unverified"] = ["never", "manual"]
VALUES["memory.embedder"] = ["none", "minilm"]
KEYS = st.sampled_from(list(VALUES))
GAPS = st.sampled_from(["", "", "\n", "# a remark: with a colon\n", "   # indented\n\n"])
ENDS = st.sampled_from(["", "", "  # why", " "])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Blocks, braces and dotted keys, with comments and blank lines between them."""
    keys = draw(st.lists(KEYS, unique=True, max_size=8))
    sections: dict[str, list[str]] = {}
    for key in keys:
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name}: {draw(st.sampled_from(VALUES[key]))}")
    step = draw(st.sampled_from([1, 2, 4]))
    lines = ""
    for section, entries in sections.items():
        lines += draw(GAPS)
        if not section:
            lines += "".join(f"{entry}{draw(ENDS)}\n" for entry in entries)
        elif draw(st.booleans()):
            lines += f"{section}: {{{', '.join(entries)}}}{draw(ENDS)}\n"
        else:
            lines += f"{section}:{draw(ENDS)}\n"
            lines += "".join(draw(GAPS) + f"{' ' * step}{entry}{draw(ENDS)}\n" for entry in entries)
    lines += draw(GAPS)
    if draw(st.booleans()):
        lines = lines.removesuffix("\n")
    return lines.replace("\n", "\r\n") if draw(st.booleans()) else lines


def is_one_insertion(short: str, long: str) -> bool:
    """Whether `long` is `short` with one piece put in somewhere."""
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return any(long.endswith(short[i:]) and short[:i] == long[:i] for i in range(at, -1, -1))


@settings(max_examples=150)
@given(documents(), KEYS, st.integers(0, 1))
def test_whatever_the_file_looks_like_one_value_changes_and_nothing_else(
    text: str, key: str, which: int
) -> None:
    before = read(text)
    assert before.problems == []
    value = VALUES[key][which]
    after = read(put(before, key, value))
    expected = before.values | {key: read(f"{key}: {value}").values[key]}
    assume(not fallen(Config(expected)))
    assert (after.values, after.problems) == (expected, [])
    if key in before.values:
        mark = before.entries[key].value
        start, end = mark.start_mark.index, mark.end_mark.index
        assert after.text == text[:start] + value + text[end:]
    else:
        assert is_one_insertion(text, after.text)
    without = read(drop(after, key))
    assert without.problems == []
    assert without.values == {name: value for name, value in expected.items() if name != key}
    assert is_one_insertion(without.text, after.text)
