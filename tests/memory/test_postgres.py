"""Deep memory on PostgreSQL, where it differs from that in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from sqlalchemy import text

from holdfast.app import Holdfast
from holdfast.memory import postgres
from holdfast.memory.postgres import Postgres
from holdfast.memory.shelf import Filter, Item
from holdfast.ops import team
from holdfast.store.postgres import PostgreSQL
from store.postgres import Server

TIDE = Item("a1", "decisions", "The gauge is polled every minute", "/p", "l", "s", at=10, source="/c/1")
ONE = numpy.array([1.0, 0.0], dtype=numpy.float32)


def test_among_very_many_those_that_hold_two_of_the_words_come_first(
    postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_MANY", 5)
    said = [
        "the gauge of the pier",
        "a lamp on the pier",
        "the gauge and the lamp",
        *(f"boat {n}" for n in range(9)),
    ]
    shelf = Postgres(postgresql, "here")
    shelf.add([replace(TIDE, uid=f"u{at}", text=words, seq=at) for at, words in enumerate(said)])
    found = [uid for uid, _ in shelf.keyword(["gauge", "lamp"], Filter(), 5)]
    assert (found[0], sorted(found)) == ("u2", ["u0", "u1", "u2"])


def test_without_pgvector_memory_goes_by_words_and_says_so_until_it_has_come(tmp_path: Path) -> None:
    server = Server(tmp_path / "pg", "extension_control_path=/nowhere")
    store = PostgreSQL(server.url)
    try:
        store.bring_up()
        shelf = Postgres(store, "here")
        shelf.add([TIDE])
        shelf.put_vectors("m", [("a1", ONE)])
        assert shelf.keyword(["gauge"], Filter(), 5)[0][0] == "a1"
        assert shelf.nearest("m", ONE, Filter(), 5) == []
        assert shelf.similar("m", ONE, ["a1"]) == {}
        assert shelf.lacking("m", 2, 5) == []
        assert shelf.counts("m").models == {}
        app = Holdfast.open({"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_STORE_URL": server.url})
        told = team.status(app)
        assert told.ok
        assert told.memory.startswith("keyword only: the server has no pgvector: install it there")
        assert told.memory in str(told)
        store.close()
        server.stop()
        server._settings = ()
        server.start()
        assert "team migrate" in Postgres(store).no_vectors()
        assert team.migrate(app).schema == team.status(app).schema
        assert team.status(app).memory == "words and vectors"
        shelf = Postgres(store, "here")
        assert shelf.lacking("m", 2, 5) == [("a1", TIDE.text)]
        shelf.put_vectors("m", [("a1", ONE)])
        assert shelf.nearest("m", ONE, Filter(), 5) == [("a1", 1.0)]
    finally:
        store.close()
        server.stop()


HOSTILE = (
    "'; DROP TABLE items; --",
    "') OR 1=1 --",
    "a & b | !c <-> d:*",
    "\\' \\\\ %s %(x)s :w0 :uid {0} $1",
    "'':A & ''",
    "\u202e\u2066 ﷽ 𝔘𝔫𝔦",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_that_is_kept_or_asked_for_is_a_command(on_postgresql: Postgres, words: str) -> None:
    shelf = on_postgresql
    item = replace(
        TIDE, text=words, project=words, collection=words, origin=words, kind=words, thread=words
    )
    shelf.add(
        [replace(item, files=(words,), session=words, source=words, title=words), replace(TIDE, uid="b")]
    )
    shelf.put_vectors(words, [("a1", ONE)])
    where = Filter((words,), (words,), (words,), (words,), words, words)
    assert shelf.keyword([words, "gauge"], Filter(("/none",)), 5) == []
    shelf.keyword([words], where, 5)
    shelf.common([words, "gauge"], where)
    assert [uid for uid, _ in shelf.nearest(words, ONE, where, 5)] == ["a1"]
    assert [row.text for row in shelf.timeline(where, 5)] == [words]
    assert shelf.rows([words]) == {}
    assert {row.uid for row in shelf.timeline(Filter(), 5)} == {"b", "a1"}


def test_a_rare_word_counts_more_than_one_that_many_hold(on_postgresql: Postgres) -> None:
    texts = ["harbour sluice", "harbour gauge", *(f"harbour wall {at}" for at in range(30))]
    on_postgresql.add([replace(TIDE, uid=f"u{at}", text=one) for at, one in enumerate(texts)])
    fits = dict(on_postgresql.keyword(["harbour", "sluice"], Filter(), 50))
    assert max(fits, key=lambda uid: fits[uid]) == "u0"
    assert fits["u0"] > 3 * fits["u1"]


def test_words_are_found_whatever_stands_around_them(on_postgresql: Postgres) -> None:
    said = (
        "See src/tide/gauge.py, user@pump.example and https://host.example/Sluice?x=1; Café _harbour_ 3.5.1"
    )
    on_postgresql.add([replace(TIDE, text=said)])
    for word in "gauge py pump sluice café cafe harbour example tide 3".split():
        assert on_postgresql.keyword([word], Filter(), 5), word


def test_of_two_rows_with_one_uid_the_first_counts(on_postgresql: Postgres) -> None:
    """A role may put in what it likes, also under a uid that another role has used."""
    on_postgresql.add([TIDE])
    with on_postgresql.store.writing() as db:
        names = "uid, project, machine, collection, text, lineage, session, agent, origin, by, kind, at, "
        names += "first_at, title, files, sources, thread, seq, shape, words"
        forged = names.replace("text,", "'forged' AS text,")
        db.execute(text(f"INSERT INTO items (who, {names}) SELECT 'mallory', {forged} FROM items"))
    assert on_postgresql.rows(["a1"])["a1"].text == TIDE.text
    assert len(on_postgresql.keyword(["gauge"], Filter(), 5)) == 1
    on_postgresql.add([replace(TIDE, text="polled hourly", shape="other", at=20)])
    assert on_postgresql.rows(["a1"])["a1"].text == "polled hourly"


def test_many_machines_add_at_once(on_postgresql: Postgres) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def add(number: int) -> int:
        shelf = Postgres(on_postgresql.store, f"m{number}")
        items = [replace(TIDE, uid=f"{at}", text=f"text {at}", thread="t", seq=at) for at in range(40)]
        return sum(shelf.add([item]) for item in items)

    with ThreadPoolExecutor(4) as pool:
        added = sum(pool.map(add, range(4)))
    assert added == 40
    assert on_postgresql.counts().items == 40
    assert len(on_postgresql.keyword(["text"], Filter(), 100)) == 40
