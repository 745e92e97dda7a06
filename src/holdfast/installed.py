"""Which commands a person can type here, so that no message names one that does not exist.

Loaded only when something is said.
"""

import posix
import sys

from holdfast.app import Holdfast
from holdfast.disk import files
from holdfast.errors import BadInput

NAME = "holdfast"
#: As the plugin and `install` name them, and the client's own, which is always there.
SAVE, LOAD, REPORT = "/holdfast:save", "/holdfast:load", "/holdfast:report"
COMPACT = "/compact"
_PLACE = "/commands/holdfast/save.md"
_LARGEST_SCRIPT = 1 << 16
_DEFAULT_PATH = "/bin:/usr/bin"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")


def save_command(app: Holdfast, project: str = "") -> str:
    """What saves this session now: the slash command, else `holdfast ss`, else the client's own way out."""
    if has_slash_commands(app, project):
        return SAVE
    shell = shell_command(app)
    return f"{shell} ss" if shell else COMPACT


def load_command(app: Holdfast, project: str, checkpoint: str = "") -> str:
    """What shows a checkpoint, or without one those there are; "" where nothing does."""
    if has_slash_commands(app, project):
        return f"{LOAD} {checkpoint}".rstrip()
    shell = shell_command(app)
    return f"{shell} checkpoint {f'show {checkpoint}' if checkpoint else 'list'}" if shell else ""


def says_why(app: Holdfast, project: str, words: str) -> str:
    """What tells a person of trouble: `words` in a shell, else the slash command; "" without either."""
    shell = shell_command(app)
    return f"`{shell} {words}`" if shell else REPORT if has_slash_commands(app, project) else ""


def has_slash_commands(app: Holdfast, project: str = "") -> bool:
    """Whether the client that runs this hook, or such a command, has /holdfast:save and the others."""
    if sys.argv[1:2] == ["command"] or (app.in_hook and sys.argv[1:2] == ["plugin"]):
        return True
    folders = [app.client_dir, *([project + "/.claude"] if project else [])]
    try:
        return any(files.is_there(folder + _PLACE) for folder in folders)
    except (OSError, ValueError):
        return False


def shell_command(app: Holdfast) -> str:
    """How `holdfast` is started in a shell: by its name where that is ours on the PATH, else by its whole
    path; "" where there is only the plugin. Other programs have this name, too."""
    path = app.environ.get("PATH") or _DEFAULT_PATH
    found = (f"{folder}/{NAME}" for folder in path.split(":") if folder)
    first = next(filter(_is_program, found), "")
    ours = list(filter(_is_program, _places()))
    if first and (any(_is_same(first, place) for place in ours) or _starts_us(first)):
        return NAME
    return _quoted(ours[0]) if ours else ""


def resume_command(app: Holdfast, environment: str) -> str:
    """How a person goes on with what was saved for an environment."""
    return f"{program(app)} rs {environment}"


def program(app: Holdfast) -> str:
    """`holdfast` in a shell, for those who run it somehow already."""
    return shell_command(app) or NAME


def _places() -> list[str]:
    """Where its script may be: beside this interpreter, or in the environment that this package is part of.
    Hooks run the interpreter itself, not the environment's link to it."""
    package = __file__.rpartition("/")[0]
    beside = package.rpartition("/lib/")[0]
    clone = package.removesuffix("/src/holdfast")
    found = [sys.executable.rpartition("/")[0] + f"/{NAME}"] if sys.executable else []
    found += [f"{beside}/bin/{NAME}"] if beside else []
    return found + ([f"{clone}/.venv/bin/{NAME}"] if clone != package else [])


def _is_program(path: str) -> bool:
    try:
        return posix.access(path, posix.X_OK) and not _is_folder(path)
    except (OSError, ValueError):
        return False


def _is_same(path: str, other: str) -> bool:
    """Whether they are one file, through links, too."""
    one, two = posix.stat(path), posix.stat(other)
    return (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)


def _starts_us(path: str) -> bool:
    """Whether it is a script that names the folder of this package, or its clone."""
    package = __file__.rpartition("/")[0]
    try:
        return package.removesuffix("/src/holdfast").encode() in files.read(path, _LARGEST_SCRIPT)
    except (OSError, BadInput):
        return False


def _is_folder(path: str) -> bool:
    return posix.stat(path).st_mode & 0o170000 == 0o040000


def _quoted(path: str) -> str:
    return path if _PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"
