"""Where the client's settings run us, from the record of `holdfast install`.

The plugin's hooks ask whether to stand down, so that each event is handled once; the statusline asks
which one it replaced.
"""

from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import BadInput

#: What names one of our commands, wherever it stands.
MARK = "/holdfast/launch.py"
_LARGEST = 4 << 20


def covers(home: Home, project: str) -> bool:
    """Whether hooks of ours stand in settings that the client reads in `project`. The record says
    where they were put; the settings say whether they are still there."""
    return any(_is_wired(wiring) for wiring in applying(home, project))


def applying(home: Home, project: str) -> list[dict]:
    """The wirings of settings that count in `project`, its own before the user's."""
    found = [wiring for wiring in wirings(home) if wiring.get("scope") != "server"]
    own = [wiring for wiring in found if wiring.get("scope") == "project" and _folder(wiring) == project]
    return own + [wiring for wiring in found if wiring.get("scope") != "project"]


def wirings(home: Home) -> list[dict]:
    """What `holdfast install` recorded, one for each settings file; nothing if it cannot be read."""
    try:
        record = load(files.read(home.root + "/install.json", _LARGEST).decode("utf-8", "replace"))
    except (OSError, BadInput, *UNREADABLE):
        return []
    found = record.get("wirings") if type(record) is dict else None
    return [wiring for wiring in found if type(wiring) is dict] if type(found) is list else []


def _folder(wiring: dict) -> str:
    """The settings themselves may be elsewhere, at the end of a link."""
    known = wiring.get("project")
    if known and type(known) is str:
        return known
    return str(wiring.get("settings", "")).rpartition("/.claude/")[0]


def _is_wired(wiring: dict) -> bool:
    hooks = setting(wiring.get("settings"), "hooks")
    return hooks is not None and MARK in dump(hooks)


def setting(path: object, name: str) -> object:
    """One setting of a file of the client's; None if that cannot be read."""
    if type(path) is not str:
        return None
    try:
        data = load(files.read(path, _LARGEST).decode("utf-8", "replace"))
    except (OSError, BadInput, *UNREADABLE):
        return None
    return data.get(name) if type(data) is dict else None


def has_statusline(client_dir: str, project: str) -> bool:
    """Whether the statusline that the client shows in `project` is ours: the innermost settings decide."""
    own = [f"{project}/.claude/settings{local}.json" for local in (".local", "")] if project else []
    for path in (*own, client_dir + "/settings.json"):
        line = setting(path, "statusLine")
        if line:
            return MARK in dump(line)
    return False


def is_server(value: object) -> bool:
    """Whether an entry of the client's `mcpServers` runs us."""
    words = value.get("args") if type(value) is dict else None
    return type(words) is list and any(type(word) is str and word.endswith(MARK) for word in words)


def serves(environ: dict[str, str], client_dir: str) -> bool:
    """Whether the client starts our server for this user, so that the plugin's stands down."""
    home = client_dir if environ.get("CLAUDE_CONFIG_DIR") else environ.get("HOME", "")
    servers = setting(f"{home}/.claude.json", "mcpServers")
    return type(servers) is dict and is_server(servers.get("holdfast"))
