"""A service that a team shares: real, over TLS, with a real PostgreSQL; two members and who else comes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from sqlalchemy import select, text, update

from door import JSON, Answer, Service, _read, attacks, request
from holdfast.clock import new_id, now
from holdfast.disk import index
from holdfast.errors import NotFound
from holdfast.memory.postgres import Postgres
from holdfast.memory.shelf import Item
from holdfast.ops import shared as operations
from holdfast.ops.registry import READS, SHARED, WRITES, everything
from holdfast.ops.shared import Desk
from holdfast.store import catalogue, happened, migrations
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import TASKS, TOKENS
from holdfast.team import members, tokens
from store.conftest import postgresql, server
from store.postgres import Server

__all__ = ["postgresql", "server"]
P, Q = "example.org/p", "example.org/q"
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3lM6"


class Shared(NamedTuple):
    process: subprocess.Popen[str]
    port: int
    trust: ssl.SSLContext
    home: Path
    ann: str
    ben: str

    def ask(self, method: str, path: str, token: str, body: object = None) -> tuple[int, Any]:
        wire = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.trust)
        data = None if body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {token}", **({JSON[0]: JSON[1]} if data else {})}
        try:
            wire.request(method, path, data, headers)
            answer = wire.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            wire.close()

    def raw(self, data: bytes) -> Answer:
        with (
            socket.create_connection(("127.0.0.1", self.port), 30) as plain,
            self.trust.wrap_socket(plain, server_hostname="127.0.0.1") as wire,
        ):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                wire.sendall(data)
            try:
                return _read(wire.makefile("rb"), data.startswith(b"HEAD"))
            except (ConnectionResetError, TimeoutError, ssl.SSLError):
                return Answer(0, b"", b"")


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=team"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:TRUE"]
    argv = ["openssl", *words.split(), *names, "-keyout", key, "-out", cert]
    subprocess.run(argv, check=True, capture_output=True)
    return cert, key


def environ(home: Path, url: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**ours, "HOLDFAST_HOME": str(home), "HOME": str(home.parent), "HOLDFAST_STORE_URL": url}


@contextlib.contextmanager
def serving(home: Path, url: str, pair: tuple[Path, Path], **more: str) -> Iterator[Shared]:
    store = PostgreSQL(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS ann; DROP ROLE IF EXISTS ben")
    made = []
    for who, project in (("ann", P), ("ben", Q)):
        members.add(store, who, [project])
        made.append(tokens.add(store, who, 1).token)
    store.close()
    argv = [sys.executable, "-m", "holdfast", "serve", "--team", "--port", "0"]
    argv += ["--cert", str(pair[0]), "--key", str(pair[1])]
    process = subprocess.Popen(argv, env={**environ(home, url), **more}, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        said = process.stdout.readline()
        found = re.match(r"https://127\.0\.0\.1:(\d+) ", said)
        assert found, said
        trust = ssl.create_default_context(cafile=str(pair[0]))
        yield Shared(process, int(found[1]), trust, home, *made)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@pytest.fixture
def shared(
    postgresql: PostgreSQL, server: Server, tmp_path: Path, pair: tuple[Path, Path]
) -> Iterator[Shared]:
    with serving(tmp_path / "home", server.url, pair) as running:
        yield running


def test_what_is_shared_is_named_as_it_is_elsewhere() -> None:
    assert set(SHARED) <= {*READS, *WRITES}


def test_what_keeps_members_apart_is_the_role_and_without_it_nothing_does(
    postgresql: PostgreSQL, server: Server
) -> None:
    """The control: the same operations at a desk that has not become the member show everything."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS ann; DROP ROLE IF EXISTS ben")
    for who, project in (("ann", P), ("ben", Q)):
        members.add(postgresql, who, [project])
    desks = {who: Desk(who, postgresql.acting_as(who), str) for who in ("ann", "ben")}
    number = operations.add(desks["ann"], "hers", P)[0].number
    careless = Desk("ben", postgresql, str)
    assert operations.list_all(desks["ben"]) == []
    assert [task.number for task in operations.list_all(careless)] == [number]
    with pytest.raises(NotFound):
        operations.finish(desks["ben"], number)
    assert operations.finish(careless, number).finished_by == "ben"


