"""A long day as it is planned for the real client (`client.plan`), taken in without it: after each of its
compactions the brief tells all that was planted. In seconds, what `bench/day.py` takes minutes for."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from client.day import Size
from client.plan import MAIN, Cut, Plan, made
from client.prose import Failure, Names
from client.sent import is_told
from composed import PROJECT, words_of
from gathering import facts_of
from holdfast.core import brief
from holdfast.core.compose import Composer
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from holdfast.core.worth import weighed
from session import Script, folded, text, use

#: What the fence, what it says and a path leave of 1,500 tokens.
TOKENS = 1370


def plan_of(seed: int) -> Plan:
    size = Size.full(1500, 20)
    return made(Names(seed), Path(PROJECT), "tide", list(size.kinds), size.calls, size.distance)


class Told:
    """One chain of turns as the client would write it."""

    def __init__(self, failures: dict[str, Failure]) -> None:
        self.script = Script()
        self.failures = failures
        self.turns = 0
        self._broken: set[str] = set()

    def answer(self, turn: dict) -> None:
        self.turns += 1
        calls = turn.get("calls") or ([turn] if turn.keys() & {"run", "call"} else [])
        given = [(f"c{self.turns}-{at}", *_given(call)) for at, call in enumerate(calls)]
        said = [text(turn["say"])] if "say" in turn else []
        self.script.answer(*said, *(use(call, tool, **what) for call, tool, what in given))
        for call, tool, what in given:
            printed, failed = self._printed(what.get("command", "")) if tool == "Bash" else ("ok", False)
            self.script.result(call, printed, is_error=failed)

    def _printed(self, command: str) -> tuple[str, bool]:
        failure = self.failures.get(command)
        if failure:
            return f"Exit code {failure.status}\n{failure.prints}".replace("\\n", "\n"), True
        if "check fixtures/" in command and command not in self._broken:
            self._broken.add(command)
            return "Exit code 1\nFAIL: it is broken", True
        return "level_1 = 100  # south gate, as the gauge there says", False

    def compacted(self, cut: Cut) -> None:
        self.script.boundary()
        self.script.prompt(f"Summary:\nThe conversation was long ({cut.marker}).", isCompactSummary=True)


def _given(call: dict) -> tuple[str, dict]:
    return ("Bash", {"command": call["run"]}) if "run" in call else (call["call"], call["input"])


def _played(script: list[dict]) -> list[dict]:
    """Without what the API refuses."""
    return [turn for turn in script if "error" not in turn]


def briefs(plan: Plan) -> list[tuple[Cut, str]]:
    """What is told after each compaction."""
    failures = {failure.command: failure for failure in plan.failures}
    answers = {name: iter(_played(plan.script[name])) for name in ("main", "agent")}
    told: dict[str, Told] = defaultdict(lambda: Told(failures))
    found = []

    def play(who: str) -> bool:
        """One turn; whether it was the last of its stretch."""
        turn = next(answers["main" if who == MAIN else "agent"])
        chain = told[who]
        chain.answer(turn)
        for cut in plan.cuts:
            if (cut.who, cut.turn) == (who, chain.turns):
                chain.compacted(cut)
                found.append((cut, brief_of(chain.script)))
        if turn.get("call") == "Agent":
            agent = f"agent-{sum(name != MAIN for name in told) + 1}"
            told[agent].script.prompt(turn["input"]["prompt"])
            while not play(agent):
                pass
        return not turn.keys() & {"run", "call", "calls"}

    for prompt in plan.prompts:
        told[MAIN].script.prompt(prompt.text)
        for _ in range(prompt.stops):
            while not play(MAIN):
                pass
    return found


def brief_of(script: Script) -> str:
    facts, state = facts_of(script), State("s1")
    state.seen = folded(script.lines)
    made_of = Composer(state, words_of(script.bytes()), Redactor(b"k").text, PROJECT, {})
    return "\n".join(brief.lines(facts, weighed(facts), TOKENS, [], made_of.errors()))


@pytest.mark.parametrize("seed", [1, 12])
def test_a_day_of_twenty_compactions_loses_nothing(seed):
    plan = plan_of(seed)
    found = briefs(plan)
    assert {cut for cut, _ in found} == set(plan.cuts)
    lost = [
        (number, fact.said.kind, fact.said.text)
        for number, (cut, words) in enumerate(found)
        for fact in plan.expected(cut)
        if not is_told(fact.said.tokens, words)
    ]
    assert lost == []
