"""Real transcripts, where a corpus of them is at hand: $HOLDFAST_CORPUS, or ../shared/corpus.

They are other people's sessions and no part of this project; without them these tests are skipped and
say so. What they check on real sessions, the example and made sessions check everywhere.
"""

from __future__ import annotations

import gzip
import os
import re
import statistics
from pathlib import Path

import pytest

import gauge
import shares
from holdfast.app import Holdfast
from holdfast.ops.context import usage

_BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", _BESIDE))
PATHS = sorted([*CORPUS.rglob("*.jsonl.gz")])

pytestmark = pytest.mark.skipif(
    not PATHS, reason=f"no transcripts under {CORPUS}: nothing real was measured"
)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_every_byte_of_a_real_transcript_is_accounted_for(path: Path, tmp_path: Path) -> None:
    plain = tmp_path / path.name.removesuffix(".gz")
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    found = usage(Holdfast.open({"HOME": str(tmp_path)}), transcript=str(plain))
    sums = found.bytes
    assert sums is not None
    assert sums.parsed + sums.salvaged + sums.skipped == sums.size == plain.stat().st_size
    assert sums.damaged_lines == 0
    assert found.source in ("usage", "usage+estimate", "estimate")
    assert 0 < found.used <= found.max
    assert re.match(r"claude-", found.model)
    assert found.turns > 0


def test_predictions_on_real_sessions_are_within_the_goal() -> None:
    with_usage, without = [], []
    for path in PATHS[::4]:
        entries = list(gauge.read(path))
        with_usage += [error for error, _ in gauge.predictions(entries, hide_usage=False)]
        without += [error for error, _ in gauge.predictions(entries, hide_usage=True)]
    with_usage.sort()
    assert statistics.median(with_usage) <= 0.2
    assert with_usage[int(len(with_usage) * 0.9)] <= 1.0
    assert statistics.median(without) <= 9


def test_what_fills_real_windows_is_told_honestly_and_no_real_session_thrashes(tmp_path: Path) -> None:
    ratios = []
    for path in PATHS:
        state, cycles = shares.look(path, tmp_path)
        ratios += [cycle.shares.measured / cycle.shares.used for cycle in cycles]
        assert not shares.told(state), path.name
    ratios.sort()
    assert len(ratios) >= len(PATHS)
    assert 0.95 <= statistics.median(ratios) <= 1.05
    assert ratios[len(ratios) // 10] >= 0.9
    assert ratios[len(ratios) * 9 // 10] <= 1.1


def test_a_session_that_thrashed_would_be_told(tmp_path: Path) -> None:
    """The control: the same compactions, with hardly a turn between them."""
    state, _ = shares.look(max(PATHS, key=lambda path: path.stat().st_size), tmp_path)
    first = state.seen.turned[-1]
    state.seen.compactions = [["", "auto", 167_000, 9_000, first + number, ""] for number in range(3)]
    assert shares.told(state)
