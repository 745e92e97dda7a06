"""What tasks with known files cost, learned from past ones; what a stretch would have been planned as."""

from __future__ import annotations

import random

from holdfast.core.batch import facts
from holdfast.core.foreseen import LEAST, Facts, file_tokens, learned, pace
from holdfast.ops.costs import of_lines
from session import Script, text, use

TRUE = (1_500, 0.4, 6_000, 7_000, 2_500, 0.5, 0.1)


def invented(count: int, noise: float, seed: int = 1) -> list[tuple[str, Facts, int]]:
    """Tasks of ten sessions that cost what TRUE says, up to a factor; part of it is in the window."""
    chance, rows = random.Random(seed), []
    for number in range(count):
        changes, creates, reads = (chance.randrange(most) for most in (6, 3, 8))
        changed, held = changes * chance.randrange(9_000), chance.randrange(3)
        letters = chance.randrange(2_000)
        one = Facts(
            letters, changes, creates, reads, changed, reads * 900, changed * held // 2, reads * 450
        )
        there = one.changed_held + one.read_held
        parts = (1, letters, changes, creates, reads, changed + one.read - there, there)
        whole = sum(share * part for share, part in zip(TRUE, parts, strict=True))
        rows.append((f"s{number % 10}", one, round(whole * (1 + noise) ** chance.uniform(-1, 1))))
    return rows


def test_shares_are_learned_from_what_tasks_cost() -> None:
    model = learned(invented(400, 0.5), with_reads=True)
    assert model
    others = invented(200, 0.0, seed=2)
    off = sorted(abs(model(one) - cost) / cost for _, one, cost in others)
    assert off[100] < 0.05
    assert off[-1] < 0.3
    low, high = model.spread.between(30_000)
    assert 0.6 < low / 30_000 < 0.85
    assert 1.2 < high / 30_000 < 1.6


def test_a_few_that_are_far_off_change_little() -> None:
    rows = invented(400, 0.2)
    wild = [
        (name, one, cost * 50) if number % 20 == 0 else (name, one, cost)
        for number, (name, one, cost) in enumerate(rows)
    ]
    calm, shaken = learned(rows, True), learned(wild, True)
    assert calm
    assert shaken
    assert all(0.85 < shaken(one) / calm(one) < 1.25 for _, one, _ in rows)


def test_too_few_tasks_or_tasks_whose_reads_nobody_knows_teach_nothing() -> None:
    rows = invented(LEAST, 0.1)
    assert learned(rows[1:], True) is None
    assert learned(rows, True)
    unsaid = [
        (name, Facts(one.letters, one.changes, one.creates, -1, one.changed, 0), cost)
        for name, one, cost in rows
    ]
    assert learned(unsaid, True) is None
    assert learned(unsaid, False)


def test_tasks_that_are_all_alike_are_learned_too() -> None:
    model = learned([("s1", Facts(3, 1, 0, -1, 18_000, 0), 5_000)] * LEAST, False)
    assert model
    assert 4_500 < model(Facts(3, 1, 0, -1, 18_000, 0)) < 5_500


def test_a_session_has_a_pace_as_far_as_its_last_tasks_tell() -> None:
    assert pace([]) == 1.0
    assert 1.1 < pace([(1_000, 2_000)]) < 1.2
    assert 1.5 < pace([(1_000, 2_000)] * 100) < 1.6
    assert pace([(1_000, 9_000)] * 50 + [(1_000, 1_000)] * 8) == 1.0
    assert pace([(0, 5), (5, 0)]) == 1.0


def test_a_plan_says_which_files_are_changed_made_and_read() -> None:
    sizes = {"a.py": 500, "b.py": 700}
    task = {"description": "fix", "files": ["a.py"], "creates": ["c.py"], "reads": ["b.py"]}
    known = facts(task, sizes)
    assert known
    assert known.as_list() == [3, 1, 1, 1, 500, 700, 0, 0]
    held = facts(task, sizes, {"b.py", "c.py"})
    assert held
    assert held.as_list() == [3, 1, 1, 1, 500, 700, 0, 700]
    without = facts({"description": "fix", "files": ["a.py"], "estimated_files": 3}, sizes)
    assert without
    assert without.as_list() == [3, 3, 0, -1, 500 + 2 * 2_000, 0, 0, 0]
    assert facts({"description": "fix", "estimated_files": 3}, sizes) is None


def test_a_stretch_is_planned_with_its_files_as_they_were_before() -> None:
    script = Script()
    script.prompt("fix it")
    calls = [
        ("Read", "/a.py"),
        ("Edit", "/a.py"),
        ("Edit", "/b.py"),
        ("Read", "/c.md"),
        ("Write", "/new.py"),
    ]
    calls += [("Read", "/gone.py"), ("Edit", "/new.py"), ("Read", "/a.py")]
    uses = [use(f"t{number}", tool, file_path=path) for number, (tool, path) in enumerate(calls)]
    script.answer(text("so"), *uses, context=20_000)
    part = {"filePath": "/a.py", "content": "x" * 99 + "\n", "numLines": 10, "totalLines": 40}
    script.result("t0", "…", {"type": "text", "file": part})
    script.result("t1", "…", {"originalFile": "y" * 5_000, "structuredPatch": []})
    script.result("t2", "…", {"originalFile": "ü" * 100, "structuredPatch": []})
    script.result("t3", "…", {"type": "text", "file": {"content": "z", "numLines": 1, "totalLines": 1}})
    script.result("t4", "…", {"type": "create", "content": "n" * 50, "originalFile": None})
    script.result("t5", "no such file", is_error=True)
    script.result("t6", "…", {"originalFile": "n" * 50, "structuredPatch": []})
    script.result("t7", "…", {"type": "text", "file": {"content": "x" * 9, "numLines": 1, "totalLines": 1}})
    script.answer(text("done"), context=26_000)
    script.prompt("and again")
    script.answer(use("u0", "Edit", file_path="/new.py"), context=27_000)
    script.result("u0", "…", {"originalFile": None, "structuredPatch": []})
    script.answer(text("done"), context=28_000)
    one, two = of_lines(script.bytes().splitlines(keepends=True))
    assert (one.changed, one.created, one.read) == ({"/a.py": 400, "/b.py": 200}, {"/new.py"}, {"/c.md": 1})
    known = one.facts()
    assert known
    assert known.as_list() == [6, 2, 1, 1, file_tokens(400) + file_tokens(200), file_tokens(1), 0, 0]
    assert two.changed == {"/new.py": 50}
    again = two.facts()
    assert again
    assert again.changed_held == again.changed == file_tokens(50)
    elsewhere = two.facts(held=())
    assert elsewhere
    assert elsewhere.changed_held == 0


def test_a_stretch_without_files_is_no_planned_task() -> None:
    script = Script()
    script.prompt("why?")
    script.answer(text("so"), context=20_000)
    script.answer(text("because"), context=21_000)
    assert of_lines(script.bytes().splitlines(keepends=True))[0].facts() is None
