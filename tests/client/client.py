"""The real client, run where it can reach nothing but a scripted model.

A `Machine` is one user's computer: home, the client's folder, a project. `Machine.run` starts the
client there once; what it did comes back as a `Run`. Runs on one machine follow each other, so a
session can be resumed.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from client.binary import Unavailable

HERE = Path(__file__).resolve().parent
PYTHON = os.path.realpath(sys.executable)
#: No account has it; the client only wants something of this shape.
_KEY = "sk-ant-api03-scripted-" + "0" * 60
_WITHIN_S = 60
#: What the harness itself may take beyond the client: starting, and a terminal's waits.
_HARNESS_S = 120
#: More than one run asks for: the ids of two runs of a machine must not meet in one session.
_REQUESTS = 100_000
#: Every event of the client but those that would change what it does (a Worktree hook replaces its
#: own code) or run for every piece of text it draws (MessageDisplay).
EVENTS = (
    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit "
    "UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact "
    "PostCompact PreModelSwitch PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange InstructionsLoaded CwdChanged "
    "FileChanged DirectoryAdded"
).split()


@functools.cache
def namespace() -> tuple[str, ...]:
    """A command that runs another where there is no network at all."""
    before = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-rn")
    try:
        tried = subprocess.run([*before, "true"], capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        raise Unavailable(
            "`unshare` is missing (package util-linux): the client is never run without it"
        ) from None
    if tried.returncode != 0:
        raise Unavailable(
            f"`{' '.join(before)}` is not allowed here ({tried.stderr.strip()}): the client is run only "
            "in a network namespace of its own. Run as root, or allow user namespaces "
            "(sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    return before


def wired(command: list[str], events: Sequence[str] = EVENTS) -> dict:
    """Settings in which one command is the hook of many events."""
    hook = {"type": "command", "command": shlex.join(command), "timeout": 5}
    return {"hooks": {event: [{"hooks": [hook]}] for event in events}}


def merged(one: dict, other: dict) -> dict:
    """Both settings; where both have a list, one after the other."""
    result = dict(one)
    for name, value in other.items():
        mine = result.get(name)
        if isinstance(mine, dict) and isinstance(value, dict):
            result[name] = merged(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            result[name] = mine + value
        else:
            result[name] = value
    return result


def json_lines(path: Path) -> list[dict]:
    """Every line that is an object; the client's own last line may be torn."""
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").split("\n")
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


@dataclass(frozen=True)
class Run:
    """One start of the client, read from the folder it left behind."""

    folder: Path
    returncode: int
    #: What the harness waited for in vain; "" if nothing.
    trouble: str
    #: Kinds of requests the script had no turn for, and turns nobody asked for.
    refused: list[str]
    unplayed: dict[str, int]

    @classmethod
    def load(cls, folder: Path) -> Run:
        return cls(folder, **json.loads((folder / "result.json").read_text()))

    @property
    def requests(self) -> list[dict]:
        """What the model was really sent, in order: {kind, session, turn, usage, body}."""
        return json_lines(self.folder / "requests.jsonl")

    @property
    def heard(self) -> list[dict]:
        """What the probe was told, in order."""
        return json_lines(self.folder / "probe.jsonl")

    @property
    def stream(self) -> list[dict]:
        """The client's own events (--output-format stream-json)."""
        return json_lines(self.folder / "stdout")

    @property
    def session(self) -> str:
        """The session it ended in."""
        return self.heard[-1]["session_id"]

    @property
    def own(self) -> str:
        """The session that it says is its own, without a screen: where the probe was told of others too."""
        return next(event["session_id"] for event in self.stream if event.get("subtype") == "init")

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    @property
    def screen(self) -> str:
        return (self.folder / "screen").read_text()


