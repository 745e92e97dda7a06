"""How far a workflow is, while it is carried out: bars on a terminal, lines anywhere else; on stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Shown:
    def __init__(self, tasks: int) -> None:
        self._of = tasks
        self._bars: Progress | None = None
        self._whole: TaskID | None = None
        self._running: dict[str, TaskID] = {}

    def __enter__(self) -> Shown:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bars = Progress(*columns, console=Console(stderr=True, markup=False, highlight=False))
            self._bars.start()
            self._whole = self._bars.add_task(f"{self._of} tasks", total=self._of)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            with suppress(OSError):
                self._bars.stop()
            self._bars = None

    def begin(self, done: int) -> None:
        """So many had been done before."""
        if done:
            self.say(f"{done} of {self._of} tasks were done before")
        if self._bars and self._whole is not None:
            self._bars.update(self._whole, completed=done)

    def say(self, words: str) -> None:
        """Whoever looked may be gone: the work is not ended for that."""
        try:
            if self._bars:
                self._bars.console.print(words)
            else:
                sys.stderr.write(f"{words}\n")
                sys.stderr.flush()
        except OSError:
            with open(os.devnull, "wb") as nowhere:  # what is still to be written, now and at the end
                os.dup2(nowhere.fileno(), sys.stderr.fileno())

    def task(self, name: str, words: str, ended: bool | None = None) -> None:
        """One has begun, or has ended, done or not."""
        self.say(f"{name}: {words}")
        if self._bars is None:
            return
        if ended is None:
            self._running[name] = self._bars.add_task(f"  {name}", total=None)
            return
        self._bars.remove_task(self._running.pop(name))
        if ended and self._whole is not None:
            self._bars.advance(self._whole)
