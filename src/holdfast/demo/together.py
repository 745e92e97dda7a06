"""What the agents of the demo share: a task each and one that waits for all, and what they say on the
board. Each through the operation that any agent has."""

from __future__ import annotations

import contextlib

from holdfast.app import Holdfast
from holdfast.demo.acts import AGENTS
from holdfast.errors import HoldfastError
from holdfast.ops import board, tasks

_REVIEW = "Write down for the review what the three have found"
_ASKS = "Before you report: does a reload keep what `pool` holds? I read config only."
_ANSWERS = "It does: the pool has a lock of its own and outlives the chain."


class Together:
    """Of one session. What fails is not shown: nothing else depends on it."""

    def __init__(self, environ: dict[str, str], session: str, project: str) -> None:
        self.app = Holdfast.open({**environ, "CLAUDE_CODE_SESSION_ID": session})
        self.session, self.project = session, project
        self.numbers: dict[str, int] = {}
        self.asked = ""

    def after(self, hook: str, agent: str) -> None:
        place = next((place for place, one in enumerate(AGENTS) if one[0] == agent), None)
        if place is None or hook not in ("SubagentStart", "SubagentStop"):
            return
        with contextlib.suppress(HoldfastError, OSError):
            (self._begun if hook == "SubagentStart" else self._done)(place)

    def _begun(self, place: int) -> None:
        agent, task, modules = AGENTS[place]
        if not self.numbers:
            self._plan()
        tasks.claim(self.app, self.numbers[agent], holder=self._holder(agent), project=self.project)
        board.post(self.app, f"{task}: {', '.join(modules)} are mine.", agent=agent, project=self.project)
        if agent == AGENTS[-1][0]:
            asked = board.post(
                self.app, _ASKS, to=f"agent:{agent}", agent=AGENTS[0][0], project=self.project
            )
            self.asked = asked.id

    def _plan(self) -> None:
        for agent, task, _ in AGENTS:
            (one,) = tasks.add(self.app, task, project=self.project)
            self.numbers[agent] = one.number
        tasks.add(self.app, _REVIEW, needs=tuple(self.numbers.values()), project=self.project)

    def _done(self, place: int) -> None:
        agent, _, modules = AGENTS[place]
        if agent not in self.numbers:
            return
        if self.asked and agent == AGENTS[-1][0]:
            board.ack(
                self.app, self.asked, _ANSWERS, session=self.session, agent=agent, project=self.project
            )
        found = f"nothing found in {', '.join(modules)}"
        tasks.finish(self.app, self.numbers[agent], result=found, holder=self._holder(agent))

    def _holder(self, agent: str) -> str:
        return f"{self.session}/{agent}"
