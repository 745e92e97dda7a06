"""The client's instructions: which files say what, what of it is marked, and where they contradict."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core.plain import one_line
from holdfast.core.rules import marked
from holdfast.errors import BadInput
from holdfast.material import Looked
from holdfast.memory.place import project_of
from holdfast.memory.rules import Conflict, cascade, conflicts
from holdfast.ops.context import read_all


@dataclass(frozen=True)
class File:
    """A file of instructions. `reloaded`: the client reads it again when it compacts."""

    level: str
    path: str
    paths: list[str]
    reloaded: bool
    imported_by: str
    lines: int
    marked: int
    problem: str


class Instructions(list[File]):
    """In the order in which the client reads them."""


@dataclass(frozen=True)
class Line:
    level: str
    marker: str
    text: str
    path: str
    line: int
    kept_by: str


class Rules(list[Line]):
    """Rules, each with its origin."""


class Conflicts(list[Conflict]):
    """Rules of different files that cannot both be right."""


def list_all(app: Holdfast, *, project: str | None = None) -> Instructions:
    """Every file of instructions for a project: global, of the project and repository, nested, imported.

    Parameters
    ----------
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    found = cascade(app, project_of(app, project))
    return Instructions(
        File(
            one.level,
            one.path,
            one.paths,
            one.reloaded,
            one.imported_by,
            one.lines,
            one.marked,
            one.problem,
        )
        for one in found
    )


def show(app: Holdfast, path: str | None = None, *, project: str | None = None) -> Rules:
    """What is in force when a file is opened, line by line.

    Parameters
    ----------
    path
        The file that is opened. Without: what is in force from the beginning.
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    folder = project_of(app, project)
    found = [one for one in cascade(app, folder) if path is not None or one.level != "nested"]
    if path is not None:
        try:
            whole = os.path.realpath(os.path.join(folder, path))
        except ValueError:  # a NUL, or what no file system can write down
            raise BadInput(f"{path[:200]!r} cannot be a path; name the file that is opened") from None
        found = [one for one in found if one.holds_for(whole)]
    else:
        found = [one for one in found if not one.paths]
    return Rules(
        Line(
            one.level,
            marked(line),
            one_line(line),
            one.path,
            number,
            "client" if one.reloaded else "holdfast",
        )
        for one in found
        for number, line in (one.document.lines if one.document else ())
        if line.strip()
    )


def enforced(app: Holdfast, *, project: str | None = None, session: str | None = None) -> Rules:
    """Rules marked (ENFORCED) or (CRITICAL), with their origin and who brings them back after a compaction.

    Parameters
    ----------
    project
        The folder sessions work in; else the client's, or the repository we are in.
    session
        Also those that were only typed in the session with this id.
    """
    found = Rules(
        Line(
            one.level,
            rule.marker,
            rule.text,
            rule.path,
            rule.line,
            "client" if one.reloaded else "holdfast",
        )
        for one in cascade(app, project_of(app, project))
        for rule in one.rules()
    )
    if session is not None:
        state, path = read_all(app, None, session)
        typed = Looked(state, app, path).facts.rules
        found += [Line("conversation", marked(said), said, "", turn, "holdfast") for turn, _, said in typed]
    return found


def disputed(app: Holdfast, *, project: str | None = None) -> Conflicts:
    """Rules of different files that contradict each other; only what is plain is shown.

    Parameters
    ----------
    project
        The folder sessions work in; else the client's, or the repository we are in.
    """
    return Conflicts(conflicts(cascade(app, project_of(app, project))))
