"""How far long work is: on a terminal, on stderr, and only once somebody has had to wait."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE_S = 0.5


class Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._due = time.monotonic() + _PATIENCE_S if sys.stderr.isatty() else float("inf")
        self._shown: Progress | None = None

    def __enter__(self) -> Bar:
        return self

    def show(self, done: int, of: int) -> None:
        """So many bytes of so many."""
        if self._shown is None:
            if time.monotonic() < self._due:
                return
            self._shown = self._begin()
        self._shown.update(self._shown.task_ids[0], completed=done, total=of)

    def _begin(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        shown = Progress(*columns, console=Console(stderr=True), transient=True)
        shown.add_task(self._what)
        shown.start()
        return shown

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._shown.stop()
