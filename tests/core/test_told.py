"""The facts in the sections of a checkpoint: each where one looks for it, never more than there is room."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composed import PROJECT, composer, edited, ran
from gathering import facts_of
from holdfast.core import checkpoint
from holdfast.core.told import fill
from holdfast.core.worth import weighed
from session import Script, text, use


def busy(turns=60):
    """A session that fills any checkpoint."""
    script = Script()
    script.prompt("Build the tide table. Always keep the port at 5433, and never touch the migrations.")
    script.answer(use("p", "ExitPlanMode", plan="\n".join(f"{n}. read gauge {n}" for n in range(30))))
    script.result("p")
    for turn in range(turns):
        script.answer(
            text(
                f"Going with sluice_{turn} rather than weir_{turn}. The lock of harbour_{turn} is closed. "
                f"Then comes pier_{turn}, and what remains of it."
            )
        )
        edited(script, f"{PROJECT}/src/gauge_{turn}.py", "old", f"def poll_{turn}(): pass")
        ran(script, f"make gauge_{turn}", f"made {turn}")
        if turn % 10 == 9:
            script.prompt(f"please leave buoy_{turn} alone, whatever happens")
    ran(script, "make lint", "Exit code 2\nE41", failed=True)
    ran(script, "pytest -q", "12 passed")
    todos = [{"content": f"step {n}", "status": "completed" if n < 20 else "pending"} for n in range(24)]
    script.answer(use("t", "TodoWrite", todos=todos))
    script.result("t")
    for turn in range(20):
        ran(script, f"make late_{turn}", "made")
    return script


def filled(script, room):
    sections, facts = composer(script).sections(), facts_of(script)
    used = sum(len(item) + 3 for items in sections.values() for item in items)
    fill(sections, facts, weighed(facts), room - used)
    return sections


BUSY = busy()


@settings(deadline=None, max_examples=25)
@given(st.integers(6_000, 30_000))
def test_a_checkpoint_is_never_longer_than_its_room(room):
    assert len(checkpoint.body(filled(BUSY, room))) <= room


def test_every_item_says_where_it_is_from():
    for section, items in filled(BUSY, 13_000).items():
        for item in items:
            said = item.partition(":\n>")[0] if section == "Plan and Workflow" else item
            assert said.rpartition(" (")[2].startswith(("turn ", "entry ")), (section, item)


def with_orders(turns, known=()):
    """The orders as they are shown, beside those that are `known` from elsewhere."""
    script = Script()
    for words in turns:
        script.prompt(words)
        script.answer(text("Ok."))
    sections, facts = composer(script).sections(), facts_of(script)
    sections["Standing Instructions"] = [*known]
    fill(sections, facts, weighed(facts), 20_000)
    return sections["Standing Instructions"]


@pytest.mark.parametrize(
    "known",
    [
        "Never push to main.",  # without a place
        "Never push to main. (turn 3, abc)",
        "Never push (not even tags)",  # brackets of its own
        "Always use tabs (never in the tests) (entry abc)",
    ],
)
def test_an_order_that_only_the_view_knows_is_shown(known):
    turns = ["Never push without asking.", "Always use tabs in the sources."]
    assert known in with_orders(turns, [known])


def test_an_order_is_not_shown_twice():
    found = with_orders(["Never push without asking."], ["Never push without asking. (turn 1, abc)"])
    assert len(found) == 1


def test_one_long_order_does_not_stop_shorter_ones():
    long = "Always sign " + ", ".join(f"table {number}" for number in range(500)) + "."
    short = [f"Never touch pier_{number} on the coast." for number in range(6)]
    shown = " ".join(with_orders([*short, long]))
    assert all(order in shown for order in short)


def test_what_was_said_together_names_its_place_once():
    script = Script()
    script.prompt("go")
    script.answer(text("The weir is very old.\n\nThe lock is quite new, and so is its gate."))
    script.answer(text("All of it is done."))
    item = filled(script, 13_000)["Plan and Workflow"][0]
    assert item.split("\n") == [
        "Agent: The weir is very old.",
        "The lock is quite new, and so is its gate. (turn 1, s1-00000)",
    ]


def test_each_decision_stands_by_itself():
    script = Script()
    script.prompt("go")
    script.answer(text("We chose the weir because it is old.\n\nWe chose the lock because it is new."))
    script.answer(text("All of it is done."))
    assert filled(script, 13_000)["Key Decisions"] == [
        "We chose the weir because it is old. (turn 1, s1-00000)",
        "We chose the lock because it is new. (turn 1, s1-00000)",
    ]


def test_what_is_told_cut_short_is_told_whole_beside_it():
    script = Script()
    script.prompt("go")
    script.answer(
        text(
            "In every case the branch `weir` has the right version of the table, so each of the conflicts "
            "is resolved by keeping what it says about gauge_1, gauge_2 and gauge_3, and then buoy_7."
        )
    )
    found = filled(script, 13_000)
    assert not any("buoy_7" in item for item in found["Next Steps"])
    assert any("buoy_7" in item for items in found.values() for item in items)


def test_how_a_check_ended_is_told_once():
    script = Script()
    script.prompt("go")
    ran(script, "make lint", "all clean")
    told = [item for items in filled(script, 13_000).values() for item in items if "make lint" in item]
    assert len(told) == 1


def test_how_a_check_ended_is_told_also_where_a_plan_names_it():
    script = Script()
    script.prompt("Build the tide table")
    script.answer(use("p", "ExitPlanMode", plan="then run make test everywhere"))
    script.result("p")
    ran(script, "make test", "ok: 412 passed")
    for turn in range(40):
        ran(script, f"ls {turn}", "made")
    told = "\n".join(item for items in filled(script, 13_000).values() for item in items)
    assert "412 passed" in told


def test_where_there_is_room_for_all_nothing_gives_way():
    script = Script()
    script.prompt("go")
    for number in range(13):
        ran(script, f"echo step{number}")
    commands = filled(script, 13_000)["Commands and Tests"]
    assert [item.partition(" →")[0] for item in commands] == [f"`echo step{n}`" for n in range(13)]


def test_where_there_is_not_what_is_open_what_failed_and_what_tests_stays():
    whole, found = composer(BUSY).sections(), filled(BUSY, 6_500)
    commands = found["Commands and Tests"]
    shown = [item for item in commands if item.startswith(("`", "Test run"))]
    assert len(shown) < len(whole["Commands and Tests"])
    assert [item.partition(" →")[0] for item in commands[:2]] == ["`make lint`", "Test run: `pytest -q`"]
    assert shown[-1].startswith("`make late_19`")
    assert found["Goal"][0].startswith("Build the tide table.")
    lines = [item for item in found["What Changed"] if ".py:1] - " in item]
    assert len(lines) <= len(whole["What Changed"])
    assert lines[-1].startswith("[src/gauge_59.py:1] - ")
    assert [step[:10] for step in found["Next Steps"][:5]] == [
        "[x] step 0",
        *[f"[ ] step 2{n}"[:10] for n in range(4)],
    ]


def test_what_the_person_typed_stands_apart():
    found = filled(BUSY, 13_000)
    assert any("port at 5433" in item for item in found["Goal"] + found["Standing Instructions"])
    assert any("buoy_9" in item for item in found["Standing Instructions"])
    assert not any("sluice" in item for item in found["Goal"] + found["Standing Instructions"])
    assert any("sluice_58" in item for item in found["Key Decisions"])


@pytest.mark.parametrize("read", [0, 5000])
def test_where_the_work_stands_in_git_and_its_plan_are_told(read):
    script = Script()
    script.prompt("go")
    ran(script, "git commit -m 'Fix the gauge'", "[main 1a2b3c4] Fix the gauge\n 1 file changed")
    ran(script, "git commit --amend --no-edit", "[main 2b3c4d5] Fix the gauge\n 1 file changed")
    edited(script, "/home/mira/.claude/plans/old-tide.md", "a", "b")
    sections, facts = composer(script).sections(), facts_of(script)
    facts.start = read
    fill(sections, facts, weighed(facts), 9000)
    place = "" if read else " (turn 2)"
    newest = "1a2b3c4 Fix the gauge; 2b3c4d5 Fix the gauge (amended)"
    assert sections["Commands and Tests"][-1] == f"Commits on main: {newest}{place}"
    place = "" if read else " (turn 3)"
    assert sections["Plan and Workflow"] == [f"Plan file: /home/mira/.claude/plans/old-tide.md{place}"]
