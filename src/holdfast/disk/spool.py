"""Breakpoints that nobody has come for yet: spool/<working tree>/<uid>.<kind>.json, a file each.

A commit and a test run do not wait for us: a temporary file and a rename, not even synced. Whoever comes
next (a hook of a session in that working tree, a command, the service) makes of each a save with the same
uid and removes the file then: killed in between, the next one finds that save and only removes. Every
working tree has a folder of its own, which is gone when it is empty: a hook that has nothing to do learns
that from one failed look.
"""

import posix

from holdfast.clock import id_time, new_id, now, rfc3339
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.disk.worktree import Worktree

COMMIT, TESTS = "commit", "tests"
#: The environment, unless CONTEXTS_ENV names another.
DEFAULT = "development"
#: A commit among many: of a rebase, or of several that are picked. Of these only the newest is kept.
SERIES = "series"
#: Of one working tree. The oldest go: what was saved at the newer ones holds for them, too.
_MOST = 64
_LARGEST = 1 << 14
_TEXTS = ("at", "root", "common", "environment", "branch", "commit")
_SHAPES = {
    COMMIT: {},
    SERIES: {},
    TESTS: {"passed": bool, "count": int, "failed": int, "seconds": float, "command": str, "clean": bool},
}
_KEY, _HEX = 16, frozenset("0123456789abcdef")
_ASIDE, _SUFFIX, _TEMPORARY = "aside", ".json", ".tmp"
#: After this a temporary file is what a kill left.
_UNFINISHED_MS = 3_600_000
_TRIES = 5


def key(root: str) -> str:
    """The name of a working tree's folder."""
    from _imp import source_hash  # siphash, in every interpreter: `hashlib` would cost a commit more

    return source_hash(0, root.encode("utf-8", "surrogatepass")).hex()  # also of what can be no path


def environment(environ: dict[str, str]) -> str:
    """The one that saves are made for, where nobody names another."""
    return environ.get("CONTEXTS_ENV", "")[:128] or DEFAULT


def about(tree: "Worktree", environ: dict[str, str]) -> dict:
    """What every breakpoint says: where, and for which environment."""
    return {
        "root": tree.root,
        "common": tree.common,
        "environment": environment(environ),
        "branch": tree.branch,
        "commit": tree.commit,
    }


def put(home: Home, kind: str, said: dict) -> str:
    """Its uid, which comes after those of all that lies there already."""
    place = f"{home.spool}/{key(said['root'])}"
    others = names(home, key(said["root"]))
    at, newest = now(), id_time(others[-1].partition(".")[0]) if others else 0
    if at <= newest < at + _MOST:  # of the same millisecond, and not of a clock that was set back since
        at = newest + 1
    uid = new_id(at)
    data = dump({"v": 1, "at": rfc3339(at), **said}).encode()
    temporary = f"{home.spool}/.{uid}{_TEMPORARY}"
    try:
        for left in range(_TRIES, -1, -1):
            files.make_dir(place)
            try:
                _write(temporary, data)
                posix.rename(temporary, f"{place}/{uid}.{kind}{_SUFFIX}")
                break
            except FileNotFoundError:  # somebody has taken what was there, and the folder with it
                if not left:
                    raise
    finally:
        _remove(temporary)
    old = others[: max(0, len(others) + 1 - _MOST)]
    if kind == SERIES:
        old += [name for name in others if name.endswith(f".{SERIES}{_SUFFIX}")]
    for name in old:
        _remove(f"{place}/{name}")
    return uid


def _write(path: str, data: bytes) -> None:
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC | posix.O_NOFOLLOW
    fd = posix.open(path, flags, 0o600)
    try:
        if posix.write(fd, data) != len(data):
            raise OSError(28, "the disk is full", path)
    finally:
        posix.close(fd)


def names(home: Home, tree: str) -> list[str]:
    """What lies there, oldest first; [] is nearly always the answer."""
    try:
        return sorted(posix.listdir(f"{home.spool}/{tree}"))
    except (FileNotFoundError, NotADirectoryError):
        return []


def trees(home: Home) -> list[str]:
    """Where something may lie."""
    try:
        found = posix.listdir(home.spool)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name for name in found if len(name) == _KEY and _HEX.issuperset(name))


def entries(home: Home, tree: str) -> list[dict]:
    """Those that can be read, oldest first, each with its `uid` and `kind`."""
    return [said for name in names(home, tree) if (said := _read(home, tree, name))]


def _read(home: Home, tree: str, name: str) -> dict | None:
    uid, _, rest = name.partition(".")
    kind = rest.removesuffix(_SUFFIX)
    shape = _SHAPES.get(kind)
    if shape is None or not id_time(uid) or not rest.endswith(_SUFFIX):
        return None
    try:
        said = load(files.read(f"{home.spool}/{tree}/{name}", _LARGEST).decode("utf-8"))
    except (OSError, BadInput, *UNREADABLE):
        return None
    if type(said) is not dict or said.get("v") != 1:
        return None
    is_whole = all(type(said.get(one)) is str for one in _TEXTS) and all(
        type(said.get(one)) is wanted for one, wanted in shape.items()
    )
    if not is_whole or key(said["root"]) != tree or not _is_commit(said["commit"]):
        return None
    return {**said, "uid": uid, "kind": kind}


def _is_commit(word: str) -> bool:
    """Git is asked for it: nothing that git could take for an option. Not known where refs are no files."""
    return not word or (len(word) in (40, 64) and _HEX.issuperset(word))


def lock(home: Home) -> files.Lock:
    """Of whoever makes saves of what lies here."""
    files.make_dir(home.spool)
    return files.Lock(home.spool + "/lock")


def clear(home: Home, tree: str, done: list[str]) -> list[str]:
    """Remove those that are `done`, by their uids, and set aside what is no breakpoint: the names of it."""
    place = f"{home.spool}/{tree}"
    strange = []
    for name in names(home, tree):
        if name.partition(".")[0] in done:
            _remove(f"{place}/{name}")
        elif not _read(home, tree, name):
            files.make_dir(f"{home.spool}/{_ASIDE}")
            try:
                posix.rename(f"{place}/{name}", f"{home.spool}/{_ASIDE}/{tree}-{new_id(now())}")
                strange.append(name)
            except FileNotFoundError:  # a newer one of the same series has taken its place
                pass
    try:
        posix.rmdir(place)
    except OSError:  # another has come meanwhile
        pass
    _tidy(home)
    return strange


def _tidy(home: Home) -> None:
    for name in posix.listdir(home.spool):
        uid = name[1:].removesuffix(_TEMPORARY)
        if name.endswith(_TEMPORARY) and not 0 <= now() - id_time(uid) < _UNFINISHED_MS:
            _remove(f"{home.spool}/{name}")


def _remove(path: str) -> None:
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass
