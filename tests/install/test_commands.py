"""Slash commands and skill: the plugin's texts, put into the client's folder and taken out again."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.install import commands
from holdfast.install.operations import install, uninstall
from holdfast.install.settings import Launcher
from install.conftest import Machine

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
RUN = '"${CLAUDE_PLUGIN_ROOT}/run" command'


def placed(machine: Machine) -> dict[str, Path]:
    return {place: machine.client / place for place in commands.FILES}


def test_the_plugin_brings_the_same_texts() -> None:
    for place, name in commands.FILES.items():
        own = place.replace("commands/holdfast/", "commands/")
        assert (PLUGIN / own).read_text() == commands.text(name, RUN), f"write {own} anew from texts/{name}"


def test_install_puts_them_there_and_uninstall_takes_them_out(machine: Machine) -> None:
    install(machine.app)
    for path in placed(machine).values():
        assert commands.is_ours(path.read_bytes())
        assert path.stat().st_mode & 0o777 == 0o600
    uninstall(machine.app, verify=True)
    assert not (machine.client / "commands").exists()
    assert not (machine.client / "skills").exists()


def test_the_rule_allows_exactly_the_command_that_is_run() -> None:
    """The client compares them as text, quotes included."""
    odd = Launcher("/opt/my python/bin/python3", "/opt/hold fast/launch.py")
    for place, data in commands.wanted(odd).items():
        if place.startswith("commands/"):
            words = data.decode()
            (rule,) = re.findall(r"^allowed-tools: Bash\((.*):\*\)$", words, re.MULTILINE)
            (run,) = re.findall(r"^!`(.*)`$", words, re.MULTILINE)
            assert run.startswith(rule + " ")
            assert rule == "'/opt/my python/bin/python3' -I -S '/opt/hold fast/launch.py' command"


def test_installing_again_changes_nothing_and_from_elsewhere_all(machine: Machine) -> None:
    assert install(machine.app).commands
    before = {path: path.read_bytes() for path in placed(machine).values()}
    again = install(machine.app)
    assert (again.changed, again.commands) == (False, [])
    assert {path: path.read_bytes() for path in before} == before


def test_what_somebody_wrote_in_their_place_is_left_alone(machine: Machine) -> None:
    mine = machine.client / "commands/holdfast/save.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("my own command\n")
    done = install(machine.app)
    assert done.left_alone == [str(mine)]
    assert str(mine) in str(done)
    for again in (install(machine.app), install(machine.app, dry_run=True)):
        assert not again.changed
        assert f"left alone, because it is not holdfast's: {mine}" in str(again)
    assert mine.read_text() == "my own command\n"
    uninstall(machine.app)
    assert mine.read_text() == "my own command\n"
    assert os.listdir(mine.parent) == ["save.md"]


def test_one_that_was_changed_is_no_longer_ours(machine: Machine) -> None:
    install(machine.app)
    changed = machine.client / "commands/holdfast/load.md"
    changed.write_text(changed.read_text() + "\nAnd sing.\n")
    install(machine.app)
    uninstall(machine.app)
    assert changed.read_text().endswith("And sing.\n")
    assert not (machine.client / "commands/holdfast/save.md").exists()


def test_a_trial_run_names_the_files_and_writes_none(machine: Machine) -> None:
    said = str(install(machine.app, dry_run=True))
    for path in placed(machine).values():
        assert f"new file {path}" in said
        assert not path.exists()


def test_a_trial_run_says_which_files_would_be_replaced(machine: Machine) -> None:
    mine = machine.client / "skills/holdfast/SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("my own skill\n")
    install(machine.app)
    for path in placed(machine).values():
        if path != mine:  # as an older holdfast has put it there
            path.write_bytes(commands._labelled(b"---\nof an older one\n---\n"))
    missing = machine.client / "commands/holdfast/report.md"
    missing.unlink()
    said = str(install(machine.app, dry_run=True))
    assert f"changed file {machine.client}/commands/holdfast/save.md" in said
    assert f"new file {missing}" in said
    assert f"left alone, because it is not holdfast's: {mine}" in said
    assert "undo with" not in said
