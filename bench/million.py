"""What a team's deep memory answers with when it holds a million memories, on a real PostgreSQL.

    python bench/million.py [--items 1000000] [--queries 200] [--url postgresql://…]

Without --url a server is started from the wheel that the tests use, in a temporary folder. Texts are made
of real words, by topic, so that vectors lie as those of texts do and not as noise: near each other where
texts share a topic, and nowhere evenly. Two fifths of them are of one project, the rest of 200. They are
loaded by COPY, and indexed when all are there.

Told are the time of a whole search (`memory.search`: words, vectors, neighbours, rows) over all projects,
in the largest one, and in small ones; and how many of the ten nearest vectors that a look at every single
one finds (numpy, on the same half-precision values) the engine finds, too.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import numpy
from sqlalchemy import Connection, text

from harness import table
from holdfast.memory import embed, pgsql, postgres, search
from holdfast.memory.shelf import Filter
from holdfast.memory.terms import shape, telling
from holdfast.store.postgres import PostgreSQL

_TOPICS, _PROJECTS, _THREAD, _BATCH, _COMPARED = 4_000, 200, 40, 10_000, 100
_SMALL = "we the a to is of for in when after because that on with and not it was so then into from".split()
_INDEXES = ("items_words", "items_thread", "items_time", "items_shape", "vectors_project")


class Texts:
    """Sentences about topics: each has words of its own, drawn as words are, a few of them very often."""

    def __init__(self, embedder: embed.Embedder) -> None:
        self.made = random.Random(11)
        pieces = embedder._tokenizer.get_vocab()  # type: ignore[attr-defined]
        known = sorted(one[1:].lower() for one in pieces if one[0] == "▁" and one[1:].isalpha())
        self.words = sorted({one for one in known if one.isascii() and len(one) > 3})
        self.made.shuffle(self.words)
        self.often = list(accumulate(1 / (5 + at) for at in range(len(self.words))))
        self.topics = [self._drawn(24) for _ in range(_TOPICS)]

    def _drawn(self, count: int) -> list[str]:
        return self.made.choices(self.words, cum_weights=self.often, k=count)

    def text(self, topic: int) -> str:
        made, own = self.made, self.topics[topic]
        said = made.choices(own, k=made.randint(5, 9)) + self._drawn(4)
        said += made.choices(_SMALL, k=8)
        file = f"{made.choice(own)}_{made.choice(own)}.py"
        said.append(file if made.random() < 0.5 else f"#{made.randrange(10_000)}")
        made.shuffle(said)
        return " ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--url", default="", help="a database, empty or filled by this before; else a server is started"
    )
    args = parser.parse_args()
    with _server(args.url) as url:
        print(measured(url, args.items, args.queries))


@contextmanager
def _server(url: str) -> Iterator[str]:
    if url:
        yield url
        return
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    from store.postgres import Server

    settings = ["shared_buffers=3GB", "max_wal_size=16GB", "dynamic_shared_memory_type=mmap"]
    with tempfile.TemporaryDirectory(prefix="holdfast-million-") as folder:
        made = Server(Path(folder), *settings)
        try:
            yield made.url
        finally:
            made.stop()


def measured(url: str, count: int, queries: int) -> str:
    embedder = embed.named("wordllama")
    store = PostgreSQL(url)
    store.bring_up()
    texts = Texts(embedder)
    shelf = postgres.Postgres(store, "bench")
    told = "loaded before"
    if not shelf.size(Filter()):
        began = time.perf_counter()
        load(url, texts, embedder, count)
        loaded = time.perf_counter() - began
        index(url)
        told = f"loaded in {loaded:,.0f} s, indexed in {time.perf_counter() - began - loaded:,.0f} s"
    if not queries:
        return told
    vectors = kept(url, embedder.size)
    count = len(vectors)
    texts.made = random.Random(13)  # questions are new, and the same each time
    asked = [texts.text(texts.made.randrange(_TOPICS)) for _ in range(queries + 20)]
    small = [f"host/project{1 + at % _PROJECTS}" for at in range(queries + 20)]
    rows = []
    for name, where in (
        ("all projects", lambda _: Filter()),
        ("the largest (40 %)", lambda _: Filter(("host/project0",))),
        ("a small one (0.3 %)", lambda at: Filter((small[at],))),
    ):
        rows.append(
            [
                name,
                *timed(shelf, embedder, asked, where),
                found(shelf, embedder, vectors, asked, where),
            ]
        )
    head = f"{count:,} memories, {embedder.model}; {told}; {_size(store)}; load {os.getloadavg()[0]:.1f}"
    titles = ["searched", "wall ms, p50", "p95", "CPU ms, p50", "of nearest", "of keyword", "recall@10"]
    store.close()
    return f"{head}\n{table(titles, rows)}"


def kept(url: str, size: int) -> numpy.ndarray:
    """All vectors, in the order of items, as the server has them."""
    import psycopg

    head, each = 19, 2 + 4 + 4 + 2 * size  # of COPY's binary format, and of halfvec's
    with psycopg.connect(url) as db:
        asked = "COPY (SELECT data FROM vectors ORDER BY item) TO STDOUT (FORMAT BINARY)"
        with db.cursor().copy(asked) as copy:
            data = b"".join(bytes(part) for part in copy)
    rows = numpy.frombuffer(data[head:-2], dtype=numpy.uint8).reshape(-1, each)
    return numpy.ascontiguousarray(rows[:, 10:]).view(">f2").astype(numpy.float16)


def load(url: str, texts: Texts, embedder: embed.Embedder, count: int) -> None:
    import psycopg

    with psycopg.connect(url) as db:
        for name in (*_INDEXES, "vectors_wordllama", "vectors_minilm"):
            db.execute(f"DROP INDEX IF EXISTS {name}")
        db.execute("SET synchronous_commit = off")
        db.execute(
            "CREATE TEMP TABLE staged (uid TEXT, project TEXT, said TEXT, thread TEXT, seq BIGINT, "
            "shape TEXT, own TEXT, near TEXT, far TEXT, scope TEXT[], data HALFVEC)"
        )
        for start in range(0, count, _BATCH):
            rows = _batch(texts, start, min(_BATCH, count - start))
            made = embedder.vectors([row[2] for row in rows]).astype(numpy.float16)
            with db.cursor().copy("COPY staged FROM STDIN") as copy:
                for row, one in zip(rows, made, strict=True):
                    copy.write_row((*row, str(one.tolist())))
            db.execute(_STORE)
            db.execute("TRUNCATE staged")
            db.commit()
            if start % (10 * _BATCH) == 0:
                print(f"{start + len(rows):,} loaded", file=sys.stderr, flush=True)


_STORE = """
WITH put AS (
    INSERT INTO items (uid, project, machine, collection, text, lineage, session, agent, origin, by, kind,
        at, first_at, title, files, sources, thread, seq, shape, words)
    SELECT uid, project, 'bench', 'sessions', said, '', thread, '', 'assistant', '', '', seq, seq, '', '{}',
        '{bench}', thread, seq, shape, setweight(to_tsvector('holdfast', own), 'A')
        || setweight(to_tsvector('holdfast', near), 'B') || setweight(to_tsvector('holdfast', far), 'C')
        || array_to_tsvector(scope) FROM staged ORDER BY seq RETURNING id, uid, project)
