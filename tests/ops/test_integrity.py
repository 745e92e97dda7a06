"""What people do with checkpoints, and what `check`, `repair` and retention make of a damaged home. All
damages are in `bench/damage.py`; `bench/repair.py` tries hundreds more of them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents import draft
from damage import FIXED, SEEDED, Damage, World, folder_of, forge, hasty, retitled
from holdfast.app import Holdfast
from holdfast.clock import new_id, now
from holdfast.core import checkpoint
from holdfast.core.digest import sha256_hex
from holdfast.disk import checkpoints, index, marks, retention
from holdfast.disk.folder import Folder
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.ops import checkpoints as ops
from holdfast.ops import integrity
from repair import together, tried, trusting

DAY = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("made"), 16)


@pytest.fixture
def world(made: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Three projects, checkpoints in all of them, as they were made; and we stand in the first."""
    made.restore()
    before = dict(made.entries)
    monkeypatch.chdir(made.projects[0])
    with hasty():
        yield made
    made.entries = before


def own(world: World, project: int = 0) -> list[dict]:
    """What we took in that project, oldest first."""
    mine = [entry for entry in world.entries.values() if entry["project"] == str(world.projects[project])]
    return sorted((entry for entry in mine if entry["session_id"] == "s1"), key=lambda entry: entry["uid"])


def kinds(found: integrity.Check) -> list[str]:
    return sorted(finding.kind for finding in found.findings if finding.kind != "foreign")


# Damage


#: Not repaired yet, and why.
KNOWN: dict[str, str] = {}


def _case(damage: Damage, number: int) -> object:
    why = KNOWN.get(damage.name)
    marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
    return pytest.param(damage, number, id=damage.name, marks=marks)


@pytest.mark.parametrize(("damage", "number"), [_case(x, n) for n, x in enumerate(FIXED)])
def test_every_damage_is_found_repaired_and_nothing_is_gone(
    world: World, damage: Damage, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder.parent)
    assert tried(world, damage, number, integrity.repair, hooks=False) == []


@pytest.mark.parametrize("name", ["index.jsonl: a folder", "index.jsonl: a FIFO", "heads: a FIFO"])
def test_hooks_go_on_while_something_is_in_the_way(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder.parent)
    (damage,) = (damage for damage in FIXED if damage.name == name)
    assert tried(world, damage, 1, integrity.repair) == []


@pytest.mark.parametrize(("damage", "number"), [_case(x, 50 + n) for n, x in enumerate(SEEDED)])
def test_damage_at_any_place_is_found_and_repaired(
    world: World, damage: Damage, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder.parent)
    assert tried(world, damage, number, integrity.repair, hooks=False) == []


def test_a_repair_that_trusts_the_index_is_found_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.folder.parent)
    names = ("index: deleted", "index: CRLF", "index: one that never was", "index: said to be gone")
    assert all(tried(world, damage, 1, trusting) for damage in FIXED if damage.name in names)


def test_a_repair_of_what_is_whole_changes_nothing(world: World) -> None:
    before = Path(world.home.index).read_bytes()
    found = integrity.repair(world.app)
    assert (found.set_aside, found.index_before, found.exit_code) == ([], "", 0)
    assert Path(world.home.index).read_bytes() == before


def test_without_any_index_every_project_is_found_by_its_sessions(world: World) -> None:
    shutil.rmtree(world.home.checkpoints + "/heads")
    Path(world.home.index).unlink()
    assert "orphan" in kinds(integrity.check(world.app))
    integrity.repair(world.app)
    assert index.load_all(world.home).entries == dict(sorted(world.entries.items()))


def test_what_people_decided_survives_a_repair(world: World) -> None:
    pinned = ops.pin(world.app, own(world)[1]["id"])
    before = marks.pinned(world.home), marks.approved(world.home)
    Path(world.home.index).write_bytes(b"\0" * 100)
    integrity.repair(world.app)
    assert (marks.pinned(world.home), marks.approved(world.home)) == before
    listed = {entry.path: entry.pinned for entry in ops.list_all(world.app, limit=0)}
    assert listed[pinned.path]


