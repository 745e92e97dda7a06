"""A team's PostgreSQL that is down, killed, stopped, older, newer, or not for us."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, text, update

from holdfast.app import Holdfast
from holdfast.errors import BadInput, Unavailable
from holdfast.ops import tasks, team, upkeep
from holdfast.store import chains, migrations
from holdfast.store.clocks import moment
from holdfast.store.database import opened
from holdfast.store.holders import Holder
from holdfast.store.leases import end_claims
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import Queue
from holdfast.store.tables import SCHEMA
from holdfast.store.task import Draft, locked
from store.postgres import Server

ANN = Holder("ann")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """One that a test may do anything to."""
    made = Server(tmp_path)
    yield made
    made.pause(False)
    made.kill()


def machine(folder: Path, url: str) -> Holdfast:
    """A home of its own that shares the store."""
    environ = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder), "HOLDFAST_STORE_URL": url}
    return Holdfast.open(environ)


def test_what_one_machine_adds_another_does(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> None:
    here, there = machine(tmp_path / "a", server.url), machine(tmp_path / "b", server.url)
    number = tasks.add(here, "do it over there")[0].number
    assert tasks.claim(there, holder="ben").task.number == number
    tasks.finish(there, number, holder="ben", result="done over there")
    assert tasks.wait(here, number, seconds=0).task.result == "done over there"
    assert not (tmp_path / "a/home/store.db").exists()
    assert "1 finished" in str(team.status(here))


def test_a_task_that_somebody_else_is_about_to_claim_is_passed_over_and_not_waited_for(
    postgresql: PostgreSQL, server: Server
) -> None:
    tasks = Queue(postgresql)
    first, second = tasks.add([Draft("one", "here"), Draft("two", "here")], "ann")
    with psycopg.connect(server.url) as other:
        other.execute("SELECT 1 FROM tasks WHERE number = %s FOR UPDATE", [first.number])
        claimed = tasks.claim(ANN, "here", None, 60)
    assert claimed is not None
    assert claimed.number == second.number


def _locked(number: int) -> Callable[[Connection], object]:
    return lambda connection: locked(connection, number)


@pytest.mark.parametrize(
    ("first", "other", "then"),
    [
        # A wait is renewed while its task is finished.
        (
            _locked(1),
            lambda store: _in(
                store, lambda connection: chains.wait(connection, moment(connection), "cat", 1)
            ),
            lambda connection: chains.forget(connection, task=1),
        ),
        # One who waits claims what another begins to wait for.
        (
            lambda connection: connection.execute(chains._ONE_BY_ONE),
            lambda store: Queue(store).wait(1, "ben", 0),
            _locked(1),
        ),
        # Of two claims each is for what the other ends.
        (_locked(1), lambda store: Queue(store).claim(Holder("ben"), "here", 1, 60), _locked(2)),
        # One whose holder died is at hand already.
        (
            _locked(1),
            lambda store: _in(
                store, lambda connection: end_claims(connection, moment(connection), [(1, 1)])
            ),
            _locked(2),
        ),
    ],
)
def test_nobody_waits_for_one_who_waits_for_him(
    postgresql: PostgreSQL,
    first: Callable[[Connection], object],
    other: Callable[[PostgreSQL], object],
    then: Callable[[Connection], object],
) -> None:
    tasks = Queue(postgresql)
    tasks.add([Draft("one", "here"), Draft("two", "here")], "ann")
    tasks.claim(ANN, "here", 2, 0.001)  # and over
    _in(postgresql, lambda connection: chains.wait(connection, moment(connection), "cat", 1))
    with ThreadPoolExecutor(1) as pool:
        with postgresql.writing() as connection:
            first(connection)
            meanwhile = pool.submit(other, postgresql)
            while not (meanwhile.done() or _somebody_waits(postgresql)):
                time.sleep(0.01)
            then(connection)
        meanwhile.result()


def test_two_who_died_while_they_waited_for_one_task_are_in_nobodys_way_who_finishes_it(
    postgresql: PostgreSQL,
) -> None:
    tasks = Queue(postgresql)
    drafts = [Draft("waited for", "here"), Draft("of dan", "here"), Draft("of eve", "here")]
    waited, *held = [task.number for task in tasks.add(drafts, "ann")]
    for holder, number in zip(("dan", "eve"), held, strict=True):
        tasks.claim(Holder(holder), "here", number, 60)
        _in(postgresql, lambda connection, holder=holder: _waits(connection, holder, waited))
    died = [(number, 1) for number in held]
    with ThreadPoolExecutor(1) as pool:
        with postgresql.writing() as connection:
            locked(connection, waited)
            chains.forget(connection, task=waited, holder="eve")  # the engine has an order of its own
            ending = pool.submit(_in, postgresql, lambda other: end_claims(other, moment(other), died))
            while not (ending.done() or _somebody_waits(postgresql)):
                time.sleep(0.01)
            chains.forget(connection, task=waited)
        ending.result()
    assert [tasks.task(number).state for number in held] == ["open", "open"]


def test_who_died_waits_for_nothing_any_more(postgresql: PostgreSQL) -> None:
    tasks = Queue(postgresql)
    waited, held = [one.number for one in tasks.add([Draft("one", "here"), Draft("two", "here")], "ann")]
    tasks.claim(Holder("dan"), "here", held, 60)
    _in(postgresql, lambda connection: _waits(connection, "dan", waited))
    assert [(link.who, link.task) for link in tasks.chain(None)] == [("dan", waited)]
    _in(postgresql, lambda connection: end_claims(connection, moment(connection), [(held, 1)]))
    assert tasks.chain(None) == []


def _waits(connection: Connection, holder: str, task: int) -> None:
    chains.wait(connection, moment(connection), holder, task)


def _in(store: PostgreSQL, done: Callable[[Connection], object]) -> None:
    with store.writing() as connection:
        done(connection)


def _somebody_waits(store: PostgreSQL) -> bool:
    with store.reading() as connection:
        return bool(connection.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))


def test_killed_and_brought_back_nothing_acknowledged_is_missing(own: Server) -> None:
    store = PostgreSQL(own.url)
    store.bring_up()
    queue = Queue(store)
    for _ in range(3):
        number = queue.add([Draft("do it", "here")], "ann")[0].number
        queue.claim(ANN, "here", number, 60)
        own.kill()
        with pytest.raises(Unavailable, match="cannot be used now"):
            queue.finish(number, "ann", "")
        own.start()
        assert queue.task(number).holder == "ann"
        assert queue.finish(number, "ann", "").state == "finished"
    assert len(queue.tasks("here", "finished", 0)) == 3


def test_killed_in_the_middle_of_a_transaction_there_is_none_of_it(own: Server) -> None:
    store = PostgreSQL(own.url)
    store.bring_up()

    def half() -> None:
        with store.writing() as connection:
            connection.execute(update(SCHEMA).values(by="nobody"))
            own.kill()

    with pytest.raises(Unavailable):
        half()
    own.start()
    with store.reading() as connection:
        assert connection.execute(SCHEMA.select()).one().by != "nobody"


def test_one_that_was_stopped_is_not_waited_for(own: Server) -> None:
    store = PostgreSQL(own.url)
    store.bring_up()
    number = Queue(store).add([Draft("do it", "here")], "ann")[0].number
    store.timeout_s = 0.5
    own.pause(True)
    with pytest.raises(Unavailable):
        Queue(store).task(number)
    own.pause(False)
    store.timeout_s = 10
    assert Queue(store).task(number).state == "open"


def test_one_that_is_down_is_a_state_that_people_see(tmp_path: Path) -> None:
    app = machine(tmp_path, f"postgresql://ann:hunter22@/team?host={tmp_path}")
    with pytest.raises(Unavailable) as refused:
        tasks.list_all(app)
    found = team.status(app)
    checks = [check for check in upkeep.status(app).checks if check.name == "store"]
    assert (found.ok, found.exit_code) == (False, 1)
    assert [check.ok for check in checks] == [False]
    assert "hunter22" not in f"{refused.value}{found}{checks}"


def test_a_wrong_password_is_said_and_not_shown(own: Server) -> None:
    with psycopg.connect(own.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE ann LOGIN PASSWORD 'right'")
    (own.data / "pg_hba.conf").write_text("local all team trust\nlocal all all scram-sha-256\n")
    own.stop()
    own.start()
    right = own.url.replace("team@", "ann:right@")
    with PostgreSQL(right).reading() as connection:
        assert connection.scalar(text("SELECT current_user")) == "ann"
    store = PostgreSQL(own.url.replace("team@", "ann:wrong-one@"))
    with pytest.raises(Unavailable, match="password authentication failed") as refused:
        store.check()
    assert "wrong-one" not in str(refused.value)


def test_an_older_one_is_brought_up_by_whoever_is_asked_to(
    postgresql: PostgreSQL, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = machine(tmp_path, server.url)
    with postgresql.writing() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    with pytest.raises(BadInput, match="holdfast team init"):
        opened(app)
    assert (team.migrate(app).found, team.migrate(app).found) == (0, migrations.NEWEST)
    steps = (*migrations.STEPS, "CREATE TABLE later (what TEXT)")
    monkeypatch.setattr(migrations, "STEPS", steps)
    monkeypatch.setattr(migrations, "NEWEST", len(steps))
    with pytest.raises(BadInput, match="holdfast team migrate"):
        opened(app)
    assert team.migrate(app).schema == len(steps)


def test_a_newer_one_is_refused(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> None:
    with postgresql.writing() as connection:
        connection.execute(update(SCHEMA).values(version=migrations.NEWEST + 1))
    for asked in (opened, team.migrate):
        with pytest.raises(BadInput, match="newer holdfast"):
            asked(machine(tmp_path, server.url))


def test_of_two_who_bring_it_up_at_once_one_does(postgresql: PostgreSQL, server: Server) -> None:
    with postgresql.writing() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    found: list[tuple[int, int]] = []
    stores = [PostgreSQL(server.url) for _ in range(4)]
    threads = [threading.Thread(target=lambda one=one: found.append(one.bring_up())) for one in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(0, migrations.NEWEST)] + [(migrations.NEWEST, migrations.NEWEST)] * 3


@pytest.mark.parametrize(
    "url", ["mysql://x:hunter22@y/z", "postgresql://x:hunter22@y:port/z", "nonsense-hunter22"]
)
def test_an_address_that_is_none_is_refused_without_repeating_it(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadInput, match=r"store\.url") as refused:
        opened(machine(tmp_path, url))
    assert "hunter22" not in str(refused.value)


def test_without_a_team_its_commands_say_how_to_have_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="team join postgresql:"):
        team.status(machine(tmp_path, ""))


def test_no_hook_loads_a_database() -> None:
    code = "import sys, holdfast.hook; print([n for n in sys.modules if 'sql' in n or 'psycopg' in n])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"
