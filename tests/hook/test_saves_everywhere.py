"""What a session saves and says as it fills up, however it is wired: saves.json, played through the
commands that the client would run."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hooks import PACKAGE, SAFETY_S, Transcript, encode, event, lines
from told import RULE, repository

REPO = PACKAGE.parent.parent
TABLE = json.loads(Path(__file__).with_name("saves.json").read_text())
SIGNS = {
    "prompt warning": "CONTEXT: ~",
    "L2 Advisory": "holdfast L2 Advisory: ",
    "L3 Yellow Alert": "holdfast L3 Yellow Alert: ",
    "L4 Critical": "holdfast L4 Critical: ",
    "full": "holdfast: the window is full. ",
}
REFUSED = {"error": "unknown", "last_assistant_message": "API Error: 400 Prompt is too long"}


class Wired:
    """A user's machine on which holdfast is wired in one of the ways there are."""

    def __init__(self, root: Path, row: dict) -> None:
        self.root, self.row = root, row
        self.client, self.home = root / ".claude", root / ".claude/holdfast"
        self.client.mkdir(parents=True)
        self.project = repository(root / "tidegate")
        self.environ = {
            "HOME": str(root),
            "CLAUDE_CONFIG_DIR": str(self.client),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "PATH": "/usr/bin:/bin",
        }
        self.said: list[str] = []
        self.hooks = self._wire(row["wired"])
        if row["auto_compact"] == "off":
            settings = self.client / "settings.json"
            known = json.loads(settings.read_text()) if settings.exists() else {}
            settings.write_text(json.dumps(known | {"autoCompactEnabled": False}))

    def _wire(self, how: str) -> dict[str, str]:
        """Event -> the command the client runs."""
        if how == "plugin":
            python = self.root / "data"
            python.mkdir()
            (python / "python").write_text(os.path.realpath(sys.executable) + "\n")
            self.environ |= {"CLAUDE_PLUGIN_ROOT": str(REPO / "plugin"), "CLAUDE_PLUGIN_DATA": str(python)}
            hooks = json.loads((REPO / "plugin/hooks/hooks.json").read_text())["hooks"]
            batch = hooks["Stop"][0]["hooks"][0]["command"]
            return dict.fromkeys((*hooks, "PostToolBatch"), batch)
        words = {"nothing but hooks": ["install"]}.get(how, how.split(" "))
        self.run(*words)
        place = self.project / ".claude" if "--project" in how else self.client
        if how == "nothing but hooks":
            shutil.rmtree(place / "commands")
            data = json.loads((place / "settings.json").read_text())
            del data["statusLine"]
            (place / "settings.json").write_text(json.dumps(data))
            shutil.copytree(REPO / "src/holdfast", self.root / "holdfast")  # with no environment around it
        settings = json.loads((place / "settings.json").read_text())
        found = {name: groups[0]["hooks"][0]["command"] for name, groups in settings["hooks"].items()}
        if how == "nothing but hooks":
            package = str(REPO / "src/holdfast")
            found = {name: words.replace(package, f"{self.root}/holdfast") for name, words in found.items()}
        return found

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "holdfast", *words]
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hook(self, payload: dict) -> None:
        """Run as the client runs it; what was left to children is done when this returns."""
        ended, open_in_all = os.pipe()
        done = subprocess.run(
            ["sh", "-c", self.hooks[payload["hook_event_name"]]],
            input=encode(payload),
            env=self.environ,
            cwd=self.project,
            capture_output=True,
            timeout=SAFETY_S,
            check=False,
            pass_fds=[open_in_all],
        )
        os.close(open_in_all)
        assert select.select([ended], [], [], SAFETY_S)[0]
        os.close(ended)
        assert (done.returncode, done.stderr) == (0, b"")
        if done.stdout and payload["hook_event_name"] != "PreCompact":
            self.said += [*filter(None, json.loads(done.stdout).get("systemMessage", "").split("\n"))]

    def saves(self) -> list[dict]:
        return lines(self.home / "environments/development.jsonl")


class Filling:
    """A session whose window fills up turn by turn."""

    def __init__(self, machine: Wired, name: str, agent: str = "") -> None:
        self.machine, self.name, self.agent = machine, name, agent
        parent = machine.root / f"transcripts/{name}.jsonl"
        self.parent = parent
        path = parent.with_suffix("") / f"subagents/agent-{agent}.jsonl" if agent else parent
        self.transcript = Transcript(path, agent)
        self.transcript.prompt(f"{RULE}. This is {name}.")
        self.turns = 0

    def hook(self, name: str, **fields: object) -> None:
        whose = {"agent_id": self.agent, "agent_type": "Explore"} if self.agent else {}
        made = event(name, self.name, self.parent, cwd=str(self.machine.project), **(whose | fields))
        self.machine.hook(made)

    def turn(self, fill: float) -> None:
        self.turns += 1
        row = self.machine.row
        self.transcript.answer(int(row["capacity"] * fill / 100), text="make", call=f"toolu_{self.turns}")
        self.transcript.result(f"toolu_{self.turns}", "done")
        data = self.transcript.path.read_bytes()
        self.transcript.path.write_bytes(data.replace(b"claude-opus-4-6", row["model"].encode()))
        self.hook("PostToolBatch", tool_use_id=f"toolu_{self.turns}")

    def fill(self) -> None:
        if not self.agent:
            self.hook("SessionStart", source="startup")
        for fill in TABLE["fills"]:
            self.turn(fill)
            if fill == 82 and not self.agent:
                self.hook("UserPromptSubmit", prompt="go on")
        if self.machine.row["auto_compact"] == "on":
            self.hook("PreCompact", trigger="auto")
            return
        self.turn(108)
        self.hook("StopFailure", **REFUSED)
        self.hook("UserPromptSubmit", prompt="go on")


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: "-".join(map(str, list(row.values())[:5])))
def test_what_is_saved_and_said_as_a_window_fills_up(row: dict, tmp_path: Path) -> None:
    machine = Wired(tmp_path / "user", row)
    if row["who"] == "subagent":
        Filling(machine, "s1", "a1").fill()
        assert (machine.saves(), machine.said) == ([], [])
    names = ["s1", "s2"] if row["who"] == "two" else ["s1"]
    for name in names:
        machine.said = []
        Filling(machine, name).fill()
        counted = {sign: sum(line.startswith(SIGNS[sign]) for line in machine.said) for sign in SIGNS}
        assert counted == {sign: int(sign in row["said"]) for sign in SIGNS}
        if "L2 Advisory" not in row["said"]:
            assert sum(counted.values()) == len(machine.said), machine.said
        (warned,) = [line for line in machine.said if line.startswith("CONTEXT: ")]
        assert f"CONTEXT: ~82% used. Consider {row['command']} before context exhaustion." in warned
        whys = [save["context"] for save in machine.saves() if save["session_id"] == name]
        assert [why in context for why, context in zip(row["saves"], whys, strict=True)] == [True] * len(
            whys
        )
    told = machine.run("rs", "development")
    assert f"This is {names[-1]}." in told
    for name in names[:-1]:
        assert "Another session saved" in told
        *_, newest = [save for save in machine.saves() if save["session_id"] == name]
        assert f"This is {name}." in machine.run("rs", "development", "--id", newest["id"])
