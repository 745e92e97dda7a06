"""config.yaml as a file: read as it was at one moment, replaced in one step, compiled for the hooks.

A file that is wrong is never written over. Whoever replaces or compiles it holds `config.lock`.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from holdfast.core.jsontext import dump
from holdfast.core.seen import checksum
from holdfast.disk import compiled as kept
from holdfast.disk import files, trail
from holdfast.disk.compiled import Compiled
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged
from holdfast.ops import configtext
from holdfast.ops.configtext import Document, Problem

LARGEST = 1 << 16
#: A file's time is kept in steps: one that was written just now may change again and keep its time.
_STEP_NS = 20_000_000


def read(path: str) -> tuple[Document, list[int]]:
    """What a file says, and which state of it that is."""
    while True:
        of = _signature(path)
        if of and 0 <= time.time_ns() - of[0] < _STEP_NS:
            time.sleep(_STEP_NS / 1e9)
        made = _document(path)
        if of == _signature(path):
            return made, of


def replace(path: str, of: list[int], text: str, wanted: dict[str, Any]) -> None:
    """By a text that says what is wanted, and only while the file is what was read."""
    new = configtext.read(text)
    if new.values == wanted and new.problems:  # each for itself is right, but not together
        raise BadInput(f"{new.problems[0].what} (nothing was changed)")
    if new.values != wanted:
        raise BadInput(f"{path} is written in a way that holdfast cannot edit; edit it by hand")
    if of != _signature(path):
        raise BadInput(f"{path} was changed by someone else this very moment; run this again")
    files.replace(os.path.realpath(path), text.encode(), durable=True)  # a link stays one


def compiled(home: Home) -> Document:
    """Make what hooks read of it. Of a file that is wrong they keep what it said before."""
    made, of = read(home.config)
    before = _last(home)
    trouble = f"{home.config}, {made.problems[0]}{kept.STILL_HOLDS}" if made.problems else ""
    values = before.values if trouble else made.values
    new = render(Compiled(values, trouble, of, sys.executable))
    if new != render(before):
        files.replace(home.compiled, new, durable=False)
    if trouble != before.trouble:
        trail.note(home, "degraded.config", what=trouble)
    return made


def render(made: Compiled) -> bytes:
    said = {"of": made.of, "by": made.by, "trouble": made.trouble, "values": made.values}
    rest = dump(said)[1:].encode()
    return b"%s%d,%s" % (kept.HEAD, checksum(rest), rest)


def _last(home: Home) -> Compiled:
    """What was compiled last. What cannot be read is set aside, not written over."""
    try:
        return kept.read(home)
    except FileNotFoundError:
        return Compiled({})
    except (PermissionError, BadInput, Damaged) as problem:
        aside = files.set_aside(home.compiled)
        trail.note(home, "degraded.config", what=str(problem), aside=os.path.basename(aside))
        return Compiled({})


def _signature(path: str) -> list[int]:
    try:
        return kept.signature(path)
    except OSError:
        return []


def _document(path: str) -> Document:
    try:
        return configtext.read(files.read(path, LARGEST).decode())
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            return Document("", problems=[Problem(0, "it is a link that leads nowhere")])
        return Document("")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        return Document("", problems=[Problem(line, "it is not UTF-8; save it as that")])
    except BadInput as problem:
        return Document("", problems=[Problem(0, str(problem).removeprefix(f"{path} "))])
    except OSError as problem:
        return Document("", problems=[Problem(0, f"it cannot be read: {problem.strerror}")])
