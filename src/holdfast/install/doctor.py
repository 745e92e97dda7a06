"""`doctor`: whether holdfast works here, tried and not guessed, and what to do about what does not."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.app import Holdfast
from holdfast.disk import sessions
from holdfast.disk.wiring import is_server
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.install import githooks, place, record, server, settings
from holdfast.install.jsonspan import decode, parse
from holdfast.install.parts import PARTS
from holdfast.install.settings import EVENTS, is_ours
from holdfast.memory import swap
from holdfast.ops.upkeep import Check, readable, status

#: The client everything was tried with. Another may differ; it says so rather than fail.
TESTED = "2.1.327"
_PATIENCE_S = 10


@dataclass(frozen=True)
class Findings:
    ok: bool
    checks: list[Check]

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            lines.append(f"{'ok  ' if check.ok else 'BAD '} {check.name:10} {check.what}")
            if check.fix:
                lines.append(f"     {'':10} → {check.fix}")
        return "\n".join([*lines, "", "all is well" if self.ok else "something is wrong: see BAD above"])


def doctor(app: Holdfast) -> Findings:
    """Try everything holdfast depends on; say what is wrong and how to mend it."""
    checks = [
        *_wiring(app),
        *readable(app, _git_hooks),
        *readable(app, _compaction),
        _server(app),
        _permissions(app),
        *readable(app, _locks),
        _client(app),
        *(check for part in PARTS for check in readable(app, part)),
        *status(app).checks,
    ]
    return Findings(all(check.ok for check in checks), checks)


def _wiring(app: Holdfast) -> Iterator[Check]:
    wired = False
    # In the user's home the project's settings are the user's.
    once = {os.path.realpath(path): path for path in reversed(place.candidates(app))}
    for path in reversed(once.values()):
        try:
            data = _settings(path)
        except (BadInput, OSError) as problem:
            yield Check("settings", False, f"{path}: {problem}", f"mend {path}, or move it away")
            continue
        if data.get("disableAllHooks") is True:
            what = f"{path}: disableAllHooks is set, so that the client runs none"
            yield Check("wiring", False, what, "take it out, or do without holdfast's hooks")
        ours = list(_ours(data))
        if ours:
            wired = True
            yield from _of_settings(path, ours)
        if _has_plugin(data):
            wired = True
            yield Check("wiring", True, f"{path}: the plugin is enabled and brings the hooks")
    if not wired:
        what = "no settings of the client run holdfast's hooks"
        yield Check("wiring", False, what, "run: holdfast install")


def _settings(path: str) -> dict[str, Any]:
    """BadInput for those that the client would not take: then it does without the whole file."""
    raw = swap.current(path)
    if raw is None:
        return {}
    text = decode(raw, path)
    root = parse(text, path)
    settings.check(root, text, path)
    data: dict[str, Any] = root.data
    return data


def _git_hooks(app: Holdfast) -> Iterator[Check]:
    """Each is run as git runs it, with a home of its own."""
    try:
        hooks = record.git_hooks(app.home)
    except Damaged as damaged:
        moved = f"move {record.path(app.home)} away, then run: holdfast install"
        fix = f"{moved}; and holdfast install --git in each repository that had it"
        yield Check("record", False, str(damaged), fix)
        return
    for known in hooks:
        fix = f"run: holdfast install --git {shlex.quote(known.repository)}"
        problem = _of_git_hook(known)
        if problem:
            yield Check("git", False, f"{known.hook}: {problem}", fix)
        else:
            yield Check("git", True, f"{known.hook}: a commit is a breakpoint, and the line works")


def _of_git_hook(known: record.GitHook) -> str:
    try:
        site = githooks.find(known.repository)
        line = githooks.block_of(known.hook)
    except (HoldfastError, OSError) as problem:
        return str(problem)
    if site.hook != known.hook:
        return f"git looks for its hooks in {site.hooks} now"
    if not line:
        return "holdfast's line is not in it any more"
    if not os.access(known.hook, os.X_OK):
        return "it may not be executed, so that git does not run it"
    if not os.path.exists(known.githook):
        return f"{known.githook} is gone"
    if not os.path.exists(known.repository + "/.git"):
        return ""  # a bare one: its commits are made in working trees elsewhere
    with tempfile.TemporaryDirectory(prefix="holdfast-doctor-") as home:
        subprocess.run(  # noqa: S602  git runs it in a shell as well
            line,
            shell=True,
            cwd=known.repository,
            env=os.environ | {"HOLDFAST_HOME": home},
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return "" if list(Path(home).glob("spool/*/*.json")) else "its line ran, and spooled nothing"


def _ours(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(event, command) of each of our hooks."""
    for event, groups in data.get("hooks", {}).items():
        for group in groups:
            for hook in group["hooks"]:
                if is_ours(hook):
                    yield event, hook["command"]


