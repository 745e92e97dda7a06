"""The file that vectors are compared from: in step or made anew, and nothing in it that was forgotten."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from holdfast.memory import vectorfile, vectors
from holdfast.memory.index import Index
from holdfast.memory.shelf import Filter, Item

MODEL, SIZE = "m", 8
MADE = numpy.random.default_rng(5).normal(size=(400, SIZE)).astype(numpy.float32)
MADE /= numpy.linalg.norm(MADE, axis=1, keepdims=True)


def item(at: int) -> Item:
    return Item(f"u{at}", "sessions", f"number {at}", "/p", source=f"/s/{at}", shape=f"{at}")


def put(shelf: Index, *numbers: int) -> None:
    shelf.add([item(at) for at in numbers])
    shelf.put_vectors(MODEL, [(f"u{at}", MADE[at]) for at in numbers])


def nearest(shelf: Index, at: int, most: int = 1) -> list[str]:
    return [uid for uid, _ in shelf.nearest(MODEL, MADE[at], Filter(), most)]


def halves(at: int) -> bytes:
    """A vector as it is kept."""
    return MADE[at].astype("<f2").tobytes()


def read_anew() -> None:
    """As the next process does."""
    vectors._kept.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def shelf(path: Path):
    with Index(str(path)) as made:
        yield made


@pytest.fixture(params=["compared whole", "by components first"])
def many(request, monkeypatch) -> None:
    if request.param != "compared whole":
        monkeypatch.setattr(vectors, "_MANY", 20)
        monkeypatch.setattr(vectors, "_COMPONENTS", 6)


def file_of(path: Path) -> Path:
    return path.with_name(path.name + vectorfile.END)


@pytest.mark.usefixtures("many")
def test_a_process_that_begins_reads_no_vector_from_the_database(shelf: Index, path: Path) -> None:
    put(shelf, *range(100))
    assert nearest(shelf, 7) == ["u7"]
    assert file_of(path).stat().st_mode & 0o777 == 0o600
    read_anew()
    said: list[str] = []
    shelf._db.set_trace_callback(said.append)
    assert nearest(shelf, 42) == ["u42"]
    assert said
    assert [line for line in said if "FROM vectors" in line] == []


@pytest.mark.usefixtures("many")
def test_what_is_new_is_added_and_nothing_else_is_read(shelf: Index, path: Path) -> None:
    put(shelf, *range(100))
    nearest(shelf, 0)
    inode = file_of(path).stat().st_ino
    put(shelf, 100, 101)
    plan = shelf._db.execute(f"EXPLAIN QUERY PLAN {vectors._ROWS}", (MODEL, 2 * SIZE, 1)).fetchall()
    assert any("by_change (change>?)" in row[3] for row in plan), plan
    for _ in range(2):
        assert nearest(shelf, 101) == ["u101"]
        assert nearest(shelf, 3) == ["u3"]
        read_anew()
    assert file_of(path).stat().st_ino == inode


def test_it_is_made_anew_with_more_room_when_it_is_full(shelf: Index, path: Path, monkeypatch) -> None:
    monkeypatch.setattr(vectors, "_SPARE", 2)
    put(shelf, *range(8))
    nearest(shelf, 0)
    inode = file_of(path).stat().st_ino
    put(shelf, *range(8, 12))
    assert nearest(shelf, 11) == ["u11"]
    assert file_of(path).stat().st_ino == inode
    put(shelf, *range(12, 20))
    assert [nearest(shelf, at) for at in range(20)] == [[f"u{at}"] for at in range(20)]
    assert file_of(path).stat().st_ino != inode


@pytest.mark.usefixtures("many")
def test_a_vector_that_is_forgotten_is_in_no_file_any_more(shelf: Index, path: Path) -> None:
    put(shelf, *range(50))
    nearest(shelf, 0)
    assert halves(17) in file_of(path).read_bytes(), "else the test shows nothing"
    assert shelf.remove(["u17"]) == 1
    for file in path.parent.iterdir():
        assert halves(17) not in file.read_bytes(), file
    assert "u17" not in nearest(shelf, 17, 50)
    read_anew()
    assert "u17" not in nearest(shelf, 17, 50)
    assert len(nearest(shelf, 17, 50)) == 49
    assert shelf.similar(MODEL, MADE[17], ["u17", "u18"]).keys() == {"u18"}


def test_what_its_components_say_is_gone_with_it(shelf: Index, path: Path, monkeypatch) -> None:
    monkeypatch.setattr(vectors, "_MANY", 20)
    put(shelf, *range(50))
    nearest(shelf, 0)
    matrix = vectors._kept[str(path)]
    (place,) = matrix._places([18])
    said = matrix.part[place].tobytes()
    assert said in file_of(path).read_bytes()
    shelf.remove(["u17"])
    assert said not in file_of(path).read_bytes()


def test_it_is_gone_also_from_what_somebody_was_killed_over(shelf: Index, path: Path) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    half = Path(f"{file_of(path)}.tmp")
    half.write_bytes(file_of(path).read_bytes())
    shelf.remove(["u7"])
    assert not half.exists()


def test_it_is_gone_also_behind_the_last_row_that_counts(shelf: Index, path: Path) -> None:
    """Somebody was killed before the head said that there is one row more."""
    put(shelf, *range(10))
    nearest(shelf, 0)
    before = file_of(path).read_bytes()[: vectorfile.HEAD]
    put(shelf, 10)
    nearest(shelf, 10)
    with file_of(path).open("r+b") as file:
        file.write(before)
    read_anew()
    shelf.remove(["u10"])
    assert halves(10) not in file_of(path).read_bytes()


def test_whoever_has_it_mapped_asks_no_longer_for_what_is_gone(shelf: Index, path: Path) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    other = Index(str(path))
    other.remove([f"u{at}" for at in range(5)])
    other.close()
    assert sorted(nearest(shelf, 0, 5)) == [f"u{at}" for at in range(5, 10)]


def test_without_clearing_its_row_it_would_still_be_there(shelf: Index, path: Path, monkeypatch) -> None:
    """The control."""
    monkeypatch.setattr(vectorfile, "_clear", lambda *_: None)
    put(shelf, *range(50))
    nearest(shelf, 0)
    shelf.remove(["u17"])
    assert halves(17) in file_of(path).read_bytes()


def test_one_that_says_something_else_now_loses_what_it_was(shelf: Index, path: Path) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    shelf.add([replace(item(4), text="something else", shape="other", at=1)])
    assert halves(4) not in file_of(path).read_bytes()
    shelf.put_vectors(MODEL, [("u4", MADE[99])])
    assert nearest(shelf, 99) == ["u4"]
    shelf.put_vectors(MODEL, [("u4", MADE[98])])
    assert (nearest(shelf, 98), len(nearest(shelf, 98, 20))) == (["u4"], 10)
    assert halves(99) not in file_of(path).read_bytes()


def test_forgetting_needs_nothing_that_compares_vectors(shelf: Index, path: Path) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    forget = (
        "import sys; from holdfast.memory.index import Index\n"
        f"with Index({str(path)!r}) as shelf: assert shelf.remove(['u4']) == 1\n"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", forget], check=True)
    assert halves(4) not in file_of(path).read_bytes()
    assert "u4" not in nearest(shelf, 4, 10)


def test_an_id_that_is_given_again_is_that_of_the_new_one(shelf: Index) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    shelf.remove(["u9"])
    put(shelf, 30)
    assert nearest(shelf, 30) == ["u30"]
    assert "u30" not in nearest(shelf, 9)


_KILLED = """
import os, sys
from holdfast.memory import vectorfile
from holdfast.memory.index import Index
real, path, at = vectorfile.write, sys.argv[1], int(sys.argv[2])
done = 0
def write(fd, data, place):
    global done
    done += 1
    if done == at:
        os._exit(9)
    real(fd, data, place)
