"""Session: how its window filled, what was saved, what each compaction cost, what fills it now."""

from __future__ import annotations

import time

from markupsafe import Markup
from nicegui import ui

from holdfast.disk.home import is_safe_name
from holdfast.ops.history import History, Kept
from holdfast.report import parts
from holdfast.report.markup import clock, joined, prose
from holdfast.serve.dashboard.frame import Box, asked, empty, heading, page, routed
from holdfast.serve.dashboard.live import Live

#: Seconds for which an account of what fills the window holds: it reads the whole transcript.
_HOLDS_S = 15.0
#: Checkpoints listed here; all of them are on their own page.
_ROWS = 12


def add(live: Live) -> None:
    @routed("/session/{name}", "Session")
    async def show(name: str) -> None:
        await live.ready()
        with page(live, "", "Session"):
            shown = _Session(live, name)
            ui.context.client.on_delete(live.listen(shown.update))
            await shown.refresh()
        await ui.context.client.connected()
        await shown.explain()


class _Session:
    def __init__(self, live: Live, name: str) -> None:
        self.live = live
        self.name = name if is_safe_name(name) else ""
        self.client = ui.context.client
        self.explained = -_HOLDS_S
        self.head = Box(classes="card")
        self.amiss = Box()
        heading("Course")
        self.course = Box(classes="card course")
        heading("Compactions")
        self.cuts = Box()
        heading("What fills the window")
        self.fills = Box(
            Markup('<p class="dim waiting">{}</p>').format("Reading the transcript …"), classes="card"
        )
        heading("Checkpoints")
        self.kept = Box(classes="card")

    async def update(self, changed: set[str]) -> None:
        if self.name in changed:
            await self.refresh()
            await self.explain()

    async def refresh(self) -> None:
        given, problem = await asked(self.live, "history", session=self.name)
        with self.client:
            if given is None:
                self.amiss.put(problem)
                if self.kept.is_empty:
                    self._say_nothing()
                return
            self._put(given)

    def _say_nothing(self) -> None:
        nothing = empty(
            "There is nothing to show of this session.", "holdfast sessions", "lists those there are."
        )
        self.head.put(
            Markup('<header class="who"><h1>{}</h1></header>').format(self.name or "No such session")
        )
        for box in (self.course, self.cuts, self.fills, self.kept):
            box.put(nothing)

    def _put(self, of: History) -> None:
        self.head.put(parts.session_head(of, of.usage.model))
        self.amiss.put(parts.warnings(of.usage.degraded))
        self.course.put(parts.course(of))
        self.cuts.put(
            joined(map(parts.compaction, reversed(of.compactions))) or empty("Not compacted so far.")
        )
        self.kept.put(kept(self.live, of))

    async def explain(self) -> None:
        if time.monotonic() - self.explained < _HOLDS_S:
            return
        self.explained = time.monotonic()
        given, problem = await asked(self.live, "explain", session=self.name)
        with self.client:
            self.fills.put(problem if given is None else parts.fills(given))


def kept(live: Live, of: History) -> Markup:
    if not of.known:
        return parts.kept(of.checkpoints)
    if not of.checkpoints:
        return empty(
            "None yet. One is taken before a compaction, as the window fills, or now:", "/holdfast:save"
        )
    newest = sorted(of.checkpoints, key=lambda one: one.at, reverse=True)
    rows = joined(_row(live, one) for one in newest[:_ROWS])
    more = len(newest) - _ROWS
    rest = Markup('<p class="dim">and {} older ones</p>').format(more) if more > 0 else ""
    return Markup("<table><tbody>{}</tbody></table>{}").format(rows, rest)


def _row(live: Live, one: Kept) -> Markup:
    whose = Markup(' <span class="tag">agent {}</span>').format(one.agent[:12]) if one.agent else ""
    return Markup(
        '<tr><td class="when"><a href="{}/checkpoints?name={}">{}</a></td><td>{}{}</td>'
        '<td class="n dim broad">{}</td><td class="n dim broad">turn {}</td></tr>'
    ).format(live.root, one.id, one.id, prose(one.reason), whose, clock(one.at), one.turn)
