"""Agents: who works for which session, what stands on the board of a project, its tasks and who waits for
whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from nicegui import ui

from holdfast.ops.board import Message
from holdfast.ops.fills import Session
from holdfast.ops.words import many, who
from holdfast.report.markup import chip, joined, prose, short_path
from holdfast.serve.dashboard.frame import Box, asked, choice, empty, heading, page, projects, routed
from holdfast.serve.dashboard.live import Live
from holdfast.store.chains import Link
from holdfast.store.task import Task

_MESSAGES = 40
_PAUSE_S = 1.0


def add(live: Live) -> None:
    @routed("/agents", "Agents")
    async def show() -> None:
        await live.ready()
        with page(live, "agents", "Agents"):
            shown = _Agents(live)
            ui.context.client.on_delete(live.listen(shown.update, _PAUSE_S))
            await shown.read()


class _Agents:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        self.projects = projects(live)
        self.project = self._first()
        ui.html("Agents", sanitize=False, tag="h1").classes("sr")
        heading("Sessions with agents")
        self.who = Box(self._who(), classes="card")
        heading("Board")
        with ui.element("div").classes("tools"):
            which = Box(choice(self.projects, self.project))
            which.element.on("change", self._choose, js_handler="(e) => emit(e.target.value)")
        self.board = Box(classes="card")
        heading("Tasks")
        self.tasks = Box(classes="card")
        heading("Who waits for whom")
        self.chains = Box(classes="card")

    def _first(self) -> str:
        """The newest project that has agents, else the newest."""
        having = {one.project for one in self.live.rows.values() if one.agents}
        return next((path for path in self.projects if path in having), next(iter(self.projects), ""))

    async def update(self, changed: set[str]) -> None:  # noqa: ARG002
        with self.client:
            self.who.put(self._who())
        await self.read()

    async def read(self) -> None:
        if not self.project:
            said = empty("No project yet: start a session, and its agents have a board.")
            tasks = chains = Markup('<p class="dim">{}</p>').format("None.")
        else:
            said = await self._asked(
                _board, "board.list", project=self.project, every=True, limit=_MESSAGES
            )
            tasks = await self._asked(_tasks, "task.list", project=self.project, limit=_MESSAGES)
            chains = await self._asked(_chains, "task.chain")
        with self.client:
            self.board.put(said)
            self.tasks.put(tasks)
            self.chains.put(chains)

    async def _asked(self, shown: Callable[[Any], Markup], operation: str, **given: Any) -> Markup:
        found, problem = await asked(self.live, operation, **given)
        return problem if found is None else shown(found)

    async def _choose(self, event: object) -> None:
        chosen = str(getattr(event, "args", ""))
        if chosen in self.projects:
            self.project = chosen
            await self.read()

    def _who(self) -> Markup:
        rows = [self.live.rows[name] for name in self.live.order if name in self.live.rows]
        having = [one for one in rows if one.agents]
        if not having:
            return empty(
                "No session has had an agent yet. Ask the client to start some; each saves its own work."
            )
        return Markup("<table><tbody>{}</tbody></table>").format(
            joined(_row(self.live, one) for one in having)
        )


def _row(live: Live, one: Session) -> Markup:
    return Markup(
        '<tr><td><a href="{}/session/{}">{}</a></td><td>{}</td><td class="n">{}</td>'
        '<td class="n dim"><time data-ago datetime="{}"></time></td></tr>'
    ).format(
        live.root,
        one.session,
        short_path(one.project),
        chip(one.level),
        many(one.agents, "agent"),
        one.last,
    )


def _board(those: list[Message]) -> Markup:
    if not those:
        return empty("Nothing on it. Agents and people speak to each other here:", "holdfast board post")
    rows = joined(
        Markup(
            '<tr><td class="when dim"><time data-ago datetime="{}"></time></td><td class="when"><span class="tag">{}</span></td>'
            '<td class="broad">{} → {}</td><td>{}{}</td><td class="n dim">{}</td></tr>'
        ).format(
            one.at,
            one.type,
            who(one.sender),
            who(one.to),
            prose(one.text),
            joined(Markup('<div class="added">{}</div>').format(prose(who(said))) for said in one.done),
            one.state,
        )
        for one in reversed(those)
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)


def _tasks(those: list[Task]) -> Markup:
    if not those:
        return empty("No tasks. Agents share them, each is done by one:", "holdfast task add")
    rows = joined(
        Markup(
            '<tr><td class="when dim">#{}</td><td class="when"><span class="tag">{}</span></td><td>{}</td>'
            '<td class="broad dim">{}</td><td class="n dim">{}</td></tr>'
        ).format(
            one.number,
            one.state,
            prose(one.description),
            who(one.holder or one.finished_by),
            f"{one.lease_s:.0f} s left" if one.state == "claimed" else "",
        )
        for one in those
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)


def _chains(those: list[Link]) -> Markup:
    if not those:
        return Markup('<p class="dim">{}</p>').format("Nobody waits.")
    rows = joined(
        Markup(
            '<tr><td>{}</td><td class="broad"><span class="tag">{}</span></td><td class="dim">{}</td></tr>'
        ).format(who(str(one)), one.state, who(one.holder) or "nobody is at it")
        for one in those
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)
