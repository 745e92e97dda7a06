"""Checkpoints against kill -9 and power cuts: python bench/crash.py [--kills N] [--images N] [--seed N]

Kills: a process that takes a checkpoint is killed before, in the middle of or after one of its effects on
disk, twelve times in a row on the same folders; after each, everything that was acknowledged must be there,
whole and listed, and nothing else may be listed. Power cuts: the same code runs over a file system in
memory that writes down its effects, and images of the disk that its syncs do not forbid are looked at in
the same way, at once and after the next checkpoint. Protocols broken on purpose must be caught.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

from disk.faults import (
    BROKEN_TURNS,
    CONTROLS,
    DAY,
    NOW,
    Expected,
    Faults,
    Maker,
    Protocol,
    broken_turns,
    full,
    kill,
    no_hard_links,
    ours,
    over,
    read_only,
    wrong,
)
from disk.memory import FILE, FOLDER
from disk.powerloss import Crowd, History, Result, cut_power, lose_power, takeovers
from harness import progress, table
from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import Event
from holdfast.disk import index, marks, sessions
from holdfast.disk.checkpoints import Draft
from holdfast.disk.home import Home
from holdfast.ops import integrity

CHAIN = 12
HOW = ("before", "half", "after")
NEVER = 1 << 30
KINDS = ("phantom", "lost", "unreadable", "duplicate", "stuck")
Refuse = Callable[[str, tuple, dict], None]


class Run(NamedTuple):
    """How a process ended (0, or 9 if it was killed), what it acknowledged, how many effects it had."""

    status: int
    acked: list[str]
    effects: int


class Child:
    """A process of its own that does `job`, given a function to acknowledge with. It stops at the effect
    `pause` until it is told to go on."""

    def __init__(
        self, job: Callable, due: int, how: str, refuse: Refuse | None = None, pause: int = NEVER
    ) -> None:
        self.said, say = os.pipe()
        hear, self.tell = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(say)
            os.close(hear)
            self.heard = b""
            return
        os.close(self.said)
        os.close(self.tell)  # so that one whose parent has gone does not wait for it

        def stop(name: str, args: tuple, named: dict) -> None:
            if faults.count == pause + 1:
                os.write(say, b"paused\n")
                os.read(hear, 1)
            if refuse:
                refuse(name, args, named)

        faults = Faults(due, kill(how), stop if pause < NEVER else refuse)
        try:
            with over(faults):
                job(lambda uid: os.write(say, uid.encode() + b"\n"))
            os.write(say, b"#%d\n" % faults.count)
        except BaseException as problem:
            os.write(say, f"!{type(problem).__name__}: {problem}\n".encode())
            os._exit(1)
        os._exit(0)

    def listen(self, until: bytes, seconds: float) -> bool:
        """Whether it said that, or ended, in this time."""
        end = time.monotonic() + seconds
        while not (until and until in self.heard):
            if not select.select([self.said], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            piece = os.read(self.said, 1 << 16)
            if not piece:
                return True
            self.heard += piece
        return True

    def go_on(self) -> None:
        try:
            os.write(self.tell, b".")
        except BrokenPipeError:
            pass

    def end(self) -> Run:
        self.go_on()
        if not self.listen(b"", 30):
            os.kill(self.pid, 9)
            self.heard += b"!it hangs\n"
        os.close(self.said)
        os.close(self.tell)
        status = os.waitpid(self.pid, 0)[1]
        words = self.heard.decode().split("\n")[:-1]
        refused = [word for word in words if word.startswith("!")]
        if refused:
            return Run(1, refused, 0)
        effects = next((int(word[1:]) for word in words if word[0] == "#"), 0)
        return Run(status, [word for word in words if word.isalnum() and word.isupper()], effects)


class Ground:
    """A machine's folders, what must be in them, and what is still owed there."""

    def __init__(self, root: str, dice: random.Random, protocol: Protocol = ours) -> None:
        self.root = root
        self.dice = dice
        self.protocol = protocol
        self.home = Home(root + "/.claude/holdfast")
        self.project = root + "/p"
        self.maker = Maker(self.project, dice)
        self.expected = Expected()
        self.owed: Draft | None = None
        self.refuse: Refuse | None = None
        os.makedirs(root + "/.claude")
        os.mkdir(self.project)

    def saved(self, draft: Draft) -> None:
        self.expected.begin(draft)
        self.protocol(self.home, draft, lambda _: self.expected.ack(draft))

    def next(self) -> Draft:
        """What a killed one owed, mostly, as the next hook would."""
        if self.owed is None or self.dice.random() < 0.3:
            self.owed = self.draft()
        return self.owed

    def draft(self) -> Draft:
        made = self.maker.draft()
        self.expected.begin(made)
        return made

    def wrong(self) -> list[tuple[str, str]]:
        return wrong(self.home, [self.project], self.expected, strict=True)


