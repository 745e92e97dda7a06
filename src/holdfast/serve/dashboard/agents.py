"""Agents: who works for which session, and what they have told one another."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.ops.fills import Session
from holdfast.ops.words import many
from holdfast.report.markup import chip, joined, short_path
from holdfast.serve.dashboard.frame import Box, empty, heading, page
from holdfast.serve.dashboard.live import Live


def add(live: Live) -> None:
    @ui.page("/agents", title="Agents")
    async def show() -> None:
        await live.ready()
        with page(live, "agents", "Agents"):
            shown = _Agents(live)
        ui.context.client.on_delete(live.listen(shown.update))


class _Agents:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        ui.html("Agents", sanitize=False, tag="h1").classes("sr")
        heading("Sessions with agents")
        self.who = Box(self._who(), classes="card")

    async def update(self, changed: set[str]) -> None:  # noqa: ARG002
        with self.client:
            self.who.put(self._who())

    def _who(self) -> Markup:
        rows = [self.live.rows[name] for name in self.live.order if name in self.live.rows]
        having = [one for one in rows if one.agents]
        if not having:
            return empty(
                "No session has had an agent yet. Ask the client to start some; each saves its own checkpoints."
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
