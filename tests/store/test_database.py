"""A store as a file: made, brought up, refused, durable."""

from __future__ import annotations

import os
import posix
import sqlite3
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text, update

from holdfast.errors import BadInput, Damaged
from holdfast.store import database, migrations
from holdfast.store.database import SQLite, Store
from holdfast.store.queue import Queue
from holdfast.store.tables import METADATA, SCHEMA
from holdfast.store.task import Draft, added


def test_the_tables_are_those_that_queries_name(store: Store) -> None:
    with store.reading() as connection:
        found = inspect(connection)
        columns = {name: {column["name"] for column in found.get_columns(name)} for name in METADATA.tables}
    assert columns == {name: set(table.c.keys()) for name, table in METADATA.tables.items()}


def test_one_of_a_newer_holdfast_is_refused_and_left_as_it_is(sqlite: Store, tmp_path: Path) -> None:
    with sqlite.writing() as connection:
        connection.execute(update(SCHEMA).values(version=migrations.NEWEST + 1))
        connection.execute(text("CREATE TABLE of_the_future (what TEXT)"))
    with pytest.raises(BadInput, match=f"schema {migrations.NEWEST + 1}, and this one knows"):
        SQLite(str(tmp_path / "store.db"))
    with pytest.raises(BadInput, match="newer holdfast"):
        sqlite.check()
    with sqlite.reading() as connection:
        assert inspect(connection).has_table("of_the_future")


def test_one_of_an_older_holdfast_is_brought_up_with_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "store.db")
    old = SQLite(path)
    number = Queue(old).add([Draft("kept", "here")], "ann")[0].number
    old.close()
    steps = (
        *migrations.STEPS,
        "CREATE TABLE added_later (what TEXT);\nCREATE INDEX later ON added_later (what)",
    )
    monkeypatch.setattr(migrations, "STEPS", steps)
    monkeypatch.setattr(migrations, "NEWEST", len(steps))
    new = SQLite(path)
    assert Queue(new).task(number).description == "kept"
    with new.reading() as connection:
        assert inspect(connection).has_table("added_later")
        assert migrations.version(connection) == len(steps)
    new.close()


def test_a_step_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "store.db")
    SQLite(path).close()
    broken = (*migrations.STEPS, "CREATE TABLE half (what TEXT);\nCREATE NONSENSE")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", broken)
        patch.setattr(migrations, "NEWEST", len(broken))
        with pytest.raises(database.Unavailable):
            SQLite(path)
    again = SQLite(path)
    with again.reading() as connection:
        assert not inspect(connection).has_table("half")
    again.close()


def test_many_who_open_a_new_one_at_once_make_it_once(tmp_path: Path) -> None:
    code = "import sys; from holdfast.store.database import SQLite; SQLite(sys.argv[1]).close()"
    argv = [sys.executable, "-c", code, str(tmp_path / "store.db")]
    processes = [subprocess.Popen(argv) for _ in range(5)]
    assert [process.wait(60) for process in processes] == [0] * 5
    with sqlite3.connect(tmp_path / "store.db") as connection:
        assert connection.execute("SELECT count(*) FROM schema").fetchone() == (1,)


def test_it_is_for_its_owner_alone(sqlite: Store, tmp_path: Path) -> None:
    with sqlite.writing():
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "store.db-wal" in modes


@pytest.mark.parametrize(
    "content", [b"no database, for all one can see" * 200, b"SQLite format 3\0" + b"\1" * 9000]
)
def test_a_damaged_one_is_said_to_be_so_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(Damaged, match="Move it aside"):
        SQLite(str(path))
    assert path.read_bytes() == content


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "store.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        SQLite(str(tmp_path / "store.db"))
    assert not (tmp_path / "elsewhere").exists()


class Disk:
    """What is synced, by the number of the file, from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[int] = []
        for module in (posix, os):
            for name in ("fdatasync", "fsync"):
                real = getattr(module, name)
                monkeypatch.setattr(module, name, lambda fd, real=real: (self._note(fd), real(fd)))

    def _note(self, fd: int) -> None:
        self.synced.append(os.fstat(fd).st_ino)


def test_what_was_acknowledged_has_been_synced(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    with sqlite.writing() as connection:
        connection.execute(update(SCHEMA).values(by="me"))
        assert disk.synced == []
    assert disk.synced == [(tmp_path / "store.db-wal").stat().st_ino]


def test_a_log_whose_name_is_new_is_synced_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    made = SQLite(str(tmp_path / "store.db"))
    assert tmp_path.stat().st_ino in disk.synced
    made.close()


def test_what_fails_in_the_middle_leaves_nothing(sqlite: Store) -> None:
    def fail() -> None:
        with sqlite.writing() as connection:
            connection.execute(update(SCHEMA).values(by="nobody"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with sqlite.reading() as connection:
        assert connection.execute(SCHEMA.select()).one().by != "nobody"


def test_more_who_ask_than_there_are_connections_are_told_so(
    sqlite: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE_S", 0.1)
    with ExitStack() as held:
        for _ in range(8):
            held.enter_context(sqlite.reading()).execute(SCHEMA.select())
        with pytest.raises(database.Unavailable, match="all connections"), sqlite.reading():
            pass


def test_connections_stay_open_also_when_something_failed_and_are_closed_with_the_lock(
    sqlite: SQLite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is closed without it may meet a commit with the checkpoint of the log that this brings."""

    def fail(of: AbstractContextManager[Connection]) -> None:
        with of as connection:
            connection.execute(text("SELECT 1"))
            raise ZeroDivisionError

    with sqlite.reading() as connection:
        first = connection.connection.driver_connection
    for of in (sqlite.writing, sqlite.reading):
        with pytest.raises(ZeroDivisionError):
            fail(of())
        with of() as connection:
            assert connection.connection.driver_connection is first
    held: list[bool] = []
    real = Connection.close

    def closed(one: Connection) -> None:
        held.append(getattr(database._HELD, "path", "") == sqlite.lock)
        real(one)

    monkeypatch.setattr(Connection, "close", closed)
    sqlite.close()
    assert held == [True]


