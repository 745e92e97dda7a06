"""Whatever is wrong with a team's PostgreSQL, or with the way to it: said in words, in bounded time."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, text

from holdfast.app import Holdfast
from holdfast.errors import BadInput, Forbidden, Unavailable
from holdfast.install import parts
from holdfast.ops import members, team, upkeep
from holdfast.store import migrations
from holdfast.store.holders import Holder
from holdfast.store.postgres import PostgreSQL, _address
from holdfast.store.queue import Queue
from holdfast.store.task import Draft
from store.conftest import BUSY_S
from store.postgres import Server
from teammate import until


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path, "max_connections=8", "superuser_reserved_connections=1")
    yield made
    made.pause(False)
    made.kill()


def machine(folder: Path, url: str, **more: str) -> Holdfast:
    environ = {
        "HOLDFAST_HOME": str(folder / "home"),
        "HOME": str(folder),
        "HOLDFAST_STORE_URL": url,
        **more,
    }
    return Holdfast.open(environ)


class Proxy:
    """Before a server's socket; hands everything on, late or not at all where it is told to."""

    def __init__(self, folder: Path, real: str) -> None:
        self.real, self.swallows, self.delay_s = real, threading.Event(), 0.0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.5432")
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(self.real)
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                time.sleep(self.delay_s)
                if not self.swallows.is_set():
                    target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


@pytest.mark.parametrize("when", ["before it is connected to", "in the middle"])
def test_a_network_that_swallows_everything_is_not_waited_for(
    postgresql: PostgreSQL, server: Server, tmp_path_factory: pytest.TempPathFactory, when: str
) -> None:
    folder = tmp_path_factory.mktemp("p")
    proxy = Proxy(folder, f"{server.folder}/.s.PGSQL.5432")
    store = PostgreSQL(f"postgresql://team@/postgres?host={folder}", timeout_s=BUSY_S)
    if when == "in the middle":
        Queue(store).add([Draft("do it", "here")], "ann")  # the way is there
    proxy.swallows.set()
    store.timeout_s = 1
    with pytest.raises(Unavailable, match="cannot be used now"):
        Queue(store).tasks("here", None, 0)
    proxy.swallows.clear()
    store.timeout_s = BUSY_S
    assert len(Queue(store).tasks("here", None, 0)) == (when == "in the middle")
    proxy.listener.close()
    store.close()


