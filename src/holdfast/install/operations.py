"""`install` and `uninstall`: the client's settings edited, in an order that any kill survives.

    install:    lock → read → plan → back up → record → settings → commands → snippet → server
    uninstall:  lock → read → plan → server → snippet → commands → back up → settings → forget the record

The settings change in one step and only if they still hold what was read; otherwise all is done over.
Killed anywhere, they hold the old text or the new one, and either command can be run again.
"""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import dataclass
from functools import partial

import holdfast
from holdfast.app import Holdfast
from holdfast.errors import BadInput
from holdfast.install import commands, githooks, leftovers, place, plan, record, server, settings
from holdfast.install import snippet as snippets
from holdfast.install.githooks import Hooked
from holdfast.install.place import speaking_of
from holdfast.install.plan import Edit, Plan
from holdfast.install.settings import EVENTS, Launcher
from holdfast.install.settling import remove_folders, settle, temporary
from holdfast.ops.config import compile_now


@dataclass(frozen=True)
class Installed:
    settings: str
    scope: str
    changed: bool
    dry_run: bool
    events: list[str]
    statusline: str
    commands: list[str]  # files that were, or would be, written
    replaced: list[str]  # those of them that were there already
    left_alone: list[str]  # what stands in the place of such a file and is not ours
    snippet: str  # the CLAUDE.md that was, or would be, written
    server: str  # who added, or would add, the MCP server: the client, holdfast; "": nobody
    backup: str
    diff: str

    def __str__(self) -> str:
        return "\n".join([*self._done(), *self._undo()])

    def _done(self) -> list[str]:
        alone = [f"left alone, because it is not holdfast's: {path}" for path in self.left_alone]
        if not self.changed:
            what = "nothing would change" if self.dry_run else "nothing to do"
            return [f"{self.settings}: {what}, holdfast is wired", *alone]
        if self.dry_run:
            files = [
                f"{'changed' if path in self.replaced else 'new'} file {path}" for path in self.commands
            ]
            lines = [f"lines at the end of {self.snippet}"] if self.snippet else []
            added = [f"MCP server `{server.NAME}`, added by {self.server}"] if self.server else []
            return [*filter(None, [self.diff]), *files, *added, *lines, *alone]
        lines = [f"wired {len(self.events)} hooks in {self.settings}; statusline: {self.statusline}"]
        if self.commands:
            lines.append("commands: /holdfast:save, /holdfast:load, /holdfast:report, and a skill")
        if self.snippet:
            lines.append(f"what the model should know of it: at the end of {self.snippet}")
        if self.server:
            lines.append(f"MCP server `{server.NAME}`, added by {self.server}: for sessions that begin now")
        return lines + alone

    def _undo(self) -> list[str]:
        if self.dry_run or not self.changed:
            return []
        before = [f"as it was: {self.backup}"] if self.backup else []
        return [*before, "undo with: holdfast uninstall" + _flag(self.scope)]


@dataclass(frozen=True)
class Uninstalled:
    settings: str
    scope: str
    outcome: str
    home: str  # "": it was removed, or was not there
    verified: list[str] | None  # the settings files that were looked through
    named: list[str]  # where in them the user's own words name holdfast, a permission for one

    def __str__(self) -> str:
        lines = [f"{self.settings}: {self.outcome}"]
        if self.home:
            lines.append(f"kept: {self.home} (remove it with: holdfast uninstall --purge)")
        if self.verified is not None:
            lines.append(f"left of holdfast in {' '.join(self.verified) or 'any settings'}: nothing")
        lines += [f"yours, and without effect now: {where}" for where in self.named]
        return "\n".join(lines)


def install(
    app: Holdfast,
    folder: str | None = None,
    *,
    project: bool = False,
    dry_run: bool = False,
    statusline: bool = True,
    snippet: bool = False,
    mcp: bool = False,
    git: bool = False,
) -> Installed | Hooked:
    """Wire holdfast into the client's settings, or into a repository of git.

    Parameters
    ----------
    folder
        With --git: of the repository. Without it: this one.
    project
        The settings of the project in this folder, not your own.
    dry_run
        Show what would change, and change nothing.
    statusline
        Also the statusline; one that is there is kept and shown with ours.
    snippet
        Also some lines in the CLAUDE.md beside the settings: what the model should know of holdfast.
    mcp
        Also the MCP server, for all your projects: `claude mcp add`, where there is a client to ask.
    git
        Not the client's settings but git's post-commit hook: commits become breakpoints.
    """
    if git:
        return githooks.install(app, folder or os.getcwd(), _launcher(), dry_run=dry_run)
    _refuse_folder(folder)
    if mcp and project:
        raise BadInput("--mcp adds the server for all your projects: run it without --project")
    target = place.find(app, project)
    launcher = _launcher()
    edit = _edit(launcher, statusline)
    memory, lines = snippets.beside(target), snippets.text_for(app)
    with speaking_of(target.path):
        missing = target.missing_folders()  # before our home is made, which may be in one of them

        def next_plan() -> Plan:
            known = record.of(app.home, target.path)
            folders = missing + commands.missing_folders(target.client_folder)
            return plan.for_install(target, target.read(), known, edit, launcher, folders)

        target.refuse_if_not_ours_to_edit()
        first = next_plan()  # what is wrong with the file shows before anything is touched
        todo = commands.to_write(target.client_folder, launcher)
        foreign = commands.foreign(target.client_folder)
        replaced = [path for path in todo if os.path.lexists(path)]
        raw = memory.read() if snippet else None
        adds = snippet and snippets.added(raw, lines) != raw
        if adds:
            memory.refuse_if_not_ours_to_edit()
        if mcp:
            server.refuse_unfit(app)
        adder = server.who_adds(app, launcher) if mcp else ""
        if dry_run:
            told = memory.path if adds else ""
            return _installed(first, "", list(todo), replaced, foreign, told, adder, dry_run=True)
        with record.locked(app.home):
            done = settle(app, target, next_plan)
            known = record.of(app.home, target.path)
            todo = commands.to_write(target.client_folder, launcher)
            replaced = [path for path in todo if os.path.lexists(path)]
            commands.put(todo)
            adds = snippet and snippets.settle(memory, temporary(app, memory), lines)
            if adder:
                server.put(app, launcher)
        compile_now(app)  # so that hooks know an interpreter that can
    backup, told = known.backup if known else "", memory.path if adds else ""
    return _installed(done, backup, list(todo), replaced, foreign, told, adder, dry_run=False)


def uninstall(
    app: Holdfast,
    folder: str | None = None,
    *,
    project: bool = False,
    verify: bool = False,
    purge: bool = False,
    git: bool = False,
) -> Uninstalled | Hooked:
    """Take holdfast out of the client's settings again, to the byte, or out of a repository of git.

    Parameters
    ----------
    folder
        With --git: of the repository. Without it: this one.
    project
        The settings of the project in this folder, not your own.
    verify
        Then look through all settings for anything of holdfast, and fail if there is.
    purge
        Also remove holdfast's home: all that it remembers.
    git
        Not the client's settings but git's post-commit hook.
    """
    if git:
        return githooks.uninstall(app, folder or os.getcwd())
    _refuse_folder(folder)
    target = place.find(app, project)
    with speaking_of(target.path):
        if purge:
            leftovers.refuse_purge(app, target.path)
        edit = _edit(_launcher(), statusline=True)

        def next_plan() -> Plan:
            return plan.for_uninstall(target, target.read(), record.of(app.home, target.path), edit)

        done = next_plan()
        if done.after != done.before:
            target.refuse_if_not_ours_to_edit()
        known = record.of(app.home, target.path)
        placed = commands.ours(target.client_folder) or (not project and server.left(app))
        memory = snippets.beside(target)
        raw = memory.read()
        takes = snippets.removed(raw) != raw
        if takes:
            memory.refuse_if_not_ours_to_edit()
        if (
            known
            or placed
            or takes
            or done.after != done.before
            or (purge and os.path.isdir(app.home.root))
        ):
            with record.locked(app.home):
                known = record.of(app.home, target.path)
                if not project:
                    server.take_out(app, _launcher())
                snippets.settle(memory, temporary(app, memory), None)
                commands.remove(target.client_folder)
                remove_folders(known.created_dirs if known else [])  # while the record still names them
                done = settle(app, target, next_plan)
                if purge:
                    leftovers.remove_home(app.home.root)
                remove_folders(known.created_dirs if known else [])
        verified, named = leftovers.verify(app) if verify else (None, [])
    home = app.home.root if os.path.isdir(app.home.root) else ""
    return Uninstalled(target.path, target.scope, done.outcome, home, verified, named)


def _refuse_folder(folder: str | None) -> None:
    if folder is not None:
        raise BadInput(f"{folder[:200]!r}: a folder is named only with --git")


def _edit(launcher: Launcher, statusline: bool) -> Edit:
    wired = partial(settings.wired, launcher=launcher, statusline=statusline)
    return Edit(wired, settings.unwired, settings.containers, settings.check)


def _launcher() -> Launcher:
    package = os.path.dirname(os.path.realpath(holdfast.__file__))
    return Launcher(os.path.realpath(sys.executable), package + "/launch.py")


def _installed(
    done: Plan,
    backup: str,
    written: list[str],
    replaced: list[str],
    foreign: list[str],
    snippet: str,
    server: str,
    *,
    dry_run: bool,
) -> Installed:
    wiring = done.wiring
    assert wiring  # every plan for install has one
    return Installed(
        settings=wiring.settings,
        scope=wiring.scope,
        changed=done.after != done.before or bool(written or snippet or server),
        dry_run=dry_run,
        events=list(EVENTS),
        statusline=done.outcome,
        commands=written,
        replaced=replaced,
        left_alone=foreign,
        snippet=snippet,
        server=server,
        backup=backup,
        diff=_diff(done, wiring.settings) if dry_run else "",
    )


def _diff(todo: Plan, path: str) -> str:
    before, after = (
        [line.removesuffix("\r") for line in raw.decode().removesuffix("\n").split("\n")] if raw else []
        for raw in (todo.before, todo.after)
    )
    name = path if todo.before is not None else "/dev/null"
    return "\n".join(difflib.unified_diff(before, after, name, path, lineterm=""))


def _flag(scope: str) -> str:
    return " --project" if scope == "project" else ""
