"""What a large team asks of its engine: python bench/scale.py [--corpus DIR] [--developers N] [--agents N]

Real sessions are replayed and counted: what holdfast would have saved, told and remembered in each hour in
which an agent was at work. Rows of that kind are written to a real PostgreSQL, to see what one takes there,
indexes included. Both times the number of agents is what docs/scale.md tells. What is assumed and not
measured stands in `Assumed`, and each of it has a flag.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

import itertools

from sqlalchemy import insert, text

from harness import REPO, progress, table
from holdfast.app import Holdfast
from holdfast.clock import at as time_of
from holdfast.clock import new_id
from holdfast.memory import embed
from holdfast.memory.index import Index
from holdfast.memory.postgres import Postgres
from holdfast.memory.shared import collections_of
from holdfast.memory.shelf import Row
from holdfast.ops import remember
from holdfast.ops.replay import Replayed, one
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import CHECKPOINTS, EVENTS
from store.postgres import Server
from survive import WHOLE, Case, load

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
#: A longer pause is none of the work.
_PAUSE_MS = 5 * 60_000
#: Notes of the trail beside those of checkpoints and levels: block, brief and receipt of a compaction; a
#: session's beginning and end.
_PER_COMPACTION, _PER_SESSION = 3, 2
_ROWS = 20_000
_TAKEN = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")


@dataclass(frozen=True)
class Assumed:
    """`active_hours`: of one agent on a working day. `peak`: share of the agents at work in the busiest
    second. `days` and `keep_checkpoints`: how long events and checkpoints are kept; memories: a year.
    `learnt`: the share of memories that nobody of the team has had before."""

    developers: int = 10_000
    agents: int = 10
    active_hours: float = 3.0
    peak: float = 0.4
    working_days: int = 230
    days: int = 90
    keep_checkpoints: int = 7
    learnt: float = 0.5


@dataclass(frozen=True)
class Rates:
    """In one hour of an agent's work."""

    sessions: int
    hours: float
    turns: float
    events: float
    checkpoints: float
    memories: float
    checkpoint_bytes: float


