"""What only git itself can tell of a working tree: it is started, bounded in time and in what it prints.

A repository may come from anyone, and its own configuration names commands that git would run: hooks, a
monitor of files, a program for differences, one that text is put through, a way to a server. None is run.
Filters cannot be turned off without their names, so a repository that has any of its own is not asked for
what needs them; those of the user's own settings go on.
"""

import posix
import time

from holdfast.clock import elapsed
from holdfast.disk import files
from holdfast.disk.worktree import ENCODING, MOST_BYTES, Worktree, configs, find, short_name
from holdfast.errors import BadInput

#: Seconds git is waited for.
PATIENCE_S = 0.4
_MOST_STAT = 4000
#: Names of files that git does not know yet.
_NEW = 12
#: Bytes of a commit (its message may be of any length), and of the names of its files.
_MOST_COMMIT, _MOST_NAMES = 1 << 16, 1 << 22
_HARMLESS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
#: Nothing is brought from anywhere, whatever way a repository names. Older versions know only the second.
ALONE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
#: Git does not look into submodules: each has a configuration of its own.
_NOT_BELOW = "--ignore-submodules=dirty"
#: Bytes of a configuration, of which more are not looked at; and how its sections begin that may name a
#: filter. Git does not mind capitals.
_LARGEST_CONFIG = 1 << 18
_FILTERS = (b"[filter", b"[include", b'[lfs "extension')
_SUBMODULE, _MOST_INDEX = b"160000 ", 1 << 24
#: Processes that were killed and had not gone yet.
_LEFT: list[int] = []


def is_clean(tree: Worktree, environ: dict[str, str], seconds: float = PATIENCE_S) -> bool:
    """Whether the working tree holds its commit and nothing else. Only git itself can tell; it is asked
    after tests have run, which took longer, and not waited for beyond a bound."""
    until = elapsed() + seconds
    asked = ["status", "-z", "--untracked-files=normal", _NOT_BELOW]
    if _in_tree(tree, environ, asked, 1, seconds) != b"":
        return False
    if not files.is_there(f"{tree.root}/.gitmodules"):
        return True
    listed = _in_tree(tree, environ, ["ls-files", "-s", "-z"], _MOST_INDEX, until - elapsed())
    if listed is None or len(listed) >= _MOST_INDEX:
        return False
    paths = [row.partition(b"\t")[2] for row in listed.split(b"\0") if row.startswith(_SUBMODULE)]
    below = [f"{tree.root}/{path.decode(ENCODING, 'surrogateescape')}" for path in paths]
    found = [find(path) for path in below if files.is_there(path + "/.git")]
    return all(one and one.root != tree.root and is_clean(one, environ, until - elapsed()) for one in found)


def diff_stat(tree: Worktree, environ: dict[str, str], seconds: float = PATIENCE_S) -> list[str]:
    """`git diff --stat` against the commit, in at most so many lines, and which files are new; [] where git
    does not say."""
    until = elapsed() + seconds
    asked = ["diff", "--stat=100", "--no-ext-diff", "--no-textconv", "--submodule=short"]
    asked += [_NOT_BELOW, "HEAD"]
    printed = _in_tree(tree, environ, asked, _MOST_STAT, seconds)
    lines = (printed or b"").decode("utf-8", "replace").split("\n")
    if len(printed or b"") >= _MOST_STAT:  # the last one was cut
        lines.pop()
    found = [line.strip() for line in lines if line.strip()]
    asked = ["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"]
    listed = _in_tree(tree, environ, asked, _MOST_STAT, until - elapsed()) or b""
    new = listed.decode("utf-8", "replace").split("\0")[:-1]  # what is cut ends without
    if new:
        more = f" and {len(new) - _NEW} more" if len(new) > _NEW else ""
        found.append(f"not in git yet: {', '.join(new[:_NEW])}{more}")
    return found


def _in_tree(
    tree: Worktree, environ: dict[str, str], asked: list[str], most: int, seconds: float
) -> bytes | None:
    """What git says of the files of a working tree; None as well where they may go through a filter of the
    repository's own."""
    said = configs(tree.root)
    if seconds <= 0 or not said or any(map(_may_filter, said)):
        return None
    return _git(environ, ["-C", tree.root, *asked], most, seconds, above=tree.root)


def _may_filter(config: str) -> bool:
    try:
        said = files.read(config, _LARGEST_CONFIG).lower()
    except FileNotFoundError:
        return False
    except (OSError, BadInput):  # whatever it is, git may make something of it
        return True
    return any(name in said for name in _FILTERS)


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
    branch = _git(environ, [*place, "symbolic-ref", "-q", "HEAD"], MOST_BYTES, seconds) or b""
    commit = _git(environ, [*place, "rev-parse", "--verify", "-q", "HEAD"], MOST_BYTES, seconds) or b""
    name = branch.rstrip(b"\n").decode(ENCODING, "surrogateescape")
    return short_name(name), commit.decode("ascii", "replace").strip()


def _git(
    environ: dict[str, str], asked: list[str], most: int, seconds: float, above: str = ""
) -> bytes | None:
    """What git prints, up to `most` bytes of it; None if it cannot be asked, fails or takes too long. It
    looks for no repository above the folder `above`."""
    words = ["git", "--no-optional-locks", *_HARMLESS, *asked]
    environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    environ.update(ALONE)
    if above:
        environ["GIT_CEILING_DIRECTORIES"] = above.rpartition("/")[0] or "/"
    for left in _LEFT.copy():
        if _gone(left) and left in _LEFT:
            _LEFT.remove(left)
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
    """Not waited for beyond a moment: one that waits for a disk cannot even be killed. Whoever asks next
    looks for it again."""
    posix.kill(pid, 9)
    for _ in range(20):
        if _gone(pid):
            return 9
        time.sleep(0.001)
    _LEFT.append(pid)
    return 9


def _gone(pid: int) -> bool:
    try:
        return posix.waitpid(pid, posix.WNOHANG)[0] != 0
    except ChildProcessError:  # this is a child itself by now, and it was its parent's
        return True


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
