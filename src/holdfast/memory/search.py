"""Which memories answer a question: candidates of any engine, one formula.

Words find what is named, vectors what is meant; both are put on one scale for each question and added up.
Ranks alone, added up as equals, do worse than words alone (docs/benchmarks.md). No model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import mul
from typing import NamedTuple

from holdfast.memory import dates
from holdfast.memory.embed import Embedder
from holdfast.memory.shelf import Filter, Row, Shelf
from holdfast.memory.terms import STOP, telling, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class Weights:
    """As `bench/crossfit.py` chooses them on conversations 1 to 5 of LoCoMo."""

    words: float = 1.0
    vector: float = 0.4
    #: The mean of an item's cosine and of those beside it; where nothing stands beside it, its own.
    window: float = 0.6
    #: The question names who said it.
    by: float = 0.3
    #: It asks when, and there is a time in it.
    time: float = 0.3
    #: It was said at a time that the question names.
    dated: float = 0.5
    #: An item that asks does not answer.
    asks: float = -0.3
    #: What follows an item that asks answers it: so much of what speaks for that speaks for this.
    answers: float = 0.3
    #: A word that a larger share of the items holds is not made part of the vector; one above the second
    #: is not looked for.
    too_common: float = 0.1
    no_use: float = 0.4

    def trusting(self, much: float) -> Weights:
        """How much vectors count is the embedder's to say."""
        return replace(self, vector=self.vector * much, window=self.window * much)


WEIGHTS = Weights()
#: Candidates of each kind.
_MOST, _LOOKED_INTO = 100, 60
#: Words of a question that are looked for: of a long one the rarest.
_MOST_WORDS, _LOOKED_AT = 24, 64
#: So many items that hold one are weighed for a question, unless it has fewer words than the first.
_LEAST_WORDS, _WEIGHED, _BESIDE = 3, 3_000, 7
#: A word of fewer items is not common, however few there are in all.
_FEW = 20
_WHEN = frozenset("when date day time year month long ago since".split())
_TIMES = frozenset(
    "yesterday today tomorrow tonight monday tuesday wednesday thursday friday saturday sunday january "
    "february march april may june july august september october november december week weekend month year "
    "day morning evening night ago last next recently since".split()
)


@dataclass(frozen=True)
class Found:
    row: Row
    score: float


@dataclass(frozen=True)
class Query:
    """A question as it is looked for: `words` to be matched, `meant` to be made a vector of."""

    text: str
    words: list[str]
    meant: str
    named: frozenset[str] = field(default_factory=frozenset)


class Parts(NamedTuple):
    """What speaks for an item, each about 0 to 1; they are added up, each by the weight of its name."""

    words: float
    vector: float
    window: float
    by: float
    time: float
    dated: float
    asks: float


@dataclass(frozen=True)
class Candidate:
    row: Row
    parts: Parts


def search(
    shelf: Shelf,
    embedder: Embedder | None,
    text: str,
    where: Filter,
    most: int = 10,
    weights: Weights = WEIGHTS,
) -> list[Found]:
    """The best, best first; of those that say the same, one."""
    if embedder:
        weights = weights.trusting(embedder.trust)
    found = candidates(shelf, embedder, text, where, looked_into(most), weights)
    best = sorted(_scored(found, weights), key=lambda one: (-one.score, -one.row.at, one.row.uid))
    return _distinct(best, most)


def looked_into(most: int) -> int:
    """How many candidates are weighed, where so many are asked for: a row of each has to be read."""
    return max(_LOOKED_INTO, 3 * most)


def candidates(
    shelf: Shelf, embedder: Embedder | None, text: str, where: Filter, most: int, weights: Weights
) -> dict[str, Candidate]:
    """By uid. The weights say what is looked for and which are worth a closer look, not what speaks for
    them."""
    query = asked(shelf, text, where, weights)
    by_words = dict(shelf.keyword(query.words, where, _MOST))
    by_vector, windows = dict[str, float](), dict[str, float]()
    vector = embedder.vectors([query.meant])[0] if embedder and query.meant else None
    model = embedder.model if embedder else ""
    if vector is not None:
        by_vector = dict(shelf.nearest(model, vector, where, _MOST))
        by_vector |= shelf.similar(model, vector, [uid for uid in by_words if uid not in by_vector])
    scale = (min(by_vector.values(), default=0.0), max(by_vector.values(), default=0.0))
    lexical = _scaled(by_words, (0.0, max(by_words.values(), default=0.0)))
    dense = _scaled(by_vector, scale)
    rows = shelf.rows(_best(lexical, dense, weights, most))
    if vector is not None and by_vector:
        windows = _scaled(_windows(shelf, model, vector, rows, by_vector), scale)
    return _weighed(query, rows, lexical, dense, windows)


