"""Orders, decisions, next steps and marks of unfinished work, as a checkpoint shows them."""

import pytest

from composed import PROJECT, composer, edited, plain
from gathering import facts_of
from holdfast.core import sentences, settled, steps
from holdfast.core.brief import lines
from holdfast.core.checkpoint import SECTIONS
from holdfast.core.config import STANDARD
from holdfast.core.preserve import block
from holdfast.core.steps import is_told_done, steps_in
from holdfast.core.told import fill
from holdfast.core.worth import weighed
from session import Script, text, use


def shown(script, room=13_000):
    sections, facts = composer(script).sections(), facts_of(script)
    used = sum(len(item) + 3 for items in sections.values() for item in items)
    fill(sections, facts, weighed(facts), room - used)
    return {name: [plain(item) for item in sections.get(name, [])] for name in SECTIONS}


def said(*turns):
    script = Script()
    for number, words in enumerate(turns):
        if number % 2:
            script.answer(text(words))
        else:
            script.prompt(words)
    return script


def test_orders_stand_under_their_name_and_not_in_the_goal():
    script = said(
        "Build the tide table. Always keep the port at 5433, and never touch the migrations.", "Done."
    )
    found = shown(script)
    assert found["Goal"] == ["Build the tide table."]
    assert found["Standing Instructions"] == [
        "Always keep the port at 5433, and never touch the migrations."
    ]


def test_an_order_said_once_stays_however_much_is_said_after_it():
    turns = ["Use integer cents for money.", "Ok."]
    for number in range(60):
        turns += [f"Add gauge {number}", f"Gauge {number} is there, and reads from pier {number}."]
    assert "Use integer cents for money." in shown(said(*turns))["Standing Instructions"]


def test_an_order_that_was_taken_back_is_shown_as_that():
    script = said(
        "Always keep the port at 5433.", "Ok.", "Forget the port 5433, use 6000 from now on.", "Ok."
    )
    assert shown(script)["Standing Instructions"] == [
        "Replaced in turn 1: Always keep the port at 5433.",
        "Forget the port 5433, use 6000 from now on.",
    ]