class Scenario:
    """Somebody takes a checkpoint, and is killed."""

    name = "fresh"
    weight = 3

    def prepare(self, ground: Ground) -> None:
        pass

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        draft = ground.next()
        child = Child(lambda ack: ground.protocol(ground.home, draft, ack), due, how, ground.refuse)
        run = child.end()
        self.settle(ground, draft, run)
        return [run]

    @staticmethod
    def settle(ground: Ground, draft: Draft, run: Run) -> None:
        if draft.uid in run.acked:
            ground.expected.ack(draft)
            if ground.owed is draft:
                ground.owed = None


class Existing(Scenario):
    name = "existing"

    def prepare(self, ground: Ground) -> None:
        for _ in range(3):
            ground.saved(ground.maker.draft())


class Vanished(Scenario):
    name = "no project"
    weight = 1

    def prepare(self, ground: Ground) -> None:
        os.rmdir(ground.project)


class ReadOnly(Existing):
    name = "read-only project"
    weight = 1

    def prepare(self, ground: Ground) -> None:
        super().prepare(ground)
        ground.refuse = read_only(ground.project)


class Full(Existing):
    name = "full project"
    weight = 1

    def prepare(self, ground: Ground) -> None:
        super().prepare(ground)
        ground.refuse = full(ground.project)


class NoLinks(Scenario):
    name = "no hard links"
    weight = 1

    def prepare(self, ground: Ground) -> None:
        ground.refuse = no_hard_links


class Old(Scenario):
    """Every take finds some that are older than a week; some of those are pinned."""

    name = "pruning"

    def prepare(self, ground: Ground) -> None:
        for day in range(20, 8, -1):
            ground.saved(ground.maker.draft(NOW - day * DAY))
        for uid in ground.dice.sample(sorted(index.load_all(ground.home).entries), 2):
            marks.add(ground.home, "pin", uid, "")
            ground.expected.pinned.add(uid)

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        if ground.dice.random() < 0.3:
            ground.maker.at += 3 * DAY
        return super().run(ground, due, how)


class Marks(Existing):
    name = "pinning"
    weight = 1

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        uid = ground.dice.choice(sorted(ground.expected.acked))

        def job(ack: Callable[[str], object]) -> None:
            marks.add(ground.home, "pin", uid, "")
            ack(uid)

        run = Child(job, due if due == NEVER else due % 6, how).end()
        if run.acked:
            ground.expected.pinned.add(uid)
        return [run]


class Repair(Old):
    """In turns with takes, which leave files that the index does not know."""

    name = "repair"
    weight = 2

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        if ground.dice.random() < 0.5:
            return super().run(ground, due, how)
        return [Child(lambda _: repair(ground), due, how, ground.refuse).end()]


def repair(ground: Ground) -> None:
    os.chdir(ground.root)
    integrity.repair(Holdfast(ground.home, ground.root + "/.claude", {}))


class Two(Old):
    """One stops at some effect while the other runs; then it goes on, and either may be killed."""

    name = "two at once"
    weight = 3

    def first(self, ground: Ground) -> tuple[Draft | None, Callable]:
        draft = ground.next()
        return draft, lambda ack: ground.protocol(ground.home, draft, ack)

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        dice = ground.dice
        one, job = self.first(ground)
        other = ground.draft()
        kills = [(due, how), (NEVER, how)]
        if dice.random() < 0.3:
            kills[1] = dice.randrange(max(1, due)), dice.choice(HOW)
        if dice.random() < 0.3:
            kills.reverse()
        pause = dice.randrange(min(40, kills[0][0] + 1))
        first = Child(job, *kills[0], ground.refuse, pause)
        first.listen(b"paused\n", 10)
        second = Child(lambda ack: ground.protocol(ground.home, other, ack), *kills[1], ground.refuse)
        second.listen(b"", dice.choice((0.0, 0.002, 0.03)))
        first.go_on()
        runs = [first.end(), second.end()]
        if one:
            self.settle(ground, one, runs[0])
        self.settle(ground, other, runs[1])
        return runs


