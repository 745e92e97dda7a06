"""What a hook costs while the team's store answers, is down, and hangs: python bench/reach.py [--rounds 41]

Three machines of a team, each with a store of its own: one answers, one was killed, one is stopped in the
middle (SIGSTOP: it takes connections and says nothing); a fourth is in no team. On each, `holdfast sync
--watch` tries to send. Their hooks are run in turns, in a random order: a tool call, which notes nothing,
and a compaction, before which a checkpoint is taken, noted and put into the outbox. Ratios are to the
machine whose store answers, round by round. The control asks the store before it goes on, as a hook
without an outbox would.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

import made
from harness import LAUNCH, PYTHON, Contender, Cost, median, rounds, run, table
from holdfast.store.postgres import PostgreSQL
from store.postgres import Server
from teammate import Machine

GOAL = 0.10
UP, DOWN, HANGS, NONE = "answers", "is down", "hangs", "none"
CALL, COMPACTION = "a tool call", "a compaction, with its checkpoint"
#: Asks the store, then goes on: what a hook would do that has no outbox.
_ASKS = """
import subprocess, sys
import psycopg
try:
    psycopg.connect(sys.argv[1], connect_timeout=2).close()
except psycopg.OperationalError:
    pass
subprocess.run(sys.argv[2:], stdin=sys.stdin, stdout=subprocess.DEVNULL, check=True)
"""


class Row(NamedTuple):
    event: str
    store: str
    cost: Cost
    wall: float
    cpu: float


@contextlib.contextmanager
def machines(folder: Path) -> Iterator[dict[str, Machine]]:
    """By what their stores do; on each a sender that tries."""
    servers = {name: Server(folder / name.replace(" ", "-")) for name in (UP, DOWN, HANGS)}
    senders = []
    try:
        found = {NONE: Machine(folder / "machine-none")}
        for name, server in servers.items():
            store = PostgreSQL(server.url)
            store.bring_up()
            store.close()
            found[name] = Machine(folder / f"machine-{name.replace(' ', '-')}", server.url)
            found[name].sync()
        servers[DOWN].kill()
        servers[HANGS].pause(True)
        senders = [found[name].started("sync", "--watch", stdout=subprocess.DEVNULL) for name in servers]
        yield found
    finally:
        servers[HANGS].pause(False)
        for sender in senders:
            sender.kill()
            sender.wait()
        for name in (UP, HANGS):
            servers[name].stop()


def measure(folder: Path, times: int, asks: bool = False) -> list[Row]:
    with machines(folder) as found:
        contenders = [one for name, machine in found.items() for one in _hooks(name, machine, asks)]
        costs = rounds(contenders, times, {})
    rows = []
    for event in (CALL, COMPACTION):
        up = costs[f"{event}, {UP}"]
        for name in (UP, DOWN, HANGS, NONE):
            those = costs[f"{event}, {name}"]
            # Of one round with another of it: what else goes on comes and goes.
            wall = statistics.median(a.wall_s / b.wall_s for a, b in zip(those, up, strict=True))
            cpu = statistics.median(a.cpu_s / b.cpu_s for a, b in zip(those, up, strict=True))
            rows.append(Row(event, name, median(those), wall, cpu))
    return rows


def _hooks(name: str, machine: Machine, asks: bool) -> Iterator[Contender]:
    hook = [PYTHON, "-I", "-S", str(LAUNCH)]
    argv = [sys.executable, "-c", _ASKS, machine.url, *hook] if asks else hook
    for event in (CALL, COMPACTION):
        session = "call" if event == CALL else "compaction"
        writer = made.Session(machine.root / f"{session}.jsonl", session=session)
        writer.grow_to(200_000)
        run(hook, writer.session_start(machine.project), machine.env)
        said = writer.post_tool_batch() if event == CALL else writer.pre_compact(machine.project)
        run(hook, said, machine.env)
        yield Contender(f"{event}, {name}", argv, said, writer.turn, machine.env)


def told(rows: list[Row]) -> str:
    cells = []
    for row in rows:
        figures = [1000 * row.cost.wall_s, 1000 * row.cost.cpu_s]
        ratios = [f"{row.wall:.2f}", f"{row.cpu:.2f}"]
        cells.append([row.event, row.store, *(f"{ms:.1f}" for ms in figures), *ratios])
    return table(
        ["hook", "the team's store", "wall ms", "CPU ms", "× answers, wall", "× answers, CPU"], cells
    )


def worst(rows: list[Row]) -> float:
    """How far a machine of the team is from the one whose store answers."""
    return max(abs(row.wall - 1) for row in rows if row.store in (DOWN, HANGS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    args = parser.parse_args()
    for asks in (False, True):
        with tempfile.TemporaryDirectory(prefix="holdfast-reach-") as folder:
            rows = measure(Path(folder), args.rounds if not asks else 3, asks)
        print("control: hooks that ask the store first" if asks else "hooks", told(rows), sep="\n")
        if (worst(rows) > GOAL) != asks:
            sys.exit(f"{100 * worst(rows):.0f} % apart (goal {100 * GOAL:.0f})")


if __name__ == "__main__":
    main()
