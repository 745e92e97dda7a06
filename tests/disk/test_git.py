"""What git is asked of a working tree: nothing that a repository names is run for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.disk import git, worktree

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
PATIENT_S = 20.0


def run(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always")
    return subprocess.run(
        ["git", "-C", folder, *who, *words],
        env=ENVIRON | {"GIT_CONFIG_GLOBAL": "/dev/null"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def repository(root: Path) -> Path:
    root.mkdir(parents=True)
    run(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    run(root, "add", ".")
    run(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A command that leaves a trace."""
    made = tmp_path / "trap"
    made.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    made.chmod(0o755)
    return made


def ask(root: Path, environ: dict[str, str] = ENVIRON) -> tuple[bool, list[str]]:
    tree = worktree.find(str(root))
    assert tree
    return git.is_clean(tree, environ, PATIENT_S), git.diff_stat(tree, environ, PATIENT_S)


def test_files_that_git_does_not_know_yet_are_named(root: Path) -> None:
    (root / "a.txt").write_text("two\n")
    (root / "new.txt").write_text("1\n")
    (root / "part").mkdir()
    (root / "part/one.txt").write_text("1\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "noise.log").write_text("1\n")
    stat = ask(root)[1]
    assert stat[0].startswith("a.txt")
    assert stat[-1] == "not in git yet: .gitignore, new.txt, part/"
    for number in range(20):
        (root / f"x{number:02}.txt").write_text("1\n")
    assert ask(root)[1][-1].endswith("x08.txt and 11 more")


def say(config: Path, *lines: str) -> None:
    with config.open("a") as file:
        file.write("\n".join(lines) + "\n")


def clean(root: Path, trap: Path) -> None:
    say(root / ".git/config", '[FILTER "x"]', f"clean = {trap}")


def process(root: Path, trap: Path) -> None:
    say(root / ".git/config", "[filter.x]", f"process = {trap}")


def included(root: Path, trap: Path) -> None:
    say(root / ".git/config", '[includeIf "gitdir:/"]', "path = more")
    say(root / ".git/more", '[filter "x"]', f"clean = {trap}")


def of_the_worktree(root: Path, trap: Path) -> None:
    run(root, "config", "extensions.worktreeConfig", "true")
    say(root / ".git/config.worktree", '[filter "x"]', f"clean = {trap}")


def of_a_linked_worktree(root: Path, trap: Path) -> None:
    linked = root.parent / "linked"
    run(root, "worktree", "add", "-q", linked)
    clean(root, trap)
    root.rename(root.parent / "main")
    run(root.parent / "main", "worktree", "repair", linked)
    linked.rename(root)
    run(root.parent / "main", "worktree", "repair", root)


def of_a_bare_one_beside_a_damaged_one(root: Path, trap: Path) -> None:
    for name in ("HEAD", "config", "index"):
        (root / name).write_bytes((root / ".git" / name).read_bytes())
    for name in ("objects", "refs"):
        (root / name).symlink_to(f".git/{name}")
    (root / ".git/HEAD").write_text("nothing")
    (root / "config").write_text(f'[core]\nbare = false\nworktree = {root}\n[filter "x"]\nclean = {trap}\n')


def of_one_above_a_damaged_one(root: Path, trap: Path) -> None:
    above = root.parent
    (root / ".git/HEAD").write_text("nothing")
    run(above, "init", "-q")
    run(above, "add", "project/a.txt")
    run(above, "commit", "-qm", "above")
    clean(above, trap)


def of_a_submodule(root: Path, trap: Path) -> None:
    run(root, "submodule", "add", "-q", str(repository(root.parent / "other")), "below")
    run(root, "commit", "-qam", "below")
    say(root / ".git/modules/below/config", '[filter "x"]', f"clean = {trap}")
    (root / "below/a.txt").write_text("two\n")


def a_hook(root: Path, trap: Path) -> None:
    say(root / ".git/config", "[core]", f"hooksPath = {trap.parent}/hooks")
    (trap.parent / "hooks").mkdir()
    (trap.parent / "hooks/post-index-change").symlink_to(trap)


def a_monitor(root: Path, trap: Path) -> None:
    say(root / ".git/config", "[core]", f"fsmonitor = {trap}")


def a_difference(root: Path, trap: Path) -> None:
    say(root / ".git/config", "[diff]", f"external = {trap}")
    say(root / ".git/config", '[diff "x"]', f"textconv = {trap}", f"command = {trap}")


def a_pager(root: Path, trap: Path) -> None:
    say(root / ".git/config", "[core]", f"pager = {trap}", "[pager]", "diff = true", "status = true")


def a_way_to_a_server(root: Path, trap: Path) -> None:
    """Whose objects are not all here."""
    blob = run(root, "rev-parse", "HEAD:a.txt").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    remote = (
        '[remote "origin"]',
        f"url = ext::{trap}",
        "promisor = true",
        "partialclonefilter = blob:none",
    )
    more = ('[protocol "ext"]', "allow = always", "[extensions]", "partialClone = origin")
    say(root / ".git/config", *remote, *more, "[core]", "repositoryformatversion = 1")


TRAPS = (
    *(clean, process, included, of_the_worktree, of_a_linked_worktree, of_a_bare_one_beside_a_damaged_one),
    *(of_one_above_a_damaged_one, of_a_submodule, a_hook, a_monitor, a_difference, a_pager),
    a_way_to_a_server,
)


@pytest.mark.parametrize("lay", TRAPS, ids=lambda lay: lay.__name__)
@pytest.mark.parametrize("text", ["one\n", "two\nthree\n"], ids=["touched", "changed"])
def test_nothing_runs_that_a_repository_names(
    text: str, lay: Callable[[Path, Path], None], root: Path, trap: Path
) -> None:
    lay(root, trap)
    (trap.parent / "sprung").unlink(missing_ok=True)
    (root / "a.txt").write_text(text)
    os.utime(root / "a.txt", (1, 1))
    ask(root)
    assert not (trap.parent / "sprung").exists()


def test_a_filter_of_the_users_own_goes_on(root: Path, trap: Path) -> None:
    home = trap.parent / "home"
    home.mkdir()
    say(home / ".gitconfig", '[filter "x"]', f"clean = {trap}", "[safe]", "directory = *")
    (root / "a.txt").write_text("two\n")
    is_clean, lines = ask(root, ENVIRON | {"HOME": str(home)})
    assert (is_clean, lines[0]) == (False, "a.txt | 2 +-")
    assert (trap.parent / "sprung").exists()


def test_a_tree_with_submodules_is_clean_when_they_are(root: Path, tmp_path: Path) -> None:
    run(root, "submodule", "add", "-q", str(repository(tmp_path / "other")), "below")
    run(root, "commit", "-qam", "below")
    assert ask(root) == (True, [])
    (root / "below" / "new.txt").write_text("new")
    assert ask(root)[0] is False
    (root / "below" / "new.txt").unlink()
    (root / "below" / "a.txt").write_text("two\n")
    assert ask(root)[0] is False
