"""What doctor finds, on machines that are broken in one way each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.install.doctor import TESTED, doctor
from holdfast.install.operations import install
from holdfast.ops.config import compile_now
from holdfast.ops.upkeep import Check

REPO = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def opened(machine: Path, **environ: str) -> Holdfast:
    client = str(machine / "client")
    return Holdfast.open(
        {"HOME": str(machine), "CLAUDE_CONFIG_DIR": client, "PATH": "/usr/bin:/bin", **environ}
    )


def settings(machine: Path) -> Path:
    return machine / "client/settings.json"


def test_all_is_well_after_install(machine: Path) -> None:
    install(opened(machine))
    found = doctor(opened(machine))
    assert (found.ok, found.exit_code) == (True, 0), str(found)
    assert "15 hooks, and the command they run works" in str(found)


def test_without_install_it_says_so(machine: Path) -> None:
    found = doctor(opened(machine))
    assert (found.ok, found.exit_code) == (False, 1)
    assert "run: holdfast install" in str(found)


def test_an_enabled_plugin_is_as_good_as_an_install(machine: Path) -> None:
    settings(machine).parent.mkdir()
    settings(machine).write_text('{"enabledPlugins": {"holdfast@holdfast": true}}')
    assert doctor(opened(machine)).ok


def rewired(machine: Path, change: Callable[[str], str]) -> None:
    settings(machine).write_text(change(settings(machine).read_text()))


def _twice(text: str) -> str:
    data = json.loads(text)
    data["hooks"]["Stop"] *= 2
    return json.dumps(data)


PYTHON = os.path.realpath(sys.executable)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(PYTHON, "/gone/bin/python3.11"), "/gone/bin/python3.11 is gone"),
        (
            lambda text: text.replace("/src/holdfast/launch.py", "/gone/holdfast/launch.py"),
            "kept nothing",
        ),
        (
            lambda text: text.replace('launch.py; }"', 'launch.py; exit 3; }"').replace("exec ", ""),
            "ended with status 3",
        ),
        (lambda text: text.replace("exec ", "echo hello; exec "), "printed something"),
        (lambda text: text.replace('"PreCompact"', '"PreCompacted"'), "no hook for PreCompact"),
        (
            lambda text: text.replace('{\n  "hooks"', '{\n  "disableAllHooks": true,\n  "hooks"'),
            "disableAllHooks",
        ),
        (lambda text: _twice(text), "more than one hook of ours for Stop"),
        (lambda text: text[:-20], "settings.json"),
    ],
)
def test_wiring_that_does_not_work_is_found(machine: Path, change: Callable[[str], str], says: str) -> None:
    install(opened(machine))
    rewired(machine, change)
    found = doctor(opened(machine))
    assert not found.ok
    assert says in str(found)
    assert all(check.fix for check in found.checks if not check.ok)


def test_settings_that_are_a_folder_are_one_finding_of_many(machine: Path) -> None:
    install(opened(machine))
    (machine / "project/.claude/settings.local.json").mkdir(parents=True)
    found = doctor(opened(machine))
    assert [check.name for check in found.checks if not check.ok] == ["settings"]
    assert len(found.checks) > 8


def test_what_others_may_read_is_found(machine: Path) -> None:
    install(opened(machine))
    home = machine / "client/holdfast"
    home.chmod(0o755)
    found = doctor(opened(machine))
    assert "others may look into" in str(found)
    subprocess.run(["chmod", "-R", "go=", home], check=True)
    assert doctor(opened(machine)).ok


def test_a_config_that_is_wrong_is_found_and_one_made_by_hand_is_not(machine: Path) -> None:
    install(opened(machine))
    file = machine / "client/holdfast/config.yaml"
    file.write_text("window: 150000\n")
    file.chmod(0o644)  # as an editor makes it
    compile_now(opened(machine))
    assert doctor(opened(machine)).ok
    file.write_text("windo: 150000\n")
    compile_now(opened(machine))
    found = doctor(opened(machine))
    assert not found.ok
    assert "line 1: there is no key `windo`; did you mean `window`?" in str(found)


def test_a_lock_that_is_held_is_found(machine: Path) -> None:
    install(opened(machine))
    folder = machine / "client/holdfast/sessions/s1"
    folder.mkdir(parents=True, mode=0o700)
    code = (
        "import os,sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600);"
        "os.lockf(fd, os.F_LOCK, 0); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, folder / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert "the lock of session s1 has been held" in str(doctor(opened(machine)))
    finally:
        holder.communicate()
    assert doctor(opened(machine)).ok


@pytest.mark.parametrize(
    ("version", "says"), [(TESTED, "the one holdfast was tried with"), ("9.9.9", "may measure")]
)
def test_another_client_is_named_but_no_failure(machine: Path, version: str, says: str) -> None:
    install(opened(machine))
    fake = machine / "bin/claude"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    fake.chmod(0o755)
    found = doctor(opened(machine, PATH=f"{fake.parent}:/usr/bin:/bin"))
    assert (found.ok, says in str(found)) == (True, True)


def test_the_tested_client_is_the_pinned_one() -> None:
    pin = json.loads((REPO / "tests/client/pin.json").read_text())
    assert pin["version"] == TESTED


@pytest.mark.parametrize("below", ["client", "project/.claude"])
def test_a_file_in_place_of_one_of_our_commands_is_found(machine: Path, below: str) -> None:
    """One in a project stands before the plugin's, too."""
    install(opened(machine))
    path = machine / below / "commands/holdfast/save.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Save the whales.")
    found = doctor(opened(machine))
    (bad,) = [check for check in found.checks if not check.ok]
    assert f"{path} is not holdfast's, and stands in place of /holdfast:save" in bad.what
    assert bad.fix.startswith(f"move {path} away")
    path.unlink()
    install(opened(machine))
    assert doctor(opened(machine)).ok


