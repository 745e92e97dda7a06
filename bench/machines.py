"""Two machines, one team: python bench/machines.py

One command starts a real PostgreSQL and two machines, each with its own home, its own clone of a project
and its own service. An agent on the first queues a task, learns something, says something and takes a
checkpoint; an agent on the other claims and finishes that task, recalls what was learnt, is told what was
said, and sees the checkpoint. Then both go on while the server is killed, all its processes at once, and
is brought back. At the end everything that either was told is done is looked for on the other, by its id:
nothing is missing. The control takes the lines out of one outbox while the server is down; then something
must be.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("src", "tests")]

from holdfast.store.postgres import PostgreSQL
from store.postgres import Server
from teammate import Machine, until

_LEARNT = "the sluice of the north gate sticks below four degrees, so warm it before the tide"
_PIERS = ("one", "two", "three", "four", "five")
_ASKED = "why does the north gate stick"


class Trial:
    """`done` are the steps, in words; `missing` what one machine did and the other has not."""

    def __init__(self, folder: Path, kills: int, careless: bool = False) -> None:
        self.folder, self.kills, self.careless = folder, kills, careless
        self.server = Server(folder / "pg", "fsync=on")
        store = PostgreSQL(self.server.url)
        store.bring_up()
        store.close()
        self.ann, self.ben = (Machine(folder / name) for name in ("ann", "ben"))
        self.done: list[str] = []
        self.missing: list[str] = []
        self._tasks: list[int] = []
        self._checkpoints: list[str] = []
        self._messages: list[tuple[Machine, str]] = []
        self._learnt: list[str] = []

    def run(self) -> Trial:
        try:
            for machine in (self.ann, self.ben):
                machine.say("team", "join", self.server.url)
            with _serving(self.ann), _serving(self.ben):
                self._together()
                for kill in range(self.kills):
                    self._killed(kill)
                self._compare()
        finally:
            self.server.stop()
        return self

    def _together(self) -> None:
        """What the issue asks for, step by step."""
        ann, ben = self.ann, self.ben
        for machine in (ann, ben):
            machine.begin()
        task = ann.say("task", "add", "grease the sluice of the north gate")[0]["number"]
        self._tasks.append(task)
        self._say(f"ann queued task {task}")
        self._learn(ann, _LEARNT)
        self._say("ann learnt something")
        taken = self._take(ann)
        self._say(f"ann took checkpoint {taken}")
        said = self._post(ann, "the north gate is mine until noon")

        claimed = ben.say("task", "claim", "--holder", "ben")
        assert claimed["task"]["number"] == task, claimed
        ben.say("task", "finish", str(task), "--holder", "ben")
        self._say(f"ben claimed and finished task {task}")
        until(lambda: said in _ids(ben))
        assert "mine until noon" in ben.hook("UserPromptSubmit")
        self._say(f"ben was told message {said}")
        until(lambda: taken in _listed(ben))
        shown = ben.say("checkpoint", "show", taken, "--team")
        assert shown["fields"]["uid"] == taken
        self._say(f"ben sees checkpoint {taken}")
        until(lambda: _LEARNT in str(ben.say("recall", _ASKED)))
        self._say("ben recalls what ann learnt")

    def _killed(self, number: int) -> None:
        """Both go on while there is no server; tasks alone are in it, and wait."""
        self.server.kill()
        for machine in (self.ann, self.ben):
            machine.hook("PostToolBatch")
            self._post(machine, f"said without a server, {number}")
            self._take(machine)
        self._learn(self.ann, f"the lantern of pier {_PIERS[number % len(_PIERS)]} burns amber in fog")
        if self.careless:
            for path in (self.ann.home / "outbox").glob("*.jsonl"):
                path.unlink()
        assert self.ann.tried("task", "add", "not now").returncode == 5
        self.server.start()
        task = self.ann.say("task", "add", f"look again, {number}")[0]["number"]
        self._tasks.append(task)
        claimed = self.ben.say("task", "claim", "--holder", "ben")
        self.ben.say("task", "finish", str(claimed["task"]["number"]), "--holder", "ben")
        self._say(f"the server was killed and brought back, {number + 1} of {self.kills}")

    def _compare(self) -> None:
        """Everything by its id, on the machine that did not do it."""
        seconds = 15 if self.careless else 90
        end = time.monotonic() + seconds
        while True:
            tasks = {one["number"]: one["state"] for one in self.ann.say("task", "list", "--limit", "0")}
            there = _listed(self.ann) & _listed(self.ben)
            boards = {machine.root.name: _ids(machine) for machine in (self.ann, self.ben)}
            others = {"ann": self.ben, "ben": self.ann}
            self.missing = [
                *(f"task {number}" for number in self._tasks if tasks.get(number) != "finished"),
                *(f"checkpoint {uid}" for uid in self._checkpoints if uid not in there),
                *(f"memory {words}" for words in self._learnt if words not in _recalled(self.ben, words)),
                *(
                    f"message {uid}"
                    for machine, uid in self._messages
                    if uid not in boards[others[machine.root.name].root.name]
                ),
            ]
            if not self.missing or time.monotonic() > end:
                return
            time.sleep(1)

    def _take(self, machine: Machine) -> str:
        transcript = machine.transcript()
        transcript.prompt(f"go on, {time.monotonic_ns()}")
        transcript.answer(60_000, "Went on.")
        uid = str(machine.take()["uid"])
        self._checkpoints.append(uid)
        return uid

    def _post(self, machine: Machine, words: str) -> str:
        uid = str(machine.say("board", "post", words)["id"])
        self._messages.append((machine, uid))
        return uid

    def _learn(self, machine: Machine, words: str) -> None:
        machine.say("memory", "learn", words)
        self._learnt.append(words)

    def _say(self, words: str) -> None:
        self.done.append(words)
        print(words, flush=True)

    @property
    def counted(self) -> str:
        kinds: dict[str, list[Any]] = {
            "tasks": self._tasks,
            "checkpoints": self._checkpoints,
            "messages": self._messages,
            "memories": self._learnt,
        }
        counts = ", ".join(f"{len(some)} {kind}" for kind, some in kinds.items())
        return f"{counts}; missing: {', '.join(self.missing) or 'nothing'}"


def _ids(machine: Machine) -> set[str]:
    return {one["id"] for one in machine.say("board", "list", "--every", "--limit", "0")}


def _recalled(machine: Machine, words: str) -> str:
    return str(machine.say("recall", words))


def _listed(machine: Machine) -> set[str]:
    return {one["uid"] for one in machine.say("checkpoint", "list", "--team", "--limit", "0")}


@contextlib.contextmanager
def _serving(machine: Machine) -> Iterator[None]:
    process = machine.started("serve", "--port", "0", stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def trial(kills: int, careless: bool = False) -> Trial:
    with tempfile.TemporaryDirectory(prefix="holdfast-machines-") as folder:
        return Trial(Path(folder), kills, careless).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    args = parser.parse_args()
    made = trial(args.kills)
    print(made.counted)
    if made.missing:
        sys.exit(1)
    control = trial(1, careless=True)
    print(f"control, an outbox emptied: {control.counted}")
    if not control.missing:
        sys.exit("the control was not caught")


if __name__ == "__main__":
    main()
