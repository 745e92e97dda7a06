"""The name of a project that machines, clones and working trees of it have in common."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatchcase
from functools import lru_cache

from holdfast.disk import worktree

_PATIENCE_S = 2
#: scheme://user:secret@host:22/path.git, or user@host:path.git
_ADDRESS = re.compile(
    r"(?:[a-z+]+://)?(?:[^@/]*@)?(?P<host>[\w.-]+)(?::\d+(?=/))?[:/]/*(?P<path>.+?)(?:\.git)?/*"
)


@lru_cache(maxsize=64)
def name_of(folder: str) -> str:
    """Where it comes from, as `host/path`; else the folder of the repository its working trees share."""
    tree = worktree.find(folder)
    if tree is None:
        return folder
    asked = ["git", "-C", tree.root, "config", "--get", "remote.origin.url"]
    # A hook of git's is told of the repository it runs in, which need not be this one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        said = subprocess.run(  # noqa: S603
            asked, capture_output=True, text=True, check=False, timeout=_PATIENCE_S, env=environ
        )
    except (OSError, subprocess.TimeoutExpired):
        return _own(tree)
    return _shared(said.stdout.strip()) or _own(tree)


def travels(name: str, wanted: str) -> bool:
    """Whether a team is told of it: `wanted` are globs, with commas. A folder that comes from nowhere is
    nobody else's, unless it was named."""
    globs = [glob.strip() for glob in wanted.split(",") if glob.strip()] or ["*"]
    return any(
        fnmatchcase(name, glob) for glob in globs if glob.startswith("/") or not name.startswith("/")
    )


def _shared(address: str) -> str:
    """Without what differs from clone to clone, and without anybody's password; "" for a folder."""
    found = _ADDRESS.fullmatch(address) if not address.startswith(("/", ".", "file:")) else None
    return f"{found['host'].lower()}/{found['path']}" if found else ""


def _own(tree: worktree.Worktree) -> str:
    return os.path.dirname(tree.common) if os.path.basename(tree.common) == ".git" else tree.root
