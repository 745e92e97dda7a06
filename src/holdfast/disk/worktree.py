"""Where a project stands in git.

A repository may come from anyone. So every read has a bound, only regular files are opened, refs are
never followed through a symbolic link: whatever lies there, the answer is a Worktree or None. Git itself
is never started here (`git` does that). The files are those of gitrepository-layout(5).
"""

import posix
import sys

from holdfast.disk import files
from holdfast.errors import BadInput

_KIND, _FILE, _FOLDER, _LINK = 0o170000, 0o100000, 0o040000, 0o120000
_UNREADABLE = (OSError, ValueError, BadInput)  # ValueError: a path with a NUL or a lone surrogate
_MOST_LEVELS, _MOST_LINKS = 256, 40
_MOST_REFS = 5  # HEAD and those it leads to; git gives up at the same number
MOST_BYTES = 4096  # in a file that holds one path or id
_PIECE, _MOST_PIECES = 1 << 20, 32  # of packed-refs: some 400,000 refs
ENCODING = sys.getfilesystemencoding()  # as `posix` reads and writes paths, with surrogateescape
#: What git's own folder holds while a rebase, or a row of picks, is under way.
_MANY = ("rebase-merge", "rebase-apply", "sequencer")
_HEX = frozenset("0123456789abcdef")
#: Bytes of git's log of HEAD that are looked through, and commits that are taken from it.
_MOST_LOG, _MOST_COMMITS = 1 << 15, 16
#: How that log says that HEAD went to where another branch, or an older commit, was already.
_LEFT, _RESET = b"checkout: moving from ", b"reset: "
#: What ends a line, drives a terminal or turns text around. Git forbids only the ASCII ones.
_UNCLEAN = frozenset(
    map(chr, (*range(32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A)))
)


class Worktree:
    """Where a project stands in git, read from git's own files: starting git would cost a hook
    several interpreter starts."""

    __slots__ = ("branch", "commit", "common", "root")

    def __init__(self, root: str, common: str, branch: str, commit: str) -> None:
        self.root = root  # real path of the working tree's top folder
        self.common = common  # real path of the git directory that all its worktrees share
        self.branch = branch  # short name; "" if detached or unknown
        self.commit = commit  # full hex id; "" if the branch is unborn or it is unknown


def find(folder: str) -> "Worktree | None":
    """`folder` is an absolute path. None: not in a working tree of git, or it cannot be read."""
    try:
        return _climb(_real("", folder)) if folder.startswith("/") else None
    except _UNREADABLE:
        return None


def of_hook(environ: dict[str, str], folder: str) -> "tuple[Worktree | None, bool]":
    """(where a hook of git runs, whether its commit is one of many: of a rebase, or of several that are
    picked). `folder` is the one it runs in; where git says which repository it is, nothing is searched."""
    try:
        here, told = _real("", folder), environ.get("GIT_DIR", "")
        if not told:
            tree = _climb(here)
            git = _git_of(tree.root) if tree else ""
        else:
            git, root = _real(here, told), _real(here, environ.get("GIT_WORK_TREE", ""))
            common = _common(git)
            tree = Worktree(root or "/", common, *_head(git, common)) if common else None
        return tree, any(_kind(f"{git}/{name}") for name in _MANY) if tree else False
    except _UNREADABLE:
        return None, False


def real(folder: str) -> str:
    """The path without links; as it was given if it cannot be followed."""
    try:
        return (_real("", folder) or "/") if folder.startswith("/") else folder
    except _UNREADABLE:
        return folder


def configs(root: str) -> list[str]:
    """The files in which the repository of a working tree may say how git is to work there, and those of a
    bare one in the same folder: git takes that where the other is damaged. [] where they cannot be told."""
    try:
        both = [(git, _common(git)) for git in (_git_of(root), root)]
    except _UNREADABLE:
        return []
    return [
        path for git, common in both if common for path in (f"{common}/config", f"{git}/config.worktree")
    ]


