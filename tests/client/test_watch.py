"""The watcher beside real clients: one of three agents in a project fills up while a tool runs, is asked
for a checkpoint, and its next hook takes it; the others are left alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from client.client import PYTHON, Machine
from client.saved import Saved
from client.scenario import commit, git
from holdfast.install.settings import Launcher, wired
from hooks import PACKAGE, lines

INSTALLED = wired({}, {}, Launcher(PYTHON, str(PACKAGE / "launch.py")), statusline=False)
#: Of the 67,000 before the client compacts: 54 to 57 %, and 67 %.
_CALM, _FULL = (36_000, 36_600, 37_200, 38_000), 45_000
#: Runs until somebody has asked for a checkpoint: no hook of the session comes meanwhile.
_WAITS = (
    "for n in $(seq 300); do grep -qs context_60_percent {}/*.jsonl && break; sleep 0.1; done; echo met"
)


def session(name: str, machine: Machine, fills: bool) -> dict:
    turns = [{"say": f"{name} {n}", "run": f"echo {name}{n}", "context": at} for n, at in enumerate(_CALM)]
    if fills:
        waits = _WAITS.format(machine.config / "holdfast" / "board")
        turns.append({"say": "reading all of it", "run": waits, "context": _FULL})
    return {
        "script": {
            "main": [*turns, {"say": f"{name} done", "context": _CALM[-1] if not fills else _FULL + 500}]
        },
        "args": ["-p", f"build the gate {name}", "--model", "claude-sonnet-4-5"],
        "env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
        "settings": INSTALLED,
    }


def environ(machine: Machine) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}


def test_one_of_three_fills_up_and_is_saved_by_the_watcher(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    commit(machine.project, {"README": "a gate\n"})
    command = [sys.executable, "-m", "holdfast", "watch", "--interval", "1"]
    watching = subprocess.Popen(command, env=environ(machine), stdout=subprocess.PIPE, text=True)
    try:
        runs = machine.run_together(*(session(name, machine, name == "b") for name in "abc"))
    finally:
        watching.send_signal(signal.SIGINT)
        printed, _ = watching.communicate(timeout=60)
    assert [(run.returncode, run.refused, run.unplayed) for run in runs] == [(0, [], {})] * 3
    full = runs[1].own
    assert re.search(rf"{full}  [\w ]+  working  STATUS: context_high", printed)
    saved = Saved.read(machine.config / "holdfast", machine.project)
    saved.check()
    watched = [made for made in saved.files if made.fields["trigger"] == "watcher"]
    assert [(made.fields["session_id"], made.fields["reason"]) for made in watched] == [
        (full, "context 60 percent")
    ]
    assert {made.fields["session_id"] for made in saved.files} == {run.own for run in runs}
    shown = json.loads((machine.project / ".coordination" / "blackboard.json").read_text())
    (trigger,) = [one for one in shown["messages"] if one["type"] == "checkpoint_trigger"]
    assert (trigger["to"], trigger["reason"]) == (f"session:{full}", "context_60_percent")
    assert [one["what"] for one in trigger["acknowledged"]] == [f"checkpoint {watched[0].fields['id']}"]
    assert git(machine.project, "status", "--porcelain", "--untracked-files=all") == ""
    noted = lines(machine.config / "holdfast" / "events.jsonl")
    assert not [one for one in noted if one["event"].startswith("degraded.")]
