"""Transcripts written line by line for tests, and entries made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from holdfast.core.fold import NOWHERE, fold
from holdfast.core.lines import Account, records
from holdfast.core.seen import Seen
from holdfast.core.transcript import entry


def handed_on(plan: str, feedback: str = "", made_in: str = "/home/mira/plans.jsonl") -> dict[str, Any]:
    """Fields of the line with which the client goes on with a plan that was accepted, in a session with an
    empty window."""
    words = (
        f"Implement the following plan:\n\n{plan}\n\nIf you need specific details from before exiting "
        "plan mode (like exact code snippets, error messages, or content you generated), read the full "
        f"transcript at: {made_in}" + (f"\n\nUser feedback on this plan: {feedback}" if feedback else "")
    )
    message = {"role": "user", "content": words}
    return {"message": message, "planContent": plan, "origin": {"kind": "auto-continuation"}}


class Script:
    """Says what happens; `lines` is what the client would have written."""

    def __init__(
        self, session: str = "s1", model: str = "claude-opus-4-6", version: str = "2.1.327"
    ) -> None:
        self.session = session
        self.model = model
        self.version = version
        self.lines: list[bytes] = []
        self.leaf: str | None = None
        self.count = 0

    @property
    def stamp(self) -> str:
        """Of the line that was written last."""
        return f"2026-03-01T10:00:{self.count % 60:02d}.000Z"

    def line(self, kind: str, **fields: Any) -> str:
        self.count += 1
        uuid = f"{self.session}-{self.count:06d}"
        record = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": self.stamp,
            "sessionId": self.session,
            "cwd": "/home/mira/tidegate",
            "gitBranch": "main",
            "version": self.version,
        } | fields
        self.leaf = uuid
        self.lines.append(json.dumps(record).encode() + b"\n")
        return uuid

    def prompt(self, text: str = "go on", **fields: Any) -> str:
        message = {"role": "user", "content": text}
        return self.line("user", message=message, **({"promptSource": "typed"} | fields))

    def answer(
        self,
        *blocks: dict[str, Any],
        context: int = 30_000,
        output: int = 50,
        message: str = "",
        **usage: Any,
    ) -> str:
        """One response; each block a line of its own, as the client writes them."""
        identity = message or f"msg_{self.session}_{self.count}"
        counted = {
            "input_tokens": 10,
            "cache_read_input_tokens": context - 10,
            "output_tokens": output,
        } | usage
        uuid = ""
        for block in blocks or (text("done"),):
            uuid = self.line(
                "assistant",
                message={
                    "id": identity,
                    "role": "assistant",
                    "model": self.model,
                    "content": [block],
                    "usage": counted,
                    "stop_reason": "end_turn",
                },
            )
        return uuid

    def result(self, call: str, content: Any = "ok", result: Any = None, **block: Any) -> str:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": content, **block}]
        return self.line("user", message={"role": "user", "content": blocks}, toolUseResult=result)

    def boundary(
        self, trigger: str = "auto", before: int = 167_500, after: int = 9_000, **data: Any
    ) -> str:
        metadata = {"trigger": trigger, "preTokens": before, "postTokens": after, **data}
        self.leaf = None
        return self.line("system", subtype="compact_boundary", compactMetadata=metadata)

    def bytes(self) -> bytes:
        return b"".join(self.lines)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def folded(lines: Iterable[bytes], agent: str = "") -> Seen:
    """Folded without a file; a script that rewinds must be read through disk.transcripts."""
    seen, account, offset = Seen(agent), Account(), 0
    for raw in lines:
        for record in records(raw, account):
            made = entry(record, offset, len(raw))
            if made is not None:
                assert fold(seen, made) == NOWHERE
        offset += len(raw)
    return seen