def asked(shelf: Shelf, text: str, where: Filter, weights: Weights = WEIGHTS) -> Query:
    """Without what stands in a large share of all that is searched: it tells nothing apart, and drags a
    vector to wherever it stands."""
    every = telling(text)
    shares = shelf.common(every[:_LOOKED_AT], where)
    size = shelf.size(where)
    kept = sorted(shares, key=lambda word: shares[word])[:_MOST_WORDS]
    few = _FEW / max(1, size)
    rare = _affordable(kept, shares, size, max(weights.no_use, few))
    too_common = max(weights.too_common, few)
    meant = [word for word in text.split() if not _is_common(word, shares, too_common)]
    is_said = any(word not in STOP for word in words(" ".join(meant)))
    return Query(text, rare or kept, " ".join(meant) if is_said else text, frozenset(every))


def _affordable(kept: list[str], shares: dict[str, float], size: int, no_use: float) -> list[str]:
    """The rarest first, and as many as can be weighed at once: among very many items a word of every
    twentieth is dear and tells little."""
    found: list[str] = []
    dear = 0.0
    for word in kept:
        dear += shares[word] * size * _BESIDE  # it stands with its neighbours, too
        if shares[word] > no_use or (len(found) >= _LEAST_WORDS and dear > _WEIGHED):
            break
        found.append(word)
    return found


def _is_common(word: str, shares: dict[str, float], limit: float) -> bool:
    """Whether all that is said by a word as it is written (`Melanie's`) is common."""
    parts = [part for part in words(word) if part not in STOP]
    return bool(parts) and all(shares.get(part, 0.0) > limit for part in parts)


def _best(lexical: dict[str, float], dense: dict[str, float], weights: Weights, most: int) -> list[str]:
    """Of all candidates those that are worth a closer look."""
    near = weights.vector + weights.window

    def fit(uid: str) -> float:
        return weights.words * lexical.get(uid, 0.0) + near * dense.get(uid, 0.0)

    return sorted({**lexical, **dense}, key=fit, reverse=True)[:most]


def _windows(
    shelf: Shelf, model: str, vector: numpy.ndarray, rows: dict[str, Row], known: dict[str, float]
) -> dict[str, float]:
    """How near each candidate is, together with what stands beside it."""
    wanted = {uid for row in rows.values() for uid in (row.before, row.after) if uid}
    fits = {**shelf.similar(model, vector, [uid for uid in wanted if uid not in known]), **known}
    windows = {}
    for uid, row in rows.items():
        beside = [fits[one] for one in (row.before, row.after) if one in fits]
        own = fits.get(uid, 0.0)
        windows[uid] = (own + sum(beside)) / (1 + len(beside))
    return windows


def _weighed(
    query: Query,
    rows: dict[str, Row],
    lexical: dict[str, float],
    dense: dict[str, float],
    windows: dict[str, float],
) -> dict[str, Candidate]:
    asks_when = not _WHEN.isdisjoint(words(query.text))
    then = dates.named(query.text)
    found = {}
    for uid, row in rows.items():
        parts = Parts(
            words=lexical.get(uid, 0.0),
            vector=dense.get(uid, 0.0),
            window=windows.get(uid, 0.0),
            by=float(bool(row.by) and not query.named.isdisjoint(words(row.by))),
            time=float(asks_when and _has_time(row.text)),
            dated=dates.nearness(row.first_at, then),
            asks=float(row.text.rstrip().endswith("?")),
        )
        found[uid] = Candidate(row, parts)
    return found


def _scored(found: dict[str, Candidate], weights: Weights) -> list[Found]:
    each = [getattr(weights, name) for name in Parts._fields]
    fits = {uid: sum(map(mul, each, one.parts)) for uid, one in found.items()}
    scored = []
    for uid, one in found.items():
        answered = found.get(one.row.before)
        more = max(0.0, fits[answered.row.uid]) if answered and answered.parts.asks else 0.0
        scored.append(Found(one.row, fits[uid] + weights.answers * more))
    return scored


def _has_time(text: str) -> bool:
    return any(word in _TIMES or (len(word) == 4 and word.isdecimal()) for word in words(text))


def _scaled(fits: dict[str, float], scale: tuple[float, float]) -> dict[str, float]:
    """From 0 to 1, for this question. Where all fit alike, that says nothing for any of them: a single one
    would else have the most there is, however little it fits."""
    low, high = scale
    return {uid: (fit - low) / (high - low) if high > low else 0.0 for uid, fit in fits.items()}


def _distinct(found: Sequence[Found], most: int) -> list[Found]:
    kept, shapes = [], set()
    for one in found:
        if one.row.shape and one.row.shape in shapes:
            continue
        shapes.add(one.row.shape)
        kept.append(one)
        if len(kept) == most:
            break
    return kept
