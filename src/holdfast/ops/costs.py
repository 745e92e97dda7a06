"""What tasks have cost, kept for the next estimate: home/costs.json.

One row for each task: which it was, what had been estimated by its size, what it took of the window, and
what was known of its files before. No words of it. A row is found again by its name, so that reading a
session twice counts nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import NamedTuple

import msgspec

from holdfast.app import Holdfast
from holdfast.core import foreseen, spread
from holdfast.core.batch import facts, sized
from holdfast.core.costs import Scale, learned
from holdfast.core.foreseen import LAST, LEAST, PER_FILE, Facts, Model
from holdfast.core.lines import Account, records
from holdfast.core.stretch import Stretch, stretches
from holdfast.core.transcript import entry
from holdfast.disk import client, files
from holdfast.disk.home import Home
from holdfast.errors import Damaged

VERSION = 3
#: Without what was known of files; without what of them was in the window.
_OLDER = (1, 2)
_FACTS = (6, 8)
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
        return Facts(*self.facts) if len(self.facts) in _FACTS else None


class Costs(msgspec.Struct, forbid_unknown_fields=True):
    """`tasks`: name -> row, the newest last: prompts, then what was planned."""

    v: int
    tasks: dict[str, Row]


class Scales(NamedTuple):
    """What past tasks say of the next: by its words, by the files it changes, by those it reads as well."""

    every: Scale
    changing: Model | None = None
    whole: Model | None = None

    def model(self, task: dict) -> Model | None:
        if "reads" in task:
            return self.whole if task["reads"] or task.get("files") or task.get("creates") else None
        return self.changing if task.get("files") or task.get("creates") else None

    def cost(self, task: dict, sizes: dict[str, int], held: Container[str] = ()) -> int:
        """Prompts say so little that by them large tasks seem smaller than they are. So one that names its
        files takes no less than they do, unless tasks with files say otherwise."""
        by_size, known = sized(task, sizes), facts(task, sizes, held)
        model = self.model(task)
        if model and known:
            return model(known)
        return max(by_size, self.every(by_size)) if known else self.every(by_size)

    def likely(self, task: dict, estimate: int) -> tuple[int, int]:
        """Between which four of five such tasks lay."""
        if model := self.model(task):
            return model.spread.between(estimate)
        return round(estimate * self.every.low), round(estimate * self.every.high)

    def together(self, tasks: list[dict], estimates: list[int], told: int) -> tuple[int, int, int]:
        """What they take in all, and between which that lies. Where of some only the words are known, it is
        not known how far off their sum is, which is taken for as uncertain as one of them."""
        models = [self.model(task) for task in tasks]
        spreads = [model.spread for model in models if model]
        if len(spreads) < len(tasks):
            whole = sum(estimates)
            return whole, round(whole * self.every.low), round(whole * self.every.high)
        if len(tasks) == 1:
            return estimates[0], *spreads[0].between(estimates[0])
        parts = [(one, own.of(one)) for one, own in zip(estimates, spreads, strict=True)]
        middle, far = spread.together(parts)
        return round(middle), *spread.range_of(middle, far, max(one.shared for one in spreads), told)


def scales(app: Holdfast) -> Scales:
    """What is damaged is said, not passed over."""
    return taught(read(app.home).tasks)


def taught(rows: dict[str, Row]) -> Scales:
    """Tasks that were carried out as planned say it best, as soon as they are enough."""
    planned = {name: row for name, row in rows.items() if _PLANNED in name and row.known()}
    told = with_files(planned if len(planned) >= LEAST else rows)
    every = learned((row.estimate, row.cost) for row in rows.values())
    return Scales(every, foreseen.learned(told, False), foreseen.learned(told, True))


def with_files(rows: dict[str, Row]) -> list[tuple[str, Facts, int]]:
    """Each with the session, or the run, that it was done in."""
    return [(_done_in(name), known, row.cost) for name, row in rows.items() if (known := row.known())]


def _done_in(name: str) -> str:
    return name.partition(_PLANNED)[0] if _PLANNED in name else name.rpartition("@")[0]


class Going(NamedTuple):
    """A session that goes on. `pace`: how much more than others it takes for the same, as `told` of its
    tasks tell; `held`: the files in its window."""

    pace: float = 1.0
    told: int = 0
    held: frozenset[str] = frozenset()


def going(app: Holdfast, session: str, by: Scales) -> Going:
    path = client.transcript(app.client_dir, session)
    found = of_transcript(path) if path else []
    if not found:
        return Going()
    done = [(known, one.cost) for one in found if one.is_done and (known := one.facts())]
    pairs = [(by.whole(known), cost) for known, cost in done] if by.whole else []
    return Going(foreseen.pace(pairs), min(LAST, len(pairs)), frozenset(found[-1].window))


def named_in(held: Container[str], folder: str, names: Iterable[str]) -> frozenset[str]:
    """Those names, of files below `folder`, that are among paths."""
    return frozenset(name for name in names if os.path.normpath(os.path.join(folder, name)) in held)


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
    if found.v not in (VERSION, *_OLDER):
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


def apart(path: str, known: set[str]) -> list[Stretch]:
    """What of a session teaches something: what was carried to its end, and not in another file before. A
    fork begins with all that its parent had done; `known` are the prompts met so far, and is added to."""
    with open(path, "rb") as file:
        return taught_by(file, known)


def taught_by(lines: Iterable[bytes], known: set[str]) -> list[Stretch]:
    found = [one for one in of_lines(lines) if one.uuid not in known]
    known.update(one.uuid for one in found if one.uuid)
    return [one for one in found if one.is_done and one.cost > 0]


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
