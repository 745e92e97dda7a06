"""Digests for the hot path, straight from the interpreter's C modules: `hashlib` costs a hook as much
as half the interpreter's start. Where they are missing `hashlib` gives the same, and a test holds
them against each other."""

import sys

try:
    if sys.version_info >= (3, 12):  # looking for what is not there costs more than loading what is
        from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
    else:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from hashlib import sha256


def sha256_hex(data: bytes) -> str:
    return str(sha256(data).hexdigest())


def seal(data: bytes, key: bytes, size: int = 16) -> str:
    """What only the holder of `key` can write under `data`: so many bytes."""
    try:
        from _blake2 import blake2b  # not for every brief
    except ImportError:
        from hashlib import blake2b
    return str(blake2b(data, key=key[:64], digest_size=size).hexdigest())


def md5_hex(data: bytes) -> str:
    """For names that others derive, too; it seals nothing."""
    try:
        from _md5 import md5  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import md5
    return str(md5(data, usedforsecurity=False).hexdigest())
