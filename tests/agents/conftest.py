from pathlib import Path

import pytest

from told import Work


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "tidegate"
    made.mkdir()
    return made


@pytest.fixture
def work(home: Path, project: Path) -> Work:
    """A session at work, with nothing unsaved."""
    made = Work(home, project)
    made.prompt("build the tide table")
    made.hook("SessionStart", source="startup")
    return made
