"""Settings files as people and programs leave them: any order, any spacing, any hooks of others."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from holdfast.install.settings import EVENTS

FOREIGN_EVENTS = ["PreToolUse", "Notification", "CwdChanged", *EVENTS]
WORDS = [
    "é",
    "naïve",
    "日本",
    "a\nb",
    'quo"te',
    "back\\slash",
    "😀",
    "\u2028",
    "tab\t",
    "",
    "x" * 60,
    "plain",
]
SPACES = ["", " ", "  ", "\t", "\n", "\r\n", "\n\n   ", " \n\t"]


def scalar(random: Random) -> Any:
    return random.choice(
        [
            True,
            False,
            None,
            0,
            -1,
            1.5,
            1e30,
            10**20,
            *WORDS[:6],
            random.choice(WORDS) + random.choice(WORDS),
        ]
    )


def anything(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth <= 0 or kind < 0.4:
        return scalar(random)
    if kind < 0.7:
        return [anything(random, depth - 1) for _ in range(random.randrange(4))]
    names = random.sample([*WORDS, "hooks", "statusLine", "command"], random.randrange(4))
    return {name: anything(random, depth - 1) for name in names}


def deep(random: Random) -> Any:
    value = scalar(random)
    for _ in range(random.randrange(60)):
        value = [value] if random.random() < 0.5 else {random.choice(WORDS): value}
    return value


def hook(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "command", "command": f"echo {random.choice(WORDS)} {random.random()}"}
    if random.random() < 0.4:
        made["timeout"] = random.randrange(600)
    if random.random() < 0.2:
        made["command"] = "python3 /srv/holdfast/launch.python --not-ours"
    return made if random.random() < 0.7 else dict(reversed(made.items()))


def group(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"hooks": [hook(random) for _ in range(random.randrange(3))]}
    if random.random() < 0.5:
        made = {"matcher": random.choice(["", "*", "Bash|Edit"]), **made}
    return made


def settings(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in random.sample(["model", "env", "permissions", "é", "deep", "theme"], random.randrange(6)):
        made[name] = deep(random) if name == "deep" else anything(random, 3)
    if random.random() < 0.7:
        events = random.sample(FOREIGN_EVENTS, random.choice([0, 1, 2, 5, len(FOREIGN_EVENTS)]))
        made["hooks"] = {event: [group(random) for _ in range(random.randrange(3))] for event in events}
    if random.random() < 0.5:
        line = {"type": "command", "command": "~/line.sh", "padding": random.randrange(3)}
        made["statusLine"] = random.choice([line, dict(reversed(line.items())), None, "odd"])
    names = list(made)
    random.shuffle(names)
    return {name: made[name] for name in names}


def text(random: Random, data: dict[str, Any]) -> str:
    style = random.random()
    ascii_only = random.random() < 0.5
    if style < 0.4:
        indent = random.choice([2, 4, "\t", 1, 0, 3])
        words = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    elif style < 0.6:
        separators = random.choice([(",", ":"), (", ", ": "), (" , ", " : "), (",", ": ")])
        words = json.dumps(data, separators=separators, ensure_ascii=ascii_only)
    else:
        words = _scribble(random, data, ascii_only)
    if random.random() < 0.3:
        words = words.replace("\r\n", "\n").replace("\n", "\r\n")
    return random.choice(["", "", " ", "\n"]) + words + random.choice(["", "\n", "\n", "\n\n ", "\r\n"])


def _scribble(random: Random, value: Any, ascii_only: bool) -> str:
    """White space of any kind wherever JSON allows it."""

    def space() -> str:
        return random.choice(SPACES)

    def string(words: str) -> str:
        if words and random.random() < 0.2:
            return '"' + "".join(f"\\u{unit:04X}" for unit in _units(words)) + '"'
        written = json.dumps(words, ensure_ascii=ascii_only)
        return written.replace("/", "\\/") if random.random() < 0.1 else written

    if isinstance(value, dict):
        inner = ",".join(
            f"{space()}{string(key)}{space()}:{space()}{_scribble(random, item, ascii_only)}{space()}"
            for key, item in value.items()
        )
        return "{" + (inner or space()) + "}"
    if isinstance(value, list):
        inner = ",".join(f"{space()}{_scribble(random, item, ascii_only)}{space()}" for item in value)
        return "[" + (inner or space()) + "]"
    return string(value) if isinstance(value, str) else json.dumps(value)


def _units(words: str) -> list[int]:
    raw = words.encode("utf-16-be")
    return [int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2)]
