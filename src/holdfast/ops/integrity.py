"""`check` and `repair`: whether index and files agree, and the index made anew from the files alone.

Files are the truth. Nothing is deleted: a damaged file is renamed, one that somebody has changed stays.
"""

from __future__ import annotations

import json
import os
import posix
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.disk import checkpoints, files, index, marks, retention, sessions
from holdfast.disk.folder import Folder
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, Damaged, HoldfastError

_FIXES = {
    "phantom": "holdfast checkpoint repair",
    "orphan": "holdfast checkpoint repair",
    "outdated": "holdfast checkpoint repair",
    "index": "holdfast checkpoint repair",
    "damaged": "holdfast checkpoint repair sets it aside",
    "edited": "undo the edit; as it is, it is never given to a session",
    "foreign": "look at it, then: holdfast checkpoint approve PATH",
    "duplicate": "remove the copy",
    "misnamed": "give it its own name again, or remove the copy",
    "unsafe": "see what put it there",
    "marks": "look at the file, and take the lines out that are damaged",
}
#: What must be a file, if it is there.
_OURS = ("index.jsonl", "index.jsonl.tmp", "index.json", "index.json.tmp", "index.lock")
#: Not ours, and not wrong.
_HARMLESS = ("foreign",)


@dataclass(frozen=True)
class Finding:
    kind: str
    path: str
    what: str

    @property
    def fix(self) -> str:
        return _FIXES[self.kind]


@dataclass(frozen=True)
class Check:
    checkpoints: int
    folders: list[str]
    findings: list[Finding]

    @property
    def exit_code(self) -> int:
        return 1 if any(finding.kind not in _HARMLESS for finding in self.findings) else 0


@dataclass(frozen=True)
class Repaired:
    checkpoints: int
    set_aside: list[str]
    index_before: str
    left: list[Finding]

    @property
    def exit_code(self) -> int:
        return 1 if any(finding.kind not in _HARMLESS for finding in self.left) else 0


@dataclass(frozen=True)
class Pruned:
    removed: list[str]


@dataclass
class _Scan:
    """What the folders hold: entries of all that is ours and whole, and what is amiss with the rest."""

    entries: dict[str, dict] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    folders: list[str] = field(default_factory=list)


def check(app: Holdfast) -> Check:
    """Find every checkpoint that is missing, unlisted, damaged, changed or not ours."""
    scan = _scan(app)
    return Check(len(scan.entries), scan.folders, [*scan.findings, *_against_index(app, scan)])


def repair(app: Holdfast) -> Repaired:
    """Make the index anew from the files alone, and set damaged files aside. Nothing is deleted."""
    files.make_dir(app.home.checkpoints)
    with files.Lock(app.home.checkpoints + "/repair.lock"):  # one at a time: each begins with what is there
        return _repair(app)


def _repair(app: Holdfast) -> Repaired:
    for name in _OURS:
        files.clear_the_way(f"{app.home.checkpoints}/{name}")
    known = _whole(app.home.index)
    scan = _scan(app)
    aside = {found.path: _set_aside(found.path) for found in scan.findings if found.kind == "damaged"}
    before = _rebuild(app, scan.entries, known)
    _set_heads(app)
    index.show(app.home)
    left = [finding for finding in scan.findings if not aside.get(finding.path)]
    return Repaired(len(_listed(app).entries), [path for path in aside.values() if path], before, left)


def prune(app: Holdfast) -> Pruned:
    """Remove checkpoints older than a week, except pinned ones and the newest of each lineage."""
    removed = []
    for path in _folders(app):
        with checkpoints.open_folder(path) as folder:
            found = retention.prune_folder(app.home, folder, now(), most=1 << 30)
            removed += [f"{path}/{stem}{checkpoints.SUFFIX}" for stem in found]
    if removed:
        index.show(app.home)
    return Pruned(removed)


def _scan(app: Holdfast) -> _Scan:
    known = _listed(app).entries
    scan = _Scan(listed={*known, *(entry["path"] for entry in known.values())})
    key, approved = checkpoints.known_key(app.home), marks.approved(app.home)
    for path in _folders(app):
        scan.folders.append(path)
        with checkpoints.open_folder(path) as folder:
            for stem in checkpoints.stems(folder):
                _look_at(scan, app, folder, stem, key, approved)
    return scan


def _look_at(scan: _Scan, app: Holdfast, folder: Folder, stem: str, key: bytes, approved: set[str]) -> None:
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


def _against_index(app: Holdfast, scan: _Scan) -> Iterator[Finding]:
    listed = _listed(app)
    if listed.trouble:
        yield Finding("index", app.home.index, listed.trouble)
    if listed.damaged:
        yield Finding("index", app.home.index, f"{listed.damaged} of its lines cannot be read")
    unreadable = marks.damaged(app.home)
    if unreadable:
        what = (
            f"{unreadable} of its lines cannot be read: pin and approve again; nothing is pruned until then"
        )
        yield Finding("marks", app.home.checkpoints + "/marks.jsonl", what)
    if listed.torn:
        yield Finding("index", app.home.index, f"{listed.torn} of its lines are torn or empty")
    for uid, times in Counter(listed.repeated).items():
        yield Finding("index", app.home.index, f"{uid} stands in it {times + 1} times")
    amiss = {finding.path for finding in scan.findings}
    for uid, entry in listed.entries.items():
        if uid not in scan.entries and entry["path"] not in amiss:
            yield Finding("phantom", entry["path"], "the index names it, but it is not there")
        elif uid in scan.entries and entry != scan.entries[uid]:
            yield Finding(
                "outdated", entry["path"], "the index says something else of it than it does itself"
            )
    for uid, entry in scan.entries.items():
        if uid not in listed.entries:
            yield Finding("orphan", entry["path"], "it is not in the index")
    yield from _caches(app, listed)


