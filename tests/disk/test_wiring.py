"""Who handles an event when both the plugin and the settings could."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.disk.home import Home
from holdfast.disk.wiring import MARK, covers

HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"python {MARK}"}]}]}}
LINE = {"statusLine": {"type": "command", "command": f"python {MARK} statusline"}}


def recorded(root: Path, scope: str, settings: Path, content: object) -> Home:
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(content if isinstance(content, str) else json.dumps(content))
    home = root / "home"
    home.mkdir()
    wiring = {"scope": scope, "settings": str(settings)}
    (home / "install.json").write_text(json.dumps({"v": 1, "wirings": [wiring]}))
    return Home(str(home))


@pytest.mark.parametrize(
    ("content", "expected"),
    [(HOOK, True), (LINE, False), ({}, False), ("not json", False), ({"note": MARK}, False)],
)
def test_only_hooks_that_are_still_there_count(tmp_path: Path, content: object, expected: bool) -> None:
    home = recorded(tmp_path, "user", tmp_path / ".claude/settings.json", content)
    assert covers(home, "/anywhere") is expected


def test_a_projects_wiring_counts_in_that_project_alone(tmp_path: Path) -> None:
    project = tmp_path / ".claude/skills-dev"  # a project inside a folder of that name
    home = recorded(tmp_path, "project", project / ".claude/settings.json", HOOK)
    assert covers(home, str(project))
    assert not covers(home, str(tmp_path))
    assert not covers(home, str(project / "sub"))


@pytest.mark.parametrize(
    "record", ["", "{", "[]", '{"wirings": 5}', '{"wirings": [5, {}, {"settings": 7}]}']
)
def test_a_record_that_says_nothing_covers_nothing(tmp_path: Path, record: str) -> None:
    (tmp_path / "install.json").write_text(record)
    assert not covers(Home(str(tmp_path)), "/anywhere")
