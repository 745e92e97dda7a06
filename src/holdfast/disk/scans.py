"""What a scan has read of the transcripts below a folder, so that only what is new is read again.

One file for each folder. Its first line is the answer, all that is needed while nothing has changed; then
comes a line for each transcript, with what is needed to read on. A cache: one that is damaged counts for
nothing, and the next scan replaces it.
"""

import posix
import zlib

from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.seen import fingerprint
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

VERSION = 1
_HEAD = b'{"v":%d,"sum":' % VERSION
_LARGEST = 1 << 30
_PIECE = 1 << 18


def answers(home: Home, folder: str) -> list[list]:
    """[name, size, time of the last change, inode, used] of each transcript, by name."""
    try:
        head = _first_line(_path(home, folder))
        return _parse(head)["files"]  # type: ignore[no-any-return]
    except (OSError, BadInput, KeyError, TypeError, *UNREADABLE):
        return []


def everything(home: Home, folder: str) -> list[list]:
    """The same, and with each [offset, identity, responses]."""
    try:
        head, _, rest = files.read(_path(home, folder), _LARGEST).partition(b"\n")
        saved = _parse(head)
        if saved["rest"] != zlib.crc32(rest):
            return []
        lines = rest.decode().splitlines()
        return [[*row, load(line)] for row, line in zip(saved["files"], lines, strict=True)]
    except (OSError, BadInput, KeyError, TypeError, *UNREADABLE):
        return []


def keep(home: Home, folder: str, rows: list[list]) -> None:
    """Rows as `everything` gives them."""
    rest = "".join(dump(row[5]) + "\n" for row in rows).encode()
    said = dump({"folder": folder, "rest": zlib.crc32(rest), "files": [row[:5] for row in rows]})[
        1:
    ].encode()
    files.make_dir(home.scans)
    lock = files.Lock(home.scans + "/lock")
    if lock.attempt():  # else somebody keeps much the same just now
        with lock:
            data = b"%s%d,%s\n%s" % (_HEAD, zlib.crc32(said), said, rest)
            files.replace(_path(home, folder), data, durable=False)


def _path(home: Home, folder: str) -> str:
    return f"{home.scans}/{fingerprint(folder):016x}.jsonl"


def _parse(head: bytes) -> dict:
    written, _, said = head.removeprefix(_HEAD).partition(b",")
    if not head.startswith(_HEAD) or written != b"%d" % zlib.crc32(said):
        raise ValueError("its checksum does not fit")
    return load("{" + said.decode())  # type: ignore[return-value]


def _first_line(path: str) -> bytes:
    fd = files.open_regular(path)
    try:
        data = piece = posix.read(fd, _PIECE)
        while piece and b"\n" not in piece:
            piece = posix.read(fd, _PIECE)
            data += piece
        return data.partition(b"\n")[0]
    finally:
        posix.close(fd)
