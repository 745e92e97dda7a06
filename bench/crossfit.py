"""What deep memory's weights are worth on conversations that they were not chosen on.

    python bench/crossfit.py --locomo locomo10.json [--splits 252]

There are 252 ways to take five of LoCoMo's ten conversations. For each, the weights are chosen on those
five and count on the other five; so is how much `minilm` is trusted beside them. One rule chooses: from no
weight at all, each in turn is given the value that does best, until nothing is gained, in the sum of the
three figures that have a goal. The product has what is chosen on conversations 1 to 5. Not chosen anew is
which words are too common to be looked for: these two shares are older, and were chosen on 1 to 5, too.

Candidates and what speaks for each are the product's own (`search.candidates`), asked for once; which of
them look best, and the sum, are worked out here, for all questions at once.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy

from conversations import Question, embed_all, fill, loaded, session_of
from harness import table
from holdfast.memory import embed, search
from holdfast.memory.index import Index
from holdfast.memory.search import Parts, Weights
from holdfast.memory.shelf import Filter

#: What is tried for each weight, the least of it first: of two that do equally well the first is taken.
_TRIED = {
    "vector": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "window": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "by": (0.0, 0.1, 0.2, 0.3, 0.4),
    "time": (0.0, 0.1, 0.2, 0.3),
    "dated": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "asks": (0.0, -0.1, -0.2, -0.3, -0.4),
    "answers": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
}
_NONE = replace(search.WEIGHTS, **{name: tried[0] for name, tried in _TRIED.items()})
_TRUSTED = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
_ALL = range(10)
#: More than there ever are: of words and of vectors a hundred each.
_EVERY = 200
#: How many are found, best first.
_FIRST = 20
_NAMES = ("none", "wordllama", "minilm")
_TITLES = ["weights", "embedder", "R@10", "MRR", "sR@10"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, required=True, help="the public file with ten conversations")
    parser.add_argument("--splits", type=int, default=252, help="so many of them, by lot")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        print(report(Fits(args.locomo, folder), args.splits))


def report(fits: Fits, splits: int) -> str:
    every = list(combinations(_ALL, 5))
    first, last = every[0], every[-1]
    rows = []
    for five, others, name in ((first, last, "chosen on 1 to 5"), (last, first, "chosen on 6 to 10")):
        picked = chosen(fits, five)
        print(f"{name}: {picked}", file=sys.stderr)
        rows += [_row(name, one, [fits.means(*picked[one], others, one)]) for one in _NAMES]
    by_lot = random.Random(7).sample(every, min(splits, len(every)))
    held_out: dict[str, list[numpy.ndarray]] = {name: [] for name in _NAMES}
    for number, five in enumerate(by_lot):
        others = tuple(at for at in _ALL if at not in five)
        for name, (weights, trust) in chosen(fits, five).items():
            held_out[name].append(fits.means(weights, trust, others, name))
        print(f"{number + 1} of {len(by_lot)}", file=sys.stderr)
    rows += [_row(f"{len(by_lot)} ways", name, held_out[name]) for name in _NAMES]
    return f"{chosen(fits, first)['minilm']}\n{table(_TITLES, rows)}"


def _row(name: str, embedder: str, some: Sequence[numpy.ndarray]) -> list[str]:
    """The mean, and from the least to the most."""
    shown = []
    for figures in zip(*some, strict=True):
        between = f" ({min(figures):.1f} to {max(figures):.1f})" if len(figures) > 1 else ""
        shown.append(f"{sum(figures) / len(figures):.1f}{between}")
    return [name, embedder, *shown]


def chosen(fits: Fits, five: tuple[int, ...]) -> dict[str, tuple[Weights, float]]:
    """By embedder the weights and how much it is trusted."""
    best, before = _NONE, None
    while best != before:
        before = best
        for name, values in _TRIED.items():
            tried = [replace(best, **{name: value}) for value in values]
            best = max(tried, key=lambda weights: fits.sum(weights, 1.0, five, "wordllama"))
    trust = max(_TRUSTED, key=lambda trust: fits.sum(best, trust, five, "minilm"))
    return {"none": (best, 1.0), "wordllama": (best, 1.0), "minilm": (best, trust)}


class Fits:
    """What all questions find, by any weights."""

    def __init__(self, file: Path, folder: str) -> None:
        items, self._questions = loaded(file)
        self._shelves = {name: Index(f"{folder}/{name}.db") for name in _NAMES}
        for name, shelf in self._shelves.items():
            fill(shelf, items)
            embed_all(shelf, _embedder(name))
        self.worth = cache(self._worth)
        self._laid_out = cache(self._lay_out)

    def sum(self, weights: Weights, trust: float, those: tuple[int, ...], name: str) -> float:
        return float(self.means(weights, trust, those, name).sum())

    def means(self, weights: Weights, trust: float, those: tuple[int, ...], name: str) -> numpy.ndarray:
        """R@10, MRR and sR@10 of those conversations, in percent."""
        some = self.worth(weights.trusting(trust), name)[list(those)].sum(axis=0)
        return 100 * some[1:] / some[0]

    def _worth(self, weights: Weights, name: str) -> numpy.ndarray:
        """For each conversation how many questions there are, and the three figures added up."""
        found = self._laid_out(name)
        best = found.best(weights)
        rows = numpy.arange(len(best))[:, None]
        is_evidence = found.evidence[rows, best]
        ranks = numpy.where(is_evidence.any(axis=1), 1 / (1 + is_evidence.argmax(axis=1)), 0.0)
        figures = numpy.stack(
            [
                numpy.ones(len(best)),
                is_evidence[:, :10].sum(axis=1) / [len(one.evidence) for one in self._questions],
                ranks,
                found.sessions[rows, best][:, :10].any(axis=1),
            ],
            axis=1,
        )
        of = numpy.array([one.conversation for one in self._questions])
        return numpy.stack([figures[of == at].sum(axis=0) for at in _ALL])

    def _lay_out(self, name: str) -> Candidates:
        shelf, embedder = self._shelves[name], _embedder(name)
        return Candidates(
            self._questions,
            [
                search.candidates(
                    shelf, embedder, one.text, Filter((str(one.conversation),)), _EVERY, _NONE
                )
                for one in self._questions
            ],
        )


@cache
def _embedder(name: str) -> embed.Embedder | None:
    return None if name == "none" else embed.named(name)


class Candidates:
    """Of each question a row, of each of its candidates a place in it; the last place is nobody's."""

    def __init__(self, questions: Sequence[Question], found: Sequence[dict[str, search.Candidate]]) -> None:
        shape = (len(questions), _EVERY + 1)
        self.parts = numpy.zeros((*shape, len(Parts._fields)), dtype=numpy.float32)
        self.there = numpy.zeros(shape, dtype=bool)
        self.answered = numpy.full(shape, _EVERY)
        self.evidence = numpy.zeros(shape, dtype=bool)
        self.sessions = numpy.zeros(shape, dtype=bool)
        for at, (one, those) in enumerate(zip(questions, found, strict=True)):
            wanted = {session_of(uid) for uid in one.evidence}
            ordered = sorted(those.values(), key=lambda each: (-each.row.at, each.row.uid))
            places = {each.row.uid: place for place, each in enumerate(ordered)}
            for uid, place in places.items():
                each = those[uid]
                before = those.get(each.row.before)
                self.parts[at, place] = each.parts
                self.there[at, place] = True
                self.evidence[at, place] = uid in one.evidence
                self.sessions[at, place] = session_of(uid) in wanted
                if before and before.parts.asks:
                    self.answered[at, place] = places[before.row.uid]

    def best(self, weights: Weights) -> numpy.ndarray:
        """Of each question the places of the first, best first."""
        fits = self.parts @ numpy.array([getattr(weights, name) for name in Parts._fields], numpy.float32)
        looked_into = self._looked_into(weights)
        more = numpy.take_along_axis(
            numpy.where(looked_into, numpy.maximum(fits, 0), 0), self.answered, axis=1
        )
        fits = numpy.where(looked_into, fits + weights.answers * more, -numpy.inf)
        return numpy.argsort(-fits, axis=1, kind="stable")[:, :_FIRST]

    def _looked_into(self, weights: Weights) -> numpy.ndarray:
        """Which the product would weigh at all: those that look best at first sight."""
        words, vector = self.parts[..., 0], self.parts[..., 1]
        fits = weights.words * words + (weights.vector + weights.window) * vector
        fits = numpy.where(self.there, fits, -numpy.inf)
        best = numpy.argsort(-fits, axis=1, kind="stable")[:, : search.looked_into(_FIRST)]
        found = numpy.zeros_like(self.there)
        numpy.put_along_axis(found, best, True, axis=1)
        return found & self.there


if __name__ == "__main__":
    main()
