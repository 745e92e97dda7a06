"""Conversations with labelled questions, as memories and what is asked of them; and what answers are worth.

LoCoMo (github.com/snap-research/locomo, `data/locomo10.json`) is one file of ten conversations that a model
made up, REALTALK (github.com/danny911kr/REALTALK, `data/`) a folder with a file for each of ten that people
led. Each turn is one item of the collection `sessions`, each conversation a project, and each question asks
its own conversation.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from holdfast.memory import embed
from holdfast.memory.shelf import Item, Shelf
from holdfast.memory.terms import words

#: Of a session in LoCoMo, of a turn in REALTALK.
_TIMES = ("%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S")


@dataclass(frozen=True)
class Question:
    conversation: int
    text: str
    evidence: list[str]


def loaded(path: Path) -> tuple[list[Item], list[Question]]:
    items, questions = [], []
    for number, (said, asked) in enumerate(_conversations(path)):
        some = list(_turns(number, said))
        items += some
        known = {item.uid for item in some}
        for one in asked:
            given = [f"{number}/{part}" for line in one.get("evidence", ()) for part in _ids(line)]
            if evidence := [uid for uid in dict.fromkeys(given) if uid in known]:
                questions.append(Question(number, one["question"], evidence))
    return items, questions


def _conversations(path: Path) -> Iterator[tuple[dict, list[dict]]]:
    """(what was said, what is asked)."""
    if not path.is_dir():
        yield from ((one["conversation"], one["qa"]) for one in json.loads(path.read_text()))
        return
    for file in sorted(path.glob("*.json"), key=lambda file: int(file.name.split("_")[1])):
        said = json.loads(file.read_text())
        yield said, said["qa"]


def _turns(number: int, said: dict) -> Iterator[Item]:
    for session in sorted((name for name in said if re.fullmatch(r"session_\d+", name)), key=_number):
        began = said.get(f"{session}_date_time", "")
        for place, turn in enumerate(said[session]):
            uid = f"{number}/{turn['dia_id']}"
            yield Item(
                uid,
                "sessions",
                " ".join(
                    filter(None, (turn.get("text") or turn.get("clean_text"), turn.get("blip_caption")))
                ),
                project=str(number),
                session=session,
                by=turn["speaker"],
                origin="user",
                at=_time(turn.get("date_time", began)) + place,
                thread=f"{number}/{session}",
                seq=place,
                source=uid,
            )


def _ids(line: str) -> list[str]:
    return [f"D{int(a)}:{int(b)}" for a, b in re.findall(r"D:?(\d+):(\d+)", line)]


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _time(said: str) -> int:
    for form in _TIMES:
        try:
            return int(datetime.strptime(said, form).timestamp() * 1000)
        except ValueError:
            pass
    return 0


def fill(shelf: Shelf, items: Sequence[Item]) -> None:
    for at in range(0, len(items), 500):
        shelf.add(items[at : at + 500])


def embed_all(shelf: Shelf, embedder: embed.Embedder | None) -> None:
    while embedder and (some := shelf.lacking(embedder.model, embedder.size, 512)):
        made = embedder.vectors([text for _, text in some])
        shelf.put_vectors(embedder.model, [(uid, made[at]) for at, (uid, _) in enumerate(some)])


def worth(uids: Sequence[str], one: Question) -> list[float]:
    """R@5, R@10, R@20, MRR, sR@5 and sR@10 of what was found, best first, in percent."""
    shares = [sum(uid in uids[:most] for uid in one.evidence) / len(one.evidence) for most in (5, 10, 20)]
    rank = next((1 / (at + 1) for at, uid in enumerate(uids[:20]) if uid in one.evidence), 0.0)
    wanted = {session_of(uid) for uid in one.evidence}
    sessions = [any(session_of(uid) in wanted for uid in uids[:most]) for most in (5, 10)]
    return [100.0 * figure for figure in (*shares, rank, *sessions)]


def session_of(uid: str) -> str:
    return uid.rpartition(":")[0]


class Plain:
    """What one has without any of this: turns in FTS5, stemmed, by bm25 of all words of the question."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._db = sqlite3.connect(":memory:")
        columns = "text, uid UNINDEXED, project UNINDEXED, tokenize = 'porter'"
        self._db.execute(f"CREATE VIRTUAL TABLE said USING fts5({columns})")
        rows = [(f"{item.by}: {item.text}", item.uid, item.project) for item in items]
        self._db.executemany("INSERT INTO said VALUES (?, ?, ?)", rows)

    def search(self, one: Question) -> list[str]:
        found = self._db.execute(
            "SELECT uid FROM said WHERE said MATCH ? AND project = ? ORDER BY rank LIMIT 20",
            (" OR ".join(f'"{word}"' for word in words(one.text)), str(one.conversation)),
        )
        return [uid for (uid,) in found]
