"""The house itself: who may import whom, and that what the docs say of it is so."""

import re
import subprocess
import sys
from pathlib import Path

import holdfast
from holdfast.ops import registry

REPO = Path(__file__).resolve().parent.parent


def test_imports_point_down_the_house() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter, "--no-cache"], cwd=REPO, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_forbidden_import_would_be_found(tmp_path: Path) -> None:
    """The control: the same contracts on a copy in which core reads the clock."""
    copy = tmp_path / "src"
    subprocess.run(["cp", "-r", REPO / "src", copy], check=True)
    (copy / "holdfast/core/ladder.py").write_text("from holdfast.clock import now\n\nNOW = now\n")
    config = (REPO / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(config)
    linter = Path(sys.executable).with_name("lint-imports")
    environ = {"PYTHONPATH": str(copy)}
    result = subprocess.run(
        [linter, "--no-cache"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "core is pure" in result.stdout


def test_only_hook_and_server_catch_everything() -> None:
    """A hook must not break a session, nor one tool the server. Anywhere else it would hide a bug."""
    found = {
        str(path.relative_to(REPO / "src/holdfast"))
        for path in (REPO / "src").rglob("*.py")
        if re.search(r"except (Base)?Exception|except:", path.read_text())
    }
    allowed = {"hook.py", "mcp/tools.py", "disk/files.py"}  # files.py closes a descriptor and raises on
    assert found == allowed


def test_every_operation_loads_and_says_what_it_does() -> None:
    for operation in registry.everything():
        function = operation.load()
        assert (function.__doc__ or "").strip(), operation.name


def test_the_version_in_the_changelog_is_the_version() -> None:
    newest = re.search(r"^## (\S+)", (REPO / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == holdfast.__version__


def test_nothing_tracked_names_a_machine_or_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, check=True)
    suspicious = re.compile("|".join(["/" + "root/", "pythonhosted" + r"\.org", "npmjs" + r"\.org"]))
    for name in listed.stdout.decode().split("\0"):
        path = REPO / name
        if name and path.is_file() and path.suffix != ".jsonl":
            assert not suspicious.search(path.read_text(errors="replace")), name
