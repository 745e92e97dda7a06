"""Every folder that may hold checkpoints, looked at: what is ours and whole, and what is amiss.

Nothing is believed: neither the index, which is a cache, nor the files, which anybody may have changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from holdfast.app import Holdfast
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.disk import checkpoints, index, marks, sessions
from holdfast.disk.folder import Folder
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.ops.progress import Bar

_FIXES = {
    "phantom": "holdfast checkpoint repair",
    "orphan": "holdfast checkpoint repair",
    "outdated": "holdfast checkpoint repair",
    "index": "holdfast checkpoint repair",
    "latest": "holdfast checkpoint repair",
    "damaged": "holdfast checkpoint repair sets it aside",
    "edited": "undo the edit; as it is, it is never given to a session",
    "foreign": "look at it, then: holdfast checkpoint approve PATH",
    "duplicate": "remove the copy",
    "misnamed": "give it its own name again, or remove the copy",
    "unsafe": "see what put it there",
    "marks": "look at the file, and take the lines out that are damaged",
}


@dataclass(frozen=True)
class Finding:
    kind: str
    path: str
    what: str

    @property
    def fix(self) -> str:
        return _FIXES[self.kind]


@dataclass
class Scan:
    """What the folders hold: entries of all that is ours and whole, and what is amiss with the rest."""

    entries: dict[str, dict] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    folders: list[str] = field(default_factory=list)


def look(app: Holdfast) -> Scan:
    known = listed(app)[0].entries
    scan = Scan(listed={*known, *(entry["path"] for entry in known.values())})
    key, approved = checkpoints.known_key(app.home), marks.approved(app.home)
    done = 0
    with Bar("looking at checkpoints", counts=True) as bar:
        for path in folders(app):
            scan.folders.append(path)
            with checkpoints.open_folder(path) as folder:
                for stem in checkpoints.stems(folder):
                    _look_at(scan, app, folder, stem, key, approved)
                    done += 1
                    bar.show(done, max(done, len(known)))  # there may be more than the index knows
    return scan


def _look_at(scan: Scan, app: Holdfast, folder: Folder, stem: str, key: bytes, approved: set[str]) -> None:
    path = f"{folder.path}/{stem}{checkpoints.SUFFIX}"
    try:
        data = folder.read(stem + checkpoints.SUFFIX, checkpoint.LARGEST)
    except FileNotFoundError:  # pruned meanwhile
        return
    except (OSError, BadInput) as problem:
        scan.findings.append(Finding("unsafe", path, str(problem)))
        return
    try:
        made = checkpoint.parse(data, "it")
    except Damaged as problem:
        scan.findings.append(Finding("damaged", path, str(problem)))
        return
    fields = made.fields
    known = scan.entries.get(fields["uid"])
    wrong = checkpoint.problems(data, stem, made)
    sealed = checkpoint.is_sealed(data, key)
    if fields["id"] != stem:
        scan.findings.append(Finding("misnamed", path, wrong[-1] if len(wrong) == 1 else "; ".join(wrong)))
    elif sha256_hex(data) not in approved and not sealed:
        kind = "edited" if wrong or {fields["uid"], path} & scan.listed else "foreign"
        what = "; ".join(wrong) or "this user's holdfast did not write it"
        scan.findings.append(Finding(kind, path, what))
    elif known and folder.path != f"{fields['project'].rstrip('/')}/.claude/checkpoints":
        scan.findings.append(Finding("duplicate", path, f"the same checkpoint is {known['path']}"))
    else:
        if known:  # a copy came first: the one in its own project is the original
            scan.findings.append(Finding("duplicate", known["path"], f"the same checkpoint is {path}"))
        kept = "home" if path.startswith(app.home.checkpoints + "/") else "project"
        scan.entries[fields["uid"]] = index.entry(fields, path, kept)


def listed(app: Holdfast) -> tuple[index.Catalogue, str]:
    """The index as far as it can be read, and why not."""
    try:
        return index.load_all(app.home), ""
    except (BadInput, OSError) as problem:
        return index.Catalogue([]), str(problem)


def folders(app: Holdfast) -> list[str]:
    """Every folder that may hold checkpoints of ours: named by the index, by the newest of each lineage,
    by the sessions, at home, and this one."""
    home = app.home
    found = {entry["path"].rpartition("/")[0] for entry in listed(app)[0].entries.values()}
    for name in _names(home.checkpoints + "/heads"):
        head = checkpoints.head(home, name.removesuffix(".json"))
        found.add(str(head.get("path", "")).rpartition("/")[0])
    found |= {f"{home.checkpoints}/kept/{name}" for name in _names(home.checkpoints + "/kept")}
    projects = {_here()}
    for session in sessions.names(home):
        for agent in ("", *_names(f"{home.sessions}/{session}/agents")):
            try:
                state = sessions.peek(home, session, agent) if not agent or is_safe_name(agent) else None
            except (HoldfastError, OSError):
                continue
            if state:
                found.add(str(state.heard.saved.get("path", "")).rpartition("/")[0])
                projects.add(state.heard.project)
    found |= {os.path.realpath(project) + "/.claude/checkpoints" for project in projects if project}
    return sorted(path for path in found if path and _is_folder(path))


def _is_folder(path: str) -> bool:
    try:
        checkpoints.open_folder(path).close()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False
    return True


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # removed under our feet
        return ""
