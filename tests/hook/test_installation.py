"""Copied, read-only, stale or broken: the installation itself."""

import _imp
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import bundle
from holdfast.install.settings import Launcher
from hooks import (
    PACKAGE,
    PYTHON,
    assert_same_fold,
    bound_by_modes,
    copy_package,
    edit,
    event,
    heard,
    run_hook,
    run_silently,
    state,
)


def bundle_of(package: Path) -> Path:
    return package / "__pycache__" / f"hot.{sys.implementation.cache_tag}"


def test_a_package_that_cannot_be_written_to_works_without_a_bundle(home, tmp_path, transcript):
    package = copy_package(tmp_path / "copy")
    for path in (package, *(p for p in package.rglob("*") if p.is_dir())):
        path.chmod(0o555)
    try:
        for _ in range(2):
            payload = event("PostToolBatch", transcript=transcript.path)
            run_silently(payload, home, package=package, before=bound_by_modes())
        assert not (package / "__pycache__").exists()
    finally:
        for path in (package, *(p for p in package.rglob("*") if p.is_dir())):
            path.chmod(0o755)
    assert heard(home) == {"PostToolBatch": 2}
    assert_same_fold(home, transcript.path)


def test_a_file_where_caches_should_be_breaks_nothing(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    (package / "__pycache__").write_bytes(b"")
    run_silently(event("Stop"), home, package=package)
    assert heard(home) == {"Stop": 1}


def damaged_bundles(whole: bytes) -> dict[str, bytes]:
    chance = random.Random(3)
    cuts = {f"cut to {n} of 16": whole[: len(whole) * n // 16] for n in range(16)}
    return {
        **cuts,
        "all but one byte": whole[:-1],
        "zeros": b"\0" * len(whole),
        "text": b"print('hello')\n" * 100,
        "of another layout": _imp.source_hash(bundle.LAYOUT - 1, whole[8:]) + whole[8:],
        "a .pyc": b"\xa7\r\r\n" + b"\0" * 12 + whole[:500],
        **{f"random {n}": chance.randbytes(2000) for n in range(8)},
        **{f"zeros after {n} pages": (whole[: 4096 * n]).ljust(len(whole), b"\0") for n in range(1, 9)},
    }


def test_a_damaged_bundle_is_made_again(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    run_silently(event("Stop"), home, package=package)
    whole = bundle_of(package).read_bytes()
    damaged = damaged_bundles(whole)
    for times, (how, data) in enumerate(damaged.items(), start=2):
        bundle_of(package).write_bytes(data)
        result = run_hook(event("Stop"), home, package=package)
        assert (how, result.returncode, result.stdout, result.stderr) == (how, 0, b"", b"")
        assert (how, heard(home)) == (how, {"Stop": times})
        assert bundle_of(package).read_bytes() == whole, how


@pytest.mark.parametrize("place", ["core/heard.py", "hook.py", "__init__.py"])
def test_a_changed_source_is_used_at_once(place, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    run_silently(event("PostToolBatch"), home, package=package)
    made = bundle_of(package).read_bytes()
    edit(package / "core" / "heard.py", "    heard.calls += 1\n", "    heard.calls += 7\n")  # of one size
    source = package / place
    source.write_text(source.read_text() + "# changed\n")
    run_silently(event("PostToolBatch"), home, package=package)
    assert state(home)["heard"]["calls"] == 8
    assert bundle_of(package).read_bytes() != made


def test_a_copied_package_runs_its_own_code(home, tmp_path):
    """The client copies plugins into a cache of its own, compiled files and all."""
    first = copy_package(tmp_path / "first")
    run_silently(event("PostToolBatch"), home, package=first)
    second = Path(shutil.copytree(first, tmp_path / "second" / "holdfast"))
    edit(second / "core" / "heard.py", "    heard.calls += 1\n", "    heard.calls += 7\n")
    run_silently(event("PostToolBatch"), home, package=second)
    assert state(home)["heard"]["calls"] == 8


MISSING = "core/lines.py core/__init__.py disk/files.py engine.py hook.py bundle.py errors.py".split()


@pytest.mark.parametrize("has_bundle", [False, True])
@pytest.mark.parametrize("missing", MISSING)
def test_a_broken_installation_is_silent(missing, has_bundle, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if has_bundle:
        run_silently(event("Stop"), home, package=package)
    (package / missing).unlink()
    run_silently(event("Stop"), home, package=package)


def test_an_installation_with_a_syntax_error_is_silent(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    with (package / "engine.py").open("a") as file:
        file.write("def (:\n")
    run_silently(event("Stop"), home, package=package)


@pytest.mark.parametrize("breakage", ["missing", "syntax"])
def test_a_broken_installation_does_not_fill_up_with_temporary_files(breakage, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if breakage == "missing":
        (package / "core" / "lines.py").unlink()
    else:
        (package / "engine.py").write_text("def (:\n")
    for _ in range(3):
        run_silently(event("Stop"), home, package=package)
    assert not list(package.rglob("*.tmp"))


PLANTED = (
    "json posix _json marshal gc time sitecustomize usercustomize holdfast errno pwd encodings zipimport"
).split()


@pytest.mark.parametrize("has_bundle", [False, True])
def test_nothing_planted_in_the_project_is_ever_imported(has_bundle, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if has_bundle:
        run_silently(event("SessionStart"), home, package=package)
    project = tmp_path / "project"
    marker = tmp_path / "planted code ran"
    for name in PLANTED:
        for path in (project / f"{name}.py", project / name / "__init__.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"open({str(marker)!r}, 'a').write({name!r})\n")
    (project / "launch.py").write_text(f"open({str(marker)!r}, 'w')\n")
    (project / "holdfast" / "hook.py").write_text(f"open({str(marker)!r}, 'w')\n")
    env = {"PYTHONPATH": str(project), "PYTHONSTARTUP": str(project / "json.py"), "PYTHONINSPECT": "1"}
    for name in ("SessionStart", "PostToolBatch", "PreCompact"):
        run_silently(event(name, cwd=str(project)), home, package=package, cwd=project, env=env)
    assert not marker.exists()
    assert len(heard(home)) == 3


@pytest.mark.parametrize("how", ["gone", "unreadable"])
def test_a_package_that_was_removed_does_not_block_the_client(how, tmp_path):
    """An interpreter that cannot open its file ends with 2, which means: block."""
    launch = tmp_path / "a b" / "holdfast" / "launch.py"
    launch.parent.mkdir(parents=True)
    if how == "unreadable":
        launch.symlink_to(launch)
    launcher = Launcher(PYTHON, str(launch))
    for words in (launcher.command, launcher.statusline["command"]):
        done = subprocess.run(["sh", "-c", words], input=b"{}", capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_nor_does_a_plugin_without_its_source(tmp_path):
    shutil.copy(PACKAGE.parent.parent / "plugin" / "run", tmp_path / "run")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run([tmp_path / "run"], input=b"{}", env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