def test_a_member_works_on_its_projects_and_on_no_other(shared: Shared) -> None:
    status, added = shared.ask("POST", "/task/add", shared.ann, {"description": "do it", "project": P})
    assert (status, added[0]["added_by"]) == (200, "ann")
    number = added[0]["number"]
    for method, path, body in (
        ("GET", f"/task/show?task={number}", None),
        ("POST", "/task/claim", {"project": P, "task": number}),
        ("POST", "/task/finish", {"task": number}),
        ("POST", "/task/renew", {"task": number}),
        ("POST", "/task/release", {"task": number, "force": True}),
    ):
        status, said = shared.ask(method, path, shared.ben, body)
        assert (status, "there is no task" in said["error"]) == (404, True)
    assert shared.ask("GET", "/task/list", shared.ben) == (200, [])
    assert shared.ask("POST", "/task/claim", shared.ben, {"project": P})[1]["task"] is None
    status, said = shared.ask("POST", "/task/add", shared.ben, {"description": "x", "project": P})
    assert status == 403
    assert "no member" in said["error"]
    status, said = shared.ask("POST", "/task/claim", shared.ann, {"project": P, "holder": "one"})
    assert (status, said["task"]["holder"]) == (200, "ann/one")
    body = {"task": number, "holder": "one", "result": f"key {SECRET} was used"}
    status, said = shared.ask("POST", "/task/finish", shared.ann, body)
    assert (status, said["finished_by"]) == (200, "ann/one")
    assert SECRET not in said["result"]
    assert shared.ask("GET", "/task/chain", shared.ann) == (200, [])


def told(store: PostgreSQL, who: str, project: str) -> str:
    """What one machine of a member has sent: a checkpoint, an event, a memory. The checkpoint's uid."""
    acting, uid = store.acting_as(who), new_id(now())
    entry = json.dumps(
        {name: kind() for name, kind in zip(index._NAMES, index._KINDS, strict=True)} | {"uid": uid}
    )
    with acting.writing() as connection:
        made = catalogue.Entry(uid, project, "tide", "line", "s1", "", now(), entry, "")
        assert catalogue.add(connection, [made]) == 1
        noted = json.dumps({"event": "checkpoint.taken", "session": "s1"})
        happened.add(
            connection,
            [happened.Happened(new_id(now()), project, "tide", "s1", now(), "checkpoint.taken", noted)],
        )
    words = "The harbour gauge is polled every ninety seconds, because its clock drifts."
    Postgres(acting, "tide").add([Item("m1", "decisions", words, project=project, origin="user", at=now())])
    return uid


def test_a_member_reads_what_its_team_knows_and_of_others_nothing(
    shared: Shared, postgresql: PostgreSQL
) -> None:
    uid = told(postgresql, "ann", P)
    about = f"/recall?query=how+often+is+the+gauge+polled&project={P}"
    for token, is_hers in ((shared.ann, True), (shared.ben, False)):
        status, found = shared.ask("GET", "/checkpoint/list", token)
        assert (status, [one["uid"] for one in found]) == (200, [uid] * is_hers)
        status, found = shared.ask("GET", "/events", token)
        assert (status, [one["event"] for one in found["events"]]) == (200, ["checkpoint.taken"] * is_hers)
        status, found = shared.ask("GET", about, token)
        assert (status, len(found["found"])) == (200, int(is_hers))
        status, said = shared.ask("GET", f"/checkpoint/show?name={uid}", token)
        assert (status, "stayed on its machine" in said["error"]) == (404, is_hers)
    (memory,) = shared.ask("GET", about, shared.ann)[1]["found"]
    assert (memory["origin"], memory["text"].startswith(">")) == ("teammate", False)


def test_a_recall_says_by_what_it_has_searched(shared: Shared, postgresql: PostgreSQL) -> None:
    told(postgresql, "ann", P)
    with postgresql.writing() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS vectors")
        lacks = migrations.no_vectors(connection)
    status, found = shared.ask("GET", f"/recall?query=gauge&project={P}", shared.ann)
    assert (status, found["mode"]) == (200, f"keyword only: {lacks}")


