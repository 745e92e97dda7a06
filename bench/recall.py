"""How well and how fast deep memory answers, by the product's own shelf and search.

    python bench/recall.py --locomo locomo10.json [--embedder minilm|wordllama|none]
    python bench/recall.py --locomo locomo10.json --tune [--embedder minilm]
    python bench/recall.py --locomo locomo10.json --url postgresql://…
    python bench/recall.py --speed [--items 100000]

With --url the same goes through the engine of a team: a database without memories, which keeps these.

LoCoMo: each turn is one item of the collection `sessions`, each conversation a project, and each question
asks its own conversation. R@k is the mean share of the evidence turns among the first k, MRR is of the
first of them, sR@k whether some turn of an evidence session is there. The weights of the product are what
`--tune` says, which asks the questions of conversations 1 to 5 alone; they count on 6 to 10.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from harness import table
from holdfast.app import Holdfast
from holdfast.memory import embed, search
from holdfast.memory.index import Index
from holdfast.memory.shelf import Filter, Item, Shelf
from holdfast.ops import recall

_TUNED = 5
#: What is tried for each weight, the least of it first: of two that do equally well the first is taken.
_TRIED = {
    "vector": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "window": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "by": (0.0, 0.1, 0.2, 0.3, 0.4),
    "time": (0.0, 0.05, 0.1, 0.2),
    "asks": (0.0, -0.1, -0.2, -0.3, -0.4),
    "too_common": (1.0, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1),
    "no_use": (1.0, 0.6, 0.4, 0.3, 0.2),
}
#: R@10, MRR and sR@10 among what is measured.
_GOALS = (1, 3, 5)
_TRUSTED = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
_PLAIN = search.Weights(**{name: tried[0] for name, tried in _TRIED.items()})


@dataclass
class Question:
    conversation: str
    text: str
    evidence: list[str]
    kind: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, help="the public file with the ten conversations")
    parser.add_argument("--embedder", choices=("wordllama", "minilm", "none"), default="wordllama")
    parser.add_argument(
        "--tune", action="store_true", help="choose the weights; with minilm, how much it is trusted"
    )
    parser.add_argument("--url", default="", help="PostgreSQL of a team instead of a file")
    parser.add_argument("--speed", action="store_true", help="ingest and query with --items memories")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    embedder = None if args.embedder == "none" else embed.named(args.embedder)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        if args.locomo:
            with shelf_of(args.url, Path(folder)) as shelf:
                print((tune if args.tune else quality)(args.locomo, shelf, embedder))
        if args.speed:
            print(speed(Path(folder), embedder, args.items, args.queries))
    if not args.locomo and not args.speed:
        parser.print_help()


@contextmanager
def shelf_of(url: str, folder: Path) -> Iterator[Shelf]:
    if not url:
        with Index(str(folder / "memory.db")) as shelf:
            yield shelf
        return
    from holdfast.memory.postgres import Postgres
    from holdfast.store.postgres import PostgreSQL

    store = PostgreSQL(url)
    store.bring_up()
    yield Postgres(store, "bench")
    store.close()


def filled(shelf: Shelf, file: Path, embedder: embed.Embedder | None) -> tuple[int, list[Question]]:
    """(how many turns it holds then, what is asked)."""
    items, questions = loaded(json.loads(file.read_text()))
    for at in range(0, len(items), 500):
        shelf.add(items[at : at + 500])
    embed_all(shelf, embedder)
    return len(items), questions


def quality(file: Path, shelf: Shelf, embedder: embed.Embedder | None) -> str:
    number, questions = filled(shelf, file, embedder)
    asked = [(one, measured(shelf, embedder, one)) for one in questions]
    rows = []
    for name, first, last in (("chosen on: 1 to 5", 0, 4), ("held out: 6 to 10", 5, 9), ("all", 0, 9)):
        some = [figures for one, figures in asked if first <= int(one.conversation) <= last]
        if some:
            rows.append([name, str(len(some)), *means(some)])
    titles = ["conversations", "questions", "R@5", "R@10", "R@20", "MRR", "sR@5", "sR@10", "CPU ms"]
    return f"{embedder.model if embedder else 'keyword only'}, {number:,} turns\n{table(titles, rows)}"


def loaded(conversations: list[dict]) -> tuple[list[Item], list[Question]]:
    items, questions = [], []
    for number, one in enumerate(conversations):
        said = one["conversation"]
        known = set()
        for session in sorted((name for name in said if re.fullmatch(r"session_\d+", name)), key=_number):
            at = _time(said.get(f"{session}_date_time", ""))
            for place, turn in enumerate(said[session]):
                uid = f"{number}/{turn['dia_id']}"
                known.add(uid)
                items.append(
                    Item(
                        uid,
                        "sessions",
                        " ".join(filter(None, (turn["text"], turn.get("blip_caption")))),
                        project=str(number),
                        session=session,
                        by=turn["speaker"],
                        origin="user",
                        at=at + place,
                        thread=f"{number}/{session}",
                        seq=place,
                        source=uid,
                    )
                )
        for asked in one["qa"]:
            evidence = [f"{number}/{part}" for line in asked.get("evidence", ()) for part in _ids(line)]
            evidence = [uid for uid in dict.fromkeys(evidence) if uid in known]
            if evidence:
                questions.append(Question(str(number), asked["question"], evidence, asked["category"]))
    return items, questions


def _ids(line: str) -> list[str]:
    return [f"D{int(a)}:{int(b)}" for a, b in re.findall(r"D:?(\d+):(\d+)", line)]


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _time(words: str) -> int:
    try:
        return int(datetime.strptime(words, "%I:%M %p on %d %B, %Y").timestamp() * 1000)
    except ValueError:
        return 0


def speed(folder: Path, embedder: embed.Embedder | None, count: int, queries: int) -> str:
    """Memories made of common and rare words, in one project: the worst case, since all are searched."""
    made = random.Random(7)
    common = [f"word{number}" for number in range(300)]
    rare = [f"name{number}" for number in range(20_000)]

    def text() -> str:
        return " ".join([*made.choices(common, k=12), *made.choices(rare, k=6)])

    project = str(folder.resolve())
    items = [
        Item(f"u{at}", "sessions", text(), project, thread=f"t{at // 200}", seq=at, source=f"s{at // 200}")
        for at in range(count)
    ]

    def asked() -> str:
        return " ".join([*made.choices(common, k=4), *items[made.randrange(count)].text.split()[-3:]])

    app = Holdfast.open({"HOLDFAST_HOME": project, "HOME": project})
    with Index(app.home.memory) as shelf:
        began = time.perf_counter()
        for at in range(0, count, 500):
            shelf.take(f"s{at // 200}", "read", items[at : at + 500])
            embed_all(shelf, embedder)
        rate = count / (time.perf_counter() - began)
        where = Filter((project,))

        def change() -> None:
            one = Item(f"v{made.random()}", "sessions", text(), project)
            shelf.add([one])
            embed_all(shelf, embedder)

        def command() -> None:
            given = [sys.executable, "-m", "holdfast", "recall", asked(), "--project", project]
            environ = {**os.environ, "HOLDFAST_HOME": project, "HOME": project}
            subprocess.run(given, env=environ, check=True, stdout=subprocess.DEVNULL)

        def alone() -> None:
            search.search(shelf, embedder, asked(), where, 10)

        alone()  # the vectors are laid out, once for all
        rows = [
            ["search, in an open index", *_timed(queries, alone)],
            ["search, just after a change", *_timed(queries, alone, change)],
            ["`recall` as a whole", *_timed(queries, lambda: recall.recall(app, asked(), project=project))],
            ["`holdfast recall`, a process", *_timed(max(5, queries // 10), command)],
        ]
    head = f"{count:,} memories, {rate:,.0f} items/s taken in, load {os.getloadavg()[0]:.1f}"
    return f"{head}\n{table(['a query', 'wall ms, p50', 'p95', 'CPU ms, p50'], rows)}"


def _timed(times: int, ask: Callable[[], object], before: Callable[[], object] = int) -> list[str]:
    """CPU is that of this process and of those it has waited for."""
    walls, cpus = [], []
    for _ in range(times + 5):
        before()
        wall, cpu = time.perf_counter(), _cpu()
        ask()
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (_cpu() - cpu))
    walls, cpus = sorted(walls[5:]), sorted(cpus[5:])
    return [f"{one:.1f}" for one in (walls[times // 2], walls[int(0.95 * times)], cpus[times // 2])]


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def embed_all(shelf: Shelf, embedder: embed.Embedder | None) -> None:
    while embedder and (some := shelf.lacking(embedder.model, embedder.size, 512)):
        made = embedder.vectors([text for _, text in some])
        shelf.put_vectors(embedder.model, [(uid, made[at]) for at, (uid, _) in enumerate(some)])


def measured(
    shelf: Index,
    embedder: embed.Embedder | None,
    one: Question,
    weights: search.Weights = search.WEIGHTS,
) -> list[float]:
    """R@5, R@10, R@20, MRR, sR@5, sR@10 and milliseconds of CPU."""
    began = time.process_time()
    found = search.search(shelf, embedder, one.text, Filter((one.conversation,)), 20, weights)
    took = 1000 * (time.process_time() - began)
    uids = [each.row.uid for each in found]
    shares = [sum(uid in uids[:most] for uid in one.evidence) / len(one.evidence) for most in (5, 10, 20)]
    rank = next((1 / (at + 1) for at, uid in enumerate(uids) if uid in one.evidence), 0.0)
    wanted = {uid.rpartition(":")[0] for uid in one.evidence}
    sessions = [any(uid.rpartition(":")[0] in wanted for uid in uids[:most]) for most in (5, 10)]
    return [*(100.0 * figure for figure in (*shares, rank, *sessions)), took]


def means(some: list[list[float]]) -> list[str]:
    *columns, took = zip(*some, strict=True)
    return [*(f"{statistics.mean(one):.1f}" for one in columns), f"{statistics.median(took):.1f}"]


def tune(file: Path, real: Shelf, embedder: embed.Embedder | None) -> str:
    """Each weight in turn, from none of them, until nothing is gained: in the sum of the three figures that
    have a goal, for the questions of the first five conversations. What is learnt of another embedder than
    the default is only how much it is trusted."""
    _, questions = filled(real, file, embedder)
    questions = [one for one in questions if int(one.conversation) < _TUNED]
    tried: dict[tuple[search.Weights, float], float] = {}
    shelf, asked = Remembering(real), Remembering(embedder) if embedder else None

    def worth(weights: search.Weights, trust: float = 1.0) -> float:
        if asked:
            asked.trust = trust
        if (weights, trust) not in tried:
            shown = means([measured(shelf, asked, one, weights) for one in questions])
            tried[weights, trust] = sum(float(shown[at]) for at in _GOALS)
            print(f"{tried[weights, trust]:.2f} {shown} {trust} {weights}", file=sys.stderr)
        return tried[weights, trust]

    if embedder and embedder.trust != 1.0:
        return f"trust = {max(_TRUSTED, key=lambda trust: worth(search.WEIGHTS, trust))}"
    best, before = _PLAIN, None
    while best != before:
        before = best
        for name, values in _TRIED.items():
            best = max((replace(best, **{name: value}) for value in values), key=worth)
    return str(best)


class Remembering:
    """A shelf or an embedder that is asked the same over and over."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._known: dict[tuple, Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return partial(self._asked, name, found) if callable(found) else found

    def _asked(self, name: str, ask: Callable, *given: Any) -> Any:
        key = (name, *map(_plain, given))
        if key not in self._known:
            self._known[key] = ask(*given)
        return self._known[key]


def _plain(given: Any) -> Any:
    return given.tobytes() if isinstance(given, numpy.ndarray) else repr(given)


if __name__ == "__main__":
    main()
