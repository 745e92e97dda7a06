"""Whether holdfast itself is well: what works, what is degraded, why, and what to do about it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import holdfast
from holdfast import bundle, bundling
from holdfast.app import Holdfast
from holdfast.breadcrumb import Vault, vault_path
from holdfast.catchup import progress
from holdfast.clock import now, rfc3339
from holdfast.core import jsontext
from holdfast.core.state import State
from holdfast.disk import index, sessions, trail
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.extras import extra_command

_DAY_MS = 24 * 3600 * 1000
_LEAST_FREE = 64 << 20
_SAVE_FIX = "free space, or make the folder writable; the next hook tries again"


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    what: str
    fix: str = ""


@dataclass(frozen=True)
class Status:
    version: str
    home: str
    python: str
    sessions: int
    last_event: str
    ok: bool
    checks: list[Check]


def status(app: Holdfast) -> Status:
    """What works, what is degraded and why."""
    checks = [
        _home(app),
        _free(app),
        _launcher(),
        _json(),
        _config(app),
        *_vault(app),
        *readable(app, _store),
        *readable(app, _outbox),
        *readable(app, _sessions),
        *readable(app, _checkpoints),
        *readable(app, _memory),
        *readable(app, _trail),
    ]
    states = _names(app)
    return Status(
        version=holdfast.__version__,
        home=app.home.root,
        python=f"{sys.version.split()[0]} ({os.path.realpath(sys.executable)})",
        sessions=len(states),
        last_event=_last_event(app, states),
        ok=all(check.ok for check in checks),
        checks=checks,
    )


def _names(app: Holdfast) -> list[str]:
    try:
        return sessions.names(app.home)
    except OSError:
        return []  # said by the checks


def _home(app: Holdfast) -> Check:
    """Tried, not guessed: a full or read-only disk shows only when written to."""
    root = app.home.root
    try:
        if not os.path.exists(root):
            with tempfile.TemporaryDirectory(prefix=".holdfast-", dir=_existing(root)):
                return Check("home", True, f"{root} will be made by the first hook")
        with tempfile.NamedTemporaryFile(dir=root) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
    except OSError as problem:
        return Check(
            "home",
            False,
            f"{root} cannot be written: {problem.strerror}. Hooks go on, but nothing is remembered",
            f"free space, or make {root} writable (it belongs to you, 0700)",
        )
    return Check("home", True, f"{root} can be written")


def _free(app: Holdfast) -> Check:
    free = shutil.disk_usage(_existing(app.home.root)).free
    if free < _LEAST_FREE:
        what = f"only {free >> 20} MB left on the disk of {app.home.root}"
        return Check("disk", False, what, "free some space")
    return Check("disk", True, f"{free >> 20:,} MB free")


def _existing(path: str) -> str:
    """It, or the nearest folder above it that is there."""
    place = os.path.abspath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return place


def _launcher() -> Check:
    package = os.path.dirname(os.path.realpath(holdfast.__file__))
    missing = [stem for stem in bundling.HOT if not os.path.exists(f"{package}/{stem}.py")]
    if missing:
        what = f"the installation lacks {', '.join(missing)}: hooks do nothing"
        return Check("hooks", False, what, "install holdfast again")
    cache = f"{package}/__pycache__"
    place = cache if os.path.exists(cache) else package
    if not os.access(place, os.W_OK) and not os.path.exists(bundle.path(package)):
        what = f"{cache} cannot be written: every hook imports two dozen modules anew"
        return Check("hooks", False, what, "run one hook as the owner of the installation")
    return Check("hooks", True, f"run as {os.path.realpath(sys.executable)} -I -S {package}/launch.py")


def _json() -> Check:
    if jsontext.NATIVE:
        return Check("json", True, "the interpreter's C scanner")
    what = "this interpreter has no usable C scanner: every hook costs one interpreter start more"
    return Check("json", False, what, "use CPython 3.11 to 3.13")


def _config(app: Holdfast) -> Check:
    if app.trouble:
        return Check(
            "config", False, app.trouble, "mend it; `holdfast config check` says whether all is right"
        )
    if app.compiled.is_stale:
        what = "what hooks read of it cannot be written: they go on with what it said before"
        return Check("config", False, f"{app.home.config}: {what}", "free space, or make home writable")
    config = app.config
    layers = {"file": config.file, "environment": config.environment, "flags": config.flags}
    given = [f"{len(layer)} set by the {name}" for name, layer in layers.items() if layer]
    return Check("config", True, ", ".join(given) or f"defaults; {app.home.config} would set others")


def _vault(app: Holdfast) -> list[Check]:
    """Looked at, not written to: it is somebody else's."""
    if not app.config["vault.path"]:
        return []
    root = vault_path(app)
    fix = "set vault.path to the vault's folder, or unset it"
    try:
        place = Vault(root).place(now())
    except (OSError, HoldfastError) as problem:
        return [Check("vault", False, f"no line is left in a daily note: {problem}", fix)]
    if not os.access(root, os.W_OK):
        return [Check("vault", False, f"no line is left in a daily note: {root} is read-only", fix)]
    return [Check("vault", True, f"sessions that end leave a line in {root}/{'/'.join(place)}")]