def test_a_member_speaks_on_the_boards_of_its_projects_only(shared: Shared) -> None:
    body = {"text": f"Who has {SECRET}?", "project": P, "type": "request"}
    status, posted = shared.ask("POST", "/board/post", shared.ann, body)
    assert (status, posted["sender"], SECRET in posted["text"]) == (200, "member:ann", False)
    assert shared.ask("POST", "/board/post", shared.ben, body)[0] == 403
    assert shared.ask("GET", f"/board/list?project={P}", shared.ben) == (200, [])
    for token, uid in ((shared.ben, posted["id"]), (shared.ann, "x\0")):
        assert shared.ask("POST", "/board/ack", token, {"id": uid})[0] == 404
    (open_,) = shared.ask("GET", f"/board/list?project={P}", shared.ann)[1]
    assert (open_["id"], open_["state"]) == (posted["id"], "open")
    assert shared.ask("POST", "/board/ack", shared.ann, {"id": posted["id"], "what": "I had"})[0] == 200
    (done,) = shared.ask("GET", f"/board/list?project={P}", shared.ann)[1]
    assert done["done"] == ["member:ann I had"]


def test_all_else_is_refused_with_the_reason_and_nothing_of_the_home_is_touched(
    shared: Shared, postgresql: PostgreSQL
) -> None:
    before = sorted(shared.home.rglob("*"))
    for operation in everything():
        if operation.name not in SHARED:
            path = "/" + operation.name.replace(".", "/")
            method, body = ("POST", {}) if operation.writes else ("GET", None)
            status, said = shared.ask(method, path, shared.ann, body)
            assert (status, "nothing else" in said["error"]) == (403, True), path
    for path in ("/", "/mcp", "/metrics", "/dashboard", "/stream", "/task", "/task/list/", "/docs"):
        assert shared.ask("GET", path, shared.ann)[0] == 403, path
    assert shared.ask("GET", "/task/add", shared.ann)[0] == 405
    assert (
        shared.ask("POST", "/task/add", shared.ann, {"description": "x", "project": P, "plan": "/x"})[0]
        == 400
    )
    described = shared.ask("GET", "/openapi.json", shared.ann)[1]
    assert set(described["paths"]) == {"/live", *("/" + name.replace(".", "/") for name in SHARED)}
    assert sorted(shared.home.rglob("*")) == before
    assert {path.name for path in before} == {"serve-team.json", "serve-team.lock"}


def test_a_token_that_is_none_lets_nobody_in(shared: Shared, postgresql: PostgreSQL) -> None:
    name, secret = shared.ann[4:20], shared.ann[21:]
    wrong = {
        "nothing": "",
        "another's secret": f"hft_{name}_{shared.ben[21:]}",
        "an unknown name": f"hft_{'0' * 16}_{secret}",
        "the name alone": f"hft_{name}_",
        "its beginning": shared.ann[:-1],
        "more than it": shared.ann + "A",
        "upper case": shared.ann.upper(),
        "a quote": f"hft_{name[:-1]}'_{secret}",
        "garbage": "\x80" * 64,
        "something long": "hft_" + "0" * 8000,
    }
    for what, token in wrong.items():
        assert shared.ask("GET", "/task/list", token)[0] == 401, what
    with postgresql.writing() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.who == "ben").values(expires_at=1))
    assert shared.ask("GET", "/task/list", shared.ann)[0] == 200
    assert shared.ask("GET", "/task/list", shared.ben)[0] == 401
    tokens.revoke(postgresql, name)
    assert shared.ask("GET", "/task/list", shared.ann)[0] == 401


def test_who_was_taken_out_is_out_also_with_a_token_left(shared: Shared, postgresql: PostgreSQL) -> None:
    shared.ask("POST", "/task/add", shared.ann, {"description": "do it", "project": P})
    with postgresql.writing() as connection:
        connection.execute(text("DELETE FROM members WHERE who = 'ann'"))
    assert shared.ask("GET", "/task/list", shared.ann) == (200, [])
    with postgresql.writing() as connection:
        connection.execute(text("DROP ROLE ann"))
    assert shared.ask("GET", "/task/list", shared.ann)[0] == 403


