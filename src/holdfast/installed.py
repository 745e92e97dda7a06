"""Which commands a person can type here, so that no message names one that does not exist.

Loaded only when something is said.
"""

import posix
import sys

from holdfast.app import Holdfast
from holdfast.disk import files

NAME = "holdfast"
#: As the plugin and `install` name them, and the client's own, which is always there.
SAVE, LOAD, REPORT = "/holdfast:save", "/holdfast:load", "/holdfast:report"
COMPACT = "/compact"
_PLACE = "/commands/holdfast/save.md"
_DEFAULT_PATH = "/bin:/usr/bin"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")


def save_command(app: Holdfast, project: str = "") -> str:
    """What saves this session now: the slash command, else `holdfast ss`, else the client's own way out."""
    if has_slash_commands(app, project):
        return SAVE
    shell = shell_command(app)
    return f"{shell} ss" if shell else COMPACT


def has_slash_commands(app: Holdfast, project: str = "") -> bool:
    """Whether the client that runs this hook has /holdfast:save and the others."""
    if app.in_hook and sys.argv[1:2] == ["plugin"]:
        return True
    folders = [app.client_dir, *([project + "/.claude"] if project else [])]
    try:
        return any(files.is_there(folder + _PLACE) for folder in folders)
    except (OSError, ValueError):
        return False


def shell_command(app: Holdfast) -> str:
    """How `holdfast` is started in a shell: by its name where it is on the PATH, else by its whole path;
    "" where there is only the plugin."""
    path = app.environ.get("PATH") or _DEFAULT_PATH
    if any(_is_program(f"{folder}/{NAME}") for folder in path.split(":") if folder):
        return NAME
    return next((_quoted(place) for place in _places() if _is_program(place)), "")


def resume_command(app: Holdfast, environment: str) -> str:
    """How a person goes on with what was saved for an environment."""
    return f"{shell_command(app) or NAME} rs {environment}"


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


def _is_folder(path: str) -> bool:
    return posix.stat(path).st_mode & 0o170000 == 0o040000


def _quoted(path: str) -> str:
    return path if _PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"
