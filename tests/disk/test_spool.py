"""What is spooled becomes a save exactly once, whoever is killed over it and however many come at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disk.faults import Faults, kill, over
from holdfast import breaks
from holdfast.app import Holdfast
from holdfast.clock import id_time
from holdfast.disk import results, saves, spool, worktree
from repository import Repository, saved, spooled


@pytest.fixture
def repository(home: Path, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project", home)


@pytest.fixture
def app(home: Path, tmp_path: Path) -> Holdfast:
    return Holdfast.open({"HOME": str(tmp_path), "HOLDFAST_HOME": str(home), "PATH": os.defpath})


def in_a_child(work, due: int = -1, how: str = "before") -> bool:
    """Whether it was killed, at the effect numbered `due`."""
    child = os.fork()
    if not child:
        try:
            with over(Faults(due, kill(how))):
                work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def run_of_tests(repository: Repository, app: Holdfast) -> None:
    tree = worktree.find(str(repository.root))
    assert tree
    run = {"passed": True, "count": 3, "failed": 0, "seconds": 0.1, "command": "pytest"}
    breaks.spool_run(app, tree, run)


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_anywhere_each_is_saved_once(
    repository: Repository, app: Holdfast, home: Path, how: str
) -> None:
    key, killed, total = spool.key(str(repository.root)), 0, 0
    breaks.redactor_of(app, str(repository.root))  # the key is made once, and not what is tried here
    for due in range(0, 40):
        repository.commit(f"number {due}")
        run_of_tests(repository, app)
        uids = [entry["uid"] for entry in spool.entries(app.home, key)]
        killed += in_a_child(lambda: breaks.settle(app, [key]), due, how)
        breaks.settle(app, [key])
        total += 2
        known = [save["id"] for save in saves.of(app.home, "development")]
        assert sorted(known) == sorted(set(known))
        assert len(known) == total
        assert set(uids) <= set(known)
        assert not spooled(home)
        assert results.of(app.home, key)["tests"]["count"] == 3
    assert killed > 10


def test_a_protocol_in_the_wrong_order_is_caught(repository: Repository, app: Holdfast) -> None:
    """The control: removed first, saved then."""
    key, lost = spool.key(str(repository.root)), 0

    def wrong() -> None:
        found = spool.entries(app.home, key)
        spool.clear(app.home, key, [entry["uid"] for entry in found])
        breaks.keep(app, found)

    for due in range(8):
        repository.commit(f"number {due}")
        before = len(saves.of(app.home, "development"))
        in_a_child(wrong, due)
        breaks.settle(app, [key])
        lost += len(saves.of(app.home, "development")) == before
    assert lost


def test_however_many_come_at_once_each_is_saved_once(
    repository: Repository, app: Holdfast, home: Path
) -> None:
    for number in range(6):
        repository.commit(f"number {number}")
    key = spool.key(str(repository.root))
    children = []
    for _ in range(6):
        child = os.fork()
        if not child:
            try:
                breaks.settle(app, [key])
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert sorted(save["task"] for save in saved(home)) == [f"Commit: number {n}" for n in range(6)]


def test_who_is_killed_while_spooling_leaves_all_or_nothing(
    repository: Repository, app: Holdfast, home: Path
) -> None:
    tree = worktree.find(str(repository.root))
    assert tree
    said, key = spool.about(tree, {}), spool.key(str(repository.root))
    for due in range(12):
        for how in ("before", "half", "after"):
            in_a_child(lambda: spool.put(app.home, spool.COMMIT, said), due, how)
    assert len(spool.names(app.home, key)) == len(spool.entries(app.home, key)) > 0


@pytest.mark.parametrize("leap", [0, -3_600_000])
def test_what_comes_in_one_millisecond_stays_in_order(
    repository: Repository, app: Holdfast, monkeypatch: pytest.MonkeyPatch, leap: int
) -> None:
    tree, at = worktree.find(str(repository.root)), 1_700_000_000_000
    assert tree
    monkeypatch.setattr(spool, "now", lambda: at)
    put = [spool.put(app.home, spool.COMMIT, spool.about(tree, {})) for _ in range(20)]
    assert [entry["uid"] for entry in spool.entries(app.home, spool.key(tree.root))] == put
    monkeypatch.setattr(spool, "now", lambda: at + 40 + leap)
    assert id_time(spool.put(app.home, spool.COMMIT, spool.about(tree, {}))) == at + 40 + leap


def test_a_spool_that_cannot_be_written_raises_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    home.write_text("no folder")
    app = Holdfast.open({"HOME": str(tmp_path), "HOLDFAST_HOME": str(home)})
    said = dict.fromkeys(("root", "common", "environment", "branch", "commit"), "")
    with pytest.raises(OSError):  # noqa: PT011
        spool.put(app.home, spool.COMMIT, said)


def test_an_environment_that_cannot_be_one_is_the_usual(
    repository: Repository, app: Holdfast, home: Path
) -> None:
    repository.commit(CONTEXTS_ENV="../../prod")
    breaks.settle(app, spool.trees(app.home))
    assert len(saved(home)) == 1
    assert not list(home.rglob("prod*"))


def test_where_git_keeps_its_refs_to_itself_git_is_asked(
    repository: Repository, app: Holdfast, home: Path
) -> None:
    commit = repository.commit("mend the weir")
    (path,) = (home / "spool").glob("*/*.json")
    path.write_text(path.read_text().replace(commit, "").replace('"main"', '""'))
    breaks.settle(app, spool.trees(app.home))
    (save,) = saved(home)
    assert (save["commit"], save["branch"], save["task"]) == (commit, "main", "Commit: mend the weir")


def test_what_was_said_in_another_encoding_is_read_in_it(
    repository: Repository, app: Holdfast, home: Path
) -> None:
    repository.git("config", "i18n.commitEncoding", "iso-8859-1")
    (repository.root / "message").write_bytes("Größe\n\nmehr".encode("iso-8859-1"))
    repository.git("commit", "-q", "--allow-empty", "-F", "message")
    breaks.settle(app, spool.trees(app.home))
    assert saved(home)[0]["task"] == "Commit: Größe"


def test_what_cannot_be_read_of_results_is_forgotten(app: Holdfast, home: Path) -> None:
    (home / "results").mkdir(parents=True)
    for raw in (b"", b"{}", b'{"v":1,"sum":5,"tests":{}}', b"\xff" * 99, b"x" * (1 << 16)):
        (home / "results" / "0123456789abcdef.json").write_bytes(raw)
        assert results.of(app.home, "0123456789abcdef") == {}
