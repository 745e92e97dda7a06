"""`aliases`: short names for a shell. No startup file is edited: `ss` is a command of the system, too."""

from __future__ import annotations

from holdfast.app import Holdfast

_SHORT = ("ss", "rs")


def aliases(app: Holdfast) -> str:  # noqa: ARG001
    """Print short names for a shell to take up: eval "$(holdfast aliases)" in its startup file."""
    lines = [r"# The system has a command ss as well: \ss still runs it."]
    return "\n".join([*lines, *(f"alias {name}='holdfast {name}'" for name in _SHORT)])
