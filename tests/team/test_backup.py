"""A team's store as a file, and back: whole, or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, inspect, select

from holdfast.app import Holdfast
from holdfast.errors import BadInput, Damaged, Forbidden, Unavailable
from holdfast.ops import members as roster
from holdfast.ops import team
from holdfast.store import migrations
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import Queue
from holdfast.store.tables import EVENTS, METADATA, SCHEMA
from holdfast.store.task import Draft
from holdfast.team import backup
from store.conftest import BUSY_S
from store.postgres import Server
from team.test_members import P, drop_all, machine

TABLES = [table for table in METADATA.tables.values() if table is not SCHEMA]


@pytest.fixture
def app(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> Iterator[Holdfast]:
    drop_all(server)
    yield machine(tmp_path / "owner", server.url)
    drop_all(server)


@pytest.fixture
def other(server: Server, tmp_path: Path) -> Iterator[Holdfast]:
    """Another database, with tables and nothing in them."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS other WITH (FORCE)")
        connection.execute("CREATE DATABASE other")
    made = machine(tmp_path / "other", server.url.replace("/postgres", "/other"))
    team.migrate(made)
    yield made
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE other WITH (FORCE)")


def fill(app: Holdfast, events: int = 200) -> None:
    store = PostgreSQL(app.config["store.url"])
    odd = "tab\t line\n back\\slash \\. NULL \\N ' \" é 🙂 \x7f"
    Queue(store).add([Draft(odd, P, name="a"), Draft("b", P, needs=("a",))], odd)
    roster.member_add(app, "ann", project=(P, "*"))
    roster.token_add(app, "ann")
    row = {"project": P, "machine": "m", "session": "s", "at": 1, "event": "e", "data": odd, "who": "ann"}
    with store.writing() as connection:
        connection.execute(insert(EVENTS), [{**row, "uid": f"u{i}"} for i in range(events)])
    store.close()


def all_of(app: Holdfast) -> dict[str, list[tuple[object, ...]]]:
    store = PostgreSQL(app.config["store.url"])
    try:
        with store.reading() as connection:
            return {
                table.name: sorted(tuple(row) for row in connection.execute(select(table)))
                for table in TABLES
            }
    finally:
        store.close()