def rates(corpus: Path, folder: Path) -> tuple[Rates, list[Case], list[Row]]:
    transcripts = folder / "client" / "projects" / "corpus"
    transcripts.mkdir(parents=True)
    app = Holdfast.open(
        {"HOLDFAST_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "client")}
    )
    played = []
    for packed in sorted((corpus / "transcripts").glob("*.jsonl.gz")):
        progress(f"replaying {packed.stem}")
        plain = transcripts / f"{packed.name.partition('~')[2].removesuffix('.gz')}"
        with gzip.open(packed) as source, plain.open("wb") as target:
            shutil.copyfileobj(source, target)
        played.append(one(app, str(plain)))
    progress("reading what is worth remembering")
    remember.rebuild(app)
    with Index(app.home.memory) as shelf:
        memories = [row for row in shelf.every() if row.collection in collections_of(app)]
    _, cases = load(corpus, folder / "cases")
    bodies = [len(case.checkpoint(WHOLE).encode()) for case in cases]
    hours = sum(map(_hours, played))
    events = sum(map(_events, played))
    return (
        Rates(
            sessions=len(played),
            hours=hours,
            turns=sum(each.turns for each in played) / hours,
            events=events / hours,
            checkpoints=sum(sum(each.checkpoints.values()) for each in played) / hours,
            memories=len(memories) / hours,
            checkpoint_bytes=sum(bodies) / len(bodies),
        ),
        cases,
        memories,
    )


def _hours(played: Replayed) -> float:
    moments = [time_of(moment.at) for moment in played.moments if moment.at]
    gaps = (after - before for before, after in itertools.pairwise(moments))
    return sum(gap for gap in gaps if 0 < gap < _PAUSE_MS) / 3_600_000


def _events(played: Replayed) -> int:
    levels = [moment.level for moment in played.moments]
    changes = sum(before != after for before, after in itertools.pairwise(levels))
    saved = sum(played.checkpoints.values())
    return saved + changes + _PER_COMPACTION * played.compactions + _PER_SESSION


def sizes(folder: Path, cases: list[Case], memories: list[Row]) -> dict[str, float]:
    """Bytes of one row with its indexes, as a real server keeps it."""
    server = Server(folder)
    try:
        store = PostgreSQL(server.url)
        store.bring_up()
        bodies = [case.checkpoint(WHOLE) for case in cases]
        for one_table, made in (
            (EVENTS, _made_events(_ROWS)),
            (CHECKPOINTS, _made_checkpoints(_ROWS // 10, bodies)),
        ):
            progress(f"writing {one_table.name}")
            with store.writing() as connection:
                connection.execute(insert(one_table), list(made))
        _remember(store, memories)
        counted = {
            "events": _ROWS,
            "checkpoints": _ROWS // 10,
            "items": len(memories),
            "vectors": len(memories),
        }
        with store.reading() as connection:
            found = {
                name: (connection.scalar(_TAKEN, {"name": name}) or 0) / of for name, of in counted.items()
            }
        store.close()
    finally:
        server.stop()
    return found


def _remember(store: PostgreSQL, memories: list[Row]) -> None:
    shelf, embedder = Postgres(store, "bench"), embed.named("wordllama")
    for at in range(0, len(memories), 500):
        progress(f"remembering {at:,} of {len(memories):,}")
        some = memories[at : at + 500]
        shelf.add(some)
        made = embedder.vectors([row.text for row in some])
        shelf.put_vectors(embedder.model, [(row.uid, made[place]) for place, row in enumerate(some)])


def _made_events(number: int) -> Iterator[dict[str, object]]:
    for at in range(number):
        data = {"session": f"session-{at % 500}", "agent": "", "level": "L2 Advisory", "fill": 85.1}
        yield {
            **{"uid": new_id(1_700_000_000_000 + 60 * at), "project": f"host/team/project-{at % 40}"},
            **{"machine": f"machine-{at % 50}", "session": f"session-{at % 500}", "at": at},
            **{"event": "CONTEXT_PRESSURE", "data": json.dumps(data)},
        }


def _made_checkpoints(number: int, bodies: list[str]) -> Iterator[dict[str, object]]:
    for at in range(number):
        entry = {
            "id": "2026-11-18-001122",
            "uid": new_id(at),
            "summary": "what it is about, in one line" * 3,
        }
        yield {
            **{"uid": new_id(1_700_000_000_000 + 60 * at), "project": f"host/team/project-{at % 40}"},
            **{"machine": f"machine-{at % 50}", "session": f"session-{at % 500}", "agent": ""},
            **{
                "lineage": "lineage",
                "created": at,
                "entry": json.dumps(entry),
                "body": bodies[at % len(bodies)],
            },
        }


def told(found: Rates, row: dict[str, float], assumed: Assumed) -> str:
    agents = assumed.developers * assumed.agents
    busy, a_day = agents * assumed.peak / 3600, agents * assumed.active_hours
    kinds = (
        ("events", found.events, row["events"], assumed.days),
        ("checkpoints", found.checkpoints, row["checkpoints"], assumed.keep_checkpoints),
        ("memories", found.memories * assumed.learnt, row["items"] + row["vectors"], 365),
    )
    lines = [
        [
            name,
            f"{rate:.1f}",
            f"{rate * busy:,.0f}",
            f"{rate * a_day / 1e6:,.1f} M",
            f"{size:,.0f}",
            f"{rate * a_day * size / 1e9:,.1f} GB",
            f"{rate * a_day * size * kept * assumed.working_days / 365 / 1e12:,.2f} TB in {kept} days",
        ]
        for name, rate, size, kept in kinds
    ]
    head = ["", "an agent, an hour", "a second, at peak", "a day", "bytes a row", "a day", "kept"]
    return table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    for each in fields(Assumed):
        parser.add_argument(
            f"--{each.name.replace('_', '-')}", type=type(each.default), default=each.default
        )
    args = parser.parse_args()
    assumed = Assumed(**{each.name: getattr(args, each.name) for each in fields(Assumed)})
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        found, cases, memories = rates(args.corpus, Path(name))
        row = sizes(Path(name), cases, memories)
    progress("")
    print(
        f"{found.sessions} real sessions, {found.hours:.1f} hours of work, {found.turns:.0f} turns in each;"
    )
    print(f"a checkpoint has {found.checkpoint_bytes / 1000:.1f} KB\n")
    print(told(found, row, assumed))


if __name__ == "__main__":
    main()
