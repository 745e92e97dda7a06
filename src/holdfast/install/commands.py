"""The slash commands and the skill, as files in the client's folder: put there, and taken out again.

A file of ours carries the hash of its own text, so that one that somebody has changed, or made, is never
taken for ours: it is neither overwritten nor removed. The plugin brings the same texts with another way
to run the launcher; a test holds them against each other.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from importlib.resources import files as resources

from holdfast.disk import files
from holdfast.install.settings import Launcher
from holdfast.memory import swap

#: Below the client's folder, or a project's. The folder of its own makes `save` /holdfast:save.
FILES = {
    "commands/holdfast/save.md": "save.md",
    "commands/holdfast/load.md": "load.md",
    "commands/holdfast/report.md": "report.md",
    "skills/holdfast/SKILL.md": "skill.md",
}
_RUN = "{{run}}"
_LABEL = b"holdfast: "


def text(name: str, run: str) -> str:
    """One of the texts, with `run` as the way to start the launcher."""
    source = resources("holdfast.install") / "texts" / name
    return source.read_text("utf-8").replace(_RUN, run)


def wanted(launcher: Launcher) -> dict[str, bytes]:
    """Path below the client's folder -> what is to stand there."""
    run = launcher.run + " command"
    return {place: _labelled(text(name, run).encode()) for place, name in FILES.items()}


def _labelled(data: bytes) -> bytes:
    label = _LABEL + hashlib.sha256(data).hexdigest()[:32].encode()
    return data.replace(b"---\n", b"---\n" + label + b"\n", 1)


def is_ours(data: bytes) -> bool:
    """Whether it is exactly what some holdfast has put there."""
    lines = data.split(b"\n")
    without = b"\n".join([lines[0], *lines[2:]])
    return len(lines) > 2 and lines[1].startswith(_LABEL) and _labelled(without) == data


def to_write(folder: str, launcher: Launcher) -> dict[str, bytes]:
    """Absolute path -> what has to be put there; nothing where it stands already, or where something
    stands that is not ours."""
    found = {f"{folder}/{place}": data for place, data in wanted(launcher).items()}
    return {path: data for path, data in found.items() if _may_write(path, data)}


def _may_write(path: str, data: bytes) -> bool:
    there = swap.current(path)
    return there is None or (there != data and is_ours(there))


def put(paths: dict[str, bytes]) -> None:
    for path, data in paths.items():
        files.make_dir(os.path.dirname(path))
        files.replace(path, data, durable=False)  # it can be put there again at any time


def missing_folders(folder: str) -> list[str]:
    """What `put` will have to make, outermost first."""
    needed = []
    for place in FILES:
        inner = f"{folder}/{os.path.dirname(place)}"
        needed += [os.path.dirname(inner), inner]
    return [path for path in dict.fromkeys(needed) if not os.path.lexists(path)]


def foreign(folder: str) -> list[str]:
    """What stands in the place of ours and is not ours: changed by somebody, or made."""
    paths = [f"{folder}/{place}" for place in FILES]
    found = {path: swap.current(path) for path in paths}
    return [path for path, data in found.items() if data is not None and not is_ours(data)]


def ours(folder: str) -> list[str]:
    found = {path: swap.current(path) for path in (f"{folder}/{place}" for place in FILES)}
    return [path for path, data in found.items() if data is not None and is_ours(data)]


def remove(folder: str) -> list[str]:
    """Take ours out; what was removed."""
    removed = []
    for path in [f"{folder}/{place}" for place in FILES]:
        data = swap.current(path)
        if data is not None and is_ours(data):
            os.unlink(path)
            removed.append(path)
        with suppress(FileNotFoundError):
            os.unlink(path + ".tmp")  # left by a process that was killed
        with suppress(OSError):  # somebody else's is in it
            os.rmdir(os.path.dirname(path))
    return removed
