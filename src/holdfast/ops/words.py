"""What values say of themselves to people: counts, names and times in few characters."""

from __future__ import annotations

import re

from holdfast.core.plain import one_line

_ID = re.compile(r"\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def short(session: str) -> str:
    return session if len(session) <= 36 else session[:33] + "…"


def who(name: str) -> str:
    """Who holds or says something, with as much of a session's id as people tell apart."""
    kind, colon, rest = _ID.sub(r"\1", name).partition(":")
    return f"{kind} {rest}" if colon and kind in ("agent", "session", "role") else kind + colon + rest


def model_of(model: str) -> str:
    return one_line(model.removeprefix("claude-"))


def ago(at: str) -> str:
    if not at:
        return ""
    from datetime import UTC, datetime

    seconds = (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds / size)} {unit} ago"
    return "now" if seconds >= 0 else at
