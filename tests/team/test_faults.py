"""A store that is down, killed, paused or full, sent to twice or by two: everything arrives, once."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, text

from holdfast.disk import index, outbox
from holdfast.store import machine
from holdfast.store.named import Projects
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import CHECKPOINTS, EVENTS
from holdfast.team import outgoing, sync
from holdfast.team.outgoing import Outgoing
from hooks import own_mounts
from repository import hang
from store.postgres import Server
from teammate import Machine


def numbers(store: PostgreSQL) -> list[int]:
    """Of the notes that arrived, in the order in which they were made."""
    with store.reading() as connection:
        rows = connection.execute(
            select(text("data::json->>'number'")).select_from(EVENTS).where(EVENTS.c.event == "test.noted")
        )
        return sorted(int(row[0]) for row in rows)


def begun(machine: Machine) -> None:
    machine.round()
    machine.begin()


def test_down_from_the_start_is_told_and_nothing_is_lost(
    ann: Machine, engine: Server, postgresql: PostgreSQL
) -> None:
    engine.kill()
    first = ann.round()
    assert "cannot be used now" in first.trouble
    ann.begin()
    taken = ann.take()
    ann.note(1)
    made = ann.round()
    assert made.waiting >= 3
    said = ann.tried("status").stdout
    assert "wait for the team's store" in said
    assert "cannot be used now" in said
    engine.start()
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == [1]
    with postgresql.reading() as connection:
        assert list(connection.scalars(select(CHECKPOINTS.c.uid))) == [taken["uid"]]
    assert "was told everything" in ann.tried("status").stdout


def test_killed_again_and_again_in_the_middle_everything_arrives_once(
    ann: Machine, engine: Server, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(ann)
    for number in range(2000):
        ann.note(number)
    monkeypatch.setattr(outgoing, "_TOGETHER", 50)
    written, write = [], Outgoing._write

    def killed(self: Outgoing, *given: Any) -> int:
        """Every seventh time, with the rows written and not committed."""
        written.append(write(self, *given))
        if len(written) % 7 == 0:
            engine.kill()
        return written[-1]

    monkeypatch.setattr(Outgoing, "_write", killed)
    for _ in range(3):
        assert "cannot be used now" in ann.round().trouble
        engine.start()
    monkeypatch.setattr(Outgoing, "_write", write)
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == list(range(2000))


def test_paused_it_is_given_up_and_a_hook_does_not_notice(
    ann: Machine, engine: Server, postgresql: PostgreSQL
) -> None:
    begun(ann)
    engine.pause(True)
    ann.hook("UserPromptSubmit")
    ann.note(7)
    made = ann.round()
    assert made.trouble
    ann.hook("PostToolBatch")
    assert ann.round().waiting
    engine.pause(False)
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == [7]


class OnSmallDisk(Server):
    """Its data are on a disk of their own, of so many MB."""

    def start(self) -> None:
        away = ("unshare", "-U", "--map-user=1000", "--map-group=1000") if self._before else ()
        place = f"mount -t tmpfs -o size=110m none {self.data} && cp -a {self.data}.made/. {self.data}/"
        if not Path(f"{self.data}.made").exists():
            shutil.move(self.data, f"{self.data}.made")
            self.data.mkdir(mode=0o700)
        self._before = [*own_mounts(), "sh", "-c", f'{place} && exec "$@"', "sh", *away]
        super().start()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Server]:
    if not own_mounts():
        pytest.skip("mounting is not allowed here")
    made = OnSmallDisk(tmp_path / "pg", "max_wal_size=32MB", "min_wal_size=32MB", "shared_buffers=4MB")
    yield made
    made.stop()


def fill(connection: psycopg.Connection, at_once: int) -> None:
    """Until nothing more goes in."""
    try:
        while True:
            connection.execute(
                "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, %s)", [at_once]
            )
    except psycopg.errors.DiskFull:
        pass


def test_full_it_says_so_and_goes_on_when_there_is_room(tmp_path: Path, small: Server) -> None:
    store = PostgreSQL(small.url)
    store.bring_up()
    ann = Machine(tmp_path / "ann", small.url)
    begun(ann)
    with psycopg.connect(small.url, autocommit=True) as connection:
        connection.execute("CREATE UNLOGGED TABLE filler (what TEXT)")
        for rows_at_once in (500, 1):
            fill(connection, rows_at_once)
        for number in range(300):
            ann.note(number)
        made = ann.round()
        assert "No space left" in made.trouble
        assert made.waiting >= 300
        connection.execute("DROP TABLE filler")
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(store) == list(range(300))
    store.close()


def test_the_same_outbox_sent_twice_changes_nothing(
    ann: Machine, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    begun(ann)
    ann.take()
    ann.say("board", "post", "the gate is open")
    for number in range(20):
        ann.note(number)
    outbox.seal(ann.app.home)
    shutil.copytree(ann.home / "outbox", tmp_path / "copy")
    ann.round()
    before = rows(postgresql)
    for path in (tmp_path / "copy").glob("0*.jsonl"):
        shutil.copy(path, ann.home / "outbox")
    assert ann.round().sent
    assert rows(postgresql) == before


def rows(store: PostgreSQL) -> dict[str, list[tuple[object, ...]]]:
    with store.reading() as connection:
        tables = ("checkpoints", "events", "messages", "marks")
        return {
            name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}")))) for name in tables
        }


def test_a_week_without_the_store_then_everything_arrives_once_and_in_order(
    ann: Machine, engine: Server, postgresql: PostgreSQL
) -> None:
    begun(ann)
    engine.kill()
    taken = []
    for day in range(7):
        session = f"day{day}"
        ann.begin(session)
        taken.append(ann.take(session)["uid"])
        for number in range(50):
            ann.note(100 * day + number, session)
        made = ann.round()
        assert made.trouble
    assert len(outbox.segments(ann.app.home)) >= 7
    engine.start()
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == [100 * day + number for day in range(7) for number in range(50)]
    with postgresql.reading() as connection:
        assert sorted(connection.scalars(select(CHECKPOINTS.c.uid))) == sorted(taken)


def test_a_working_tree_that_is_gone_by_then_is_still_known(
    ann: Machine, engine: Server, postgresql: PostgreSQL
) -> None:
    begun(ann)
    engine.kill()
    place = ann.cloned("other")
    ann.begin("s2", place)
    ann.note(1, "s2")
    ann.round()
    shutil.rmtree(place)
    engine.start()
    ann.round()
    assert numbers(postgresql) == [1]


def test_what_is_of_a_project_of_which_git_does_not_tell_waits(
    ann: Machine, postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(ann)
    ann.round()
    ann.begin("s2", ann.cloned("other"))
    ann.note(1, "s2")
    ann.note(2)
    taken = ann.take("s2")
    with monkeypatch.context() as slowly:
        hang(slowly, tmp_path / "bin")
        for _ in range(2):
            made = ann.round(everything=True)
            assert "git does not say" in made.trouble
            assert made.waiting >= 2
            assert numbers(postgresql) == [2]
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == [1, 2]
    assert standing(postgresql).keys() == {taken["uid"]}


def test_what_waits_for_git_and_is_gone_meanwhile_is_gone_for_the_team(
    ann: Machine, postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(ann)
    ann.round()
    ann.begin("s2", ann.cloned("other"))
    taken = ann.take("s2")
    with monkeypatch.context() as slowly:
        hang(slowly, tmp_path / "bin")
        assert ann.round().waiting
        index.drop(ann.app.home, [taken["uid"]], Path(taken["path"]).unlink)
        assert ann.round().waiting
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert standing(postgresql) == {}


def test_of_two_who_send_one_does_and_if_both_did_it_would_be_there_once(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    for number in range(3000):
        ann.note(number)
    senders = [ann.started("sync", "--json", stdout=subprocess.PIPE) for _ in range(3)]
    for sender in senders:
        sender.communicate(timeout=120)
    assert ann.round().waiting == 0
    assert numbers(postgresql) == list(range(3000))

    for number in range(3000, 4000):
        ann.note(number)
    outbox.seal(ann.app.home)
    lines = [line for path in outbox.segments(ann.app.home) for line in outbox.lines(path)[0]]

    def send() -> None:
        """Without the lock."""
        Outgoing(ann.app, PostgreSQL(ann.url), machine.this(ann.app), Projects(ann.app)).send(lines)

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(postgresql) == list(range(4000))


def test_a_sender_that_is_killed_leaves_what_it_had_not_sent(ann: Machine, postgresql: PostgreSQL) -> None:
    begun(ann)
    for number in range(4000):
        ann.note(number)
    for delay in (0.9, 1.1, 1.3):
        sender = ann.started("sync", stdout=subprocess.DEVNULL)
        time.sleep(delay)
        sender.kill()
        sender.wait()
    assert ann.round().waiting == 0
    assert numbers(postgresql) == list(range(4000))


def test_a_sender_that_removes_before_it_has_committed_is_found_out(
    ann: Machine, engine: Server, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what it had not got acknowledged, it forgets."""
    begun(ann)
    ann.note(1)

    def careless(self: Outgoing, lines: list[dict], compared: bool = False) -> None:
        for path in outbox.segments(ann.app.home):
            outbox.remove(path)
        real(self, lines, compared)

    real = Outgoing.send
    monkeypatch.setattr(Outgoing, "send", careless)
    engine.pause(True)
    monkeypatch.setattr(sync, "opened", lambda app, **_: PostgreSQL(ann.url))
    assert ann.round().trouble
    engine.pause(False)
    ann.round()
    assert numbers(postgresql) == []


