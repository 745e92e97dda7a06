"""What changes, told to the pages that show it.

One look for all browsers, and only while one is there: which sessions have changed (by the times of their
files), then those alone are read again, at most so many at a time. How things stand is what `sessions` says
of them, by the same function.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from nicegui import background_tasks

from holdfast.app import Holdfast
from holdfast.core.ladder import LEVELS
from holdfast.errors import HoldfastError
from holdfast.ops.context import newest_first
from holdfast.ops.fills import Saved, Session, described, last_saved
from holdfast.ops.registry import Operation, everything
from holdfast.serve.work import Work

#: Seconds between two looks; sessions read again in one of them.
LOOK_S, _AT_ONCE = 0.2, 24
#: Read before the first page is shown: as many as it shows. The others follow while one looks.
FIRST = 40
#: Sessions there are pages for: of more than that nobody looks at all.
_MOST = 2000
_LANE = "pages"

Listener = Callable[[set[str]], Awaitable[None]]


class _Ear:
    """One page: told one thing after the other; what changes meanwhile is told together. Where it fails, no
    other page is kept waiting. `pause_s`: what it asks for costs too much to be asked more often."""

    def __init__(self, listener: Listener, pause_s: float) -> None:
        self.listener = listener
        self.pause_s = pause_s
        self.owed: set[str] = set()
        self.telling: asyncio.Task[None] | None = None

    def tell(self, changed: set[str]) -> None:
        self.owed |= changed
        if self.telling is None or self.telling.done():
            self.telling = background_tasks.create(self._tell(), name="holdfast tells a page")

    async def _tell(self) -> None:
        while self.owed:
            changed, self.owed = self.owed, set()
            await self.listener(changed)
            await asyncio.sleep(self.pause_s)


class Live:
    def __init__(self, work: Work, root: str) -> None:
        self.work = work
        self.root = root
        self.rows: dict[str, Session] = {}
        self.order: list[str] = []
        self._changed: dict[str, float] = {}
        self._owed: dict[str, float] = {}
        self._saved: Saved = {}
        self._index = (-1, -1)
        self._ears: list[_Ear] = []
        self._looking: asyncio.Task[None] | None = None
        self._operations = {one.name: one for one in everything()}

    async def ask(self, name: str, /, **given: Any) -> Any:
        """An operation of the registry, carried out as for any other shell."""
        operation: Operation = self._operations[name]
        if operation.local:
            raise KeyError(name)
        return await self.work.do(operation, operation.load(), given)

    def rungs(self) -> list[int]:
        return [self.work.app().config[key] for _, key, _ in LEVELS]

    async def ready(self) -> None:
        """The newest rows are there: read when the first page is opened, from then on kept."""
        if not self._ears:
            await self._look(FIRST)

    def listen(self, listener: Listener, pause_s: float = 0.0) -> Callable[[], None]:
        """Told which sessions have changed, until what is returned is called."""
        ear = _Ear(listener, pause_s)
        self._ears.append(ear)
        if self._looking is None or self._looking.done():
            self._looking = background_tasks.create(self._watch(), name="holdfast looks")

        def stop() -> None:
            with suppress(ValueError):
                self._ears.remove(ear)

        return stop

    async def _watch(self) -> None:
        while self._ears and not self.work.stopping:
            await asyncio.sleep(LOOK_S)
            changed = await self._look(_AT_ONCE)
            for ear in list(self._ears) if changed else ():
                ear.tell(changed)

    async def _look(self, most: int) -> set[str]:
        app = copy.copy(self.work.app())
        try:
            rows = await self.work.in_thread(_LANE, lambda: self._read(app, most))
        except (HoldfastError, OSError):  # a disk that does not answer: what was known stays
            return set()
        there = set(self.order)
        self.rows = {name: row for name, row in (self.rows | rows).items() if name in there}
        return set(rows) & there

    def _read(self, app: Holdfast, most: int) -> dict[str, Session]:
        found = newest_first(app)[:_MOST]
        self.order = [name for _, name in found]
        for changed, name in found:
            if self._changed.get(name) != changed:
                self._changed[name] = self._owed[name] = changed
        self._note_saved(app)
        due = sorted(self._owed, key=lambda name: -self._owed[name])[:most]
        rows = described(app, [(self._owed.pop(name), name) for name in due], self._saved)
        return {row.session: row for row in rows}

    def _note_saved(self, app: Holdfast) -> None:
        """A checkpoint is in the index a moment after its session has changed."""
        try:
            state = os.stat(app.home.index)
        except OSError:
            return
        if (state.st_mtime_ns, state.st_size) != self._index:
            self._index = (state.st_mtime_ns, state.st_size)
            saved, before = last_saved(app), self._saved
            self._saved = saved
            for name, said in saved.items():
                if name in self._changed and before.get(name) != said:
                    self._owed.setdefault(name, self._changed[name])
