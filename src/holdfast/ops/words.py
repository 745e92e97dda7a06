"""What values say of themselves to people: counts, names and times in few characters."""

from __future__ import annotations

from holdfast.core.plain import one_line


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def short(session: str) -> str:
    return session if len(session) <= 36 else session[:33] + "…"


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
