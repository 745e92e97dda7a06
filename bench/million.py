"""What a team's deep memory answers with when it holds a million memories, on a real PostgreSQL.

    python bench/million.py [--items 1000000] [--queries 200] [--seed 1] [--url postgresql://…]
    python bench/million.py --url postgresql://… --tune    # how far the index is to be searched

Without --url a server is started from the wheel that the tests use, in a temporary folder. An empty
database is filled first (`crammed.py`).

Told are the time of a whole search (`memory.search`: words, vectors, neighbours, rows) over all projects,
in the largest one, and in small ones; and how many of the ten nearest vectors that a look at every single
one finds (numpy, on the same half-precision values) the engine finds, too. It is asked by the owner of the
tables, and by members of the largest project and of every other small one, or of seven small ones, whom
row-level security limits.
`--tune` asks other questions than those that are told of.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy
from sqlalchemy import Connection, text

import crammed
from harness import table
from holdfast.memory import embed, postgres, search
from holdfast.memory.shelf import Filter
from holdfast.store.postgres import PostgreSQL

_LARGEST, _FIRST = "host/project0", 20
#: Roles, and the projects that each is in.
_MEMBERS = {
    "a member of 101 projects": [_LARGEST, *(f"host/project{at}" for at in range(1, crammed.PROJECTS, 2))],
    "a member of 8": [_LARGEST, *(f"host/project{at}" for at in range(1, 15, 2))],
}
Where = Callable[[int], Filter]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the memories and of the questions")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument(
        "--url", default="", help="a database, empty or filled by this before; else a server is started"
    )
    args = parser.parse_args()
    with _server(args.url) as url:
        store = PostgreSQL(url)
        store.bring_up()
        told = "loaded before"
        if not postgres.Postgres(store).size(Filter()):
            told = crammed.fill(url, args.seed, args.items)
        print(told)
        if args.queries:
            print((tuned if args.tune else measured)(url, store, args.seed, args.queries))
        store.close()


@contextmanager
def _server(url: str) -> Iterator[str]:
    if url:
        yield url
        return
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    from store.postgres import Server

    settings = ["shared_buffers=4GB", "max_wal_size=16GB", "dynamic_shared_memory_type=mmap"]
    with tempfile.TemporaryDirectory(prefix="holdfast-million-") as folder:
        made = Server(Path(folder), *settings)
        try:
            yield made.url
        finally:
            made.stop()


def measured(url: str, store: PostgreSQL, seed: int, queries: int) -> str:
    embedder = embed.named("wordllama")
    asked = crammed.Texts(embedder, seed).questions("questions", queries + _FIRST)
    exact = Exact(url, embedder, asked[_FIRST:])
    rows = []
    for who, shelf in _askers(store).items():
        for name, where in _SEARCHED.items():
            if len(_MEMBERS.get(who, ())) == 8 and "small" in name:
                continue  # it is in few of those that are asked
            figures = timed(shelf, embedder, asked, where)
            share = exact.shared(exact.found(shelf, where), where, _MEMBERS.get(who))
            rows.append([who, name, *figures, f"{share:.1%}"])
    head = f"{exact.count:,} memories, {embedder.model}; {_size(store)}; load {os.getloadavg()[0]:.1f}"
    titles = "by,searched,wall ms (p50),p95,CPU ms (p50),of nearest,of keyword,recall@10".split(",")
    return f"{head}\n{table(titles, rows)}"


def tuned(url: str, store: PostgreSQL, seed: int, queries: int) -> str:
    """For each width, what it finds and what that costs."""
    embedder = embed.named("wordllama")
    exact = Exact(url, embedder, crammed.Texts(embedder, seed).questions("for tuning", queries))
    shelf, rows = _askers(store)["owner"], []
    with shelf.asking() as db:
        spent = _spent(db)
    for width in _WIDTHS:
        postgres.SETTINGS["hnsw.ef_search"] = str(width)
        for name, where in list(_SEARCHED.items())[:2]:
            used = spent()
            found = exact.found(shelf, where)
            spent_ms = f"{1000 * (spent() - used) / queries:.1f}"
            rows.append([str(width), name, spent_ms, f"{exact.shared(found, where):.1%}"])
    return table(["width", "searched", "CPU ms of nearest (mean)", "recall@10"], rows)


_WIDTHS = (100, 150, 200, 300, 400, 600, 800)
_SEARCHED: dict[str, Where] = {
    "all projects": lambda _: Filter(),
    "the largest (40 %)": lambda _: Filter((_LARGEST,)),
    "a small one (0.3 %)": lambda at: Filter((f"host/project{1 + 2 * at % crammed.PROJECTS}",)),
}


def _askers(store: PostgreSQL) -> dict[str, postgres.Postgres]:
    """The owner of the tables, and members of some projects."""
    added = text("INSERT INTO members (who, project) VALUES (:who, :project) ON CONFLICT DO NOTHING")
    with store.writing() as db:
        known = db.scalars(text("SELECT rolname FROM pg_roles")).all()
        for who, projects in _MEMBERS.items():
            if who not in known:
                db.execute(text(f'CREATE ROLE "{who}"'))
            db.execute(added, [{"who": who, "project": one} for one in projects])
    members = {who: postgres.Postgres(store.acting_as(who), "bench") for who in _MEMBERS}
    return {"owner": postgres.Postgres(store, "bench"), **members}


def timed(shelf: postgres.Postgres, embedder: embed.Embedder, asked: list[str], where: Where) -> list[str]:
    """Milliseconds of a search: wall time (p50, p95), CPU time here and in the server together (p50), and
    that of its two dearest parts (p50)."""
    every = []
    with shelf.asking() as db:
        spent = _spent(db)  # it is the same connection each time: there is one at a time
    for at, question in enumerate(asked):
        began, used = time.perf_counter(), spent()
        with shelf.asking():
            search.search(shelf, embedder, question, where(at), 10)
        wall, cpu = time.perf_counter() - began, spent() - used
        with shelf.asking():
            query = search.asked(shelf, question, where(at))
            vector = embedder.vectors([query.meant])[0]
            used = spent()
            shelf.nearest(embedder.model, vector, where(at), 100)
            near, used = spent() - used, spent()
            shelf.keyword(query.words, where(at), 100)
            every.append((wall, cpu, near, spent() - used))
    walls, cpus, nears, words = zip(*every[_FIRST:], strict=True)  # the first ones find the caches cold
    late = sorted(walls)[int(0.95 * len(walls))]
    figures = (statistics.median(walls), late, *map(statistics.median, (cpus, nears, words)))
    return [f"{1000 * one:.1f}" for one in figures]


def _spent(db: Connection) -> Callable[[], float]:
    """Seconds of CPU time that this process and the server's for this connection have used: on a busy
    machine wall time says how many others want it."""
    pid = db.scalar(text("SELECT pg_backend_pid()"))
    place = Path(f"/proc/{pid}/schedstat")

    def spent() -> float:
        return time.process_time() + int(place.read_text().split()[0]) / 1e9

    return spent


class Exact:
    """The ten that are nearest to each question, by a look at every vector as the server has it."""

    def __init__(self, url: str, embedder: embed.Embedder, asked: list[str]) -> None:
        self.model, self.questions = embedder.model, embedder.vectors(asked)
        numbers, parts = [], []
        for some, vectors in _kept(url, embedder.size):
            numbers.append(some)
            parts.append(vectors.astype(numpy.float32) @ self.questions.T)
        self._numbers, self._fits = numpy.concatenate(numbers), numpy.concatenate(parts)
        self._projects = numpy.array([crammed.project_of(int(one)) for one in self._numbers])
        self.count = len(self._numbers)

    def found(self, shelf: postgres.Postgres, where: Where) -> list[set[str]]:
        """What the engine says they are."""
        every = []
        for at, vector in enumerate(self.questions):
            with shelf.asking():
                best = shelf.nearest(self.model, vector, where(_FIRST + at), 100)[:10]
            every.append({uid for uid, _ in best})
        return every

    def shared(self, found: list[set[str]], where: Where, only_in: list[str] | None = None) -> float:
        """Of the ten that are nearest, the share that was found."""
        seen = numpy.isin(self._projects, only_in) if only_in else numpy.ones(self.count, dtype=bool)
        count = 0
        for at, about in enumerate(found):
            meant = where(_FIRST + at)
            only = seen & (self._projects == meant.projects[0]) if meant.projects else seen
            fits = numpy.where(only, self._fits[:, at], -2)
            exact = {f"u{self._numbers[one]}" for one in numpy.argpartition(-fits, 10)[:10]}
            count += len(exact & about)
        return count / (10 * len(found))


def _kept(url: str, size: int) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """(numbers, vectors), in parts."""
    import psycopg

    head, each = 19, 2 + 4 + 8 + 4 + 4 + 2 * size  # of COPY's binary format, and of halfvec's
    with psycopg.connect(url) as db:
        asked = "COPY (SELECT i.seq, v.data FROM items i JOIN vectors v ON v.item = i.id) TO STDOUT"
        with db.cursor().copy(f"{asked} (FORMAT BINARY)") as copy:
            data = b"".join(bytes(part) for part in copy)
    every = numpy.frombuffer(data[head:-2], dtype=numpy.uint8).reshape(-1, each)
    for at in range(0, len(every), 100_000):
        rows = every[at : at + 100_000]
        numbers = numpy.ascontiguousarray(rows[:, 6:14]).view(">i8")[:, 0]
        yield numbers, numpy.ascontiguousarray(rows[:, 22:]).view(">f2")


def _size(store: PostgreSQL) -> str:
    names = ("items", "items_words", "vectors", "vectors_wordllama")
    asked = text("SELECT pg_relation_size(:name)")
    with store.reading() as db:
        sizes = [int(db.scalar(asked, {"name": name}) or 0) / 2**30 for name in names]
    return ", ".join(f"{name} {size:.1f} GB" for name, size in zip(names, sizes, strict=True))


if __name__ == "__main__":
    main()
