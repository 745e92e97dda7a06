"""What every page has: the head with the way to the others, the theme, boxes that are filled again."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nicegui import ui

from holdfast.errors import HoldfastError
from holdfast.ops.events import Events
from holdfast.report.markup import capital, joined, prose, style
from holdfast.serve.dashboard.live import Live

PAGES = (
    ("", "Now"),
    ("checkpoints", "Checkpoints"),
    ("memory", "Memory"),
    ("agents", "Agents"),
    ("health", "Health"),
)
#: Seconds: the most that `service.timeout_seconds` may be. What a page asks for ends by itself.
_LONGEST_S = 3600.0
_HEAD = Markup(
    '<a class="mark" href="{}/">holdfast</a><nav aria-label="Pages">{}</nav>'
    '<div class="theme" role="group" aria-label="Theme">'
    '<button type="button" data-set="system" title="As the system">Auto</button>'
    '<button type="button" data-set="light" title="Light">Light</button>'
    '<button type="button" data-set="dark" title="Dark">Dark</button></div>'
)


@cache
def _shared() -> str:
    """Ours, in every page's head: the script before anything is drawn, so that no theme flashes."""
    here = Path(__file__).parent
    sheet = str(style()) + here.joinpath("dashboard.css").read_text()
    return f"<style>{sheet}</style><script>{here.joinpath('dashboard.js').read_text()}</script>"


def routed(path: str, title: str) -> ui.page:
    """A page that waits for what it asks for: a long transcript on a busy machine takes longer than the few
    seconds after which one would be shown an error of the framework's instead."""
    return ui.page(path, title=title, response_timeout=_LONGEST_S)


@contextmanager
def page(live: Live, here: str, title: str) -> Iterator[None]:
    """Around the contents of a page."""
    ui.page_title(f"{title} · holdfast")
    ui.add_head_html(_shared())
    links = joined(
        Markup('<a href="{}/{}"{}>{}</a>').format(
            live.root, path, Markup(' aria-current="page"') if path == here else "", name
        )
        for path, name in PAGES
    )
    ui.html('<a class="skip" href="#main">Skip to the content</a>', sanitize=False)
    ui.html(_HEAD.format(live.root, links), sanitize=False, tag="header").classes("top")
    with ui.element("div").props('id="main" tabindex="-1"').classes("hf"):
        yield


class Box:
    """A place whose contents change. What stays the same is not sent again."""

    def __init__(self, first: Markup | str = "", tag: str = "div", classes: str = "") -> None:
        self._shown = str(Markup.escape(first))
        self.element = ui.html(self._shown, sanitize=False, tag=tag).classes(classes)

    @property
    def is_empty(self) -> bool:
        return not self._shown

    def put(self, what: Markup) -> None:
        said = str(Markup.escape(what))  # text that is no markup stays text
        if said != self._shown:
            self._shown = said
            self.element.set_content(said)


def heading(words: str) -> None:
    ui.html(Markup("{}").format(words), sanitize=False, tag="h2")


def button(words: str, pressed: Callable[[], Awaitable[None]], kind: str = "") -> ui.element:
    with ui.element("button").props('type="button"').classes(f"button {kind}") as made:
        ui.html(Markup("{}").format(words), sanitize=False, tag="span")
    made.on("click", pressed)
    return made


def empty(words: str, command: str = "", after: str = "") -> Markup:
    """Nothing to show, and what to do about it."""
    code = Markup(" <code>{}</code> ").format(command) if command else ""
    return Markup('<p class="empty">{}{}{}</p>').format(words, code, after)


def projects(live: Live) -> dict[str, str]:
    """Folder -> its name, of every session whose folder is still there; the newest first."""
    found = dict.fromkeys(live.rows[name].project for name in live.order if name in live.rows)
    return {path: os.path.basename(path) for path in found if path and os.path.isdir(path)}


def choice(those: dict[str, str], chosen: str) -> Markup:
    """One of them to choose; a page asks for its project with it."""
    options = joined(
        Markup('<option value="{}"{}>{}</option>').format(
            path, Markup(" selected") if path == chosen else "", name
        )
        for path, name in those.items()
    )
    return Markup("<label>Project <select>{}</select></label>").format(options)


async def asked(live: Live, operation: str, /, **given: Any) -> tuple[Any, Markup]:
    """(what an operation gives, "") or (None, why it does not)."""
    try:
        return await live.ask(operation, **given), Markup("")
    except (HoldfastError, OSError) as problem:
        return None, Markup('<p class="warning" role="status">{}</p>').format(str(problem))


def happenings(of: Events) -> Markup:
    """What holdfast has done, the newest first."""
    if not of.events:
        return empty("Nothing yet: hooks note here what they do.")
    rows = joined(
        Markup(
            '<tr><td class="when dim"><time data-ago datetime="{}"></time></td>'
            '<td class="when broad"><code>{}</code></td><td class="says" title="{}">{}</td></tr>'
        ).format(one.at, one.session[:8], one.event, prose(capital(one.about)))
        for one in of.events
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)
