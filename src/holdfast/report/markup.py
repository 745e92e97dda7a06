"""HTML from values. Whatever comes from a session is text: `Markup.format` escapes it, nothing else is used."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from holdfast.core.ladder import BELOW, LEVELS
from holdfast.core.plain import one_line

#: The names of the levels, lowest first: a level's place is its colour.
NAMES = (BELOW, *(name for _, _, name in LEVELS))
#: Code is shown as such; a link, a picture, a tag or `__init__` stays the text it is.
_INLINE = MarkdownIt("zero").enable("backticks")


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def colour(level: str) -> str:
    """The class that gives a level its colour."""
    return f"lv{NAMES.index(level)}" if level in NAMES else "lv0"


def chip(level: str) -> Markup:
    return Markup('<span class="chip {}">{}</span>').format(colour(level), level or "unknown")


def prose(text: str) -> Markup:
    """One item of a checkpoint: lines as they are, code as code."""
    return Markup(_INLINE.renderInline(text))  # noqa: S704  html is off: what it does not know it escapes


def capital(text: str) -> str:
    """As a sentence begins."""
    return text[:1].upper() + text[1:]


def short_path(path: str) -> Markup:
    """A folder's own name, with where it is for whoever points at it."""
    folder, _, name = one_line(path).rstrip("/").rpartition("/")
    return Markup('<span title="{}">{}</span>').format(one_line(path), name or folder or "no folder")


def tokens(count: int) -> str:
    """In few characters: 950, 9.5k, 135k, 1.2M."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 9_950 else f"{count / 1000:.0f}k"
    return f"{count / 1e6:.1f}M"


def percent(value: float) -> str:
    """What is there is never nothing."""
    return "< 0.1 %" if 0 < value < 0.05 else f"{value:.1f} %"


def clock(at: str) -> Markup:
    """UTC, as a `time`; the pages show it in the reader's own zone."""
    return (
        Markup('<time datetime="{}">{} UTC</time>').format(at, at[:16].replace("T", " "))
        if at
        else Markup("")
    )


@cache
def style() -> Markup:
    """Trusted: it is ours."""
    return Markup(Path(__file__).with_name("style.css").read_text())  # noqa: S704