def test_the_door_is_as_firm_as_that_of_one_user(shared: Shared, postgresql: PostgreSQL) -> None:
    """The same attacks, on the routes that are here."""
    seen_as = Service(shared.process, shared.port, shared.ann, shared.home)  # type: ignore[arg-type]
    body = json.dumps({"description": "stolen", "project": P}).encode()
    entered = []
    for name, data in attacks(seen_as).items():
        here = data.replace(b"/context/usage?used_tokens=1", b"/task/list?limit=1").replace(
            b"/context/auto-save", b"/task/add"
        )
        from_save = b'{"environment":"stolen","used_tokens":1}'
        if from_save in here and b"Content-Length: 40" in here:
            here = here.replace(from_save, body).replace(
                b"Content-Length: 40", b"Content-Length: %d" % len(body)
            )
        answer = shared.raw(here)
        if answer.is_in or b"access-control" in answer.head.lower():
            entered.append(name)
    assert entered == []
    with postgresql.reading() as connection:
        assert connection.execute(select(TASKS)).all() == []
    # The control: what is right with all of them does get in.
    right = [("Host", f"127.0.0.1:{shared.port}"), ("Authorization", f"Bearer {shared.ann}")]
    assert shared.raw(request("GET", "/task/list?limit=1", right)).status == 200
    sent = [*right, JSON, ("Content-Length", str(len(body)))]
    assert shared.raw(request("POST", "/task/add", sent, body)).status == 200


def test_without_tls_it_does_not_speak(shared: Shared) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        urllib.request.urlopen(f"http://127.0.0.1:{shared.port}/live", timeout=30)
    assert shared.raw(request("GET", "/live", [("Host", f"127.0.0.1:{shared.port}")])).status == 200


def test_many_at_once_each_see_their_own(shared: Shared) -> None:
    """Connections are shared; rights are not."""
    seen: dict[str, set[str]] = {"ann": set(), "ben": set()}
    statuses: set[int] = set()

    def asks(who: str, token: str, project: str) -> None:
        for number in range(6):
            body = {"description": f"{who} {number}", "project": project}
            statuses.add(shared.ask("POST", "/task/add", token, body)[0])
            status, listed = shared.ask("GET", "/task/list", token)
            statuses.add(status)
            seen[who] |= {task["project"] for task in listed}

    threads = [
        threading.Thread(target=asks, args=args)
        for args in (("ann", shared.ann, P), ("ben", shared.ben, Q)) * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == {200}
    assert seen == {"ann": {P}, "ben": {Q}}


def test_a_store_that_is_gone_is_said_and_the_door_stays_shut(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    own = Server(tmp_path / "pg")
    try:
        PostgreSQL(own.url).bring_up()
        with serving(tmp_path / "home", own.url, pair, HOLDFAST_STORE_TIMEOUT_SECONDS="5") as running:
            assert running.ask("GET", "/task/list", running.ann)[0] == 200
            own.pause(True)
            assert running.ask("GET", "/task/list", running.ann)[0] == 503
            own.pause(False)
            own.kill()
            status, said = running.ask("GET", "/task/list", running.ann)
            assert (status, "cannot be used now" in said["error"]) == (503, True)
            assert running.ask("GET", "/task/list", "hft_garbage")[0] == 401
            own.start()
            assert running.ask("GET", "/task/list", running.ann)[0] == 200
    finally:
        own.kill()


def start(home: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "holdfast", "serve", "--team", "--port", "0", *words]
    return subprocess.run(
        argv, env=environ(home, url), capture_output=True, text=True, timeout=60, check=False
    )


def test_it_does_not_start_without_a_team_nor_as_a_member_nor_bare_to_others(
    postgresql: PostgreSQL, server: Server, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    assert "no team is set up" in start(home, "").stderr
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN")
    done = start(home, server.url.replace("team@", "ann@"))
    assert (done.returncode, "takes who owns the tables" in done.stderr) == (2, True)
    done = start(home, server.url, "--host", "192.0.2.1")
    assert (done.returncode, "let other machines in" in done.stderr) == (2, True)
