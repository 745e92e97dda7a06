"""Many agents that take checkpoints at once: python bench/agents.py [--agents 64] [--each 1000]

Every agent is a process of its own and takes its checkpoints one after the other, as fast as it can,
through the code a hook runs. What each began and what it was told is taken stands in a log of its own,
outside of everything that is tried; afterwards a checker holds index and files against these logs: nothing
acknowledged is lost, nothing stands there twice, nothing is reported that does not exist, and each agent's
order is kept. Some agents are killed at random moments and started again; they pay what they owe, as the
next hook would. The control keeps its index as everyone does at first: read, changed, rewritten.

All at once without a pause is more than anyone's agents do: with 64 of them on two cores the time of one
take is 32 times what one costs. `--pause` shows what a session feels when its neighbours work as well.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import progress, table
from holdfast.clock import id_time, new_id, now
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.disk import checkpoints, index, retention
from holdfast.disk.checkpoints import Draft
from holdfast.disk.folder import Folder
from holdfast.disk.home import Home

#: What an index add may take, of a hundred the slowest but one.
GOAL_MS = 150
#: Where the time of a take goes: what is called, and what it is for. Inner ones are taken off outer ones.
STEPS: dict[str, tuple[Any, str]] = {
    "names of this second": (checkpoints, "_written_before"),
    "counter": (checkpoints, "_count"),
    "file, its fsync, its name": (checkpoints, "_write"),
    "folder's fsync": (Folder, "sync"),
    "index line": (index, "add"),
    "head": (checkpoints, "set_head"),
    "latest.md": (checkpoints, "point_latest"),
    "retention": (retention, "prune_folder"),
    "index.json": (index, "show"),
}
_WORDS = (
    "the handler reads its offset from state and folds what is new then saves under the lock so that a "
    "crash between two writes heals itself while tests run against real files and not against mocks"
).split()


class Plan(NamedTuple):
    agents: int = 64
    each: int = 1000
    shared: bool = True  # one project for all, or one for each
    kills: int = 0
    pause_s: float = 0.0
    seed: int = 1
    add: Callable[[Home, dict], None] | None = None  # another index than ours
    lines_only: bool = False  # only the line in the index, without a checkpoint


class Log:
    """What an agent began and what it was told, one line each; as whole as the kernel keeps a write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def say(self, *words: object) -> None:
        if self._file is None:
            self._file = self.path.open("ab", buffering=0)
        self._file.write(" ".join(map(str, words)).encode() + b"\n")

    def lines(self, kind: str) -> list[list[str]]:
        if not self.path.exists():
            return []
        rows = [line.split(" ") for line in self.path.read_text().split("\n")[:-1]]
        return [row[1:] for row in rows if row[0] == kind]

    def owed(self) -> tuple[str, int] | None:
        begun, taken = self.lines("begun"), self.lines("taken")
        return (begun[-1][0], int(begun[-1][1])) if len(begun) > len(taken) else None


def body(dice: random.Random) -> str:
    """Six to eight kilobytes, as a session of some hours leaves them."""

    def words(most: int) -> str:
        return " ".join(dice.choices(_WORDS, k=dice.randrange(6, most)))

    def lines(number: int, most: int, form: str = "{}") -> list[str]:
        return [form.format(words(most)) + f" (turn {dice.randrange(400)})" for _ in range(number)]

    changed = [
        f"[src/holdfast/disk/part_{dice.randrange(40)}.py:{dice.randrange(300)}] - {words(14)}"
        for _ in range(20)
    ]
    sections = {
        "Goal": lines(2, 40),
        "What Changed": changed,
        "Why Changed": lines(4, 30),
        "Active Issues": lines(4, 26),
        "Key Decisions": lines(6, 26),
        "Standing Instructions": lines(5, 20),
        "Plan and Workflow": lines(8, 14),
        "Next Steps": lines(8, 14, "[ ] {}"),
        "Commands and Tests": lines(8, 12, "`pytest -q tests` - {} - exit 0"),
    }
    return checkpoint.body(sections)