def _has_plugin(data: dict[str, Any]) -> bool:
    plugins = data.get("enabledPlugins")
    enabled = plugins.items() if type(plugins) is dict else ()
    return any(name.startswith("holdfast@") and on is True for name, on in enabled)


def _compaction(app: Holdfast) -> Iterator[Check]:
    """Only the plugin's mod can start a compaction: hooks cannot."""
    wanted = [key for key in ("compaction.at", "compaction.at_breakpoint") if app.config[key]]
    if not wanted:
        return
    named = " and ".join(f"{key} ({app.config[key]})" for key in wanted)
    if any(_has_plugin(data) for path in place.candidates(app) if (data := _readable(path))):
        yield Check("compaction", True, f"{named}: the plugin is enabled and starts it")
        return
    fix = f"claude plugin install holdfast@holdfast, or: holdfast config unset {wanted[0]}"
    yield Check(
        "compaction", False, f"{named} needs the plugin, which is not enabled: nothing starts it", fix
    )


def _readable(path: str) -> dict[str, Any]:
    try:
        return _settings(path)
    except (BadInput, OSError):  # said by the wiring
        return {}


def _of_settings(path: str, ours: list[tuple[str, str]]) -> Iterator[Check]:
    events = [event for event, _ in ours]
    missing = [event for event in EVENTS if event not in events]
    if missing:
        what = f"{path}: no hook for {', '.join(missing)}"
        yield Check("wiring", False, what, "run: holdfast install")
    needless = sorted({event for event in events if event not in EVENTS})
    if needless:  # of an older version: each costs a start
        what = f"{path}: a hook of ours for {', '.join(needless)}, which nothing needs any more"
        yield Check("wiring", False, what, "run: holdfast install")
    twice = sorted({event for event in events if events.count(event) > 1})
    if twice:
        what = f"{path}: more than one hook of ours for {', '.join(twice)}"
        yield Check("wiring", False, what, "run: holdfast install")
    for command in sorted({command for _, command in ours}):
        problem = _fire(command)
        times = sum(1 for _, used in ours if used == command)
        if problem:
            yield Check("wiring", False, f"{path}: `{command}` {problem}", "run: holdfast install")
        else:
            yield Check("wiring", True, f"{path}: {times} hooks, and the command they run works")