def _store(app: Holdfast) -> list[Check]:
    """A team's is asked, within a few seconds; this home's is there once somebody has added a task."""
    if not app.config["store.url"]:
        return _own_store(app) if os.path.lexists(app.home.store) else []
    try:
        from holdfast.ops.team import status as asked  # which loads a database's driver

        found = asked(app)
    except (HoldfastError, ModuleNotFoundError) as problem:
        return [Check("store", False, f"tasks cannot be shared: {problem}", "mend store.url, or unset it")]
    fix = "" if found.ok else "tasks wait until it answers; all else goes on without it"
    return [Check("store", found.ok, found.what, fix)]


def _own_store(app: Holdfast) -> list[Check]:
    """Looked at, not brought up: an empty one, and one of an older holdfast, stay as they are."""
    try:
        from holdfast.store.database import look  # which loads much

        look(app)
    except ModuleNotFoundError as problem:
        what, fix = f"that needs the extra `tasks` ({problem})", extra_command("tasks")
    except HoldfastError as problem:
        what, fix = str(problem), f"see {app.home.store}"
    else:
        return [Check("store", True, "tasks can be added and claimed")]
    return [Check("store", False, f"no task can be added or claimed: {what}", fix)]


def _outbox(app: Holdfast) -> list[Check]:
    """What waits for the team's store, since when and why; asked of files alone."""
    if not os.path.isdir(app.home.outbox):
        return []
    from holdfast.team import standing

    found = standing.standing(app)
    return [Check("team", found.ok, str(found), found.fix)]


def readable(app: Holdfast, checks: Callable[[Holdfast], Iterable[Check]]) -> list[Check]:
    """What cannot be looked at is itself a finding."""
    try:
        return list(checks(app))
    except BadInput as problem:  # something else where a file should be
        return [Check("files", False, str(problem), "see what put it there; holdfast checkpoint repair")]
    except OSError as problem:
        what = f"{problem.filename} cannot be read: {problem.strerror}"
        return [Check("files", False, what, "make it yours and readable again, or remove it")]


def _sessions(app: Holdfast) -> list[Check]:
    found = []
    for name in sessions.names(app.home):
        folder = app.home.session(name)
        aside = [entry for entry in os.listdir(folder) if ".damaged-" in entry]
        if aside:
            what = f"session {name}: {len(aside)} damaged file(s) set aside, the newest {max(aside)}"
            found.append(Check("state", False, what, f"look at them in {folder}, then remove them"))
        try:
            state = sessions.peek(app.home, name)
        except Damaged as problem:
            found.append(Check("state", False, str(problem), "the session's next hook rebuilds it"))
            continue
        found += [_owed(name, agent, owing) for agent, owing in _owing(app, name, state)]
        found += [Check("transcript", True, what) for what in _catching_up(app, name, state)]
    return found or [Check("state", True, "every session's state can be read")]


def _catching_up(app: Holdfast, name: str, state: State | None) -> Iterator[str]:
    """How far the transcripts of a session and its agents have been read that hooks came to late."""
    folder = app.home.session(name) + "/agents"
    told = [(f"session {name}", state)]
    for agent in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with suppress(Damaged, BadInput):
            told.append((f"agent {agent} of session {name}", sessions.peek(app.home, name, agent)))
    for whose, one in told:
        how = progress(app, one) if one else ""
        if how:
            yield f"{whose} is being caught up: {how}"


