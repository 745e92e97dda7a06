"""A table that leaves columns out until it fits: of ten that are squeezed into a few characters each, none
can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table

#: What a column of running text needs to be worth its place.
_READABLE = 16
#: Wider than any terminal.
_ANY = 10_000


class Fitting:
    """`spare` are those that may go, the first of them first; `wrapped` may break over lines; `right` are
    numbers."""

    def __init__(
        self, names: Sequence[str], spare: Sequence[str], wrapped: Sequence[str], right: Sequence[str] = ()
    ) -> None:
        self._names, self._spare, self._wrapped, self._right = names, spare, wrapped, right
        self._rows: list[tuple[RenderableType, ...]] = []

    def add_row(self, *cells: RenderableType) -> None:
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        wide = options.update(width=_ANY)
        for left_out in range(len(self._spare) + 1):
            made = self._without(console, wide, self._spare[:left_out])
            if Measurement.get(console, wide, made).minimum <= options.max_width:
                break
        yield made

    def _without(self, console: Console, wide: ConsoleOptions, spared: Sequence[str]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        kept = [at for at, name in enumerate(self._names) if name not in spared]
        for at in kept:
            name = self._names[at]
            cells = [name, *(row[at] for row in self._rows if at < len(row))]
            needs = max(Measurement.get(console, wide, cell).maximum for cell in cells)
            free = name in self._wrapped
            table.add_column(
                name,
                justify="right" if name in self._right else "left",
                no_wrap=not free,
                overflow="fold",
                min_width=min(needs, _READABLE) if free else needs,
            )
        for row in self._rows:
            table.add_row(*(row[at] for at in kept if at < len(row)))
        return table