def test_a_home_without_anything_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = Holdfast.open({"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})
    assert (integrity.check(app).findings, integrity.prune(app).removed, ops.list_all(app)) == ([], [], [])
    found = integrity.repair(app)
    assert (found.checkpoints, found.set_aside, found.left, found.exit_code) == (0, [], [], 0)
    assert integrity.check(app).exit_code == 0


def test_check_and_repair_work_where_the_folder_one_stands_in_is_gone(world: World) -> None:
    gone = world.folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert integrity.check(world.app).exit_code == 0
    assert integrity.repair(world.app).exit_code == 0


def test_a_file_that_cannot_be_set_aside_does_not_keep_the_rest_from_repair(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = Path(own(world, 2)[0]["path"])
    victim.write_bytes(b"")
    Path(world.home.index).unlink()

    def refuse(folder: Folder, old: str, new: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Folder, "rename", refuse)
    found = integrity.repair(world.app)
    assert [(finding.kind, finding.path) for finding in found.left if finding.kind == "damaged"] == [
        ("damaged", str(victim))
    ]
    assert found.exit_code == 1
    assert len(index.load_all(world.home).entries) == len(world.entries) - 1


def test_the_copy_is_the_duplicate_wherever_it_lies(world: World) -> None:
    for place, other in ((0, 2), (2, 0)):
        world.restore()
        path = Path(own(world, place)[0]["path"])
        copy = folder_of(world.projects[other]) / path.name
        shutil.copy(path, copy)
        (found,) = (x for x in integrity.check(world.app).findings if x.kind != "foreign")
        assert (found.kind, found.path) == ("duplicate", str(copy))


def test_a_latest_that_leads_to_what_was_set_aside_leads_to_the_newest_again(world: World) -> None:
    *_, second, newest = own(world)
    latest = folder_of(world.projects[0]) / "latest.md"
    assert os.readlink(latest) == newest["id"] + ".md"
    Path(newest["path"]).write_bytes(b"")
    assert kinds(integrity.check(world.app)) == ["damaged", "latest"]
    integrity.repair(world.app)
    assert kinds(integrity.check(world.app)) == []
    assert os.readlink(latest) == second["id"] + ".md"
    for entry in own(world):
        Path(entry["path"]).unlink(missing_ok=True)
    assert "latest" in kinds(integrity.check(world.app))
    integrity.repair(world.app)
    assert not latest.is_symlink()
    assert kinds(integrity.check(world.app)) == []


def test_who_saves_last_in_a_shared_project_has_the_link_and_nobody_complains(
    world: World, tmp_path: Path
) -> None:
    at, project = now(), str(world.projects[0])
    theirs = draft((new_id(at), at), project, "s9", random.Random(1))
    entry = checkpoints.take(Home(str(tmp_path / "another home")), theirs)
    latest = folder_of(world.projects[0]) / "latest.md"
    assert os.readlink(latest) == entry["id"] + ".md"
    assert kinds(integrity.check(world.app)) == []
    latest.unlink()
    latest.symlink_to(own(world)[0]["id"] + ".md")  # an older one is nobody's newest
    assert kinds(integrity.check(world.app)) == ["latest"]


def test_a_latest_of_somebodys_own_is_left_alone(world: World) -> None:
    latest = folder_of(world.projects[0]) / "latest.md"
    latest.unlink()
    integrity.repair(world.app)
    assert os.readlink(latest) == own(world)[-1]["id"] + ".md"
    latest.unlink()
    latest.write_text("mine")
    assert kinds(integrity.check(world.app)) == []
    integrity.repair(world.app)
    assert latest.read_text() == "mine"


# While others work


def test_what_is_taken_during_repairs_is_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = together(tmp_path, 3, 15, 20)
    assert found.problems == []
    assert found.taken >= 45
    assert found.repairs > 0


def during_a_scan(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """The files have been looked at, the index has not been replaced."""
    real = integrity.look

    def look(app: Holdfast) -> integrity.Scan:
        found = real(app)
        monkeypatch.setattr(integrity, "look", real)
        do()
        return found

    monkeypatch.setattr(integrity, "look", look)


@pytest.mark.parametrize("end", [b"", b"x" * 10, b"x" * 700, b"x" * 5000])
def test_what_is_taken_after_the_files_were_looked_at_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    """Also where it first cut off what a kill had left at the end of the index."""
    with open(world.home.index, "ab") as file:
        file.write(end)
    during_a_scan(monkeypatch, lambda: world.take(world.projects[1], now()))
    integrity.repair(world.app)
    assert index.load_all(world.home).entries == dict(sorted(world.entries.items()))


def test_what_is_pruned_after_the_files_were_looked_at_is_no_phantom(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = own(world)[0]

    def prune() -> None:
        index.drop(world.home, [entry["uid"]], lambda: None)
        Path(entry["path"]).unlink()

    during_a_scan(monkeypatch, prune)
    integrity.repair(world.app)
    assert entry["uid"] not in index.load_all(world.home).entries
    assert kinds(integrity.check(world.app)) == []


# Names


def test_a_checkpoint_is_found_by_name_uid_path_or_as_the_latest(world: World) -> None:
    entry = own(world)[-1]
    folder = os.path.dirname(entry["path"])
    relative = os.path.relpath(entry["path"])
    for name in (entry["id"], entry["uid"], entry["path"], relative, "latest", f"{folder}/latest.md"):
        shown = ops.show(world.app, name)
        assert (shown.path, shown.fields["uid"], shown.trust) == (entry["path"], entry["uid"], "own"), name
        verdict = ops.verify(world.app, name)
        assert (verdict.verified, verdict.exit_code, verdict.problems) == (True, 0, [])
    assert list(shown.sections) == list(checkpoint.SECTIONS)


BAD = {
    "../../x": HoldfastError, "/etc/passwd": HoldfastError, "/etc": BadInput, "/": HoldfastError,
    "": BadInput, "..": BadInput, ".": BadInput, "nothing": NotFound, "2020-01-01-000000": NotFound,
    "x" * 300: NotFound, "a b": BadInput, "2020-01-01-000000/../../../x": HoldfastError, "*": BadInput,
    "/dev/zero": BadInput, "/dev/tty": BadInput, "/proc/self/environ": HoldfastError, "-rf": BadInput,
    "x/" * 3000 + "y.md": HoldfastError,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD, ids=lambda name: repr(name)[:30])
def test_a_name_that_is_none_is_refused(world: World, name: str) -> None:
    for call in (ops.show, ops.pin, ops.approve, ops.diff):
        with pytest.raises(BAD[name]):
            call(world.app, name)
    verdict = ops.verify(world.app, name)
    assert (verdict.verified, verdict.exit_code) == (False, 1)
    assert verdict.problems
    assert marks.pinned(world.home) == {next(iter(world.entries))}


def test_one_name_in_two_projects_is_ambiguous_unless_one_of_them_is_here(world: World) -> None:
    at = now()
    one, two = world.take(world.projects[1], at), world.take(world.projects[2], at)
    assert one["id"] == two["id"]
    with pytest.raises(BadInput, match="2 checkpoints are called") as refused:
        ops.show(world.app, one["id"])
    assert one["path"] in str(refused.value)
    assert two["path"] in str(refused.value)
    os.chdir(world.projects[2])
    assert ops.show(world.app, one["id"]).path == two["path"]


SECRET = "---\nid: the-secret-of-somebody\nuid\n"


@pytest.fixture
def secret(world: World) -> Path:
    """A file that begins like one of ours."""
    path = world.folder / "secret.md"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize("to", ["/etc/passwd", "../../../secret.md", "latest.md", "nothing.md", "."])
def test_a_latest_that_leads_elsewhere_is_not_followed(world: World, secret: Path, to: str) -> None:
    latest = folder_of(world.projects[0]) / "latest.md"
    latest.unlink()
    latest.symlink_to(to)
    with pytest.raises(HoldfastError) as refused:
        ops.show(world.app, str(latest))
    assert "secret-of" not in str(refused.value)
    assert not ops.verify(world.app, str(latest)).verified


def _linked(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def _hard_linked(path: Path, secret: Path) -> None:
    os.link(secret, path)


def _fifo(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, secret: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("put", [_linked, _hard_linked, _fifo, _folder])
def test_what_is_no_file_of_ours_is_not_opened_and_nobody_waits(
    world: World, secret: Path, put: Callable[[Path, Path], None]
) -> None:
    entry = own(world)[0]
    Path(entry["path"]).unlink()
    put(Path(entry["path"]), secret)
    for name in (entry["id"], entry["uid"], entry["path"]):
        with pytest.raises(BadInput):
            ops.show(world.app, name)
        assert not ops.verify(world.app, name).verified
    assert "unsafe" in kinds(integrity.check(world.app))
    assert secret.read_text() == SECRET


def test_a_folder_that_is_a_link_is_not_entered(world: World) -> None:
    entry = own(world)[0]
    folder = folder_of(world.projects[0])
    folder.rename(world.folder / "moved")
    folder.symlink_to(world.folder / "moved")
    with pytest.raises(HoldfastError):
        ops.show(world.app, entry["id"])


def fuzzed(dice: random.Random, secret: Path, entry: dict) -> str:
    pieces = [
        "..",
        "/",
        ".",
        "latest",
        ".md",
        "\0",
        "~",
        "%2e%2e",
        "\\",
        "\n",
        "\u202e",
        "é",
        "\ud800",
        " ",
    ]
    pieces += [
        entry["id"],
        entry["uid"],
        str(secret),
        "secret.md",
        "2026-01-01-000000",
        "-002",
        "$HOME",
        "x",
    ]
    return "".join(dice.choices(pieces, k=dice.randrange(1, 7)))


def test_five_thousand_fuzzed_names_open_nothing_else_and_tell_nothing(world: World, secret: Path) -> None:
    dice, entry = random.Random(5), own(world)[0]
    allowed = {entry["path"] for entry in world.entries.values()}
    calls = [ops.show, ops.verify, ops.pin, ops.approve, ops.diff]
    with opened() as paths:
        for turn in range(5000):
            name = fuzzed(dice, secret, entry)
            try:
                told = repr(calls[turn % 5](world.app, name))
            except HoldfastError as problem:
                told = str(problem)
            assert "the-secret" not in told, name
    elsewhere = {path for path in paths if not path.startswith(world.home.root)}
    assert {path for path in elsewhere if os.path.isfile(path)} <= allowed
    below = {path for path in elsewhere if not path.startswith("/")} - {".claude", "checkpoints"}
    assert {path for path in below if not checkpoints.is_stem(path.removesuffix(".md"))} == set()
    assert below


_PATHS: list[str] | None = None


def _hear(event: str, args: tuple) -> None:
    if _PATHS is not None and event == "open" and isinstance(args[0], str) and not args[2] & os.O_DIRECTORY:
        _PATHS.append(args[0])


class opened:  # noqa: N801
    """The names of what is opened meanwhile, as the system is given them."""

    hooked = False

    def __enter__(self) -> list[str]:
        global _PATHS
        if not opened.hooked:
            sys.addaudithook(_hear)
            opened.hooked = True
        _PATHS = []
        return _PATHS

    def __exit__(self, *_: object) -> None:
        global _PATHS
        _PATHS = None


# What they say


def test_the_list_is_newest_first_and_says_what_became_of_each(world: World) -> None:
    uids = [entry.uid for entry in ops.list_all(world.app, limit=0)]
    assert uids == sorted(world.entries, reverse=True)
    assert [entry.uid for entry in ops.list_all(world.app, limit=3)] == uids[:3]
    mine = ops.list_all(world.app, project=".", limit=0)
    assert {entry.project for entry in mine} == {str(world.projects[0])}
    Path(mine[0].path).unlink()
    Path(mine[1].path).write_bytes(b"")
    states = [entry.state for entry in ops.list_all(world.app, project=".", limit=0)]
    assert states == ["missing", "damaged", *["ok"] * (len(states) - 2)]
    with pytest.raises(BadInput):
        ops.list_all(world.app, limit=-1)


def test_a_difference_names_what_went_and_what_came(world: World) -> None:
    old, new = own(world)[:2]
    found = ops.diff(world.app, old["id"], new["id"])
    assert (found.old, found.new) == (old["path"], new["path"])
    back = ops.diff(world.app, new["uid"], old["path"])
    for name, change in found.sections.items():
        assert (back.sections[name]["gone"], back.sections[name]["added"]) == (
            change["added"],
            change["gone"],
        )
    assert ops.diff(world.app, old["id"], old["id"]).sections == {}


def test_an_edited_one_verifies_no_more_and_says_why(world: World) -> None:
    path = Path(own(world)[0]["path"])
    path.write_bytes(path.read_bytes() + b"- more\n")
    verdict = ops.verify(world.app, str(path))
    assert (verdict.verified, verdict.trust) == (False, "foreign")
    assert "hash of the body" in verdict.problems[0]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(Damaged):
        ops.show(world.app, str(path))


def test_an_approval_is_of_these_bytes(world: World) -> None:
    path = Path(own(world)[0]["path"])
    assert ops.approve(world.app, str(path)).what.startswith("already trusted")
    path.write_bytes(forge(path.read_bytes(), random.Random(1)))
    assert ops.show(world.app, str(path)).trust == "foreign"
    ops.approve(world.app, str(path))
    assert ops.show(world.app, str(path)).trust == "approved"
    path.write_bytes(path.read_bytes().replace(b"by hand", b"by head"))
    assert ops.show(world.app, str(path)).trust == "foreign"


def test_an_approved_stranger_writes_nothing_outside_of_home(world: World) -> None:
    """Its frontmatter says which lineage it belongs to, and a lineage has a file of that name."""
    victim = world.folder / "package.json"
    victim.write_text('{"name": "precious"}')
    fields, path, data = world.strange(world.projects[0], now() - 5000)
    lineage = os.path.relpath(victim, world.home.checkpoints + "/heads").removesuffix(".json")
    data = retitled(b"lineage", json.dumps(lineage).encode())(data, random.Random(1))
    path.write_bytes(data)
    marks.add(world.home, "approve", fields["uid"], sha256_hex(data))
    integrity.repair(world.app)
    world.take(world.projects[0], now())
    assert victim.read_text() == '{"name": "precious"}'


# How long they are kept


def old_ones(world: World) -> tuple[dict, dict, dict]:
    """Three from ten days ago, of one lineage, in a project of their own."""
    project = world.folder / "barrow"
    project.mkdir()
    at = now() - 10 * DAY
    with _unpruned():
        one, two, three = (world.take(project, at + turn * 1000) for turn in range(3))
    for entry in (one, two, three):
        assert Path(entry["path"]).exists()
    return one, two, three


class _unpruned:  # noqa: N801
    def __enter__(self) -> None:
        self.real = retention.prune_folder
        retention.prune_folder = lambda *args, **named: []

    def __exit__(self, *_: object) -> None:
        retention.prune_folder = self.real


def there(*entries: dict) -> list[bool]:
    return [Path(entry["path"]).exists() for entry in entries]


def lineages(world: World, *entries: dict) -> dict[str, str]:
    newest: dict[str, str] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["uid"])):
        newest[entry["lineage"]] = entry["uid"]
    return newest


def test_after_a_week_only_the_newest_of_a_lineage_and_what_is_pinned_stay(world: World) -> None:
    old = old_ones(world)
    newest = set(lineages(world, *old).values())
    expected = [entry["uid"] in newest for entry in old]
    assert expected.count(False) >= 1
    removed = integrity.prune(world.app).removed
    assert there(*old) == expected
    assert removed == [entry["path"] for entry, stays in zip(old, expected, strict=True) if not stays]
    listed = index.load_all(world.home).entries
    assert [entry["uid"] in listed for entry in old] == expected
    assert kinds(integrity.check(world.app)) == []


def test_what_is_pinned_stays_until_it_is_let_go(world: World) -> None:
    old = old_ones(world)
    ops.pin(world.app, old[0]["path"])
    integrity.prune(world.app)
    assert there(old[0]) == [True]
    ops.pin(world.app, old[0]["path"], undo=True)
    integrity.prune(world.app)
    assert there(old[0]) == [False]


def test_what_a_stranger_made_or_somebody_changed_is_never_removed(world: World) -> None:
    old = old_ones(world)
    project = world.folder / "barrow"
    _, strange, data = world.strange(project, now() - 20 * DAY)
    strange.write_bytes(data)
    changed = Path(old[0]["path"])
    changed.write_bytes(changed.read_bytes() + b"- mine\n")
    others = {
        folder_of(project) / name: b"mine"
        for name in ("notes.md", "2020-01-01.md", "2020-01-01-000000.txt")
    }
    empty = folder_of(project) / "2020-01-01-000000.md"
    for path, bytes_ in {**others, empty: b""}.items():
        path.write_bytes(bytes_)
    integrity.prune(world.app)
    assert all(path.exists() for path in (strange, changed, empty, *others))


def test_what_unfinished_work_left_is_tidied_after_an_hour_and_no_sooner(world: World) -> None:
    folder = folder_of(world.projects[0])
    old, young = folder / f".{new_id(now() - DAY)}.tmp", folder / f".{new_id(now())}.tmp"
    mine = folder / ".mine.tmp"
    for path in (old, young, mine):
        path.write_bytes(b"x")
    for path in (old, mine):
        os.utime(path, (1, 1))
    integrity.prune(world.app)
    assert (old.exists(), young.exists(), mine.exists()) == (False, True, True)


def test_killed_between_the_index_and_the_file_nothing_is_reported_that_is_not_there(world: World) -> None:
    old = old_ones(world)
    pid = os.fork()
    if not pid:
        Folder.remove = lambda folder, name: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        integrity.prune(world.app)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    found = integrity.check(world.app)
    assert {"orphan"} <= set(kinds(found)) <= {"orphan", "index"}
    assert all(there(*old))
    integrity.repair(world.app)
    assert kinds(integrity.check(world.app)) == []
    assert len(integrity.prune(world.app).removed) >= 1


def test_where_no_one_knows_the_newest_nothing_is_removed(world: World) -> None:
    old = old_ones(world)
    shutil.rmtree(world.home.checkpoints + "/heads")
    integrity.prune(world.app)
    assert all(there(*old))