def _owing(app: Holdfast, name: str, state: State | None) -> Iterator[tuple[str, dict]]:
    """(agent, what is owed) of a session and its agents."""
    if state and state.heard.owed and not index.find(app.home, state.heard.owed["uid"]):
        yield "", state.heard.owed
    agents = app.home.session(name) + "/agents"
    for agent in os.listdir(agents) if os.path.isdir(agents) else ():
        try:
            theirs = sessions.peek(app.home, name, agent)
        except (Damaged, BadInput):
            continue
        if theirs and theirs.heard.owed and not index.find(app.home, theirs.heard.owed["uid"]):
            yield agent, theirs.heard.owed


def _owed(name: str, agent: str, owed: dict) -> Check:
    whose = f"session {name}{', agent ' + agent if agent else ''}"
    why = owed.get("what", "its hook was killed or ran out of time")
    what = f"{whose}: a checkpoint is owed ({owed['why']}): {why}"
    return Check("checkpoint", False, what, _SAVE_FIX)


def _checkpoints(app: Holdfast) -> list[Check]:
    """Only what costs nothing to know; `holdfast checkpoint check` reads every file."""
    listed = index.load_all(app.home)
    if listed.damaged:
        what = f"{listed.damaged} lines of {app.home.index} cannot be read"
        return [Check("checkpoints", False, what, "holdfast checkpoint repair")]
    return [Check("checkpoints", True, f"{len(listed.entries):,} in the index")]


def _memory(app: Holdfast) -> list[Check]:
    from holdfast.memory.standing import KEYWORD_ONLY, standing  # with sqlite3

    found = standing(app)
    if found.trouble:
        return [Check("memory", False, found.trouble, "holdfast memory rebuild")]
    if found.aside:
        what = f"a damaged index was set aside: {found.aside[-1]}"
        return [Check("memory", False, what, "holdfast memory rebuild, then remove that file")]
    if not found.bytes:  # nobody has asked it anything, so it lacks nothing
        return [Check("memory", True, f"nothing kept yet; {found.mode}")]
    kept = f"{found.counts.items:,} items, {found.bytes >> 20:,} MB"
    waits = f"; {found.waiting:,} bytes of notes wait" if found.waiting else ""
    is_whole = not found.mode.startswith(KEYWORD_ONLY) or app.config["memory.embedder"] == "none"
    fix = "" if is_whole else f"{extra_command('memory')}, or: holdfast config set memory.embedder none"
    return [Check("memory", is_whole, f"{kept}; {found.mode}{waits}", fix)]


def _trail(app: Holdfast) -> list[Check]:
    """Problems hooks met in the last day, each kind once."""
    since = rfc3339(now() - _DAY_MS)
    kinds: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], str] = {}
    trouble: dict[tuple[str, str], tuple[str, str]] = {}
    for note in trail.recent(app.home):
        event, what = str(note.get("event", "")), str(note.get("what", ""))
        if not event.startswith("degraded.") or str(note.get("at", "")) < since:
            continue
        if event == "degraded.config":
            continue  # the check of the settings says whether it is still so
        if event == "degraded.session":  # replaces what was said of this session before
            whose = (event, str(note.get("session")) + str(note.get("agent")))
            kinds.pop(trouble.pop(whose, ("", "")), None)
            trouble[whose] = (event, what)
        if what:
            kinds[event, what] += 1
            last[event, what] = str(note["at"])
    if not kinds:
        return [Check("trail", True, "no hook met a problem in the last 24 hours")]
    return [
        Check("trail", False, f"{times} × {what} (last {last[event, what]})", f"see {app.home.trail}")
        for (event, what), times in kinds.most_common(8)
    ]


def _last_event(app: Holdfast, names: list[str]) -> str:
    newest = 0
    for name in names:
        try:
            state = sessions.peek(app.home, name)
        except (Damaged, OSError):
            continue
        newest = max(newest, state.heard.last_at if state else 0)
    return rfc3339(newest) if newest else ""
