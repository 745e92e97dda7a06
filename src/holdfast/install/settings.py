"""What holdfast's wiring is, as data: settings with it, settings without it, and which part is ours.

Plain dictionaries in and out; nothing given is changed. How the text of the file follows is `jsonedit`.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from holdfast.disk.wiring import MARK
from holdfast.install.jsonspan import Child, Node, refuse

#: Every event holdfast is told of: (timeout in seconds, async). Async where no answer is needed: the
#: client does not wait for those, nor when it exits, so that whatever may come last is not async. Each
#: has a timeout, because the client's own is ten minutes. Not PostToolUse: a batch tells of all its calls,
#: and one start of an interpreter is enough for them. Nor is the batch async: the client would give the
#: model what is meant for the person.
EVENTS = {
    "SessionStart": (5, False),
    "UserPromptSubmit": (5, False),
    "PostToolBatch": (5, False),
    "PreCompact": (5, False),
    "SessionEnd": (2, False),
    "Stop": (5, False),
    "StopFailure": (5, False),
    "SubagentStart": (5, True),
    "SubagentStop": (5, True),
    "PostCompact": (5, False),
    "PostModelSwitch": (5, True),
    "TaskCreated": (5, True),
    "TaskCompleted": (5, True),
}

#: Where a key was not there at all, which is not the same as null.
ABSENT: Final = object()


@dataclass(frozen=True)
class Launcher:
    """The interpreter and the file that hooks run; both real paths, so that neither depends on PATH,
    a virtual environment being active, or a link that moves."""

    python: str
    launch: str

    @property
    def run(self) -> str:
        return f"{shlex.quote(self.python)} -I -S {shlex.quote(self.launch)}"

    @property
    def command(self) -> str:
        """Short, because the client shows it to people; `exec`, so that no shell waits for it. An
        interpreter that cannot open its file ends with 2, by which a hook tells the client to block; one
        that has gone ends with 127, which the client shows as an error, event for event. What was removed,
        package or interpreter, does neither."""
        return self._guarded(self.run)

    def _guarded(self, run: str) -> str:
        # In braces: who tries it by hand pipes an event into all of it.
        python, launch = shlex.quote(self.python), shlex.quote(self.launch)
        return f"{{ [ -x {python} ] && [ -r {launch} ] || exit 0; exec {run}; }}"

    def hook(self, event: str) -> dict[str, Any]:
        timeout, is_async = EVENTS[event]
        hook: dict[str, Any] = {"type": "command", "command": self.command, "timeout": timeout}
        return {**hook, "async": True} if is_async else hook

    @property
    def statusline(self) -> dict[str, Any]:
        return {"type": "command", "command": self._guarded(f"{self.run} statusline"), "padding": 0}


def is_ours(value: Any) -> bool:
    """Whether a hook, or a statusline, runs holdfast: this one, or one installed elsewhere before."""
    command = value.get("command") if type(value) is dict else None
    return type(command) is str and MARK in command and _runs_launcher(command)


@cache
def _runs_launcher(command: str) -> bool:
    try:
        return any(word.endswith(MARK) for word in shlex.split(command))
    except ValueError:  # quotes that do not close: not a command we ever wrote
        return False


def wired(
    data: dict[str, Any], base: dict[str, Any], launcher: Launcher, statusline: bool
) -> dict[str, Any]:
    """With one hook of ours per event: in the place of the one that was there, else after all others.
    Without a `statusline`, the one of `base`, which is `data` without us."""
    hooks = dict(data.get("hooks", {}))
    for event in [event for event in hooks if event not in EVENTS]:
        left = _without_ours(hooks[event])
        if left or not hooks[event]:
            hooks[event] = left
        else:  # an event that an older version of holdfast was told of
            del hooks[event]
    for event in EVENTS:
        hooks[event] = _with_ours(hooks.get(event, []), launcher.hook(event))
    result = {**data, "hooks": hooks}
    if statusline:
        result["statusLine"] = launcher.statusline
    elif is_ours(data.get("statusLine")):
        del result["statusLine"]
        if "statusLine" in base:
            result["statusLine"] = base["statusLine"]
    return result


def unwired(data: dict[str, Any], created: Collection[str] | None, statusline: Any) -> dict[str, Any]:
    """Without ours, and without the containers in `created` that are empty then. `created` None means
    that it is not known: then those go that become empty. `statusline` is put back if ours is there."""
    result = dict(data)
    if type(data.get("hooks")) is dict:
        hooks = _without_events(data["hooks"], created)
        was_ours = bool(data["hooks"]) if created is None else "hooks" in created
        if hooks or not was_ours:
            result["hooks"] = hooks
        else:
            del result["hooks"]
    if is_ours(data.get("statusLine")):
        if statusline is ABSENT:
            del result["statusLine"]
        else:
            result["statusLine"] = statusline
    return result


def containers(data: dict[str, Any]) -> set[str]:
    """The names under which `created` knows the object of hooks and its arrays."""
    hooks = data.get("hooks")
    return {"hooks", *(f"hooks.{event}" for event in hooks)} if type(hooks) is dict else set()


def _without_events(hooks: dict[str, Any], created: Collection[str] | None) -> dict[str, Any]:
    result = {}
    for event, groups in hooks.items():
        left = _without_ours(groups)
        was_ours = groups != [] if created is None else f"hooks.{event}" in created
        if left != [] or not was_ours:
            result[event] = left
    return result


def _without_ours(groups: Any) -> Any:
    if type(groups) is not list:
        return groups
    result = []
    for group in groups:
        left = [hook for hook in _hooks_of(group) if not is_ours(hook)]
        if len(left) == len(_hooks_of(group)):
            result.append(group)
        elif left:
            result.append({**group, "hooks": left})
    return result


def _with_ours(groups: list[Any], ours: dict[str, Any]) -> list[Any]:
    result = []
    placed = False
    for group in groups:
        left: list[Any] = []
        for hook in _hooks_of(group):
            if not is_ours(hook):
                left.append(hook)
            elif not placed:
                left.append(ours)
                placed = True
        if left or not _hooks_of(group):
            result.append({**group, "hooks": left})
    return result if placed else [*result, {"hooks": [ours]}]


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if type(group) is dict else None
    return hooks if type(hooks) is list else []


def found(data: Any, place: str = "") -> list[str]:
    """Where in some data anything names our launcher, as paths such as hooks.Stop[0].hooks[0].command."""
    if type(data) is str:
        return [place] if MARK in data else []
    if type(data) is list:
        return [hit for i, item in enumerate(data) for hit in found(item, f"{place}[{i}]")]
    if type(data) is dict:
        dot = "." if place else ""
        return [
            hit
            for key, item in data.items()
            for hit in [*found(key, f"{place}{dot}(key)"), *found(item, place + dot + key)]
        ]
    return []


def check(root: Node, text: str, name: str) -> None:
    """The client drops the whole file when one hook in it has the wrong shape. So it is refused here,
    whoever wrote it: what we add to such a file would have no effect."""
    hooks = _member(root, "hooks")
    if not hooks:
        return
    if type(hooks.data) is not dict:
        refuse(name, text, hooks.start, "`hooks` that is not an object")
    for event in hooks.children:
        if type(event.node.data) is not list:
            refuse(name, text, event.node.start, f"`hooks.{event.key}` that is not an array")
        for group in event.node.children:
            _check_group(group, f"an entry of `hooks.{event.key}`", text, name)


def _check_group(group: Child, what: str, text: str, name: str) -> None:
    if type(group.node.data) is not dict:
        refuse(name, text, group.start, f"{what} that is not an object")
    matcher = _member(group.node, "matcher")
    if matcher and type(matcher.data) is not str:
        refuse(name, text, matcher.start, f"{what} whose `matcher` is not a string")
    hooks = _member(group.node, "hooks")
    if not hooks or type(hooks.data) is not list:
        refuse(name, text, hooks.start if hooks else group.start, f"{what} without an array `hooks`")
    for hook in hooks.children:
        if type(hook.node.data) is not dict or type(hook.node.data.get("type")) is not str:
            refuse(name, text, hook.start, f"{what} with a hook that is no object with a `type`")


def _member(node: Node, key: str) -> Node | None:
    return next((child.node for child in node.children if child.key == key), None)
