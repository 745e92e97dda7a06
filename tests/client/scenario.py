"""A scenario: what is typed, what the model answers, and what must come of it, in one file.

{"about": why it is here,
 "repository": {name: text} of files that are committed in the project before all else,
 "args", "env", "settings", "client_json": of every run (see `client.Machine.run`),
 "runs": [{"args", "keys", "kill", "script", "resume": true for the session of the run before,
           "returncode": 0}, ...], where {project} is the project's path,
 "expect": {"requests": kinds of request, side ones left out,
            "told": {event: times}, among others,
            "compactions": per session, in the order in which they began,
            "capacity": where the client compacts,
            "source": how holdfast knows what is used, at the end of the last session}}

Those in `apart` are not for every test: what they do is meant to differ from run to run.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from client.client import HERE, Machine, Run, merged

FOLDER = HERE / "scenarios"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@dataclass(frozen=True)
class Played:
    """A scenario after it has been played, with all it left behind."""

    name: str
    script: dict
    machine: Machine
    runs: list[Run]

    @property
    def expect(self) -> dict:
        return self.script["expect"]

    @property
    def home(self) -> Path:
        """holdfast's, found by itself: the tests set no HOLDFAST_HOME."""
        return self.machine.config / "holdfast"

    @property
    def heard(self) -> list[dict]:
        """All the probe was told."""
        return [event for run in self.runs for event in run.heard]

    @property
    def requests(self) -> list[dict]:
        return [request for run in self.runs for request in run.requests if request["kind"] != "side"]

    @property
    def sessions(self) -> list[str]:
        return list(dict.fromkeys(event["session_id"] for event in self.heard))

    def told(self) -> dict[tuple[str, str], Counter[str]]:
        """(session, agent) -> how often the probe was told each event.

        The client's own summariser reports as a subagent without a type; holdfast keeps no state
        for it, on purpose."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for event in self.heard:
            if event["hook_event_name"] == "SubagentStop" and not event.get("agent_type"):
                continue
            key = event["session_id"], event.get("agent_id", "")
            counts.setdefault(key, Counter())[event["hook_event_name"]] += 1
        return counts


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def play(name: str, folder: Path, binary: Path, hooks: dict, plugins: list[Path] | None = None) -> Played:
    """Play it in `folder`, unless another worker of this test run has: then read what it left.
    `hooks` are the settings that wire what is tested, beside the probe; `plugins` may bring more."""
    script = load(name)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        machine = Machine(folder / "machine", binary)
        done = folder / "done"
        if not done.exists():
            _play(script, machine, hooks, plugins)
            done.touch()
    return Played(name, script, machine, machine.runs)


def commit(project: Path, files: dict[str, str]) -> None:
    """Make the project a repository with these files in its one commit."""
    for name, text in files.items():
        (project / name).write_text(text)
    who = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "begin"]):
        git(project, *words)


def git(project: Path, *words: str) -> str:
    """Without anything of whoever runs the tests."""
    alone = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(project), *words]
    return subprocess.run(command, env=alone, capture_output=True, text=True, check=True).stdout


def _play(script: dict, machine: Machine, hooks: dict, plugins: list[Path] | None) -> None:
    session = ""
    if "repository" in script:
        commit(machine.project, script["repository"])
    script = json.loads(json.dumps(script).replace("{project}", str(machine.project)))
    for run in script["runs"]:
        session = machine.run(
            run.get("script", {}),
            [*run["args"], *script.get("args", [])],
            settings=merged(hooks, script.get("settings", {})),
            env=script.get("env"),
            keys=run.get("keys"),
            plugin_dirs=plugins,
            resume=session if run.get("resume") else "",
            client_json=script.get("client_json"),
            kill=run.get("kill"),
        ).session
