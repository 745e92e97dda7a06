"""Where work stood, by environment: environments/<name>.jsonl, one line for each save, newest last.

A save is small: what a person or a breakpoint had to say, and which checkpoint was the newest then. It is
truth that nothing can rebuild, so it is on the disk before anybody is told of it. Lines are those of the
index: each carries its checksum, and one that somebody was killed over is passed over.
"""

import posix

from holdfast.clock import new_id, rfc3339
from holdfast.core.plain import excerpt, in_lines
from holdfast.disk import files, index
from holdfast.disk.home import Home, is_safe_name
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Redact = Callable[[str], str]

#: Who made it.
MANUAL, AUTO, COMMIT, TESTS = "manual", "auto-save", "git-commit", "test-result"
#: How it is known of which work: somebody said so, the environment's saves before it, or it was the newest.
TOLD, BEFORE, NEWEST = "told", "before", "newest"
#: What it may say, and in how many characters.
_SAID = {"task": 300, "context": 4000, "next_steps": 2000, "branch": 250, "commit": 64}
#: As it is: whoever goes on has to find it.
_VERBATIM = ("project", "lineage", "checkpoint", "session_id", "joined")
_MOST_TAGS, _LONGEST_TAG = 32, 100
_NAMES = ("id", "at", "environment", "source", "tags", "used", "max", *_VERBATIM, *_SAID)
_KINDS = {"tags": list, "used": int, "max": int}
_LINES = ("context", "next_steps")
#: How much of one text is looked at: what is kept ends far from where this cuts.
_LOOKED_AT = 1 << 14
#: More than anyone looks back, and than nearly any save has; a file is never read beyond the first.
_TAIL, _LAST = 1 << 22, 1 << 14
_SUFFIX = ".jsonl"


def check_name(environment: str) -> None:
    if not is_safe_name(environment):
        raise BadInput(
            f"{environment[:80]!r} cannot be the name of an environment: it takes at most 128 letters, "
            "digits, - _ . and begins with neither - nor ."
        )


def made(
    at: int, environment: str, source: str, redact: "Redact", tags: "Sequence[str]" = (), **said: str | int
) -> dict:
    """A save with all its keys, redacted, without what cannot be seen, and not too long."""
    check_name(environment)
    save = {
        "id": new_id(at),
        "at": rfc3339(at),
        "environment": environment,
        "source": source,
        "tags": [excerpt(redact(_looked_at(tag)), _LONGEST_TAG) for tag in tags[:_MOST_TAGS]],
        "used": said.get("used") or 0,
        "max": said.get("max") or 0,
        **{name: said.get(name) or "" for name in _VERBATIM},
    }
    for name, most in _SAID.items():
        words = _looked_at(str(said.get(name) or ""))
        words = redact(words) if words else ""
        save[name] = in_lines(words, most) if name in _LINES else excerpt(words, most)
    return save


def _looked_at(words: str) -> str:
    """Not with the beginning of a word: half a secret is not known for one."""
    if len(words) <= _LOOKED_AT:
        return words
    whole = words[:_LOOKED_AT].rsplit(None, 1)  # [] where all of it is blank
    return whole[0] if whole else ""


def add(home: Home, saves: list[dict]) -> None:
    """Durable when it returns: however many, with one sync for each environment."""
    lines: dict[str, list[bytes]] = {}
    for save in saves:
        lines.setdefault(save["environment"], []).append(index.line(save))
    files.make_dir(_folder(home))
    for environment, those in lines.items():
        files.append_durably(_path(home, environment), b"\n".join(those))


def of(home: Home, environment: str) -> list[dict]:
    """The saves of an environment, newest last; [] where there is none."""
    return [said for raw in _tail(home, environment, _TAIL)[1] if (said := _read(raw))]


def last(home: Home, environment: str) -> dict | None:
    """The newest of them, without reading the others."""
    for most in (_LAST, _TAIL):
        is_all, lines = _tail(home, environment, most)
        newest = next((said for raw in reversed(lines) if (said := _read(raw))), None)
        if newest or is_all:
            return newest
    return None


def _tail(home: Home, environment: str, most: int) -> tuple[bool, list[bytes]]:
    """(whether that is all of it, the lines that are whole)."""
    try:
        fd = files.open_regular(_path(home, environment))
    except FileNotFoundError:
        return True, []
    try:
        start = max(0, posix.fstat(fd).st_size - most)
        return not start, posix.pread(fd, most, start).split(b"\n")[1 if start else 0 : -1]
    finally:
        posix.close(fd)


def environments(home: Home) -> list[str]:
    """Under which names something was saved. Of one that a full disk did not take, an empty file stays."""
    try:
        found = posix.listdir(_folder(home))
    except FileNotFoundError:
        return []
    names = (name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))
    return sorted(name for name in names if is_safe_name(name) and _is_used(_path(home, name)))


def _is_used(path: str) -> bool:
    try:
        return bool(posix.stat(path).st_size)
    except OSError:
        return False


def joined(home: Home) -> set[str]:
    """The checkpoints that the newest save of each environment is of: somebody may go on with them."""
    found = set()
    for environment in environments(home):
        try:
            newest = last(home, environment)
        except (OSError, BadInput):
            continue  # not a file of ours
        found.add(newest["checkpoint"] if newest else "")
    return found


def _read(raw: bytes) -> dict | None:
    said = index.checked(raw)
    whole = said is not None and all(type(said.get(name)) is _KINDS.get(name, str) for name in _NAMES)
    return said if whole else None


def _folder(home: Home) -> str:
    return home.root + "/environments"


def _path(home: Home, environment: str) -> str:
    check_name(environment)
    return f"{_folder(home)}/{environment}{_SUFFIX}"
