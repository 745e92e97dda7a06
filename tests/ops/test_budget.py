"""The context budget as commands, and that hooks go by it."""

import json

import pytest

from holdfast.app import Holdfast
from holdfast.disk import budgets
from holdfast.errors import BadInput, Damaged, NotFound
from holdfast.ops import budget, survival
from hooks import lines
from told import DECIDED, RULE, Work, day, repository


@pytest.fixture
def project(tmp_path):
    return repository(tmp_path / "tidegate")


@pytest.fixture
def work(home, project):
    work = day(Work(home, project))
    work.hook("Stop")
    return work


@pytest.fixture
def app(home, project, monkeypatch):
    monkeypatch.chdir(project)
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


def test_a_plan_says_what_is_told_and_what_is_not(app, work):
    made = budget.plan(app, session="s1")
    by_name = {part.name: part for part in made.parts}
    assert [item.text for item in by_name["safety_constraints"].items if item.state == "told"] == [RULE]
    assert DECIDED in [item.text for item in by_name["project_background"].items]
    assert 0 < made.used <= made.tokens == 1500
    small = budget.plan(app, session="s1", tokens=60)
    states = {item.state for part in small.parts for item in part.items}
    assert "left out" in states


def test_what_is_evicted_is_told_by_no_brief_until_it_is_brought_back(app, work):
    plan = budget.plan(app, session="s1")
    key = next(item.id for part in plan.parts for item in part.items if item.text == DECIDED)
    budget.evict(app, key)
    work.hook("PreCompact")
    assert DECIDED not in work.start("compact")
    assert DECIDED not in survival.brief(app, session="s1").text
    shown = budget.evict(app, key, back=True)
    assert shown.evicted == {}
    assert DECIDED in work.start("compact")


def test_what_is_pinned_comes_first_redacted(app, work):
    token = "ghp_" + "1234567890abcdefghijABCDEFGHIJ123456"
    shown = budget.pin(app, f"The gate\u200b key is {token}", compartment="safety-constraints")
    assert token not in json.dumps([pin.text for pin in shown.pinned])
    work.hook("PreCompact")
    said = work.start("compact").split("\n")
    assert said[2].startswith("Pinned (safety_constraints): The gate key is [redacted:")
    budget.unpin(app, shown.pinned[0].id)
    assert "Pinned" not in work.start("compact")


def test_shares_are_for_one_project(app, work, tmp_path):
    shown = budget.put(app, "safety_constraints", 40, priority=3)
    row = next(one for one in shown.compartments if one.name == "safety_constraints")
    assert (row.share, row.priority, row.tokens, row.set_by) == (40, 3, 600, "project")
    other = repository(tmp_path / "other")
    assert all(one.set_by == "default" for one in budget.show(app, project=str(other)).compartments)
    again = budget.put(app, "safety_constraints", reset=True)
    assert all(one.set_by == "default" for one in again.compartments)


def test_rebalancing_gives_away_what_a_session_does_not_need(app, work):
    before = {one.name: one.share for one in budget.show(app).compartments}
    after = {one.name: one.share for one in budget.rebalance(app, session="s1").compartments}
    assert sum(after.values()) == sum(before.values())
    assert after["operator_preferences"] == 0 < before["operator_preferences"]  # nobody was asked anything


def test_an_estimate(app, tmp_path):
    (tmp_path / "long.txt").write_text("x" * 3500)
    found = budget.estimate(app, file=str(tmp_path / "long.txt"))
    assert (found.characters, found.tokens, found.fits) == (3500, 1001, [])
    assert budget.estimate(app, "short").fits[0] == "safety_constraints"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda app: budget.put(app, "safety", 5), "there is no compartment 'safety'"),
        (lambda app: budget.put(app, "active_task", 101), "0 to 100"),
        (lambda app: budget.put(app, "active_task", 90), "would come to 115 %"),
        (lambda app: budget.put(app, "active_task"), "what shall be set"),
        (lambda app: budget.put(app, "active_task", priority=0), "1 \\(first\\) to 9"),
        (lambda app: budget.pin(app, " \u200b"), "empty"),
        (lambda app: budget.evict(app, ""), "empty"),
        (lambda app: budget.evict(app, "Never push (CRITICAL)"), "is not evicted"),
        (lambda app: budget.estimate(app), "give a text"),
        (lambda app: budget.estimate(app, file="a\0b"), "cannot be read"),
        (lambda app: budget.estimate(app, file="/"), "is a directory"),
        (lambda app: budget.plan(app, tokens=3), "50 to 100,000"),
        (lambda app: budget.show(app, project="/nowhere"), "is not a folder"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(app, call, problem):
    with pytest.raises(BadInput, match=problem):
        call(app)
    with pytest.raises(NotFound):
        budget.estimate(app, file="nowhere")
    with pytest.raises(NotFound):
        budget.unpin(app, "nothing")
    with pytest.raises(NotFound):
        budget.evict(app, "nothing", back=True)


def test_there_is_an_end_to_pins(app):
    for number in range(12):
        budget.pin(app, f"number {number}")
    with pytest.raises(BadInput, match="12 are pinned already"):
        budget.pin(app, "one more")
    assert len(budget.pin(app, "number 3").pinned) == 12  # which was there


@pytest.mark.parametrize("damage", [b"", b"{", b'{"v":1,"sum":1,"shares":{}}', b"\xff" * 40])
def test_a_damaged_budget_is_refused_by_commands_and_noted_by_hooks(app, work, home, project, damage):
    budget.pin(app, "kept")
    path = budgets.path(app.home, str(project))
    with open(path, "wb") as file:
        file.write(damage)
    with pytest.raises(Damaged):
        budget.show(app)
    work.hook("PreCompact")
    assert RULE in work.start("compact")
    assert "degraded.budget" in {note["event"] for note in lines(home / "events.jsonl")}
