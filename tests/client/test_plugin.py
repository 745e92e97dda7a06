"""What `install` wires and what the plugin brings: each event is handled once, by either and by both."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from client import validate
from client.client import Machine, Run
from client.scenario import load
from holdfast.app import Holdfast
from holdfast.install.operations import install
from holdfast.install.settings import EVENTS
from hooks import heard, wrong

REPO = Path(__file__).resolve().parent.parent.parent
PLUGIN = REPO / "plugin"
THRESHOLD = load("threshold")


def wiring(machine: Machine) -> dict:
    """The settings that install writes on this machine."""
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}
    done = install(Holdfast.open(environ))
    return json.loads(Path(done.settings).read_text())


def play(machine: Machine, settings: dict, plugins: list[Path]) -> Run:
    run = machine.run(
        THRESHOLD["runs"][0]["script"],
        ["-p", "go", *THRESHOLD["args"]],
        settings=settings,
        env=THRESHOLD["env"],
        plugin_dirs=plugins,
    )
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    return run


def handled(machine: Machine, run: Run) -> Counter[str]:
    """What holdfast was told of; that the mod has reported, too, is no event of the client."""
    counted = Counter(heard(machine.config / "holdfast", run.session))
    del counted["Measured"]
    return counted


def told(run: Run) -> Counter[str]:
    """What the probe was told of the events that holdfast asks for."""
    counted = Counter(event["hook_event_name"] for event in run.heard)
    del counted["SubagentStop"]  # the client's own summariser
    return Counter({name: times for name, times in counted.items() if name in EVENTS})


@pytest.mark.parametrize(("settings", "plugin"), [(True, False), (False, True), (True, True)])
def test_each_event_is_handled_once(tmp_path: Path, binary: Path, settings: bool, plugin: bool) -> None:
    machine = Machine(tmp_path, binary)
    run = play(machine, wiring(machine) if settings else {}, [PLUGIN] if plugin else [])
    assert handled(machine, run) == told(run)
    assert sum(told(run).values()) > 10
    assert not wrong(machine.config / "holdfast")
    for lines in machine.transcripts.values():
        kinds = [line["attachment"]["type"] for line in lines if line["type"] == "attachment"]
        assert not [kind for kind in kinds if "error" in kind or "cancelled" in kind]


def test_settings_that_lost_their_hooks_do_not_silence_the_plugin(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    wiring(machine)
    run = play(machine, {}, [PLUGIN])  # the record says wired, the file says otherwise
    assert handled(machine, run) == told(run)


@pytest.mark.parametrize("asked", validate.ASKED, ids=lambda asked: asked[0])
def test_the_plugin_and_its_marketplace_are_valid_to_the_client(
    binary: Path, asked: tuple[str, ...]
) -> None:
    name, *strictly = asked
    done = validate.validated(binary, REPO / name, *strictly)
    assert (done.returncode, "Validation passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "./mod.mjs hooks: session.start, session.measure" in done.stdout
    assert "warning" not in done.stdout


def test_a_plugin_that_only_warrants_a_warning_is_not_valid(tmp_path: Path, binary: Path) -> None:
    """The control: without --strict the client would take it."""
    place = tmp_path / "plugin"
    shutil.copytree(PLUGIN, place)
    manifest = place / ".claude-plugin/plugin.json"
    manifest.write_text(manifest.read_text().replace('"license"', '"licence"'))
    assert validate.validated(binary, place).returncode == 0
    assert validate.validated(binary, place, "--strict").returncode == 1


def test_the_plugin_works_from_a_marketplace(tmp_path: Path, binary: Path) -> None:
    """Installed, it is a copy somewhere else, without the repository around it."""
    machine = Machine(tmp_path, binary)
    for words in (["marketplace", "add", str(REPO)], ["install", "holdfast@holdfast"]):
        assert machine.run({}, ["plugin", *words], session=False).returncode == 0
    enabled = json.loads((machine.config / "settings.json").read_text())["enabledPlugins"]
    run = play(machine, {"enabledPlugins": enabled}, [])
    assert handled(machine, run) == told(run)
    assert heard(machine.config / "holdfast", run.session)["Measured"] == 2


def test_the_statusline_is_shown_and_keeps_what_the_client_told_it(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    script = {"main": [{"say": "the answer", "context": 120_000}]}
    keys = [
        {"event": "SessionStart"},
        {"see": "bypass permissions"},
        {"type": "go"},
        {"see": "72%.*L1 Warning"},
        {"event": "Stop"},
        {"type": "/exit"},
    ]
    run = machine.run(script, ["--model", "claude-opus-4-6"], settings=wiring(machine), keys=keys)
    assert run.trouble == ""
    saved = json.loads((machine.config / "holdfast/sessions" / run.session / "state.json").read_text())
    assert saved["heard"]["window"] == 200_000
    assert saved["heard"]["events"]["StatusLine"] >= 1


def hook_files() -> dict[Path, dict]:
    """The plugin's own, which the client finds by itself, and those its manifest names."""
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    paths = [PLUGIN / "hooks/hooks.json", *(PLUGIN / named for named in manifest["hooks"])]
    return {path: json.loads(path.read_text())["hooks"] for path in paths}


def test_the_plugin_asks_for_the_same_events_as_install() -> None:
    asked = [
        (event, (hook["timeout"], hook.get("async", False)))
        for hooks in hook_files().values()
        for event, [group] in hooks.items()
        for hook in group["hooks"]
    ]
    assert sorted(asked) == sorted(EVENTS.items())


def test_an_event_that_not_every_client_knows_stands_apart() -> None:
    """2.1.110 and 2.1.200 pass over a whole file of hooks for one event that they do not know."""
    first, *apart = hook_files().values()
    assert not first.keys() & {"PostToolBatch", "PostModelSwitch"}
    assert sorted(event for hooks in apart for event in hooks) == ["PostModelSwitch", "PostToolBatch"]
    assert all(len(hooks) == 1 for hooks in apart)


def test_the_plugin_has_the_version_of_the_package() -> None:
    import holdfast

    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert manifest["version"] == holdfast.__version__