vectorfile.write = write
with Index(path) as shelf:
    shelf.remove(["u4"])
"""


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_whoever_is_killed_while_forgetting_leaves_nothing_wrong(shelf: Index, path: Path, at: int) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    command = [sys.executable, "-c", _KILLED, str(path), str(at)]
    assert subprocess.run(command, check=False).returncode == 9
    read_anew()
    there = set(shelf.rows([f"u{at}" for at in range(10)]))
    assert set(nearest(shelf, 4, 10)) == there, "what is there is found, what is gone is not"
    shelf.remove(["u4"])
    assert halves(4) not in file_of(path).read_bytes()


def test_a_refused_commit_costs_no_vector(shelf: Index, path: Path, monkeypatch) -> None:
    """And, the control, it does where nothing is put in doubt."""
    put(shelf, *range(10))
    nearest(shelf, 0)
    for doubt, found in ((vectorfile.IN_DOUBT, 10), (vectors._kept[str(path)].head.change, 9)):
        monkeypatch.setattr(vectorfile, "IN_DOUBT", doubt)
        with pytest.raises(OSError, match="no room"):
            _forget_in_vain(shelf, monkeypatch)
        read_anew()
        assert len(nearest(shelf, 0, 20)) == found


def _forget_in_vain(shelf: Index, monkeypatch) -> None:
    with monkeypatch.context() as refused, shelf._writing() as db:
        shelf._base.gone.append(5)
        refused.setattr(shelf._base, "db", _Refusing(db))


class _Refusing:
    """A database whose disk is full when it comes to the commit."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __getattr__(self, name: str):
        return getattr(self._db, name)

    def execute(self, statement: str, *given: object):
        if statement == "COMMIT":
            raise OSError(28, "no room")
        return self._db.execute(statement, *given)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"nothing of ours" * 1000,
        lambda data: data[:-1],
        lambda data: data.replace(b'"v":1', b'"v":9', 1),
        lambda data: data.replace(b'"size": 8', b'"size": 4', 1),
        lambda data: b"\xff" + data[1:],
    ],
    ids=["empty", "strange", "cut", "newer", "lying", "flipped"],
)
def test_one_that_is_not_whole_is_made_anew(shelf: Index, path: Path, spoil) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    file = file_of(path)
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    read_anew()
    assert nearest(shelf, 3) == ["u3"]
    assert file.read_bytes() == whole
    file.write_bytes(spoil(whole))
    shelf.remove(["u3"])
    assert not file.exists() or halves(3) not in file.read_bytes()


