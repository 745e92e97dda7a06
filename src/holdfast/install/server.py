"""The MCP server among those the client starts for this user: `mcpServers` of its own `.claude.json`.

That file is the client's memory of itself, which it rewrites at will, so the client is asked to do it
(`claude mcp add`, `remove`). Where there is none on the PATH, the file is edited as settings are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from functools import partial
from typing import Any

from holdfast.app import Holdfast
from holdfast.disk.wiring import is_server
from holdfast.errors import BadInput, HoldfastError
from holdfast.install import record
from holdfast.install.jsonspan import Node, decode, parse, refuse
from holdfast.install.place import Place
from holdfast.install.plan import Edit, Plan, for_install, for_uninstall
from holdfast.install.settings import Launcher
from holdfast.install.settling import remove_folders, settle

NAME, SCOPE = "holdfast", "server"
_LIST = "mcpServers"
_PATIENCE_S = 60


def place(app: Holdfast) -> Place:
    """In the client's folder if that was named, else beside it."""
    home = app.environ.get("HOME") or os.path.expanduser("~")
    folder = app.client_dir if app.environ.get("CLAUDE_CONFIG_DIR") else home
    named = f"{folder}/.claude.json"
    roots = (os.path.realpath(home), os.path.realpath(folder))
    return Place(named=named, path=os.path.realpath(named), scope=SCOPE, roots=roots)


def command(launcher: Launcher) -> list[str]:
    """As this interpreter is called, not the file behind it: by its name it finds its packages."""
    return [sys.executable or launcher.python, "-I", "-S", launcher.launch, "mcp"]


def entry(launcher: Launcher) -> dict[str, Any]:
    program, *words = command(launcher)
    return {"type": "stdio", "command": program, "args": words, "env": {}}


def listed(app: Holdfast) -> Any:
    """What the client has under our name; None if nothing. BadInput for a damaged file."""
    target = place(app)
    raw = target.read()
    data = parse(decode(raw, target.path), target.path).data if raw is not None else {}
    servers = data.get(_LIST)
    return servers.get(NAME) if type(servers) is dict else None


def edit(launcher: Launcher) -> Edit:
    return Edit(partial(_wired, launcher), _unwired, _containers, _check)


def _wired(launcher: Launcher, data: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    return {**data, _LIST: {**data.get(_LIST, {}), NAME: entry(launcher)}}


def _unwired(data: dict[str, Any], created: Collection[str] | None, _: Any) -> dict[str, Any]:
    servers = data.get(_LIST)
    if type(servers) is not dict or not is_server(servers.get(NAME)):
        return data
    left = {name: server for name, server in servers.items() if name != NAME}
    result = {**data, _LIST: left}
    if not left and (created is None or _LIST in created):
        del result[_LIST]
    return result


def _containers(data: dict[str, Any]) -> set[str]:
    return {_LIST} if type(data.get(_LIST)) is dict else set()


def _check(root: Node, text: str, name: str) -> None:
    for child in root.children:
        if child.key == _LIST and type(child.node.data) is not dict:
            refuse(name, text, child.node.start, f"`{_LIST}` that is not an object")
    known = root.data.get(_LIST, {}).get(NAME)
    if known is not None and not is_server(known):
        raise BadInput(
            f"{name} has a server `{NAME}` that is not holdfast's. Nothing was changed; "
            f"remove it (claude mcp remove {NAME} --scope user) or do without --mcp"
        )


def refuse_unfit(app: Holdfast) -> None:
    """BadInput for a list that we cannot be added to."""
    target = place(app)
    raw = target.read()
    if raw is not None:
        text = decode(raw, target.path)
        _check(parse(text, target.path), text, target.path)


def who_adds(app: Holdfast, launcher: Launcher) -> str:
    """The client, or holdfast; "" where it is there already."""
    if listed(app) == entry(launcher):
        return ""
    return "the client" if _client(app) else "holdfast"


def put(app: Holdfast, launcher: Launcher) -> None:
    """Needs the lock."""
    program = _client(app)
    if program:
        if listed(app) is not None:  # the client adds no second one of a name
            _ask(app, [program, "mcp", "remove", "--scope", "user", NAME])
        _ask(app, [program, "mcp", "add", "--scope", "user", NAME, "--", *command(launcher)])
        return
    target = place(app)
    target.refuse_if_not_ours_to_edit()

    def next_plan() -> Plan:
        known = record.of(app.home, target.path)
        folders = target.missing_folders()
        return for_install(target, target.read(), known, edit(launcher), launcher, folders)

    settle(app, target, next_plan)


def take_out(app: Holdfast, launcher: Launcher) -> None:
    """What holdfast wrote it takes out itself, to the byte; else the client is asked. Needs the lock."""
    target = place(app)
    known = record.of(app.home, target.path)
    program = _client(app)
    if not known and not left(app):
        return
    if not known and program:
        _ask(app, [program, "mcp", "remove", "--scope", "user", NAME])
        return

    def next_plan() -> Plan:
        return for_uninstall(target, target.read(), record.of(app.home, target.path), edit(launcher))

    settle(app, target, next_plan)
    remove_folders(known.created_dirs if known else [])


def _client(app: Holdfast) -> str:
    """The client on the PATH; "" if there is none."""
    return shutil.which("claude", path=app.environ.get("PATH", "")) or ""


def _ask(app: Holdfast, words: list[str]) -> None:
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    what = " ".join(words[1:4])
    try:
        done = subprocess.run(  # noqa: S603
            words,
            env={**app.environ, **quiet},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise HoldfastError(
            f"`{words[0]} {what}` did not end within {_PATIENCE_S} s; try it by hand"
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().split("\n")[-1][:300]
        raise HoldfastError(f"`{words[0]} {what}` failed: {said or done.returncode}. Try it by hand")


def left(app: Holdfast) -> list[str]:
    """Where the client's list still names us; nowhere, if its file cannot be read: nothing is taken out of
    such a one."""
    try:
        known = listed(app)
    except (BadInput, OSError):
        return []
    return [f"{place(app).path}: {_LIST}.{NAME}"] if is_server(known) else []
