"""Now: every session, the newest first, as it stands this moment."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.clock import at, now
from holdfast.ops.fills import Session
from holdfast.ops.words import many, model_of, short
from holdfast.report import parts
from holdfast.report.markup import NAMES, chip, colour, short_path, tokens
from holdfast.serve.dashboard.frame import Box, asked, button, empty, happenings, heading, page, routed
from holdfast.serve.dashboard.live import FIRST, Live

_LATELY = 8
#: Milliseconds since its last sign of life for which a session is live.
_LIVE_MS = 10 * 60 * 1000
_COLUMNS = ("Project", "Fill", "Level", "Before the client compacts", "Forecast", "Last checkpoint", "")


def add(live: Live) -> None:
    @routed("/", "Now")
    async def show() -> None:
        await live.ready()
        with page(live, "", "Now"):
            shown = _Now(live)
            # Before anything is waited for: what changes while the page is made is not missed.
            ui.context.client.on_delete(live.listen(shown.update))
            await shown.tell()


class _Now:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        self.most = FIRST  # of more than that one asks for the next
        self.boxes: dict[str, Box] = {}
        ui.html("Now", sanitize=False, tag="h1").classes("sr")
        self.strip = Box(self._strip(), classes="strip")
        self.nothing = Box(self._nothing())
        head = Markup("").join(Markup("<span>{}</span>").format(name) for name in _COLUMNS)
        self.head = Box(head if live.rows else "", classes="row-head")
        self.list = ui.element("ul").classes("rows")
        self._fill()
        self.more = button("", self._more, "wide-one")
        self._count()
        heading("Lately")
        self.lately = Box(classes="card lately")

    async def tell(self) -> None:
        given, problem = await asked(self.live, "events", limit=_LATELY)
        with self.client:
            self.lately.put(problem if given is None else happenings(given))

    async def update(self, changed: set[str]) -> None:
        with self.client:
            self.strip.put(self._strip())
            self.nothing.put(self._nothing())
            for name in changed & self.boxes.keys():
                self.boxes[name].put(row(self.live, self.live.rows[name]))
            if changed - self.boxes.keys():
                self._fill()
                self._count()
        await self.tell()

    def _fill(self) -> None:
        """New ones on top of those that are shown: nothing that one is looking at changes its order."""
        wanted = [name for name in self.live.order if name in self.live.rows][: self.most]
        first = not self.boxes
        for name in wanted if first else reversed(wanted):
            if name not in self.boxes:
                self._add(name)
                if not first:
                    self.boxes[name].element.move(self.list, 0)

    def _add(self, name: str) -> None:
        with self.list:
            self.boxes[name] = Box(row(self.live, self.live.rows[name]), tag="li")

    async def _more(self) -> None:
        self.most += FIRST
        for name in [name for name in self.live.order if name in self.live.rows][: self.most]:
            if name not in self.boxes:
                self._add(name)
        self._count()

    def _count(self) -> None:
        left = len(self.live.order) - len(self.boxes)
        self.more.set_visibility(left > 0)
        self.more.default_slot.children[0].set_content(f"Show older ones ({left:,} more)")  # type: ignore[attr-defined]

    def _strip(self) -> Markup:
        rows = [self.live.rows[name] for name in self.live.order if name in self.live.rows]
        alive = [one for one in rows if is_live(one)]
        highest = max((NAMES.index(one.level) for one in alive if one.level in NAMES), default=0)
        soonest = min((one.turns_left[1] for one in alive if one.turns_left), default=None)
        figure = Markup("<span><b>{}</b>{}</span>")
        said = [
            figure.format(f"{len(alive):,}", "live"),
            figure.format(
                f"{len(self.live.order):,}", "session" if len(self.live.order) == 1 else "sessions"
            ),
        ]
        if alive:
            said.append(Markup("<span>highest {}</span>").format(chip(NAMES[highest])))
        if soonest is not None:
            said.append(Markup("<span>next compaction in about <b>{}</b>turns</span>").format(soonest))
        return Markup("").join(said)

    def _nothing(self) -> Markup:
        if self.live.rows:
            return Markup("")
        return empty(
            "No session yet. Wire holdfast into the client with",
            "holdfast install",
            "and start a session; or see an example: holdfast demo",
        )


def is_live(one: Session) -> bool:
    return one.known and now() - at(one.last) < _LIVE_MS


def row(live: Live, one: Session) -> Markup:
    where = f"{live.root}/session/{one.session}"
    last = Markup('<div class="last{}"><time data-ago datetime="{}"></time></div>')
    seen = last.format(" live" if is_live(one) else "", one.last)
    if not one.max or (one.problem and not one.used):
        return Markup(
            '<a class="row amiss" href="{}"><div><div class="name">{}</div><div class="sub">cannot be read</div></div>'
            '<div class="why">{}</div>{}</a>'
        ).format(where, short(one.session), one.problem or "nothing has been measured yet", seen)
    saved = Markup('<time data-ago datetime="{}"></time>').format(one.saved) if one.saved else "none yet"
    agents = many(one.agents, "agent") if one.agents else ""
    return Markup(
        '<a class="row {}" href="{}"><div><div class="name">{}</div><div class="sub">{} · <code>{}</code></div></div>'
        '<div class="fill n">{}<small> %</small></div><div>{}</div>'
        '<div>{}<div class="sub n">{} of {} tokens{}</div></div><div>{}</div>'
        '<div><div>{}</div><div class="sub">{}</div></div>{}</a>'
    ).format(
        colour(one.level),
        where,
        short_path(one.project),
        model_of(one.model) or "no model yet",
        one.session[:8],
        f"{one.fill:.1f}",
        chip(one.level),
        parts.gauge(one.fill, one.level, live.rungs()),
        tokens(one.used),
        tokens(one.capacity),
        f", {many(one.compactions, 'compaction')}" if one.compactions else "",
        parts.runway(one.turns_left),
        saved,
        agents,
        seen,
    )
