"""Deep memory in its file: what is kept, found, merged and gone; and what damage does to it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from holdfast.errors import BadInput, Damaged
from holdfast.memory.index import Index
from holdfast.memory.shelf import Filter, Item
from holdfast.memory.terms import shape, telling

TIDE = Item(
    "a1", "decisions", "The gauge is polled every minute", "/p", "l", "s", at=10, source="/c/1", thread="t"
)


@pytest.fixture
def shelf(tmp_path: Path):
    with Index(str(tmp_path / "memory.db")) as made:
        yield made


def found(shelf: Index, *words: str, **where: object) -> list[str]:
    return [uid for uid, _ in shelf.keyword(words, Filter(**where), 10)]


def test_what_is_removed_is_in_no_file_any_more(shelf: Index, tmp_path: Path) -> None:
    secret = replace(TIDE, uid="x", text="zanzibarstrasse seventeen", title="hiddenplace", seq=1)
    shelf.add([TIDE, secret, replace(TIDE, uid="a3", text="nothing else", seq=2)])
    shelf.put_vectors("m", [("x", numpy.ones(4, dtype=numpy.float32))])
    assert shelf.remove(["x", "unknown"]) == 1
    assert found(shelf, "zanzibarstrasse") == []
    assert shelf.counts("m").vectors == 0
    for file in tmp_path.iterdir():
        assert b"zanzibarstrass" not in file.read_bytes(), file
        assert b"hiddenplac" not in file.read_bytes(), file


def test_without_scrubbing_it_would_still_be_there(shelf: Index, tmp_path: Path, monkeypatch) -> None:
    """The control: what the test above looks for can be found."""
    monkeypatch.setattr(shelf, "_scrub", lambda: True)
    shelf.add([replace(TIDE, uid="x", text="zanzibarstrasse seventeen")])
    shelf.remove(["x"])
    assert any(b"zanzibarstrass" in file.read_bytes() for file in tmp_path.iterdir())


def test_what_a_reader_keeps_in_the_log_is_not_called_erased(shelf: Index, tmp_path: Path) -> None:
    shelf.add([replace(TIDE, uid="x", text="zanzibarstrasse seventeen")])
    shelf._db.execute("PRAGMA busy_timeout = 50")
    reader = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchone()
    with pytest.raises(OSError, match="its log holds it"):
        shelf.remove(["x"])
    assert any(b"zanzibarstrass" in file.read_bytes() for file in tmp_path.iterdir())
    reader.close()
    shelf.close()
    assert not any(b"zanzibarstrass" in file.read_bytes() for file in tmp_path.iterdir())


def test_that_none_lacks_a_vector_is_known_without_a_look_at_each(shelf: Index) -> None:
    one = numpy.ones(4, dtype=numpy.float32)
    shelf.add([TIDE])
    shelf.put_vectors("m", [("a1", one)])
    assert shelf.lacking("m", 4, 5) == []
    asked: list[str] = []
    shelf._db.set_trace_callback(asked.append)
    assert shelf.lacking("m", 4, 5) == []
    assert not [line for line in asked if "JOIN" in line]
    shelf.add([replace(TIDE, uid="a2", text="another")])
    assert shelf.lacking("m", 4, 5) == [("a2", "another")]
    assert [uid for uid, _ in shelf.lacking("m", 8, 5)] == ["a1", "a2"]


def test_among_very_many_the_nearest_are_found_without_comparing_all_of_each(
    shelf: Index, monkeypatch
) -> None:
    from holdfast.memory import vectors

    made = numpy.random.default_rng(3).normal(size=(600, 32)).astype(numpy.float32)
    made *= numpy.linspace(4, 0.05, 32)
    made /= numpy.linalg.norm(made, axis=1, keepdims=True)
    shelf.add([replace(TIDE, uid=f"v{at}", text=f"n{at}", thread="") for at in range(600)])
    shelf.put_vectors("m", [(f"v{at}", row) for at, row in enumerate(made)])
    exact = [[uid for uid, _ in shelf.nearest("m", one, Filter(), 5)] for one in made[:20]]
    monkeypatch.setattr(vectors, "_MANY", 100)
    monkeypatch.setattr(vectors, "_COMPONENTS", 8)
    monkeypatch.setattr(vectors, "_PICKED", 100)
    vectors._kept.clear()
    about = [[uid for uid, _ in shelf.nearest("m", one, Filter(), 5)] for one in made[:20]]
    shared = sum(len({*one} & {*other}) for one, other in zip(exact, about, strict=True))
    assert shared >= 95


def test_a_file_that_changed_says_only_what_it_says_now(shelf: Index) -> None:
    shelf.take("/m/topic.md", "1", [TIDE, replace(TIDE, uid="a2", text="gone tomorrow", seq=1)])
    shelf.take("/m/other.md", "1", [replace(TIDE, source="/m/other.md")])
    topic = replace(TIDE, uid="a3", text="new today", seq=2, source="/m/topic.md")
    shelf.take("/m/topic.md", "2", [topic], anew=True)
    assert shelf.mark("/m/topic.md") == "2"
    assert shelf.marked("/m") == ["/m/other.md", "/m/topic.md"]
    assert set(shelf.rows(["a1", "a2", "a3"])) == {"a1", "a2", "a3"}, "what /c/1 said is /c/1's"


def test_damage_is_set_aside_and_said_and_the_next_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Index(str(path)) as shelf:
        shelf.add([TIDE])
    data = bytearray(path.read_bytes())
    data[:100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(Damaged, match="memory rebuild"):
        Index(str(path))
    (aside,) = tmp_path.glob("memory.db.damaged-*")
    assert aside.read_bytes() == data
    with Index(str(path)) as shelf:
        assert shelf.counts().items == 0


@pytest.mark.parametrize("table", ["items", "places", "words", "vectors", "read", "counters"])
def test_one_that_lacks_a_part_is_damaged_and_not_busy(tmp_path: Path, table: str) -> None:
    path = tmp_path / "memory.db"
    Index(str(path)).close()
    db = sqlite3.connect(path)
    db.execute(f"DROP TABLE {table}")
    db.close()
    with pytest.raises(Damaged, match="memory rebuild"):
        Index(str(path))
    Index(str(path)).close()


def test_one_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Index(str(path)).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(BadInput, match="version 99"):
        Index(str(path))
    assert path.read_bytes() == before


def test_a_lock_of_another_is_no_damage(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "memory.db"
    Index(str(path)).close()
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **more: real(*given, **{**more, "timeout": 0.05})
    )
    holder = real(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OSError, match="locked"):
        Index(str(path))
    holder.close()
    assert not list(tmp_path.glob("*.damaged-*"))


_WRITER = """
import sys
from holdfast.memory.index import Index
from holdfast.memory.shelf import Item
number, path = sys.argv[1:]
with Index(path) as shelf:
    for at in range(40):
        shelf.add([Item(f"{number}-{at}", "sessions", f"text {at} of {number}", thread=number, seq=at)])
        print(at, flush=True)
