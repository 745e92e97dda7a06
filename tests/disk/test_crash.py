"""Checkpoints killed and cut off in the portion a change can wait for. `bench/crash.py` does more."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from crash import CHAIN, SCENARIOS, Existing, Ground, Scenario, in_a_crowd, kills, repair
from disk.faults import (
    BROKEN_TURNS,
    CONTROLS,
    DAY,
    KEPT_DAYS,
    NOW,
    Expected,
    Faults,
    Maker,
    in_memory,
    kill,
    ours,
    over,
    wrong,
)
from disk.memory import FILE, FOLDER, LINK, Crew, Memory, Node
from disk.powerloss import KINDS, History, Result, cut_power, takeovers
from holdfast.disk import checkpoints, files, index, retention
from holdfast.disk.home import Home
from holdfast.ops import integrity


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_whoever_is_killed_leaves_what_was_acknowledged(scenario: Scenario) -> None:
    tally = kills(scenario, 25, 1)
    assert (dict(tally.wrong), tally.examples) == ({}, {})
    assert tally.killed >= 25


@pytest.mark.parametrize("name", CONTROLS)
def test_a_protocol_in_the_wrong_order_is_caught(name: str) -> None:
    protocol, kind = CONTROLS[name]
    assert kills(Existing(), 40, 1, protocol).wrong[kind]


@pytest.mark.parametrize("seed", range(7, 14), ids=KINDS)
def test_a_power_cut_takes_nothing_that_was_acknowledged(seed: int) -> None:
    result = Result()
    cut_power(History(seed), result, most=4, every=7)
    assert (result.wrong, result.examples) == ({}, {})
    assert len(result.distinct) > 30


def test_a_power_cut_after_a_kill_takes_nothing_either() -> None:
    result = Result()
    for history in takeovers(step=4):
        cut_power(history, result, most=8, every=1 << 30)
    assert (result.wrong, result.examples) == ({}, {})
    assert result.acked > 200


@pytest.mark.parametrize("kind", [FILE, FOLDER], ids=["files", "folders"])
def test_a_sync_left_out_is_caught(kind: int) -> None:
    result = Result()
    cut_power(History(1, frozenset((kind,))), result, most=4, recover=False, every=7)
    assert result.wrong["lost"]


def test_who_relies_on_the_sync_of_another_loses_nothing() -> None:
    result = in_a_crowd(30, 1)
    assert (result.wrong, result.examples) == ({}, {})
    assert result.acked > 1000


@pytest.mark.parametrize("name", BROKEN_TURNS)
def test_a_sync_that_is_relied_on_too_early_is_caught(name: str) -> None:
    assert in_a_crowd(300, 30, name).wrong["lost"]


@pytest.mark.parametrize("refused", [(), ("link",)], ids=["links", "no links"])
def test_all_who_begin_at_once_seal_with_the_same_key(refused: tuple[str, ...]) -> None:
    for seed in range(60):
        assert _begun_at_once(frozenset(refused), random.Random(seed)) == []


def _begun_at_once(refused: frozenset[str], dice: random.Random) -> list[tuple[str, str]]:
    memory, expected = Memory(), Expected()
    for path in ("/u", "/u/.claude", "/u/p"):
        memory.mkdir(path)
    memory.refused = refused
    home, crew = Home("/u/.claude/holdfast"), Crew(memory, dice)
    maker = Maker("/u/p", dice)
    for draft in [maker.draft() for _ in range(3)]:
        expected.begin(draft)
        crew.add(lambda draft=draft: ours(home, draft, lambda _: expected.ack(draft)))
    with in_memory(memory):
        crew.run()
        assert len(expected.acked) == 3
        return wrong(home, ["/u/p"], expected, strict=True)


def test_the_file_system_in_memory_does_as_the_kernel_does(tmp_path: Path) -> None:
    real, made = tmp_path / "u", Memory()
    for path in [*reversed(tmp_path.parents), tmp_path, real, real / ".claude", real / "p"]:
        if str(path) != "/":
            made.mkdir(str(path))
    (real / ".claude").mkdir(parents=True)
    (real / "p").mkdir()
    trees = []
    for disk in (made, Faults(1 << 30, kill("before"))):
        disk.urandom = random.Random(1).randbytes
        disk.getcwd = lambda: str(real / "p")
        with in_memory(disk):
            _some_work(Home(str(real / ".claude/holdfast")), Maker(str(real / "p"), random.Random(3)))
    node = made.root
    for part in real.parts[1:]:
        node = node.entries[part]
    trees = [dict(_nodes(node, "")), dict(_files(real, ""))]
    assert trees[0] == trees[1]
    assert len(trees[0]) > 20


def _some_work(home: Home, maker: Maker) -> None:
    for day in (12, 11, 10, 0, 0, 0):
        draft = maker.draft(NOW - day * DAY if day else 0)
        ours(home, draft, lambda _: None)
        ours(home, draft, lambda _: None)
    index.drop(home, ["nothing"], lambda: None)
    files.append_line(home.trail, b"one")
    fd = files.open_locked(home.trail)
    checkpoints.posix.ftruncate(fd, 2)
    checkpoints.posix.close(fd)
    files.append_line(home.trail, b"two")
    ours(home, maker.draft(), lambda _: None)


def _nodes(node: Node, path: str):
    if node.kind != FOLDER:
        yield path, (node.kind, node.names, node.data)
        return
    yield path, (FOLDER, 0, b"")
    for name, child in node.entries.items():
        yield from _nodes(child, f"{path}/{name}")


def _files(real: Path, path: str):
    state = real.lstat()
    kind = stat.S_IFMT(state.st_mode)
    if kind == LINK:
        yield path, (LINK, 1, os.readlink(real).encode())
    elif kind == FILE:
        yield path, (FILE, state.st_nlink, real.read_bytes())
    else:
        yield path, (FOLDER, 0, b"")
        for child in real.iterdir():
            yield from _files(child, f"{path}/{child.name}")


GARBAGE = [b"", b"\0" * 700, b"9" * 15 + b"\n", b"9" * 400, b"-1", b'{"uid":7}', b'{"uid":"~"', b"[" * 9000]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_whatever_a_cache_holds_the_next_checkpoint_is_taken(garbage: bytes, tmp_path: Path) -> None:
    ground = _ground(tmp_path, young=3)
    folder = Path(ground.project, ".claude/checkpoints")
    caches = [folder / checkpoints.COUNTER, folder / ".gitignore"]
    caches += [Path(ground.home.checkpoints, "index.json"), Path(ground.home.checkpoints, "index.json.tmp")]
    caches += Path(ground.home.checkpoints, "heads").iterdir()
    (folder / "latest.md").unlink()
    (folder / "latest.md").symlink_to("nowhere")
    for cache in caches:
        cache.write_bytes(garbage)
    ground.saved(ground.maker.draft())
    assert ground.wrong() == []
    assert (folder / "latest.md").exists()


def test_what_is_pruned_while_a_repair_looks_is_not_listed_again(tmp_path, monkeypatch) -> None:
    ground = _ground(tmp_path, old=6)
    _meanwhile(monkeypatch, lambda: _prune(ground))
    repair(ground)
    assert ground.wrong() == []


def test_what_is_dropped_but_not_yet_removed_is_not_listed_again(tmp_path, monkeypatch) -> None:
    ground = _ground(tmp_path, old=6)
    removed: list[str] = []
    monkeypatch.setattr(
        retention.Folder, "remove", lambda self, name: removed.append(f"{self.path}/{name}")
    )
    _prune(ground)
    monkeypatch.undo()
    _meanwhile(monkeypatch, lambda: [Path(path).unlink(missing_ok=True) for path in removed])
    repair(ground)
    assert ground.wrong() == []


def test_what_is_taken_while_a_repair_looks_at_a_torn_index_stays(tmp_path, monkeypatch) -> None:
    ground = _ground(tmp_path, young=3)
    with open(ground.home.index, "ab") as file:
        file.write(index.line({"gone": "x" * 300, "at": ""})[:200])
    _meanwhile(monkeypatch, lambda: ground.saved(ground.draft()))
    repair(ground)
    assert ground.wrong() == []


def test_whoever_is_cut_off_at_the_last_moment_does_not_swallow_the_next_line(tmp_path: Path) -> None:
    ground = _ground(tmp_path, young=1)
    line = index.line({"gone": "x" * 300, "at": ""})

    def cut_off(name: str, args: tuple, named: dict) -> None:
        if name == "write" and b'"sum":' in args[1]:
            with open(ground.home.index, "ab") as file:
                file.write(line[:100])

    with over(Faults(1 << 30, kill("before"), cut_off)):
        ground.saved(ground.draft())
    assert ground.wrong() == []


def _prune(ground: Ground) -> None:
    for _ in range(2):
        ground.saved(ground.draft())
    with checkpoints.in_project(ground.project) as folder:
        assert retention.prune_folder(ground.home, folder, ground.expected.now, most=99, days=KEPT_DAYS)


def _meanwhile(monkeypatch, act: Callable[[], object]) -> None:
    """Between a repair's look at the files and its new index."""
    rebuild = integrity._rebuild
    monkeypatch.setattr(integrity, "_rebuild", lambda *args: (act(), rebuild(*args))[1])


