"""Files of deep memory that nothing can rebuild: what was learned on request, and what was forgotten.

memory-learned.jsonl holds what agents and people asked to remember; memory-forgotten.jsonl a keyed hash of
every text that must not come back, whatever file still says it; memory-untold.jsonl what a team has yet to
be told to forget. All are on the disk before it is told.
"""

from __future__ import annotations

import os

from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.core.digest import seal
from holdfast.disk import checkpoints, files, index

VERSION = 1
_LARGEST = 64 << 20
_LEARNED = {"uid": str, "at": str, "project": str, "title": str, "text": str, "kind": str, "files": list}


def learned_path(app: Holdfast) -> str:
    return app.home.root + "/memory-learned.jsonl"


def forgotten_path(app: Holdfast) -> str:
    return app.home.root + "/memory-forgotten.jsonl"


def untold_path(app: Holdfast) -> str:
    return app.home.root + "/memory-untold.jsonl"


def learn(app: Holdfast, said: dict) -> None:
    files.append_durably(learned_path(app), index.line({"v": VERSION, **said}))


def learned(app: Holdfast) -> list[dict]:
    """In the order in which it was; a line that cannot be read is passed over and stays."""
    found = [index.checked(raw) for raw in _lines(learned_path(app))]
    return [
        said
        for said in found
        if said and all(type(said.get(one)) is kind for one, kind in _LEARNED.items())
    ]


def unlearn(app: Holdfast, uids: set[str]) -> None:
    """Without these; all else stays to the byte."""
    path = learned_path(app)
    if not os.path.exists(path):
        return
    fd = files.open_shared(path, alone=True)
    try:
        lines = files.read(path, _LARGEST).split(b"\n")
        kept = [raw for raw in lines if (index.checked(raw) or {}).get("uid") not in uids]
        if len(kept) < len(lines):
            files.renew(path, b"\n".join(kept))
    finally:
        os.close(fd)


def forget(app: Holdfast, shapes: list[str]) -> None:
    """Whoever reads the file learns nothing of what was forgotten."""
    key = _key(app)
    hashes = [_hash(key, one) for one in shapes if one]
    if hashes:
        said = {"v": VERSION, "at": rfc3339(now()), "hashes": hashes}
        files.append_durably(forgotten_path(app), index.line(said))


def forget_in(app: Holdfast, project: str, shapes: list[str]) -> None:
    """In one project alone: what others erased is theirs to erase in what is shared with them."""
    forget(app, [_of_project(project, one) for one in shapes if one])


def owe(app: Holdfast, project: str, shapes: list[str]) -> None:
    """That the team is to forget these, by the name it has for a project."""
    said = {"v": VERSION, "at": rfc3339(now()), "project": project, "shapes": shapes}
    files.append_durably(untold_path(app), index.line(said))


def owed(app: Holdfast) -> list[tuple[str, list[str]]]:
    return [debt for raw in _lines(untold_path(app)) if (debt := _debt(raw))]


def _debt(raw: bytes) -> tuple[str, list[str]] | None:
    said = index.checked(raw) if raw else None
    return (str(said["project"]), list(said["shapes"])) if said else None


def paid(app: Holdfast, told: list[tuple[str, list[str]]]) -> None:
    """Of what is owed, these were told, perhaps by another, too; what was added meanwhile stays."""
    path = untold_path(app)
    fd = files.open_shared(path, alone=True)
    try:
        lines = files.read(path, _LARGEST).split(b"\n")
        files.renew(path, b"\n".join(raw for raw in lines if _debt(raw) not in told))
    finally:
        os.close(fd)


class Forgotten:
    """Asked of every item before it is taken in."""

    def __init__(self, app: Holdfast) -> None:
        every = [index.checked(raw) or {} for raw in _lines(forgotten_path(app))]
        self._hashes = {one for said in every for one in said.get("hashes", ())}
        self._key = _key(app) if self._hashes else b""

    def __contains__(self, shape: str) -> bool:
        return bool(self._hashes) and _hash(self._key, shape) in self._hashes

    def holds(self, project: str, shape: str) -> bool:
        """Everywhere, or in this project."""
        return shape in self or _of_project(project, shape) in self


def _of_project(project: str, shape: str) -> str:
    return f"{shape} in {project}"


def _key(app: Holdfast) -> bytes:
    return checkpoints.known_key(app.home) or checkpoints.seal_key(app.home)


def _hash(key: bytes, shape: str) -> str:
    return seal(f"forgotten {shape}".encode(), key)


def _lines(path: str) -> list[bytes]:
    try:
        return [raw for raw in files.read(path, _LARGEST).split(b"\n") if raw]
    except FileNotFoundError:
        return []
