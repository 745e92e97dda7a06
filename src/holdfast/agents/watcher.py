"""`watch`: every live session of this machine, looked at again and again; what is due is asked for.

The first tier are rules; the second, if one is configured, is a model's opinion (`advisor`). A session is
asked for a checkpoint through its board, and its next hook takes it; one whose client is gone has no hook
any more, and is saved here. The board is all that is remembered: started again, the watcher asks for
nothing twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from holdfast import engine
from holdfast.agents import rules
from holdfast.agents.advisor import Advisor
from holdfast.agents.facts import Facts, Machine
from holdfast.agents.rules import Finding
from holdfast.app import Holdfast
from holdfast.clock import at, elapsed, now, rfc3339
from holdfast.core.decide import OWED, WATCHER
from holdfast.core.events import Event
from holdfast.disk import board, files, trail
from holdfast.disk.messages import TRIGGER
from holdfast.disk.process import is_gone
from holdfast.errors import MISTAKES, BadInput, HoldfastError
from holdfast.ops.board import TRIGGER_MINUTES, send
from holdfast.ops.breakpoints import drain
from holdfast.ops.config import Current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.team.sync import Drain

#: Seconds between two glances at what has changed; so soon is what is due asked for.
_GLANCE_S = 5.0
_SCENARIOS = ("context_high",)
_LOCK = "/watch.lock"
#: Seconds between two looks at everything.
_EVERY_S = 30


@dataclass(frozen=True)
class Observed:
    """One session, or one agent of it. `liveness`: working, resting or gone; `trigger` is the message by
    which it was asked for a checkpoint; `opinion` what a model thinks of it, if one was asked."""

    session: str
    agent: str
    role: str
    project: str
    liveness: str
    level: str
    fill: float
    used: int
    capacity: int
    context_metrics: dict[str, object]
    status: str
    recommended_action: str
    findings: list[str]
    last: str
    trigger: str
    opinion: str


@dataclass(frozen=True)
class Watch:
    """What was seen at the last look; `asked` and `saved` since the watcher was started. `models` says who
    gives the second opinion, or why nobody does."""

    at: str
    sessions: list[Observed]
    asked: int
    saved: int
    models: str
    problems: list[str]


def watch(
    app: Holdfast, *, once: bool = False, interval: int | None = None, scenario: str | None = None
) -> Watch:
    """Watch every live session of this machine: who should save is asked to, who is gone is saved.

    Parameters
    ----------
    once
        Look once, do what is due, and say what was seen.
    interval
        Seconds between two looks at everything; what changes is looked at within five. Without it:
        auto_context.poll_interval_seconds where that is set, else 30.
    scenario
        context_high: show on made-up data what would be said. Nothing is read or written.
    """
    interval = _usual(app) if interval is None else interval
    if not 1 <= interval <= 86_400:
        raise BadInput(f"--interval is {interval}; it takes 1 to 86400 seconds")
    if scenario is not None:
        if scenario not in _SCENARIOS:
            raise BadInput(f"--scenario is {scenario[:40]!r}; it takes {' or '.join(_SCENARIOS)}")
        return made_up(app)
    with _alone(app):
        watcher = Watcher(app)
        if once:
            return watcher.look()
        return _go_on(watcher, interval)


def _usual(app: Holdfast) -> int:
    """Seconds between two looks: ours, unless the user has set how often to poll."""
    key, config = "auto_context.poll_interval_seconds", app.config
    is_set = any(key in given for given in (config.file, config.environment, config.flags))
    return int(config[key]) if is_set else _EVERY_S


@contextmanager
def _alone(app: Holdfast) -> Iterator[None]:
    """One for each home, as the kernel's lock decides."""
    files.make_dir(app.home.root)
    lock = files.Lock(app.home.root + _LOCK)
    if not lock.attempt():
        raise HoldfastError("a watcher of this home is running already; one sees every session")
    with lock:
        yield


def _go_on(watcher: Watcher, interval: int) -> Watch:
    """Until it is stopped: a look at everything every so often, and in between at what has changed."""
    from holdfast.agents.table import showing

    with showing() as show:
        try:
            while True:
                show(watcher.look())
                until = elapsed() + interval
                while (left := until - elapsed()) > 0:
                    time.sleep(min(left, _GLANCE_S))
                    if until - elapsed() > 0:
                        show(watcher.look(at_all=False))
        except KeyboardInterrupt:
            return watcher.seen


