"""What may happen to a checkpoint that is being taken, and what must be true on disk whatever happened.

`Faults` stands between our modules and `posix`: it counts what has an effect and kills the process before,
in the middle of or after one of them. `wrong` looks at a disk with our own readers and says what breaks
the promise. The protocols of `CONTROLS` are broken on purpose: a check that they pass is no check.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import posix
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from disk.memory import EFFECTS, FILE, Memory
from holdfast import clock, saving  # noqa: F401  (saving: everything a hook can load is loaded)
from holdfast.core import checkpoint
from holdfast.core.config import DEFAULTS
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.disk import checkpoints, files, index, marks
from holdfast.disk.checkpoints import Draft
from holdfast.disk.folder import Folder
from holdfast.disk.home import Home
from holdfast.errors import BadInput
from holdfast.ops import scan

Ack = Callable[[str], None]
Protocol = Callable[[Home, Draft, Ack], None]
#: A moment at which all made checkpoints are young.
NOW = 1_770_000_000_000
DAY = 24 * 3600 * 1000
KEPT_DAYS = DEFAULTS["checkpoints.keep_days"]


class Faults:
    """`posix`, with something that happens at the effect numbered `due`. `act` is given the call and makes
    it, or a part of it, or not; `refuse` may raise what the disk would."""

    def __init__(
        self,
        due: int,
        act: Callable[[str, Callable, tuple, dict], Any],
        refuse: Callable[[str, tuple, dict], None] | None = None,
    ) -> None:
        self.due = due
        self.act = act
        self.refuse = refuse
        self.count = 0

    @staticmethod
    def major(device: int) -> int:
        """A block device, also where all is tried in memory: else nobody syncs in turns."""
        return os.major(device) or 8

    def __getattr__(self, name: str) -> Any:
        real = getattr(posix, name)  # AttributeError where there is none
        if name not in EFFECTS and name != "open":
            self.__dict__[name] = real
            return real

        def counted(*args: Any, **named: Any) -> Any:
            if name == "open" and not args[1] & (os.O_CREAT | os.O_TRUNC):
                return real(*args, **named)
            number, self.count = self.count, self.count + 1
            if self.refuse:
                self.refuse(name, args, named)
            if number == self.due:
                return self.act(name, real, args, named)
            return real(*args, **named)

        self.__dict__[name] = counted
        return counted


def kill(how: str) -> Callable[[str, Callable, tuple, dict], Any]:
    """`how`: before, half (of what is written) or after."""

    def act(name: str, real: Callable, args: tuple, named: dict) -> None:
        if how == "half" and name in ("write", "pwrite"):
            real(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
        elif how == "after":
            try:
                real(*args, **named)
            except OSError:
                pass
        os.kill(os.getpid(), signal.SIGKILL)

    return act


def no_hard_links(name: str, args: tuple, named: dict) -> None:
    if name == "link":
        raise PermissionError(errno.EPERM, "no hard links here")


def in_folder(folder: str, code: int, calls: frozenset[str]) -> Callable[[str, tuple, dict], None]:
    """A folder in which these calls fail."""

    def refuse(name: str, args: tuple, named: dict) -> None:
        if name not in calls:
            return
        fd = named.get("dir_fd", named.get("src_dir_fd", args[0] if type(args[0]) is int else None))
        path = os.readlink(f"/proc/self/fd/{fd}") if fd is not None else args[0]
        if str(path).startswith(folder):
            raise OSError(code, os.strerror(code))

    return refuse


def read_only(folder: str) -> Callable[[str, tuple, dict], None]:
    def refuse(name: str, args: tuple, named: dict) -> None:
        exists = name in ("open", "mkdir") and os.path.lexists(
            os.path.join(
                os.readlink(f"/proc/self/fd/{named['dir_fd']}") if "dir_fd" in named else "", args[0]
            )
        )
        if not exists:  # that comes first
            everywhere(name, args, named)

    everywhere = in_folder(folder, errno.EROFS, EFFECTS | {"open"})
    return refuse


def full(folder: str) -> Callable[[str, tuple, dict], None]:
    return in_folder(folder, errno.ENOSPC, frozenset(("write", "pwrite")))


@contextmanager
def over(disk: Any) -> Iterator[None]:
    """Our modules with `disk` for `posix`. They prune with every other checkpoint: more happens."""
    changed = [module for name, module in _ours() if getattr(module, "posix", None) is posix]
    pruned_every = checkpoints._PRUNED_EVERY
    for module in changed:
        module.posix = disk
    checkpoints._PRUNED_EVERY = 2
    try:
        yield
    finally:
        checkpoints._PRUNED_EVERY = pruned_every
        for module in changed:
            module.posix = posix


@contextmanager
def in_memory(disk: Memory) -> Iterator[None]:
    """As `over`, and nothing else of this machine shows either: no time, no `os`."""
    ticks = itertools.count(NOW + 5 * DAY)
    watch = SimpleNamespace(**{**vars(clock.time), "time": lambda: next(ticks) / 1000})
    before = clock.time, scan.os, fcntl.flock, files.time
    clock.time, scan.os = watch, _Os(disk)
    fcntl.flock = getattr(disk, "flock", fcntl.flock)
    files.time = SimpleNamespace(sleep=getattr(disk, "sleep", files.time.sleep))
    try:
        with over(disk):
            yield
    finally:
        clock.time, scan.os, fcntl.flock, files.time = before


class _Os:
    """What `ops` uses of `os`."""

    def __init__(self, disk: Memory) -> None:
        self.listdir = disk.listdir
        self.getcwd = disk.getcwd
        self.path = SimpleNamespace(
            realpath=lambda path: path, getsize=lambda path: disk.stat(path).st_size
        )


def _ours() -> list[tuple[str, Any]]:
    return [(name, module) for name, module in list(sys.modules.items()) if name.startswith("holdfast")]


# What is taken


class Maker:
    """Drafts, the same ones from the same dice. Lineages are few: newer ones supersede older ones."""

    def __init__(self, project: str, dice: random.Random, lineages: int = 2) -> None:
        self.project = project
        self.dice = dice
        self.lineages = lineages
        self.at = NOW
        self.number = 0

    def draft(self, at: int = 0) -> Draft:
        self.number += 1
        if not at:
            at = self.at = self.at + self.dice.choice((0, 0, 137, 1000, 61_000))
        tail = "".join(self.dice.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=10))
        uid = clock.new_id(at)[:10] + f"{self.number:06d}" + tail
        lineage = f"{self.dice.randrange(self.lineages):016x}"
        words = "the tide gate opens at half past four, unless the wind is from the north " * 12
        items = [words[: self.dice.randrange(20, 600)] for _ in range(self.dice.randrange(1, 4))]
        fields = {
            "trigger": "auto",
            "reason": "compaction",
            "project": self.project,
            "lineage": lineage,
            "session_id": f"s{lineage[-1]}",
            "agent_id": "",
            "parent": "",
            "branch": "main",
            "commit": "c0ffee" * 6 + "c0ff",
            "used_tokens": 1000 * self.number,
            "window": 200_000,
            "summary": words[: self.dice.randrange(10, 120)],
        }
        return Draft(uid, at, self.project, fields, checkpoint.body({"Goal": items}))


class Expected:
    """What must be there, known outside of the process that is tried."""

    def __init__(self) -> None:
        self.acked: dict[str, Draft] = {}  # by uid
        self.begun: dict[str, Draft] = {}  # what has not been acknowledged, or not yet
        self.pinned: set[str] = set()
        self.now = 0  # the latest that anyone may have taken it to be

    def copy(self) -> Expected:
        made = Expected()
        made.acked, made.begun = dict(self.acked), dict(self.begun)
        made.pinned, made.now = set(self.pinned), self.now
        return made

    def begin(self, draft: Draft) -> None:
        self.now = max(self.now, draft.at)
        if draft.uid not in self.acked:
            self.begun[draft.uid] = draft

    def ack(self, draft: Draft) -> None:
        self.acked[draft.uid] = draft
        self.begun.pop(draft.uid, None)

    def may_be_gone(self, uid: str, listed: dict[str, dict]) -> bool:
        """A week old, not pinned, and there is a newer one of its lineage."""
        draft = self.acked[uid]
        lineage = draft.fields["lineage"]
        newer = any(other > uid and entry["lineage"] == lineage for other, entry in listed.items())
        return newer and draft.at < self.now - KEPT_DAYS * DAY and uid not in self.pinned


# Protocols: ours, and some that are wrong


def ours(home: Home, draft: Draft, ack: Ack) -> None:
    checkpoints.take(home, draft, lambda entry: ack(entry["uid"]))


def index_first(home: Home, draft: Draft, ack: Ack) -> None:
    key, folder = checkpoints.seal_key(home), checkpoints.in_project(draft.project)
    with folder:
        stem, data = _rendered(folder, draft, key)
        index.add(home, _entry(folder, stem, data))
        checkpoints._write(folder, stem, data, draft.uid)
    ack(draft.uid)


def in_place(home: Home, draft: Draft, ack: Ack) -> None:
    key, folder = checkpoints.seal_key(home), checkpoints.in_project(draft.project)
    with folder:
        stem, data = _rendered(folder, draft, key)
        folder.create(stem + checkpoints.SUFFIX, data, durable=True)
        folder.sync()
        index.add(home, _entry(folder, stem, data))
    ack(draft.uid)


def early_ack(home: Home, draft: Draft, ack: Ack) -> None:
    key, folder = checkpoints.seal_key(home), checkpoints.in_project(draft.project)
    with folder:
        stem, data = _rendered(folder, draft, key)
        checkpoints._write(folder, stem, data, draft.uid)
        ack(draft.uid)
        index.add(home, _entry(folder, stem, data))


CONTROLS: dict[str, tuple[Protocol, str]] = {
    "index first": (index_first, "phantom"),
    "written in place": (in_place, "unreadable"),
    "acknowledged before the index": (early_ack, "lost"),
}


@contextmanager
def broken_turns(name: str) -> Iterator[None]:
    """A sync that others rely on, in ways that promise too much."""
    before = files._sync_and_count, files._ENDED_SINCE
    if name == "counted before it":
        files._sync_and_count = _count_and_sync
    elif name == "one is enough":
        files._ENDED_SINCE = 1
    try:
        yield
    finally:
        files._sync_and_count, files._ENDED_SINCE = before


BROKEN_TURNS = ("counted before it", "one is enough")


def _count_and_sync(fd: int, path: str, turn: int) -> None:
    files.posix.ftruncate(turn, files.posix.fstat(turn).st_size + 1)
    files.posix.fdatasync(fd)


def _rendered(folder: Folder, draft: Draft, key: bytes) -> tuple[str, bytes]:
    base, taken = checkpoints.stem_at(draft.at), set(checkpoints.stems(folder))
    names = (base if number == 1 else f"{base}-{number:03d}" for number in range(1, 999))
    stem = next(name for name in names if name not in taken)
    fields = {
        **draft.fields,
        "id": stem,
        "uid": draft.uid,
        "created": clock.rfc3339(draft.at),
        "iteration": 1,
    }
    return stem, checkpoint.render(fields, draft.body, key)


def _entry(folder: Folder, stem: str, data: bytes) -> dict:
    path = f"{folder.path}/{stem}{checkpoints.SUFFIX}"
    return index.entry(checkpoint.parse(data, stem).fields, path, "project")


# What must hold


class View:
    """A disk as our readers see it: files that verify, by path, and what is wrong with the others."""

    def __init__(self, home: Home, projects: list[str]) -> None:
        self.whole: dict[str, tuple[str, bytes]] = {}
        self.unreadable: list[str] = []
        for folder in _folders(home, projects):
            with folder:
                for stem in checkpoints.stems(folder):
                    self._look_at(folder, stem)

    def _look_at(self, folder: Folder, stem: str) -> None:
        path = f"{folder.path}/{stem}{checkpoints.SUFFIX}"
        try:
            data = folder.read(stem + checkpoints.SUFFIX, checkpoint.LARGEST)
        except (OSError, BadInput) as problem:
            self.unreadable.append(str(problem))
            return
        uid, problem = _verified(data, stem)
        if problem:
            self.unreadable.append(f"{path}: {problem}")
        else:
            self.whole[path] = uid, data


_KNOWN: dict[tuple[str, bytes], tuple[str, str]] = {}


def _verified(data: bytes, stem: str) -> tuple[str, str]:
    """(uid, what is wrong). The images of a history hold the same few files thousands of times."""
    known = _KNOWN.get((stem, data))
    if known is None:
        problems = checkpoint.problems(data, stem)
        uid = "" if problems else checkpoint.parse(data, stem).fields["uid"]
        if len(_KNOWN) > 50_000:
            _KNOWN.clear()
        known = _KNOWN[stem, data] = uid, problems[0] if problems else ""
    return known


def _folders(home: Home, projects: list[str]) -> Iterator[Folder]:
    kept = []
    try:
        with Folder.open(home.checkpoints, "kept") as folder:
            kept = folder.names()
    except OSError:
        pass
    places = [(project, ".claude", "checkpoints") for project in projects]
    for place in places + [(home.checkpoints, "kept", name) for name in kept]:
        try:
            yield Folder.open(*place)
        except OSError:
            continue


def wrong(home: Home, projects: list[str], expected: Expected, strict: bool) -> list[tuple[str, str]]:
    """(kind, what) of everything that breaks the promise. `strict`: after a kill, where the page cache has
    survived, also what is only a cache must be whole."""
    found: list[tuple[str, str]] = []
    view = View(home, projects)
    found += [("unreadable", what) for what in view.unreadable]
    catalogue = index.load_all(home)
    if strict and catalogue.damaged:
        found.append(("unreadable", f"{catalogue.damaged} lines of the index"))
    for uid, entry in catalogue.entries.items():
        if view.whole.get(entry["path"], ("",))[0] != uid:
            found.append(("phantom", f"the index names {entry['path']}"))
    key = _key(home)
    for uid in expected.acked:
        entry = catalogue.entries.get(uid)
        if entry is None:
            if not expected.may_be_gone(uid, catalogue.entries):
                found.append(("lost", f"{uid} is not in the index"))
        elif entry["path"] not in view.whole:  # a phantom, and more than that if it should be there
            if not expected.may_be_gone(uid, catalogue.entries):
                found.append(("lost", f"{uid} is not at {entry['path']}"))
        elif not checkpoint.is_sealed(view.whole[entry["path"]][1], key):
            found.append(("lost", f"{uid} has a seal that the key on disk has not made"))
    found += [("lost", f"the pin of {uid}") for uid in expected.pinned - marks.pinned(home)]
    for lineage in {draft.fields["lineage"] for draft in expected.acked.values()}:
        checkpoints.head(home, lineage)
    if strict:
        found += [*_wrong_shown(home, view), *_duplicates(view)]
    return found


def _duplicates(view: View) -> Iterator[tuple[str, str]]:
    """Not after a power cut: of two that were taken in the same second the first may be lost, and whoever
    pays again for the second then finds its name free."""
    seen: dict[str, str] = {}
    for path, (uid, _) in view.whole.items():
        if uid in seen:
            yield "duplicate", f"{seen[uid]} and {path}"
        seen[uid] = path


def _key(home: Home) -> bytes:
    try:
        return checkpoints.files.read(home.root + "/seal.key", 1024)
    except (OSError, BadInput):
        return b""


def _wrong_shown(home: Home, view: View) -> Iterator[tuple[str, str]]:
    try:
        shown = load(checkpoints.files.read(home.checkpoints + "/index.json", 1 << 30).decode())
    except FileNotFoundError:
        return
    except UNREADABLE:
        yield "unreadable", "index.json"
        return
    for entry in shown["checkpoints"]:  # type: ignore[index]
        if view.whole.get(entry["path"], ("",))[0] != entry["uid"]:
            yield "phantom", f"index.json names {entry['path']}"


__all__ = ["CONTROLS", "FILE", "Expected", "Faults", "Maker", "in_memory", "kill", "ours", "over", "wrong"]
