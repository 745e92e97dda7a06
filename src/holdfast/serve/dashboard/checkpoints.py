"""Checkpoints: all of them, the newest first; one read, verified, pinned, compared with another."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.ops.checkpoints import Difference, Listed, Shown, Verdict
from holdfast.report import parts
from holdfast.report.markup import clock, joined, prose, short_path
from holdfast.serve.dashboard.frame import Box, asked, button, empty, page, routed
from holdfast.serve.dashboard.live import Live

_ROWS = 40
#: The whole index is read for it.
_PAUSE_S = 1.0
_TRUST = {
    "own": "written by this user's holdfast",
    "approved": "approved by you",
    "foreign": "not ours: never given to a session until you approve it",
}
_FACTS = ("reason", "trigger", "branch", "commit", "session_id", "agent_id", "iteration")


def add(live: Live) -> None:
    @routed("/checkpoints", "Checkpoints")
    async def show(name: str = "") -> None:
        with page(live, "checkpoints", "Checkpoints"):
            shown = _Checkpoints(live)
            ui.context.client.on_delete(live.listen(shown.update, _PAUSE_S))
            await shown.load(name)


class _Checkpoints:
    def __init__(self, live: Live) -> None:
        self.live = live
        self.client = ui.context.client
        self.most = _ROWS
        self.listed: dict[str, Listed] = {}
        self.chosen: Listed | None = None
        ui.html("Checkpoints", sanitize=False, tag="h1").classes("sr")
        self.nothing = Box()
        with ui.element("div").classes("split") as self.split:
            with ui.element("div").classes("side").props('tabindex="0" role="region" aria-label="List"'):
                self.list = Box()
                self.more = button("Show older ones", self._more, "wide-one")
            with ui.element("div").props('aria-live="polite"'):
                self.tools = ui.element("div").classes("tools")
                self.said = Box()
                self.view = Box(classes="card")
        self.list.element.on("click", self._pick, js_handler=_PICKED)
        with self.tools:
            button("Verify", self._verify)
            self.pin = button("Pin", self._pin)
            self.other = Box(classes="compare")
            self.other.element.on("change", self._compare, js_handler="(e) => emit(e.target.value)")

    async def load(self, name: str = "") -> None:
        given, problem = await asked(self.live, "checkpoint.list", limit=self.most + 1)
        found: list[Listed] = given or []
        self.listed = {one.uid: one for one in found[: self.most]}
        with self.client:
            self.nothing.put(problem or (Markup("") if found else _none()))
            self.split.set_visibility(bool(found))
            self.more.set_visibility(len(found) > self.most)
        wanted = next((one for one in found if name and name in (one.uid, one.id)), None)
        if found and self.chosen is None:
            await self._choose(wanted or found[0])
        else:
            self._put_list()

    async def update(self, changed: set[str]) -> None:  # noqa: ARG002  any of them may have saved
        await self.load()

    async def _more(self) -> None:
        self.most += _ROWS
        await self.load()

    async def _pick(self, event: object) -> None:
        one = self.listed.get(str(getattr(event, "args", "")))
        if one:
            await self._choose(one)

    async def _choose(self, one: Listed) -> None:
        self.chosen = one
        given, problem = await asked(self.live, "checkpoint.show", name=one.path)
        with self.client:
            self._put_list()
            self.said.put(Markup(""))
            self.view.put(problem if given is None else view(one, given))
            self.pin.default_slot.children[0].set_content("Unpin" if one.pinned else "Pin")  # type: ignore[attr-defined]
            self.other.put(_others(one, [*self.listed.values()]))

    def _put_list(self) -> None:
        chosen = self.chosen.uid if self.chosen else ""
        self.list.put(joined(_row(one, one.uid == chosen) for one in self.listed.values()))

    async def _verify(self) -> None:
        if self.chosen:
            given, problem = await asked(self.live, "checkpoint.verify", name=self.chosen.path)
            with self.client:
                self.said.put(problem if given is None else _verdict(given))

    async def _pin(self) -> None:
        one = self.chosen
        if one:
            given, problem = await asked(self.live, "checkpoint.pin", name=one.path, undo=one.pinned)
            self.chosen = None
            await self.load(one.uid)
            with self.client:
                self.said.put(
                    problem if given is None else Markup('<p class="warning">{}</p>').format(given.what)
                )

    async def _compare(self, event: object) -> None:
        other = self.listed.get(str(getattr(event, "args", "")))
        if not (self.chosen and other):
            return
        old, new = sorted((self.chosen, other), key=lambda one: one.created)
        given, problem = await asked(self.live, "checkpoint.diff", old=old.path, new=new.path)
        with self.client:
            self.view.put(problem if given is None else difference(old, new, given))


#: Which row was meant, wherever in it the click was.
_PICKED = "(e) => { const row = e.target.closest('[data-uid]'); if (row) emit(row.dataset.uid); }"


def _none() -> Markup:
    return empty(
        "No checkpoint yet. Hooks take them before a compaction and as the window fills; take one now:",
        "holdfast checkpoint take",
    )


def _row(one: Listed, chosen: bool) -> Markup:
    marks = ("" if one.state == "ok" else one.state) or ("pinned" if one.pinned else "")
    mark = (
        Markup(' · <span class="{}">{}</span>').format("bad" if one.state != "ok" else "", marks)
        if marks
        else ""
    )
    return Markup(
        '<button type="button" class="pick" data-uid="{}" aria-current="{}"><span class="title"><span>{}</span>'
        '<time data-ago datetime="{}"></time></span><span class="sub">{} · {}{}</span></button>'
    ).format(
        one.uid, str(chosen).lower(), short_path(one.project), one.created, one.id, prose(one.reason), mark
    )


def view(one: Listed, of: Shown) -> Markup:
    facts = [(name.replace("_", " "), str(of.fields.get(name) or "")) for name in _FACTS]
    rows = joined(
        Markup("<dt>{}</dt><dd>{}</dd>").format(name, words)
        for name, words in [*facts, ("trust", _TRUST.get(of.trust, of.trust)), ("file", of.path)]
        if words
    )
    return Markup(
        '<header><h2 class="plain">{}</h2><span class="dim">{}</span></header><dl class="facts">{}</dl>{}'
    ).format(one.id, clock(one.created), rows, parts.sections(of.sections))


def _verdict(of: Verdict) -> Markup:
    if of.verified:
        words = "verified: it is what was written"
        return Markup('<p class="warning fine"><span class="ok">✓</span> {} ({})</p>').format(
            words, _TRUST.get(of.trust, of.trust)
        )
    return parts.warnings(of.problems)


def _others(one: Listed, those: list[Listed]) -> Markup:
    options = joined(
        Markup('<option value="{}">{} · {}</option>').format(other.uid, other.id, other.reason[:60])
        for other in those
        if other.uid != one.uid
    )
    return Markup(
        '<label><span class="when">Compare with</span> <select><option value="">…</option>{}</select></label>'
    ).format(options)


def difference(old: Listed, new: Listed, of: Difference) -> Markup:
    changed = joined(
        Markup("<section><h3>{}</h3>{}{}</section>").format(
            name,
            joined(Markup('<div class="gone">{}</div>').format(prose(text)) for text in sides["gone"]),
            joined(Markup('<div class="added">{}</div>').format(prose(text)) for text in sides["added"]),
        )
        for name, sides in of.sections.items()
        if sides["gone"] or sides["added"]
    )
    head = Markup('<header><h2 class="plain">{} → {}</h2></header>').format(old.id, new.id)
    return head + (changed or Markup('<p class="dim">{}</p>').format("They say the same."))