class Row:
    """One that is looked at, and what comes of it."""

    def __init__(self, facts: Facts, gone: bool, found: list[Finding]) -> None:
        self.facts, self.gone, self.found = facts, gone, found
        self.trigger = self.opinion = ""

    def finding(self, action: str) -> Finding | None:
        return next((one for one in self.found if one.action == action), None)

    @property
    def status(self) -> str:
        return rules.status_of(self.found)

    def observed(self) -> Observed:
        facts = self.facts
        resting = rules.is_resting(facts)
        return Observed(
            session=facts.session,
            agent=facts.agent,
            role=facts.role,
            project=facts.project,
            liveness="gone" if self.gone else "resting" if resting else "working",
            level=facts.level,
            fill=facts.fill,
            used=facts.used,
            capacity=facts.capacity,
            context_metrics={
                "estimated_usage": round(min(facts.percent / 100, 1.0), 4),
                "message_count": facts.messages,
                "tool_calls": facts.calls,
                "last_checkpoint": rfc3339(facts.saved_at) if facts.saved_at else None,
            },
            status=self.status,
            recommended_action=rules.action_of(self.found),
            findings=[one.what for one in self.found],
            last=rfc3339(facts.last_at) if facts.last_at else "",
            trigger=self.trigger,
            opinion=self.opinion,
        )


class Watcher:
    def __init__(self, app: Holdfast) -> None:
        self._current, self._app = Current(app), app
        self._machine = Machine()
        self._advisor = Advisor(app)
        self._told: dict[str, str] = {}  # who -> its status when that was last noted
        self._asked = self._saved = 0
        self._team: Drain | None = None
        self._sending: threading.Thread | None = None
        self.seen = Watch(rfc3339(now()), [], 0, 0, self._advisor.says, [])

    def look(self, at_all: bool = True) -> Watch:
        """At all of them; else, in between, only at what may become urgent."""
        self._app = self._current.app()
        moment, problems = now(), list[str]()
        if at_all:
            self._attempt(problems, "the spool", lambda: drain(self._app))
        rows = [self._row(one, moment) for one in self._machine.look(self._app, moment, at_all)]
        for row in rows:
            if row.finding(rules.SAVE):
                self._attempt(problems, row.facts.name, partial(self._save_for, row.facts, moment))
        self._attempt(problems, "the board", lambda: self._ask(rows, moment))
        if at_all:
            self._attempt(problems, "the advisor", lambda: self._consult(rows, moment))
        if self._app.config["store.url"]:
            self._attempt(problems, "the team", self._sync)
        self._note(rows)
        seen = [row.observed() for row in rows]
        self.seen = Watch(rfc3339(moment), seen, self._asked, self._saved, self._advisor.says, problems)
        return self.seen

    def _sync(self) -> None:
        """In a thread of its own, which is not waited for longer than a glance: the team's store may be
        long in answering. What became of it stands in the outbox's own state."""
        if self._sending is not None and self._sending.is_alive():
            return
        from holdfast.team.sync import Drain  # only in a team

        self._team = self._team or Drain()
        self._sending = threading.Thread(target=self._send, args=(self._team, self._app), daemon=True)
        self._sending.start()
        self._sending.join(_GLANCE_S)

    def _send(self, drain: Drain, app: Holdfast) -> None:
        with suppress(HoldfastError, OSError):
            drain.look(app)

    def _row(self, facts: Facts, moment: int) -> Row:
        gone = is_gone(facts.process, facts.last_at)
        return Row(facts, gone, rules.findings(facts, gone, moment, self._app.config))

    def _attempt(self, problems: list[str], what: str, work: Callable[[], object]) -> None:
        """One session that cannot be helped costs no other."""
        try:
            work()
        except (OSError, HoldfastError, *MISTAKES) as problem:
            said = str(problem) if isinstance(problem, (OSError, HoldfastError)) else ""
            problems.append(f"{what}: {type(problem).__name__} {said}".rstrip()[:300])
            trail.note(self._app.home, "degraded.watcher", what=problems[-1])

    def _ask(self, rows: list[Row], moment: int) -> None:
        """For a checkpoint, the fullest first, and each a little later than the one before: they shall not
        all save at once. What was asked for already is not asked for again."""
        wait, boards = 0, dict[str, board.Board]()
        for row in sorted(rows, key=lambda row: -row.facts.fill):
            finding = row.finding(rules.TRIGGER)
            if finding is None:
                continue
            where = board.place(row.facts.project or "/")
            if where.key not in boards:
                boards[where.key] = board.load(self._app.home, where.key)
            row.trigger = _posted(boards[where.key], row.facts.name, finding, moment)
            if row.trigger:
                continue
            after = rfc3339(moment + wait * 1000) if wait else ""
            wait += self._app.config["watcher.stagger_seconds"]
            row.trigger = send(
                self._app, where, _trigger(row.facts, finding) | {"after": after}, TRIGGER_MINUTES
            ).id
            self._asked += 1

    def _save_for(self, facts: Facts, moment: int) -> None:
        """Its client is gone, and with it every hook that could."""
        data = {"cwd": facts.project, "transcript_path": facts.transcript, "why": "its client is gone"}
        if facts.agent:
            data |= {"agent_id": facts.agent, "agent_transcript_path": facts.transcript}
        if engine.handle(Event(OWED, facts.session, moment, data), self._app).checkpoint:
            self._saved += 1

    def _consult(self, rows: list[Row], moment: int) -> None:
        """A second opinion on what rules cannot tell. It may add a checkpoint, and takes back none."""
        for row in rows:
            if not row.finding(rules.TELL) or row.gone:
                continue
            opinion = self._advisor.on(row.observed(), row.facts.started)
            row.opinion = str(opinion or "")
            if (
                opinion
                and opinion.action == rules.TRIGGER
                and not row.finding(rules.TRIGGER)
                and row.facts.unsaved
            ):
                row.found.append(
                    Finding(
                        row.status,
                        rules.TRIGGER,
                        f"advised_{opinion.status}",
                        row.opinion,
                        row.facts.saved_at,
                    )
                )
        self._ask(rows, moment)

    def _note(self, rows: list[Row]) -> None:
        """Whatever has changed, once."""
        for row in rows:
            if row.status != self._told.get(row.facts.name, rules.OK):
                found = row.found[0] if row.found else Finding(rules.OK, rules.NOTHING, "", "")
                whose = {"session": row.facts.session, "agent": row.facts.agent}
                trail.note(
                    self._app.home,
                    "watch.found",
                    **whose,
                    status=row.status,
                    action=found.action,
                    why=found.reason,
                )
        self._told = {row.facts.name: row.status for row in rows}


