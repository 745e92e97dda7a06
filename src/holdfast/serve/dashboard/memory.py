"""Memory: what the client remembers of a project, searched, and what is wrong with it."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from holdfast.memory.lint import Finding
from holdfast.ops.recall import Recalled
from holdfast.ops.topics import TopicRow, Topics
from holdfast.report.markup import joined, prose
from holdfast.serve.dashboard.frame import Box, asked, choice, empty, heading, page, projects, routed
from holdfast.serve.dashboard.live import Live

_LONGEST = 200


def add(live: Live) -> None:
    @routed("/memory", "Memory")
    async def show(project: str = "") -> None:
        await live.ready()
        with page(live, "memory", "Memory"):
            shown = _Memory(live, project)
            await shown.refresh()


class _Memory:
    def __init__(self, live: Live, project: str) -> None:
        self.live = live
        self.client = ui.context.client
        self.projects = projects(live)
        self.project = project if project in self.projects else next(iter(self.projects), "")
        self.topics: Topics | None = None
        self.words = ""
        ui.html("Memory", sanitize=False, tag="h1").classes("sr")
        with ui.element("div").classes("tools"):
            self.which = Box(choice(self.projects, self.project))
            self.which.element.on("change", self._choose, js_handler="(e) => emit(e.target.value)")
            self.search = Box(_SEARCH)
            self.search.element.on("change", self._recall, js_handler="(e) => emit(e.target.value)")
            self.search.element.on(
                "input", self._search, js_handler="(e) => emit(e.target.value)", throttle=0.2
            )
        self.amiss = Box()
        with ui.element("div").classes("split"):
            with ui.element("div").classes("side").props('tabindex="0" role="region" aria-label="Topics"'):
                self.list = Box()
            with ui.element("div").props('aria-live="polite"'):
                self.view = Box(classes="card")
        self.list.element.on("click", self._pick, js_handler=_PICKED)
        heading("Recalled from sessions")
        self.recalled = Box(_ASK, classes="card")
        heading("What is wrong with it")
        self.lint = Box(classes="card")

    async def refresh(self) -> None:
        if not self.project:
            with self.client:
                self.list.put(_none())
                self.view.put(Markup('<p class="dim">{}</p>').format("Topics are shown here."))
                self.lint.put(Markup('<p class="dim">{}</p>').format("Nothing to look at yet."))
            return
        self.topics, problem = await asked(self.live, "memory.list", project=self.project)
        linted, amiss = await asked(self.live, "memory.lint", project=self.project)
        with self.client:
            self.amiss.put(problem)
            self._put()
            self.lint.put(amiss if linted is None else _findings(linted.findings))
        await self._open("MEMORY.md")

    def _put(self) -> None:
        rows = self.topics.topics if self.topics else []
        words = self.words.lower().split()
        found = [one for one in rows if all(word in _text(one) for word in words)]
        if not rows:
            self.list.put(_none())
        elif not found:
            self.list.put(empty("No topic has these words in its name or description."))
        else:
            self.list.put(joined(_row(one, words) for one in found))

    async def _choose(self, event: object) -> None:
        chosen = str(getattr(event, "args", ""))
        if chosen in self.projects:
            self.project = chosen
            await self.refresh()

    async def _search(self, event: object) -> None:
        self.words = str(getattr(event, "args", ""))[:_LONGEST]
        with self.client:
            self._put()

    async def _recall(self, event: object) -> None:
        """Asked for with Enter: it looks through all that was ever learnt."""
        words = str(getattr(event, "args", "")).strip()[:_LONGEST]
        if not words or not self.project:
            said = _ASK
        else:
            given, said = await asked(self.live, "recall", query=words, project=self.project)
            said = said if given is None else _found(given, words.lower().split())
        with self.client:
            self.recalled.put(said)

    async def _pick(self, event: object) -> None:
        await self._open(str(getattr(event, "args", "")))

    async def _open(self, name: str) -> None:
        given, problem = await asked(self.live, "memory.show", name=name, project=self.project)
        with self.client:
            if given is None:
                self.view.put(problem)
            else:
                head = Markup('<header><h2 class="plain">{}</h2><span class="tag">{}</span></header>')
                about = Markup('<p class="dim">{}</p>').format(given.description or "Nothing is in it yet.")
                text = Markup("<pre>{}</pre>").format(given.text) if given.text else Markup("")
                self.view.put(
                    head.format(given.name, given.type or "index")
                    + (about if given.description or not given.text else "")
                    + text
                )


_ASK = Markup('<p class="dim">{}</p>').format("Type what you look for and press Enter.")
_PICKED = "(e) => { const row = e.target.closest('[data-file]'); if (row) emit(row.dataset.file); }"
_SEARCH = Markup(
    '<label>Search <input type="search" placeholder="words of a topic; Enter asks all sessions" autocomplete="off"></label>'
)


def _none() -> Markup:
    return empty("The client remembers nothing here yet. Write a topic:", "holdfast memory write")


def _text(one: TopicRow) -> str:
    return f"{one.name} {one.description} {one.type} {one.file}".lower()


def _row(one: TopicRow, words: list[str]) -> Markup:
    problem = Markup('<span class="sub bad">{}</span>').format(one.problem) if one.problem else ""
    return Markup(
        '<button type="button" class="pick" data-file="{}"><span class="title"><span>{}</span><span class="tag">{}</span></span>'
        '<span class="sub">{}</span>{}</button>'
    ).format(one.file, marked(one.name, words), one.type, marked(one.description, words), problem)


def _found(of: Recalled, words: list[str]) -> Markup:
    if not of.found:
        return Markup('<p class="dim">{}</p>').format("Nothing like it was ever said here.")
    rows = joined(
        Markup(
            '<tr><td class="when dim broad"><time data-ago datetime="{}"></time></td>'
            '<td class="when"><span class="tag">{}</span></td><td>{}</td></tr>'
        ).format(one.at, one.kind or one.collection, marked(one.text, words))
        for one in of.found
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)


def marked(text: str, words: list[str]) -> Markup:
    """The words that were looked for, where they stand in it."""
    lower = text.lower()
    if not words or len(lower) != len(text):  # a letter that is two in lower case would shift every place
        return Markup.escape(text)
    hits = sorted((at, at + len(word)) for word in words if (at := lower.find(word)) >= 0)
    parts, done = [], 0
    for start, end in hits:
        if start >= done:
            parts += [Markup.escape(text[done:start]), Markup("<mark>{}</mark>").format(text[start:end])]
            done = end
    return joined([*parts, Markup.escape(text[done:])])


def _findings(found: list[Finding]) -> Markup:
    if not found:
        return Markup('<p><span class="ok">✓</span> {}</p>').format(
            "Nothing: every link leads somewhere, no two topics contradict."
        )
    rows = joined(
        Markup(
            '<tr><td class="when"><span class="tag">{}</span></td><td>{}</td><td class="broad dim">{}</td></tr>'
        ).format(one.kind, prose(one.what), one.where)
        for one in found
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)
