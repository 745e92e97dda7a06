"""Sessions that are written line by line, and what hooks say into them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from holdfast.disk import sessions
from holdfast.disk.home import Home
from hooks import check_said, event, lines, run_hook
from session import Script, text, use

RULE = "Always keep the harbour port at 5433, whatever the linter says"
DECIDED = "We chose sqlite instead of a server because the lighthouse has no network."
DEAD_END = "The websocket approach does not work: the proxy silently drops frames."


class Work:
    """A session at work in a project; each hook is a process of its own, and finds the transcript as the
    client has it by then."""

    def __init__(
        self, home: Path, project: Path, session: str = "s1", agent: str = "", package: Path | None = None
    ) -> None:
        self.home, self.project, self.session, self.agent = home, project, session, agent
        self.more: dict[str, Any] = {"package": package} if package else {}
        self.script = Script(session)
        base = home.parent / "projects" / f"{session}.jsonl"
        self.parent = base
        self.path = base.with_suffix("") / "subagents" / f"agent-{agent}.jsonl" if agent else base
        self.path.parent.mkdir(parents=True, exist_ok=True)
        commands = (
            home.parent / ".claude" / "commands" / "holdfast"
        )  # where the client finds /holdfast:load
        commands.mkdir(parents=True, exist_ok=True)
        (commands / "save.md").touch()
        self.number, self.context = 0, 50_000
        self.usual: dict[str, Any] = {"cwd": str(project)}  # on every line, unless it says otherwise
        if agent:
            self.usual |= {"isSidechain": True, "agentId": agent}

    def line(self, kind: str, **fields: Any) -> str:
        return self.script.line(kind, **(self.usual | fields))

    def prompt(self, words: str, **fields: Any) -> str:
        message = {"role": "user", "content": words}
        return self.line("user", message=message, **({"promptSource": "typed"} | fields))

    def answer(self, *blocks: dict, **fields: Any) -> str:
        usage = {"input_tokens": 10, "cache_read_input_tokens": self.context, "output_tokens": 50}
        self.number += 1
        message = {
            "id": f"msg_{self.session}_{self.agent}_{self.number}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "usage": usage,
            "stop_reason": "end_turn",
        }
        uuid = ""
        for block in blocks:
            uuid = self.line("assistant", message={**message, "content": [block]}, **fields)
        return uuid

    def say(self, words: str) -> str:
        return self.answer(text(words))

    def call(self, tool: str, content: object = "ok", result: object = None, /, **given: Any) -> None:
        call = f"toolu_{self.session}_{self.agent}_{self.number}"
        self.answer(use(call, tool, **given))
        self.result(call, content, result)

    def fail(self, tool: str, content: object, fields: dict | None = None, /, **given: Any) -> None:
        call = f"toolu_{self.session}_{self.agent}_{self.number}"
        self.answer(use(call, tool, **given))
        self.result(call, content, f"Error: {content}", is_error=True, **(fields or {}))

    def result(self, call: str, content: object, result: object = None, **more: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        if "is_error" in more:
            block["is_error"] = more.pop("is_error")
        self.line("user", message={"role": "user", "content": [block]}, toolUseResult=result, **more)

    def edit(self, name: str, new: str = "def poll(): pass", on_disk: bool = True) -> Path:
        path = self.project / name
        self.call("Edit", file_path=str(path), old_string="", new_string=new)
        if on_disk:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new)
        return path

    def boundary(self, summary: str) -> None:
        metadata = {"trigger": "auto", "preTokens": 167_000, "postTokens": 9_000}
        self.script.leaf = None
        self.line("system", subtype="compact_boundary", compactMetadata=metadata)
        words = f"This session is being continued from a previous conversation. Summary:\n{summary}"
        message = {"role": "user", "content": words}
        self.line("user", message=message, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    # Hooks

    def event(self, name: str, **fields: Any) -> dict:
        whose = {"agent_id": self.agent, "agent_type": "Explore"} if self.agent else {}
        given = {"cwd": str(self.project), **whose, **fields}
        return event(name, session=self.session, transcript=self.parent, **given)

    def hook(self, name: str, **fields: Any) -> str:
        """What it says: to the summariser at PreCompact, elsewhere to the model."""
        self.path.write_bytes(self.script.bytes())
        ran = run_hook(self.event(name, **fields), self.home, cwd=self.home.parent, **self.more)
        assert (ran.returncode, ran.stderr) == (0, b"")
        printed = ran.stdout.decode()
        check_said(name, printed)
        if not printed or name == "PreCompact":
            return printed
        spoken: dict[str, str] = json.loads(printed).get("hookSpecificOutput", {})
        return spoken.get("additionalContext", "")  # the rest is for the person

    def start(self, source: str) -> str:
        return self.hook("SessionStart", source=source)

    def compact(self, summary: str = "", trigger: str = "auto") -> tuple[str, str, str]:
        """The block, the brief, and what is said afterwards, in the client's order."""
        block = self.hook("PreCompact", trigger=trigger)
        brief = self.start("compact")
        assert not self.hook("PostCompact", compact_summary=f"<summary>{summary}</summary>")
        self.boundary(summary)
        return block, brief, self.hook("UserPromptSubmit", prompt="go on")

    # What is on disk

    def folder(self) -> Path:
        place = self.home / "sessions" / self.session
        return place / "agents" / self.agent if self.agent else place

    def receipts(self) -> list[dict]:
        return lines(self.folder() / "receipts.jsonl")

    def booked(self) -> list[dict]:
        """Every time something was said into it."""
        noted = lines(self.home / "events.jsonl")
        whose = (self.session, self.agent)
        return [
            note
            for note in noted
            if note["event"] == "injection.brief" and (note["session"], note["agent"]) == whose
        ]

    def change_state(self, **heard: object) -> None:
        home = Home(str(self.home))
        state = sessions.load(home, self.session, self.agent)
        for name, value in heard.items():
            setattr(state.heard, name, value)
        sessions.save(home, state)


def day(work: Work) -> Work:
    """Some work with one of everything a brief should hold."""
    work.prompt(RULE)
    work.say(DECIDED)
    work.edit("src/poll.py", "def poll_gauge(): pass")
    work.fail("Bash", "Exit code 1\n3 failed, 40 passed", command="pytest -q")
    work.say(DEAD_END)
    work.call("TodoWrite", todos=[{"content": "write the tide page", "status": "in_progress"}])
    return work


def git(project: Path, *words: str) -> str:
    given = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(given, check=True, capture_output=True, text=True).stdout.strip()


def repository(project: Path) -> Path:
    project.mkdir(parents=True)
    git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("one")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    return project