def draft(owed: tuple[str, int], project: str, agent: str, dice: random.Random, text: str = "") -> Draft:
    fields = {
        "trigger": "auto",
        "reason": "compaction",
        "project": project,
        "lineage": sha256_hex(project.encode())[:16],
        "session_id": agent,
        "agent_id": "",
        "parent": "",
        "branch": "main",
        "commit": "c0ffee" * 6 + "c0ff",
        "used_tokens": dice.randrange(200_000),
        "window": 200_000,
        "summary": " ".join(dice.choices(_WORDS, k=12)),
    }
    return Draft(*owed, project, fields, text or body(dice))


def owe(home: Home, project: str) -> tuple[str, int]:
    """(uid, time), as a hook decides them."""
    at = now()
    newest = checkpoints.head(home, sha256_hex(project.encode())[:16]).get("uid", "")
    return new_id(max(at, id_time(newest) + 1)), at


# One agent


def agent(home: Home, project: str, log: Log, plan: Plan, number: int) -> None:
    """Until it has taken its share, counting what it took before it was killed."""
    if plan.add:
        index.add, index.show = plan.add, lambda _home: None
    take = _line_only if plan.lines_only else checkpoints.take
    spent = _timed()
    dice = random.Random(f"{plan.seed} {number} {os.getpid()}")
    done = len(log.lines("taken"))
    if plan.pause_s and not done:
        time.sleep(dice.uniform(0, 1.5) * plan.pause_s)
    texts, debt = [body(dice) for _ in range(4)], log.owed()  # nothing of ours shall cost more than a take
    while done < plan.each:
        owed = debt or owe(home, project)
        if not debt:
            log.say("begun", *owed)
        made, debt = draft(owed, project, f"s{number}", dice, dice.choice(texts)), None
        began, adding = time.perf_counter(), spent["index line"]
        left: list[float] = []
        entry = take(home, made, dict, lambda left=left: left.append(time.perf_counter()))
        # What is done after that nobody waits for: a child does it, and the hook has ended.
        took, added = (left or [time.perf_counter()])[0] - began, spent["index line"] - adding
        log.say("taken", entry["uid"], entry["iteration"], entry["kept"], took, added, entry["path"])
        done += 1
        if plan.pause_s:
            time.sleep(dice.uniform(0.5, 1.5) * plan.pause_s)
    for name, seconds in spent.items():
        log.say("spent", seconds, name)


def _line_only(home: Home, made: Draft, *_: object) -> dict:
    fields = {**made.fields, "id": "x", "uid": made.uid, "created": "x", "verified": True, "sha256": "x"}
    entry = index.entry({**fields, "iteration": 0}, f"{made.project}/{made.uid}", "project")
    index.add(home, entry)
    return entry


def _timed() -> dict[str, float]:
    """Seconds by step, counted from now on in this process."""
    spent = dict.fromkeys(STEPS, 0.0)
    inside: list[float] = []

    def wrap(name: str, real: Callable) -> Callable:
        def timed(*args: Any, **named: Any) -> Any:
            inside.append(0.0)
            began = time.perf_counter()
            try:
                return real(*args, **named)
            finally:
                whole = time.perf_counter() - began
                spent[name] += whole - inside.pop()
                if inside:
                    inside[-1] += whole

        return timed

    for name, (place, attribute) in STEPS.items():
        setattr(place, attribute, wrap(name, getattr(place, attribute)))
    return spent


# All of them


