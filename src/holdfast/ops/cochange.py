"""Which files a repository's commits changed together."""

from __future__ import annotations

import os
import subprocess

from holdfast.core import together
from holdfast.disk import worktree
from holdfast.disk.git import ALONE

_MOST_COMMITS, _MOST_PATHS = 1000, 1000
_PATIENCE_S = 10
#: Nothing that a repository's own configuration names is run.
_HARMLESS = ("-c", "log.showSignature=false", "-c", "core.quotePath=false", "--no-optional-locks")
_ASKED = ("log", f"-{_MOST_COMMITS}", "--format=%x01", "--name-only", "-z", "--no-renames", "--no-ext-diff")


def shares(folder: str, names: list[str], environ: dict[str, str]) -> dict[tuple[str, str], float]:
    """Of each two of these files, as they are named from `folder`: how often they changed together. Nothing
    where there is no repository, or git does not say in time."""
    tree = worktree.find(folder)
    wanted = dict.fromkeys(names)
    if tree is None or len(wanted) < 2:
        return {}
    inside = {
        os.path.relpath(os.path.realpath(os.path.join(folder, name)), tree.root): name for name in wanted
    }
    commits = _commits(tree.root, [*inside][:_MOST_PATHS], environ)
    return together.changed([[inside[name] for name in commit if name in inside] for commit in commits])


def _commits(root: str, names: list[str], environ: dict[str, str]) -> list[list[str]]:
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", root, *_HARMLESS, *_ASKED, "--", *names]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            env={**clean, **ALONE, "GIT_LITERAL_PATHSPECS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:  # no commit yet
        return []
    commits = os.fsdecode(done.stdout).split("\x01")
    return [[name.strip("\n") for name in one.split("\0") if name.strip("\n")] for one in commits]