class TwoRepair(Two):
    name = "repair and take"
    weight = 2

    def first(self, ground: Ground) -> tuple[Draft | None, Callable]:
        return None, lambda _: repair(ground)


class Hook(Scenario):
    """The whole of a PreCompact hook: the debt is in the session's state, and the next one pays it."""

    name = "whole hook"
    weight = 2

    def prepare(self, ground: Ground) -> None:
        from made import Session

        session = Session(Path(ground.root, "t"), "s1", 1)
        session.grow_to(30_000)
        ground.transcript = str(session.path)  # type: ignore[attr-defined]

    def run(self, ground: Ground, due: int, how: str) -> list[Run]:
        ground.maker.at += 61_000
        event = Event("PreCompact", "s1", ground.maker.at, self.payload(ground))
        app = Holdfast(ground.home, ground.root + "/.claude", {"CLAUDE_PROJECT_DIR": ground.project})

        def job(ack: Callable[[str], object]) -> None:
            engine._SETTLE_S = 0.0
            taken = engine.handle(event, app).checkpoint
            if not taken:
                raise RuntimeError(f"nothing taken: {sessions.load(app.home, 's1').heard.owed}")
            ack(taken["uid"])

        run = Child(job, due, how).end()
        for uid in run.acked if run.status != 1 else ():
            ground.expected.ack(Draft(uid, event.at, ground.project, {"lineage": ""}, ""))
        return [run]

    @staticmethod
    def payload(ground: Ground) -> dict:
        return {
            "session_id": "s1",
            "transcript_path": ground.transcript,  # type: ignore[attr-defined]
            "cwd": ground.project,
            "trigger": "auto",
        }


SCENARIOS: list[Scenario] = [
    Scenario(), Existing(), Vanished(), ReadOnly(), Full(), NoLinks(), Old(), Marks(), Repair(), Two(),
    TwoRepair(), Hook(),
]  # fmt: skip


class Tally:
    def __init__(self) -> None:
        self.runs = self.killed = self.acked = 0
        self.wrong: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def note(self, kind: str, what: str) -> None:
        self.wrong[kind] += 1
        self.examples.setdefault(kind, what)

    def add(self, other: Tally) -> None:
        self.runs += other.runs
        self.killed += other.killed
        self.acked += other.acked
        self.wrong += other.wrong
        self.examples = {**other.examples, **self.examples}


