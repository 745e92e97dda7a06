"""`check` and `repair`: whether index and files agree, and the index made anew from the files alone.

Files are the truth. Nothing is deleted: a damaged file is renamed, one that somebody has changed stays.
"""

from __future__ import annotations

import json
import posix
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.clock import now
from holdfast.disk import checkpoints, files, index, marks, retention
from holdfast.disk.folder import Folder
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput
from holdfast.ops.scan import Finding, Scan, folders, listed, look

#: What must be a file, if it is there.
_OURS = (
    "index.jsonl", "index.jsonl.tmp", "index.jsonl.synced", "index.json", "index.json.tmp", "index.lock",
)  # fmt: skip
#: Not ours, and not wrong.
_HARMLESS = ("foreign",)


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


def check(app: Holdfast) -> Check:
    """Find every checkpoint that is missing, unlisted, damaged, changed or not ours."""
    scan = look(app)
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
    scan = look(app)
    aside = {found.path: _set_aside(found.path) for found in scan.findings if found.kind == "damaged"}
    before = _rebuild(app, scan.entries, known)
    _set_heads(app)
    _set_latest(app, scan)
    index.show(app.home)
    left = [finding for finding in scan.findings if not aside.get(finding.path)]
    return Repaired(len(listed(app)[0].entries), [path for path in aside.values() if path], before, left)


def prune(app: Holdfast) -> Pruned:
    """Remove checkpoints older than `checkpoints.keep_days`, but no pinned one and no lineage's newest."""
    removed, days = [], app.config["checkpoints.keep_days"]
    for path in folders(app):
        with checkpoints.open_folder(path) as folder:
            found = retention.prune_folder(app.home, folder, now(), 1 << 30, days)
            removed += [f"{path}/{stem}{checkpoints.SUFFIX}" for stem in found]
    return Pruned(removed)


def _against_index(app: Holdfast, scan: Scan) -> Iterator[Finding]:
    known, trouble = listed(app)
    if trouble:
        yield Finding("index", app.home.index, trouble)
    if known.damaged:
        yield Finding("index", app.home.index, f"{known.damaged} of its lines cannot be read")
    unreadable = marks.damaged(app.home)
    if unreadable:
        what = (
            f"{unreadable} of its lines cannot be read: pin and approve again; nothing is pruned until then"
        )
        yield Finding("marks", app.home.checkpoints + "/marks.jsonl", what)
    if known.torn:
        yield Finding("index", app.home.index, f"{known.torn} of its lines are torn or empty")
    for uid, times in Counter(known.repeated).items():
        yield Finding("index", app.home.index, f"{uid} stands in it {times + 1} times")
    amiss = {finding.path for finding in scan.findings}
    for uid, entry in known.entries.items():
        if uid not in scan.entries and entry["path"] not in amiss:
            yield Finding("phantom", entry["path"], "the index names it, but it is not there")
        elif uid in scan.entries and entry != scan.entries[uid]:
            yield Finding(
                "outdated", entry["path"], "the index says something else of it than it does itself"
            )
    for uid, entry in scan.entries.items():
        if uid not in known.entries:
            yield Finding("orphan", entry["path"], "it is not in the index")
    yield from _caches(app, known.entries)
    yield from _latest(scan)


def _caches(app: Holdfast, known: dict[str, dict]) -> Iterator[Finding]:
    """What is made from the index, and believed: the heads, and `index.json`."""
    for lineage, uid in _newest(known).items():
        if checkpoints.head(app.home, lineage) != known[uid]:
            path = f"{app.home.checkpoints}/heads/{lineage}.json"
            yield Finding("index", path, "it does not name the newest checkpoint of its lineage")
    shown, entries = f"{app.home.checkpoints}/index.json", list(known.values())
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


def _latest(scan: Scan) -> Iterator[Finding]:
    """Where `latest.md` is a link, it leads to the newest of its folder. A folder need not have one."""
    others = {finding.path for finding in scan.findings if finding.kind == "foreign"}
    for path, newest in _newest_in(scan).items():
        with checkpoints.open_folder(path) as folder:
            target = checkpoints.latest(folder)
            own = newest["id"] + checkpoints.SUFFIX if newest else ""
            # Who else works in the same project has the link when it has saved last.
            is_anothers = f"{path}/{target}" in others and target > own
            if own and target not in ("", own) and not is_anothers:
                what = f"it leads to {target[:80]!r}, and the newest is {newest['id']}"
                yield Finding("latest", f"{path}/{checkpoints.LATEST}", what)
            elif not newest and _dangles(folder, target):
                yield Finding(
                    "latest", f"{path}/{checkpoints.LATEST}", f"it leads to {target}, which is gone"
                )


def _set_latest(app: Holdfast, scan: Scan) -> None:
    key = checkpoints.known_key(app.home)
    for path, newest in _newest_in(scan).items():
        with suppress(OSError), checkpoints.open_folder(path) as folder:  # gone meanwhile, or read-only
            if newest:
                checkpoints.point_latest(folder, newest["id"], newest["uid"], key)
            elif _dangles(folder, checkpoints.latest(folder)):
                folder.remove(checkpoints.LATEST)


def _dangles(folder: Folder, target: str) -> bool:
    """A link to a checkpoint that is gone; one that leads anywhere else is not ours."""
    return checkpoints.is_stem(target.removesuffix(checkpoints.SUFFIX)) and not folder.has(target)


def _newest_in(scan: Scan) -> dict[str, dict]:
    """folder -> the entry of its newest checkpoint, {} where it has none of ours."""
    found: dict[str, dict] = {path: {} for path in scan.folders}
    for _, entry in sorted(scan.entries.items()):
        found[entry["path"].rpartition("/")[0]] = entry
    return found


def _newest(entries: dict[str, dict]) -> dict[str, str]:
    """lineage -> uid. A lineage becomes the name of a file; a stranger's may be anything."""
    return {e["lineage"]: uid for uid, e in entries.items() if is_safe_name(e["lineage"])}


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


def _is_there(path: str) -> bool:
    try:
        posix.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return True


def _whole(path: str) -> tuple[int, int]:
    """Which file the index is, and where its whole lines end; what is torn behind them says nothing."""
    try:
        inode = posix.stat(path).st_ino
        return inode, files.read(path, 1 << 30).rfind(b"\n") + 1
    except FileNotFoundError:
        return 0, 0
