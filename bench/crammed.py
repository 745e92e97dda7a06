"""A team's deep memory with very many memories in it, for `million.py`: made up, and loaded by COPY.

Texts are made of real words, by topic, so that vectors lie as those of texts do and not as noise: near each
other where texts share a topic, and nowhere evenly. Two fifths of them are of one project, the rest of 200.
All of it follows from a seed: words, topics, texts, and the questions.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import accumulate
from multiprocessing import get_context

import numpy

from holdfast.memory import embed, pgsql
from holdfast.memory.terms import shape, telling

PROJECTS, _TOPICS, _THREAD, _BATCH = 200, 4_000, 40, 10_000
_SMALL = "we the a to is of for in when after because that on with and not it was so then into from".split()
_KINDS = ["text"] * 4 + ["int8"] + ["text"] * 4 + ["text[]", "halfvec"]


class Texts:
    """Sentences about topics: each has words of its own, drawn as words are, a few of them very often."""

    def __init__(self, embedder: embed.Embedder, seed: int) -> None:
        self.seed = seed
        self.begin("topics")
        pieces = embedder._tokenizer.get_vocab()  # type: ignore[attr-defined]
        known = sorted(one[1:].lower() for one in pieces if one[0] == "▁" and one[1:].isalpha())
        self.words = sorted({one for one in known if one.isascii() and len(one) > 3})
        self.made.shuffle(self.words)
        self.often = list(accumulate(1 / (5 + at) for at in range(len(self.words))))
        self.topics = [self._drawn(24) for _ in range(_TOPICS)]

    def begin(self, what: str) -> None:
        """What comes next is the same each time, and other than what any other name begins."""
        self.made = random.Random(f"{self.seed} {what}")

    def _drawn(self, count: int) -> list[str]:
        return self.made.choices(self.words, cum_weights=self.often, k=count)

    def topic(self) -> int:
        return self.made.randrange(_TOPICS)

    def text(self, topic: int) -> str:
        made, own = self.made, self.topics[topic]
        said = made.choices(own, k=made.randint(5, 9)) + self._drawn(4)
        said += made.choices(_SMALL, k=8)
        file = f"{made.choice(own)}_{made.choice(own)}.py"
        said.append(file if made.random() < 0.5 else f"#{made.randrange(10_000)}")
        made.shuffle(said)
        return " ".join(said)

    def questions(self, what: str, count: int) -> list[str]:
        self.begin(what)
        return [self.text(self.topic()) for _ in range(count)]


def fill(url: str, seed: int, count: int) -> str:
    """Loaded by as many processes as there are processors, and indexed when all are there, by the
    definitions that the migrations made."""
    import psycopg

    began = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as db:
        made = db.execute(_MADE).fetchall()
        for name, _ in made:
            db.execute(f"DROP INDEX {name}")
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        parts = [range(start, min(start + _BATCH, count)) for start in range(0, count, _BATCH)]
        for at, _ in enumerate(pool.map(partial(_load, url, seed), parts)):
            if at % 10 == 9:
                print(f"{at + 1} of {len(parts)} parts loaded", file=sys.stderr, flush=True)
    loaded = time.perf_counter() - began
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SET maintenance_work_mem = '3GB'")
        db.execute(f"SET max_parallel_maintenance_workers = {os.cpu_count() or 1}")
        for statement in (*(one for _, one in made), "VACUUM ANALYZE items", "VACUUM ANALYZE vectors"):
            at = time.perf_counter()
            db.execute(statement)
            print(f"{time.perf_counter() - at:,.0f} s: {statement[:100]}", file=sys.stderr, flush=True)
    return f"loaded in {loaded:,.0f} s, indexed in {time.perf_counter() - began - loaded:,.0f} s"


#: All but those that a rule of the tables needs.
_MADE = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid IN ('items'::regclass, 'vectors'::regclass) AND NOT indisunique ORDER BY 1
"""
_STAGED = """
CREATE TEMP TABLE staged (uid TEXT, project TEXT, said TEXT, thread TEXT, seq BIGINT, shape TEXT, own TEXT,
    near TEXT, far TEXT, scope TEXT[], data HALFVEC) ON COMMIT DROP
"""
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


def _load(url: str, seed: int, part: range) -> None:
    import psycopg
    from pgvector import HalfVector
    from pgvector.psycopg import register_vector

    embedder = embed.named("wordllama")
    texts = Texts(embedder, seed)
    texts.begin(f"texts from {part.start}")
    rows = list(_rows(texts, part))
    vectors = embedder.vectors([row[2] for row in rows]).astype(numpy.float16)
    with psycopg.connect(url) as db:
        register_vector(db)
        db.execute("SET LOCAL synchronous_commit = off")
        # No row is looked up for each vector that points to it: they come together.
        db.execute("SET LOCAL session_replication_role = replica")
        db.execute(_STAGED)
        with db.cursor().copy("COPY staged FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(_KINDS)
            for row, one in zip(rows, vectors, strict=True):
                copy.write_row((*row, HalfVector(one)))
        db.execute(_STORE)


def _rows(texts: Texts, part: range) -> Iterator[tuple]:
    for first in range(part.start, part.stop, _THREAD):
        topic = texts.topic()
        said = [texts.text(topic) for _ in range(min(_THREAD, part.stop - first))]
        told = [" ".join(telling(one)) for one in said]
        project = project_of(first)
        for at, one in enumerate(said):
            near = " ".join(told[i] for i in (at - 1, at + 1) if 0 <= i < len(said))
            far = " ".join(told[i] for i in (at - 3, at - 2, at + 2, at + 3) if 0 <= i < len(said))
            plain = map(pgsql.plain, (one, near, far))
            scope = pgsql.scope_words(first + at, project, "sessions", "assistant")
            yield (f"u{first + at}", project, one, f"t{first}", first + at, shape(one), *plain, scope)


def project_of(number: int) -> str:
    thread = number // _THREAD
    return "host/project0" if thread % 5 < 2 else f"host/project{1 + thread // 5 % PROJECTS}"
