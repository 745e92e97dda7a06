"""The client's own settings that decide when it compacts, and which instructions it reads.

Read when a session begins, because the client reads them then too: a change in mid-session has no
effect until it is restarted.
"""

import posix

from holdfast.core.jsontext import UNREADABLE, load, text
from holdfast.core.seen import numbers
from holdfast.disk import files
from holdfast.errors import BadInput

_LARGEST = 4 << 20
_AUTO_RANGE = (100_000, 1_000_000)
_MOST_MODELS, _MOST_TASKS = 16, 64
_LONGEST_SLUG = 200
#: Where an organization's settings are: they stand above all others.
MANAGED = "/etc/claude-code"
#: What the client's option `instructionFiles` may say. By default AGENTS.md is read where there is no
#: CLAUDE.md, from `_AGENTS_FROM` on (to 2.1.280 behind a switch of the server's).
ONLY_CLAUDE, EITHER, BOTH, ONLY_MANAGED = (
    *("claude-md", "claude-md-or-agents-md", "claude-md-and-agents-md"),
    "managed-only",
)
_AGENTS_FROM = (2, 1, 277)
#: Ids of the client's own plugin that reads AGENTS.md, and what its option was called first.
_AGENTS_PLUGIN = ("agents-md", "agents-md@builtin", "cc-plugin-agents-md", "cc-plugin-agents-md@builtin")
_SINCE_RENAMED = {"none": ONLY_MANAGED, "claude": ONLY_CLAUDE, "agents-fallback": EITHER, "both": BOTH}


