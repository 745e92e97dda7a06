"""How full a window may be when nobody has measured it: by what was done in it, counted and weighed."""

from __future__ import annotations

from collections.abc import Mapping

#: Share of the window that one of each takes, rather too much than too little.
WEIGHTS = {
    "message_count": 0.01,
    "file_reads": 0.02,
    "file_edits": 0.015,
    "tool_calls": 0.005,
    "subagent_spawns": 0.05,
}


def estimate_context_usage(state: Mapping[str, float]) -> float:
    """From 0.0 to 1.0, of counts: `message_count`, `file_reads`, `file_edits`, `tool_calls` and
    `subagent_spawns`. What is not there counts as none. holdfast itself goes by it only where no usage is
    reported: a hook measures."""
    return min(sum(max(0, state.get(name, 0)) * weight for name, weight in WEIGHTS.items()), 1.0)
