"""A line in a repository's post-commit hook: put there, and taken out again to the byte.

It stands in a block with a mark at both ends. A hook that is a shell script gets the block right after its
first line, where no `exit` of its own comes before it. Any other is kept, whole and under its name, in a
folder beside; ours stands in its place and runs it. What a hook manager writes anew is left to it: then it
is said which line to give to whom.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace

from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.disk import files
from holdfast.errors import BadInput, HoldfastError, MissingExtra, NotFound
from holdfast.install import record
from holdfast.install.place import speaking_of
from holdfast.install.record import GitHook
from holdfast.install.settings import Launcher
from holdfast.memory import swap

NAME, KEPT = "post-commit", "before-holdfast"
_BEGIN = b"# >>> holdfast >>> a commit is a breakpoint; `holdfast uninstall --git` takes this out\n"
_END = b"# <<< holdfast <<<\n"
_SHEBANG = b"#!/bin/sh\n"
_BLOCK = re.compile(re.escape(_BEGIN[:18]) + rb"[^\n]*\n(?:[^\n]*\n)*?" + re.escape(_END))
#: A shell that reads our line as it is meant.
_SHELL = re.compile(rb"#! ?(/usr/bin/env (-S )?)?(\S*/)?(sh|bash|dash|ash|ksh|zsh)( [^\r\n]*)?\n")
_RUN_KEPT = (
    b'kept="${0%/*}/' + KEPT.encode() + b"/" + NAME.encode() + b'"\n'
    b'[ -x "$kept" ] || exit 0\n'
    b'exec "$kept" "$@"\n'
)
_PATIENCE_S = 10
_EXECUTABLE = 0o755


@dataclass(frozen=True)
class Hooked:
    repository: str
    hook: str
    outcome: str
    changed: bool
    dry_run: bool
    note: str

    def __str__(self) -> str:
        would = "would be: " if self.dry_run and self.changed else ""
        return "\n".join(filter(None, [f"{self.hook}: {would}{self.outcome}", self.note]))


@dataclass(frozen=True)
class Site:
    """Where git looks for the hooks of a repository. `repository` is its working tree, or, of a bare one,
    its own folder."""

    repository: str
    hooks: str

    @property
    def hook(self) -> str:
        return f"{self.hooks}/{NAME}"

    @property
    def kept(self) -> str:
        return f"{self.hooks}/{KEPT}/{NAME}"

    @property
    def note(self) -> str:
        if self.hooks.startswith(self.repository + "/"):
            inside = os.path.relpath(self.hooks, self.repository)
            is_tracked = not inside.startswith(".git/")
            return "the file belongs to the working tree: git will show the change" if is_tracked else ""
        return "the folder is outside this working tree: whatever else uses it runs the line, too"


def find(folder: str) -> Site:
    """NotFound where there is no repository."""
    with suppress(HoldfastError):
        folder = _asked(folder, "--show-toplevel")  # fails in a bare one
    try:
        path = _asked(folder, "--git-path", "hooks")
    except MissingExtra:
        raise
    except HoldfastError as problem:
        raise NotFound(f"{folder} is in no repository of git ({problem}); name the folder of one") from None
    repository = os.path.realpath(folder)
    return Site(repository, os.path.normpath(os.path.join(repository, path)))


def _asked(folder: str, *what: str) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", folder, "rev-parse", *what],  # noqa: S607
            env=environ,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except FileNotFoundError:
        raise MissingExtra("this needs git, which is not on the PATH: install it") from None
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise HoldfastError(f"git cannot be run: {problem}") from None
    if done.returncode:
        raise HoldfastError(done.stderr.decode("utf-8", "replace").strip()[:200])
    return os.fsdecode(done.stdout).removesuffix("\n")


def line(launcher: Launcher) -> str:
    """Data-free: nothing that a repository holds stands in it, and it never fails."""
    script, python = shlex.quote(_script(launcher)), shlex.quote(launcher.python)
    return f"[ -r {script} ] && {python} -I -S {script} >/dev/null 2>&1 </dev/null || :"


def _script(launcher: Launcher) -> str:
    return os.path.join(os.path.dirname(launcher.launch), "githook.py")


def install(app: Holdfast, folder: str, launcher: Launcher, *, dry_run: bool) -> Hooked:
    site = find(folder)
    with speaking_of(site.hook):
        _refuse_managed(site, launcher)
        if dry_run:
            after, outcome = _planned(site, launcher)
            return Hooked(site.repository, site.hook, outcome, after is not None, True, site.note)
        with record.locked(app.home):
            missing = _missing(site.hooks)
            known = record.git_hook(app.home, site.hook)
            made = GitHook(
                hook=site.hook,
                repository=site.repository,
                created_dirs=[*(known.created_dirs if known else []), *missing],
                python=launcher.python,
                githook=_script(launcher),
                at=rfc3339(now()),
            )
            if known and replace(known, at=made.at) == made:
                made = known
            record.save_git_hook(app.home, site.hook, made)
            for path in missing:
                os.mkdir(path)
            outcome, changed = _put(app, site, launcher)
    return Hooked(site.repository, site.hook, outcome, changed, False, site.note)


def uninstall(app: Holdfast, folder: str) -> Hooked:
    site = find(folder)
    with speaking_of(site.hook), record.locked(app.home):
        known = record.git_hook(app.home, site.hook)
        outcome, changed = _take_out(app, site)
        for path in reversed(known.created_dirs if known else []):
            with suppress(OSError):  # somebody else uses it by now
                os.rmdir(path)
        record.save_git_hook(app.home, site.hook, None)
    return Hooked(site.repository, site.hook, outcome, changed, False, "")


def is_in(path: str) -> bool:
    """Whether our block is in this hook."""
    with suppress(OSError, BadInput):
        return bool(_BLOCK.search(swap.current(path) or b""))
    return False


def block_of(path: str) -> str:
    """The line that is installed there, as it is run; "" if there is none."""
    found = _BLOCK.search(swap.current(path) or b"")
    lines = found[0].decode("utf-8", "replace").split("\n") if found else ["", ""]
    return lines[1]


def _planned(site: Site, launcher: Launcher) -> tuple[bytes | None, str]:
    """(what the hook is to hold, or None where it does, what that means)."""
    ours = _BEGIN + os.fsencode(line(launcher)) + b"\n"
    raw = _read(site)
    if raw is None:
        return _SHEBANG + ours + _END, "a commit is a breakpoint now"
    found = _BLOCK.search(raw)
    if found:
        chained = _RUN_KEPT if _RUN_KEPT in found[0] else b""
        after = raw[: found.start()] + ours + chained + _END + raw[found.end() :]
        if after == raw:
            return None, "a commit is a breakpoint already"
        return after, "a commit is a breakpoint, by this installation now"
    first = _SHELL.match(raw)
    if first and os.access(site.hook, os.X_OK) and not os.path.islink(site.hook):
        after = raw[: first.end()] + ours + _END + raw[first.end() :]
        return after, "a commit is a breakpoint now; what the hook did it still does"
    what = f"a commit is a breakpoint now; the hook that was there is {site.kept}, and is run by ours"
    return _SHEBANG + ours + _RUN_KEPT + _END, what


def _read(site: Site) -> bytes | None:
    if not os.path.lexists(site.hook):
        return None
    if os.path.isdir(site.hook) or not os.path.exists(site.hook):
        raise BadInput(f"{site.hook} is a folder, or a link that leads nowhere. Nothing was changed")
    if not os.path.islink(site.hook) and not os.stat(site.hook).st_mode & 0o200:
        raise BadInput(f"{site.hook} is read-only. Nothing was changed; make it writable: chmod u+w")
    return swap.current(site.hook)


def _put(app: Holdfast, site: Site, launcher: Launcher) -> tuple[str, bool]:
    after, outcome = _planned(site, launcher)
    if after is None:
        return outcome, False
    before = _read(site)
    temporary = _temporary(app, site)
    if before is not None and _RUN_KEPT in after and not _BLOCK.search(before):
        _keep(site)
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o700)
        with os.fdopen(fd, "wb") as file:
            file.write(after)
            os.fchmod(file.fileno(), _EXECUTABLE)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, site.hook)
        files.sync_dir(site.hooks)
    elif not swap.put(site.hook, before, after, temporary, _EXECUTABLE):
        raise HoldfastError(f"{site.hook} was changed by another program just now; run this again")
    return outcome, True


def _keep(site: Site) -> None:
    """The hook that is there gets a second place, under its own name. What a kill has left of one is the
    same."""
    os.makedirs(os.path.dirname(site.kept), exist_ok=True)
    if os.path.lexists(site.kept):
        if not os.path.islink(site.hook) and os.path.samefile(site.kept, site.hook):
            return
        raise BadInput(f"{site.kept} is there already. Nothing was changed; look at it and move it away")
    if os.path.islink(site.hook):
        target = os.readlink(site.hook)
        os.symlink(target if target.startswith("/") else f"../{target}", site.kept)
    else:
        os.link(site.hook, site.kept)


def _take_out(app: Holdfast, site: Site) -> tuple[str, bool]:
    raw = swap.current(site.hook) if os.path.isfile(site.hook) else None
    found = _BLOCK.search(raw) if raw is not None else None
    if raw is None or not found:
        return "no line of holdfast in it; nothing to do", False
    rest = raw[: found.start()] + raw[found.end() :]
    if _RUN_KEPT in found[0]:
        if rest != _SHEBANG:
            raise BadInput(
                f"{site.hook} was changed since install, and {site.kept} is what was there before. "
                "Nothing was changed; put the two together by hand"
            )
        _give_back(site)
        return "what it was before install, to the byte", True
    after = None if rest == _SHEBANG else rest
    if not swap.put(site.hook, raw, after, _temporary(app, site)):
        raise HoldfastError(f"{site.hook} was changed by another program just now; run this again")
    return "removed: install had made it" if after is None else "holdfast's line is out of it again", True


def _give_back(site: Site) -> None:
    if os.path.islink(site.kept):
        target = os.readlink(site.kept)
        beside = f"{site.hooks}/.{NAME}.link"
        with suppress(FileNotFoundError):
            os.unlink(beside)
        os.symlink(target if target.startswith("/") else target.removeprefix("../"), beside)
        os.rename(beside, site.hook)
        os.unlink(site.kept)
    else:
        os.rename(site.kept, site.hook)
    with suppress(OSError):
        os.rmdir(os.path.dirname(site.kept))
    files.sync_dir(site.hooks)


def _refuse_managed(site: Site, launcher: Launcher) -> None:
    """Who writes the hooks anew with every install of theirs would take ours out, or be broken by it."""
    if os.path.exists(site.hooks) and not os.path.isdir(site.hooks):
        raise BadInput(f"git runs no hooks here: core.hooksPath is {site.hooks}, which is no folder")
    parts = site.hooks.split("/")
    if ".husky" in parts:
        place = "/".join([*parts[: parts.index(".husky") + 1], NAME])
        raise BadInput(f"husky runs the hooks here. Add this line to {place}:\n{line(launcher)}")
    if os.path.isfile(site.hook) and b"lefthook" in (swap.current(site.hook) or b"").lower():
        entry = f"{NAME}:\n  commands:\n    holdfast:\n      run: {line(launcher)}"
        raise BadInput(f"lefthook writes {site.hook}. Add this to lefthook.yml:\n{entry}")


def _missing(folder: str) -> list[str]:
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def _temporary(app: Holdfast, site: Site) -> str:
    return f"{site.hooks}/.{NAME}.holdfast-{record.sha256(app.home.root.encode())[:8]}"