def settings(environ: dict[str, str], client_dir: str, cwd: str) -> dict:
    """{auto_window, auto_window_from, model_windows, percent, no_1m, compaction_off, instructions}, those
    set."""
    found: dict = {}
    user, managed = _layer(client_dir + "/settings.json"), _layer(MANAGED + "/managed-settings.json")
    layers = [user]
    if cwd:
        layers.append(_layer(cwd + "/.claude/settings.json"))
        layers.append(_layer(cwd + "/.claude/settings.local.json"))
    layers.append(managed)
    for layer in layers:
        _take(found, layer)
    if any(_is_plugin_off(layer) for layer in layers):
        found["instructions"] = ONLY_CLAUDE
    else:  # a project may not choose
        _take_instructions(found, user)
        _take_instructions(found, managed)
    auto = _number(environ.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", ""))
    if auto > 0:  # seen: the client takes less than its least for its least
        found["auto_window"] = int(min(max(auto, _AUTO_RANGE[0]), _AUTO_RANGE[1]))
        found["auto_window_from"] = "environment"
    percent = _number(environ.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", ""))
    if 0 < percent <= 100:
        found["percent"] = percent
    if _is_on(environ.get("CLAUDE_CODE_DISABLE_1M_CONTEXT")):
        found["no_1m"] = True
    if _is_on(environ.get("DISABLE_AUTO_COMPACT")) or _is_on(environ.get("DISABLE_COMPACT")):
        found["compaction_off"] = True
    return found


def _layer(path: str) -> dict:
    """One JSON file of the client's; one that is missing or cannot be read says nothing. The client
    itself goes on without it, and it is not ours to judge."""
    try:
        value = load(files.read(path, _LARGEST).decode("utf-8", "replace"))
    except (OSError, BadInput, *UNREADABLE):
        return {}
    return value if type(value) is dict else {}


def _take(found: dict, layer: dict) -> None:
    auto = _auto_window(layer)
    if auto:
        found["auto_window"], found["auto_window_from"] = auto, "settings"
    of_models = layer.get("modelSettings")
    for model, of_model in of_models.items() if type(of_models) is dict else ():
        windows = found.setdefault("model_windows", {})
        auto = _auto_window(of_model)
        if auto and len(windows) < _MOST_MODELS:
            windows[model[:128]] = auto
    if layer.get("autoCompactEnabled") is False:
        found["compaction_off"] = True
    elif layer.get("autoCompactEnabled") is True:
        found.pop("compaction_off", None)


def _take_instructions(found: dict, layer: dict) -> None:
    plugins = layer.get("pluginConfigs")
    if type(plugins) is not dict:
        return
    for plugin in _AGENTS_PLUGIN:
        of_plugin = plugins.get(plugin)
        options = of_plugin.get("options") if type(of_plugin) is dict else None
        if type(options) is not dict:
            continue
        chosen = text(options, "instructionFiles")
        if chosen in ("", EITHER):
            chosen = _SINCE_RENAMED.get(text(options, "projectInstructions"), chosen)
        if chosen in (ONLY_CLAUDE, EITHER, BOTH, ONLY_MANAGED):
            found["instructions"] = chosen


def _is_plugin_off(layer: dict) -> bool:
    enabled = layer.get("enabledPlugins")
    return type(enabled) is dict and any(enabled.get(plugin) is False for plugin in _AGENTS_PLUGIN)


def instruction_files(found: dict, version: str) -> str:
    """Which files of instructions a client of this version reads ("": one of today), given its settings."""
    client = numbers(version)
    if client and client < _AGENTS_FROM:
        return ONLY_CLAUDE
    chosen: str = found.get("instructions", EITHER)
    return chosen


def _auto_window(layer: object) -> int:
    auto = layer.get("autoCompactWindow") if type(layer) is dict else None
    return auto if type(auto) is int and _AUTO_RANGE[0] <= auto <= _AUTO_RANGE[1] else 0


def _number(text: str) -> float:
    """As the client reads it: 150000, 150000.5 and 150k are numbers; 0 for what is none."""
    text = text.strip().lower()
    times = 1000 if text.endswith("k") else 1
    digits = text.removesuffix("k")
    if not (digits.isascii() and digits.replace(".", "", 1).isdecimal() and len(digits) < 16):
        return 0
    return float(digits) * times


def _is_on(text: str | None) -> bool:
    return (text or "").lower() in ("1", "true", "yes", "on")


def tasks(client_dir: str, session: str) -> dict[str, tuple[str, str]]:
    """id -> (status, subject) of the tasks the client itself keeps for a session, in files of its own."""
    folder = f"{client_dir}/tasks/{session}"
    found = {}
    for name in _list(folder)[:_MOST_TASKS]:
        task = _layer(f"{folder}/{name}") if name.endswith(".json") else {}
        status = text(task, "status")
        if status and len(status) <= 32 and len(name) <= 64:
            found[name.removesuffix(".json")] = status, text(task, "subject")
    return found


def slug(path: str) -> str:
    """A folder's name among the client's projects: what is no letter and no digit is a dash. One that would
    be too long ends in the client's hash of it."""
    codes = list(path.encode()) if path.isascii() else _units(path)
    name = "".join(chr(code) if code < 128 and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= _LONGEST_SLUG:
        return name
    number = 0
    for code in codes:
        number = (number * 31 + code) & 0xFFFFFFFF
    number = abs(number - (number >> 31 << 32))
    digits = ""
    while number:
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36] + digits
        number //= 36
    return f"{name[:_LONGEST_SLUG]}-{digits or '0'}"


def _units(path: str) -> list[int]:
    """As the client counts characters. Only for what is not ASCII: the codec has to be looked for."""
    units = path.encode("utf-16-le", "surrogatepass")
    return [low | high << 8 for low, high in zip(units[::2], units[1::2], strict=True)]


def transcripts(client_dir: str) -> list[tuple[str, float, int]]:
    """(path, time of the last change, size) of every session of this user."""
    found = []
    for folder in _list(client_dir + "/projects"):
        for name in _list(f"{client_dir}/projects/{folder}"):
            if name.endswith(".jsonl"):
                path = f"{client_dir}/projects/{folder}/{name}"
                try:
                    state = posix.stat(path)
                except OSError:
                    continue  # gone since it was listed
                found.append((path, state.st_mtime, state.st_size))
    return found


def transcript(client_dir: str, session: str) -> str:
    """Where a session's transcript is, or ""."""
    wanted = f"/{session}.jsonl"
    return next((path for path, _, _ in transcripts(client_dir) if path.endswith(wanted)), "")


def _list(folder: str) -> list[str]:
    try:
        return sorted(posix.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
