"""The client's instructions for a project, from all levels: who says what, and what of it is marked.

Read in the client's own order: managed, the user's own, those of the seed's `projects/<path>`, the folders
above the project, the project, and the folders below it, which it reads only when a file there is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from holdfast.app import Holdfast
from holdfast.clock import elapsed
from holdfast.core.plain import one_line
from holdfast.core.rules import Document, Rule, marked, matches
from holdfast.disk import client, instructions
from holdfast.disk.home import user_home
from holdfast.memory.conflicts import Claim, claim, conflict

_PASSED_OVER = frozenset("node_modules __pycache__ venv env target dist build vendor".split())
_MOST_FILES, _MOST_FOLDERS, _MOST_LINES, _DEEPEST = 2000, 20_000, 4000, 5
#: Seconds in which the folders below a project are looked through: it may be the root of a machine.
_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Source:
    """One file. `paths`: the files it is for, none: all; `reloaded`: whether the client reads it again when
    it compacts; `imported_by`: the file that names it."""

    level: str
    path: str
    paths: list[str]
    reloaded: bool
    imported_by: str
    lines: int
    marked: int
    problem: str
    document: Document | None = field(repr=False, compare=False, default=None)
    base: str = field(repr=False, compare=False, default="")

    def holds_for(self, path: str) -> bool:
        """Whether it is in force when this file is opened."""
        below = os.path.relpath(path, self.base) if self.base else path
        if self.level == "nested" and below.startswith(".."):
            return False
        return not self.paths or any(matches(pattern, below) for pattern in self.paths)

    def rules(self) -> list[Rule]:
        return self.document.rules(self.path) if self.document else []


@dataclass(frozen=True)
class Conflict:
    why: str
    one: str
    other: str
    one_at: str
    other_at: str


class _Cascade:
    def __init__(self, app: Holdfast, project: str) -> None:
        home = user_home(app.environ)
        above = [up for up in _above(project) if up != project]
        self.project = project
        self.found: list[Source] = []
        own = (app.client_dir, home, client.MANAGED)
        self._own = instructions.Reader(own, most=_MOST_FILES)
        self._theirs = instructions.Reader((project, *above), most=_MOST_FILES)
        self._home = home

    def take(
        self, level: str, path: str, reloaded: bool = True, base: str = "", by: str = "", depth: int = 0
    ) -> None:
        """A file and, behind it, what it imports; one that was met before is passed over."""
        is_own = level in ("managed", "global", "project")
        reader = self._own if is_own else self._theirs
        whole = os.path.realpath(path)
        if whole in self._own.read or whole in self._theirs.read:
            return
        if not os.path.lexists(path):
            if by:
                self.found.append(Source(level, path, [], False, by, 0, 0, "missing", None, base))
            return
        is_asked_for = by and not is_own and not whole.startswith(self.project + "/")
        made = None if is_asked_for else reader.document(path)
        paths = made.paths if made else []
        problem = "" if made else _problem(path)
        again = reloaded and not paths
        said = [line for _, line in made.lines if line.strip()] if made else []
        signs = sum(bool(marked(line)) for line in said)
        self.found.append(Source(level, path, paths, again, by, len(said), signs, problem, made, base))
        for named in made.imports() if made and depth < _DEEPEST else ():
            whole = self._imported(path, named)
            if os.path.lexists(whole) or _is_meant(named):
                self.take(level, whole, reloaded, base, path, depth + 1)

    def _imported(self, path: str, named: str) -> str:
        if named.startswith("~/"):
            return f"{self._home}/{named[2:]}"
        return os.path.normpath(os.path.join(os.path.dirname(path), named))

    def folder(self, level: str, folder: str, reloaded: bool, base: str) -> None:
        for path in self._theirs.every(folder):
            self.take(level, path, reloaded, base)


def cascade(app: Holdfast, project: str) -> list[Source]:
    made = _Cascade(app, project)
    chosen = client.settings(app.environ, app.client_dir, project)
    read = instructions.agents_md(app.client_dir, project, client.instruction_files(chosen, ""))
    own = instructions.NAMES + (instructions.AGENTS if read in (client.EITHER, client.BOTH) else ())
    made.take("managed", f"{client.MANAGED}/CLAUDE.md")
    if read != client.ONLY_MANAGED:
        made.take("global", f"{app.client_dir}/CLAUDE.md")
        made.folder("global", f"{app.client_dir}/rules", reloaded=True, base=project)
    made.take("project", instructions.cascade(app.client_dir, project), reloaded=False)
    for folder in reversed(_above(project)) if read != client.ONLY_MANAGED else ():
        level = "repository" if folder == project else "above"
        for name in own:
            made.take(level, f"{folder}/{name}", base=folder)
        made.folder(level, f"{folder}/{instructions.RULES}", reloaded=True, base=folder)
    for folder in _below(project):
        for name in instructions.names_in(folder, read):
            made.take("nested", f"{folder}/{name}", reloaded=False, base=folder)
        made.folder("nested", f"{folder}/{instructions.RULES}", reloaded=False, base=folder)
    return made.found


def conflicts(sources: list[Source]) -> list[Conflict]:
    """Between files; what one file says of itself is its author's business, and what two folders say that
    lie beside each other is never in force for the same file."""
    claims: list[tuple[Claim, Source, int]] = []
    for source in sources:
        for number, line in source.document.lines if source.document else ():
            said = claim(one_line(line).lstrip("#-*+ "))
            if len(claims) < _MOST_LINES and ((said.about and len(said.words) > 1) or said.key):
                claims.append((said, source, number))
    by_word: dict[str, list[int]] = {}
    for at, (said, _, _) in enumerate(claims):
        for word in said.about:
            by_word.setdefault(word, []).append(at)
    near = {pair for those in by_word.values() if len(those) < 200 for pair in combinations(those, 2)}
    found = []
    for one, other in sorted(near):
        first, second = claims[one], claims[other]
        why = conflict(first[0], second[0]) if _meet(first[1], second[1]) else ""
        if why:
            texts = first[0].text, second[0].text
            places = f"{first[1].path}:{first[2]}", f"{second[1].path}:{second[2]}"
            found.append(Conflict(why, *texts, *places))
    return found


def _meet(one: Source, other: Source) -> bool:
    """Whether both can be in force for one file."""
    if one.path == other.path:
        return False
    if one.level != "nested" or other.level != "nested":
        return True
    return f"{one.base}/".startswith(f"{other.base}/") or f"{other.base}/".startswith(f"{one.base}/")


def _above(project: str) -> list[str]:
    """The project and the folders it is in."""
    found = [project]
    while os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return [folder for folder in found if folder != "/"]


def _below(project: str) -> Iterator[str]:
    until = elapsed() + _PATIENCE_S
    for count, (folder, names, _) in enumerate(os.walk(project)):
        if count >= _MOST_FOLDERS or elapsed() > until:
            return
        names[:] = sorted(n for n in names if n not in _PASSED_OVER and not n.startswith("."))
        if folder != project:
            yield folder


def _is_meant(named: str) -> bool:
    """Whether what stands behind an @ means a file, also where there is none: people have names, and
    packages scopes (@types/node)."""
    return named.startswith(("~/", "./", "../", "/")) or named.endswith(".md")


def _problem(path: str) -> str:
    if not os.path.isfile(path):
        return "not a file" if os.path.exists(path) else "a link that leads nowhere"
    if os.path.getsize(path) > instructions.LARGEST:
        return f"more than {instructions.LARGEST >> 10} KiB: not read"
    return "outside of the project, or not readable: the client asks before it reads it"