def _ground(tmp_path: Path, young: int = 0, old: int = 0) -> Ground:
    ground = Ground(str(tmp_path / "u"), random.Random(1))
    ground.maker.lineages = 1
    for day in range(8 + old, 8, -1):
        draft = ground.maker.draft(NOW - day * DAY)
        ours(ground.home, draft, lambda _: None)
        ground.expected.ack(draft)
    for _ in range(young):
        ground.saved(ground.draft())
    return ground


def test_the_check_sees_what_is_wrong(tmp_path: Path) -> None:
    ground = _ground(tmp_path, young=4)
    paths = [entry["path"] for entry in index.load_all(ground.home).entries.values()]
    os.remove(paths[0])
    Path(paths[1]).write_bytes(Path(paths[1]).read_bytes()[:-5])
    copy = Path(paths[2][:-3] + "-077.md")
    copy.write_bytes(Path(paths[2]).read_bytes().replace(b"id: ", b"id: ", 1))
    with open(ground.home.index, "r+b") as file:
        file.seek(40)
        file.write(b"!!")
    kinds = {kind for kind, _ in ground.wrong()}
    assert kinds >= {"phantom", "lost", "unreadable"}
    os.remove(ground.home.root + "/seal.key")
    assert any("seal" in what for _, what in ground.wrong())
    assert CHAIN == 12
    assert wrong(Home("/nowhere"), [], ground.expected, strict=True)