def test_what_sqlalchemy_did_and_what_the_driver_did_is_one_transaction(sqlite: Store) -> None:
    def fail() -> None:
        with sqlite.writing() as connection:
            connection.execute(update(SCHEMA).values(by="nobody"))
            added(connection, Draft("it", "p"), "me", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert Queue(sqlite).tasks(None, None, 0) == []
    with sqlite.reading() as connection:
        assert connection.execute(SCHEMA.select()).one().by != "nobody"
        with sqlite.writing() as writer:
            writer.execute(update(SCHEMA).values(by="somebody"))
            added(writer, Draft("it", "p"), "me", {})
        assert connection.execute(SCHEMA.select()).one().by != "somebody"
    with sqlite.reading() as connection:
        assert connection.execute(SCHEMA.select()).one().by == "somebody"
    assert len(Queue(sqlite).tasks(None, None, 0)) == 1


def test_a_reader_waits_for_nobody_who_writes(sqlite: Store) -> None:
    with sqlite.writing() as writer:
        writer.execute(update(SCHEMA).values(by="not yet"))
        with sqlite.reading() as reader:
            assert reader.execute(SCHEMA.select()).one().by != "not yet"


def test_what_a_reader_writes_does_not_stay(sqlite: SQLite) -> None:
    with sqlite.reading() as connection:
        connection.execute(text("CREATE TABLE by_a_reader (what TEXT)"))
    with sqlite.reading() as connection:
        assert not inspect(connection).has_table("by_a_reader")


class Interrupted:
    """A driver that Ctrl-C reaches right behind its first `at`."""

    def __init__(self, driver: sqlite3.Connection, at: str) -> None:
        self.driver = driver
        self.at = at

    def __getattr__(self, name: str) -> object:
        return getattr(self.driver, name)

    def execute(self, statement: str) -> None:
        self.driver.execute(statement)
        if self.at == "execute":
            raise KeyboardInterrupt

    def rollback(self) -> None:
        if self.at == "rollback":
            self.at = ""
            raise KeyboardInterrupt
        self.driver.rollback()


@pytest.mark.parametrize(("at", "kept"), [("execute", 1), ("rollback", 0)])
def test_ctrl_c_leaves_no_transaction_open(
    sqlite: SQLite, monkeypatch: pytest.MonkeyPatch, at: str, kept: int
) -> None:
    (idle,) = sqlite._idle
    driver = database._driver(idle)
    interrupted = Interrupted(driver, at)
    with monkeypatch.context() as patch:
        patch.setattr(database, "_driver", lambda _: interrupted)
        with pytest.raises(KeyboardInterrupt), sqlite.writing():
            raise ValueError
    assert len(sqlite._idle) == kept
    if kept:
        assert not driver.in_transaction
    else:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            driver.execute("SELECT 1")
    assert Queue(sqlite).add([Draft("goes on", "here")], "ann")


def test_it_is_closed_when_all_who_use_it_are_done(sqlite: SQLite) -> None:
    began, ends, drivers = threading.Event(), threading.Event(), []

    def uses() -> None:
        with sqlite.reading() as connection:
            drivers.append(database._driver(connection))
            began.set()
            ends.wait(10)

    thread = threading.Thread(target=uses)
    thread.start()
    assert began.wait(10)
    timer = threading.Timer(0.2, ends.set)
    timer.start()
    sqlite.close()
    thread.join()
    assert not sqlite._idle
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        drivers[0].execute("SELECT 1")
    assert sqlite._room._value == database._MOST_CONNECTIONS


def test_who_takes_too_long_keeps_it_when_it_is_closed(
    sqlite: SQLite, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite.reading() as connection:
        monkeypatch.setattr(database, "PATIENCE_S", 0.05)
        sqlite.close()
        assert migrations.version(connection) == migrations.NEWEST