@contextmanager
def base() -> Iterator[str]:
    """Where folders for trials are made: in memory if there is room for it."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=room) as folder:
        yield folder


def chain(scenario: Scenario, folder: str, number: int, protocol: Protocol = ours) -> Tally:
    """A dozen kills on the same folders, the first at an effect that `number` decides, so that all effects
    have their turn; then one that lives. Ends at the first thing that is wrong: all else would follow."""
    dice = random.Random(f"{scenario.name} {number}")
    root = f"{folder}/{scenario.name.replace(' ', '-')}-{number}"
    ground, tally = Ground(root, dice, protocol), Tally()
    scenario.prepare(ground)
    effects = 45
    try:
        for step in range(CHAIN + 1):
            due, how = dice.randrange(effects), dice.choice(HOW)
            if step == 0:
                due, how = number // len(HOW) % 60, HOW[number % len(HOW)]
            elif step == CHAIN or dice.random() < 0.1:
                due = NEVER
            for run in scenario.run(ground, due, how):
                tally.runs += 1
                tally.killed += run.status == 9
                if run.status not in (0, 9):
                    tally.note("stuck", f"{run.acked}: {scenario.name} {number}, step {step}")
                effects = max(effects, run.effects) if run.effects < 200 else effects
            found = ground.wrong()
            for kind, what in found:
                tally.note(kind, f"{what}: {scenario.name} {number}, step {step}, {how} effect {due}")
            if found:
                break
    finally:
        shutil.rmtree(root, ignore_errors=True)
    tally.acked = len(ground.expected.acked)
    return tally


def kills(scenario: Scenario, most: int, seed: int, protocol: Protocol = ours) -> Tally:
    """Chains until so many have been killed."""
    tally, number = Tally(), seed
    with base() as folder:
        while tally.killed < most:
            tally.add(chain(scenario, folder, number, protocol))
            number += 1
            if tally.wrong and sum(tally.wrong.values()) > 200:
                break
    return tally


# At full size, on all cores


def _kill_task(task: tuple[str, int, int]) -> tuple[str, Tally]:
    name, most, seed = task
    scenario = next(one for one in SCENARIOS if one.name == name)
    return name, kills(scenario, most, seed)


def _image_task(seed: int) -> Result:
    """A history; -1: those in which one is killed and another goes on."""
    result = Result()
    if seed < 0:
        for history in takeovers():
            cut_power(history, result, 24, every=NEVER)
    else:
        cut_power(History(seed), result, 12)
        cut_power(Crowd(seed), result, 4)
    return result


def in_a_crowd(histories: int, seed: int, name: str = "") -> Result:
    """Histories in which many sync in turns, as we do or as one of `BROKEN_TURNS` does; up to the first in
    which something is wrong."""
    result = Result()
    with broken_turns(name):
        for number in range(histories):
            if result.wrong:
                break
            cut_power(Crowd(seed + number), result, 4, recover=False, every=NEVER)
    return result


def _pool() -> object:
    return get_context("fork").Pool(os.cpu_count() or 1)


def try_kills(most: int, seed: int) -> dict[str, Tally]:
    share = most / sum(one.weight for one in SCENARIOS)
    tasks = []
    for one in SCENARIOS:
        parts = max(1, round(share * one.weight / 150))
        tasks += [(one.name, -int(-share * one.weight // parts), seed + 1000 * at) for at in range(parts)]
    found = {one.name: Tally() for one in SCENARIOS}
    with _pool() as pool:  # type: ignore[attr-defined]
        for name, tally in pool.imap_unordered(_kill_task, tasks):
            found[name].add(tally)
            progress(f"{sum(one.killed for one in found.values()):,} of {most:,} killed")
    progress("")
    return found


def try_images(images: int, seed: int) -> Result:
    total = Result()
    with _pool() as pool:  # type: ignore[attr-defined]
        for result in pool.imap_unordered(_image_task, (-1, *range(seed, seed + 10_000))):
            total.add(result)
            progress(f"{len(total.mattering):,} of {images:,} images, {total.histories} histories")
            if len(total.mattering) >= images:
                break
        pool.terminate()
    progress("")
    return total


def try_controls(seed: int) -> Iterator[tuple[str, str, bool]]:
    """(name, what it did, whether it was caught)."""
    for name, (protocol, kind) in CONTROLS.items():
        tally = kills(Existing(), 150, seed, protocol)
        said = f"{tally.wrong[kind]} {kind} in {tally.killed} kills"
        yield f"kill: {name}", said, bool(tally.wrong[kind])
    for name, kinds in (("files not synced", FILE), ("folders not synced", FOLDER)):
        result = lose_power(1500, seed, unsynced=frozenset((kinds,)), recover=False)
        found = sum(result.wrong.values())
        yield f"power: {name}", f"{found} violations in {len(result.distinct)} images", bool(found)
    for name in BROKEN_TURNS:
        result = in_a_crowd(500, seed, name)
        found = result.wrong.get("lost", 0)
        said = f"{found} lost in {result.histories} histories"
        yield f"power: another's sync, {name}", said, bool(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.monotonic()
    tried = try_kills(asked.kills, asked.seed) if asked.kills else {}
    rows = [_row(name, tally) for name, tally in tried.items()]
    total = Tally()
    for tally in tried.values():
        total.add(tally)
    print(table(["kill -9", "runs", "killed", "acknowledged", *KINDS], [*rows, _row("all", total)]))
    print(f"\n{time.monotonic() - began:.0f} s\n")
    began = time.monotonic()
    result = try_images(asked.images, asked.seed) if asked.images else Result()
    head = ["power cut", "histories", "images made", "distinct", "without caches", "violations"]
    figures = [result.histories, result.images, len(result.distinct), len(result.mattering)]
    print(table(head, [["ours", *(f"{n:,}" for n in (*figures, sum(result.wrong.values())))]]))
    print(f"\n{time.monotonic() - began:.0f} s\n")
    caught = list(try_controls(asked.seed))
    print(table(["control", "found", "caught"], [[a, b, "yes" if c else "NO"] for a, b, c in caught]))
    for kind, what in [*total.examples.items(), *result.examples.items()]:
        print(f"- {kind}: {what}")
    sys.exit(1 if total.wrong or result.wrong or not all(ok for _, _, ok in caught) else 0)


def _row(name: str, tally: Tally) -> list[str]:
    figures = [tally.runs, tally.killed, tally.acked, *(tally.wrong[kind] for kind in KINDS)]
    return [name, *(f"{number:,}" for number in figures)]


if __name__ == "__main__":
    main()
