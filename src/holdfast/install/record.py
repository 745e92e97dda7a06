"""What install did, remembered so that uninstall can undo it to the byte: install.json and backups/.

The settings file is the truth about whether holdfast is wired; the record says what was there before.
It is written before the settings are and forgotten after, so that whoever is killed in between leaves a
record that says too much, never one that says too little.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from holdfast.clock import now, rfc3339
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import Damaged
from holdfast.install.settings import ABSENT
from holdfast.memory import swap

_VERSION = 1
_LARGEST = 16 << 20


@dataclass(frozen=True)
class Wiring:
    """One settings file. While it holds bytes whose hash is in `after_sha256`, undoing the wiring means
    those of `backup`, exactly; otherwise the edit is undone entry by entry."""

    settings: str
    scope: str
    before_sha256: str  # "": there was no file
    after_sha256: list[str]
    backup: str  # "": there was no file
    created_file: bool
    created_dirs: list[str]
    created: list[str]  # "hooks", "hooks.Stop": the containers that were not there
    python: str
    launch: str
    at: str
    project: str = ""  # the folder in which a client reads these settings; "": in all of them
    statusline_before: Any = field(default=ABSENT)  # left out of the file when there was none

    def to_json(self) -> dict[str, Any]:
        values = asdict(replace(self, statusline_before=None))
        del values["statusline_before"]
        if self.statusline_before is not ABSENT:
            values["statusline_before"] = self.statusline_before
        return values

    def holds(self, raw: bytes | None) -> bool:
        return raw is not None and sha256(raw) in self.after_sha256


@dataclass(frozen=True)
class GitHook:
    """One post-commit hook that holds our line. Whether it does, only the file itself says."""

    hook: str
    repository: str
    created_dirs: list[str]
    python: str
    githook: str
    at: str


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def path(home: Home) -> str:
    return home.root + "/install.json"


def load(home: Home) -> list[Wiring]:
    return _load(home)[0]


def git_hooks(home: Home) -> list[GitHook]:
    return _load(home)[1]


def _load(home: Home) -> tuple[list[Wiring], list[GitHook]]:
    try:
        raw = files.read(path(home), _LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    try:
        value = json.loads(raw)
        if value["v"] != _VERSION:
            raise ValueError(f"version {value['v']!r}")
        wirings = [Wiring(**_known(Wiring, one)) for one in value["wirings"]]
        return wirings, [GitHook(**_known(GitHook, one)) for one in value.get("git_hooks", [])]
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Damaged(
            f"{path(home)} cannot be read ({problem}). Nothing was changed; move it away and run this "
            "again: holdfast's entries are found without it, only what they replaced is not"
        ) from None


def _known(kind: type, one: dict[str, Any]) -> dict[str, Any]:
    """What this version knows of it."""
    names = {known.name for known in fields(kind)}
    return {name: value for name, value in one.items() if name in names}


def original(wiring: Wiring) -> bytes | None:
    return swap.current(wiring.backup) if wiring.backup else None


def is_intact(wiring: Wiring) -> bool:
    """Whether `original` is what was there before: not if the backup was removed or changed."""
    raw = original(wiring)
    return (sha256(raw) if raw is not None else "") == wiring.before_sha256


def of(home: Home, settings: str) -> Wiring | None:
    return next((wiring for wiring in load(home) if wiring.settings == settings), None)


def save(home: Home, settings: str, wiring: Wiring | None) -> None:
    """Put in the place of what was known of this settings file; None: forget it."""
    wirings, hooks = _load(home)
    others = [known for known in wirings if known.settings != settings]
    _write(home, [*others, *([wiring] if wiring else [])], hooks)


def git_hook(home: Home, hook: str) -> GitHook | None:
    return next((known for known in git_hooks(home) if known.hook == hook), None)


def save_git_hook(home: Home, hook: str, made: GitHook | None) -> None:
    """Put in the place of what was known of this hook; None: forget it."""
    wirings, hooks = _load(home)
    others = [known for known in hooks if known.hook != hook]
    _write(home, wirings, [*others, *([made] if made else [])])


def _write(home: Home, wirings: list[Wiring], hooks: list[GitHook]) -> None:
    said: dict[str, Any] = {"v": _VERSION, "wirings": [wiring.to_json() for wiring in wirings]}
    if hooks:
        said["git_hooks"] = [asdict(hook) for hook in hooks]
    if wirings or hooks:
        data = json.dumps(said, indent=1).encode() + b"\n"
        files.replace(path(home), data, durable=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path(home))
            files.sync_dir(home.root)


def back_up(home: Home, raw: bytes) -> str:
    """Where a copy of these bytes is; the same bytes are kept once."""
    folder = home.root + "/backups"
    files.make_dir(folder)
    digest = sha256(raw)
    for name in sorted(os.listdir(folder)):
        if name.endswith(f"-{digest[:8]}.json") and swap.current(f"{folder}/{name}") == raw:
            return f"{folder}/{name}"
    stamp = rfc3339(now())[:19].replace("-", "").replace(":", "")
    place = f"{folder}/settings-{stamp}Z-{digest[:8]}.json"
    files.replace(place, raw, durable=True)
    return place


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """One install or uninstall at a time. A purge removes the lock with the home; whoever waited for it
    then holds the lock of a file that is gone, and has to take the new one."""
    lock_path = home.root + "/install.lock"
    while True:
        files.make_dir(home.root)
        with files.Lock(lock_path) as lock:
            if _is_at(lock.fd, lock_path):
                yield
                return


def _is_at(fd: int, place: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(place))
    except FileNotFoundError:
        return False
