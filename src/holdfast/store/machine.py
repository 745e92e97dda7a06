"""Which machine of the team this home is: its name for people, and an id that no other has.

Kept in machine.json. A home that was copied is another one, here and elsewhere: two that share an id would
each take the other's checkpoints for its own. One that was moved is not.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from holdfast.app import Holdfast
from holdfast.clock import new_id, now
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.disk import files
from holdfast.errors import BadInput

VERSION = 1
_LARGEST = 4096
_SHOWN = 8


def this(app: Holdfast) -> str:
    """`name.id`, as every row says it that this machine has sent."""
    name = app.config["team.machine"] or socket.gethostname().partition(".")[0] or "machine"
    return f"{name[:64]}.{_id(app)[-_SHOWN:].lower()}"


def _id(app: Holdfast) -> str:
    path, here = _path(app.home.root), {"host": _host(), "home": os.path.realpath(app.home.root)}
    known = _read(path)
    if not known or not here.items() <= known.items():
        files.make_dir(app.home.root)
        with files.Lock(app.home.root + "/machine.lock"):
            known = _read(path) or {}
            is_this = known.get("host") == here["host"] and not _is_copy(known, here["home"])
            known = {"v": VERSION, "id": known["id"] if is_this else new_id(now()), **here}
            files.replace(path, dump(known).encode() + b"\n", durable=True)
    return text(known, "id")


def _is_copy(known: dict, home: str) -> bool:
    """Whether the home that it was made for is still where it was, and is another folder. Numbers of
    folders are compared now and not kept: on some disks they change with every start."""
    first = text(known, "home")
    there = _read(_path(first)) if first else None
    return there is not None and there["id"] == known["id"] and not os.path.samefile(first, home)


def _path(home: str) -> str:
    return home + "/machine.json"


def _read(path: str) -> dict | None:
    try:
        said = load(files.read(path, _LARGEST).decode())
    except (OSError, BadInput, *UNREADABLE):
        return None
    return said if isinstance(said, dict) and text(said, "id") else None


def _host() -> str:
    """By which a copy of a home is known; "" where the system does not say."""
    try:
        return sha256_hex(Path("/etc/machine-id").read_bytes())[:16]
    except OSError:
        return ""
