"""How well a receipt judges summaries: python bench/receipt.py [--corpus DIR] [--show WHAT]

On real compactions with labelled facts, where a corpus of them is at hand. A label's anchors say whether
the client's summary has the fact; the receipt has to say the same from the fact's text alone. Controls:
the same facts against summaries of other sessions, and against their own summary with the fact's lines
cut out. Then whole checkpoints composed at each compaction: accusations in summaries nobody tampered
with, and in the same ones with planted facts. What summaries make up, and labelled facts with a value
changed, are in bench/truth.py. Ends with 1 if a goal is missed, and with 2 if nothing was measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import PYTHON, REPO, progress, run, table
from holdfast.core import receipt
from holdfast.core.compose import Composer
from holdfast.core.fold import fold
from holdfast.core.lines import Account, records
from holdfast.core.redact import Redactor
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.core.terms import Lexicon, Places, tokens
from holdfast.core.transcript import entry

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
KEPT, LOST, FOREIGN, ACCUSED, CAUGHT, STARTS = 0.80, 0.75, 0.97, 0.01, 0.95, 4.0
_WINDOW = 400
#: How the client hands on what a person said with an answer or a refusal.
_ANSWERED = (
    "the user said:\n",
    "answered your questions",
    "questions have been answered",
    "approved your plan",
)
#: section, item, what a summary says that kept it, what one says that did not
PLANTED = (
    (
        *("Key Decisions", "The tide gauge daemon listens on port 8123 behind nginx"),
        *(
            "The tide gauge daemon listens on port 8123 behind nginx.",
            "Tide gauge daemon listens on port 9123, behind nginx.",
        ),
    ),
    (
        *("Standing Instructions", "Keep the harbour poll interval at 450 ms"),
        *("Harbour poll interval stays at 450 ms", "The harbour poll interval is 900 ms"),
    ),
    (
        *("Key Decisions", "buoyCacheLimit = 4096 entries, more made the replica swap"),
        *(
            "Set buoyCacheLimit = 4096 entries because the replica swapped",
            "Set buoyCacheLimit = 8192 entries because the replica swapped",
        ),
    ),
    (
        *("Plan and Workflow", "Ship the mooring importer from branch mira/mooring-import-v2"),
        *(
            "The mooring importer ships from branch mira/mooring-import-v2",
            "The mooring importer ships from branch mira/mooring-legacy-v9",
        ),
    ),
    (
        *("Standing Instructions", "Never squash the harbour migrations"),
        *("Never squash the harbour migrations", "You may squash the harbour migrations"),
    ),
    (
        *("Standing Instructions", "Do not reformat vendored lighthouse sources"),
        *(
            "The vendored lighthouse sources must not be reformatted; do not reformat them",
            "Vendored lighthouse sources can reformat freely: you may reformat lighthouse sources",
        ),
    ),
    (
        *("Commands and Tests", "Test run: `pytest tests/test_harbour.py` → exit 1: 2 failed"),
        *("`pytest tests/test_harbour.py` exit 1, 2 tests failed", "`pytest tests/test_harbour.py` passes"),
    ),
)


class Case(NamedTuple):
    name: str
    file: str
    summary: str
    typed: list[str]
    sections: dict[str, list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, default=CORPUS, help="folder with labels.jsonl and transcripts"
    )
    parser.add_argument("--show", choices=["lost", "kept", "accused"], help="print where it disagrees")
    args = parser.parse_args()
    if not (args.corpus / "labels.jsonl").exists():
        print(f"no labelled compactions under {args.corpus}: nothing was measured", file=sys.stderr)
        sys.exit(2)
    labels = [json.loads(line) for line in (args.corpus / "labels.jsonl").read_text().splitlines()]
    cases = {case.name: case for case in read(args.corpus)}
    text, good = measure(labels, cases, args.show or "")
    print(text)
    sys.exit(0 if good else 1)


def measure(labels: list[dict], cases: dict[str, Case], show: str) -> tuple[str, bool]:
    facts, facts_good = judged(labels, cases, show)
    accused, accused_good = accusations(cases, show)
    cost, cost_good = costs(list(cases.values()))
    return f"{facts}\n\n{accused}\n\n{cost}", facts_good and accused_good and cost_good


# Kept and lost


def judged(labels: list[dict], cases: dict[str, Case], show: str) -> tuple[str, bool]:
    lexicon = Lexicon()
    names = sorted({label["case"] for label in labels})
    places = {name: Places(cases[name].summary, lexicon) for name in names}
    right: dict[str, list[bool]] = {"kept": [], "lost": [], "foreign": [], "cut": []}
    agreed: list[bool] = []
    for label in labels:
        case, fact = cases[label["case"]], label["fact"]
        has = found(case.summary.lower(), label["anchors"])
        says = keeps(places[case.name], fact, lexicon)
        right["kept" if has else "lost"].append(says == has)
        agreed.append(says == has)
        if says != has and show == ("lost" if has else "kept"):
            print(f"said {show}: {case.name} {label['class']}: {fact}")
        for other in names:
            if cases[other].file != case.file:
                right["foreign"].append(not keeps(places[other], fact, lexicon))
        if has:
            cut = Places(without(case.summary, label["anchors"]), lexicon)
            right["cut"].append(not keeps(cut, fact, lexicon))
    share = {name: statistics.fmean(told) for name, told in right.items()}
    missed = sum(not told for told in right["kept"])
    hits = sum(right["lost"])
    kept, lost = held_out(labels, cases)
    rows = [
        ["in the summary, by its anchors: said kept", len(right["kept"]), f"{share['kept']:.1%}"],
        ["not in the summary: said lost", len(right["lost"]), f"{share['lost']:.1%}"],
        ["said lost: is not in the summary", hits + missed, f"{hits / max(1, hits + missed):.1%}"],
        ["kept, threshold from the other sessions", len(right["kept"]), f"{kept:.1%}"],
        ["lost, threshold from the other sessions", len(right["lost"]), f"{lost:.1%}"],
        ["agreement", len(agreed), f"{statistics.fmean(agreed):.1%}"],
        ["summary of another session: said lost", len(right["foreign"]), f"{share['foreign']:.1%}"],
        ["its lines cut out of the summary: said lost", len(right["cut"]), f"{share['cut']:.1%}"],
    ]
    good = share["kept"] >= KEPT and share["lost"] >= LOST and share["foreign"] >= FOREIGN
    return table(["labelled facts", "facts", "share"], [list(map(str, row)) for row in rows]), good


def held_out(labels: list[dict], cases: dict[str, Case]) -> tuple[float, float]:
    """Shares of kept and lost that are said so, with the threshold chosen on the other sessions."""
    lexicon, chosen = Lexicon(), receipt.KEPT
    places = {name: Places(cases[name].summary, lexicon) for name in {label["case"] for label in labels}}
    has = [found(cases[label["case"]].summary.lower(), label["anchors"]) for label in labels]
    files = [cases[label["case"]].file for label in labels]
    said: dict[int, list[bool]] = {}
    for percent in range(40, 62):
        receipt.KEPT = percent / 100
        said[percent] = [keeps(places[label["case"]], label["fact"], lexicon) for label in labels]
    receipt.KEPT = chosen
    right: dict[bool, list[bool]] = {True: [], False: []}

    def youden(percent: int, without: str) -> float:
        rows = [(h, s) for h, s, file in zip(has, said[percent], files, strict=True) if file != without]
        return sum(statistics.fmean(h == s for h, s in rows if h == side) for side in (True, False))

    for file in set(files):
        best = max(said, key=lambda percent: youden(percent, file))
        for h, s, where in zip(has, said[best], files, strict=True):
            if where == file:
                right[h].append(h == s)
    return statistics.fmean(right[True]), statistics.fmean(right[False])


def keeps(places: Places, fact: str, lexicon: Lexicon) -> bool:
    return receipt.keeps(places, lexicon.terms(fact), len(tokens(fact)))


def found(low: str, anchors: list[list[str]]) -> bool:
    """All groups of anchors within a window, as the corpus scores it."""
    groups = [places_of(low, group) for group in anchors]
    return all(groups) and any(
        all(any(abs(place - start) <= _WINDOW for place in group) for group in groups[1:])
        for start in groups[0]
    )


def places_of(low: str, group: list[str]) -> list[int]:
    places = []
    for anchor in map(str.lower, group):
        at = low.find(anchor)
        while at >= 0:
            places.append(at)
            at = low.find(anchor, at + 1)
    return places


def without(text: str, anchors: list[list[str]]) -> str:
    """The text, without the lines that make it have the fact."""
    while found(text.lower(), anchors):
        group = min(anchors, key=lambda group: len(places_of(text.lower(), group)))
        lines = text.split("\n")
        text = "\n".join(line for line in lines if not any(a.lower() in line.lower() for a in group))
    return text


# Accusations


def accusations(cases: dict[str, Case], show: str) -> tuple[str, bool]:
    count: Counter[str] = Counter()
    for case in cases.values():
        made = receipt.score(case.sections, case.summary, case.typed)
        count["items"] += made["items"]
        count["contradicted"] += made["contradicted"]
        if show == "accused":
            for row in made["contradicted_items"]:
                print(case.name, *row, sep="\n  ")
        for name, number in zip(("planted", "same", "false", "caught"), planted(case), strict=True):
            count[name] += number
    rows = [
        ["items of a checkpoint at each compaction: called contradicted", "items", "contradicted"],
        ["made facts put into a summary as they are: called kept", "planted", "same"],
        ["the same: called contradicted", "planted", "false"],
        [
            "made facts put in with another value or as the opposite: called contradicted",
            "planted",
            "caught",
        ],
    ]
    cells = [[what, str(count[of]), str(count[number])] for what, of, number in rows]
    good = count["contradicted"] <= ACCUSED * count["items"]
    good = good and count["caught"] >= CAUGHT * count["planted"] and not count["false"]
    return table(["accusations", "of", "number"], cells), good


def planted(case: Case) -> tuple[int, int, int, int]:
    """Facts put into a real summary, as they are and then turned into their opposite: how many there
    are, how many are kept as they are, how many of those are called contradicted, and of the opposite."""
    kept = false = caught = 0
    lines = case.summary.split("\n")
    half = len(lines) // 2
    while sum(line.strip().startswith("```") for line in lines[:half]) % 2:  # not into a piece of code
        half += 1
    for section, item, same, other in PLANTED:
        verdicts = []
        for said in (same, other):
            summary = "\n".join([*lines[:half], f"- {said}", *lines[half:]])
            verdicts.append(receipt.score({section: [f"{item} (turn 3, entry 0a1b2c3d)"]}, summary, []))
        kept += verdicts[0]["kept"]
        false += verdicts[0]["contradicted"]
        caught += verdicts[1]["contradicted"]
    return len(PLANTED), kept, false, caught


def costs(cases: list[Case]) -> tuple[str, bool]:
    """CPU of one receipt: of the compactions as they were, and of 150 items and 16 KB of summary."""
    bare = (
        statistics.median(run([PYTHON, "-I", "-S", "-c", "pass"], b"", {}).cpu_s for _ in range(15)) * 1000
    )
    items = [item for case in cases for items in case.sections.values() for item in items]
    sections = {name: items[n * 15 : n * 15 + 15] for n, name in enumerate(receipt.SECTIONS)}
    largest = Case("", "", max((c.summary for c in cases), key=len)[:16_384], cases[0].typed, sections)
    real = sorted(((cost(case), case) for case in cases), key=lambda pair: pair[0])
    rows = []
    middle = real[len(real) // 2]
    for name, (took, case) in (("median of real ones", middle), ("large", (cost(largest), largest))):
        sizes = sum(map(len, case.sections.values())), len(case.summary)
        rows.append([name, *map(str, sizes), f"{took:.1f}", f"{took / bare:.2f}"])
    head = ["compaction", "items", "characters of summary", "CPU ms", "× bare start"]
    return table(head, rows), took <= STARTS * bare


def cost(case: Case) -> float:
    took = []
    for _ in range(7):
        began = time.process_time()
        receipt.score(case.sections, case.summary, case.typed)
        took.append((time.process_time() - began) * 1000)
    return min(took)


# Cases


def read(corpus: Path) -> Iterator[Case]:
    rows = [json.loads(line) for line in (corpus / "cases.jsonl").read_text().splitlines()]
    for done, row in enumerate(rows):
        progress(f"{done}/{len(rows)} {row['id']}")
        yield compaction(row, (corpus / "transcripts" / f"{row['file']}.gz"))
    progress("")


def compaction(row: dict, path: Path) -> Case:
    """One compaction: the transcript folded up to it, and the summary that came."""
    seen, account, offset = Seen(), Account(), 0
    data, typed = [], []
    with gzip.open(path) as file:
        lines = list(file)
    for raw in lines[: row["line"] - 1]:
        for record in records(raw, account):
            made = entry(record, offset, len(raw))
            if made is not None:
                fold(seen, made)
            typed += said_by_a_person(record)
        data.append(raw)
        offset += len(raw)
    whole = b"".join(data)

    def words(at: int, length: int) -> list:
        return records(whole[at : at + length], Account()) if length else []

    state = State("bench")
    state.seen = seen
    sections = Composer(state, words, Redactor(b"bench").text, row["cwd"], {}).sections()
    rest = (record for raw in lines[row["line"] - 1 :] for record in records(raw, account))
    summary = next(text_of(record) for record in rest if record.get("isCompactSummary"))
    return Case(row["id"], row["file"], summary, typed, sections)


def said_by_a_person(record: dict) -> list[str]:
    attachment = record.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        return [str(attachment.get("prompt"))]
    if record.get("type") != "user" or record.get("isSidechain") or record.get("isCompactSummary"):
        return []
    answers = [text for text in results(record) if any(mark in text for mark in _ANSWERED)]
    return [text_of(record), *answers]


def text_of(record: dict) -> str:
    content: Any = (record.get("message") or {}).get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content or () if block.get("type") == "text")


def results(record: dict) -> Iterator[str]:
    content: Any = (record.get("message") or {}).get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            inner = block.get("content")
            yield inner if isinstance(inner, str) else json.dumps(inner)


if __name__ == "__main__":
    main()