def test_a_file_of_another_database_is_not_believed(shelf: Index, path: Path, tmp_path: Path) -> None:
    put(shelf, *range(10))
    nearest(shelf, 0)
    other = tmp_path / "other.db"
    with Index(str(other)) as second:
        put(second, *range(20, 30))
        file_of(other).write_bytes(file_of(path).read_bytes())
        assert nearest(second, 25) == ["u25"]


def test_a_link_is_not_followed(shelf: Index, path: Path, tmp_path: Path) -> None:
    put(shelf, *range(3))
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    file_of(path).symlink_to(target)
    assert nearest(shelf, 1) == ["u1"]
    assert target.read_bytes() == b"mine"


def test_where_it_cannot_be_written_it_answers_all_the_same(shelf: Index, path: Path) -> None:
    put(shelf, *range(3))
    file_of(path).mkdir()
    assert nearest(shelf, 1) == ["u1"]
    put(shelf, 3)
    assert nearest(shelf, 3) == ["u3"]


_ASKS = """
import sys, numpy
from holdfast.memory.index import Index
from holdfast.memory.shelf import Filter, Item
path, number = sys.argv[1], int(sys.argv[2])
one = numpy.zeros(8, dtype=numpy.float32); one[number] = 1
with Index(path) as shelf:
    for at in range(30):
        uid = f"{number}-{at}"
        shelf.add([Item(uid, "sessions", uid, shape=uid)])
        shelf.put_vectors("m", [(uid, one)])
        found = {uid for uid, _ in shelf.nearest("m", one, Filter(), 100)}
        if at % 3 == 0:
            shelf.remove([uid])
        mine = {f"{number}-{n}" for n in range(at) if n % 3} | {uid}
        assert mine == {uid for uid in found if uid.startswith(f"{number}-")}, (mine, found)
"""


def test_many_ask_add_and_forget_at_once(path: Path) -> None:
    Index(str(path)).close()
    asking = [subprocess.Popen([sys.executable, "-c", _ASKS, str(path), str(at)]) for at in range(3)]
    assert [one.wait() for one in asking] == [0, 0, 0]
    with Index(str(path)) as shelf:
        found = shelf.nearest("m", numpy.ones(8, dtype=numpy.float32), Filter(), 100)
        assert len({uid for uid, _ in found}) == 60


def test_it_goes_with_a_database_that_is_set_aside_and_with_a_rebuild(shelf: Index, path: Path) -> None:
    from holdfast.memory import database

    put(shelf, *range(3))
    nearest(shelf, 0)
    shelf.unmark()
    assert not file_of(path).exists()
    assert nearest(shelf, 2) == ["u2"]
    shelf.close()
    database.set_aside(str(path))
    assert not file_of(path).exists()
    assert not os.path.exists(path)