def _caches(app: Holdfast, listed: _Listed) -> Iterator[Finding]:
    """What is made from the index, and believed: the heads, and `index.json`."""
    for lineage, uid in _newest(listed.entries).items():
        if checkpoints.head(app.home, lineage) != listed.entries[uid]:
            path = f"{app.home.checkpoints}/heads/{lineage}.json"
            yield Finding("index", path, "it does not name the newest checkpoint of its lineage")
    shown, entries = f"{app.home.checkpoints}/index.json", list(listed.entries.values())
    if not entries:
        return
    try:
        told = json.loads(files.read(shown, 1 << 26))
        last = [said["uid"] for said in told["checkpoints"]]
    except (OSError, BadInput, ValueError, LookupError, TypeError) as problem:
        yield Finding("index", shown, f"it cannot be read: {type(problem).__name__}")
        return
    rendered = [{name: said[name] for name in index.SHOWN} for said in entries[-len(last) :]]
    if not last or told["checkpoints"] != rendered or told.get("version") != "1.0" or len(told) != 3:
        yield Finding("index", shown, "it is not what the index says")


def _newest(entries: dict[str, dict]) -> dict[str, str]:
    """lineage -> uid. A lineage becomes the name of a file; a stranger's may be anything."""
    return {e["lineage"]: uid for uid, e in entries.items() if is_safe_name(e["lineage"])}


class _Listed:
    """The index as far as it can be read; `trouble` says why not."""

    def __init__(self, lines: list[bytes], trouble: str) -> None:
        found = index.Catalogue(lines)
        self.entries, self.damaged, self.repeated = found.entries, found.damaged, found.repeated
        self.torn = found.torn
        self.trouble = trouble


def _listed(app: Holdfast) -> _Listed:
    try:
        return _Listed(files.read(app.home.index, 1 << 30).split(b"\n")[:-1], "")
    except FileNotFoundError:
        return _Listed([], "")
    except (BadInput, OSError) as problem:
        return _Listed([], str(problem))


def _set_heads(app: Holdfast) -> None:
    """Each lineage's newest. A head that names what is in no index is wrong, however late it claims to be:
    whoever sets one has added its line before."""
    entries = index.load_all(app.home).entries
    files.make_dir(app.home.checkpoints + "/heads")
    for lineage, uid in _newest(entries).items():
        path = f"{app.home.checkpoints}/heads/{lineage}.json"
        files.clear_the_way(path)
        said = checkpoints.head(app.home, lineage)
        if said and said not in (entries[uid], index.load_all(app.home).entries.get(said["uid"])):
            with files.Lock(path) as lock:
                posix.ftruncate(lock.fd, 0)
        checkpoints.set_head(app.home, entries[uid])


def _rebuild(app: Holdfast, entries: dict[str, dict], known: tuple[int, int]) -> str:
    """Replace the index by what the files say. What was added since it was `known` stays. Where the old
    one went, if it said anything else."""
    home = app.home
    files.make_dir(home.checkpoints)
    fd = files.open_shared(home.index, alone=True)
    try:
        old = posix.pread(fd, posix.fstat(fd).st_size, 0)
        size = known[1] if posix.fstat(fd).st_ino == known[0] else 0  # made anew by another meanwhile
        # Said since, after what the files said: what was taken is there, what was pruned meanwhile is not.
        lines = [index.line(entry) for entry in entries.values() if _is_there(entry["path"])]
        listed = index.Catalogue([*lines, *old[size:].split(b"\n")[:-1]]).entries.values()
        new = b"".join(index.line(said) + b"\n" for said in listed)
        aside = ""
        if old not in (new, b""):
            aside = files.aside(home.index, "before")
            posix.link(home.index, aside)
        files.renew(home.index, new)
    finally:
        posix.close(fd)
    return aside


def _set_aside(path: str) -> str:
    """Where it is now; "" if it cannot be renamed."""
    folder, _, name = path.rpartition("/")
    aside = files.aside(name)
    try:
        with checkpoints.open_folder(folder) as opened:
            opened.rename(name, aside)
    except OSError:
        return ""
    return f"{folder}/{aside}"


def _folders(app: Holdfast) -> list[str]:
    """Every folder that may hold checkpoints of ours: named by the index, by the newest of each lineage,
    by the sessions, at home, and this one."""
    home = app.home
    found = {entry["path"].rpartition("/")[0] for entry in _listed(app).entries.values()}
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


def _is_there(path: str) -> bool:
    try:
        posix.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return True


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


def _whole(path: str) -> tuple[int, int]:
    """Which file the index is, and where its whole lines end; what is torn behind them says nothing."""
    try:
        inode = posix.stat(path).st_ino
        return inode, files.read(path, 1 << 30).rfind(b"\n") + 1
    except FileNotFoundError:
        return 0, 0
