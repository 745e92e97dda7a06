"""The plugin: a run is spooled, and pytest never notices."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hooks import PACKAGE, SAFETY_S, environ
from repository import PLAIN, Repository, spooled

FINE = "def test_one():\n    assert 1\n\ndef test_two():\n    assert 1\n"
BROKEN = FINE + "\ndef test_three():\n    assert 0\n"


@pytest.fixture
def repository(home: Path, tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project", home, hooked=False)
    (made.root / ".gitignore").write_text("__pycache__\n.pytest_cache\n")
    made.git("add", ".")
    home.mkdir()
    return made


def write(repository: Repository, text: str) -> str:
    (repository.root / "test_it.py").write_text(text)
    repository.git("add", ".")
    repository.git("commit", "-qm", "tests")
    return repository.git("rev-parse", "HEAD")


def run(repository: Repository, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """By the module's name, whether or not this environment knows the package's entry point."""
    own = {"PYTHONPATH": str(PACKAGE.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugins = ("-p", "holdfast.pytest_plugin", "-p", "xdist", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *words],
        cwd=repository.root,
        env=environ(repository.home, **own, **PLAIN, **env),
        capture_output=True,
        text=True,
        timeout=SAFETY_S,
        check=False,
    )


@pytest.mark.parametrize(("words", "times"), [((), 1), (("-p", "no:holdfast"), 0)])
def test_where_the_package_is_installed_pytest_finds_it(
    repository: Repository, home: Path, tmp_path: Path, words: tuple[str, ...], times: int
) -> None:
    project = tomllib.loads((PACKAGE.parent.parent / "pyproject.toml").read_text())["project"]
    installed = tmp_path / "site" / "holdfast-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: holdfast\nVersion: 0\n")
    named = "\n".join(f"{name} = {place}" for name, place in project["entry-points"]["pytest11"].items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{named}\n")
    write(repository, FINE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words],
        cwd=repository.root,
        env=environ(home, PYTHONPATH=f"{installed.parent}:{PACKAGE.parent}", **PLAIN),
        capture_output=True,
        text=True,
        timeout=SAFETY_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert len(spooled(home)) == times


def test_a_run_that_passes_on_a_clean_tree_is_green(repository: Repository, home: Path) -> None:
    commit = write(repository, FINE)
    done = run(repository, CONTEXTS_ENV="ci")
    assert done.returncode == 0
    (entry,) = spooled(home)
    assert (entry["kind"], entry["passed"], entry["count"], entry["failed"]) == ("tests", True, 2, 0)
    assert (entry["commit"], entry["clean"], entry["environment"]) == (commit, True, "ci")
    assert entry["command"].startswith("pytest -q")


def test_a_run_that_fails_is_told_and_a_dirty_tree_is_not_green(repository: Repository, home: Path) -> None:
    write(repository, BROKEN)
    assert run(repository).returncode == 1
    (repository.root / "test_it.py").write_text(FINE)
    assert run(repository).returncode == 0
    failed, passed = spooled(home)
    assert (failed["passed"], failed["count"], failed["failed"]) == (False, 3, 1)
    assert (passed["passed"], passed["clean"]) == (True, False)


def test_under_xdist_only_the_controller_tells(repository: Repository, home: Path) -> None:
    write(repository, BROKEN)
    assert run(repository, "-n1").returncode == 1
    (entry,) = spooled(home)
    assert (entry["count"], entry["failed"]) == (3, 1)


@pytest.mark.parametrize(
    "words", [("--collect-only",), ("-k", "none"), ("-p", "no:holdfast.pytest_plugin"), ("--fixtures",)]
)
def test_what_is_no_run_is_not_told(repository: Repository, home: Path, words: tuple[str, ...]) -> None:
    write(repository, FINE)
    run(repository, *words)
    assert not spooled(home)


def test_it_is_off_where_nobody_wants_it(repository: Repository, home: Path) -> None:
    write(repository, FINE)
    run(repository, HOLDFAST_AUTO_CONTEXT_HOOKS_TEST_RESULT="false")
    assert not spooled(home)


def test_where_holdfast_is_not_in_use_nothing_is_made(repository: Repository, home: Path) -> None:
    write(repository, FINE)
    home.rmdir()
    assert run(repository).returncode == 0
    assert not home.exists()


@pytest.mark.parametrize("spoil", ["a file", "a folder nobody may write"])
def test_it_never_fails_a_run_and_prints_nothing(repository: Repository, home: Path, spoil: str) -> None:
    write(repository, FINE)
    plain = run(repository, "-p", "no:holdfast.pytest_plugin").stdout
    (home / "spool").write_text("in the way") if spoil == "a file" else (home / "spool").mkdir(0o500)
    done = run(repository)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.partition(" in ")[0] == plain.partition(" in ")[0]