def ordered(many):
    """A person who typed so many orders, and whose agent said as many decisions."""
    turns = []
    for number in range(many // 20):
        names = [f"{number}_{place}" for place in range(20)]
        turns.append("\n".join(f"- Never touch pier_{name} on the coast." for name in names))
        turns.append("\n\n".join(f"We chose sluice_{name} instead of weir_{name}." for name in names[:6]))
    return facts_of(said(*turns))


def work_of(many, monkeypatch):
    """How many sentences were taken apart, and how many pairs held against each other."""
    facts, done = ordered(many), {"apart": 0, "pairs": 0}

    def counted(name, what):
        def call(*given):
            done[name] += 1
            return what(*given)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(sentences, "terms_of", counted("apart", sentences.terms_of))
        for name in ("replaces", "overturns"):
            patch.setattr(settled, name, counted("pairs", getattr(settled, name)))
        found = settled.orders(facts)
        rows = settled.Settled(facts).rows
    assert min(len(found), len(rows)) > 50
    return done


def test_the_work_does_not_grow_with_the_pairs_of_orders_and_decisions(monkeypatch):
    few, many = work_of(200, monkeypatch), work_of(800, monkeypatch)
    assert many["apart"] <= 4 * few["apart"]
    assert 0 < many["pairs"] <= 4 * few["pairs"]
    assert many["pairs"] < 100 * 100  # all pairs of 800 would be 319,600


def test_the_first_orders_and_the_rules_stay_however_many_come_after():
    turns = ["Never touch the migrations.", "Ok.", "(CRITICAL) Always sign the tide tables", "Ok."]
    for number in range(100):
        turns += [f"Never touch pier_{number} on the coast.", "Ok."]
    held = [order.text for order in settled.orders(facts_of(said(*turns)))]
    assert held[0] == "Never touch the migrations."
    assert any("sign the tide tables" in text for text in held)
    assert held[-1] == "Never touch pier_99 on the coast."


def test_a_decision_is_overturned_however_many_were_made_in_between():
    turns = ["Go", "We chose Redis for the queue."]
    for number in range(100):
        turns += ["go on", f"We chose sluice_{number} for the gate of harbour_{number}."]
    found = settled.Settled(facts_of(said(*turns, "ok", "We chose Postgres instead of Redis.")))
    assert [row for row in found.rows.values() if row.startswith("Replaced")] == [
        "Replaced in turn 102: We chose Redis for the queue."
    ]


def block_of(script):
    facts = facts_of(script)
    return block(facts, weighed(facts), [], [], [], [], "auto", "0123456789abcdef", STANDARD)


def test_an_order_that_was_taken_back_is_in_no_block_and_no_brief():
    """Also where something else was said with it, and where it was marked as a rule."""
    for first in (
        "Always keep the port at 5433.",
        "Build the tide table. Always keep the port at 5433.",
        "Always keep the port at 5433. (ENFORCED)",
    ):
        turns = [first, "Ok.", "Forget the port 5433, use 6000 from now on.", "Ok."]
        for script, holds in ((said(*turns), False), (said(*turns[:2]), True)):
            facts = facts_of(script)
            told = "\n".join(lines(facts, weighed(facts), 1500, [], []))
            assert ("keep the port at 5433" in told) is holds
            assert ("keep the port at 5433" in block_of(script)) is holds
            assert ("6000" in told) is ("6000" in block_of(script)) is not holds
            assert ("tide table" in told) is ("tide table" in first)


def test_the_block_calls_orders_what_is_ordered_and_decisions_what_was_settled():
    script = said(
        "Always keep the port at 5433. The gauge must read in metres, I think?",
        "I suggest we use a websocket for the gauges. Shall I?",
        "No, no websocket.",
        "We decided to poll every minute because the proxy drops frames. Which colour do you want?",
        "Blue.",
        "Done.",
    )
    _, orders = block_of(script).split("STANDING INSTRUCTIONS BY THE USER:\n")
    orders, _, decided = orders.partition("KEY DECISIONS MADE:\n")
    orders = [one for one in orders.partition(":\n")[0].split("\n") if one.startswith("  • ")]
    assert orders == ["  • Always keep the port at 5433."]
    assert "We decided to poll every minute" in decided
    assert not any(
        line.strip("• ").startswith(("I suggest", "Which colour")) for line in decided.split("\n")
    )
    assert shown(script)["Standing Instructions"] == ["Always keep the port at 5433."]


def test_a_proposal_that_the_user_rejected_is_shown_as_rejected():
    script = said(
        "Limit the requests", "I would keep a sliding window.", "No, a fixed window of 60 s", "Ok, done."
    )
    (item,) = shown(script)["Key Decisions"]
    assert item.startswith("Rejected by the user (“No, a fixed window of 60 s”): I would keep a sliding")


def test_questions_reports_and_refusals_are_no_decisions():
    script = said("Go on", "Good — 274 passed. Want me to draft a plan?")
    script.answer(use("b", "Bash", command="cat log | head -50"))
    why = "The user doesn't want to proceed with this tool use."
    script.result("b", content=why, is_error=True)
    assert shown(script)["Key Decisions"] == []


def test_what_the_user_picked_is_told_with_what_was_offered():
    script = said(
        "How?", "Option A is a lock; Option B is a queue.\n\nWhich one do you prefer, A or B?", "b", "Ok."
    )
    (item,) = shown(script)["Key Decisions"]
    assert "The user answered: b" in item
    assert "Option B is a queue" in item


def test_a_decision_that_a_later_one_took_back_says_so():
    script = said(
        "Go", "We chose Redis for the queue.", "go on", "We chose Postgres instead of Redis.", "ok", "Done."
    )
    assert shown(script)["Key Decisions"] == [
        "Replaced in turn 2: We chose Redis for the queue.",
        "We chose Postgres instead of Redis.",
    ]


def test_why_changed_says_why_or_nothing():
    script = Script()
    script.prompt("go")
    script.answer(text("The gate jammed because its lock was never released."))
    edited(script, f"{PROJECT}/gate.py", "old", "new")
    script.answer(text("All of it is done."))
    found = shown(script)
    assert found["Why Changed"] == ["The gate jammed because its lock was never released."]
    quiet = said("go", "All of it is done.")
    edited(quiet, f"{PROJECT}/gate.py", "old", "new")
    assert shown(quiet)["Why Changed"] == []


# Next steps


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        ("Done. Next steps: 1. Parse 2. Lex v2.1 3. Emit", ["Parse", "Lex v2.1", "Emit"]),
        ("Good.\n\n**Next steps:**\n1. Parse\n   - detail\n2. Lex\n\nThat is all.", ["Parse", "Lex"]),
        ("## Remaining\n- [ ] Parse\n- Lex", ["Parse", "Lex"]),
        ("Nächste Schritte: 1) Parser; 2) Tests", ["Parser", "Tests"]),
        ("Prochaines étapes :\n- Analyser\n- Tester", ["Analyser", "Tester"]),
        ("下一步：1. 添加解析器 2. 编写测试", ["添加解析器", "编写测试"]),
        ("Next: run the migration; then update the docs.", ["run the migration", "update the docs"]),
        ("I took the next steps as you said.", []),
        ("All green. Limits sits after Auth.", []),
    ],
)
def test_each_step_is_one(words, steps):
    assert steps_in(words) == [(False, step) for step in steps]