def test_a_slow_network_costs_time_and_one_too_slow_is_given_up(
    postgresql: PostgreSQL, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("p")
    proxy = Proxy(folder, f"{server.folder}/.s.PGSQL.5432")
    store = PostgreSQL(f"postgresql://team@/postgres?host={folder}", timeout_s=BUSY_S)
    proxy.delay_s = 0.05
    Queue(store).add([Draft("do it", "here")], "ann")
    claimed = Queue(store).claim(Holder("ann"), "here", None, 60)
    assert claimed is not None
    Queue(store).finish(claimed.number, "ann", "done")
    proxy.delay_s = 30.0
    store.timeout_s = 2
    with pytest.raises(Unavailable, match="cannot be used now"):
        Queue(store).tasks("here", None, 0)
    proxy.delay_s = 0.0
    store.timeout_s = BUSY_S
    (task,) = Queue(store).tasks("here", None, 0)
    assert task.result == "done"
    proxy.listener.close()
    store.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"database": "nowhere"}, 'database "nowhere" does not exist; mend store.url'),
        ({"username": "nobody"}, 'role "nobody" does not exist; mend store.url'),
    ],
)
def test_what_is_not_there_is_named_with_what_to_do(
    postgresql: PostgreSQL, server: Server, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    url = make_url(server.url).set(**change).render_as_string(hide_password=False)  # type: ignore[arg-type]
    app = machine(tmp_path, url)
    found = team.status(app)
    assert (found.ok, said in str(found)) == (False, True), str(found)
    for asked in (team.migrate, members.member_list):
        with pytest.raises(Unavailable, match="does not exist"):
            asked(app)
    (check,) = (check for check in upkeep.status(app).checks if check.name == "store")
    assert not check.ok
    assert list(parts.team(app)) == []


def test_a_member_cannot_bring_it_up_and_is_told_who_can(own: Server, tmp_path: Path) -> None:
    with psycopg.connect(own.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE ann LOGIN")
    app = machine(tmp_path, own.url.replace("team@", "ann@"))
    with pytest.raises(Forbidden, match="only the owner"):
        team.migrate(app)
    assert "team init" in str(team.status(app))


def test_more_at_once_than_connections_wait_and_then_are_told(
    postgresql: PostgreSQL, server: Server
) -> None:
    store = PostgreSQL(server.url, timeout_s=BUSY_S, pool=2)
    store.engine.pool._timeout = 0.2  # type: ignore[attr-defined]
    held, free = threading.Barrier(3, timeout=BUSY_S), threading.Event()

    def holds() -> None:
        with store.reading() as connection:
            connection.execute(text("SELECT 1"))
            held.wait()
            free.wait()

    threads = [threading.Thread(target=holds) for _ in range(2)]
    for thread in threads:
        thread.start()
    held.wait()
    with pytest.raises(Unavailable, match=r"all connections of this process are in use \(store\.pool\)"):
        Queue(store).tasks("here", None, 0)
    free.set()
    for thread in threads:
        thread.join()
    assert Queue(store).tasks("here", None, 0) == []
    store.close()


def test_many_threads_share_two_connections(postgresql: PostgreSQL, server: Server) -> None:
    with psycopg.connect(server.url) as connection:
        began = connection.execute("SELECT clock_timestamp()").fetchone()
    store = PostgreSQL(server.url, timeout_s=BUSY_S, pool=2)
    done: list[object] = []

    def adds() -> None:
        try:
            done.extend(Queue(store).add([Draft("do it", "here")], "ann"))
        except Exception as problem:
            done.append(problem)

    threads = [threading.Thread(target=adds) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Queue(store).tasks("here", None, 0)) == 24, done
    with psycopg.connect(server.url) as connection:
        ours = "application_name = 'holdfast' AND backend_start > %s"
        asked = f"SELECT count(*) FROM pg_stat_activity WHERE {ours}"
        assert connection.execute(asked, began).fetchone() in [(1,), (2,)]
    store.close()


def test_a_server_with_no_room_for_more_says_so(own: Server, tmp_path: Path) -> None:
    store = PostgreSQL(own.url)
    store.bring_up()
    store.close()
    taken = [psycopg.connect(own.url, autocommit=True)]
    try:
        taken[0].execute("CREATE ROLE ann LOGIN")
        clients = "pg_stat_activity WHERE backend_type = 'client backend'"
        others = f"SELECT 1 FROM {clients} AND pid != pg_backend_pid()"
        until(lambda: not taken[0].execute(others).fetchone())  # who hangs up is not gone at once
        with suppress(psycopg.OperationalError):
            while len(taken) < 20:
                taken.append(psycopg.connect(own.url.replace("team@", "ann@")))
        found = team.status(machine(tmp_path, own.url.replace("team@", "ann@")))
        assert "it has more clients than it takes" in str(found)
    finally:
        for connection in taken:
            connection.close()


def test_an_extension_that_is_missing_is_named_and_nothing_is_half(
    own: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = machine(tmp_path, own.url)
    team.migrate(app)
    steps = (
        *migrations.STEPS,
        {"postgresql": "CREATE TABLE half (what TEXT);\nCREATE EXTENSION vectorish"},
    )
    with monkeypatch.context() as changed:
        changed.setattr(migrations, "STEPS", steps)
        changed.setattr(migrations, "NEWEST", len(steps))
        with pytest.raises(Unavailable, match='"vectorish" is not available; install it on the server'):
            team.migrate(app)
    found = team.status(app)
    assert (found.ok, found.schema) == (True, migrations.NEWEST)
    with psycopg.connect(own.url) as connection:
        assert connection.execute("SELECT to_regclass('half')").fetchone() == (None,)


def test_a_server_without_pgvector_is_said_to_be_one(tmp_path: Path) -> None:
    """A copy of the server from which what describes the extension was taken away."""
    whole = Server(tmp_path / "whole")
    whole.kill()
    install = whole.bin.parent
    shutil.copytree(install, tmp_path / "install", symlinks=True)
    controls = list((tmp_path / "install").rglob("vector.control"))
    assert controls
    for control in controls:
        control.unlink()
    lacking = Server.__new__(Server)
    lacking.__dict__.update(whole.__dict__, bin=tmp_path / "install/bin")
    lacking.start()
    try:
        app = machine(tmp_path, lacking.url)
        team.migrate(app)
        assert "no pgvector" in str(team.status(app))
        with (
            psycopg.connect(lacking.url) as connection,
            pytest.raises(psycopg.Error, match="not available"),
        ):
            connection.execute("CREATE EXTENSION vector")
    finally:
        lacking.kill()


KILLED = """
import sys, time
from sqlalchemy import event
from holdfast.store import migrations
from holdfast.store.holders import Holder
from holdfast.store.postgres import PostgreSQL
store = PostgreSQL(sys.argv[1])
@event.listens_for(store.engine, "before_cursor_execute")
def stop(connection, cursor, statement, *_):
    if "CREATE TABLE members" in statement:
        print("in the middle", flush=True)
        time.sleep(60)
store.bring_up()
"""


def test_killed_in_the_middle_of_bringing_it_up_it_is_as_before(own: Server, tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, own.url], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "in the middle\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    app = machine(tmp_path, own.url)
    assert "schema 0" in str(team.status(app))
    with psycopg.connect(own.url) as connection:
        assert connection.execute("SELECT to_regclass('tasks')").fetchone() == (None,)
    assert (team.migrate(app).found, team.migrate(app).found) == (0, migrations.NEWEST)


def test_brought_up_from_two_machines_at_once_it_is_brought_up_once(own: Server, tmp_path: Path) -> None:
    code = (
        "import sys; from holdfast.store import postgres as p; print(p.PostgreSQL(sys.argv[1]).bring_up())"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, own.url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = sorted(child.communicate(timeout=120)[0].strip() for child in children)
    newest = migrations.NEWEST
    assert said == [f"(0, {newest})", *[f"({newest}, {newest})"] * 2]


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://a@db.example.org/t", "require"),
        ("postgresql://a@db.example.org/t?sslmode=verify-full", "verify-full"),
        ("postgresql://a@192.0.2.7/t", "require"),
        ("postgresql://a@/t?host=db.example.org", "require"),
        ("postgresql://a@/t?host=127.0.0.1,db.example.org", "require"),
        ("postgresql://a@localhost/t", None),
        ("postgresql://a@127.0.0.1/t", None),
        ("postgresql://a@[::1]/t", None),
        ("postgresql://a@/t?host=/run/postgresql", None),
        ("postgresql://a@/t", None),
    ],
)
def test_beyond_this_machine_it_is_asked_over_tls(url: str, mode: str | None) -> None:
    assert _address(url).query.get("sslmode") == mode


@pytest.mark.parametrize(
    ("url", "environ", "mode"),
    [
        ("postgresql://a@/t", {"PGHOST": "db.example.org"}, "require"),
        ("postgresql://a@/t", {"PGHOST": "/run/postgresql"}, None),
        ("postgresql://a@/t", {"PGSERVICE": "team"}, "require"),
        ("postgresql://a@localhost/t", {"PGHOST": "db.example.org", "PGSERVICE": "team"}, None),
        ("postgresql://a@localhost/t", {"PGHOSTADDR": "192.0.2.1"}, "require"),
    ],
)
def test_a_host_that_the_environment_names_is_one_of_another_machine_too(
    monkeypatch: pytest.MonkeyPatch, url: str, environ: dict[str, str], mode: str | None
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert _address(url).query.get("sslmode") == mode


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer"])
def test_who_asks_for_less_is_refused(mode: str) -> None:
    with pytest.raises(BadInput, match="sslmode"):
        _address(f"postgresql://a:hunter22@db.example.org/t?sslmode={mode}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://a:hunter22@localhost/t?host=db.example.org",
        "postgresql://a:hunter22@localhost/t?hostaddr=192.0.2.7",
        "postgresql://a:hunter22@localhost/t?service=elsewhere",
        "postgresql://a@localhost/t?password=hunter22",
        "postgresql://a@localhost/t?sslpassword=hunter22",
        "postgresql://localhost/t?user=hunter22",
    ],
)
def test_an_address_that_says_another_host_or_a_password_behind_its_back_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="before the question mark") as refused:
        _address(url)
    assert "hunter22" not in str(refused.value)


def test_doctor_says_as_whom_a_machine_asks(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> None:
    app = machine(tmp_path, server.url)
    assert [(check.ok, "no members yet" in check.what) for check in parts.team(app)] == [(True, True)]
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS ann")
    made = members.member_add(app, "ann", project=("example.org/p",))
    (check,) = parts.team(app)
    assert (check.ok, "no policy limits" in check.what, "member add" in check.fix) == (False, True, True)
    hers = machine(tmp_path / "ann", made.url)
    assert [check.ok for check in parts.team(hers)] == [True]
    assert list(parts.team(machine(tmp_path / "none", ""))) == []
    members.member_remove(app, "ann")
