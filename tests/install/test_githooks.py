"""The line in git's post-commit hook: commits spool, every other hook goes on working, nothing is left."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from holdfast.errors import BadInput, HoldfastError, MissingExtra, NotFound
from holdfast.install import doctor, githooks, record
from holdfast.install.operations import install, uninstall
from hooks import bound_by_modes
from install.conftest import Machine
from repository import Repository, spooled


@pytest.fixture
def repository(machine: Machine) -> Repository:
    return Repository(machine.project, machine.home, hooked=False)


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file below it: mode and bytes, or where it leads."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
        if ".git/objects" not in str(path)
    }


def hooks(repository: Repository) -> Path:
    return repository.root / ".git" / "hooks"


def put(machine: Machine, folder: Path | None = None) -> githooks.Hooked:
    done = install(machine.app, str(folder) if folder else None, git=True)
    assert isinstance(done, githooks.Hooked)
    return done


SHELLS = {
    "exits": "#!/bin/sh\nset -eu\necho shell >> witness\nexit 3\n",
    "executes": "#!/usr/bin/env bash\necho shell >> witness\nexec true\n",
    "no end": "#!/bin/bash -e\necho shell >> witness",
    "odd bytes": b"#!/bin/sh\n# \xff\xfe\xe4\necho shell >> witness\n",
}
OTHERS = {
    "python": "#!/usr/bin/env python3\nimport sys\nopen('witness', 'a').write(sys.argv[0][-11:])\n",
    "no first line": "echo shell >> witness\n",
    "windows": "#!/bin/sh \r\necho shell\r\n",
}


@pytest.mark.parametrize("name", ["", *SHELLS, *OTHERS])
def test_what_was_there_goes_on_and_comes_back_to_the_byte(
    machine: Machine, repository: Repository, name: str
) -> None:
    text = {**SHELLS, **OTHERS}.get(name)
    if text is not None:
        path = repository.hook("")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o750)
    before = snapshot(hooks(repository))
    done = put(machine)
    assert done.changed
    commit = repository.commit()
    assert [entry["commit"] for entry in spooled(machine.home)] == [commit]
    if name and name != "windows":
        assert (repository.root / "witness").read_text().strip() in ("shell", "post-commit")
    held = snapshot(hooks(repository))
    assert not put(machine).changed
    assert snapshot(hooks(repository)) == held
    undone = uninstall(machine.app, git=True)
    assert isinstance(undone, githooks.Hooked)
    assert undone.changed
    assert snapshot(hooks(repository)) == before
    assert record.git_hooks(machine.app.home) == []
    uninstall(machine.app, git=True)  # once more is nothing


def test_without_git_that_is_what_is_said(
    machine: Machine, repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(MissingExtra, match="needs git, which is not on the PATH"):
        put(machine)


def test_a_link_stays_one(machine: Machine, repository: Repository) -> None:
    tools = repository.root / "tools"
    tools.mkdir()
    script = tools / "dispatch"
    script.write_text('#!/bin/sh\necho "${0##*/}" >> witness\n')
    script.chmod(0o755)
    hooks(repository).mkdir(exist_ok=True)
    (hooks(repository) / "post-commit").symlink_to("../../tools/dispatch")
    before = snapshot(hooks(repository))
    put(machine)
    repository.commit()
    assert (repository.root / "witness").read_text() == "post-commit\n"
    assert len(spooled(machine.home)) == 1
    uninstall(machine.app, git=True)
    assert snapshot(hooks(repository)) == before


def test_one_that_may_not_run_is_kept_and_does_not(machine: Machine, repository: Repository) -> None:
    repository.hook("#!/bin/sh\necho shell >> witness\n").chmod(0o644)
    before = snapshot(hooks(repository))
    put(machine)
    repository.commit()
    assert not (repository.root / "witness").exists()
    assert len(spooled(machine.home)) == 1
    uninstall(machine.app, git=True)
    assert snapshot(hooks(repository)) == before


def test_it_goes_where_git_looks(machine: Machine, repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".githooks")
    (repository.root / "below").mkdir()
    done = put(machine, repository.root / "below")
    assert done.hook == str(repository.root / ".githooks" / "post-commit")
    assert "belongs to the working tree" in done.note
    repository.commit()
    assert len(spooled(machine.home)) == 1
    uninstall(machine.app, str(repository.root), git=True)
    assert not (repository.root / ".githooks").exists()


def test_a_linked_worktree_shares_it(machine: Machine, repository: Repository, tmp_path: Path) -> None:
    repository.commit()
    linked = tmp_path / "linked"
    repository.git("worktree", "add", "-q", str(linked))
    assert put(machine, linked).hook == str(hooks(repository) / "post-commit")
    repository.commit(at=linked)
    assert [entry["root"] for entry in spooled(machine.home)] == [str(linked)]


def test_a_bare_repository_has_one_for_its_worktrees(machine: Machine, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    assert put(machine, bare).hook == str(bare / "hooks" / "post-commit")
    assert all(check.ok for check in doctor._git_hooks(machine.app))


def test_whatever_the_folders_are_called(machine: Machine, tmp_path: Path) -> None:
    odd = Repository(tmp_path / 'it\'s $(touch canary) `id` "q" & co\n', machine.home, hooked=False)
    put(machine, odd.root)
    odd.commit()
    assert [entry["root"] for entry in spooled(machine.home)] == [str(odd.root)]
    assert not list(tmp_path.rglob("canary"))


@pytest.mark.parametrize("manager", ["husky", "lefthook"])
def test_a_manager_that_writes_hooks_anew_is_given_the_line(
    machine: Machine, repository: Repository, manager: str
) -> None:
    if manager == "husky":
        folder = repository.root / ".husky" / "_"
        folder.mkdir(parents=True)
        (folder / "post-commit").write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
        repository.git("config", "core.hooksPath", ".husky/_")
    else:
        repository.hook('#!/bin/sh\ncall_lefthook run "post-commit" "$@"\n')
    before = snapshot(repository.root)
    with pytest.raises(BadInput) as refused:
        put(machine)
    assert githooks.line(githooks.Launcher(*_launcher(machine))) in str(refused.value)
    assert snapshot(repository.root) == before
    assert not machine.home.exists() or record.git_hooks(machine.app.home) == []


def _launcher(machine: Machine) -> tuple[str, str]:
    from holdfast.install.operations import _launcher as ours

    launcher = ours()
    return launcher.python, launcher.launch


def test_the_line_a_manager_is_given_works_there(machine: Machine, repository: Repository) -> None:
    """husky runs the script of the project with `sh -e`."""
    line = githooks.line(githooks.Launcher(*_launcher(machine)))
    repository.hook("#!/bin/sh\nsh -e .husky-script\n")
    (repository.root / ".husky-script").write_text(f"false || :\n{line}\necho after >> witness\n")
    repository.commit()
    assert len(spooled(machine.home)) == 1
    assert (repository.root / "witness").read_text() == "after\n"


def test_no_repository_is_an_error(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="in no repository of git"):
        put(machine, tmp_path)
    with pytest.raises(BadInput, match="only with --git"):
        install(machine.app, "somewhere")


def test_hooks_that_are_turned_off_are_an_error(machine: Machine, repository: Repository) -> None:
    repository.git("config", "core.hooksPath", os.devnull)
    with pytest.raises(BadInput, match="git runs no hooks here"):
        put(machine)


def test_a_repository_that_cannot_be_written_is_an_error(machine: Machine, repository: Repository) -> None:
    hooks(repository).mkdir(exist_ok=True)
    hooks(repository).chmod(0o555)
    before = snapshot(repository.root)
    script = "import sys; from holdfast.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [*bound_by_modes(), os.sys.executable, "-c", script, "install", "--git"],  # type: ignore[attr-defined]
        env=os.environ | {"HOME": str(machine.root), "CLAUDE_CONFIG_DIR": str(machine.client)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Permission denied" in done.stderr
    assert snapshot(repository.root) == before
    hooks(repository).chmod(0o755)


def test_a_dry_run_changes_nothing(machine: Machine, repository: Repository) -> None:
    before = snapshot(machine.root)
    done = install(machine.app, git=True, dry_run=True)
    assert str(done).endswith("would be: a commit is a breakpoint now")
    assert snapshot(machine.root) == before


def test_what_was_added_since_is_kept(machine: Machine, repository: Repository) -> None:
    put(machine)
    path = hooks(repository) / "post-commit"
    path.write_bytes(path.read_bytes() + b"echo mine\n")
    uninstall(machine.app, git=True)
    assert path.read_bytes() == b"#!/bin/sh\necho mine\n"


def test_one_that_was_kept_and_changed_since_is_not_torn_apart(
    machine: Machine, repository: Repository
) -> None:
    repository.hook(OTHERS["python"])
    put(machine)
    path = hooks(repository) / "post-commit"
    path.write_bytes(path.read_bytes() + b"echo mine\n")
    before = snapshot(hooks(repository))
    with pytest.raises(BadInput, match="by hand"):
        uninstall(machine.app, git=True)
    assert snapshot(hooks(repository)) == before


def test_killed_after_the_hook_was_kept_it_can_be_run_again(
    machine: Machine, repository: Repository
) -> None:
    path = repository.hook(OTHERS["python"])
    (hooks(repository) / githooks.KEPT).mkdir()
    os.link(path, hooks(repository) / githooks.KEPT / "post-commit")
    put(machine)
    repository.commit()
    assert len(spooled(machine.home)) == 1
    assert (repository.root / "witness").read_text() == "post-commit"


def test_another_interpreter_takes_the_place_of_the_first(
    machine: Machine, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.hook(SHELLS["exits"])
    put(machine)
    path = hooks(repository) / "post-commit"
    path.write_bytes(path.read_bytes().replace(b" -I -S ", b" -I "))
    assert "by this installation now" in put(machine).outcome
    assert path.read_bytes().count(b"holdfast >>>") == 1
    uninstall(machine.app, git=True)
    assert path.read_text() == SHELLS["exits"]


def test_the_doctor_knows_and_runs_it(machine: Machine, repository: Repository) -> None:
    put(machine)
    (check,) = doctor._git_hooks(machine.app)
    assert check.ok, check.what
    path = hooks(repository) / "post-commit"
    whole = path.read_bytes()
    for spoil, what in (
        (lambda: path.write_text("#!/bin/sh\n"), "not in it any more"),
        (lambda: path.chmod(0o644), "may not be executed"),
        (lambda: path.write_bytes(whole.replace(b" -I -S ", b" -c pass ")), "spooled nothing"),
        (lambda: repository.git("config", "core.hooksPath", ".other"), "git looks for its hooks in"),
    ):
        spoil()
        (check,) = doctor._git_hooks(machine.app)
        assert not check.ok
        assert what in check.what
        assert check.fix.startswith("run: holdfast install --git")
        path.write_bytes(whole)
        path.chmod(0o755)


def test_it_is_looked_for_by_the_proof_and_before_a_purge(machine: Machine, repository: Repository) -> None:
    install(machine.app)
    put(machine)
    with pytest.raises(BadInput, match="uninstall --git"):
        uninstall(machine.app, purge=True)
    with pytest.raises(HoldfastError, match="post-commit"):
        uninstall(machine.app, verify=True)
    uninstall(machine.app, git=True)
    uninstall(machine.app, verify=True)


def test_both_records_stand_side_by_side(machine: Machine, repository: Repository) -> None:
    install(machine.app)
    put(machine)
    install(machine.app)
    assert len(record.load(machine.app.home)) == len(record.git_hooks(machine.app.home)) == 1
    uninstall(machine.app)
    assert len(record.git_hooks(machine.app.home)) == 1
    assert stat.S_IMODE(os.stat(machine.home / "install.json").st_mode) == 0o600
