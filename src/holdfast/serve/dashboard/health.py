"""Health: what is degraded and how to mend it, what our hooks cost, what was put into sessions."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.ops.events import Events
from holdfast.ops.upkeep import Status
from holdfast.report.markup import joined
from holdfast.serve.dashboard.frame import Box, asked, happenings, heading, page, routed
from holdfast.serve.dashboard.live import Live

_EVENTS = 30
#: Every check looks at every session.
_PAUSE_S = 2.0


def add(live: Live) -> None:
    @routed("/health", "Health")
    async def show() -> None:
        with page(live, "health", "Health"):
            shown = _Health(live)
            ui.context.client.on_delete(live.listen(shown.update, _PAUSE_S))
            await shown.refresh()
        await ui.context.client.connected()
        await shown.measure()


class _Health:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        self.head = Box(classes="card")
        with ui.element("div").classes("two"):
            with ui.element("div"):
                heading("Checks")
                self.checks = Box(classes="card")
            with ui.element("div"):
                heading("What a hook costs")
                self.cost = Box(
                    Markup('<p class="dim waiting">{}</p>').format("Trying one …"), classes="card cost"
                )
                heading("Put into sessions")
                self.injected = Box(classes="card")
        heading("What happened")
        self.happened = Box(classes="card")

    async def update(self, changed: set[str]) -> None:  # noqa: ARG002
        await self.refresh()

    async def refresh(self) -> None:
        status, problem = await asked(self.live, "status")
        injected, _ = await asked(self.live, "events", kind="injection", limit=0)
        happened, _ = await asked(self.live, "events", limit=_EVENTS)
        with self.client:
            self.head.put(problem if status is None else _summary(status))
            self.checks.put(problem if status is None else _checks(status))
            self.injected.put(_injected(injected) if injected else Markup(""))
            self.happened.put(happenings(happened) if happened else Markup(""))

    async def measure(self) -> None:
        given, problem = await asked(self.live, "latency")
        with self.client:
            if given is None:
                self.cost.put(problem)
            else:
                self.cost.put(
                    Markup('<p><span class="big">{:.0f} ms</span></p><p class="dim">{}</p>').format(
                        given.hook_ms,
                        f"{given.ratio:.2f} × the start of a bare interpreter ({given.bare_ms:.0f} ms), tried just now",
                    )
                )


def _summary(of: Status) -> Markup:
    bad = [check for check in of.checks if not check.ok]
    words = f"{len(bad)} of {len(of.checks)} parts degraded" if bad else "All is well"
    return Markup(
        '<header class="who"><h1>{}</h1><span class="{}">{}</span><p class="dim">holdfast {} · Python {} · <code>{}</code></p></header>'
    ).format(
        words,
        "bad" if bad else "ok",
        "see below" if bad else "✓",
        of.version,
        of.python.split()[0],
        of.home,
    )


def _checks(of: Status) -> Markup:
    """What is wrong comes first, with what to do."""
    return joined(
        Markup(
            '<div class="check"><span class="{}" aria-hidden="true">{}</span><b>{}{}</b><span class="what">{}</span>{}</div>'
        ).format(
            "ok" if check.ok else "bad",
            "✓" if check.ok else "!",
            check.name,
            Markup('<span class="sr">{}</span>').format(": works" if check.ok else ": degraded"),
            check.what,
            Markup('<span class="fix">To do: {}</span>').format(check.fix)
            if check.fix and not check.ok
            else "",
        )
        for check in sorted(of.checks, key=lambda check: check.ok)
    )


def _injected(of: Events) -> Markup:
    if not of.events:
        words = (
            "Nothing so far. After a compaction a session is told what its summary lost; it is booked here."
        )
        return Markup('<p class="dim">{}</p>').format(words)
    newest = of.events[0]
    return Markup(
        '<p><span class="big">{}</span></p><p class="dim">times in this trail, the last <time data-ago datetime="{}"></time>: {}</p>'
    ).format(f"{len(of.events):,}", newest.at, newest.about)
