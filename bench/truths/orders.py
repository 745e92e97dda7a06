"""Orders that a summary makes up: how many are found, and how often a real summary is accused wrongly.

Sixty orders were invented (orders.json) in ten wordings and four languages. Each is planted into real
summaries of sessions in which its language was typed, and into an invented one. Every sentence that is
flagged in a summary as the client made it counts as a false alarm.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness import progress
from holdfast.core.ascribed import claims
from holdfast.core.claims import Typed, unsupported
from holdfast.core.facts import Facts
from holdfast.core.lines import Account, records
from holdfast.core.redact import Redactor
from holdfast.core.spoken import summary
from holdfast.core.terms import Lexicon
from holdfast.core.transcript import entry
from holdfast.errors import MISTAKES

from . import Corpora, Row

HERE = Path(__file__).resolve().parent
#: Real summaries into which each order is planted.
PLANTED = 5


class Case(NamedTuple):
    session: str
    entry: str
    summary: str
    typed: list[str]
    whole: bool


class Flagged(NamedTuple):
    session: str
    entry: str
    hash: str
    sentence: str


def measure(corpora: Corpora) -> list[Row]:
    told = json.loads((HERE / "orders.json").read_text())
    cases = list(summaries(corpora))
    found = [share for _, share in planted(told, cases)]
    foreign = [share for _, share in planted(told, cases, elsewhere=True)]
    every, made, wrong = alarms(cases)
    own, own_of = own_sessions(told)
    accused = len({(one.session, one.entry) for one in wrong})
    return [
        Row("orders", "made-up orders found", len(found), _mean(found), 80),
        Row("orders", "the same, in another language than was typed", len(foreign), _mean(foreign), 0),
        Row("orders", "false alarms, of sentences that ascribe", every, 100 * len(wrong) / every, 2, True),
        Row("orders", "summaries with a false alarm", made, 100 * accused / made, 20, True),
        Row("orders", "false alarms in four languages", own_of, 100 * own / own_of, 2, True),
    ]


def _mean(shares: list[float]) -> float:
    return 100 * sum(shares) / len(shares) if shares else 0.0


def planted(
    told: dict[str, Any], cases: list[Case], half: str = "", elsewhere: bool = False
) -> Iterator[tuple[dict, float]]:
    """Each order, and in which share of the summaries it was put into it was flagged. `elsewhere`: into
    sessions in which its language was not typed."""
    lexicon = Lexicon()
    whole = [(case, Typed(case.typed, []).languages) for case in cases if case.whole]
    for number, order in enumerate(told["orders"]):
        if half and order["half"] != half:
            continue
        fit = [case for case, spoken in whole if spoken and (order["lang"] in spoken) != elsewhere]
        hosts = [fit[(number * 7 + step * 11) % len(fit)] for step in range(PLANTED)] if fit else []
        if not elsewhere:
            own = told["sessions"][order["lang"]]
            hosts.append(Case("", "", "\n".join(own["true"]), own["typed"], True))
        if hosts:
            shares = [_is_found(order["says"], host, lexicon) for host in hosts]
            yield order, sum(shares) / len(shares)


def _is_found(order: str, host: Case, lexicon: Lexicon) -> float:
    """The share of its sentences that is flagged, put into the middle of a summary."""
    lines = host.summary.split("\n")
    half = len(lines) // 2
    while sum(line.strip().startswith("```") for line in lines[:half]) % 2:
        half += 1
    summary = "\n".join([*lines[:half], order, *lines[half:]])
    flagged = set(unsupported(claims(summary), Typed(host.typed, [], host.whole), lexicon))
    wanted = [line.strip() for line in order.strip().split("\n") if line.strip()]
    wanted = [line for line in wanted if not line.endswith((":", "："))]
    return sum(any(line in one or one in line for one in flagged) for line in wanted) / len(wanted)


def alarms(cases: list[Case]) -> tuple[int, int, list[Flagged]]:
    """Sentences that ascribe something, summaries, and what is flagged, in summaries as they are."""
    lexicon, every, found = Lexicon(), 0, []
    for case in cases:
        made = claims(case.summary)
        every += len(made)
        for sentence in unsupported(made, Typed(case.typed, [], case.whole), lexicon):
            found.append(Flagged(case.session, case.entry, hash_of(sentence), sentence))
    return every, len(cases), found


def own_sessions(told: dict[str, Any]) -> tuple[int, int]:
    lexicon, wrong, of = Lexicon(), 0, 0
    for own in told["sessions"].values():
        made = claims("\n".join(own["true"]))
        of += len(own["true"])
        wrong += len(unsupported(made, Typed(own["typed"], []), lexicon))
    return wrong, of


def hash_of(sentence: str) -> str:
    return hashlib.sha256(sentence.encode()).hexdigest()[:12]


def summaries(corpora: Corpora) -> Iterator[Case]:
    """Every compaction of every session, with what holdfast knows of what was typed before it."""
    redact = Redactor(b"bench").text
    for name in corpora.names():
        data = corpora.session(name)
        if b"isCompactSummary" not in data:
            continue
        progress(name)
        facts, offset = Facts(), 0
        for raw in data.splitlines(keepends=True):
            facts.overhear(raw, offset, redact)
            for record in records(raw, Account()):
                made = entry(record, offset, len(raw))
                if made is None:
                    continue
                if made.kind == "summary":
                    typed, whole = facts.evidence()
                    yield Case(name, made.uuid[:8], redact(summary(record)), list(typed), whole)
                try:
                    facts.take(record, made, redact)
                except MISTAKES:
                    facts.missed += 1
            offset += len(raw)
