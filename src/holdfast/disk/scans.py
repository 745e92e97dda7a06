"""What a scan has read of the transcripts below a folder, so that only what is new is read again.

Two files for each folder: the answer, all that is needed while nothing has changed, and what is needed to
read on. Both begin with the list of the transcripts they are of, as it was when they were looked at. They
are caches: one that is damaged counts for nothing, and the next scan replaces it.
"""

import zlib

from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import dump, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

VERSION = 2
_HEAD = b'{"v":%d,"sum":' % VERSION
_LARGEST = 1 << 30
#: Between transcripts, and after the last: no name holds the one, no transcript begins with the other.
_NEXT, _END = b"\0", b"\0\n"


def answer(home: Home, folder: str, listed: list[str], most: int) -> list:
    """What `keep` was given with this list, the first `most` values of it; nothing if it was another."""
    known = _read(_path(home, folder, "answer"))
    looked = _joined(listed) + _END
    if not known.startswith(looked):
        return []
    lines = known[len(looked) :].splitlines()
    return [load(line.decode()) for line in lines[:most]]


def everything(home: Home, folder: str) -> dict[str, list]:
    """Of each transcript, as it was listed, what is needed to read on."""
    looked, _, parts = _read(_path(home, folder, "parts")).partition(_END)
    listed = looked.decode("utf-8", "surrogateescape").split(_NEXT.decode())
    return dict(zip(listed, map(load, parts.decode().splitlines()), strict=False))  # type: ignore[arg-type]


def keep(home: Home, folder: str, listed: list[str], answer: list, parts: list[list]) -> None:
    files.make_dir(home.scans)
    lock = files.Lock(home.scans + "/lock")
    if lock.attempt():  # else somebody keeps much the same just now
        with lock:
            for name, values in (("parts", parts), ("answer", answer)):
                lines = "".join(dump(value) + "\n" for value in values).encode()
                data = _joined(listed) + _END + lines
                data = b"%s%d}\n%s" % (_HEAD, zlib.crc32(data), data)
                files.replace(_path(home, folder, name), data, durable=False)


def _path(home: Home, folder: str, name: str) -> str:
    return f"{home.scans}/{sha256_hex(folder.encode('utf-8', 'surrogateescape'))[:16]}.{name}"


def _joined(listed: list[str]) -> bytes:
    return _NEXT.decode().join(listed).encode("utf-8", "surrogateescape")


def _read(path: str) -> bytes:
    """All but its first line, in which the checksum stands; nothing where that does not fit."""
    try:
        head, _, data = files.read(path, _LARGEST).partition(b"\n")
    except (OSError, BadInput):
        return b""
    return data if head == b"%s%d}" % (_HEAD, zlib.crc32(data)) else b""
