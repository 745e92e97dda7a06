"""The command that installs an extra: it has to work as it is printed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from holdfast import extras


def as_printed(monkeypatch: pytest.MonkeyPatch, clone: Path, has_pip: bool) -> list[str]:
    """Its words, of a clone with an environment of its own."""
    (clone / ".venv/bin").mkdir(parents=True)
    for name in ("python", *(["pip"] if has_pip else [])):
        (clone / ".venv/bin" / name).touch(0o755)
    (clone / "pyproject.toml").touch()
    monkeypatch.setattr(extras, "__file__", f"{clone}/src/holdfast/extras.py")
    return shlex.split(extras.extra_command("serve"))


def test_a_path_with_a_blank_is_one_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone = tmp_path / "my tools"
    python = f"{clone}/.venv/bin/python"
    words = as_printed(monkeypatch, clone, has_pip=True)
    assert words == [python, "-m", "pip", "install", "-e", f"{clone}[serve]"]


def test_an_environment_without_pip_is_installed_into_by_uv(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = f"{tmp_path}/.venv/bin/python"
    words = as_printed(monkeypatch, tmp_path, has_pip=False)
    assert words == ["uv", "pip", "install", "--python", python, "-e", f"{tmp_path}[serve]"]


@pytest.mark.parametrize("has_pip", [True, False])
def test_so_is_one_that_is_no_clone(monkeypatch: pytest.MonkeyPatch, has_pip: bool) -> None:
    monkeypatch.setattr(extras, "__file__", "/site-packages/holdfast/extras.py")
    monkeypatch.setattr(extras, "find_spec", lambda _: has_pip)
    assert ("-m pip" in extras.extra_command("serve")) is has_pip
