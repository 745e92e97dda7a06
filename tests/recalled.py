"""What recall gives back of a session that met something planted, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import carriers
from holdfast.app import Holdfast
from holdfast.ops import recall, remember
from holdfast.ops.calling import plain
from payloads import CANARY


def answers(folder: Path) -> Iterator[recall.Recalled]:
    """To a question for it and to one for everything, where `carriers.play` has left its files."""
    environ = {"HOLDFAST_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "client")}
    app = Holdfast.open({"HOME": str(folder), **environ})
    remember.rebuild(app)
    asked = {"project": str(folder), "everywhere": True}
    yield recall.recall(app, CANARY, limit=50, **asked)
    yield recall.timeline(app, limit=200, tokens=2500, **asked)


def shown(found: recall.Recalled) -> str:
    """As a model is given it."""
    return json.dumps(plain(found), ensure_ascii=False)


def wrong(found: recall.Recalled, typed: list[str]) -> Iterator[str]:
    words = shown(found)
    mark = found.opens[1:-1]
    if words.count(found.opens) != 1 or words.count(found.closes) != 1:
        yield "the fence is opened or closed more than once"
    first, last = words.index('"found"'), words.rindex('"left_out"')
    if words.index(found.opens) > first or words.index(found.closes) < last:
        yield "something stands outside the fence"
    inner = words.replace(found.opens, "").replace(found.closes, "").lower()
    for opener in ("</", "<system", "<holdfast", "<user", "<command"):
        if opener in inner:
            yield f"{opener} in {mark}"
    if any(carriers._is_invisible(letter) for letter in words):
        yield "something that cannot be seen"
    yield from carriers._wrong_inside([one.text for one in found.found], mark, typed)