def log_size(tree: Worktree) -> int:
    """Bytes of git's own log of where HEAD was; 0 where there is none."""
    try:
        return posix.stat(_log(tree)).st_size
    except _UNREADABLE:
        return 0


def made_since(tree: Worktree, known: str, logged: int) -> "list[tuple[str, str]] | None":
    """(commit, branch) of those made in the working tree since it was at `known` and git's log so long,
    oldest first; None where that does not reach back. Of what was rebased, picked, merged or pulled only
    where it ends, and that only if it was not left again."""
    try:
        fd = files.open_regular(_log(tree))
        try:
            start = max(0, posix.fstat(fd).st_size - _MOST_LOG)
            lines = _beyond(posix.pread(fd, _MOST_LOG, start), logged - start, known.encode())
        finally:
            posix.close(fd)
    except _UNREADABLE:
        return None
    if lines is None:
        return None
    made, branch, is_end = [], tree.branch, True
    for line in reversed(lines):
        before, _, rest = line.partition(b" ")
        commit, what = rest.partition(b" ")[0].decode("ascii", "replace"), line.partition(b"\t")[2]
        if what.startswith(_LEFT):
            branch = _branch(what[len(_LEFT) :].partition(b" to ")[0])
        elif _is_id(commit) and (what.startswith(b"commit") or (is_end and not what.startswith(_RESET))):
            made.append((commit, branch))
            is_end = False
        is_end = is_end and before == commit.encode()  # another branch of the same commit
    return made[:_MOST_COMMITS][::-1]


def _log(tree: Worktree) -> str:
    return f"{_git_of(tree.root)}/logs/HEAD"


def _beyond(log: bytes, size: int, known: bytes) -> list[bytes] | None:
    """Its lines since the one that led to a commit: the one that ends at `size`, or, where that is another,
    the last such; None: there is none. A log goes to the same commit more than once."""
    *before, _ = log[: max(size, 0)].split(b"\n")
    lines = log.split(b"\n")[:-1]
    if not (known and before and _led_to(before[-1]) == known):
        before = lines[:]
        while before and not (known and _led_to(before[-1]) == known):
            before.pop()
    return lines[len(before) :] if before else None


def _led_to(line: bytes) -> bytes:
    return line.partition(b" ")[2].partition(b" ")[0]


def _branch(name: bytes) -> str:
    """As a log names it: a commit, where HEAD was on none."""
    if _is_id(name.decode("ascii", "replace")):
        return ""
    return short_name("refs/heads/" + name.decode(ENCODING, "surrogateescape"))


def _is_id(word: str) -> bool:
    return len(word) in (40, 64) and _HEX.issuperset(word)


def _git_of(folder: str) -> str:
    """The git directory of a working tree, or ""."""
    kind = _kind(folder + "/.git")
    if kind == _FILE:  # of a linked worktree or submodule; if it leads nowhere, git gives up too
        word, _, path = _read(folder + "/.git").partition(" ")
        return _real(folder, path) if word == "gitdir:" else ""
    return _real(folder, ".git") if kind == _FOLDER else ""


def _climb(folder: str) -> "Worktree | None":
    for _ in range(_MOST_LEVELS):
        kind = _kind(folder + "/.git")
        git = _git_of(folder)
        common = _common(git)
        if common:
            return Worktree(folder or "/", common, *_head(git, common))
        # Like git: past a `.git` folder that is no repository, but not out of a bare one.
        if kind == _FILE or not folder or _common(folder):
            return None
        folder = folder.rpartition("/")[0]
    return None


def _common(git: str) -> str:
    """The git directory all worktrees share, or "" if `git` is none. What HEAD says does not count:
    with a damaged one git denies the repository, but the project is still where it was."""
    if not git or not _kind(git + "/HEAD", follow=False):
        return ""
    common = _real(git, _read(git + "/commondir")) if _kind(git + "/commondir") else git
    return common if _kind(common + "/objects") == _kind(common + "/refs") == _FOLDER else ""


