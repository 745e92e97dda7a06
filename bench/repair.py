"""Hundreds of kinds of damage, and a rebuild: python bench/repair.py [--damage 500] [--checkpoints 10000]

A small world (three projects, one that cannot be written, sessions, pins, approvals, a stranger's file) is
damaged in one way at a time: the index, its rendering, the heads, whole folders, checkpoint files. Each
time `check` must find it and name it, taking checkpoints must go on, `repair` must bring back exactly the
index that is known from outside, and not one file may be gone. Then repairs run while others take
checkpoints, and ten thousand are found again without any index. The control trusts the index it was left.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from agents import Log, draft
from damage import Damage, Effect, World, bare, damages, hasty
from harness import LAUNCH, PYTHON, progress, table
from holdfast.app import Holdfast
from holdfast.clock import new_id, now
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.disk import checkpoints, files, index, sessions
from holdfast.ops import integrity

GOAL_S = 10.0
Repair = Callable[[Holdfast], object]
#: Made anew at any time: their old bytes may go.
CACHES = (
    "index.json",
    "index.json.tmp",
    "index.jsonl.synced",
    "index.lock",
    ".checkpoint_iteration",
    "events.jsonl",
    "state.json",
)


def tried(world: World, damage: Damage, seed: int, repair: Repair, hooks: bool = True) -> list[str]:
    """What went wrong with this one. `hooks`: where it matters, run some."""
    world.restore()
    before = dict(world.entries)
    try:
        effect = damage.do(world, random.Random(seed))
        effect = effect._replace(hooks=effect.hooks and hooks)
        if effect.nobody:
            return _as_nobody(lambda: _tried(world, effect, repair))
        with hasty():
            return _tried(world, effect, repair)
    finally:
        world.entries = before


def _tried(world: World, effect: Effect, repair: Repair) -> list[str]:
    problems = [*_checked(world, effect), *_worked_on(world, effect, "while it was damaged")]
    unasked = {entry["uid"] for entry in _files(world)} - world.entries.keys()
    there = Kept(world)
    try:
        repair(world.app)
    except Exception as problem:
        return [*problems, f"repair: {_named(problem)}"]
    problems += [f"a file is gone: {name}" for name in there.gone(Kept(world))]
    problems += [*_rebuilt(world, effect, unasked), *_checked_again(world, effect)]
    problems += _worked_on(world, effect, "after the repair")
    return problems


def _checked(world: World, effect: Effect) -> Iterator[str]:
    try:
        found = integrity.check(world.app)
    except Exception as problem:
        yield f"check: {_named(problem)}"
        return
    kinds = {finding.kind for finding in found.findings} - {"foreign"}
    if effect.harmless:
        if kinds:
            yield f"check found {sorted(kinds)}, and nothing is wrong"
        return
    if not kinds & effect.any and "nothing" not in effect.any:
        yield f"check found {sorted(kinds) or 'nothing'}, not {sorted(effect.any)}"
    elif kinds and found.exit_code != 1:
        yield f"check has exit code {found.exit_code}"
    other = (
        kinds - effect.any - effect.also - {"latest"}
    )  # what was the newest of a project is not any more
    if other:
        yield f"check also found {sorted(other)}"


def _checked_again(world: World, effect: Effect) -> Iterator[str]:
    try:
        found = integrity.check(world.app)
    except Exception as problem:
        yield f"check after repair: {_named(problem)}"
        return
    kinds = {finding.kind for finding in found.findings} - {"foreign"}
    if kinds - effect.left:
        yield f"check still finds {sorted(kinds - effect.left)}"


def _worked_on(world: World, effect: Effect, when: str) -> Iterator[str]:
    """Taking one never raises, and what was acknowledged is in the index and on disk."""
    try:
        entry = world.take(world.projects[1], now())
    except Exception as problem:
        yield f"take {when}: {_named(problem)}"
    else:
        if not Path(entry["path"]).exists():
            yield f"take {when}: acknowledged, and not there"
    if effect.hooks:
        yield from _hooked(world, when)


def _hooked(world: World, when: str) -> Iterator[str]:
    """A hook says nothing, whatever it meets, and its checkpoint is taken or owed."""
    event = {
        "session_id": "s-hook",
        "transcript_path": "",
        "cwd": str(world.projects[1]),
        "hook_event_name": "PreCompact",
        "trigger": "auto",
    }
    environ = {**world.app.environ, "PATH": os.defpath}
    ran = subprocess.run(
        [PYTHON, "-I", "-S", str(LAUNCH)],
        env=environ,
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=world.folder,
        check=False,
        timeout=30,
    )
    if (ran.returncode, ran.stderr) != (0, b""):
        yield f"hook {when}: {ran.returncode} {ran.stderr[-200:]!r}"
    state = sessions.peek(world.home, "s-hook")
    if state is None or not (state.heard.saved or state.heard.owed):
        yield f"hook {when}: neither taken nor owed"
        return
    if state.heard.owed:
        yield f"hook {when}: only owed ({str(state.heard.owed.get('what'))[:60]})"
    elif state.heard.saved["uid"] not in world.entries:
        path, stem = state.heard.saved["path"], state.heard.saved["id"]
        fields = checkpoint.parse(Path(path).read_bytes(), stem).fields
        world.entries[fields["uid"]] = index.entry(fields, path, "project")


def _rebuilt(world: World, effect: Effect, unasked: set[str]) -> Iterator[str]:
    """`unasked`: whole files whose taking failed. They were not acknowledged; the index may name them."""
    got = index.load_all(world.home).entries
    expected = {uid: entry for uid, entry in world.entries.items() if uid not in effect.gone}
    different = [uid for uid, entry in expected.items() if got.get(uid) != entry]
    if different:
        missing = sum(uid not in got for uid in different)
        yield f"the index lacks {missing} entries, and {len(different) - missing} say something else"
    if got.keys() - expected.keys() - unasked:
        yield f"the index has {len(got.keys() - expected.keys() - unasked)} entries too many"
    newest = {entry["lineage"]: uid for uid, entry in sorted(got.items())}
    wrong = [x for x, uid in newest.items() if checkpoints.head(world.home, x).get("uid") != uid]
    if wrong:
        yield f"{len(wrong)} heads are not the newest of their lineage"
    try:
        shown = json.loads(Path(world.home.checkpoints, "index.json").read_bytes())["checkpoints"]
    except (OSError, ValueError, KeyError) as problem:
        yield f"index.json: {_named(problem)}"
    else:
        if [x["uid"] for x in shown] != list(got)[-len(shown) :] or not shown:
            yield "index.json does not show the newest"


def _files(world: World) -> Iterator[dict]:
    """The frontmatter of every file of ours that is whole and has its own name."""
    key = checkpoints.seal_key(world.home)
    for path in sorted(world.folder.glob("**/checkpoints/**/*.md")):
        if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
            continue
        data = path.read_bytes()
        if not checkpoint.problems(data, path.stem) and checkpoint.is_sealed(data, key):
            yield checkpoint.parse(data, path.stem).fields


class Kept:
    """Every file that somebody may want again: its bytes, under whatever name, and for checkpoints the
    inode too. Set aside is renamed, not copied."""

    def __init__(self, world: World) -> None:
        self.bytes: dict[str, str] = {}
        self.inodes: dict[int, str] = {}
        for top, _, names in os.walk(world.folder):
            for name in names:
                path = Path(top, name)
                if name in CACHES or Path(top).name == "heads" or path.is_symlink() or not path.is_file():
                    continue
                if ".md" in name:
                    self.inodes[path.stat().st_ino] = str(path)
                if os.access(path, os.R_OK) and path.stat().st_size:
                    self.bytes[sha256_hex(path.read_bytes())] = str(path)

    def gone(self, later: Kept) -> list[str]:
        lost = [self.bytes[x] for x in self.bytes.keys() - later.bytes.keys()]
        return sorted({*lost, *(self.inodes[x] for x in self.inodes.keys() - later.inodes.keys())})


def _named(problem: Exception) -> str:
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} in {Path(where.filename).name}:{where.lineno} {str(problem)[:60]}"


def _as_nobody(run: Callable[[], list[str]]) -> list[str]:
    """In a process for which modes count, as they do for everyone but root."""
    if os.geteuid():
        return run()
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            _give_up_power()
            found = run()
        except BaseException as problem:
            found = [f"{type(problem).__name__}: {problem}"]
        os.write(write, pickle.dumps(found))
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        found = pickle.loads(pipe.read())
    os.waitpid(pid, 0)
    return list(found)


def _give_up_power() -> None:
    """Root without the capabilities that make it blind to modes (DAC_OVERRIDE, DAC_READ_SEARCH)."""
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    libc.capget(head, data)
    for place in (0, 1, 2):
        data[place] &= ~0b110
    if libc.capset(head, data):
        raise OSError(ctypes.get_errno(), "capset")


def trusting(app: Holdfast) -> None:
    """The repair one writes first: what can still be read of the index is the index. It must fail."""
    entries = index.load_all(app.home).entries.values()
    data = b"".join(index.line(entry) + b"\n" for entry in entries)
    files.replace(app.home.index, data, durable=False)
    index.show(app.home)


# Repairs while others work


class Together(NamedTuple):
    taken: int
    repairs: int
    problems: list[str]


def together(folder: Path, takers: int, each: int, repairs: int) -> Together:
    """Takers at work, and repairs over and over of an index with a torn end, as a kill leaves it. Without
    another repair afterwards, all that was acknowledged is in the index."""
    world = World(folder, 24)
    logs = [Log(folder / f"log{number}") for number in range(takers)]
    pids = [_taker(world, log, each, number) for number, log in enumerate(logs)]
    done, problems = 0, []
    while done < repairs and any(_alive(pid) for pid in pids):
        _tear(world)
        found = integrity.repair(world.app)
        problems += [f"repair saw {x.kind}: {x.what}"[:110] for x in found.left if x.kind != "foreign"]
        problems += [f"repair set {path} aside" for path in found.set_aside]
        done += 1
    for pid in pids:
        os.waitpid(pid, 0)
    acknowledged = {row[0] for log in logs for row in log.lines("taken")} | world.entries.keys()
    listed = index.load_all(world.home)
    lost = acknowledged - listed.entries.keys()
    problems += [f"{len(lost)} of {len(acknowledged)} acknowledged are not in the index"] if lost else []
    if len(acknowledged) != takers * each + len(world.entries):
        problems.append(f"{len(acknowledged) - len(world.entries)} of {takers * each} were acknowledged")
    problems += [
        f"the index names {e['path']}" for e in listed.entries.values() if not Path(e["path"]).exists()
    ]
    return Together(len(acknowledged), done, problems)


def _taker(world: World, log: Log, each: int, number: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        dice = random.Random(number)
        with hasty(), bare():
            for _ in range(each):
                at = now()
                made = draft((new_id(at), at), str(world.projects[number % 3]), f"t{number}", dice)
                log.say("taken", checkpoints.take(world.home, made)["uid"])
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _alive(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _tear(world: World) -> None:
    fd = files.open_locked(world.home.index)
    os.write(fd, b'{"v":1,"sum":123456789,"id":"2026-01-01-00' * 8)
    os.close(fd)


# Ten thousand


class Rebuilt(NamedTuple):
    number: int
    seconds: float
    reading_s: float
    check_s: float
    equal: bool


def rebuilt(folder: Path, number: int) -> Rebuilt:
    world = World(folder, number)
    paths = [entry["path"] for entry in world.entries.values()]
    os.unlink(world.home.index)
    began = time.perf_counter()
    for path in sorted(paths):
        Path(path).read_bytes()
    reading = time.perf_counter() - began
    began = time.perf_counter()
    integrity.repair(world.app)
    seconds = time.perf_counter() - began
    equal = index.load_all(world.home).entries == dict(sorted(world.entries.items()))
    began = time.perf_counter()
    integrity.check(world.app)
    return Rebuilt(number, seconds, reading, time.perf_counter() - began, equal)


def damaged(
    folder: Path, number: int, seed: int, repair: Repair = integrity.repair
) -> dict[str, list[str]]:
    """What went wrong, by name of the damage."""
    os.chdir(folder)  # `check` also looks where it is called
    world = World(folder)
    found: dict[str, list[str]] = {}
    for done, (damage, own) in enumerate(damages(number, seed)):
        problems = tried(world, damage, own, repair)
        if problems:
            found.setdefault(damage.name, []).append(f"{'; '.join(problems)} [seed {own}]")
        progress(f"{done + 1} of {number} damages, {len(found)} kinds with problems")
    progress("")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--damage", type=int, default=500)
    parser.add_argument("--checkpoints", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = damaged(Path(folder), asked.damage, asked.seed)
    bad = sum(len(problems) for problems in found.values())
    with tempfile.TemporaryDirectory() as folder:
        control = damaged(Path(folder), min(asked.damage, 150), asked.seed, trusting)
        os.chdir("/")
    with tempfile.TemporaryDirectory() as folder:
        busy = together(Path(folder), 6, 150, 40)
    with tempfile.TemporaryDirectory() as folder:
        made = rebuilt(Path(folder), asked.checkpoints)
    failed = sum(len(problems) for problems in control.values())
    rows = [
        ["damages", f"{asked.damage}"],
        ["of them with a problem", f"{bad}"],
        ["control: with a problem", f"{failed} of {min(asked.damage, 150)}"],
        ["taken during repairs", f"{busy.taken}, {busy.repairs} repairs, {len(busy.problems)} problems"],
        [f"{made.number:,} checkpoints found again", f"{made.seconds:.1f} s"],
        ["… reading all of them once", f"{made.reading_s:.2f} s ({made.seconds / made.reading_s:.1f} ×)"],
        ["… check", f"{made.check_s:.1f} s"],
        ["… equal to what was expected", "yes" if made.equal else "NO"],
    ]
    print(table([f"seed {asked.seed}", "measured"], rows))
    for name, problems in found.items():
        print(f"- {name}: {len(problems)} ×, {problems[0]}")
    for problem, times in Counter(busy.problems).most_common(10):
        print(f"- together: {times} × {problem}")
    good = not bad and not busy.problems and made.equal and made.seconds <= GOAL_S and failed
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
