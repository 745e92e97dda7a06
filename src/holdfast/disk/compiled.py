"""What config.yaml says, as hooks can read it: home/config.json, made of it by `holdfast config compile`.

Hooks have no library for YAML. Where the file has changed since, they go on with what it said before, and
have it compiled (`recompile`). A file that is wrong changes nothing either: what is wrong with it is kept
beside the values it said last.
"""

import posix

from holdfast.core.config import fits
from holdfast.core.jsontext import UNREADABLE, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged

HEAD = b'{"v":1,"sum":'
#: What is said with any trouble of the file, to whoever goes on in spite of it.
STILL_HOLDS = " (what it said before still holds)"
_LARGEST = 1 << 18


class Compiled:
    """`of` is the file it was made of, as `signature` tells it, and `by` the interpreter that could.
    `is_stale`: the file has changed since. `is_due`: nobody has been asked to compile that change."""

    __slots__ = ("by", "is_due", "is_stale", "of", "trouble", "values")

    def __init__(self, values: dict, trouble: str = "", of: list | None = None, by: str = "") -> None:
        self.values = values
        self.trouble = trouble
        self.of = of or []
        self.by = by
        self.is_stale = self.is_due = False


def signature(path: str) -> list[int]:
    """What changes with a file: also when it is made readable, or replaced by one with an older date."""
    state = posix.stat(path)
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]


def current(home: Home) -> Compiled:
    """What holds now."""
    try:
        changed = signature(home.config)
    except (FileNotFoundError, NotADirectoryError):  # most have none, and this is all they pay
        return Compiled({})
    except OSError as problem:
        known = _known(home)
        known.trouble = f"{home.config}: {problem.strerror}{STILL_HOLDS}"
        return known
    known = _known(home)
    fitting = {key: value for key, value in known.values.items() if fits(key, value)}
    known.is_stale = known.of != changed or fitting != known.values  # compiled by another version of us
    known.values = fitting
    if known.is_stale:
        from holdfast.disk import recompile

        known.is_due, late = recompile.look(home, changed)
        known.trouble = late or known.trouble
    return known


def _known(home: Home) -> Compiled:
    try:
        return read(home)
    except (OSError, BadInput, Damaged):  # made anew by whoever compiles
        return Compiled({})


def read(home: Home) -> Compiled:
    """To the byte what was written; anything else is Damaged."""
    from holdfast.core.seen import checksum  # most have no config.yaml

    data = files.read(home.compiled, _LARGEST)
    total, _, rest = data.removeprefix(HEAD).partition(b",")
    try:
        if not data.startswith(HEAD) or total != b"%d" % checksum(rest):
            raise ValueError("its checksum does not fit")
        said: dict = load("{" + rest.decode())  # type: ignore[assignment]
        return Compiled(said["values"], said["trouble"], said["of"], said["by"])
    except (*UNREADABLE, KeyError) as problem:
        raise Damaged(f"{home.compiled} is nothing holdfast has compiled: {problem}") from problem
