"""Which machine of the team this home is: its name for people, and an id that no other has.

Kept in machine.json. A home that was copied to another machine is another one there: two that share an id
would each take the other's checkpoints for its own.
"""

from __future__ import annotations

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
    path, host = app.home.root + "/machine.json", _host()
    known = _read(path)
    if known and known.get("host") == host:
        return text(known, "id")
    files.make_dir(app.home.root)
    with files.Lock(app.home.root + "/machine.lock"):
        known = _read(path)
        if not known or known.get("host") != host:
            known = {"v": VERSION, "id": new_id(now()), "host": host}
            files.replace(path, dump(known).encode() + b"\n", durable=True)
    return text(known, "id")


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
