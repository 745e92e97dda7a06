"""What tasks have cost, kept for the next estimate: home/costs.json.

One row for each task: which it was, what had been estimated by its size, what it took of the window. No
words of it. A row is found again by its name, so that reading a session twice counts nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from holdfast.app import Holdfast
from holdfast.core.batch import PER_FILE, sized
from holdfast.core.costs import Scale, learned
from holdfast.core.lines import Account, records
from holdfast.core.plain import PER_TOKEN
from holdfast.core.stretch import Stretch, stretches
from holdfast.core.transcript import entry
from holdfast.disk import files
from holdfast.disk.home import Home
from holdfast.errors import Damaged

VERSION = 1
_LARGEST = 1 << 20
_MOST = 1000
#: What the client shows of a file before its content begins, and a number before each line.
_SHOWN, _AROUND = 1.2, 300
#: More of one file the client does not read at once.
_MOST_OF_FILE = 25_000
#: In the name of a task that was carried out as planned; a prompt has none.
_PLANNED = ":"


class Costs(msgspec.Struct, forbid_unknown_fields=True):
    """`tasks`: name -> (estimated, cost), the newest last: prompts, then what was planned."""

    v: int
    tasks: dict[str, tuple[int, int]]


class Scales(NamedTuple):
    """What past tasks say of an estimate: all of them, and those that were carried out as planned."""

    every: Scale
    planned: Scale

    def of(self, task: dict) -> Scale:
        return self.planned if self.planned.rows and task.get("files") else self.every

    def cost(self, task: dict, sizes: dict[str, int]) -> int:
        """Prompts say so little that by them large tasks seem smaller than they are. So one that names its
        files takes no less than they do, unless tasks that were planned say otherwise."""
        by_size, scale = sized(task, sizes), self.of(task)
        is_bound = bool(task.get("files")) and scale is self.every
        return max(by_size, scale(by_size)) if is_bound else scale(by_size)


def scales(app: Holdfast) -> Scales:
    """What is damaged is said, not passed over."""
    known = read(app.home).tasks
    planned = [row for name, row in known.items() if _PLANNED in name]
    return Scales(learned(known.values()), learned(planned))


def planned_name(run: str, task: str) -> str:
    return f"{run}{_PLANNED}{task}"


def read(home: Home) -> Costs:
    path = _path(home)
    try:
        data = files.read(path, _LARGEST)
    except FileNotFoundError:
        return Costs(VERSION, {})
    try:
        found = msgspec.json.decode(data, type=Costs)
    except msgspec.DecodeError as problem:
        raise Damaged(
            f"{path} is not what holdfast writes there ({problem}); remove it, then run "
            "`holdfast batch calibrate`"
        ) from None
    if found.v != VERSION:
        raise Damaged(f"{path} has version {found.v}; this holdfast knows {VERSION}")
    return found


def note(app: Holdfast, rows: dict[str, tuple[int, int]]) -> int:
    """Take rows in. How many there are now."""
    files.make_dir(app.home.root)
    with files.Lock(_path(app.home) + ".lock"):
        known = read(app.home).tasks
        known = {name: row for name, row in known.items() if name not in rows} | rows
        # Prompts are many, and say less: they go before what was planned.
        known = dict(sorted(known.items(), key=lambda one: _PLANNED in one[0]))
        kept = dict([*known.items()][-_MOST:])
        files.replace(_path(app.home), msgspec.json.encode(Costs(VERSION, kept)), durable=False)
    return len(kept)


def of_transcript(path: str) -> list[Stretch]:
    """What each prompt of a session has cost."""
    with open(path, "rb") as file:
        return of_lines(file)


def of_lines(lines: Iterable[bytes]) -> list[Stretch]:
    account, offset = Account(), 0
    found = []
    for raw in lines:
        for record in records(raw, account):
            made = entry(record, offset, len(raw))
            if made is not None:
                found.append((made, record))
        offset += len(raw)
    return stretches(found)


def row(stretch: Stretch) -> tuple[int, int]:
    """(what would have been estimated, what it cost). Of files nobody knows how large they were then."""
    return sized(stretch.task(), {}), stretch.cost


def file_tokens(folder: str, name: str) -> int:
    """What reading a file adds to a window; the rule of thumb for what is none."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return PER_FILE
    return min(_MOST_OF_FILE, round(os.path.getsize(path) / PER_TOKEN * _SHOWN)) + _AROUND


def _path(home: Home) -> str:
    return home.root + "/costs.json"
