"""The name of a project that machines, clones and working trees of it have in common."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatchcase
from functools import lru_cache

from holdfast.disk import worktree
from holdfast.errors import Unavailable

_PATIENCE_S = 2
#: scheme://user:secret@host:22/path.git, or user@host:path.git
_ADDRESS = re.compile(
    r"(?:[a-z+]+://)?(?:[^@/]*@)?(?P<host>[\w.-]+)(?::\d+(?=/))?[:/]/*(?P<path>.+?)(?:\.git)?/*"
)


def name_of(folder: str) -> str:
    """Where it comes from, as `host/path`; else the folder of the repository its working trees share.
    Unavailable: git does not answer, and that says nothing of it."""
    tree = worktree.find(folder)
    if tree is None:
        return folder
    try:
        address = _origin(tree.root, _changed(tree.common + "/config"))
    except subprocess.TimeoutExpired as problem:
        raise Unavailable(
            f"git did not say within {_PATIENCE_S} s where {folder} comes from; try again"
        ) from problem
    except OSError:  # there is no git
        return _own(tree)
    return _shared(address) or _own(tree)


@lru_cache(maxsize=4096)
def _origin(root: str, _settings: tuple[int, ...]) -> str:
    """Asked again when the settings of the repository have changed: a look costs less than a process, and a
    service runs longer than a folder stays without an origin."""
    asked = ["git", "-C", root, "config", "--get", "remote.origin.url"]
    # A hook of git's is told of the repository it runs in, which need not be this one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    said = subprocess.run(  # noqa: S603
        asked, capture_output=True, text=True, check=False, timeout=_PATIENCE_S, env=environ
    )
    return said.stdout.strip()


def _changed(path: str) -> tuple[int, ...]:
    """What differs when a file was replaced; () where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


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