def _fire(command: str) -> str:
    """Run the very command that is installed, with an event of its own and a home of its own."""
    words = shlex.split(command)
    program = words[words.index("exec") + 1] if "exec" in words[:-1] else words[0]
    if program.startswith("/") and not os.access(program, os.X_OK):
        return f"cannot run: {program} is gone"
    with tempfile.TemporaryDirectory(prefix="holdfast-doctor-") as home:
        event = {"session_id": "doctor", "hook_event_name": "Notification", "cwd": home}
        try:
            done = subprocess.run(  # noqa: S602  the client runs it through a shell as well
                command,
                shell=True,
                input=json.dumps(event).encode(),
                env=os.environ | {"HOLDFAST_HOME": home},
                capture_output=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"did not end within {_PATIENCE_S} s"
        if done.returncode:
            return f"ended with status {done.returncode}"
        if done.stdout or done.stderr:
            return f"printed something: {(done.stdout or done.stderr)[:80]!r}"
        if not Path(home, "sessions/doctor/state.json").exists():
            return "ran, but kept nothing: its launcher or its interpreter is not what it was"
    return ""


def _server(app: Holdfast) -> Check:
    """Started by the very command that the client starts it by, and asked for its tools."""
    mend = "run: holdfast install --mcp"
    try:
        known = server.listed(app)
    except (BadInput, OSError) as problem:
        return Check("server", False, str(problem), f"mend {server.place(app).path}, the client's own")
    if not is_server(known):
        return Check("server", True, f"the client's list has no MCP server of ours; to add it, {mend}")
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    try:
        done = subprocess.run(  # noqa: S603
            [str(known["command"]), *known["args"]],
            input=asked,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        tools = len(json.loads(done.stdout)["result"]["tools"])
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
        return Check("server", False, f"the MCP server {known['command']!r} does not answer", mend)
    return Check("server", True, f"the MCP server answers, with {tools} tools")


def _permissions(app: Holdfast) -> Check:
    home = app.home.root
    if not os.path.exists(home):
        return Check("privacy", True, f"{home} does not exist yet")
    # config.yaml is made by people, as they make files; that others cannot enter home is enough for it.
    open_to_others = [home] if stat.S_IMODE(os.stat(home).st_mode) & 0o077 else []
    for folder, _, names in os.walk(home):
        for path in [os.path.join(folder, name) for name in names]:
            with suppress(OSError):  # a hook has just renamed it; what we may not see others tell
                mode = os.lstat(path).st_mode
                # A link is open to everybody everywhere; what it leads to is what counts.
                if mode & 0o077 and not stat.S_ISLNK(mode) and path != app.home.config:
                    open_to_others.append(path)
    if open_to_others:
        what = f"others may look into {open_to_others[0]}"
        more = f" and {len(open_to_others) - 1} more" if len(open_to_others) > 1 else ""
        return Check("privacy", False, what + more, f"chmod -R go= {shlex.quote(home)}")
    return Check("privacy", True, f"{home} is yours alone")


def _locks(app: Holdfast) -> list[Check]:
    """Each lock is taken for a moment: one that cannot be had is held by a hook that hangs."""
    bad = [check for name in sessions.names(app.home) if (check := _of_lock(app, name))]
    if not bad:
        return [Check("locks", True, "every session's lock can be had")]
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return [Check("locks", False, bad[0].what + more, bad[0].fix)]


def _of_lock(app: Holdfast, name: str) -> Check | None:
    path = app.home.session(name) + "/lock"
    try:
        if _is_stuck(path):
            what = f"the lock of session {name} has been held for more than a second"
            return Check("locks", False, what, f"find who holds it: fuser {path}")
    except OSError as problem:
        fix = f"make all of it yours and writable again: {app.home.root}"
        return Check("locks", False, f"{path} cannot be opened: {problem.strerror}", fix)
    return None


def _is_stuck(path: str) -> bool:
    """This process holds no lock of its own: closing the descriptor gives up nothing else."""
    if not os.path.exists(path):
        return False
    fd = os.open(path, os.O_RDWR)
    try:
        until = time.monotonic() + 1
        while True:
            try:
                os.lockf(fd, os.F_TLOCK, 0)
            except (BlockingIOError, PermissionError):
                if time.monotonic() > until:
                    return True
                time.sleep(0.05)
            else:
                return False
    finally:
        os.close(fd)


def _client(app: Holdfast) -> Check:
    program = shutil.which("claude", path=app.environ.get("PATH"))
    if not program:
        return Check("client", True, f"no `claude` on the PATH; holdfast was tried with {TESTED}")
    try:
        told = subprocess.run(  # noqa: S603
            [program, "--version"],
            env=dict(app.environ, DISABLE_AUTOUPDATER="1"),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return Check("client", False, f"{program} cannot be run", "install the client again")
    found = re.search(r"\d+(\.\d+)+", told)
    version = found[0] if found else "an unknown version"
    if version == TESTED:
        return Check("client", True, f"{version}, the one holdfast was tried with")
    return Check(
        "client", True, f"{version}; holdfast was tried with {TESTED} and may measure less exactly"
    )
