"""A scenario: what is typed, what the model answers, and what must come of it, in one file.

{"about": why it is here,
 "args", "env", "settings", "client_json": of every run (see `client.Machine.run`),
 "runs": [{"args", "keys", "script", "resume": true for the session of the run before,
           "returncode": 0}, ...],
 "expect": {"requests": kinds of request, side ones left out,
            "told": {event: times}, among others,
            "compactions": per session, in the order in which they began,
            "capacity": where the client compacts,
            "source": how holdfast knows what is used, at the end of the last session}}
"""

from __future__ import annotations

import fcntl
import json
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


def play(name: str, folder: Path, binary: Path, hooks: dict) -> Played:
    """Play it in `folder`, unless another worker of this test run has: then read what it left.
    `hooks` are the settings that wire what is tested, beside the probe."""
    script = load(name)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        machine = Machine(folder / "machine", binary)
        done = folder / "done"
        if not done.exists():
            _play(script, machine, hooks)
            done.touch()
    return Played(name, script, machine, machine.runs)


def _play(script: dict, machine: Machine, hooks: dict) -> None:
    session = ""
    for run in script["runs"]:
        session = machine.run(
            run.get("script", {}),
            [*run["args"], *script.get("args", [])],
            settings=merged(hooks, script.get("settings", {})),
            env=script.get("env"),
            keys=run.get("keys"),
            resume=session if run.get("resume") else "",
            client_json=script.get("client_json"),
        ).session
