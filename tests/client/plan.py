"""A day of work, planned from a seed: what is typed, what the model answers, what is planted where.

A day is cycles. Each plants its facts, then goes on working until they are long said, then runs into a
compaction of its kind:

    threshold    the context jumps past where the client compacts, in the middle of a turn
    reactive     the API refuses the request as too long
    precomputed  the client writes its summary early, works on, and swaps it in later
    subagent     an agent that was sent off fills its own window

The summary it gets says nothing of what was said. What has to be known again is `Plan.expected`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from client.prose import ENDINGS, ERRANDS, NARRATION, SURVEYS, TASKS, Failure, Names, Prose, Said
from client.work import Area, Work

MAIN = "main"
#: claude-opus-4-6 has 200k, writes summaries early from 144k (where that is on) and compacts at 167k.
MODEL = "claude-opus-4-6"
_LOW, _BEFORE_EARLY, _EARLY, _LATE, _PAST = 30_000, 138_000, 146_000, 164_000, 168_500
#: Tokens (characters / 3.5) that may be planted and still stand at one compaction: half of a brief.
_PLANTED = 750
_SUMMARY = "<analysis>It was long.</analysis>\n<summary>The conversation was about software ({}).</summary>"
_AGENT = {"subagent_type": "general-purpose", "run_in_background": False}


class Fact(NamedTuple):
    said: Said
    #: The chain of turns it was said in (`MAIN`, or an agent's), and how many turns that had by then.
    who: str
    turn: int


class Cut(NamedTuple):
    """A compaction."""

    kind: str
    who: str
    turn: int
    #: Stands in its summary and nowhere else.
    marker: str


class Prompt(NamedTuple):
    text: str
    #: How often the client comes to rest after it: twice when an agent reports later.
    stops: int


@dataclass
class Plan:
    session: str
    project: Path
    area: Area
    #: Turns between a fact and the compaction that must not lose it, at least.
    distance: int
    prompts: list[Prompt] = field(default_factory=list)
    script: dict[str, list[dict]] = field(
        default_factory=lambda: {"main": [], "agent": [], "summary": []},
    )
    facts: list[Fact] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    calls: int = 0

    def expected(self, cut: Cut) -> list[Fact]:
        """What was said since the compaction before, and the instructions of all the time before that."""
        before = max((c.turn for c in self.cuts if c.who == cut.who and c.turn < cut.turn), default=0)
        mine = [fact for fact in self.facts if fact.who == cut.who and fact.turn < cut.turn]
        return [fact for fact in mine if fact.turn >= before or fact.said.kind == "instruction"]

    def check(self) -> None:
        """That the day asks for what can be done, and for no less than it says."""
        for cut in self.cuts:
            facts = self.expected(cut)
            assert facts
            assert all(cut.turn - fact.turn >= self.distance for fact in facts)
            assert sum(len(fact.said.text) for fact in facts) / 3.5 <= _PLANTED


class Chain:
    """The turns of one agent, with their contexts given when a compaction ends a cycle."""

    def __init__(self, plan: Plan, who: str, prose: Prose) -> None:
        self.plan = plan
        self.who = who
        self.prose = prose
        self.work = Work(who, plan.area, plan.project, prose.random)
        self.turns = 0
        self.last_fact = 0
        self._cycle: list[dict] = []
        self._early = 0

    def _answer(self, turn: dict) -> None:
        self.plan.script["main" if self.who == MAIN else "agent"].append(turn)
        self.plan.calls += len(turn.get("calls", [0])) if turn.keys() & {"run", "call", "calls"} else 0
        self._cycle.append(turn)
        self.turns += 1

    def plant(self, said: Said) -> str:
        self.plan.facts.append(Fact(said, self.who, self.turns))
        self.last_fact = self.turns
        return said.text

    def step(self, said: Said | None = None) -> None:
        """One answer with a tool call; of ten, four say nothing."""
        chance = self.prose.random
        path = self.work.file()
        words = [self.prose.chatter(NARRATION, path)] if chance.random() < 0.6 else []
        if said:
            words.insert(chance.randrange(len(words) + 1), self.plant(said))
        self._answer(({"say": " ".join(words)} if words else {}) | self.work.turn())

    def fail(self) -> None:
        """An error that nobody will mend."""
        said, failure = self.prose.failure()
        self.plan.failures.append(failure)
        self.plant(said)
        self._answer({"say": self.prose.chatter(NARRATION, self.work.file()), "run": failure.command})

    def browse(self) -> None:
        self._answer({"say": self.prose.chatter(NARRATION, self.work.file()), **self.work.browse()})

    def rest(self) -> None:
        """The last answer of a stretch."""
        self._answer(
            {"say": self.prose.chatter(ENDINGS, self.work.file(), self.prose.random.choice((1, 2)))}
        )

    def send(self, given: dict) -> None:
        say = self.prose.chatter(NARRATION, self.work.file())
        self._answer({"say": say, "call": "Agent", "input": given | _AGENT})

    def go_early(self) -> None:
        """From here on the context is where the client writes its summary early."""
        self._early = len(self._cycle)

    def cut(self, kind: str, refused: bool) -> None:
        """The compaction comes after the last answer."""
        self._fill(refused)
        self.plan.cuts.append(Cut(kind, self.who, self.turns, self.prose.names.new()))
        self.plan.script["summary"].append({"say": _SUMMARY.format(self.plan.cuts[-1].marker)})
        if refused:
            self.plan.script["main" if self.who == MAIN else "agent"].append({"error": "too long"})

    def _fill(self, refused: bool = True) -> None:
        early = self._early or len(self._cycle)
        for at, turn in enumerate(self._cycle):
            low, high, share = (_LOW, _BEFORE_EARLY, at / early)
            if at >= early:
                low, high, share = (_EARLY, _LATE, (at - early) / (len(self._cycle) - early))
            turn["context"] = round(low + (high - low) * share)
        if not refused:
            self._cycle[-1]["context"] = _PAST
        self._cycle, self._early = [], 0

    def close(self) -> None:
        """No compaction comes any more."""
        self._fill()


class Planner:
    """Writes a plan: `each` facts of every class but instructions per cycle, `per_cut` calls."""

    def __init__(self, plan: Plan, prose: Prose, per_cut: float, each: int, alone: bool) -> None:
        self.plan = plan
        self.prose = prose
        self.per_cut = per_cut
        self.each = each
        self.alone = alone  # one prompt is all there is
        self.main = Chain(plan, MAIN, prose)
        self._left = 0  # steps until the stretch is over
        self._open = False  # whether one is under way
        self._agents = 0

    def cycle(self, kind: str) -> None:
        """One with a compaction of the main chain."""
        number = len(self.plan.cuts)
        self._prompt(self.prose.instruction())
        if not self.alone and self.prose.random.random() < 0.5:
            self._rest()
            self._prompt(self.prose.value())
        self._plant(self.main)
        if kind == "precomputed":
            self._steps(2)
            self.main.go_early()
        while not self._long_enough(self.main, number):
            self._steps(1)
        self.main.cut(kind, refused=kind == "reactive" or (kind == "precomputed" and number % 2 == 1))

    def agent(self) -> None:
        """One with a compaction of an agent's, while the main chain waits for it."""
        number = len(self.plan.cuts)
        self._agents += 1
        agent = Chain(self.plan, f"agent-{self._agents}", self.prose)
        self._rest()
        self.plan.prompts.append(Prompt(self.prose.chatter(ERRANDS, self.main.work.file()), 2))
        task = self.prose.chatter(SURVEYS, agent.work.file())
        order = agent.plant(self.prose.order())
        self.main.send({"description": "Second look", "prompt": f"{task} {order}"})
        self.main.rest()
        self._plant(agent)
        while not self._long_enough(agent, number):
            agent.step()
        agent.cut("subagent", refused=self._agents % 2 == 0)
        self._wind_up(agent)
        agent.close()
        self.main.rest()  # what it says when the agent has reported

    def end(self) -> None:
        self._rest()
        self.main.close()

    def _prompt(self, said: Said) -> None:
        """Somebody types; what they want beside is one of the usual things."""
        self._rest()
        words = [self.prose.chatter(TASKS, self.main.work.file()), self.main.plant(said)]
        self.prose.random.shuffle(words)
        self._type(" ".join(text if text[-1] in ".?!" else text + "." for text in words))

    def _type(self, text: str) -> None:
        self.plan.prompts.append(Prompt(text, 1))
        self._left = self.prose.random.randrange(9, 16)
        self._open = True

    def _rest(self) -> None:
        """Bring the stretch to its end, if one is under way."""
        if self._open:
            self._wind_up(self.main)
        self._open = False

    def _wind_up(self, chain: Chain) -> None:
        chain.step()
        while not chain.work.settled:
            chain.step()
        chain.rest()

    def _plant(self, chain: Chain) -> None:
        prose = self.prose
        spoken = [make for make in (prose.decision, prose.dead_end, prose.value) for _ in range(self.each)]
        makers = [*spoken, None]  # None: an error
        prose.random.shuffle(makers)
        for make in makers:
            if prose.random.random() < 0.3:
                chain.step()
            chain.step(make()) if make else chain.fail()
        chain.browse()

    def _steps(self, count: int) -> None:
        """Work, with a new prompt whenever a stretch is over."""
        for _ in range(count):
            self._left -= 1
            if self._left <= 0 and not self.alone:
                self._rest()
                self._type(self.prose.chatter(TASKS, self.main.work.file()))
            self.main.step()

    def _long_enough(self, chain: Chain, number: int) -> bool:
        done = self.plan.calls >= self.per_cut * (number + 1)
        return done and chain.turns - chain.last_fact >= self.plan.distance and chain.work.settled


def made(
    names: Names, project: Path, area: str, kinds: list[str], calls: int, distance: int, alone: bool = False
) -> Plan:
    """A day with these compactions and at least so many calls; `alone`: from one prompt."""
    prose = Prose(names)
    session = str(uuid.UUID(int=names.random.getrandbits(128), version=4))
    plan = Plan(session, project, Area(area), distance)
    each = 2 if distance >= 30 else 1
    planner = Planner(plan, prose, calls / len(kinds), each, alone)
    for kind in kinds:
        planner.agent() if kind == "subagent" else planner.cycle(kind)
    planner.end()
    plan.check()
    return plan