def test_what_the_store_refuses_is_set_aside_and_holds_up_nothing(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    ann.begin("bad")
    with postgresql.writing() as connection:
        connection.execute(text("ALTER TABLE events ADD CONSTRAINT no CHECK (session <> 'bad')"))
    for number in range(10):
        ann.note(number, "bad" if number == 4 else "s1")
    made = ann.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert numbers(postgresql) == [n for n in range(10) if n != 4]
    assert "refused" in ann.tried("status").stdout
    with postgresql.writing() as connection:
        connection.execute(text("ALTER TABLE events DROP CONSTRAINT no"))
    ann.round(everything=True)
    assert numbers(postgresql) == list(range(10))
    assert "refused" not in ann.tried("status").stdout


def test_a_mark_that_was_refused_is_not_compared_as_a_new_one(ann: Machine) -> None:
    from holdfast.store.database import opened
    from holdfast.store.named import Projects
    from holdfast.team import compare
    from holdfast.team.outgoing import refused

    begun(ann)
    said = ann.say("board", "post", "who dredges?", "--type", "request", "--to", "all")
    ann.round()
    ann.say("board", "ack", said["id"], "I do", "--session", "s1")
    outbox.seal(ann.app.home)
    (segment,) = outbox.segments(ann.app.home)
    Path(segment).rename(refused(ann.app.home))
    app = ann.app
    owed = compare.owed(app, opened(app), machine.this(app), Projects(app))
    assert [line["kind"] for line in owed] == [outbox.MESSAGE]


def test_what_the_outbox_lost_is_found_by_comparing(ann: Machine, postgresql: PostgreSQL) -> None:
    begun(ann)
    taken = ann.take()
    ann.say("board", "post", "the gate is open")
    for path in (ann.home / "outbox").glob("*.jsonl"):
        path.unlink()  # a power cut took it
    assert ann.round().sent == 0
    assert rows(postgresql)["checkpoints"] == []
    assert ann.round(everything=True).sent == 2
    with postgresql.reading() as connection:
        assert list(connection.scalars(select(CHECKPOINTS.c.uid))) == [taken["uid"]]
    assert len(rows(postgresql)["messages"]) == 1


def standing(store: PostgreSQL) -> dict[str, str]:
    """uid -> what it says, of the checkpoints that are not gone."""
    with store.reading() as connection:
        found = connection.execute(select(CHECKPOINTS).where(CHECKPOINTS.c.gone_at == 0))
        return {row.uid: row.body for row in found}


def test_an_index_that_is_lost_takes_no_checkpoint_from_the_team(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    said = Path(ann.take()["path"]).read_text()
    ann.round()
    before = standing(postgresql)
    assert list(before.values()) == [said]
    Path(ann.app.home.index).unlink()
    ann.round(everything=True)
    assert standing(postgresql) == before


def test_what_was_removed_here_is_gone_there_also_where_the_outbox_did_not_say_so(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    """As the index says it; and, where that was made anew, as the files do."""
    begun(ann)
    pruned, removed, kept = ann.take(), ann.take(), ann.take()
    ann.round()
    index.drop(ann.app.home, [pruned["uid"]], lambda: None)
    (ann.home / "outbox" / "now.jsonl").unlink()
    Path(removed["path"]).unlink()
    ann.round(everything=True)
    assert standing(postgresql).keys() == {removed["uid"], kept["uid"]}
    Path(pruned["path"]).unlink()
    ann.say("checkpoint", "repair")
    ann.round(everything=True)
    assert standing(postgresql).keys() == {kept["uid"]}


@pytest.mark.parametrize("how", ["not mounted", "damaged"])
def test_what_cannot_be_read_here_is_not_gone(
    ann: Machine, postgresql: PostgreSQL, tmp_path: Path, how: str
) -> None:
    begun(ann)
    path = Path(ann.take()["path"])
    ann.round()
    before = standing(postgresql)
    if how == "damaged":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.parent.rename(tmp_path / "elsewhere")
    ann.say("checkpoint", "repair")
    assert index.load_all(ann.app.home).entries == {}
    ann.round(everything=True)
    assert standing(postgresql) == before


def test_what_the_store_was_told_is_gone_and_is_here_comes_back(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    ann.take()
    ann.round()
    before = standing(postgresql)
    outbox.put(ann.app.home, outbox.GONE, {}, *before)
    ann.round()
    assert standing(postgresql) == {}
    ann.round(everything=True)
    assert standing(postgresql) == before


def test_a_line_that_could_not_be_written_is_made_good_without_being_asked(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    taken = ann.take()
    for path in (ann.home / "outbox").glob("*.jsonl"):
        path.unlink()
    (ann.home / "outbox" / "missed").touch()
    ann.round()
    with postgresql.reading() as connection:
        assert list(connection.scalars(select(CHECKPOINTS.c.uid))) == [taken["uid"]]


def test_a_store_that_was_never_made_is_told_so(tmp_path: Path, server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bare")
        connection.execute("CREATE DATABASE bare")
    ann = Machine(tmp_path / "ann", server.url.replace("/postgres?", "/bare?"))
    made = ann.round()
    assert "holdfast team init" in made.trouble
    ann.begin()
    ann.note(1)
    assert ann.round().waiting


def test_a_line_that_cannot_be_read_is_made_good_by_the_next_round(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    taken = ann.take()
    now = ann.home / "outbox" / "now.jsonl"
    now.write_bytes(now.read_bytes().replace(b'"kind":"checkpoint"', b'"kind":"chequepoint"'))
    sync.round(ann.app, only_send=True)
    assert rows(postgresql)["checkpoints"] == []
    ann.round()
    with postgresql.reading() as connection:
        assert list(connection.scalars(select(CHECKPOINTS.c.uid))) == [taken["uid"]]
    assert "cannot be read" in ann.tried("events", "--kind", "degraded.team").stdout
