"""What only git itself can tell of a working tree: it is started, bounded in time and in what it prints."""

import posix
import time

from holdfast.clock import elapsed
from holdfast.disk.worktree import ENCODING, MOST_BYTES, Worktree, short_name

#: Seconds git is waited for.
PATIENCE_S = 0.4
_MOST_STAT = 4000
#: Bytes of a commit (its message may be of any length), and of the names of its files.
_MOST_COMMIT, _MOST_NAMES = 1 << 16, 1 << 22
#: Processes that were killed and had not gone yet.
_LEFT: list[int] = []


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
    branch = _git(environ, [*place, "symbolic-ref", "-q", "HEAD"], MOST_BYTES, seconds) or b""
    commit = _git(environ, [*place, "rev-parse", "--verify", "-q", "HEAD"], MOST_BYTES, seconds) or b""
    name = branch.rstrip(b"\n").decode(ENCODING, "surrogateescape")
    return short_name(name), commit.decode("ascii", "replace").strip()


def _git(environ: dict[str, str], asked: list[str], most: int, seconds: float) -> bytes | None:
    """What git prints, up to `most` bytes of it; None if it cannot be asked, fails or takes too long."""
    words = ["git", "--no-optional-locks", *asked]
    environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    environ["GIT_NO_LAZY_FETCH"] = "1"  # nothing is brought from anywhere
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
