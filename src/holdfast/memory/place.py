"""Which project is meant, and where the client keeps its memory of it."""

from __future__ import annotations

import json
import os

from holdfast.app import Holdfast
from holdfast.disk import worktree
from holdfast.disk.client import slug
from holdfast.disk.home import user_home
from holdfast.errors import BadInput

_LARGEST = 4 << 20


def project_of(app: Holdfast, given: str | None) -> str:
    """The folder that was named, else the one the client works in, else the repository we are in."""
    if given is None:
        given = app.environ.get("CLAUDE_PROJECT_DIR")
    if given:
        if not os.path.isdir(given):
            raise BadInput(f"{given} is not a folder; --project takes the folder a session works in")
        return os.path.realpath(given)
    here = os.path.realpath(os.getcwd())
    tree = worktree.find(here)
    return tree.root if tree else here


def memory_of(app: Holdfast, project: str) -> str:
    """As the client finds it: by the user's own settings, never by those of a project; else below its
    projects, under the name of the repository that all working trees share."""
    return _setting(app) or f"{app.client_dir}/projects/{slug(repository_of(project))}/memory"


def repository_of(project: str) -> str:
    """The folder that all working trees of a project share; without git, the project itself."""
    tree = worktree.find(project)
    if tree and os.path.basename(tree.common) == ".git":
        return os.path.dirname(tree.common)
    return tree.root if tree else project


def _setting(app: Holdfast) -> str:
    """`autoMemoryDirectory`; "" where the client would not take it either."""
    try:
        with open(f"{app.client_dir}/settings.json", encoding="utf-8") as file:
            said = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return ""
    given = said.get("autoMemoryDirectory") if isinstance(said, dict) else None
    if not isinstance(given, str) or "\0" in given:
        return ""
    if given.startswith("~/"):
        rest = os.path.normpath(given[2:] or ".")
        if rest in (".", "..") or rest.startswith("../"):
            return ""
        given = f"{user_home(app.environ)}/{rest}"
    path = os.path.normpath(given)
    return path if path.startswith("/") and len(path) >= 3 else ""