class Machine:
    def __init__(self, folder: Path, binary: Path) -> None:
        self.folder = folder
        self.binary = binary
        self.home, self.config, self.project, self.temp = (
            folder / name for name in ("home", "config", "project", "tmp")
        )
        for place in (self.home, self.config, self.project, self.temp):
            place.mkdir(parents=True, exist_ok=True)

    @property
    def runs(self) -> list[Run]:
        return [Run.load(path.parent) for path in sorted(self.folder.glob("run-*/result.json"))]

    @property
    def transcripts(self) -> dict[Path, list[dict]]:
        """Of sessions and of their subagents."""
        return {path: json_lines(path) for path in sorted((self.config / "projects").rglob("*.jsonl"))}

    def run(self, script: dict, args: list[str], **more: Any) -> Run:
        """`more` is what `_arrange` takes."""
        job = self._arrange(script, args, **more)
        _enter(job)
        return Run.load(job.parent)

    def run_together(self, *runs: dict) -> list[Run]:
        """Several clients at once, each with its own script; what `_arrange` takes, for each of them.
        They share the settings of the last, so that one probe is told of them all; `Run.own` is which."""
        jobs = [self._arrange(**run) for run in runs]
        for job in jobs[:-1]:
            (job.parent / "probe.jsonl").symlink_to(jobs[-1].parent / "probe.jsonl")
        with ThreadPoolExecutor(len(jobs)) as pool:
            list(pool.map(_enter, jobs))
        return [Run.load(job.parent) for job in jobs]

    def _arrange(
        self,
        script: dict,
        args: list[str],
        settings: dict | None = None,
        env: dict[str, str] | None = None,
        keys: list[dict] | None = None,
        plugin_dirs: list[Path] | None = None,
        resume: str = "",
        client_json: dict | None = None,
        session: bool = True,
        probed: bool | Sequence[str] = True,
        kill: dict | None = None,
        cwd: Path | None = None,
        session_id: str = "",
        after: str = "",
        within_s: int = _WITHIN_S,
        lean: bool = False,
    ) -> Path:
        """One start of the client, as a job. `keys` makes it interactive (see `terminal`); `client_json`
        goes into the client's own memory of itself, where for instance its cached feature flags are. Not
        a `session`: one of the client's other commands, which want no flags. `probed`: no hook of ours
        beside, or at these events only. `kill` ends it with SIGKILL as soon as the probe was told of an
        event so often, {"event": "PostToolUse", "times": 9}; `cwd` is where it is started, if not in the
        project. `session_id` is the name of a new session, `after` that of one that must have begun before
        this client is started; `lean` records of what is sent only what differs from request to request."""
        number = len(list(self.folder.glob("run-*")))
        folder = self.folder / f"run-{number}"
        folder.mkdir()
        probe = [PYTHON, "-I", "-S", str(HERE / "probe.py"), str(folder / "probe.jsonl")]
        told = EVENTS if probed is True else probed or []
        whole = merged(wired(probe, told), settings or {})
        self._prepare(whole, client_json or {}, cwd or self.project)
        loose = ["--dangerously-skip-permissions"]
        loose += [] if keys else ["--output-format", "stream-json", "--verbose"]
        loose += ["--resume", resume] if resume else []
        loose += ["--session-id", session_id] if session_id else []
        loose += [word for place in plugin_dirs or [] for word in ("--plugin-dir", str(place))]
        job = {
            "argv": [str(self.binary), *args, *(loose if session else [])],
            "cwd": str(cwd or self.project),
            "env": {**self._environ(), **(env or {})},
            "script": script,
            "first": number * _REQUESTS,
            "keys": keys or [],
            "kill": kill or {},
            "heard": str(folder / "probe.jsonl"),
            "session": session_id,
            "after": after,
            "within_s": within_s,
            "lean": lean,
        }
        (folder / "job.json").write_text(json.dumps(job))
        return folder / "job.json"

    def _prepare(self, settings: dict, client_json: dict, cwd: Path) -> None:
        (self.config / "settings.json").write_text(json.dumps(settings))
        path = self.config / ".claude.json"
        memory = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(merged(merged(memory, self._introduced(cwd)), client_json)))

    def _introduced(self, cwd: Path) -> dict:
        """A client that has been started before, by someone who trusts this project."""
        return {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "autoUpdates": False,
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
        }

    def _environ(self) -> dict[str, str]:
        quiet = (
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_TELEMETRY DISABLE_AUTOUPDATER "
            "DISABLE_ERROR_REPORTING DISABLE_BUG_COMMAND "
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL"
        ).split()
        return {
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TMPDIR": str(self.temp),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "USER": "tester",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_API_KEY": _KEY,
            "IS_SANDBOX": "1",  # it refuses to skip permissions as root otherwise
            **dict.fromkeys(quiet, "1"),
        }


def _enter(job: Path) -> None:
    """The runner, inside the namespace, with nothing of this process's environment."""
    done = subprocess.run(
        [*namespace(), PYTHON, "-S", "-m", "client.runner", str(job)],
        env={"PATH": os.defpath, "PYTHONPATH": str(HERE.parent), "LANG": "C.UTF-8"},
        cwd=job.parent,
        capture_output=True,
        text=True,
        timeout=json.loads(job.read_text())["within_s"] + _HARNESS_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the harness itself failed (exit {done.returncode}): {done.stderr[-2000:]}")
