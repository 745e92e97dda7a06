"""In and out again: every byte of a thousand settings files; and what people change in between."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from holdfast.install import operations
from holdfast.install.operations import install, uninstall
from holdfast.install.settings import EVENTS
from install import random_settings
from install.conftest import Machine

OURS = operations._launcher()


def is_ours(group: Any) -> bool:
    return any(hook["command"] == OURS.command for hook in group["hooks"])


def expected(data: dict[str, Any]) -> dict[str, Any]:
    """What install shall make of it, said without the code under test."""
    hooks = dict(data.get("hooks", {}))
    for event, (timeout, is_async) in EVENTS.items():
        hook = {"type": "command", "command": OURS.command, "timeout": timeout}
        hooks[event] = [*hooks.get(event, []), {"hooks": [hook | ({"async": True} if is_async else {})]}]
    line = {"type": "command", "command": OURS.statusline["command"], "padding": 0}
    return {**data, "hooks": hooks, "statusLine": line}


@pytest.mark.parametrize("part", range(4))
def test_a_thousand_settings_files_come_back_to_the_byte(part: int, machine: Machine) -> None:
    for seed in range(part * 250, part * 250 + 250):
        random = Random(seed)
        data = random_settings.settings(random)
        raw = machine.write(random_settings.text(random, data))
        install(machine.app)
        between = machine.settings.read_bytes()
        assert json.dumps(json.loads(between)) == json.dumps(expected(data)), seed
        if seed % 5 == 0:
            install(machine.app)
            assert machine.settings.read_bytes() == between, seed
        uninstall(machine.app)
        assert machine.settings.read_bytes() == raw, seed


def edit(random: Random, data: dict[str, Any]) -> None:
    """Something a person, or another installer, might do to wired settings."""
    hooks = data["hooks"]
    event = random.choice(random_settings.FOREIGN_EVENTS)
    what = random.randrange(6)
    if what == 0:
        hooks.setdefault(event, []).append(random_settings.group(random))
    elif what == 1:
        hooks.setdefault(event, []).insert(0, random_settings.group(random))
    elif what == 2:
        theirs = [group for group in hooks.get(event, []) if not is_ours(group)]
        if theirs:
            hooks[event].remove(random.choice(theirs))
    elif what == 3:
        data[random.choice(["model", "new", "é"])] = random_settings.anything(random, 2)
    elif what == 4:
        data.pop(random.choice(["model", "env", "theme"]), None)
    elif random.random() < 0.3:
        data["statusLine"] = {"type": "command", "command": "mine.sh"}
    else:  # their hook in our entry
        hooks[random.choice(list(EVENTS))][-1]["hooks"].append({"type": "command", "command": "late"})


def stripped(edited: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """The edited settings without ours, said without the code under test."""
    result = dict(edited)
    hooks = {}
    for event, groups in edited["hooks"].items():
        left = []
        for group in groups:
            theirs = [hook for hook in group["hooks"] if hook["command"] != OURS.command]
            if theirs or not group["hooks"]:
                left.append({**group, "hooks": theirs})
        if left or event in original.get("hooks", {}) or event not in EVENTS:
            hooks[event] = left
    result["hooks"] = hooks
    if not hooks and "hooks" not in original:
        del result["hooks"]
    if edited["statusLine"] == OURS.statusline:
        if "statusLine" in original:
            result["statusLine"] = original["statusLine"]
        else:
            del result["statusLine"]
    return result


@pytest.mark.parametrize("part", range(2))
def test_what_was_changed_since_is_kept_and_only_ours_goes(part: int, machine: Machine) -> None:
    for seed in range(part * 150, part * 150 + 150):
        random = Random(seed)
        original = random_settings.settings(random)
        machine.write(random_settings.text(random, original))
        install(machine.app)
        data = json.loads(machine.settings.read_bytes())
        for _ in range(random.randrange(1, 6)):
            edit(random, data)
        machine.write(json.dumps(data, indent=random.choice([2, 4, None]), ensure_ascii=False))
        if seed % 2:
            install(machine.app)  # with changes of others around our entries
            assert json.loads(machine.settings.read_bytes())["hooks"].keys() >= EVENTS.keys()
            data["statusLine"], before = OURS.statusline, data["statusLine"]
            if before != OURS.statusline:
                original = {**original, "statusLine": before}
        uninstall(machine.app)
        left = json.loads(machine.settings.read_bytes())
        assert json.dumps(left) == json.dumps(stripped(data, original)), seed


def test_an_edit_elsewhere_leaves_all_other_bytes_in_place(machine: Machine) -> None:
    before = b'{\r\n   "z" :[ 1,2 ],\r\n   "hooks": {"Stop": [ {"hooks": [ ]} ]},\r\n "e": "\\u00e9"}'
    machine.write(before)
    install(machine.app)
    machine.write(machine.settings.read_bytes().replace(b'"z" :[ 1,2 ]', b'"z" :[ 3 ], "y": 0'))
    uninstall(machine.app)
    assert machine.settings.read_bytes() == before.replace(b'"z" :[ 1,2 ]', b'"z" :[ 3 ], "y": 0')
