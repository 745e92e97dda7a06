"""Which settings file is meant, and whether it may be edited at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.errors import BadInput, HoldfastError
from holdfast.memory import swap


@dataclass(frozen=True)
class Place:
    """`path` is the file itself, at the end of all links: a link someone made must stay one. A link may
    lead anywhere in `roots`, and nowhere else."""

    named: str
    path: str
    scope: str
    roots: tuple[str, ...]

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def client_folder(self) -> str:
        """Where the client looks for commands: beside the settings as they are named, not where a link
        of theirs leads."""
        return os.path.dirname(self.named)

    def read(self) -> bytes | None:
        """The file's bytes, None if there is none."""
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(mode):
            what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise BadInput(f"{self.path} is {what}. Nothing was changed; move it away and run this again")
        return swap.current(self.path)

    def refuse_if_not_ours_to_edit(self) -> None:
        """BadInput for a file that someone protected, or that a link puts out of our reach."""
        if not any(self.path.startswith(root.rstrip("/") + "/") for root in self.roots):
            raise BadInput(
                f"{self.named} is a link to {self.path}, outside your home and the client's folder. "
                "Nothing was changed; edit that file by hand, or replace the link by a file"
            )
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            if os.path.islink(self.named):
                raise BadInput(
                    f"{self.named} is a link to {self.path}, which does not exist. "
                    "Nothing was changed; make that file, or remove the link"
                ) from None
            return
        if not mode & 0o200:
            raise BadInput(
                f"{self.path} is read-only (mode {stat.S_IMODE(mode):04o}). "
                f"Nothing was changed; if holdfast may edit it: chmod u+w {self.path}"
            )

    def missing_folders(self) -> list[str]:
        """What has to be made before the file can be, outermost first."""
        missing = []
        folder = self.folder
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        return missing[::-1]


def candidates(app: Holdfast) -> list[str]:
    """Every settings file that the client reads in this folder, except those of an administrator."""
    project = os.getcwd() + "/.claude"
    return [
        f"{app.client_dir}/settings.json",
        f"{project}/settings.json",
        f"{project}/settings.local.json",
    ]


def find(app: Holdfast, project: bool) -> Place:
    user, shared, _ = candidates(app)
    named = shared if project else user
    home = app.environ.get("HOME") or os.path.expanduser("~")
    roots = (home, os.getcwd() if project else app.client_dir)
    return Place(
        named=named,
        path=os.path.realpath(named),
        scope="project" if project else "user",
        roots=tuple(os.path.realpath(root) for root in roots),
    )


@contextmanager
def speaking_of(path: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as problem:
        raise HoldfastError(
            f"{problem.filename or path}: {problem.strerror or problem}. "
            "Put that right and run this again: what was begun is completed then"
        ) from problem