@pytest.mark.parametrize("end", [". ", "! ", "。", " - "])
def test_a_long_line_is_looked_at_once_for_titles(end, monkeypatch):
    looked_at, real = [], steps._named

    def named(said):
        looked_at.append(len(said))
        return real(said)

    monkeypatch.setattr(steps, "_named", named)
    line = f"a{end}" * 6000
    assert steps_in(line) == []
    assert sum(looked_at) < 250 * len(line)  # were every rest looked at: 3000 times the line
    assert steps_in(f"{line}Next steps: 1. Parse 2. Lex{' it' * 400}; x")[0] == (False, "Parse")


def test_numbered_steps_are_boxes_of_their_own():
    script = said("go", "Done. Next steps: 1. Write the lexer 2. Wire it in 3. Add tests")
    assert shown(script)["Next Steps"] == ["[ ] Write the lexer", "[ ] Wire it in", "[ ] Add tests"]


def test_a_step_that_was_done_since_is_no_open_box():
    script = said(
        "go", "Next steps: 1. Write the lexer 2. Add tests", "do the first", "The lexer is written, done."
    )
    assert shown(script)["Next Steps"] == ["[x] Write the lexer", "[ ] Add tests"]
    assert not is_told_done("Add tests", ["The lexer is written, done."])


def test_finished_work_is_no_step():
    assert shown(said("go", "All green. Limits sits after Auth."))["Next Steps"] == []


def test_an_unanswered_question_is_the_next_step():
    found = shown(said("go", "Both work. Which port should it be?"))
    assert found["Next Steps"] == ["[ ] Answer: Which port should it be?"]


# Marks of unfinished work


def written(script, path, content):
    call = f"w{script.count}"
    script.answer(use(call, "Write", file_path=path, content=content))
    script.result(call, result={"type": "create", "structuredPatch": []})


def test_what_was_left_in_a_file_is_an_issue_until_it_is_taken_out():
    script = Script()
    script.prompt("go")
    written(script, f"{PROJECT}/gate.py", "import sys\n# TODO: close the gate\nopen()\n# FIXME leaks\n")
    found = shown(script)["Active Issues"]
    assert found == ["[gate.py:2] - TODO: close the gate", "[gate.py:4] - FIXME leaks"]
    edited(script, f"{PROJECT}/gate.py", "# TODO: close the gate\n", "close()\n", line=2)
    assert shown(script)["Active Issues"] == ["[gate.py:4] - FIXME leaks"]
    written(script, f"{PROJECT}/gate.py", "close()\n")
    assert shown(script)["Active Issues"] == []


@pytest.mark.parametrize(
    "line", ["TODO_LIST = []", 'say("TODO")', "x = todo", "# the `TODO` sign", "AUTODOC"]
)
def test_what_only_speaks_of_the_sign_is_none(line):
    script = Script()
    script.prompt("go")
    written(script, f"{PROJECT}/gate.py", f"{line}\n")
    assert shown(script)["Active Issues"] == []
