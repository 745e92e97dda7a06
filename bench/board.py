"""Many agents on one board: python bench/board.py [--agents 64] [--each 1000] [--killed 8]

Every agent is a process of its own. As fast as it can it posts requests to others, reads what waits for it
and acknowledges, through the code that hooks and commands run. What it was told is done stands in a log of
its own, outside of everything that is tried; so many of a hundred agents are killed at a random moment, and
others go on in their place. Afterwards a checker holds the board against these logs: no acknowledged post
or mark is lost, none stands there twice, nothing was delivered twice or to another, and each agent's order
is kept. The board is made anew again and again meanwhile: what was seen to be over may be gone from it, and
nothing else. The control keeps its board as everyone does at first, read, changed and rewritten, and the
checker must find what that loses.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from agents import ended
from harness import progress, table
from holdfast.clock import new_id, now
from holdfast.core.jsontext import dump
from holdfast.disk import board, index, messages
from holdfast.disk.home import Home
from holdfast.disk.messages import DELIVERED, DONE, NOTE, REQUEST, Reader
from holdfast.errors import BadInput

Post = Callable[[Home, board.Place, dict], None]
Mark = Callable[[Home, str, list[dict]], None]


class Way(NamedTuple):
    post: Post = board.post
    mark: Mark = board.mark


class Log:
    """What an agent was told is done, one line each; as whole as the kernel keeps a write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def say(self, *words: object) -> None:
        if self._file is None:
            self._file = self.path.open("ab", buffering=0)
        self._file.write(json.dumps(words).encode() + b"\n")

    def lines(self) -> list[list]:
        raw = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        return [json.loads(line) for line in raw]


class Agent:
    """One of them; `life` is how often it has been started."""

    def __init__(self, number: int, of: int, folder: Path, way: Way, life: int) -> None:
        self.home, self.where = Home(str(folder / "home")), board.Place("0" * 16, str(folder))
        self.reader = Reader(f"s{number}")
        self.others = [f"session:s{other}" for other in range(of) if other != number]
        self.log = Log(folder / "logs" / f"{number}")
        self.way = way
        self.random = random.Random(f"{number} {life}")
        self.place: list[int] = []
        self.open: list[str] = []
        self.times: list[float] = []

    def step(self, number: int) -> str:
        began = time.perf_counter()
        kind = self.random.choices(("post", "read", "ack"), (4, 3, 3))[0]
        getattr(self, f"_{kind}")(number)
        self.times.append(time.perf_counter() - began)
        return kind

    def _post(self, number: int) -> None:
        at, uid = now(), new_id(now())
        kind = self.random.choice((NOTE, REQUEST))
        said = {"type": kind, "from": self.reader.name, "to": self.random.choice(self.others)}
        message = messages.made(uid, at, 60, lambda words: words, text=f"number {number}", **said)
        self.log.say("began", uid)
        try:
            self.way.post(self.home, self.where, message)
        except BadInput:  # it is full: refused, and nobody was told otherwise
            self.log.say("refused", uid)
            return
        self.log.say("posted", uid, said["to"], kind)

    def _read(self, _: int) -> None:
        at = now()
        found = board.since(self.home, self.where.key, self.place, self.reader)
        waiting = found.waiting(self.reader, at)
        if waiting:
            ids = [one["id"] for one in waiting]
            self.log.say("marking", DELIVERED, ids)
            self.way.mark(
                self.home,
                self.where.key,
                [messages.marked(u, self.reader.name, at, DELIVERED) for u in ids],
            )
            self.log.say("marked", DELIVERED, ids)
        self.open += [one["id"] for one in waiting if one["type"] == REQUEST]
        self.place = found.end

    def _ack(self, _: int) -> None:
        if self.open:
            uid = self.open.pop(0)
            self.log.say("marking", DONE, [uid])
            self.way.mark(self.home, self.where.key, [messages.marked(uid, self.reader.name, now(), DONE)])
            self.log.say("marked", DONE, [uid])


def _read_all(home: Home, key: str) -> tuple[Path, list[dict]]:
    path = Path(board.path(home, key))
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = path.read_bytes().split(b"\n") if path.exists() else []
    return path, [said for line in raw if (said := index.checked(line))]


def _rewritten(home: Home, key: str, more: list[dict]) -> None:
    path, lines = _read_all(home, key)
    path.write_bytes(b"".join(index.line(one) + b"\n" for one in [*lines, *more]))


#: As everyone does it at first.
BROKEN = Way(
    lambda home, where, message: _rewritten(home, where.key, [message]),
    _rewritten,
)


