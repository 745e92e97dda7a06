"""Vectors of a memory.db as one matrix, mapped from the file beside it; what is new is added to that first.

Exact where there are few. Where there are many, the part of each vector that tells most of them apart (its
principal components) picks out some thousands, and those are compared whole.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import numpy

from holdfast.disk import files
from holdfast.memory import vectorfile
from holdfast.memory.database import Database
from holdfast.memory.shelf import Filter
from holdfast.memory.terms import key
from holdfast.memory.vectorfile import END, HEAD, Head

#: From so many on candidates are picked out first: by so many components, so many of them.
_MANY, _COMPONENTS, _PICKED = 20_000, 64, 1_000
_AT_ONCE = 10_000
#: Rows a new file has room for beyond those there are.
_SPARE = 1_024
_TYPES = {"ids": "=i8", "scopes": "=i8", "whole": "<f2", "part": "=f4"}
_ROWS = (
    "SELECT v.id, v.data, i.project, i.collection, i.origin FROM vectors v JOIN items i USING (id) "
    "WHERE v.model = ? AND length(v.data) = ? AND v.change > ? ORDER BY v.change, v.id"
)
#: By the path of their database: a question asks for what this process has mapped before all else.
_kept: dict[str, Matrix] = {}
_lock = Lock()


def of(base: Database, model: str, size: int) -> Matrix:
    """Those of one model and size; others are as good as none."""
    with _lock:
        matrix = _kept.get(base.path)
        if matrix is None or matrix.says() != _wanted(base.db, matrix.head, model, size):
            with base.locked():  # nobody changes a vector meanwhile
                matrix = _kept[base.path] = _in_step(base, model, size)
        return matrix


def _wanted(db: sqlite3.Connection, head: Head, model: str, size: int) -> Head:
    """What it would say if it is as it should be."""
    said = dict(db.execute("SELECT name, value FROM counters WHERE name IN ('database', 'vectors')"))
    return replace(head, database=said["database"], change=said["vectors"], model=model, size=size)


def _in_step(base: Database, model: str, size: int) -> Matrix:
    path = base.path + END
    vectorfile.settle(base.path)
    try:
        with vectorfile.opened(path, os.O_RDWR) as fd:
            head = vectorfile.head_of(fd)
            if head and _brought_up(base.db, fd, head, _wanted(base.db, head, model, size)):
                return Matrix(mmap.mmap(fd, head.total, prot=mmap.PROT_READ))
    except OSError:  # none, a link, or no room to add to it
        pass
    made = _made(base.db, model, size)
    try:
        files.replace(path, bytes(made), durable=True)
        with vectorfile.opened(path, os.O_RDONLY) as fd:
            return Matrix(mmap.mmap(fd, len(made), prot=mmap.PROT_READ))
    except OSError:  # as good as one in memory, until the next process
        return Matrix(made)


def _brought_up(db: sqlite3.Connection, fd: int, head: Head, wanted: Head) -> bool:
    """Whether what it lacked is in it now; else it has to be made anew."""
    if not head.components and head.count >= _MANY:
        return False
    if head == wanted:
        return True
    if replace(head, change=wanted.change) != wanted or not 0 <= head.change <= wanted.change:
        return False
    rows = db.execute(_ROWS, (head.model, 2 * head.size, head.change)).fetchmany(_AT_ONCE)
    count = head.count + len(rows)
    if count > head.room or len(rows) == _AT_ONCE or (not head.components and count >= _MANY):
        return False
    if rows:
        _added(fd, head, rows)
        os.fdatasync(fd)  # the head must not be there without them
    vectorfile.write(fd, replace(wanted, count=count).packed(), 0)
    return True


def _added(fd: int, head: Head, rows: Sequence[tuple[int, bytes, str, str, str]]) -> None:
    """Behind the last; what one of them said before is cleared already."""
    new = replace(head, room=len(rows), count=len(rows))
    data = bytearray(new.total)
    data[HEAD : head.axes] = os.pread(fd, head.axes - HEAD, HEAD)
    parts = _parts(data, new)
    _fill(parts, 0, rows)
    _turn(parts)
    for part, width in head.widths.items():
        vectorfile.write(fd, parts[part].tobytes(), head.place(part) + width * head.count)


def _made(db: sqlite3.Connection, model: str, size: int) -> bytearray:
    """The whole file."""
    those = "SELECT count(*) FROM vectors WHERE model = ? AND length(data) = ?"
    count = db.execute(those, (model, 2 * size)).fetchone()[0]
    components = min(_COMPONENTS, size) if count >= _MANY else 0
    room = count + count // 4 + _SPARE
    head = _wanted(db, Head(0, 0, model, size, room, count, components), model, size)
    data = bytearray(head.total)
    data[:HEAD] = head.packed()
    parts = _parts(data, head)
    found, at = db.execute(_ROWS, (model, 2 * size, vectorfile.IN_DOUBT)), 0
    while rows := found.fetchmany(_AT_ONCE):
        _fill(parts, at, rows)
        at += len(rows)
    if components:
        sample = parts["whole"][:: max(1, count // _AT_ONCE)].astype(numpy.float32)
        _, axes = numpy.linalg.eigh(sample.T @ sample)
        parts["axes"][:] = axes[:, ::-1][:, :components]
        _turn(parts)
    return data


def _parts(data: bytearray | mmap.mmap, head: Head) -> dict[str, numpy.ndarray]:
    """What is in a file, as far as it is filled: a row for each, and the axes."""
    found = {}
    for part, width in head.widths.items():
        kind = numpy.dtype(_TYPES[part])
        values = numpy.frombuffer(data, kind, head.count * width // kind.itemsize, head.place(part))
        found[part] = values.reshape(head.count, width // kind.itemsize)
    axes = numpy.frombuffer(data, numpy.float32, head.size * head.components, HEAD)
    return {**found, "axes": axes.reshape(head.size, head.components)}


def _fill(
    parts: dict[str, numpy.ndarray], at: int, rows: Sequence[tuple[int, bytes, str, str, str]]
) -> None:
    there = slice(at, at + len(rows))
    codes = {text: _code(text) for row in rows for text in row[2:]}
    parts["ids"][there, 0] = [row[0] for row in rows]
    parts["scopes"][there] = [[codes[text] for text in row[2:]] for row in rows]
    whole = numpy.frombuffer(b"".join(row[1] for row in rows), dtype="<f2")
    parts["whole"][there] = whole.reshape(len(rows), -1)


def _turn(parts: dict[str, numpy.ndarray]) -> None:
    for at in range(0, len(parts["part"]), _AT_ONCE):
        some = parts["whole"][at : at + _AT_ONCE].astype(numpy.float32)
        parts["part"][at : at + _AT_ONCE] = some @ parts["axes"]


def _code(text: str) -> int:
    """A project, a collection or an origin, in 64 bits."""
    return int(key(text)[:16], 16) - (1 << 63)


class Matrix:
    """`part` is what all are compared by: the whole of each, or its first components along the axes."""

    def __init__(self, data: bytearray | mmap.mmap) -> None:
        head = vectorfile.unpacked(bytes(data[:HEAD]))
        assert head is not None, "whoever maps it has looked"
        self.head = head
        self._data = data
        parts = _parts(data, head)
        self.whole, self._scopes, self._axes = parts["whole"], parts["scopes"], parts["axes"]
        self.part = parts["part"] if head.components else self.whole.astype(numpy.float32)
        # As they are now: a row may be cleared while one looks for it.
        self.ids = parts["ids"][:, 0].copy()
        self._order = numpy.argsort(self.ids, kind="stable")

    def says(self) -> Head | None:
        """The head as it is now: somebody may have been refused, or killed, while they took a row away."""
        return vectorfile.unpacked(bytes(self._data[:HEAD]))

    def nearest(
        self, vector: numpy.ndarray, most: int, where: Filter, ids: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """(id, cosine), nearest first; of `ids` alone, if given."""
        turned = _products(self._axes.T, vector) if self.head.components else vector
        fits = numpy.where(self._meant(where, ids), _products(self.part, turned), numpy.float32(-2))
        places = _largest(fits, _PICKED if self.head.components else most)
        places = places[fits[places] > -2]
        fits = _products(self.whole[places].astype(numpy.float32), vector)
        best = _largest(fits, most)
        best = best[numpy.argsort(-fits[best], kind="stable")]
        return [(int(self.ids[places[one]]), float(fits[one])) for one in best]

    def _meant(self, where: Filter, ids: Sequence[int] | None) -> numpy.ndarray:
        meant = self.ids > 0
        for kind, given in enumerate((where.projects, where.collections, where.origins)):
            if given:
                meant &= numpy.isin(self._scopes[:, kind], [_code(one) for one in given])
        if ids is not None:
            one = numpy.zeros(len(self.ids), dtype=bool)
            one[self._places(ids)] = True
            meant &= one
        return meant

    def similar(self, vector: numpy.ndarray, ids: Sequence[int]) -> dict[int, float]:
        places = self._places(ids)
        fits = _products(self.whole[places].astype(numpy.float32), vector)
        return {int(self.ids[place]): float(fit) for place, fit in zip(places, fits, strict=True)}

    def _places(self, ids: Sequence[int]) -> numpy.ndarray:
        wanted = numpy.unique(numpy.asarray(ids, dtype=numpy.int64))
        places = numpy.searchsorted(self.ids, wanted, sorter=self._order)
        known = places < len(self.ids)
        places = self._order[places[known]]
        return numpy.asarray(places[self.ids[places] == wanted[known]])


def _largest(fits: numpy.ndarray, most: int) -> numpy.ndarray:
    if len(fits) <= most:
        return numpy.arange(len(fits))
    return numpy.asarray(numpy.argpartition(fits, len(fits) - most)[-most:])


def _products(rows: numpy.ndarray, vector: numpy.ndarray) -> numpy.ndarray:
    """Not by `@`: that wakes a thread for each core, and they spin on when the product is long done."""
    return numpy.asarray(numpy.einsum("ij,j->i", rows, vector))