def test_what_was_backed_up_is_there_again(app: Holdfast, other: Holdfast, tmp_path: Path) -> None:
    fill(app)
    file = tmp_path / "team.zip"
    made = team.back_up(app, file)
    assert made.rows["events"] == 200
    assert (made.rows["tasks"], made.rows["needs"], made.rows["members"], made.rows["tokens"]) == (
        2,
        1,
        2,
        1,
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    restored = team.restore(other, file)
    assert restored.rows == made.rows
    assert restored.without_role == []
    assert all_of(other) == all_of(app)
    store = PostgreSQL(other.config["store.url"])
    assert Queue(store).add([Draft("next", P)], "x")[0].number == 3  # numbers go on
    store.close()


def test_every_table_there_is_is_in_it(app: Holdfast, postgresql: PostgreSQL, tmp_path: Path) -> None:
    team.back_up(app, tmp_path / "team.zip")
    with postgresql.reading() as connection:
        there = set(inspect(connection).get_table_names()) - {"schema"}
    with zipfile.ZipFile(tmp_path / "team.zip") as archive:
        assert set(archive.namelist()) == {*(f"{name}.copy" for name in there), "manifest.json"}


def test_it_is_of_one_moment_whatever_is_written_meanwhile(
    app: Holdfast, other: Holdfast, tmp_path: Path
) -> None:
    """One adds two rows to two tables in one transaction, again and again; they always fit together."""
    fill(app)
    began, stop = threading.Event(), threading.Event()

    def writes() -> None:
        queue = Queue(PostgreSQL(app.config["store.url"]))
        while not stop.is_set():
            queue.add([Draft("first", P, name="a"), Draft("second", P, needs=("a",))], "x")
            began.set()

    writer = threading.Thread(target=writes)
    writer.start()
    try:
        assert began.wait(BUSY_S)
        for number in range(3):
            made = team.back_up(app, tmp_path / f"{number}.zip")
            assert made.rows["tasks"] == 2 * made.rows["needs"]
    finally:
        stop.set()
        writer.join()
    assert made.rows["tasks"] > 2
    assert team.restore(other, tmp_path / "2.zip").rows == made.rows


def damage_bytes(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        entry = archive.getinfo("events.copy")
    data = bytearray(file.read_bytes())
    data[entry.header_offset + 100 + entry.compress_size // 2] ^= 0xFF
    file.write_bytes(data)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def rewrite(file: Path, name: str, change) -> None:  # type: ignore[no-untyped-def]
    with zipfile.ZipFile(file) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for one, data in parts.items():
            archive.writestr(one, change(data) if one == name else data)


def lose_a_row(file: Path) -> None:
    rewrite(file, "events.copy", lambda data: data.partition(b"\n")[2])


def change_a_row(file: Path) -> None:
    rewrite(file, "tasks.copy", lambda data: data.replace(b"slash", b"SLASH"))


def lie_of_columns(file: Path) -> None:
    def change(data: bytes) -> bytes:
        said = json.loads(data)
        said["tables"]["tasks"]["columns"][0] = "number\") FROM PROGRAM 'id' --"
        return json.dumps(said).encode()

    rewrite(file, "manifest.json", change)


def not_one(file: Path) -> None:
    file.write_text("hello")


@pytest.mark.parametrize(
    "harm", [damage_bytes, cut_short, lose_a_row, change_a_row, lie_of_columns, not_one]
)
def test_a_damaged_one_is_refused_and_leaves_nothing(
    app: Holdfast, other: Holdfast, tmp_path: Path, harm
) -> None:  # type: ignore[no-untyped-def]
    fill(app)
    file = tmp_path / "team.zip"
    team.back_up(app, file)
    harm(file)
    with pytest.raises(Damaged):
        team.restore(other, file)
    assert not any(all_of(other).values())


def test_only_into_what_is_empty_and_of_the_same_schema(
    app: Holdfast, other: Holdfast, tmp_path: Path
) -> None:
    fill(app)
    file = tmp_path / "team.zip"
    team.back_up(app, file)
    before = all_of(app)
    with pytest.raises(BadInput, match="is not empty"):
        team.restore(app, file)
    assert all_of(app) == before
    with pytest.raises(BadInput, match="there already"):
        team.back_up(app, file)

    def older(data: bytes) -> bytes:
        return json.dumps({**json.loads(data), "schema": migrations.NEWEST - 1}).encode()

    rewrite(file, "manifest.json", older)
    with pytest.raises(BadInput, match="is of schema"):
        team.restore(other, file)
    rewrite(file, "manifest.json", lambda data: json.dumps({**json.loads(data), "v": 2}).encode())
    with pytest.raises(BadInput, match="is of version 2"):
        team.restore(other, file)


def test_a_member_is_given_no_part_of_it(app: Holdfast, tmp_path: Path) -> None:
    hers = machine(tmp_path / "ann", roster.member_add(app, "ann", project=(P,)).url)
    with pytest.raises(Forbidden):
        team.back_up(hers, tmp_path / "part.zip")
    assert not (tmp_path / "part.zip").exists()


def test_members_whose_roles_are_missing_are_named(
    app: Holdfast, other: Holdfast, server: Server, tmp_path: Path
) -> None:
    fill(app)
    team.back_up(app, tmp_path / "team.zip")
    drop_all(server)
    assert "makes those of: ann" in str(team.restore(other, tmp_path / "team.zip"))


SLOW = """
import sys, time
from holdfast.team import backup
from holdfast.ops import members as roster
from holdfast.ops import team
from holdfast.app import Holdfast
def show(done, of):
    print(done, flush=True)
    time.sleep(60)
from holdfast.ops import progress
progress.Bar.show = lambda self, done, of: show(done, of)
getattr(team, sys.argv[1])(Holdfast.open(), __import__("pathlib").Path(sys.argv[2]))
"""


@pytest.mark.parametrize("what", ["back_up", "restore"])
def test_killed_in_the_middle_it_leaves_nothing(
    app: Holdfast, other: Holdfast, tmp_path: Path, what: str
) -> None:
    fill(app, 3000)
    whole, part = tmp_path / "whole.zip", tmp_path / "part.zip"
    team.back_up(app, whole)
    asked, file = (app, part) if what == "back_up" else (other, whole)
    argv = [sys.executable, "-c", SLOW, what, str(file)]
    child = subprocess.Popen(argv, env={**os.environ, **asked.environ}, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline()  # the first piece is through
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert not part.exists()
    until = time.monotonic() + BUSY_S
    while True:  # the server notices that its client is gone
        try:
            assert not any(all_of(other).values())
            break
        except Unavailable:
            assert time.monotonic() < until
    assert team.restore(other, whole).rows["events"] == 3000


def test_one_that_stops_in_the_middle_is_not_waited_for(tmp_path: Path) -> None:
    own = Server(tmp_path / "pg")
    try:
        app = machine(tmp_path / "m", own.url)
        team.migrate(app)
        fill(app, 3000)
        store = PostgreSQL(own.url, timeout_s=3)
        paused = []

        def show(done: int, of: int) -> None:
            if not paused:
                paused.append(done)
                own.pause(True)

        with pytest.raises(Unavailable):
            backup.back_up(store, str(tmp_path / "b.zip"), show)
        assert paused
        assert not list(tmp_path.glob("*.zip")) + list(tmp_path.glob(".b*"))
    finally:
        own.pause(False)
        own.kill()


def test_what_the_server_does_in_silence_is_not_given_up(
    app: Holdfast, other: Holdfast, tmp_path: Path
) -> None:
    """It checks all keys of a table when its last row has come."""
    path = str(tmp_path / "kept.zip")
    Queue(PostgreSQL(app.config["store.url"])).add([Draft("one", P)], "ann")
    backup.back_up(PostgreSQL(app.config["store.url"]), path, lambda *_: None)
    url = other.config["store.url"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(5); RETURN NULL; END'; "
            "CREATE TRIGGER slow AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION slow()"
        )
    kept, _ = backup.restore(PostgreSQL(url, timeout_s=2), path, lambda *_: None)
    assert kept.rows["tasks"] == 1
