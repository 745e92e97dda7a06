"""How well and how fast deep memory answers, by the product's own shelf and search.

    python bench/recall.py --locomo locomo10.json [--embedder minilm|wordllama|none]
    python bench/recall.py --realtalk data
    python bench/recall.py --locomo locomo10.json --url postgresql://…
    python bench/recall.py --speed [--items 100000]

With --url the same goes through the engine of a team: a database without memories, which keeps these.

R@k is the mean share of the evidence turns among the first k, MRR is of the first of them, sR@k whether
some turn of an evidence session is there. The product has the weights that `bench/crossfit.py` chooses on
conversations 1 to 5 of LoCoMo; there they count on 6 to 10, and elsewhere on all.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conversations import Plain, Question, embed_all, fill, loaded, worth
from harness import table
from holdfast.app import Holdfast
from holdfast.memory import embed, search
from holdfast.memory.index import Index
from holdfast.memory.shelf import Filter, Item, Shelf
from holdfast.ops import recall

_TITLES = ["", "conversations", "questions", "R@5", "R@10", "R@20", "MRR", "sR@5", "sR@10", "CPU ms"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, help="the public file with the ten conversations")
    parser.add_argument("--realtalk", type=Path, help="the public folder with as many")
    parser.add_argument("--embedder", choices=("wordllama", "minilm", "none"), default="wordllama")
    parser.add_argument("--url", default="", help="PostgreSQL of a team instead of a file")
    parser.add_argument("--speed", action="store_true", help="ingest and query with --items memories")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    embedder = None if args.embedder == "none" else embed.named(args.embedder)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        if said := args.locomo or args.realtalk:
            with shelf_of(args.url, Path(folder)) as shelf:
                print(quality(said, shelf, embedder))
        if args.speed:
            print(speed(Path(folder), embedder, args.items, args.queries))
    if not said and not args.speed:
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


def quality(path: Path, shelf: Shelf, embedder: embed.Embedder | None) -> str:
    items, questions = loaded(path)
    fill(shelf, items)
    embed_all(shelf, embedder)
    plain = Plain(items)
    rows = []
    for name, find in (
        ("plain FTS5", plain.search),
        (embedder.model if embedder else "keyword only", lambda one: _found(shelf, embedder, one)),
    ):
        asked = [(one.conversation, _measured(find, one)) for one in questions]
        for some, those in (("1 to 5", range(5)), ("6 to 10", range(5, 10)), ("all", range(10))):
            figures = [each for conversation, each in asked if conversation in those]
            if figures:
                rows.append([name, some, str(len(figures)), *_means(figures)])
    return f"{len(items):,} turns\n{table(_TITLES, rows)}"


def _found(shelf: Shelf, embedder: embed.Embedder | None, one: Question) -> list[str]:
    found = search.search(shelf, embedder, one.text, Filter((str(one.conversation),)), 20)
    return [each.row.uid for each in found]


def _measured(find: Callable[[Question], list[str]], one: Question) -> list[float]:
    began = time.process_time()
    uids = find(one)
    return [*worth(uids, one), 1000 * (time.process_time() - began)]


def _means(some: list[list[float]]) -> list[str]:
    *columns, took = zip(*some, strict=True)
    return [*(f"{statistics.mean(one):.1f}" for one in columns), f"{statistics.median(took):.1f}"]


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


if __name__ == "__main__":
    main()
