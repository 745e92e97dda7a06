"""What doctor finds, on machines that are broken in one way each."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.extras import extra_command
from holdfast.install.doctor import TESTED, doctor
from holdfast.install.operations import install
from holdfast.install.settings import EVENTS
from holdfast.ops.config import compile_now, settled
from holdfast.ops.tasks import add
from holdfast.ops.upkeep import Check, status
from holdfast.store import database
from hooks import bound_by_modes

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
    assert f"{len(EVENTS)} hooks, and the command they run works" in str(found)


@pytest.mark.parametrize("through", [".claude", "link"])
def test_settings_of_the_user_and_of_the_project_that_are_one_file_are_tried_once(
    machine: Path, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    (machine / ".claude").mkdir()
    (machine / "link").symlink_to(machine / ".claude")
    monkeypatch.chdir(machine)
    app = opened(machine, CLAUDE_CONFIG_DIR=str(machine / through))
    install(app)
    assert [check.what for check in doctor(app).checks if check.name == "wiring"] == [
        f"{machine / through / 'settings.json'}: {len(EVENTS)} hooks, and the command they run works"
    ]


def test_without_install_it_says_so(machine: Path) -> None:
    found = doctor(opened(machine))
    assert (found.ok, found.exit_code) == (False, 1)
    assert "run: holdfast install" in str(found)


@pytest.mark.parametrize("key", ["at", "at_breakpoint"])
def test_a_compaction_that_only_the_plugin_would_start_is_found(machine: Path, key: str) -> None:
    install(opened(machine))
    (Path(opened(machine).home.root) / "config.yaml").write_text(f"compaction: {{{key}: 50}}\n")
    found = doctor(settled(opened(machine), ()))
    (check,) = [check for check in found.checks if check.name == "compaction"]
    assert (found.ok, check.ok) == (False, False)
    assert f"compaction.{key} (50) needs the plugin" in check.what
    data = json.loads(settings(machine).read_text())
    settings(machine).write_text(json.dumps(data | {"enabledPlugins": {"holdfast@holdfast": True}}))
    found = doctor(settled(opened(machine), ()))
    assert [check.ok for check in found.checks if check.name == "compaction"] == [True]


def test_whether_a_watcher_runs_is_said_and_is_no_failure(machine: Path) -> None:
    install(opened(machine))
    (check,) = [check for check in doctor(opened(machine)).checks if check.name == "watcher"]
    assert (check.ok, "holdfast watch" in check.what) == (True, True)


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
            lambda text: text.replace('"PreCompact"', '"PostToolUse"'),
            "a hook of ours for PostToolUse, which nothing needs any more",
        ),
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


@pytest.mark.parametrize(
    "hooks", ["true", '{"Stop": true}', '{"Stop": [true]}', '{"Stop": [{"hooks": true}]}', '{"Stop": [{}]}']
)
def test_settings_that_the_client_would_not_take_are_one_finding_of_many(machine: Path, hooks: str) -> None:
    install(opened(machine))
    (machine / "project/.claude").mkdir()
    (machine / "project/.claude/settings.json").write_text(f'{{"hooks": {hooks}}}')
    found = doctor(opened(machine))
    (bad,) = [check for check in found.checks if not check.ok]
    assert (bad.name, "line 1, column" in bad.what) == ("settings", True)
    assert len(found.checks) > 8


def test_settings_that_are_a_folder_are_one_finding_of_many(machine: Path) -> None:
    install(opened(machine))
    (machine / "project/.claude/settings.local.json").mkdir(parents=True)
    found = doctor(opened(machine))
    assert [check.name for check in found.checks if not check.ok] == ["settings"]
    assert len(found.checks) > 8


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"v": 2}', '{"v": 1, "wirings": [5]}', '{"v": 1, "wirings": [{}]}']
)
def test_a_record_that_is_damaged_is_one_finding_of_many(machine: Path, text: str) -> None:
    install(opened(machine))
    record = machine / "client/holdfast/install.json"
    record.write_text(text)
    found = doctor(opened(machine))
    (bad,) = [check for check in found.checks if not check.ok]
    assert (bad.name, f"{record} cannot be read" in bad.what) == ("record", True)
    assert len(found.checks) > 8
    record.unlink()  # as it says
    install(opened(machine))
    assert doctor(opened(machine)).ok


def test_what_others_may_read_is_found(machine: Path) -> None:
    install(opened(machine))
    home = machine / "client/holdfast"
    home.chmod(0o755)
    found = doctor(opened(machine))
    assert "others may look into" in str(found)
    subprocess.run(["chmod", "-R", "go=", home], check=True)
    assert doctor(opened(machine)).ok


def test_a_link_is_not_taken_for_a_file_that_others_may_read(machine: Path) -> None:
    install(opened(machine))
    kept = machine / "client/holdfast/checkpoints/kept/0123456789abcdef"
    kept.mkdir(parents=True)
    (kept / "latest.md").symlink_to("2026-11-18-033203.md")  # of a project that cannot be written
    assert doctor(opened(machine)).ok
    (kept / "2026-11-18-033203.md").touch(0o644)
    assert "others may look into" in str(doctor(opened(machine)))


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


def test_tasks_that_cannot_be_read_are_found(machine: Path) -> None:
    install(opened(machine))
    add(opened(machine), "mend the pump")
    found = doctor(opened(machine))
    assert found.ok
    assert "tasks can be added and claimed" in str(found)
    other = opened(machine, HOLDFAST_HOME=str(machine / "other"))  # a process opens a store once
    install(other)
    (machine / "other/store.db").write_bytes(b"no database at all")
    (machine / "other/store.db").chmod(0o600)
    bad = [check for check in doctor(other).checks if not check.ok]
    assert [check.name for check in bad] == ["store"]
    assert "store.db is damaged" in bad[0].what
    assert bad[0].fix
    third = opened(machine, HOLDFAST_HOME=str(machine / "third"))
    install(third)
    (machine / "third/store.db").mkdir(0o700)
    assert any("store.db" in check.what for check in doctor(third).checks if not check.ok)


def _store(app: Holdfast) -> Check:
    (found,) = [check for check in status(app).checks if check.name == "store"]
    return found


def test_a_store_is_looked_at_and_left_as_it_is(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(machine)
    store = Path(app.home.store)
    store.parent.mkdir(parents=True)
    store.touch(0o600)
    assert _store(app).ok
    assert (store.read_bytes(), os.listdir(store.parent)) == (b"", [store.name])
    with closing(sqlite3.connect(store)) as older:  # of a holdfast that had no tables yet
        older.execute("PRAGMA user_version = 1")
        older.execute("PRAGMA journal_mode = WAL")
    before = store.read_bytes()
    assert before
    assert _store(app).ok
    assert store.read_bytes() == before
    add(app, "mend the pump")
    with monkeypatch.context() as patch:  # which this process has open now
        patch.setattr(database, "SQLite", None)
        assert _store(app).ok


def test_tasks_without_their_extra_hide_nothing_else(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(machine)
    add(app, "mend the pump")
    for name in [name for name in sys.modules if name.startswith("holdfast.store.database")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    found = _store(app)
    assert (found.ok, found.fix) == (False, extra_command("tasks"))
    assert "sqlalchemy" in found.what


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
    ("closed", "mode", "says"),
    [
        ("sessions/s1/lock", 0o400, "sessions/s1/lock cannot be opened: Permission denied and 1 more"),
        ("sessions", 0, "sessions cannot be read: Permission denied"),
        (".", 0, "install.json cannot be read: Permission denied"),
        (".", 0o400, "install.json cannot be read: Permission denied"),
    ],
)
def test_a_home_that_is_closed_to_us_is_one_finding_of_many(
    machine: Path, closed: str, mode: int, says: str
) -> None:
    home = machine / "client/holdfast"
    for name in ("s1", "s2"):
        (home / "sessions" / name).mkdir(parents=True)
        (home / "sessions" / name / "lock").touch(0o400)
    install(opened(machine))
    (home / closed).chmod(mode)
    argv = [*bound_by_modes(), sys.executable, "-m", "holdfast", "doctor", "--json"]
    environ = {"HOME": str(machine), "CLAUDE_CONFIG_DIR": str(home.parent), "PATH": os.defpath}
    environ["PYTHONPATH"] = str(REPO / "src")
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    (home / closed).chmod(0o700)
    checks = json.loads(done.stdout)["checks"]
    assert any(says in check["what"] and check["fix"] for check in checks if not check["ok"])
    assert {"wiring", "server", "privacy", "client", "home", "disk"} <= {check["name"] for check in checks}


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
