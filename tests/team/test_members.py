"""Who is in a team: let in, taken out, known by a token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, select, text, update

from holdfast.app import Holdfast
from holdfast.errors import BadInput, Forbidden, NotFound
from holdfast.ops import members as roster
from holdfast.ops import team
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import Queue
from holdfast.store.tables import TOKENS
from holdfast.store.task import Draft
from holdfast.team import members, tokens
from store.postgres import Server

P, Q = "example.org/p", "example.org/q"
LONG = "a password long enough"


def machine(folder: Path, url: str) -> Holdfast:
    folder.mkdir(parents=True, exist_ok=True)
    environ = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder), "HOLDFAST_STORE_URL": url}
    return Holdfast.open(environ)


def drop_all(server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for (name,) in connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname <> 'team' AND rolname NOT LIKE 'pg\\_%'"
        ).fetchall():
            connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


@pytest.fixture
def app(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> Iterator[Holdfast]:
    drop_all(server)
    yield machine(tmp_path / "owner", server.url)
    drop_all(server)


def roles(server: Server) -> set[str]:
    with psycopg.connect(server.url) as connection:
        return {row[0] for row in connection.execute("SELECT rolname FROM pg_roles").fetchall()}


def test_a_member_gets_an_address_and_sees_its_projects(app: Holdfast, tmp_path: Path) -> None:
    made = roster.member_add(app, "ann", project=(P,))
    address = make_url(made.url)
    assert (address.username, made.is_new, made.projects) == ("ann", True, [P])
    assert address.password
    assert len(address.password) >= 32
    assert made.url in str(made)
    hers = machine(tmp_path / "ann", made.url)
    found = team.status(hers)
    assert (found.role, found.limited, found.members) == ("ann", True, 1)
    assert "sees its own projects only" in str(found)
    assert not team.status(app).limited
    assert "owns the tables" in str(team.status(app))
    Queue(PostgreSQL(made.url)).add([Draft("hers", P)], "ann")
    with pytest.raises(Forbidden):
        Queue(PostgreSQL(made.url)).add([Draft("not hers", Q)], "ann")
    assert [one.who for one in roster.member_list(app)] == ["ann"]


def test_the_password_that_was_made_is_the_one_that_lets_in(tmp_path: Path) -> None:
    own = Server(tmp_path)
    try:
        PostgreSQL(own.url).bring_up()
        made = roster.member_add(machine(tmp_path / "m", own.url), "ann", project=(P,))
        file = tmp_path / "password"
        file.write_text(LONG + "\n")
        given = roster.member_add(machine(tmp_path / "m", own.url), "ben", project=(P,), password_file=file)
        assert make_url(given.url).password == LONG
        (own.data / "pg_hba.conf").write_text("local all team trust\nlocal all all scram-sha-256\n")
        with psycopg.connect(own.url, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
            hashed = connection.execute(
                "SELECT rolpassword FROM pg_authid WHERE rolname = 'ben'"
            ).fetchone()
        assert hashed
        assert hashed[0].startswith("SCRAM-SHA-256$")
        for url in (made.url, given.url):
            assert team.status(machine(tmp_path / "x", url)).ok
            wrong = make_url(url).set(password="wrong").render_as_string(hide_password=False)
            assert "password authentication failed" in str(team.status(machine(tmp_path / "y", wrong)))
        assert LONG not in own.log.read_text()
    finally:
        own.kill()


def test_more_projects_keep_the_password_and_a_removed_one_is_gone_at_once(
    app: Holdfast, server: Server
) -> None:
    made = roster.member_add(app, "ann", project=(P,))
    again = roster.member_add(app, "ann", project=(Q, P))
    assert (again.is_new, again.projects, make_url(again.url).password) == (False, [P, Q], None)
    queue = Queue(PostgreSQL(made.url))
    queue.add([Draft("hers", P)], "ann")
    assert roster.member_remove(app, "ann", project=(P,)).projects == [Q]
    assert queue.tasks(None, None, 0) == []
    token = roster.token_add(app, "ann").token
    left = roster.member_remove(app, "ann")
    assert (left.projects, left.role) == ([], "gone")
    assert "ann" not in roles(server)
    assert roster.member_list(app) == []
    assert tokens.bearer(PostgreSQL(server.url), *tokens.parts(token.encode())) is None  # type: ignore[misc]
    with pytest.raises(NotFound, match="in no project"):
        roster.member_remove(app, "ann")


def test_nobody_prevents_their_removal_by_what_they_own(app: Holdfast, server: Server) -> None:
    made = roster.member_add(app, "ann", project=(P,))
    with psycopg.connect(made.url) as connection:
        connection.execute("SELECT lo_create(0)")
    token = roster.token_add(app, "ann").token
    left = roster.member_remove(app, "ann")
    assert left.role == "locked"
    assert "may log in no more" in str(left)
    assert roster.member_list(app) == []
    assert tokens.bearer(PostgreSQL(server.url), *tokens.parts(token.encode())) is None  # type: ignore[misc]
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        psycopg.connect(made.url)
    roster.member_add(app, "ann", project=(P,))
    psycopg.connect(made.url).close()


def test_a_role_that_was_there_before_is_not_dropped(app: Holdfast, server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE carl LOGIN")
        connection.execute("CREATE ROLE dba LOGIN BYPASSRLS")
        connection.execute("CREATE ROLE heir LOGIN NOINHERIT IN ROLE team")
    assert not roster.member_add(app, "carl", project=(P,)).is_new
    assert roster.member_remove(app, "carl").role == "kept"
    assert "carl" in roles(server)
    for unlimited in ("dba", "heir", "team"):
        with pytest.raises(BadInput, match="nothing would limit it"):
            roster.member_add(app, unlimited, project=(P,))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "x'; DROP ROLE team; --",
        'a"b',
        "-x",
        "public",
        "pg_monitor",
        "NONE",
        "ä",
        "a\nb",
        "a" * 64,
    ],
)
def test_a_name_that_is_none_is_refused(app: Holdfast, server: Server, name: str) -> None:
    before = roles(server)
    with pytest.raises(BadInput):
        roster.member_add(app, name, project=(P,))
    assert roles(server) == before


@pytest.mark.parametrize("name", ["a.b@example.org", "Ann", "user", "select", "0", "a" * 63])
def test_other_names_are_taken_as_they_are(app: Holdfast, server: Server, name: str) -> None:
    made = roster.member_add(app, name, project=("x'; DROP TABLE members; --", 'q"%s'))
    store = PostgreSQL(made.url)
    with store.reading() as connection:
        assert connection.scalar(text("SELECT current_user")) == name
    assert Queue(store).add([Draft("mine", 'q"%s')], "me")[0].project == 'q"%s'
    assert roster.member_remove(app, name).role == "gone"


@pytest.mark.parametrize("projects", [(), ("",), ("two\nlines",), ("x" * 501,)])
def test_a_project_that_is_none_is_refused(app: Holdfast, projects: tuple[str, ...]) -> None:
    with pytest.raises(BadInput):
        roster.member_add(app, "ann", project=projects)


def test_a_short_password_is_refused_and_nobody_made(app: Holdfast, server: Server, tmp_path: Path) -> None:
    for words in ("short\n", "", "\x07" * 20):
        (tmp_path / "p").write_text(words)
        with pytest.raises(BadInput, match="password"):
            roster.member_add(app, "ann", project=(P,), password_file=tmp_path / "p")
    assert "ann" not in roles(server)


def test_the_same_one_added_by_many_at_once_is_one(app: Holdfast, server: Server) -> None:
    found: list[object] = []

    def adds(project: str) -> None:
        try:
            found.append(members.add(PostgreSQL(server.url), "ann", [project]))
        except Exception as problem:
            found.append(problem)

    threads = [threading.Thread(target=adds, args=(f"example.org/{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(one) for one in found] == [members.Added] * 6, found
    assert len(roster.member_list(app)[0].projects) == 6
    assert sum(bool(one.password) for one in found) == 1  # type: ignore[attr-defined]


def test_a_member_lets_nobody_in(app: Holdfast, tmp_path: Path) -> None:
    hers = machine(tmp_path / "ann", roster.member_add(app, "ann", project=(P,)).url)
    for asked in (
        lambda: roster.member_add(hers, "eve", project=(P,)),
        lambda: roster.member_add(hers, "ann", project=(Q,)),
        lambda: roster.token_add(hers, "ann"),
        lambda: roster.token_list(hers),
        lambda: roster.member_remove(hers, "ann"),
    ):
        with pytest.raises(Forbidden, match="only the owner"):
            asked()
    assert [one.who for one in roster.member_list(app)] == ["ann"]


def test_the_owner_need_not_be_a_superuser(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> None:
    drop_all(server)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE boss LOGIN CREATEROLE")
        connection.execute("DROP DATABASE IF EXISTS plain")
        connection.execute("CREATE DATABASE plain OWNER boss")
    url = server.url.replace("team@/postgres", "boss@/plain")
    try:
        app = machine(tmp_path, url)
        assert team.migrate(app).found == 0
        made = roster.member_add(app, "ann", project=(P,))
        owner = PostgreSQL(url)
        Queue(owner.acting_as("ann")).add([Draft("hers", P)], "ann")
        with pytest.raises(Forbidden):
            Queue(owner.acting_as("ann")).add([Draft("not hers", Q)], "ann")
        assert [one.description for one in Queue(PostgreSQL(made.url)).tasks(None, None, 0)] == ["hers"]
        owner.close()
        assert roster.member_remove(app, "ann").role == "gone"
    finally:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE plain WITH (FORCE)")
        drop_all(server)


def test_whoever_acts_as_a_member_is_one_in_every_transaction_and_nobody_after_it(
    app: Holdfast, server: Server
) -> None:
    roster.member_add(app, "ann", project=(P,))
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute('CREATE ROLE "a%s""b"')
    store = PostgreSQL(server.url, pool=1)  # so that all have the same connection
    me = text("SELECT current_user")
    for who in ("ann", 'a%s"b'):
        for opened in (store.acting_as(who).reading, store.acting_as(who).writing):
            with opened() as connection:
                assert connection.scalar(me) == who
            with store.reading() as connection:
                assert connection.scalar(me) == "team"
    with store.acting_as("ann").reading() as connection:
        connection.scalar(me)
        connection.rollback()
        assert connection.scalar(me) == "ann"

    def fails() -> None:
        with store.acting_as("ann").writing() as connection:
            raise ZeroDivisionError(connection.scalar(me))

    with pytest.raises(ZeroDivisionError, match="ann"):
        fails()
    with store.reading() as connection:
        assert connection.scalar(me) == "team"


def test_a_token_is_good_until_it_is_over_or_revoked(app: Holdfast, postgresql: PostgreSQL) -> None:
    roster.member_add(app, "ann", project=(P,))
    first, second = roster.token_add(app, "ann", days=1), roster.token_add(app, "ann")

    def whose(token: str) -> str | None:
        found = tokens.parts(token.encode())
        return tokens.bearer(postgresql, *found) if found else None

    assert (whose(first.token), whose(second.token)) == ("ann", "ann")
    swapped = first.token[: -len("x" * 43)] + second.token[-43:]
    assert [whose(t) for t in (first.token[:-1] + "!", swapped, first.token + "x", "", "hft_")] == [
        None
    ] * 5
    with postgresql.reading() as connection:
        kept = str(connection.execute(select(TOKENS)).all())
    assert first.token[-43:] not in kept
    assert second.token[-43:] not in kept
    with postgresql.writing() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.name == first.name).values(expires_at=1))
    assert (whose(first.token), whose(second.token)) == (None, "ann")
    assert roster.token_revoke(app, second.name).who == "ann"
    assert whose(second.token) is None
    assert {one.name: one.state for one in roster.token_list(app)} == {
        first.name: "expired",
        second.name: "revoked",
    }
    with pytest.raises(NotFound):
        roster.token_revoke(app, "nothing")
    with pytest.raises(NotFound, match="in no project"):
        roster.token_add(app, "eve")
    with pytest.raises(BadInput, match="--days"):
        roster.token_add(app, "ann", days=0)