def _trigger(facts: Facts, finding: Finding) -> dict[str, str]:
    return {
        "type": TRIGGER,
        "from": WATCHER,
        "to": facts.name,
        "reason": finding.reason,
        "status": finding.status,
        "action": finding.action,
        "text": finding.what,
    }


def _posted(found: board.Board, name: str, finding: Finding, moment: int) -> str:
    """The id of a trigger that says the same, posted since."""
    return next(
        (
            uid
            for uid, one in reversed(found.messages.items())
            if (one["type"], one["from"], one["to"], one["reason"])
            == (TRIGGER, WATCHER, name, finding.reason)
            and (at(one["at"]) >= finding.since or at(one["at"]) > moment)
        ),
        "",
    )


def made_up(app: Holdfast) -> Watch:
    """Three agents, one of them over the threshold."""
    moment = now()
    rows = []
    for number, fill in enumerate((34.0, 63.5, 12.2), 1):
        facts = Facts(
            session=f"example-{number}",
            agent="",
            role="lead",
            project="/example/project",
            transcript="",
            model="",
            level="proactive checkpoint" if fill >= app.config["ladder.checkpoint"] else "normal",
            used=int(1670 * fill),
            capacity=167_000,
            percent=fill * 0.835,
            fill=fill,
            turns=number * 9,
            unsaved=4,
            is_saved_here=False,
            active_ms=600_000,
            told_at=moment,
            last_at=moment,
            last="PostToolBatch",
            ended="",
            process=0,
            started="",
            owed="",
            owed_at=0,
            since=0,
            saved_at=moment - 600_000,
            saved="",
            repeated=1,
            failing=0,
            thrashes=False,
            messages=number * 18,
            calls=number * 20,
        )
        row = Row(facts, False, rules.findings(facts, False, moment, app.config))
        row.trigger = "would be posted" if row.finding(rules.TRIGGER) else ""
        rows.append(row.observed())
    return Watch(rfc3339(moment), rows, 0, 0, "made-up data: nothing was read or written", [])