def line_of(machine: Path, name: str) -> Check:
    (check,) = [check for check in doctor(opened(machine)).checks if check.name == name]
    return check


def test_a_service_is_asked_whether_it_is_there(machine: Path) -> None:
    install(opened(machine))
    assert line_of(machine, "service").what.startswith("it does not run")
    home = machine / "client/holdfast"
    environ = {"HOME": str(machine), "HOLDFAST_HOME": str(home), "PATH": os.defpath}
    argv = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
    serving = subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert serving.stdout is not None
        serving.stdout.readline()
        told = json.loads((home / "serve.json").read_text())
        assert line_of(machine, "service") == Check("service", True, f"answers at {told['url']}")
        (home / "serve.json").write_text(json.dumps({**told, "url": "http://127.0.0.1:1"}))
        lost = line_of(machine, "service")
        assert (lost.ok, "does not answer" in lost.what, "holdfast serve" in lost.fix) == (
            False,
            True,
            True,
        )
        (home / "serve.json").write_text("half a li")
        assert not line_of(machine, "service").ok
        (home / "serve.json").write_text(json.dumps(told))
    finally:
        serving.terminate()
        serving.communicate()
    assert line_of(machine, "service").what.startswith("it does not run")


def test_the_clients_memory_is_looked_at(machine: Path) -> None:
    install(opened(machine))
    assert line_of(machine, "topics").what.startswith("0 topics in ")
    folder = Path(line_of(machine, "topics").what.partition(" in ")[2])
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- [Gone](gone.md) - a topic that is not there\n")
    assert "`holdfast memory lint` has 1 remark" in line_of(machine, "topics").what
    (folder / "MEMORY.md").unlink()
    (folder / "MEMORY.md").mkdir()
    found = line_of(machine, "topics")
    assert (found.ok, "is not a plain file" in found.what, bool(found.fix)) == (False, True, True)