def _live(agent: Agent, steps: range) -> None:
    code = 1
    try:
        for number in steps:
            agent.step(number)
        with (agent.log.path.with_suffix(".times")).open("a") as file:
            file.write(dump(agent.times) + "\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def run(folder: Path, agents: int, each: int, killed: int, way: Way | None = None, seed: int = 1) -> float:
    """How long it took, in seconds. `killed` is in percent of the agents."""
    way, chance = way or Way(), random.Random(seed)
    (folder / "logs").mkdir(parents=True)
    doomed = chance.sample(range(agents), max(1, agents * killed // 100)) if killed else []
    began, lives, left = time.monotonic(), dict.fromkeys(range(agents), 0), dict[int, int]()

    def start(number: int) -> None:
        done = sum(line[0] in ("posted", "refused") for line in Log(folder / "logs" / str(number)).lines())
        child = os.fork()
        if not child:
            agent = Agent(number, agents, folder, way, lives[number])
            _live(agent, range(done, done + each // (1 + lives[number])))
        left[child] = number

    for number in range(agents):
        start(number)
    due = {number: began + chance.uniform(0.2, 2.0) for number in doomed}
    while left:
        for number, status in ended(left):
            if status and os.WIFSIGNALED(status):
                lives[number] += 1
                start(number)
            elif status:
                raise RuntimeError(f"agent {number} ended with {status}")
        for number, at in list(due.items()):
            if time.monotonic() >= at:
                del due[number]
                for child in [child for child, one in left.items() if one == number]:
                    os.kill(child, signal.SIGKILL)
        progress(f"{len(left)} of {agents} agents at work")
        time.sleep(0.01)
    progress("")
    return time.monotonic() - began


class History(NamedTuple):
    operations: int
    lost: int
    twice: int
    strange: int
    disorder: int
    damaged: int

    @property
    def is_right(self) -> bool:
        return not any(self[1:])


def check(folder: Path, agents: int) -> History:
    """The board as it is, against what every agent was told."""
    found = board.load(Home(str(folder / "home")), "0" * 16)
    raw = [said for said in _read_all(Home(str(folder / "home")), "0" * 16)[1] if "id" in said]
    counts = Counter(said["id"] for said in raw)
    logs = {number: Log(folder / "logs" / str(number)).lines() for number in range(agents)}
    posted = {line[1]: line for log in logs.values() for line in log if line[0] == "posted"}
    begun = {line[1] for log in logs.values() for line in log if line[0] == "began"}
    marked: Counter[tuple[str, str]] = Counter()
    maybe: set[tuple[str, str]] = set()
    for log in logs.values():
        for word, kind, *rest in log:
            if word in ("marked", "marking"):
                pairs = [(uid, kind) for uid in rest[0]]
                maybe.update(pairs)
                marked.update(pairs if word == "marked" else [])
    ended = {uid for uid, kind in maybe if kind == DONE or posted.get(uid, ["", "", "", ""])[3] == NOTE}
    lost = sum(uid not in found.messages and uid not in ended for uid in posted)
    for (uid, kind), _ in marked.items():
        here = [one["mark"] for one in found.of(uid)]
        lost += uid in found.messages and kind not in here
    twice = sum(count > 1 for count in counts.values()) + sum(count > 1 for count in marked.values())
    strange = sum(uid not in begun for uid in found.messages)
    for uid, marks in found.marks.items():
        to = found.messages[uid]["to"] if uid in found.messages else ""
        strange += sum(bool(to) and mark["by"] != to for mark in marks)
    order = {uid: at for at, uid in enumerate(found.messages)}
    disorder = 0
    for log in logs.values():
        own = [order[line[1]] for line in log if line[0] == "posted" and line[1] in order]
        disorder += sum(one > other for one, other in pairwise(own))
    operations = len(posted) + sum(marked.values())
    return History(operations, lost, twice, strange, disorder, len(found.damaged))


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--agents", type=int, default=64)
    asked.add_argument("--each", type=int, default=1000)
    asked.add_argument("--killed", type=int, default=8, help="of a hundred agents")
    given = asked.parse_args()
    rows, ends = [], []
    for name, way, many in (("ours", Way(), given.each), ("read, changed, rewritten", BROKEN, 20)):
        with tempfile.TemporaryDirectory(prefix="holdfast-board-") as place:
            folder = Path(place)
            took = run(folder, given.agents, many, given.killed if way is not BROKEN else 0, way)
            seen = check(folder, given.agents)
            ends.append(seen.is_right)
            times = sorted(
                one
                for path in (folder / "logs").glob("*.times")
                for line in path.read_text().splitlines()
                for one in json.loads(line)
            )
            size = Path(board.path(Home(str(folder / "home")), "0" * 16)).stat().st_size
        at = [f"{times[int(len(times) * share)] * 1000:.0f}" for share in (0.5, 0.99)]
        rows.append([name, *map(str, seen), *at, f"{size / 1e6:.1f}", f"{took:.0f}"])
    head = [
        "board",
        "acknowledged",
        "lost",
        "twice",
        "strange",
        "out of order",
        "damaged",
        "p50 ms",
        "p99 ms",
    ]
    print(table([*head, "MB at the end", "seconds"], rows))
    if ends[1]:
        print("the control was found right: the checker sees nothing")
    return 0 if ends == [True, False] else 1


if __name__ == "__main__":
    sys.exit(main())