def _head(git: str, common: str) -> tuple[str, str]:
    """(branch, commit)."""
    name = "HEAD"
    for _ in range(_MOST_REFS):
        own = name.startswith(("HEAD", "refs/bisect/", "refs/rewritten/", "refs/worktree/"))
        value = _ref(git if own else common, common, name)
        if not value.startswith("ref:"):
            commit = value.partition(" ")[0].lower()
            return short_name(name), commit if _is_id(commit) else ""
        name = value[4:].strip(" \t\r\n")
        # No name may lead out of the folder. A reftable's HEAD, refs/heads/.invalid, ends here too.
        if not name.startswith("refs/") or "/." in name or "//" in name or name.endswith("/"):
            break
    return "", ""


def short_name(name: str) -> str:
    if not name.startswith("refs/heads/"):
        return ""
    branch = name[11:].encode(ENCODING, "surrogateescape").decode("utf-8", "replace")
    return branch if _UNCLEAN.isdisjoint(branch) else ""


def _ref(folder: str, common: str, name: str) -> str:
    """What a ref holds; "" if there is none (its branch is unborn) or it cannot be read."""
    path = f"{folder}/{name}"
    try:
        kind = _kind(path, follow=False)
        if kind == _LINK:  # as old git wrote them: the text of the link is the name of the next ref
            target = posix.readlink(path)
            return "ref:" + target if target.startswith("refs/") else ""
        if kind and kind != _FOLDER:  # a folder `a` may be what is left of a branch a/b
            return _read(path)
        return _packed(common + "/packed-refs", name)
    except _UNREADABLE:
        return ""


def _packed(path: str, name: str) -> str:
    """The id in the line `id name`, found without parsing the lines before it."""
    wanted = f" {name}\n".encode(ENCODING, "surrogateescape")
    fd = files.open_regular(path)
    try:
        data = b""
        for _ in range(_MOST_PIECES):
            piece = posix.read(fd, _PIECE)
            if not piece:
                break
            data = data[-len(wanted) - 65 :] + piece  # with a line that the last piece cut in two
            at = data.find(wanted)
            if at >= 0:
                return data[data.rfind(b"\n", 0, at) + 1 : at].decode("ascii", "replace")
    finally:
        posix.close(fd)
    return ""


def _read(path: str) -> str:
    """In one read, unlike `files.read`: a file of /proc says its size is 0 and may have no end."""
    fd = files.open_regular(path)
    try:
        data = posix.read(fd, MOST_BYTES + 1)
    finally:
        posix.close(fd)
    if len(data) > MOST_BYTES:
        raise BadInput(f"{path} holds more than one path or id; see what wrote it")
    return data.rstrip(b"\r\n").decode(ENCODING, "surrogateescape")


def _kind(path: str, follow: bool = True) -> int:
    """0 if it is missing or cannot be seen, which git takes for the same."""
    try:
        return posix.stat(path, follow_symlinks=follow).st_mode & _KIND
    except OSError:
        return 0


def _real(base: str, path: str) -> str:
    """realpath(3), which Python has only in `os`; `base` is real. The root is "", to be joined to."""
    done, todo, links = "" if path.startswith("/") else base, path.split("/")[::-1], 0
    while todo:
        part = todo.pop()
        here = f"{done}/{part}"
        if part == "..":
            done = done.rpartition("/")[0]
        elif part in ("", "."):
            pass
        elif posix.lstat(here).st_mode & _KIND != _LINK:
            done = here
        elif links < _MOST_LINKS:
            links += 1
            target = posix.readlink(here)
            done = "" if target.startswith("/") else done
            todo += target.split("/")[::-1]
        else:
            raise BadInput(f"{path} leads through more than {_MOST_LINKS} symbolic links")
    return done