class Trial:
    """A folder with a home, projects and logs in it, and the agents at work there."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self.home = Home(str(folder / "home"))
        self.logs = [Log(folder / f"log{number}") for number in range(plan.agents)]
        self.projects = [str(folder / f"project{0 if plan.shared else n}") for n in range(plan.agents)]
        for project in self.projects:
            os.makedirs(project, exist_ok=True)
        self.seconds = 0.0
        self.killed = 0
        self.failed = 0

    def run(self) -> Trial:
        dice = random.Random(self.plan.seed)
        began = time.perf_counter()
        running = {self._start(number): number for number in range(self.plan.agents)}
        doomed = dice.sample(range(self.plan.agents), max(1, round(self.plan.agents * 0.08)))
        total, due = self.plan.agents * self.plan.each, self._kill_at(dice)
        while running:
            for number, status in ended(running):
                if os.WIFSIGNALED(status):
                    self.killed += 1
                    running[self._start(number)] = number
                elif status:
                    self.failed += 1
            time.sleep(0.005)
            if due or sys.stderr.isatty():
                done = self._done(total)
                progress(f"{done:,} of {total:,} checkpoints")
                if due and done >= due[0]:
                    due.pop(0)
                    victim = dice.choice(doomed)
                    for pid in [pid for pid, number in running.items() if number == victim]:
                        time.sleep(dice.random() * 0.02)
                        os.kill(pid, signal.SIGKILL)
        progress("")
        self.seconds = time.perf_counter() - began
        return self

    def _done(self, total: int) -> int:
        """From the size of the logs: exact enough to kill by."""
        size = sum(log.path.stat().st_size for log in self.logs if log.path.exists())
        return min(total, size // 200)

    def _kill_at(self, dice: random.Random) -> list[int]:
        total = self.plan.agents * self.plan.each
        return sorted(dice.randrange(total) for _ in range(self.plan.kills))

    def _start(self, number: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            agent(self.home, self.projects[number], self.logs[number], self.plan, number)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def listed(self) -> list[dict]:
        """What the index says, in the order of its lines, and as often as it says so."""
        data = Path(self.home.index).read_bytes()
        return [said for said in map(index._read, data.split(b"\n")[:-1]) if said]

    def times(self) -> tuple[list[float], list[float]]:
        """(takes, index adds) in milliseconds, sorted."""
        rows = [row for log in self.logs for row in log.lines("taken")]
        return sorted(float(row[3]) * 1000 for row in rows), sorted(float(row[4]) * 1000 for row in rows)

    def spent(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for log in self.logs:
            for row in log.lines("spent"):
                found[" ".join(row[1:])] += float(row[0])
        return found


def ended(running: dict[int, int]) -> list[tuple[int, int]]:
    """(number, status) of those that have ended by now. Only of ours: whoever runs this may have others."""
    found = [os.waitpid(pid, os.WNOHANG) for pid in running]
    return [(running.pop(pid), status) for pid, status in found if pid]


# What must hold


def wrong(trial: Trial, listed: list[dict]) -> Iterator[tuple[str, str]]:
    """(kind, what) of everything that breaks a promise, by the agents' own logs."""
    begun = {row[0] for log in trial.logs for row in log.lines("begun")}
    taken = {row[0]: row for log in trial.logs for row in log.lines("taken")}
    entries: dict[str, dict] = {}
    place: dict[str, int] = {}
    for number, said in enumerate(listed):
        if said["uid"] in entries and said != entries[said["uid"]]:
            yield "duplicate", f"{said['uid']} stands in the index with two meanings"
        entries.setdefault(said["uid"], said)
        place.setdefault(said["uid"], number)
    if trial.failed:
        yield "failed", f"{trial.failed} agents ended with an error"
    for log in trial.logs:
        mine = [row[0] for row in log.lines("taken")]
        if len(mine) != trial.plan.each or len(set(mine)) != len(mine):
            yield "lost", f"{log.path.name}: {len(set(mine))} of {trial.plan.each} were acknowledged"
        there = [uid for uid in mine if uid in entries]
        in_time = there == sorted(there) or trial.plan.lines_only  # it is the head that keeps them in order
        if not in_time or [place[uid] for uid in there] != sorted(place[uid] for uid in there):
            yield "order", f"{log.path.name}: not in the order in which they were taken"
    for uid, row in taken.items():
        path = row[5]
        if uid not in entries:
            yield "lost", f"{uid} was acknowledged and is not in the index"
        elif entries[uid]["path"] != path:
            yield "lost", f"{uid} was acknowledged as {path}, the index says {entries[uid]['path']}"
    for uid in entries.keys() - begun:
        yield "phantom", f"{uid} is in the index, and nobody has taken it"
    if trial.plan.lines_only:
        return
    yield from _wrong_files(trial, entries, begun)
    counted = Counter((entry["project"], entry["kept"], entry["iteration"]) for entry in entries.values())
    for (project, _, iteration), times in counted.items():
        if times > 1:
            yield "iteration", f"{times} checkpoints of {project} are number {iteration}"


