"""How the service carries an operation out: at once where it only counts, else in a thread, within a time
limit; saves that wait at the same time, with one write.

A lock on a file is the process's, not a thread's: two threads that take it both have it. So whatever may
take the same one goes one after the other, in a lane: all writes share one, every read has its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from holdfast.app import Holdfast
from holdfast.disk import noted, trail
from holdfast.errors import HoldfastError
from holdfast.ops import contract
from holdfast.ops.breakpoints import drain
from holdfast.ops.config import Current
from holdfast.ops.registry import Operation
from holdfast.ops.saves import Draft, Saved, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.team.sync import Drain

_WRITES, _MEMORY, _TEAM = "writes", "memory", "team"
#: Turns of the event loop in which saves that are just arriving join a batch.
_TURNS = 3
#: Operation -> the parameter with which it neither reads nor writes a file.
_COUNTED = {"context.usage": "used_tokens"}
_AUTO_SAVE = "context.auto-save"


class Overdue(HoldfastError):
    """The disk, or a long scan, has kept an operation beyond its time. It goes on, unheard."""

    status = 503


@dataclass
class _Batch:
    """Saves that are written together; `done` gives what became of each."""

    drafts: list[Draft] = field(default_factory=list)
    done: asyncio.Task[list[Saved | HoldfastError | OSError]] | None = None


class Work:
    def __init__(self, app: Holdfast) -> None:
        self._current = Current(app)
        self._lanes: dict[str, ThreadPoolExecutor] = {}
        self._running: set[Future[Any]] = set()
        self._writing = asyncio.Lock()
        self._batch = _Batch()
        self._settling: asyncio.Task[None] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._team: Drain | None = None
        self._trouble = ""
        self.stopping = False

    def app(self) -> Holdfast:
        return self._current.app()

    async def do(self, operation: Operation, function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
        if given.get(_COUNTED.get(operation.name, "")) is not None and not given.get("session"):
            return function(self.app(), **given)
        if operation.name == _AUTO_SAVE:
            return await self._auto_save(dict(given))
        app = copy.copy(self.app())  # an operation may note on it what it met
        return await self.in_lane(operation, lambda: function(app, **given))

    async def in_lane(self, operation: Operation, call: Callable[[], Any]) -> Any:
        return await self.in_thread(_WRITES if operation.writes else operation.name, call)

    async def in_thread(self, lane: str, call: Callable[[], Any]) -> Any:
        seconds = self.app().config["service.timeout_seconds"]
        running = self._begun(lane, call)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), seconds)
        except TimeoutError:
            raise Overdue(
                f"not done in {seconds} s (service.timeout_seconds); `holdfast status` says whether the "
                "disk answers"
            ) from None

    def afterwards(self, lane: str, call: Callable[[], Any]) -> None:
        """When what the lane is at has ended; nobody waits for it."""
        with contextlib.suppress(RuntimeError):  # the service is stopping
            self._begun(lane, call)

    def _begun(self, lane: str, call: Callable[[], Any]) -> Future[Any]:
        if lane not in self._lanes:
            self._lanes[lane] = ThreadPoolExecutor(1, lane)
        running = self._lanes[lane].submit(call)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return running

    async def _auto_save(self, given: dict[str, Any]) -> contract.AutoSaved:
        app, most, session = (
            copy.copy(self.app()),
            given.pop("max_tokens", None),
            given.pop("session", None),
        )
        find = functools.partial(contract.window, app, most, session)
        size = await self.in_thread("usage", find) if session else find()
        saved = await self._saved(contract.drafted(max_tokens=size, **given))
        return contract.answered(app, saved)

    async def _saved(self, draft: Draft) -> Saved:
        """Durable. While one batch is written, the next one gathers."""
        batch, place = self._batch, len(self._batch.drafts)
        batch.drafts.append(draft)
        if batch.done is None:
            batch.done = asyncio.create_task(self._write(batch))
        saved = await asyncio.shield(batch.done)  # whoever hangs up takes nobody else's save along
        one = saved[place]
        if isinstance(one, Exception):
            raise one
        return one

    async def _write(self, batch: _Batch) -> list[Saved | HoldfastError | OSError]:
        async with self._writing:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            self._batch = _Batch()
            app = copy.copy(self.app())
            done = await self.in_thread(_WRITES, lambda: _kept(app, batch.drafts))
            return [done[id(draft)] for draft in batch.drafts]

    async def settle(self) -> None:
        """What a commit hook has left in the spool is saved, unless that is being done already."""
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle())
        if self.app().config["store.url"] and (self._syncing is None or self._syncing.done()):
            self._syncing = asyncio.create_task(self._sync())

    async def _sync(self) -> None:
        """In a lane of its own: the team's store may be long in answering, and nobody here waits for it.
        What goes wrong with it stands in the outbox's own state."""
        if self._team is None:
            from holdfast.team.sync import Drain  # only in a team

            self._team = Drain()
        drain, app = self._team, copy.copy(self.app())
        with contextlib.suppress(Overdue, HoldfastError, OSError):
            await self.in_thread(_TEAM, lambda: drain.look(app))

    async def _settle(self) -> None:
        app = copy.copy(self.app())
        trouble = ""
        try:
            await self.in_thread(_WRITES, lambda: drain(app))
            await self.in_thread(_MEMORY, lambda: _remember(app))
        except (HoldfastError, OSError) as problem:  # it waits on
            trouble = str(problem)
        if trouble and trouble != self._trouble:  # said once, not every two seconds
            trail.note(app.home, "degraded.service", what=trouble)
        self._trouble = trouble

    def close(self, seconds: float) -> bool:
        """No more work. False where some is still going on after so long, and may for ever."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        return not wait(set(self._running), seconds).not_done


def _remember(app: Holdfast) -> None:
    if noted.size(app.home):
        from holdfast.memory import deep  # only where there is work for it

        deep.take_in(app)


def _kept(app: Holdfast, drafts: list[Draft]) -> dict[int, Saved | HoldfastError | OSError]:
    """What became of each, by its identity. One environment that cannot be written costs no other."""
    done: dict[int, Saved | HoldfastError | OSError] = {}
    for environment in {draft.environment for draft in drafts}:
        those = [draft for draft in drafts if draft.environment == environment]
        try:
            found: Sequence[Saved | HoldfastError | OSError] = keep(app, those)
        except (HoldfastError, OSError) as problem:
            found = [problem] * len(those)
        done.update(zip(map(id, those), found, strict=True))
    return done
