"""A machine of its own for each test: a user's home, the client's folder in it, a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.app import Holdfast


class Machine:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = root / ".claude"
        self.settings = self.client / "settings.json"
        self.home = self.client / "holdfast"
        self.project = root / "project"
        self.project.mkdir(parents=True)

    @property
    def app(self) -> Holdfast:
        return Holdfast.open({"HOME": str(self.root), "CLAUDE_CONFIG_DIR": str(self.client)})

    def write(self, raw: bytes | str) -> bytes:
        raw = raw.encode() if isinstance(raw, str) else raw
        self.client.mkdir(exist_ok=True)
        self.settings.write_bytes(raw)
        return raw


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path / "user")
    monkeypatch.chdir(machine.project)
    return machine


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """Holdfast as if installed in another place; its command."""
    from holdfast.install import operations
    from holdfast.install.settings import Launcher

    other = Launcher("/opt/my python/bin/python3.13", "/opt/new/holdfast/launch.py")
    monkeypatch.setattr(operations, "_launcher", lambda: other)
    return other.command
