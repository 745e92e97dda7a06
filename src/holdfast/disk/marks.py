"""What people decided about checkpoints, pinned or approved, and so which to trust.

home/checkpoints/marks.jsonl, append only: truth that nothing can rebuild. So it stands apart from the
index, which can be made anew at any time.
"""

from holdfast.clock import now, rfc3339
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import text
from holdfast.disk import checkpoints, files, index
from holdfast.disk.home import Home

_LARGEST = 64 << 20


def add(home: Home, mark: str, uid: str, sha256: str) -> None:
    """`mark`: pin, unpin or approve. `sha256` is of the whole file: an approval is of these bytes."""
    files.make_dir(home.checkpoints)
    said = {"mark": mark, "uid": uid, "sha256": sha256, "at": rfc3339(now())}
    files.append_durably(_path(home), index.line(said))


def pinned(home: Home) -> set[str]:
    """uids."""
    found: set[str] = set()
    for said in _read(home):
        if said.get("mark") == "pin":
            found.add(text(said, "uid"))
        elif said.get("mark") == "unpin":
            found.discard(text(said, "uid"))
    return found


def approved(home: Home) -> set[str]:
    """Hashes of files."""
    return {text(said, "sha256") for said in _read(home) if said.get("mark") == "approve"} - {""}


def trust(home: Home, data: bytes) -> str:
    """own: written by this user's holdfast. approved: by the user, these very bytes. foreign: neither;
    it is shown, but never given to a session."""
    if checkpoint.is_sealed(data, checkpoints.known_key(home)):
        return "own"
    return "approved" if sha256_hex(data) in approved(home) else "foreign"


def _path(home: Home) -> str:
    return home.checkpoints + "/marks.jsonl"


def damaged(home: Home) -> int:
    """Lines that cannot be read: a pin may be among them, so nothing is pruned meanwhile."""
    return sum(index.checked(raw) is None and not index.is_torn(raw) for raw in _lines(home))


def _read(home: Home) -> list[dict]:
    return [said for raw in _lines(home) if (said := index.checked(raw))]


def _lines(home: Home) -> list[bytes]:
    try:
        return files.read(_path(home), _LARGEST).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
