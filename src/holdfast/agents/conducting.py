"""A workflow being carried out.

What is about to be done stands in the state before it is done, and how it ended as soon as it has. Killed
in between, the next run ends what was left running and does again only what had not ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from typing import NamedTuple

from holdfast.agents import children, kept
from holdfast.agents.doing import Doer, prompt
from holdfast.agents.kept import (
    DONE,
    FAILED,
    RUNNING,
    STARTING,
    STOPPED,
    WAITING,
    NodeState,
    Place,
    State,
    TaskState,
)
from holdfast.agents.shown import Shown
from holdfast.agents.workflow import Node, Workflow
from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.batch import facts, sized
from holdfast.core.foreseen import pace
from holdfast.core.stretch import Stretch
from holdfast.disk import client
from holdfast.errors import HoldfastError
from holdfast.material import redactor_of
from holdfast.ops import checkpoints, costs, tasklist
from holdfast.ops.health import health


class Limits(NamedTuple):
    """Tasks at once, how long each may take, how often it is tried again; a session to save with theirs."""

    parallel: int
    timeout_s: int
    retries: int
    session: str


class Conductor:
    def __init__(
        self, app: Holdfast, workflow: Workflow, place: Place, doer: Doer, state: State, limits: Limits
    ) -> None:
        self._limits = limits
        self._app = app
        self._workflow = workflow
        self.place = place
        self._doer = doer
        self.state = state
        self._busy: set[str] = set()
        self._redactor = redactor_of(app, workflow.folder)
        self.warnings: list[str] = []
        self._stopping = False
        self._shown = Shown(len(workflow.tasks))

    # Before and after

    def _settle(self) -> None:
        """What a run before this one left: its processes are ended, what they were doing is done again."""
        self._end_leftovers()
        for task in self.state.tasks.values():
            if task.status != DONE:
                self._close(task.session)
                task.status, task.pid = WAITING, 0
        for node in self.state.nodes.values():
            if node.status != DONE:
                node.status = WAITING
        self.state.status, self.state.pid = RUNNING, os.getpid()
        self._save()

    def _end_leftovers(self) -> None:
        known = [task.pid for task in self.state.tasks.values() if task.pid]
        left = children.end_leftovers(self.place.mark, known)
        if left:
            self._shown.say(f"ended what had been left running: {', '.join(map(str, left))}")

    def _save(self) -> None:
        kept.save(self.place, self.state)

    # The work

    async def conduct(self) -> None:
        loop, work = asyncio.get_running_loop(), asyncio.current_task()
        assert work is not None, "this is one"

        def stop() -> None:
            if not self._stopping:
                self._stopping = True
                work.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup has its reasons
                loop.add_signal_handler(number, stop)
        self._settle()
        try:
            with self._shown:
                self.state.status = DONE if await self._all() else FAILED
        except asyncio.CancelledError:
            self._end_leftovers()  # one that was just being started
            self.state.status = STOPPED
        self._save()

    async def _all(self) -> bool:
        """Whether all is done."""
        self._shown.begin(sum(task.status == DONE for task in self.state.tasks.values()))
        for node in self._workflow.nodes:
            own = self.state.nodes[node.name]
            if own.status == DONE:
                continue
            own.status, own.why = RUNNING, ""
            self._save()
            if node.tasks:
                await self._batch(node, own)
            else:
                before = [name for name in node.after if self.state.nodes[name].status == DONE]
                self._checkpoint(own, node.name, self._tasks_of(before))
            if own.status == RUNNING:
                own.status = DONE
            self._save()
            if own.status != DONE:
                return False
        return True

    def _tasks_of(self, nodes: list[str]) -> list[str]:
        return [task["id"] for node in self._workflow.nodes if node.name in nodes for task in node.tasks]

    async def _batch(self, node: Node, own: NodeState) -> None:
        """Each task as soon as those it waits for are done and there is a place. Where what was spent
        leaves no room for the next, a checkpoint is taken before it."""
        waiting = [task for task in node.tasks if self.state.tasks[task["id"]].status != DONE]
        running: dict[asyncio.Task[None], dict] = {}
        fresh = [task["id"] for task in node.tasks if task not in waiting]  # not yet saved by a checkpoint
        cost = sum(self.state.tasks[name].cost for name in fresh)
        own.spent = [*own.spent[:-1], max(0, cost - sum(own.spent[:-1]))]
        try:
            while waiting or running:
                ready = [task for task in waiting if self._may_start(task)]
                while ready and len(running) < self._limits.parallel:
                    task = ready[0]
                    reserved = sum(one["estimate"] for one in running.values())
                    is_full = 0 < self._workflow.budget < own.spent[-1] + reserved + task["estimate"]
                    if is_full and running:
                        break
                    if is_full and own.spent[-1]:
                        self._checkpoint(own, f"{node.name}, its budget used", fresh)
                        own.spent, fresh = [*own.spent, 0], []
                        self._save()
                    waiting.remove(ready.pop(0))
                    running[asyncio.create_task(self._task(task))] = task
                if not running:
                    break  # the rest waits for what failed
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    one.result()
                    task = running.pop(one)
                    own.spent[-1] += self.state.tasks[task["id"]].cost
                    fresh.append(task["id"])
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self._judge(node, own)

    def _may_start(self, task: dict) -> bool:
        return all(self.state.tasks[name].status == DONE for name in task.get("depends_on", ()))

    def _judge(self, node: Node, own: NodeState) -> None:
        failed = [task["id"] for task in node.tasks if self.state.tasks[task["id"]].status != DONE]
        if failed:
            own.status, own.why = FAILED, f"not done: {', '.join(failed)}"
            self._warn(f"{node.name} is not done, nor is what comes after it: {', '.join(failed)}")
        elif 0 < self._workflow.budget < max(own.spent):
            self._warn(
                f"{node.name} took {max(own.spent):,} tokens, more than its {self._workflow.budget:,}"
            )

    async def _task(self, task: dict) -> None:
        retries = self._limits.retries if task.get("retries") is None else task["retries"]
        for again in range(retries + 1):
            if await self._attempt(task, fresh=again > 0):
                return

    async def _attempt(self, task: dict, fresh: bool) -> bool:
        own, name = self.state.tasks[task["id"]], task["id"]
        session = "" if fresh or own.tries else self._session_with_room(self._expected(task["estimate"]))
        is_new = not session
        own.session = session = session or str(uuid.uuid4())
        sizes = {file: costs.file_tokens(self._workflow.folder, file) for file in tasklist.named(task)}
        held = frozenset[str]() if is_new else self._held(session, task)
        raw, known = sized(task, sizes), facts(task, sizes, held)
        own.status, own.tries, own.why, own.pid = STARTING, own.tries + 1, "", 0
        own.began, own.ended, own.exit_code = rfc3339(now()), "", None
        self._count(session, is_new)
        self._save()
        self._shown.task(name, f"started, {'session' if is_new else 'goes on in session'} {session}")
        self._busy.add(session)
        why = "stopped"
        try:
            why = await self._child(task, own, session, is_new)
        finally:
            self._busy.discard(session)
            own.status = DONE if not why else STOPPED if self._stopping else FAILED
            own.why, own.ended, own.pid = why, rfc3339(now()), 0
            own.cost = self._cost(session)
            if own.status != DONE:
                self._close(session)
            self._save()
            self._shown.task(name, f"{own.status}{f': {why}' if why else ''}", ended=own.status == DONE)
        if own.status == DONE and own.cost:
            self._learn(name, costs.Row(raw, own.cost, known.as_list() if known else []))
        return own.status == DONE

    async def _child(self, task: dict, own: TaskState, session: str, is_new: bool) -> str:
        """Why it is not done; "" if it is."""
        try:
            child = await self._start(task, session, is_new)
        except (OSError, ValueError) as problem:  # also of words that cannot be an argument
            return f"could not be started: {problem}"
        try:
            own.status, own.pid = RUNNING, child.pid
            self._save()
            limit = task.get("timeout_s") or self._limits.timeout_s
            own.exit_code = await child.ended(limit)
        finally:
            await child.end()
        if child.log.trouble:
            self._warn(f"what {task['id']} printed is not kept: {child.log.trouble}")
        if own.exit_code is None:
            return f"took more than {limit} s"
        return f"exit code {own.exit_code}" if own.exit_code else ""

    def _expected(self, estimate: int) -> int:
        """At the pace at which the tasks before it were done."""
        done = [(one.estimate, one.cost) for one in self.state.tasks.values() if one.status == DONE]
        return round(estimate * pace(done))

    def _learn(self, name: str, row: costs.Row) -> None:
        """For later estimates: nothing that fails here is worth the work."""
        try:
            costs.note(self._app, {costs.planned_name(self.state.run, name): row})
        except (HoldfastError, OSError) as problem:
            self._warn(f"what {name} cost is not kept: {problem}")

    async def _start(self, task: dict, session: str, is_new: bool) -> children.Child:
        return await children.start(
            self._doer.argv(task, session, is_new),
            prompt(task),
            self._doer.by_stdin,
            self._workflow.folder,
            self._app.environ,
            self.place.mark,
            children.Log(self.place.log(task["id"], self.state.tasks[task["id"]].tries), self._redactor),
        )

    # Sessions

    def _session_with_room(self, estimate: int) -> str:
        """One of ours that may take on another: below the number of specs, with room by the 60 % rule."""
        if not self._doer.resumes:
            return ""
        for one in self.state.sessions:
            if one.closed or one.id in self._busy or one.tasks >= self._app.config["orchestrator.specs"]:
                continue
            try:
                room = health(self._app, session=one.id).room
            except HoldfastError:  # its transcript is gone: it cannot be gone on with
                continue
            if room >= estimate:
                return one.id
        return ""

    def _count(self, session: str, is_new: bool) -> None:
        if is_new:
            self.state.sessions.append(kept.SessionState(session))
        for one in self.state.sessions:
            one.tasks += one.id == session

    def _close(self, session: str) -> None:
        """Half of a task is in it: it is given no other."""
        for one in self.state.sessions:
            one.closed = one.closed or one.id == session

    def _cost(self, session: str) -> int:
        """What the task added to its window, by the client's own transcript; 0 where there is none."""
        stretches = self._stretches(session)
        return stretches[-1].cost if stretches else 0

    def _held(self, session: str, task: dict) -> frozenset[str]:
        """Which of its files the session has in its window, from what it did before."""
        stretches = self._stretches(session)
        held = stretches[-1].window if stretches else ()
        return costs.named_in(held, self._workflow.folder, tasklist.named(task))

    def _stretches(self, session: str) -> list[Stretch]:
        path = client.transcript(self._app.client_dir, session)
        try:
            return costs.of_transcript(path) if path else []
        except OSError:  # gone since, or not ours to read
            return []

    def _checkpoint(self, own: NodeState, where: str, tasks: list[str]) -> None:
        """Of every session that has worked since the last one, by the operation itself."""
        names = dict.fromkeys(self.state.tasks[name].session for name in tasks)
        known = [name for name in names if client.transcript(self._app.client_dir, name)]
        if self._limits.session:
            known.append(self._limits.session)
        if not known:
            own.why = "no session to save: its tasks left no transcript"
            self._warn(f"{where}: {own.why}")
        for name in known:
            try:
                taken = checkpoints.take(
                    self._app, session=name, note=f"workflow {self._workflow.path}: {where}"
                )
            except (HoldfastError, OSError) as problem:
                own.status, own.why = FAILED, str(problem)
                self._warn(f"{where}: {problem}")
                return
            own.checkpoints.append(taken.path)
            self._shown.say(f"{where}: {taken.path}")

    def _warn(self, words: str) -> None:
        self.warnings.append(words)
        self._shown.say(f"! {words}")
