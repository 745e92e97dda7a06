"""Where the client compacts, said before it does, beside where it then did.

The cases are the compactions of real sessions that the client itself began because the window was full;
where each was, the client wrote down beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core import gauge
from holdfast.core.fold import fold
from holdfast.core.lines import Account, records
from holdfast.core.state import State
from holdfast.core.transcript import entry
from truths import Corpora, NotMeasured, Row

#: The client looks before each request: what came in the meantime is in what it wrote down.
NEAR = 0.06


def _compactions(data: bytes) -> Iterator[tuple[int, int]]:
    """(capacity as it was said just before, tokens it was compacted at) of each."""
    state, account, offset = State("s"), Account(), 0
    for raw in data.splitlines(keepends=True):
        for record in records(raw, account):
            made = entry(record, offset, len(raw))
            if made is None or made.agent:
                continue
            if made.kind == "boundary" and made.pre_tokens:
                capacity = gauge.measure(state, offset).capacity
                fold(state.seen, made)
                if state.seen.compactions[-1][1] == "auto":
                    yield capacity, made.pre_tokens
                continue
            fold(state.seen, made)
        offset += len(raw)


def measured(corpora: Corpora) -> list[tuple[str, int, int]]:
    names = corpora.names()
    if not names:
        raise NotMeasured("it needs real sessions: --corpus DIR")
    return [(name, *pair) for name in names for pair in _compactions(corpora.session(name))]


def measure(corpora: Corpora) -> list[Row]:
    found = measured(corpora)
    near = sum(abs(said - was) <= NEAR * was for _, said, was in found)
    return [
        Row(
            "thresholds",
            f"where the client compacts, within {NEAR:.0%}",
            len(found),
            100 * near / len(found),
            90,
        )
    ]
