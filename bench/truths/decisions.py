"""Whether what a checkpoint calls a decision is one, and whether those that were labelled are in it.

Items of "Key Decisions" are drawn from checkpoints composed at random moments of every session. Two readers
judged them from the session alone. The cases name session, entry and a hash of the item, and hold no text:
an item that nobody has judged is counted as such.

    python bench/truths/decisions.py MATERIAL.jsonl [--corpus DIR] [--wild DIR]

writes what a reader needs to judge what is drawn today: never to be committed, it holds the sessions' text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [
        str(Path(__file__).resolve().parents[2] / "src"),
        str(Path(__file__).resolve().parents[1]),
    ]

from harness import progress
from holdfast.app import Holdfast
from holdfast.core import checkpoint
from holdfast.material import Looked
from holdfast.ops.context import of_file, read
from survive import holds
from truths import Corpora, NotMeasured, Row

CASES = Path(__file__).with_name("decisions.jsonl")
_MOMENTS, _OF_EACH = 4, 4
_EARLIEST = 0.3
_ROOM = 4000 * 3.5 - 900
_PRECISION, _RECALL = 85.0, 90.9
_BEFORE, _SAID, _AFTER, _OUTPUT = 1600, 2400, 1500, 240


class Item(NamedTuple):
    session: str
    line: int
    entry: str
    text: str

    @property
    def sha(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.session, self.entry, self.sha


def composed(lines: list[bytes], name: str) -> dict[str, list[str]]:
    """The sections of a checkpoint taken when the transcript had these lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).stem.rpartition("~")[2] + ".jsonl")
        path.write_bytes(b"".join(lines))
        app = Holdfast.open({"HOLDFAST_HOME": folder + "/home", "HOME": folder})
        state = of_file(app, str(path))
        read(state, str(path), 1 << 62)
        made = Looked(state, app, str(path))
        made.room = int(_ROOM)
        return made.sections


def drawn(corpora: Corpora) -> Iterator[Item]:
    """At most so many items of each session, from moments of it; the same for the same code."""
    for name in corpora.names():
        progress(f"decisions {name[-40:]}")
        chance = random.Random(f"decisions of {name}")
        lines = corpora.session(name).splitlines(True)
        seen: set[tuple[str, str, str]] = set()
        for _ in range(_MOMENTS):
            at = chance.randint(int(_EARLIEST * len(lines)), len(lines))
            said = [_item(name, at, text) for text in composed(lines[:at], name).get("Key Decisions", [])]
            fresh = [item for item in said if item.key not in seen]
            for item in chance.sample(fresh, min(_OF_EACH, len(fresh))):
                seen.add(item.key)
                yield item


def _item(session: str, line: int, shown: str) -> Item:
    text, _, place = shown.rpartition(" (")
    words = place.rstrip(")").replace(",", " ").split()
    return Item(session, line, next((one for one in words if len(one) == 8), ""), text)


def measure(corpora: Corpora) -> list[Row]:
    known = {}
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        known[case["session"], case["entry"], case["sha"]] = case["verdicts"]
    items = list(drawn(corpora))
    judged = [known[item.key] for item in items if item.key in known]
    rows = recalled(corpora)
    if judged:
        right = [sum(verdicts) / len(verdicts) for verdicts in judged]
        agreed = [len(set(verdicts)) == 1 for verdicts in judged]
        rows = [
            Row("decisions", "shown, and one", len(judged), _share(right), _PRECISION),
            Row("decisions", "judges agree", len(judged), _share(agreed), 0),
            Row(
                "decisions",
                "shown, and nobody judged",
                len(items),
                _share([i.key not in known for i in items]),
                100,
                at_most=True,
            ),
            *rows,
        ]
    return rows


def _share(found: list[Any]) -> float:
    return 100 * sum(found) / len(found)


def recalled(corpora: Corpora) -> list[Row]:
    """Labelled decisions in a checkpoint taken where the label is; importance counts."""
    found: list[tuple[int, bool]] = []
    for folder, prefix in ((corpora.corpus, ""), (corpora.corpus / "wild", "wild")):
        if prefix and corpora.wild is None:
            continue
        labels: dict[str, list[dict[str, Any]]] = {}
        for line in (folder / "labels.jsonl").read_text().splitlines():
            label = json.loads(line)
            if label["class"] == "decision":
                labels.setdefault(label["case"], []).append(label)
        for line in (folder / "cases.jsonl").read_text().splitlines():
            case = json.loads(line)
            if case["id"] in labels:
                lines = corpora.session(case["file"]).splitlines(True)[: case["line"] - 1]
                text = checkpoint.body(composed(lines, case["file"])).lower()
                for label in labels[case["id"]]:
                    anchors = [[one.lower() for one in group] for group in label["anchors"]]
                    found.append((label["importance"], holds(text, anchors)))
    if not found:
        raise NotMeasured("no labels")
    total = sum(worth for worth, _ in found)
    share = 100 * sum(worth for worth, is_there in found if is_there) / total
    return [Row("decisions", "labelled, and in the checkpoint", len(found), share, _RECALL)]


# What a reader needs


def material(corpora: Corpora, items: list[Item]) -> Iterator[dict[str, Any]]:
    by_session: dict[str, list[Item]] = {}
    for item in items:
        by_session.setdefault(item.session, []).append(item)
    for session, own in by_session.items():
        told = list(_told(corpora.session(session)))
        for item in own:
            places = [
                at for at, (uuid, _, _) in enumerate(told) if item.entry and uuid.startswith(item.entry)
            ]
            at = places[0] if places else 0
            yield {
                "id": f"{item.entry}-{item.sha}",
                "session": session,
                "entry": item.entry,
                "sha": item.sha,
                "shown": item.text,
                "before": _end(told[:at], _BEFORE),
                "said": "\n".join(f"{who}: {words}" for _, who, words in told[at : at + 1])[:_SAID],
                "after": _end(told[at + 1 :], _AFTER, first=True),
            }


def _end(told: list[tuple[str, str, str]], most: int, first: bool = False) -> str:
    kept: list[str] = []
    for _, who, words in told if first else reversed(told):
        if most <= 0:
            break
        kept.append(f"{who}: {words[:most] if first else words[-most:]}")
        most -= len(words) + len(who) + 3
    return "\n".join(kept if first else reversed(kept))


def _told(data: bytes) -> Iterator[tuple[str, str, str]]:
    """(uuid, who, words) of each entry that says or does something."""
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        words = []
        for block in blocks:
            if block.get("type") == "text":
                words.append(block["text"])
            elif block.get("type") == "tool_use":
                words.append(
                    f"[calls {block['name']} {json.dumps(block['input'], ensure_ascii=False)[:700]}]"
                )
            elif block.get("type") == "tool_result":
                said = block.get("content")
                said = (
                    said
                    if isinstance(said, str)
                    else " ".join(p.get("text", "") for p in said or [] if isinstance(p, dict))
                )
                words.append(f"[tool result: {said[:_OUTPUT]}]")
        if words:
            yield str(record.get("uuid", "")), str(record.get("type")), "\n".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--wild", type=Path)
    asked = parser.parse_args()
    corpora = Corpora(asked.corpus, asked.wild)
    with asked.out.open("w") as out:
        for one in material(corpora, list(drawn(corpora))):
            out.write(json.dumps(one, ensure_ascii=False) + "\n")
    progress("")


if __name__ == "__main__":
    main()
