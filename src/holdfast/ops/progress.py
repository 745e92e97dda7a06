"""How far long work is, on stderr, once somebody has had to wait: a bar on a terminal, elsewhere a plain
line now and then."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress

#: Seconds before a bar is shown; before a plain line is, and between two.
_PATIENCE_S, _PLAIN_S = 0.5, 5.0


class Bar:
    """`counts`: things that are done one by one, not bytes."""

    def __init__(self, what: str, *, counts: bool = False) -> None:
        self._what = what
        self._counts = counts
        self._is_plain = not sys.stderr.isatty()
        self._due = time.monotonic() + (_PLAIN_S if self._is_plain else _PATIENCE_S)
        self._shown: Progress | None = None

    def __enter__(self) -> Bar:
        return self

    def show(self, done: int, of: int) -> None:
        """So many bytes, or things, of so many."""
        if self._shown is None:
            if time.monotonic() < self._due:
                return
            if self._is_plain:
                self._due = time.monotonic() + _PLAIN_S
                sys.stderr.write(f"holdfast: {self._what}: {100 * done // max(1, of)} %\n")
                return
            self._shown = self._begin()
        self._shown.update(self._shown.task_ids[0], completed=done, total=of)

    def _begin(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        size = MofNCompleteColumn() if self._counts else DownloadColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), size, TimeRemainingColumn())
        shown = Progress(*columns, console=Console(stderr=True), transient=True)
        shown.add_task(self._what)
        shown.start()
        return shown

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._shown.stop()