INSERT INTO vectors (item, model, project, machine, data)
SELECT put.id, 'wordllama-l2-supercat-256', put.project, 'bench', data FROM put JOIN staged USING (uid)
"""


def _batch(texts: Texts, start: int, count: int) -> list[tuple]:
    rows = []
    for first in range(start, start + count, _THREAD):
        topic = texts.made.randrange(_TOPICS)
        said = [texts.text(topic) for _ in range(min(_THREAD, start + count - first))]
        told = [" ".join(telling(one)) for one in said]
        project = _project(first // _THREAD)
        scope = [pgsql.project_word(project), "/csessions", "/oassistant"]
        for at, one in enumerate(said):
            near = " ".join(told[i] for i in (at - 1, at + 1) if 0 <= i < len(said))
            far = " ".join(told[i] for i in (at - 3, at - 2, at + 2, at + 3) if 0 <= i < len(said))
            plain = map(pgsql.plain, (one, near, far))
            rows.append(
                (f"u{first + at}", project, one, f"t{first}", first + at, shape(one), *plain, scope)
            )
    return rows


def _project(thread: int) -> str:
    return "host/project0" if thread % 5 < 2 else f"host/project{1 + thread // 5 % _PROJECTS}"


def index(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SET maintenance_work_mem = '2GB'")
        db.execute("SET max_parallel_maintenance_workers = 2")
        for statement in (
            "CREATE INDEX items_thread ON items (thread, seq) WHERE thread <> ''",
            "CREATE INDEX items_time ON items (project, first_at)",
            "CREATE INDEX items_shape ON items (project, shape)",
            "CREATE INDEX vectors_project ON vectors (project, model)",
            "CREATE INDEX items_words ON items USING gin (words) WITH (gin_pending_list_limit = 512)",
            "CREATE INDEX vectors_wordllama ON vectors USING hnsw "
            "((data::halfvec(256)) halfvec_cosine_ops) WHERE model = 'wordllama-l2-supercat-256'",
            "VACUUM ANALYZE items",
            "VACUUM ANALYZE vectors",
        ):
            began = time.perf_counter()
            db.execute(statement)
            print(f"{time.perf_counter() - began:,.0f} s: {statement[:60]}", file=sys.stderr, flush=True)


Where = Callable[[int], Filter]


def timed(shelf: postgres.Postgres, embedder: embed.Embedder, asked: list[str], where: Where) -> list[str]:
    """Milliseconds of a search: wall time (p50, p95), CPU time here and in the server together (p50), and
    that of its two dearest parts (p50)."""
    walls, cpus, nears, words = [], [], [], []
    for at, question in enumerate(asked):
        with shelf.asking() as db:
            spent = _spent(db)
            began, used = time.perf_counter(), spent()
            search.search(shelf, embedder, question, where(at), 10)
            wall, cpu = time.perf_counter() - began, spent() - used
            query = search.asked(shelf, question, where(at))
            vector = embedder.vectors([query.meant])[0]
            used = spent()
            shelf.nearest(embedder.model, vector, where(at), 100)
            near, used = spent() - used, spent()
            shelf.keyword(query.words, where(at), 100)
            word = spent() - used
        if at >= 20:  # the first ones find the caches cold
            for kept, one in ((walls, wall), (cpus, cpu), (nears, near), (words, word)):
                kept.append(1000 * one)
    late = sorted(walls)[int(0.95 * len(walls))]
    figures = (statistics.median(walls), late, *map(statistics.median, (cpus, nears, words)))
    return [f"{one:.1f}" for one in figures]


def _spent(db: Connection) -> Callable[[], float]:
    """Seconds of CPU time that this process and the server's for this connection have used: on a busy
    machine wall time says how many others want it."""
    pid = db.scalar(text("SELECT pg_backend_pid()"))
    place = Path(f"/proc/{pid}/schedstat")

    def spent() -> float:
        return time.process_time() + int(place.read_text().split()[0]) / 1e9

    return spent


def found(
    shelf: postgres.Postgres,
    embedder: embed.Embedder,
    vectors: numpy.ndarray,
    asked: list[str],
    where: Where,
) -> str:
    """Of the ten that are nearest, how many are found."""
    projects = numpy.array([_project(at // _THREAD) for at in range(len(vectors))])
    questions = embedder.vectors(asked[:_COMPARED])
    parts = range(0, len(vectors), 100_000)
    every = numpy.concatenate(
        [vectors[at : at + 100_000].astype(numpy.float32) @ questions.T for at in parts]
    )
    shared = 0
    for at, vector in enumerate(questions):
        fits = every[:, at]
        if where(at).projects:
            fits = numpy.where(projects == where(at).projects[0], fits, -2)
        exact = {f"u{one}" for one in numpy.argpartition(-fits, 10)[:10]}
        with shelf.asking():
            about = {uid for uid, _ in shelf.nearest(embedder.model, vector, where(at), 100)[:10]}
        shared += len(exact & about)
    return f"{shared / (10 * len(questions)):.1%}"


def _size(store: PostgreSQL) -> str:
    names = ("items", "items_words", "vectors", "vectors_wordllama")
    asked = text("SELECT pg_relation_size(:name)")
    with store.reading() as db:
        sizes = [int(db.scalar(asked, {"name": name}) or 0) / 2**30 for name in names]
    return ", ".join(f"{name} {size:.1f} GB" for name, size in zip(names, sizes, strict=True))


if __name__ == "__main__":
    main()
