"""What tasks have cost, kept for the next estimate: home/costs.json.

One row for each task: which it was, what had been estimated by its size, what it took of the window, and
what was known of its files before. No words of it. A row is found again by its name, so that reading a
session twice counts nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from holdfast.app import Holdfast
from holdfast.core import foreseen
from holdfast.core.batch import facts, sized
from holdfast.core.costs import Scale, learned
from holdfast.core.foreseen import LEAST, PER_FILE, Facts, Model
from holdfast.core.lines import Account, records
from holdfast.core.stretch import Stretch, stretches
from holdfast.core.transcript import entry
from holdfast.disk import client, files
from holdfast.disk.home import Home
from holdfast.errors import Damaged

VERSION = 2
#: Without what was known of files.
_OLDER = 1
_LARGEST = 1 << 20
_MOST = 1000
#: In the name of a task that was carried out as planned; a prompt has none.
_PLANNED = ":"


class Row(msgspec.Struct, array_like=True, omit_defaults=True, frozen=True):
    """`estimate` by size alone; `facts` as `foreseen.Facts` lists them, [] where it names no file."""

    estimate: int
    cost: int
    facts: list[int] = []

    def known(self) -> Facts | None:
        return Facts(*self.facts) if len(self.facts) == len(Facts.__slots__) else None


class Costs(msgspec.Struct, forbid_unknown_fields=True):
    """`tasks`: name -> row, the newest last: prompts, then what was planned."""

    v: int
    tasks: dict[str, Row]


class Scales(NamedTuple):
    """What past tasks say of the next: by its words, by the files it changes, by those it reads as well."""

    every: Scale
    changing: Model | None = None
    whole: Model | None = None

    def of(self, task: dict) -> Scale | Model:
        return self.model(facts(task, {})) or self.every

    def model(self, known: Facts | None) -> Model | None:
        if known is None:
            return None
        return self.whole if known.reads >= 0 else self.changing

    def cost(self, task: dict, sizes: dict[str, int]) -> int:
        """Prompts say so little that by them large tasks seem smaller than they are. So one that names its
        files takes no less than they do, unless tasks with files say otherwise."""
        by_size, known = sized(task, sizes), facts(task, sizes)
        model = self.model(known)
        if model and known:
            return model(known)
        return max(by_size, self.every(by_size)) if known else self.every(by_size)


def scales(app: Holdfast) -> Scales:
    """What is damaged is said, not passed over."""
    return taught(read(app.home).tasks)


def taught(rows: dict[str, Row]) -> Scales:
    """Tasks that were carried out as planned say it best, as soon as they are enough."""
    planned = {name: row for name, row in rows.items() if _PLANNED in name and row.known()}
    told = (planned if len(planned) >= LEAST else rows).values()
    with_files = [(known, row.cost) for row in told if (known := row.known())]
    every = learned((row.estimate, row.cost) for row in rows.values())
    return Scales(every, foreseen.learned(with_files, False), foreseen.learned(with_files, True))


def pace(app: Holdfast, session: str, by: Scales) -> float:
    """How much more than others a session takes for the same; 1.0 where nothing says so."""
    path = client.transcript(app.client_dir, session) if by.whole else ""
    if not by.whole or not path:
        return 1.0
    done = [(known, one.cost) for one in of_transcript(path) if (known := one.facts())]
    return foreseen.pace([(by.whole(known), cost) for known, cost in done])


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
    if found.v not in (VERSION, _OLDER):
        raise Damaged(f"{path} has version {found.v}; this holdfast knows {VERSION}")
    return found


def note(app: Holdfast, rows: dict[str, Row]) -> int:
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


def row(stretch: Stretch) -> Row:
    """What its words would have been estimated as, what it cost, and what it would have been planned as."""
    known = stretch.facts()
    return Row(sized(stretch.task(), {}), stretch.cost, known.as_list() if known else [])


def file_tokens(folder: str, name: str) -> int:
    """What reading a file adds to a window; the rule of thumb for what is none."""
    path = os.path.join(folder, name)
    return foreseen.file_tokens(os.path.getsize(path)) if os.path.isfile(path) else PER_FILE


def _path(home: Home) -> str:
    return home.root + "/costs.json"
