"""Facts with a value changed: a receipt must not call them kept, nor accuse those that are as they were.

A case names a labelled fact (case and number among the labels) and how it is altered: a number, a name, two
of them swapped, a negation, an opposite (receipts.json; drawn with a seed, before the rules were written).
The summary is the client's own, without the lines that keep the fact; in their place stands the fact,
altered or as it is. The fact is the checkpoint's item, so the sentence agrees with it word for word but for
what was altered. The last row holds each fact against the summary as the client wrote it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from harness import progress
from holdfast.core import receipt
from holdfast.core.lines import Account, records
from holdfast.core.spoken import summary as told_by
from receipt import without

from . import Corpora, NotMeasured, Row

HERE = Path(__file__).resolve().parent
#: The section of a checkpoint in which a fact of a class stands.
SECTIONS = {
    "goal": "Goal",
    "instruction": "Standing Instructions",
    "decision": "Key Decisions",
    "deadend": "Key Decisions",
    "issue": "Active Issues",
    "next": "Next Steps",
    "done": "Why Changed",
    "value": "Key Decisions",
}
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?![\w.]*\w)|(?<![\w.])\d+(?=(?:ms|s|px|kB|MB|GB|%)\b)")
_NAME = re.compile(r"[A-Za-z_][\w/-]*(?:[._/][\w-]+)+|[A-Za-z]+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+")
_NOT = re.compile(r"\b(?:do not|does not|did not|not|never|no longer) ", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|was|were|must|should|can|will) (?!not\b)")
OPPOSITES = (
    *("before after", "always never", "add remove", "enable disable", "first last", "with without"),
    *("public private", "on off", "true false", "required optional", "passes fails", "open closed"),
    *("old new", "keep drop", "left right", "local remote", "user agent", "old new", "default custom"),
)
KINDS = ("number", "name", "swap", "negation", "opposite")


class Label(NamedTuple):
    case: str
    number: int
    cls: str
    fact: str
    anchors: list[list[str]]


def measure(corpora: Corpora) -> list[Row]:
    told = json.loads((HERE / "receipts.json").read_text())
    labels, cases = read(corpora)
    count = {"kept": 0, "lost": 0, "contradicted": 0}
    asked, wrong, of, real, real_of = 0, 0, 0, 0, 0
    for case, number, kind, _ in told["altered"]:
        label = labels.get((case, number))
        if label is None:
            continue
        asked += 1
        count[verdict(label, alter(label.fact, kind, names_of(labels, case)), cases[case])] += 1
    for case, number, _ in told["unaltered"]:
        label = labels.get((case, number))
        if label is None:
            continue
        of += 1
        wrong += verdict(label, label.fact, cases[case]) == "contradicted"
    for label in labels.values():
        real_of += 1
        real += verdict(label, None, cases[label.case]) == "contradicted"
    found = 100 * (count["contradicted"] + count["lost"]) / asked
    return [
        Row("receipts", "altered facts contradicted or lost", asked, found, 95),
        Row("receipts", "altered facts kept", asked, 100 * count["kept"] / asked, 1, True),
        Row("receipts", "unaltered facts contradicted", of, 100 * wrong / of, 2, True),
        Row(
            "receipts",
            "facts contradicted by the client's summary",
            real_of,
            100 * real / real_of,
            2,
            True,
        ),
    ]


def verdict(label: Label, said: str | None, summary: str) -> str:
    """What a receipt says of the fact, when the summary has this in its place; None: as it is."""
    if said is not None:
        lines = without(summary, label.anchors).split("\n")
        half = len(lines) // 2
        while sum(line.strip().startswith("```") for line in lines[:half]) % 2:
            half += 1
        summary = "\n".join([*lines[:half], f"- {said}", *lines[half:]])
    made = receipt.score({SECTIONS[label.cls]: [f"{label.fact} (turn 3, entry 0a1b2c3d)"]}, summary, [])
    return next((name for name in ("contradicted", "kept") if made[name]), "lost")


def alter(fact: str, kind: str, names: list[str]) -> str:
    """The fact with one thing changed; as it is where there is nothing of that kind."""
    if kind == "number" and (found := _NUMBER.search(fact)):
        return fact[: found.start()] + _other_number(found.group()) + fact[found.end() :]
    if kind == "name" and (found := _NAME.search(fact)):
        other = _other_name(found.group(), fact, names)
        return fact[: found.start()] + other + fact[found.end() :] if other else fact
    if kind == "swap":
        return _swapped(fact)
    if kind == "negation":
        if _NOT.search(fact):
            return _NOT.sub("", fact, count=1)
        return _IS.sub(lambda one: f"{one.group()}not ", fact, count=1)
    if kind == "opposite":
        for pair in OPPOSITES:
            for one, other in (pair.split(), pair.split()[::-1]):
                if re.search(rf"\b{one}\b", fact) and not re.search(rf"\b{other}\b", fact):
                    return re.sub(rf"\b{one}\b", other, fact, count=1)
    return fact


def _other_number(number: str) -> str:
    head, dot, last = number.rpartition(".")
    return head + dot + str(int(last) * 2 + 3)


def _other_name(name: str, fact: str, names: list[str]) -> str:
    """Another name of the same kind from the same session."""
    like = [one for one in names if one not in fact and name not in one and ("/" in one) == ("/" in name)]
    like = [one for one in like if ("." in one) == ("." in name)] or like
    return like[len(fact) % len(like)] if like else ""


def _swapped(fact: str) -> str:
    for pattern in (_NUMBER, _NAME):
        found = list(pattern.finditer(fact))
        texts = [one.group() for one in found]
        if len(found) > 1 and len(set(texts)) == len(texts):
            one, two = found[0], found[1]
            between = fact[one.end() : two.start()]
            if len(between.split()) > 1:  # in a list their order says nothing
                return fact[: one.start()] + two.group() + between + one.group() + fact[two.end() :]
    return fact


def names_of(labels: dict[tuple[str, int], Label], case: str) -> list[str]:
    found: dict[str, None] = {}
    for label in labels.values():
        if label.case == case:
            found |= dict.fromkeys(_NAME.findall(label.fact))
    return list(found)


def draw(labels: dict[tuple[str, int], Label], many: int = 200) -> dict[str, Any]:
    """The cases: kinds in turn, facts in the order of a hash. Run once, to make receipts.json."""
    order = sorted(
        labels.values(), key=lambda one: hashlib.sha256(f"{one.case}{one.number}".encode()).digest()
    )
    altered: list[list] = []
    used: set[tuple[str, int]] = set()
    while len(altered) < many:
        before = len(altered)
        for kind in KINDS:
            for label in order:
                key = (label.case, label.number)
                if key not in used and alter(label.fact, kind, names_of(labels, label.case)) != label.fact:
                    used.add(key)
                    altered.append([*key, kind, half_of(label.case)])
                    break
        if len(altered) == before:
            break
    rest = [label for label in order if (label.case, label.number) not in used][:many]
    return {
        "where": "Drawn by truths.receipts.draw from both corpora's labels: case, number among them, how "
        "it is altered, and the half it is in. `held` was not looked at while the rules were written.",
        "altered": altered[:many],
        "unaltered": [[one.case, one.number, half_of(one.case)] for one in rest],
    }


def half_of(case: str) -> str:
    return "held" if hashlib.sha256(case.encode()).digest()[0] % 2 else "tuned"


def read(corpora: Corpora) -> tuple[dict[tuple[str, int], Label], dict[str, str]]:
    """Every label at hand by its case and its number among all labels of its corpus; the summaries."""
    labels: dict[tuple[str, int], Label] = {}
    rows: dict[str, dict] = {}
    for folder, transcripts in ((corpora.corpus, "corpus"), (corpora.corpus / "wild", "wild")):
        if not (folder / "labels.jsonl").exists() or (transcripts == "wild" and corpora.wild is None):
            continue
        for line in (folder / "cases.jsonl").read_text().splitlines():
            row = json.loads(line)
            rows[row["id"]] = row
        for number, line in enumerate((folder / "labels.jsonl").read_text().splitlines()):
            said = json.loads(line)
            made = Label(said["case"], number, said["class"], said["fact"], said["anchors"])
            labels[made.case, number] = made
    if not labels:
        raise NotMeasured(f"there are no labels under {corpora.corpus}: --corpus DIR")
    cases = {}
    for case in sorted({label.case for label in labels.values()}):
        progress(case)
        cases[case] = summary_of(corpora.session(rows[case]["file"]), rows[case]["line"])
    return labels, cases


def summary_of(transcript: bytes, line: int) -> str:
    """The summary of the compaction at that line."""
    for raw in transcript.splitlines(keepends=True)[line - 1 :]:
        if b"isCompactSummary" in raw:
            for record in records(raw, Account()):
                if record.get("isCompactSummary") is True:
                    return told_by(record)
    raise NotMeasured(f"there is no summary after line {line}")
