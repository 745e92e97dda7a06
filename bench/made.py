"""Sessions made to size: lines shaped like the client's, every id different, usage that adds up.

Synthetic on purpose (real transcripts are other people's): what matters for speed is the shape and
the share of each kind of line, which follow those of real sessions.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

_WORDS = (
    "the handler reads its offset from state and folds what is new then saves under the lock so a crash "
    "between two writes heals itself while tests run against real files not mocks return value error path "
    "config index checkpoint window token usage session branch commit"
).split()
_CODE = [*_WORDS, *'return {"offset": state.offset + len(raw), "name": entry["name"]} \n'.split(" ")]


class Session:
    """Writes turns to a transcript, as the client would."""

    words = _WORDS
    results = (600, 2000, 6000, 12000)
    aside = False

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

    def post_tool_batch(self) -> bytes:
        call = {
            "tool_name": "Bash",
            "tool_input": {"command": "cat notes/tides.txt"},
            "tool_use_id": "toolu_pending",
            "tool_response": self._text(2000),
        }
        event = {
            "session_id": self.session,
            "transcript_path": str(self.path),
            "cwd": "/nowhere/tidegate",
            "hook_event_name": "PostToolBatch",
            "tool_calls": [call],
        }
        return json.dumps(event).encode()

    def pre_compact(self, cwd: Path) -> bytes:
        return self._event(cwd, "PreCompact", trigger="auto")

    def post_compact(self, cwd: Path) -> bytes:
        return self._event(cwd, "PostCompact", trigger="auto", compact_summary="<summary>all</summary>")

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
        identity = f"msg_{self.session}_{self.number:08d}"
        call = f"toolu_{self.session}_{self.number}"
        path = f"/work/src/module_{self.number % 40}.py"
        name, given = self._call(path)
        blocks = [*self._said(), {"type": "tool_use", "id": call, "name": name, "input": given}]
        lines = [boundary] if boundary else []
        for block in blocks:
            message = {
                "model": "claude-opus-4-6",
                "id": identity,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "usage": self._usage(210 if block is blocks[-1] else 9),  # right in the last line alone
                "stop_reason": "tool_use",
                "stop_sequence": None,
                "stop_details": None,
            }
            request = f"req_{self.session}_{self.number}"
            lines.append(self._line("assistant", message=message, requestId=request))
        text = self._text(self.random.choice(self.results))
        content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        result: dict = {"file": {"filePath": path, "content": text, "startLine": 1, "numLines": 80}}
        if name == "Edit":
            hunk = {"oldStart": 40, "oldLines": 6, "newStart": 40, "newLines": 7, "lines": [" a", "+b"]}
            result = {"filePath": path, "originalFile": text, "structuredPatch": [hunk]}
        lines.append(self._line("user", message={"role": "user", "content": content}, toolUseResult=result))
        self.number += 1
        return lines

    def _said(self) -> list[dict]:
        return [{"type": "text", "text": self._text(400)}]

    def _usage(self, output: int) -> dict:
        return {
            "input_tokens": 3,
            "cache_read_input_tokens": self.context - 503,
            "cache_creation_input_tokens": 500,
            "output_tokens": output,
        }

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
            "isSidechain": self.aside,
            "userType": "external",
            "cwd": "/nowhere/tidegate",
            "sessionId": self.session,
            "version": "2.1.327",
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
        words = (self.words[start:] + self.words) * (length // 250 + 1)
        return " ".join(words)[:length]


class Coding(Session):
    """Lines as real sessions have them in the mean: a third of all bytes in lines with usage, of 2 kB each,
    and one character in fifty escaped."""

    words = _CODE
    results = (200, 600, 2000, 9000)

    def _said(self) -> list[dict]:
        said = []
        if self.random.random() < 0.45:
            signature = f"{self.random.getrandbits(8400):x}"
            said.append({"type": "thinking", "thinking": self._text(240), "signature": signature})
        return said + super()._said()[: self.random.random() < 0.5]

    def _call(self, path: str) -> tuple[str, dict]:
        name, given = super()._call(path)
        return name, given | {"description": self._text(500)}

    def _usage(self, output: int) -> dict:
        counts = super()._usage(output)
        counts["cache_creation"] = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 500}
        part = {**counts, "type": "message"}
        served = {"web_search_requests": 0, "web_fetch_requests": 0}
        return {**counts, "server_tool_use": served, "service_tier": "standard", "iterations": [part]}


class Agent(Coding):
    aside = True


def projects(folder: Path, size: int, median: float) -> None:
    """About `size` bytes of sessions below a client's folder, as months of work leave them: many small and
    some large, some with subagents, some resumed in a file that begins with a copy."""
    chance = random.Random(1)
    done = number = 0
    while done < size:
        number += 1
        name = f"s{number:05d}"
        path = folder / f"projects/-work-{number % 12}/{name}.jsonl"
        paths = [path]
        path.parent.mkdir(parents=True, exist_ok=True)
        session = Coding(path, name, number)
        session.grow_to(int(min(size - done, median * chance.lognormvariate(0, 1.2))))
        if chance.random() < 0.2:
            paths.append(path.with_suffix("") / "subagents/agent-1.jsonl")
            paths[-1].parent.mkdir(parents=True)
            Agent(paths[-1], name + "-agent", number).grow_to(path.stat().st_size // 8)
        if chance.random() < 0.1:
            paths.append(path.with_name(name + "-on.jsonl"))
            shutil.copy(path, paths[-1])
            session.path = paths[-1]
            session.grow_to(paths[-1].stat().st_size * 5 // 4)
        done += sum(one.stat().st_size for one in paths)
