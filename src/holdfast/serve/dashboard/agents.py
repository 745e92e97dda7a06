"""Agents: who works for which session, and what stands on the board of a project."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.ops.board import Message
from holdfast.ops.fills import Session
from holdfast.ops.words import many
from holdfast.report.markup import chip, joined, prose, short_path
from holdfast.serve.dashboard.frame import Box, asked, choice, empty, heading, page, projects
from holdfast.serve.dashboard.live import Live

_MESSAGES = 40


def add(live: Live) -> None:
    @ui.page("/agents", title="Agents")
    async def show() -> None:
        await live.ready()
        with page(live, "agents", "Agents"):
            shown = _Agents(live)
            await shown.read()
        ui.context.client.on_delete(live.listen(shown.update))


class _Agents:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        self.projects = projects(live)
        self.project = next(iter(self.projects), "")
        ui.html("Agents", sanitize=False, tag="h1").classes("sr")
        heading("Sessions with agents")
        self.who = Box(self._who(), classes="card")
        heading("Board")
        with ui.element("div").classes("tools"):
            which = Box(choice(self.projects, self.project))
            which.element.on("change", self._choose, js_handler="(e) => emit(e.target.value)")
        self.board = Box(classes="card")

    async def update(self, changed: set[str]) -> None:  # noqa: ARG002
        with self.client:
            self.who.put(self._who())
        await self.read()

    async def read(self) -> None:
        if not self.project:
            said = empty("No project yet: start a session, and its agents have a board.")
        else:
            given, said = await asked(self.live, "board.list", project=self.project, limit=_MESSAGES)
            said = said if given is None else _board(given)
        with self.client:
            self.board.put(said)

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
            '<td class="broad">{} → {}</td><td>{}</td><td class="n dim">{}</td></tr>'
        ).format(one.at, one.type, one.sender, one.to, prose(one.text), one.state)
        for one in reversed(those)
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)
