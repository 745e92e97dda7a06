"""What past tasks say of the next, and what a prompt has cost."""

from __future__ import annotations

import random

from holdfast.core.costs import LEAST, UNKNOWN, apart, learned, median_error
from holdfast.core.stretch import named_files
from holdfast.ops.costs import of_lines
from session import Script, text, use


def test_too_few_tasks_say_nothing() -> None:
    assert learned([(1000, 5000)] * (LEAST - 1)) is UNKNOWN
    assert UNKNOWN(12_345) == 12_345


def test_a_scale_is_learned_from_what_tasks_cost() -> None:
    chance = random.Random(1)
    rows = [(size, round(size * 3 * chance.uniform(0.8, 1.25))) for size in range(1000, 50_000, 500)]
    scale = learned(rows)
    assert scale.rows == len(rows)
    assert all(0.7 < scale(size) / (3 * size) < 1.4 for size in (2_000, 10_000, 40_000))
    low, high = scale.between(10_000)
    assert 20_000 < low < scale(10_000) < high < 45_000


def test_where_the_estimate_says_nothing_all_tasks_get_about_the_same() -> None:
    chance = random.Random(2)
    scale = learned([(chance.randrange(1000, 90_000), chance.randrange(4000, 6000)) for _ in range(900)])
    assert 3_500 < scale(1_000) < scale(80_000) < 7_000


def test_a_session_is_judged_by_the_others_alone() -> None:
    found = {"a": [(1000, 1000)] * 30, "b": [(1000, 9000)] * 30}
    judged = apart(found)
    assert {(one.estimate, one.cost) for one in judged} == {(9000, 1000), (1000, 9000)}
    assert median_error((one.estimate, one.cost) for one in judged) == 8.0
    assert not any(one.is_within for one in judged)


def test_a_prompt_costs_what_the_window_grew_by_until_the_next() -> None:
    script = Script()
    script.prompt("look at src/a.py and `b.md`.")
    script.answer(text("so"), use("t1", "Read", file_path="src/a.py"), context=20_000)
    script.result("t1", "x" * 100)
    script.answer(text("done"), context=26_000)
    script.prompt("and now?")
    script.answer(text("nothing"), context=26_500)
    one, two = of_lines(script.bytes().splitlines(keepends=True))
    assert (one.words, one.turns, one.files) == ("look at src/a.py and `b.md`.", 2, {"src/a.py"})
    assert 5_900 <= one.cost <= 6_200
    assert 400 <= two.cost <= 700
    assert one.task() == {"description": one.words, "files": ["src/a.py", "b.md"]}


def test_what_looks_like_a_file_is_one_and_an_address_is_not() -> None:
    words = "See https://a.example/x.py, v1.2.3, 3.5 and @docs/x.md, (lib/y.ts) and z.py."
    assert named_files(words) == ["docs/x.md", "lib/y.ts", "z.py"]
