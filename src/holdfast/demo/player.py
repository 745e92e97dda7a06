"""A script performed: the transcript grows, and the very launcher that the client runs is called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.demo.script import Step
from holdfast.demo.story import HOME, SESSION
from holdfast.demo.together import Together
from holdfast.disk.client import slug

#: Hooks that are called also where time is made up: enough for a curve.
_EARLIER = frozenset(
    "SessionStart UserPromptSubmit PostToolBatch Stop SubagentStart SubagentStop PreCompact "
    "PostCompact".split()
)
_PATIENCE_S = 30


class Player(threading.Thread):
    """One session. What lies before `since` is made up for at once, the rest comes `speed` times as fast as
    it was, until `stopped`."""

    def __init__(
        self, folder: Path, name: str, number: int, since: float, speed: float, script: list[Step]
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.session = f"{number * 0x2D9F3B17 % (1 << 32):08x}{SESSION[8:]}"  # people see how it begins
        self.project = folder / name
        self.since, self.speed, self.script = min(since, script[-1].at + 1), speed, script
        self.stopped = threading.Event()
        self.made_up = threading.Event()
        self.environ = environ_of(folder)
        projects = folder / "client/projects" / slug(str(self.project))
        self.transcript = projects / f"{self.session}.jsonl"
        for place in (self.project, projects, projects / self.session / "subagents"):
            place.mkdir(parents=True)
        self.together = Together(self.environ, self.session, str(self.project))

    def run(self) -> None:
        began = now()
        self._call("SessionStart", {"source": "startup", "model": "claude-opus-4-6"}, "")
        for step in self.script:
            if self.stopped.is_set():
                return
            if step.at < self.since:
                self._write(step, began - round(1000 * (self.since - step.at)))
                if step.hook in _EARLIER:
                    self._call(step.hook, step.given, step.agent)
                continue
            if not self.made_up.is_set():
                self.made_up.set()
                self.live = time.monotonic()
            due = self.live + (step.at - self.since) / self.speed
            if self.stopped.wait(max(0.0, due - time.monotonic())):
                return
            self._write(step, now())
            if step.hook:
                self._call(step.hook, step.given, step.agent)
        self.made_up.set()

    def _write(self, step: Step, at: int) -> None:
        path = self._own(step.agent)
        with path.open("a", encoding="utf-8") as file:
            for line in step.lines:
                said = {**line, "timestamp": rfc3339(at)} if "timestamp" in line else line
                text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
                file.write(text.replace(HOME, str(self.project)).replace(SESSION, self.session) + "\n")

    def _own(self, agent: str) -> Path:
        return (
            self.transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
            if agent
            else self.transcript
        )

    def _call(self, hook: str, given: dict, agent: str) -> None:
        event = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": hook,
            **({"agent_id": agent} if agent else {}),
            **given,
        }
        if hook == "SubagentStop":
            event["agent_transcript_path"] = str(self._own(agent))
        said = json.dumps(event).replace(HOME, str(self.project))
        done = subprocess.run(  # noqa: S603
            hook_command(),
            input=said.encode(),
            env=self.environ,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        self._hear(done.stdout, hook)
        self.together.after(hook, agent)

    def _hear(self, answer: bytes, hook: str) -> None:
        """What a hook puts into the session is a line of it, as the client would write it."""
        try:
            said = load(answer.decode("utf-8", "replace"))
            context = said["hookSpecificOutput"]["additionalContext"]  # type: ignore[index]
        except (KeyError, TypeError, *UNREADABLE):
            return
        line = {
            "type": "attachment",
            "attachment": {
                "type": "hook_additional_context",
                "content": [context],
                "hookEvent": hook,
                "hookName": hook,
            },
            "timestamp": rfc3339(now()),
            "sessionId": self.session,
            "cwd": str(self.project),
        }
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def environ_of(folder: Path) -> dict[str, str]:
    """Of everything the demo starts: nothing of this user's is read or written."""
    ours = {
        name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "CLAUDE"))
    }
    away = {"HOME": folder, "HOLDFAST_HOME": folder / "home", "CLAUDE_CONFIG_DIR": folder / "client"}
    return {**ours, **{name: str(path) for name, path in away.items()}}


def hook_command() -> list[str]:
    launch = Path(os.path.realpath(holdfast.__file__)).with_name("launch.py")
    return [os.path.realpath(sys.executable), "-I", "-S", str(launch)]