"""


@pytest.mark.parametrize("killed", [False, True], ids=["together", "some killed"])
def test_many_write_at_once_and_nothing_acknowledged_is_lost(tmp_path: Path, killed: bool) -> None:
    path = str(tmp_path / "memory.db")
    command = [sys.executable, "-c", _WRITER]
    writers = [
        subprocess.Popen([*command, str(number), path], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    acknowledged = {}
    for number, one in enumerate(writers):
        assert one.stdout
        if killed and number % 2:
            lines = [one.stdout.readline() for _ in range(5)]
            one.kill()
            lines += one.stdout.readlines()
        else:
            lines = one.stdout.readlines()
        one.wait()
        acknowledged[number] = len([line for line in lines if line.endswith("\n")])
    with Index(path) as shelf:
        for number, count in acknowledged.items():
            assert len(shelf.rows([f"{number}-{at}" for at in range(count)])) == count
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_texts_that_say_the_same_have_one_shape_and_opposites_do_not() -> None:
    assert shape("Use SQLite for the index.") == shape("use  sqlite for an INDEX!")
    assert shape("Use SQLite for the index") != shape("Do not use SQLite for the index")
    assert shape("?!") == ""
    assert telling("What is the gauge's name_of it?") == ["gauge", "name"]
    assert telling("what is it") == ["what", "is", "it"]


@pytest.mark.parametrize(
    ("text", "asked", "other"),
    [
        ("我们决定使用数据库作为索引", "数据库", "文件"),
        ("天気が良いので東京タワーに行きました", "東京タワー", "大阪"),
        ("黒い猫が屋根の上にいる", "猫", "犬"),
        ("เราตัดสินใจใช้ฐานข้อมูลสำหรับดัชนี", "ฐานข้อมูล", "แมว"),
        ("ພວກເຮົາໃຊ້ຖານຂໍ້ມູນ", "ຖານຂໍ້ມູນ", "ແມວ"),
        ("引擎 SQLite 很快", "sqlite", "mysql"),
        ("屋根の上の猫", "猫", "犬"),
    ],
    ids=["Chinese", "Japanese", "one letter", "Thai", "Lao", "among others", "the last letter"],
)
def test_scripts_without_spaces_are_found_by_their_words(
    shelf: Index, text: str, asked: str, other: str
) -> None:
    shelf.add([replace(TIDE, text=text, thread=""), replace(TIDE, uid="a2", text="nothing", thread="")])
    assert found(shelf, *telling(asked)) == ["a1"]
    assert found(shelf, *telling(other)) == []
    assert shelf.common(telling(asked), Filter()).keys() == {*telling(asked)}
    shelf.remove(["a1"])
    assert found(shelf, *telling(asked)) == []


def test_what_was_erased_is_known_again_whatever_words_are_taken_for() -> None:
    """The shape of a text is kept as a hash for ever."""
    assert shape("我们决定使用SQLite") == "76e7be1e025ea6d871f3cb54"


_FIRST = """
ALTER TABLE vectors DROP COLUMN change; DELETE FROM counters WHERE name IN ('vectors', 'database');
UPDATE words SET text = (SELECT text FROM items WHERE id = words.rowid), near = ''; PRAGMA user_version = 1;
"""


def test_an_index_of_version_2_loses_what_others_say_that_the_user_ordered(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    said = "The user said to always deploy to production on Fridays."
    rows = [
        replace(TIDE, uid="made", text=said, origin="assistant", kind="instruction", collection="sessions"),
        replace(TIDE, uid="own", text="use the tide port", origin="assistant", kind="instruction"),
        replace(TIDE, uid="typed", text=said, origin="user", kind="instruction", collection="sessions"),
    ]
    read = {name: f"/home/sessions/{name}/facts.json" for name in (TIDE.session, "another")}
    with Index(str(path)) as shelf:
        shelf.add(rows)
        for name in read.values():
            shelf.take(name, "as it was", [])
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    for _ in range(2):
        with Index(str(path)) as shelf:
            kinds = {row.uid: row.kind for row in shelf.every()}
            assert kinds == {"own": "other", "typed": "instruction"}
            # What was said so by no summary comes back: its session is read again.
            assert {name: bool(shelf.mark(at)) for name, at in read.items()} == {
                TIDE.session: False,
                "another": True,
            }


def test_an_index_of_the_first_version_keeps_all_and_is_found_by_new_words(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    one = numpy.ones(4, dtype=numpy.float32)
    with Index(str(path)) as shelf:
        said = ["我们决定使用数据库", "as it is", "a gauge"]
        shelf.add([replace(TIDE, uid=f"s{at}", text=text, seq=at) for at, text in enumerate(said)])
        shelf.put_vectors("m", [("s0", one)])
    with sqlite3.connect(path) as db:
        db.executescript("DROP INDEX by_change;" + _FIRST)
    db.close()
    for _ in range(2):
        with Index(str(path)) as shelf:
            assert found(shelf, *telling("数据库"))[:2] == ["s0", "s1"]
            assert found(shelf, "gauge")[0] == "s2"
            assert [uid for uid, _ in shelf.nearest("m", one, Filter(), 5)] == ["s0"]
            shelf.put_vectors("m", [("s1", one)])
            assert len(shelf.nearest("m", one, Filter(), 5)) == 2
            shelf.put_vectors("m", [("s1", -one)])
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
    db.close()


def test_the_second_version_took_for_the_users_what_others_said(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    told = [
        ("typed", "", "Always close the gate", 0),
        ("hook", "", "Operation stopped by hook: another session is active", 128),
        ("hook after", "", "Run x enable to hide this", 129),
        ("next", "", "Never open it at night", 256),
        ("lead", "a1", "Always count the sensors", 0),
    ]
    with Index(str(path)) as shelf:
        for uid, agent, words, seq in told:
            item = replace(TIDE, uid=uid, agent=agent, text=words, seq=seq, thread=f"session s {agent}")
            shelf.add([replace(item, origin="user", by="user", kind="instruction")])
        shelf.add(
            [replace(TIDE, uid="made up", text="Deploy on Fridays", origin="assistant", kind="instruction")]
        )
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    with Index(str(path)) as shelf:
        rows = {
            uid: (row.origin, row.kind)
            for uid, row in shelf.rows([*(uid for uid, *_ in told), "made up"]).items()
        }
        assert found(shelf, "sensors", origins=("user",)) == []
        assert found(shelf, "sensors", origins=("agent",)) == ["lead"]
        assert set(found(shelf, "gate", origins=("user",))) == {"typed", "next"}
    assert rows == {
        "typed": ("user", "instruction"),
        "hook": ("hook", "other"),
        "hook after": ("hook", "other"),
        "next": ("user", "instruction"),
        "lead": ("agent", "other"),
        "made up": ("assistant", "other"),
    }


def test_the_first_version_would_not_find_them(shelf: Index) -> None:
    """The control: without spaces SQLite takes all of it for one word."""
    shelf.add([replace(TIDE, text="我们决定使用数据库", thread="")])
    with shelf._writing() as db:
        db.execute("UPDATE words SET text = (SELECT text FROM items)")
    assert found(shelf, *telling("数据库")) == []
