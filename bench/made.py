"""Sessions made to size: lines shaped like the client's, every id different, usage that adds up.

Synthetic on purpose (real transcripts are other people's): what matters for speed is the shape and
the share of each kind of line, which follow those of real sessions.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

_WORDS = (
    "the handler reads its offset from state and folds what is new then saves under the lock so a crash "
    "between two writes heals itself while tests run against real files not mocks return value error path "
    "config index checkpoint window token usage session branch commit"
).split()


class Session:
    """Writes turns to a transcript, as the client would."""

    def __init__(self, path: Path, session: str, seed: int = 1) -> None:
        self.path = path
        self.session = session
        self.random = random.Random(seed)
        self.number = 0
        self.context = 20_000
        self.parent: str | None = None
        self.path.touch()
        self.prompt()

    def grow_to(self, size: int) -> None:
        lines: list[str] = []
        total = self.path.stat().st_size
        with self.path.open("a") as file:
            while total < size:
                lines = self._turn()
                total += sum(map(len, lines))
                file.writelines(lines)

    def turn(self) -> None:
        with self.path.open("a") as file:
            file.writelines(self._turn())

    def prompt(self) -> None:
        message = {"role": "user", "content": self._text(300)}
        with self.path.open("a") as file:
            file.write(self._line("user", message=message, promptSource="typed"))

    def post_tool_use(self) -> bytes:
        event = {
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": "/nowhere/tidegate",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest -q tests"},
            "tool_response": {"stdout": self._text(2000), "stderr": "", "interrupted": False},
            "tool_use_id": "toolu_pending",
        }
        return json.dumps(event).encode()

    def pre_compact(self, cwd: Path) -> bytes:
        return self._event(cwd, "PreCompact", trigger="auto")

    def session_start(self, cwd: Path) -> bytes:
        return self._event(cwd, "SessionStart", source="compact")

    def _event(self, cwd: Path, name: str, **fields: str) -> bytes:
        event = {"session_id": self.session, "transcript_path": str(self.path), "cwd": str(cwd)}
        return json.dumps({**event, "hook_event_name": name, **fields}).encode()

    def statusline(self) -> bytes:
        told = {"input_tokens": 3, "cache_read_input_tokens": self.context, "output_tokens": 210}
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": "/nowhere/tidegate",
            "model": {"id": "claude-opus-4-6", "display_name": "Opus"},
            "context_window": {"context_window_size": 200_000, "current_usage": told},
        }
        return json.dumps(payload).encode()

    def _turn(self) -> list[str]:
        """One response that says something and calls a tool, and the tool's result."""
        if self.number % 60 == 59:
            self.context = 20_000
            metadata = {"trigger": "auto", "preTokens": 167_000, "postTokens": 20_000}
            boundary = self._line("system", subtype="compact_boundary", compactMetadata=metadata)
        else:
            boundary = ""
        self.context += 1500
        identity = f"msg_{self.number:08d}"
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": self.context - 503,
            "cache_creation_input_tokens": 500,
            "output_tokens": 210,
        }
        call = f"toolu_{self.session}_{self.number}"
        path = f"/work/src/module_{self.number % 40}.py"
        name, given = self._call(path)
        blocks = [
            {"type": "text", "text": self._text(400)},
            {"type": "tool_use", "id": call, "name": name, "input": given},
        ]
        lines = [boundary] if boundary else []
        for block in blocks:
            message = {
                "id": identity,
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [block],
                "usage": usage,
                "stop_reason": "tool_use",
            }
            lines.append(self._line("assistant", message=message, requestId=f"req_{self.number}"))
        text = self._text(self.random.choice((600, 2000, 6000, 12000)))
        content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        result: dict = {"file": {"filePath": path, "content": text, "startLine": 1, "numLines": 80}}
        if name == "Edit":
            hunk = {"oldStart": 40, "oldLines": 6, "newStart": 40, "newLines": 7, "lines": [" a", "+b"]}
            result = {"filePath": path, "originalFile": text, "structuredPatch": [hunk]}
        lines.append(self._line("user", message={"role": "user", "content": content}, toolUseResult=result))
        self.number += 1
        return lines

    def _call(self, path: str) -> tuple[str, dict]:
        if self.number % 3 == 0:
            return "Bash", {"command": f"pytest -q tests/test_{self.number % 17}.py"}
        if self.number % 5 == 1:
            old, new = self._text(200), self._text(260)
            return "Edit", {"file_path": path, "old_string": old, "new_string": new}
        return "Read", {"file_path": path}

    def _line(self, kind: str, **fields: object) -> str:
        uuid = f"{self.random.getrandbits(128):032x}"
        line = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/nowhere/tidegate",
            "sessionId": self.session,
            "version": "2.1.325",
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": "2026-11-16T01:00:00.000Z",
        }
        self.parent = uuid
        return json.dumps(line, separators=(",", ":")) + "\n"

    def _text(self, length: int) -> str:
        start = self.random.randrange(40)
        words = (_WORDS[start:] + _WORDS) * (length // 250 + 1)
        return " ".join(words)[:length]
