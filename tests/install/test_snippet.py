"""Lines in CLAUDE.md: only for those who ask, once, and taken out to the byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import BadInput, HoldfastError
from holdfast.install.operations import install, uninstall
from holdfast.install.snippet import MARK, added, removed, text_for
from install.conftest import Machine
from install.steps import Steps, die, in_child

LINES = b"one of ours\nanother\n"
#: The beginnings and ends a file may have.
WRITTEN = [b"", b"x", b"# Mine\n", b"a\r\nb\r\n", b"no end", b"\n", b"a\n\n", b"\xff\xfe not text\n", b"\0"]


@pytest.fixture
def memory(machine: Machine) -> Path:
    machine.client.mkdir()
    return machine.client / "CLAUDE.md"


def test_nobody_gets_it_who_did_not_ask(machine: Machine, memory: Path) -> None:
    install(machine.app)
    assert not memory.exists()


def test_the_lines_say_what_there_is(machine: Machine, memory: Path) -> None:
    done = install(machine.app, snippet=True)
    assert done.snippet == str(memory)
    lines = memory.read_text().split("\n")
    assert lines[1:4] == [
        "## Auto Context Management",
        "",
        "Context is monitored automatically. At 85% usage, sessions auto-save.",
    ]
    command = lines[6].removeprefix("- `").removesuffix(" ss` - Save session now")
    assert shutil.which(command), "it names a command that exists"
    assert f"- `{command} rs <env> --start` - Restore and continue in a new session" in lines
    assert lines[-2:] == ["<!-- holdfast:end -->", ""]
    assert not install(machine.app, snippet=True).changed


@pytest.mark.parametrize("raw", [None, *WRITTEN], ids=repr)
def test_uninstall_leaves_what_was_there_to_the_byte(
    machine: Machine, memory: Path, raw: bytes | None
) -> None:
    if raw is not None:
        memory.write_bytes(raw)
        memory.chmod(0o640)
    assert install(machine.app, snippet=True, dry_run=True).snippet == str(memory)
    assert (memory.read_bytes() if memory.exists() else None) == raw
    install(machine.app, snippet=True)
    assert memory.read_bytes().count(MARK) == 1
    uninstall(machine.app, verify=True)
    assert (memory.read_bytes() if memory.exists() else None) == raw
    if raw is not None:
        assert memory.stat().st_mode & 0o777 == 0o640


@given(st.none() | st.binary(max_size=40), st.binary(max_size=20).filter(lambda raw: MARK not in raw))
def test_whatever_stands_around_it_stays(raw: bytes | None, after: bytes) -> None:
    once = added(raw, LINES)
    assert added(once, LINES) == once
    assert removed(added(once, b"ours\n")) == raw
    if after:
        gap = b"\n" if raw and not raw.endswith(b"\n") else b""
        assert removed(once + after) == (raw or b"") + gap + after
    assert removed(raw) == raw


def test_another_threshold_is_told_instead_of_the_one_before(machine: Machine, memory: Path) -> None:
    memory.write_text("mine\n")
    install(machine.app, snippet=True)
    (machine.home / "config.yaml").write_text("ladder: {advisory: 90}\n")
    from holdfast.ops.config import settled

    install(settled(machine.app, ()), snippet=True)
    assert "At 90% usage, sessions auto-save." in memory.read_text()
    assert memory.read_bytes().count(MARK) == 1
    uninstall(machine.app)
    assert memory.read_text() == "mine\n"


def test_where_sessions_do_not_save_themselves_it_does_not_say_so(machine: Machine, memory: Path) -> None:
    (machine.home).mkdir(parents=True)
    (machine.home / "config.yaml").write_text("auto_context: {enabled: false}\n")
    from holdfast.ops.config import settled

    install(settled(machine.app, ()), snippet=True)
    assert "auto-save" not in memory.read_text()


def test_lines_that_somebody_changed_are_his(machine: Machine, memory: Path) -> None:
    install(machine.app, snippet=True)
    changed = memory.read_text().replace("Save session now", "Save it, and tell me")
    memory.write_text(changed)
    assert install(machine.app, snippet=True).snippet == ""
    uninstall(machine.app)
    assert memory.read_text() == changed
    with pytest.raises(HoldfastError, match=r"something of holdfast is left:\n.*CLAUDE\.md"):
        uninstall(machine.app, verify=True)


def test_a_link_stays_a_link_and_its_file_is_edited(machine: Machine, memory: Path) -> None:
    real = machine.root / "dotfiles.md"
    real.write_text("mine")
    memory.symlink_to(real)
    install(machine.app, snippet=True)
    assert memory.is_symlink()
    assert MARK in real.read_bytes()
    uninstall(machine.app, verify=True)
    assert (memory.is_symlink(), real.read_text()) == (True, "mine")


@pytest.mark.parametrize("how", ["read-only", "folder", "outside", "nowhere"])
def test_a_file_that_is_not_ours_to_edit_is_refused_before_anything_is_done(
    machine: Machine, memory: Path, tmp_path: Path, how: str
) -> None:
    if how == "read-only":
        memory.write_text("mine")
        memory.chmod(0o444)
    elif how == "folder":
        memory.mkdir()
    else:
        (tmp_path / "other.md").write_text("theirs")
        memory.symlink_to(tmp_path / "other.md" if how == "outside" else machine.root / "gone.md")
    with pytest.raises(BadInput, match="Nothing was changed"):
        install(machine.app, snippet=True)
    assert not machine.settings.exists()
    assert not machine.home.exists()


def test_a_project_has_its_own(machine: Machine, memory: Path) -> None:
    install(machine.app, project=True, snippet=True)
    assert MARK in (machine.project / ".claude/CLAUDE.md").read_bytes()
    assert not memory.exists()
    uninstall(machine.app, project=True, verify=True)
    assert not (machine.project / ".claude").exists()


@pytest.mark.parametrize("takes_out", [False, True], ids=["install", "uninstall"])
def test_killed_anywhere_it_is_there_whole_or_not_at_all(
    machine: Machine, memory: Path, takes_out: bool
) -> None:
    lines = text_for(machine.app)
    memory.write_bytes(b"mine")
    install(machine.app, snippet=takes_out)  # from here on, only the lines are at stake
    states = {b"mine", added(b"mine", lines)}
    step, ended = 0, 9
    while ended == 9:
        memory.write_bytes(added(b"mine", lines) if takes_out else b"mine")

        def run(step: int = step) -> None:
            with Steps(step, die):
                uninstall(machine.app) if takes_out else install(machine.app, snippet=True)

        ended = in_child(run)
        assert ended in (0, 9)
        assert memory.read_bytes() in states
        install(machine.app, snippet=True)
        assert memory.read_bytes() == added(b"mine", lines)
        uninstall(machine.app, verify=True)
        assert memory.read_bytes() == b"mine"
        assert {path.name for path in machine.client.iterdir()} == {"CLAUDE.md", "holdfast"}
        install(machine.app, snippet=takes_out)
        step += 1
    assert step >= 20
