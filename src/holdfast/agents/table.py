"""What a watcher sees, as text: a table that stays in its place on a terminal, elsewhere a line for each
change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from holdfast.agents.rules import DEAD, OK
from holdfast.agents.watcher import Observed, Watch
from holdfast.core.plain import excerpt, one_line
from holdfast.ops.fitting import Fitting
from holdfast.ops.words import ago, many, short

_STYLES = {DEAD: "red", OK: ""}
_BAR = 12


@contextmanager
def showing() -> Iterator[Callable[[Watch], None]]:
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield _Lines().show
        return
    with Live(console=console, auto_refresh=False, screen=False) as live:
        yield lambda seen: live.update(table(seen), refresh=True)


class _Lines:
    def __init__(self) -> None:
        self._before: dict[str, str] = {}

    def show(self, seen: Watch) -> None:
        """What has changed since."""
        now = {f"{one.session} {one.agent}": line(one) for one in seen.sessions}
        for who, said in now.items():
            if self._before.get(who, "").partition("  ")[2] != said.partition("  ")[2]:
                sys.stdout.write(f"{seen.at}  {said}\n")
        for problem in seen.problems:
            sys.stdout.write(f"{seen.at}  {one_line(problem)}\n")
        sys.stdout.flush()
        self._before = now


def line(one: Observed) -> str:
    """Without what changes all the time: the fill is told by its level."""
    who = " ".join(filter(None, (short(one.session), one.agent)))
    said = (
        f"{one.level}  {one.liveness}  STATUS: {one.status}  RECOMMENDED_ACTION: {one.recommended_action}"
    )
    return f"{who}  {said}" + "".join(f"  {one_line(what)}" for what in one.findings)


def table(seen: Watch) -> RenderableType:
    counted = f"{many(len(seen.sessions), 'agent')} at work, {seen.asked} asked for a checkpoint"
    head = Text(f"{counted}, {seen.saved} saved for those that are gone; {seen.models}")
    if not seen.sessions:
        return Group(head, Text("no session is live; start one, and its hooks tell of it"))
    rows = Fitting(
        ("session", "agent", "full", "", "last", "state", "status", "action", "why", "project"),
        spare=("why", "", "state", "project", "last"),  # why stands below, too
        wrapped=("why", "project"),
    )
    for one in seen.sessions:
        done = min(_BAR, int(one.fill * _BAR / 100))
        why = "; ".join(filter(None, (*one.findings, one.opinion)))
        rows.add_row(
            short(one.session)[:13],
            one.agent[:12] or one.role,
            f"{one.fill:.0f} %",
            "█" * done + "─" * (_BAR - done),
            ago(one.last),
            one.liveness,
            Text(one.status, _STYLES.get(one.status, "yellow")),
            one.recommended_action,
            excerpt(why, 120),
            one_line(one.project),
        )
    odd = [Text(line(one)) for one in seen.sessions if one.status != OK]
    return Group(head, rows, *odd, *(Text(one_line(problem), "red") for problem in seen.problems))
