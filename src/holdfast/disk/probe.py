"""Files as they are, to be recognised later: how large, last changed when, and a hash of what is in them.

Read-only and bounded: what is large, or holds keys, is known by its size and time alone.
"""

import posix

from holdfast.clock import elapsed
from holdfast.core.digest import seal
from holdfast.core.redact import is_key_file
from holdfast.core.seen import fingerprint
from holdfast.disk import files
from holdfast.errors import BadInput

#: Bytes that are read of one file, and of all together; and seconds after which no other is begun.
_LARGEST, _MOST, _SECONDS = 1 << 18, 1 << 20, 0.15


def marks(paths: list[str], key: bytes) -> dict[str, list]:
    """Fingerprint of its path -> [size, milliseconds, hash or ""], of each that is there; [] of one that
    there was no time for."""
    found: dict[str, list] = {}
    room, until = _MOST, elapsed() + _SECONDS
    for path in paths:
        if elapsed() >= until:
            found[str(fingerprint(path))] = []
            continue
        try:
            state = posix.stat(path)
        except (OSError, ValueError):  # ValueError: a NUL, or a lone surrogate
            continue
        size, hashed = state.st_size, ""
        if size <= min(_LARGEST, room) and not is_key_file(path):
            room -= size
            hashed = _hash(path, key)
        found[str(fingerprint(path))] = [size, state.st_mtime_ns // 1_000_000, hashed]
    return found


def _hash(path: str, key: bytes) -> str:
    try:
        return seal(files.read(path, _LARGEST), key, 8)
    except (OSError, BadInput):  # no regular file, or not ours to read
        return ""