def _wrong_files(trial: Trial, entries: dict[str, dict], begun: set[str]) -> Iterator[tuple[str, str]]:
    """Every file is a whole checkpoint that somebody began, and is there once; every entry has its file."""
    key = checkpoints.seal_key(trial.home)
    found: dict[str, str] = {}
    for project in sorted(set(trial.projects)):
        with checkpoints.in_project(project) as folder:
            for stem in checkpoints.stems(folder):
                path = f"{folder.path}/{stem}{checkpoints.SUFFIX}"
                data = folder.read(stem + checkpoints.SUFFIX, checkpoint.LARGEST)
                if checkpoint.problems(data, stem) or not checkpoint.is_sealed(data, key):
                    yield "unreadable", path
                    continue
                uid = checkpoint.parse(data, stem).fields["uid"]
                if uid in found:
                    yield "duplicate", f"{found[uid]} and {path} are the same checkpoint"
                if uid not in begun:
                    yield "phantom", f"{path}: nobody has taken it"
                found[uid] = path
    for uid, entry in entries.items():
        if found.get(uid) != entry["path"]:
            yield "phantom", f"the index names {entry['path']}, and it is not there"


def wrong_shown(trial: Trial) -> Iterator[tuple[str, str]]:
    """`index.json`, after a last rendering, ends with the newest; `latest.md` leads to it."""
    index.show(trial.home)
    newest = list(index.load_all(trial.home).entries.values())
    try:
        shown = json.loads(Path(trial.home.checkpoints, "index.json").read_bytes())["checkpoints"]
    except ValueError:
        yield "unreadable", "index.json"
        return
    if [said["uid"] for said in shown] != [said["uid"] for said in newest][-len(shown) :] or not shown:
        yield "shown", "index.json does not hold the newest"


def behind(trial: Trial) -> list[str]:
    """What only the next checkpoint puts right, when all is quiet: not wrong, but worth knowing."""
    entries = list(index.load_all(trial.home).entries.values())
    shown = json.loads(Path(trial.home.checkpoints, "index.json").read_bytes())["checkpoints"]
    found = []
    if shown[-1]["uid"] != entries[-1]["uid"]:
        found.append("index.json does not end with the newest until it is rendered again")
    stale = 0
    for project in sorted(set(trial.projects)):
        mine = [entry for entry in entries if entry["project"] == project]
        stale += os.readlink(f"{project}/.claude/checkpoints/latest.md") != f"{mine[-1]['id']}.md"
    if stale:
        found.append(f"latest.md of {stale} projects does not lead to the newest")
    repeated = len(trial.listed()) - len(entries)
    if repeated:
        found.append(f"{repeated} lines stand in the index twice, word for word")
    return found


# The control


