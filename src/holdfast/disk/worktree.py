"""Where a project stands in git.

A repository may come from anyone. So every read has a bound, only regular files are opened, refs are
never followed through a symbolic link: whatever lies there, the answer is a Worktree or None. Only
`is_clean`, `diff_stat`, `committed` and `asked` start git. The files are those of gitrepository-layout(5).
"""

import posix
import sys
import time

from holdfast.clock import elapsed
from holdfast.disk import files
from holdfast.errors import BadInput

_KIND, _FILE, _FOLDER, _LINK = 0o170000, 0o100000, 0o040000, 0o120000
_UNREADABLE = (OSError, ValueError, BadInput)  # ValueError: a path with a NUL or a lone surrogate
_MOST_LEVELS, _MOST_LINKS = 256, 40
_MOST_REFS = 5  # HEAD and those it leads to; git gives up at the same number
_MOST_BYTES = 4096  # in a file that holds one path or id
_PIECE, _MOST_PIECES = 1 << 20, 32  # of packed-refs: some 400,000 refs
_ENCODING = sys.getfilesystemencoding()  # as `posix` reads and writes paths, with surrogateescape
#: Seconds git is waited for.
PATIENCE_S = 0.4
_MOST_STAT = 4000
#: Bytes of a commit (its message may be of any length), and of the names of its files.
_MOST_COMMIT, _MOST_NAMES = 1 << 16, 1 << 22
#: What git's own folder holds while a rebase, or a row of picks, is under way.
_MANY = ("rebase-merge", "rebase-apply", "sequencer")
_HEX = frozenset("0123456789abcdef")
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


def is_clean(tree: Worktree, environ: dict[str, str]) -> bool:
    """Whether the working tree holds its commit and nothing else. Only git itself can tell; it is asked
    after tests have run, which took longer, and not waited for beyond a bound."""
    asked = ["-C", tree.root, "-c", "core.fsmonitor=false", "status", "-z", "--untracked-files=normal"]
    printed = _git(environ, asked, 1, PATIENCE_S)
    return printed == b""


def diff_stat(tree: Worktree, environ: dict[str, str], seconds: float = PATIENCE_S) -> list[str]:
    """`git diff --stat` against the commit, in at most so many lines; [] where git does not say."""
    asked = ["-C", tree.root, "-c", "core.fsmonitor=false"]
    asked += ["diff", "--stat=100", "--no-ext-diff", "--no-textconv", "HEAD"]
    printed = _git(environ, asked, _MOST_STAT, seconds)
    lines = (printed or b"").decode("utf-8", "replace").split("\n")
    if len(printed or b"") >= _MOST_STAT:  # the last one was cut
        lines.pop()
    return [line.strip() for line in lines if line.strip()]


def committed(common: str, commit: str, environ: dict[str, str], seconds: float) -> tuple[str, int]:
    """(first line of the message, files changed) of a commit, as its objects have them: by plumbing, which
    runs nothing that a repository's configuration names. ("", 0) where git does not say."""
    place = "--git-dir=" + common
    raw = _git(environ, [place, "cat-file", "commit", commit], _MOST_COMMIT, seconds) or b""
    head, _, message = raw.partition(b"\n\n")
    encoding = head.partition(b"\nencoding ")[2].partition(b"\n")[0].decode("ascii", "replace") or "utf-8"
    line = message.lstrip(b"\n").partition(b"\n")[0]
    try:
        subject = line.decode(encoding, "replace")
    except (LookupError, ValueError):  # no such encoding
        subject = line.decode("utf-8", "replace")
    asked = [place, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", commit, "--"]
    changed = _git(environ, asked, _MOST_NAMES, seconds) or b""
    return subject, changed.count(b"\0")


def asked(root: str, environ: dict[str, str], seconds: float) -> tuple[str, str]:
    """(branch, commit), from git itself: for a repository whose refs are in no files of their own."""
    place = ["-C", root]
    branch = _git(environ, [*place, "symbolic-ref", "-q", "HEAD"], _MOST_BYTES, seconds) or b""
    commit = _git(environ, [*place, "rev-parse", "--verify", "-q", "HEAD"], _MOST_BYTES, seconds) or b""
    name = branch.rstrip(b"\n").decode(_ENCODING, "surrogateescape")
    return _branch(name), commit.decode("ascii", "replace").strip()


def _git(environ: dict[str, str], asked: list[str], most: int, seconds: float) -> bytes | None:
    """What git prints, up to `most` bytes of it; None if it cannot be asked, fails or takes too long."""
    words = ["git", "--no-optional-locks", *asked]
    environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    environ["GIT_NO_LAZY_FETCH"] = "1"  # nothing is brought from anywhere
    read, write = posix.pipe()
    try:
        quiet = (posix.POSIX_SPAWN_OPEN, 2, "/dev/null", posix.O_WRONLY, 0)
        actions = [(posix.POSIX_SPAWN_DUP2, write, 1), quiet]
        pid = posix.posix_spawnp("git", words, environ, file_actions=actions)
    except OSError:  # no git here: it is not known
        posix.close(read)
        return None
    finally:
        posix.close(write)
    printed, ended = b"", False
    try:
        printed, ended = _printed(read, most, seconds)
    finally:
        posix.close(read)
        status = _ended(pid) if ended else _killed(pid)
    if len(printed) >= most:
        return printed[:most]
    return printed if ended and not status else None


def _ended(pid: int) -> int:
    return posix.waitpid(pid, 0)[1]


def _killed(pid: int) -> int:
    """Not waited for beyond a moment: one that waits for a disk cannot even be killed."""
    posix.kill(pid, 9)
    for _ in range(20):
        gone, status = posix.waitpid(pid, posix.WNOHANG)
        if gone:
            return status
        time.sleep(0.001)
    return 9


def _printed(fd: int, most: int, seconds: float) -> tuple[bytes, bool]:
    """(what came within a bound of bytes and time, whether that was all)."""
    posix.set_blocking(fd, False)
    until = elapsed() + seconds
    printed = b""
    while elapsed() < until and len(printed) < most:
        try:
            piece = posix.read(fd, most)
        except BlockingIOError:
            time.sleep(0.003)
            continue
        if not piece:
            return printed, True
        printed += piece
    return printed, False


def real(folder: str) -> str:
    """The path without links; as it was given if it cannot be followed."""
    try:
        return (_real("", folder) or "/") if folder.startswith("/") else folder
    except _UNREADABLE:
        return folder


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
            is_id = len(commit) in (40, 64) and _HEX.issuperset(commit)
            return _branch(name), commit if is_id else ""
        name = value[4:].strip(" \t\r\n")
        # No name may lead out of the folder. A reftable's HEAD, refs/heads/.invalid, ends here too.
        if not name.startswith("refs/") or "/." in name or "//" in name or name.endswith("/"):
            break
    return "", ""


def _branch(name: str) -> str:
    if not name.startswith("refs/heads/"):
        return ""
    branch = name[11:].encode(_ENCODING, "surrogateescape").decode("utf-8", "replace")
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
    wanted = f" {name}\n".encode(_ENCODING, "surrogateescape")
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
        data = posix.read(fd, _MOST_BYTES + 1)
    finally:
        posix.close(fd)
    if len(data) > _MOST_BYTES:
        raise BadInput(f"{path} holds more than one path or id; see what wrote it")
    return data.rstrip(b"\r\n").decode(_ENCODING, "surrogateescape")


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
