"""A short day of the real client, one compaction of each kind: what was planted is told again, nothing
else is, and without holdfast none of it is. `bench/day.py` plays the long one.

Its words are drawn anew in every run of the tests; a failure shows the seed.
"""

from __future__ import annotations

import fcntl
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from client.day import KINDS, SHORT, Day, play, played
from client.plan import Fact
from client.sent import Sent, is_told, observe, strangers
from client.verdict import Report, examine


@pytest.fixture(scope="session")
def days(shared: Path, binary: Path) -> dict[bool, Day]:
    """With holdfast and without, both at once, unless another worker of this test run has played them."""
    shared.mkdir(parents=True, exist_ok=True)
    folders = {True: shared / "day", False: shared / "day-alone"}
    with (shared / "day.seed").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = file.read()
        seed = int(known or random.randrange(10**6))
        do = played if known else play
        with ThreadPoolExecutor() as pool:
            made = pool.map(lambda how: do(folders[how], binary, seed, SHORT, how), folders)
            done = dict(zip(folders, made, strict=True))
        if not known:
            file.write(str(seed))
    return done


@pytest.fixture(scope="session")
def report(days: dict[bool, Day]) -> Report:
    return examine(days[True], installed=True)


@pytest.fixture(scope="session")
def alone(days: dict[bool, Day]) -> Day:
    return days[False]


def test_it_goes_through_as_planned_with_nobody_doing_anything(report: Report) -> None:
    for about in ("run", "plan", "compactions"):
        assert report.problems[about] == []
    assert report.compactions == dict.fromkeys(KINDS, 1)
    assert report.calls >= SHORT.calls


def test_no_hook_fails_or_gives_up(report: Report) -> None:
    assert report.problems["hooks"] == []


def test_every_checkpoint_is_verified_and_every_compaction_has_one(report: Report) -> None:
    assert report.problems["checkpoints"] == []
    assert report.checkpoints > sum(report.compactions.values())


def test_every_compaction_has_a_receipt(report: Report) -> None:
    assert report.problems["receipts"] == []
    assert report.receipts == sum(report.compactions.values())


def test_all_that_was_planted_is_told_again_after_each_compaction(report: Report) -> None:
    assert report.problems["facts"] == []
    assert report.found == report.planted


def test_what_is_told_keeps_to_its_allowance(report: Report) -> None:
    assert report.problems["sizes"] == []
    assert report.longest_brief > 0


def test_nothing_of_another_project_or_session_is_told(report: Report) -> None:
    assert report.problems["others"] == []


# -- the control


def test_without_holdfast_nothing_that_was_planted_is_told_again(alone: Day) -> None:
    """And it is in no other way: neither the summary nor what the client reads again has any of it."""
    report = examine(alone, installed=False)
    assert {about for about, said in report.problems.items() if said} == {"facts"}
    assert report.found.total() == 0
    assert len(report.problems["facts"]) == report.planted.total() > 0


def after(alone: Day, kind: str) -> tuple[dict, list[Fact]]:
    """The request after a compaction, and what should have been in it."""
    (plan,), (run,) = alone.plans, alone.runs
    (cut,) = (cut for cut in plan.cuts if cut.kind == kind)
    seen = observe(cut, run.requests)
    assert seen is not None
    return seen.after, plan.expected(cut)


def with_text(request: dict, text: str) -> dict:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {**request, "body": {"messages": [*request["body"]["messages"], message]}}


def reminder(text: str) -> str:
    return f"<system-reminder>\nSessionStart hook additional context: {text}\n</system-reminder>"


def full(fact: Fact) -> str:
    return f"{fact.said.text} ({', '.join(fact.said.tokens)})"


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_tells_it_all_passes(kind: str, alone: Day) -> None:
    request, facts = after(alone, kind)
    sent = Sent.of(with_text(request, reminder("\n".join(map(full, facts)))))
    assert len(facts) >= 5
    assert all(sent.tells(fact) for fact in facts)
    assert not any(sent.keeps(fact) for fact in facts)
    assert len(sent.briefs) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_in_the_kept_tail_does_not_count(kind: str, alone: Day) -> None:
    request, facts = after(alone, kind)
    sent = Sent.of(with_text(request, "\n".join(map(full, facts))))
    assert all(sent.keeps(fact) for fact in facts)
    assert not any(sent.tells(fact) for fact in facts)


def test_a_fact_that_is_cut_short_is_missed(alone: Day) -> None:
    request, facts = after(alone, "threshold")
    for fact in facts:
        short = full(fact).replace(fact.said.tokens[-1], "something")
        assert not Sent.of(with_text(request, reminder(short))).tells(fact)


def test_words_without_what_belongs_to_them_are_no_fact() -> None:
    assert is_told(("one", "two"), "x " * 500 + "two, then one" + " x" * 500)
    assert not is_told(("one", "two"), "one" + " x" * 500 + "two")


def test_a_fact_of_another_session_is_noticed(alone: Day) -> None:
    request, facts = after(alone, "threshold")
    assert strangers([], [with_text(request, full(facts[0]))]) == []
    assert strangers(facts, [request]) == []
    for fact in facts:
        assert strangers([fact], [with_text(request, reminder(full(fact)))])
