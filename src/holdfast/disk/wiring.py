"""Whether the client's settings run our hooks already. Loaded only by the plugin's hooks, which then
stand down, so that each event is handled once."""

from holdfast.core.jsontext import UNREADABLE, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

#: What names one of our commands, wherever it stands.
MARK = "/holdfast/launch.py"
_LARGEST = 4 << 20


def covers(home: Home, cwd: str) -> bool:
    """The record says where the wiring was put; the settings say whether it is still there."""
    return any(_is_wired(wiring) for wiring in wirings(home) if _applies(wiring, cwd))


def wirings(home: Home) -> list[dict]:
    """What `holdfast install` recorded, one for each settings file; nothing if it cannot be read."""
    try:
        record = load(files.read(home.root + "/install.json", _LARGEST).decode("utf-8", "replace"))
    except (OSError, BadInput, *UNREADABLE):
        return []
    found = record.get("wirings") if type(record) is dict else None
    return [wiring for wiring in found if type(wiring) is dict] if type(found) is list else []


def _applies(wiring: dict, cwd: str) -> bool:
    if wiring.get("scope") != "project":
        return True
    project = str(wiring.get("settings", "")).partition("/.claude/")[0]
    return cwd == project or cwd.startswith(project + "/")


def _is_wired(wiring: dict) -> bool:
    path = wiring.get("settings")
    if type(path) is not str:
        return False
    try:
        return MARK.encode() in files.read(path, _LARGEST)
    except (OSError, ValueError, BadInput):
        return False
