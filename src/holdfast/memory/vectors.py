"""Vectors of a memory.db as one matrix in this process, read again when they have changed.

Exact where there are few. Where there are many, the part of each vector that tells most of them apart (its
principal components) picks out some thousands, and those are compared whole.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from threading import Lock

import numpy

from holdfast.memory.shelf import Filter

#: From so many on candidates are picked out first: by so many components, so many of them.
_MANY, _COMPONENTS, _PICKED = 20_000, 64, 1_000
_SAMPLED = 10_000
_kept: dict[tuple[str, int, str, int], Matrix] = {}
_lock = Lock()


def of(db: sqlite3.Connection, path: str, model: str, size: int) -> Matrix:
    """Those of one model and size; others are as good as none."""
    name = (path, os.stat(path).st_ino, model, size)
    with _lock:
        matrix = _kept.get(name)
        changes = db.execute("SELECT value FROM counters WHERE name = 'changes'").fetchone()[0]
        if matrix is None or matrix.changes != changes:
            rows = db.execute(
                "SELECT v.id, v.data, i.project, i.collection, i.origin "
                "FROM vectors v JOIN items i USING (id) "
                "WHERE v.model = ? AND length(v.data) = ? ORDER BY v.id",
                (model, 2 * size),
            ).fetchall()
            for other in [one for one in _kept if one[0] == path]:
                del _kept[other]
            matrix = _kept[name] = Matrix(rows, size, changes)
        return matrix


class Matrix:
    """`part` is what all are compared by: the whole of each, or its first components along `axes`."""

    def __init__(self, rows: Sequence[tuple[int, bytes, str, str, str]], size: int, changes: int) -> None:
        self.changes = changes
        self.ids = numpy.array([row[0] for row in rows], dtype=numpy.int64)
        self.whole = numpy.frombuffer(b"".join(row[1] for row in rows), dtype="<f2").reshape(-1, size)
        self.codes: list[dict[str, int]] = [{}, {}, {}]
        self.coded = numpy.empty((3, len(rows)), dtype=numpy.int32)
        for kind, codes in enumerate(self.codes):
            self.coded[kind] = [codes.setdefault(str(row[2 + kind]), len(codes)) for row in rows]
        self.axes: numpy.ndarray | None = None
        if len(rows) < _MANY:
            self.part = self.whole.astype(numpy.float32)
        else:
            self._turn()

    def _turn(self) -> None:
        sample = self.whole[:: max(1, len(self.ids) // _SAMPLED)].astype(numpy.float32)
        _, axes = numpy.linalg.eigh(sample.T @ sample)
        self.axes = numpy.ascontiguousarray(axes[:, ::-1][:, :_COMPONENTS], dtype=numpy.float32)
        parts = range(0, len(self.ids), _SAMPLED)
        self.part = numpy.concatenate(
            [self.whole[at : at + _SAMPLED].astype(numpy.float32) @ self.axes for at in parts]
        )

    def nearest(
        self, vector: numpy.ndarray, most: int, where: Filter, ids: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """(id, cosine), nearest first; of `ids` alone, if given."""
        if not len(self.ids):
            return []
        fits = _products(self.part, vector if self.axes is None else vector @ self.axes)
        meant = self._meant(where, ids)
        if meant is not None:
            fits = numpy.where(meant, fits, numpy.float32(-2))
        if self.axes is not None:
            places = _largest(fits, _PICKED)
            places = places[fits[places] > -2]
            fits = _products(self.whole[places].astype(numpy.float32), vector)
        else:
            places = numpy.arange(len(fits)) if meant is None else numpy.flatnonzero(meant)
            fits = fits[places]
        best = _largest(fits, most)
        best = best[numpy.argsort(-fits[best], kind="stable")]
        return [(int(self.ids[places[one]]), float(fits[one])) for one in best]

    def _meant(self, where: Filter, ids: Sequence[int] | None) -> numpy.ndarray | None:
        meant: numpy.ndarray | None = None
        for kind, given in enumerate((where.projects, where.collections, where.origins)):
            codes = self.codes[kind]
            wanted = [codes[one] for one in given if one in codes]
            if given and len(wanted) < len(codes):
                one = numpy.isin(self.coded[kind], wanted)
                meant = one if meant is None else meant & one
        if ids is not None:
            one = numpy.zeros(len(self.ids), dtype=bool)
            one[self._places(ids)] = True
            meant = one if meant is None else meant & one
        return meant

    def similar(self, vector: numpy.ndarray, ids: Sequence[int]) -> dict[int, float]:
        places = self._places(ids)
        fits = _products(self.whole[places].astype(numpy.float32), vector)
        return {int(self.ids[place]): float(fit) for place, fit in zip(places, fits, strict=True)}

    def _places(self, ids: Sequence[int]) -> numpy.ndarray:
        wanted = numpy.unique(numpy.asarray(ids, dtype=numpy.int64))
        places = numpy.searchsorted(self.ids, wanted)
        known = places < len(self.ids)
        places = places[known]
        return numpy.asarray(places[self.ids[places] == wanted[known]])


def _largest(fits: numpy.ndarray, most: int) -> numpy.ndarray:
    if len(fits) <= most:
        return numpy.arange(len(fits))
    return numpy.asarray(numpy.argpartition(fits, len(fits) - most)[-most:])


def _products(rows: numpy.ndarray, vector: numpy.ndarray) -> numpy.ndarray:
    """Not by `@`: that wakes a thread for each core, and they spin on when the product is long done."""
    return numpy.asarray(numpy.einsum("ij,j->i", rows, vector))