def careless(home: Home, said: dict) -> None:
    """An index as one writes it at first."""
    path = Path(home.checkpoints, "careless.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_bytes()) if path.exists() else []
    path.with_suffix(f".{os.getpid()}").write_text(json.dumps([*known, said]))
    path.with_suffix(f".{os.getpid()}").rename(path)


def carelessly_listed(home: Home) -> list[dict]:
    return list(json.loads(Path(home.checkpoints, "careless.json").read_bytes()))


# Reports


def reference(folder: Path, size: int, times: int) -> list[float]:
    """Milliseconds of one process that appends lines of that size and waits for the disk."""
    path, found = folder / "reference", []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    line = b"x" * size + b"\n"
    for _ in range(times):
        began = time.perf_counter()
        os.write(fd, line)
        os.fdatasync(fd)
        found.append((time.perf_counter() - began) * 1000)
    os.close(fd)
    return sorted(found)


def at(times: list[float], share: float) -> float:
    return times[min(len(times) - 1, int(len(times) * share))]


def _row(name: str, times: list[float], per_s: float, base: list[float]) -> list[str]:
    numbers = [at(times, 0.5), at(times, 0.99), times[-1]]
    ratio = at(times, 0.99) / at(base, 0.99)
    return [name, f"{per_s:,.0f}", *(f"{number:,.1f}" for number in numbers), f"{ratio:.1f} ×"]


def report(name: str, plan: Plan, folder: Path) -> bool:
    """Run it, say how it went; whether all held."""
    base = reference(folder, 780, 400)
    trial = Trial(folder, plan).run()
    late = behind(trial) if not plan.lines_only else []
    problems = [*wrong(trial, trial.listed()), *wrong_shown(trial)]
    takes, adds = trial.times()
    per_s = len(takes) / trial.seconds
    rows = [
        _row("append + fdatasync, alone", base, 1000 * len(base) / sum(base), base),
        _row("index add", adds, per_s, base),
        _row("whole take", takes, per_s, base),
    ]
    again = reference(folder, 780, 400)
    print(f"\n**{name}**: {plan.agents} agents × {plan.each}, {trial.seconds:.1f} s", end="")
    print(
        f", {trial.killed} kills" if plan.kills else "", f"(append alone afterwards: {at(again, 0.5):.1f}"
    )
    print(f"ms p50, {at(again, 0.99):.1f} p99; load {os.getloadavg()[0]:.0f})\n")
    print(table(["", "per s", "p50 ms", "p99 ms", "max ms", "p99 : alone"], rows))
    whole, spent = sum(takes) / 1000, trial.spent()
    if not plan.kills and not plan.lines_only:
        told = [f"{step} {seconds / whole:.0%}" for step, seconds in spent.most_common() if seconds]
        print(f"\ntime of a take: {', '.join(told)}, rest {1 - sum(spent.values()) / whole:.0%}")
    for what in late:
        print(f"- when all is quiet: {what}")
    return _verdict(problems) and at(adds, 0.99) <= GOAL_MS


def _verdict(problems: list[tuple[str, str]]) -> bool:
    counted = Counter(kind for kind, _ in problems)
    kinds = ("lost", "duplicate", "phantom", "order", "unreadable", "iteration", "shown", "failed")
    print("\n" + ", ".join(f"{counted[kind]} {kind}" for kind in kinds))
    for kind, what in problems[:10]:
        print(f"- {kind}: {what}")
    return not problems


def control(plan: Plan, folder: Path) -> bool:
    """Whether the checker finds out what a careless index has lost."""
    trial = Trial(folder, plan._replace(add=careless, each=min(plan.each, 25))).run()
    listed = carelessly_listed(trial.home)
    counted = Counter(kind for kind, _ in wrong(trial, listed))
    total = plan.agents * trial.plan.each
    print(
        f"\n**control** (a JSON file, read, changed, rewritten): {counted['lost']} of {total} lost", end=""
    )
    print(": the checker finds them" if counted["lost"] else ": THE CHECKER IS BLIND")
    return counted["lost"] > 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=64)
    parser.add_argument("--each", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two takes of an agent")
    parser.add_argument("--kills", type=int, default=60, help="of the 8 %% that are killed and restarted")
    parser.add_argument("--on", default="", help="a folder; else the disk, then memory (/dev/shm)")
    parser.add_argument("--only", default="", help="lines, shared, own, killed or control")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    plan = Plan(asked.agents, asked.each, pause_s=asked.pause, seed=asked.seed)
    runs = {
        "lines": ("lines of the index, and nothing else", plan._replace(lines_only=True)),
        "shared": ("one project", plan),
        "own": ("a project each", plan._replace(shared=False)),
        "killed": ("one project, 8 % killed", plan._replace(kills=asked.kills)),
    }
    good = True
    for place in [asked.on] if asked.on else [tempfile.gettempdir(), "/dev/shm"]:
        for short, (name, chosen) in runs.items():
            if asked.only in ("", short):
                with tempfile.TemporaryDirectory(dir=place) as folder:
                    good &= report(f"{name}, {place}", chosen, Path(folder))
    if asked.only in ("", "control"):
        with tempfile.TemporaryDirectory(dir=asked.on or "/dev/shm") as folder:
            good &= control(plan, Path(folder))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
