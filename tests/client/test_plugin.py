"""The hooks of a plugin are run like those of the user's settings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from client.client import Machine, wired
from client.scenario import load
from hooks import command, heard


def test_hooks_of_a_plugin_hear_every_event_once(tmp_path: Path, binary: Path) -> None:
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "tried", "version": "0.0.1"}')
    (plugin / "hooks").mkdir()
    (plugin / "hooks/hooks.json").write_text(json.dumps(wired(command())))
    script = load("threshold")
    machine = Machine(tmp_path / "machine", binary)
    run = machine.run(
        script["runs"][0]["script"],
        ["-p", "go", *script["args"]],
        env=script["env"],
        plugin_dirs=[plugin],
    )
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    told = Counter(event["hook_event_name"] for event in run.heard)
    del told["SubagentStop"]  # the client's own summariser
    assert heard(machine.config / "holdfast", run.session) == told
