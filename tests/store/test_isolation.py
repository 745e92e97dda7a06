"""A member sees and writes its own projects, and nothing else, whatever it asks the engine itself.

What a stranger could do is tried for every table there is, and once more with the policies off: there each
of these trials has to succeed, or it would find nothing here either.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote

import numpy
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Integer, Table, func, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from holdfast.errors import BadInput, Forbidden, NotFound, Unavailable
from holdfast.memory import pgsql
from holdfast.memory import postgres as memory
from holdfast.memory.pgsql import project_word
from holdfast.memory.postgres import Postgres
from holdfast.memory.shelf import Filter, Item
from holdfast.store.holders import Holder
from holdfast.store.postgres import PostgreSQL
from holdfast.store.queue import _NEXT, Queue
from holdfast.store.tables import (
    MARKS,
    MEMBERS,
    MESSAGES,
    METADATA,
    NEEDS,
    SCHEMA,
    TASKS,
    TOKENS,
    WAITS,
)
from holdfast.store.task import Draft
from store.conftest import BUSY_S
from store.postgres import Server

HERS, HIS = "example.org/hers", "example.org/his"
#: All but the number of the schema, which is for everybody to read.
TABLES = [table for table in METADATA.tables.values() if table is not SCHEMA]
WITH_PROJECT = [table for table in TABLES if "project" in table.c and table is not MEMBERS]
#: Names as an administrator may have made them by hand.
ODD = [
    "o'neil",
    'a"b',
    "x'; DROP TABLE tasks; --",
    "Ann",
    "a b",
    "käthe",
    "%s",
    "$1",
    "a\\b",
    "public.tasks",
]


def url_of(server: Server, role: str) -> str:
    return server.url.replace("team@", f"{quote(role, safe='')}@")


def make_role(server: Server, role: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))


@pytest.fixture
def people(postgresql: PostgreSQL, server: Server) -> Iterator[dict[str, PostgreSQL]]:
    """ann is in her project, ben in his; eve has a role and is in none."""
    for role in ("ann", "ben", "eve"):
        make_role(server, role)
    with postgresql.writing() as connection:
        connection.execute(
            insert(MEMBERS), [{"who": "ann", "project": HERS}, {"who": "ben", "project": HIS}]
        )
    stores = {role: PostgreSQL(url_of(server, role), timeout_s=BUSY_S) for role in ("ann", "ben", "eve")}
    yield stores
    for store in stores.values():
        store.close()


def row(table: Table, project: str, who: str, name: str) -> dict[str, object]:
    """One that the table takes. A new table whose columns mean something needs its line here."""
    made = {
        column.name: 1 if isinstance(column.type, Integer) else name
        for column in table.c
        if column is not TASKS.c.number
    }
    made |= {"project": project, "who": who}
    if table is TASKS:
        made |= {"state": "open", "holder": "", "payload": "{}"}
    return {column: value for column, value in made.items() if column in table.c}


def filled(owner: PostgreSQL, project: str, who: str) -> dict[str, int]:
    """A row of that project in every table, as the owner could write it; the number of its task."""
    with owner.writing() as connection:
        numbers = [
            connection.execute(
                insert(TASKS).values(row(TASKS, project, who, f"{who}-{project}{i}"))
            ).inserted_primary_key
            for i in range(2)
        ]
        task, needed = (int(key[0]) for key in numbers)  # type: ignore[index]
        for table in TABLES:
            if table is NEEDS:
                connection.execute(insert(NEEDS).values(task=task, needs=needed))
            elif table is WAITS:
                connection.execute(insert(WAITS).values({**row(WAITS, project, who, who), "task": task}))
            elif table not in (TASKS, MEMBERS):
                connection.execute(insert(table).values(row(table, project, who, f"{who}-{project}")))
    return {"task": task, "needed": needed}


def works(store: PostgreSQL, words: object, *given: object) -> int:
    """How many rows it reads or touches, in a transaction that is then undone; 0 where it is refused."""
    with store.engine.connect() as connection:
        try:
            found = connection.execute(words, *given)  # type: ignore[call-overload]
            if found.context.isinsert:  # which says nothing of rows where it gives a key back
                return 1
            return len(found.all()) if found.returns_rows else int(found.rowcount)
        except IntegrityError:  # it was let through, as far as to a row that others refer to
            return 1
        except DBAPIError as problem:
            if getattr(problem.orig, "sqlstate", "") != "42501":
                raise
            return 0
        finally:
            connection.rollback()


def breaches(ben: PostgreSQL, hers: dict[str, int], his: dict[str, int]) -> set[str]:
    """What ben can do to what is ann's."""
    found = set()

    def tried(what: str, words: object, *given: object) -> None:
        if works(ben, words, *given):
            found.add(what)

    for table in TABLES:
        foreign = table.c.task == hers["task"] if table in (NEEDS, WAITS) else table.c.who == "ann"
        tried(f"reads {table}", select(table).where(foreign))
        tried(f"counts {table}", select(1).select_from(table).where(foreign))
        tried(f"deletes from {table}", table.delete().where(foreign))
        first = next(column for column in table.c if column is not TASKS.c.number)
        some = TASKS.c.result if table is TASKS else first
        tried(f"changes {table}", table.update().where(foreign).values({some: some}))
        if table in WITH_PROJECT:
            tried(f"adds to her {table}", insert(table).values(row(table, HERS, "ben", "new")))
            tried(f"adds as ann to {table}", insert(table).values(row(table, HIS, "ann", "new")))
            tried(
                f"adds as ann, of no project, to {table}", insert(table).values(row(table, "", "ann", "n"))
            )
            tried(f"moves {table}", table.update().where(table.c.who == "ben").values(project=HERS))
            tried(f"gives away {table}", table.update().where(table.c.who == "ben").values(who="ann"))
    tried("needs hers", insert(NEEDS).values(task=his["needed"], needs=hers["task"]))
    tried("blocks hers", insert(NEEDS).values(task=hers["needed"], needs=his["task"]))
    tried("waits for hers", insert(WAITS).values({**row(WAITS, "", "", "ben"), "task": hers["needed"]}))
    tried("joins her project", insert(MEMBERS).values(who="ben", project=HERS, added_at=1))
    tried("joins all", MEMBERS.update().where(MEMBERS.c.who == "ben").values(project="*"))
    tried("makes a token", insert(TOKENS).values(row(TOKENS, "", "ann", "forged")))
    return found


def test_nobody_reaches_into_anothers_project(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    hers, his = filled(postgresql, HERS, "ann"), filled(postgresql, HIS, "ben")
    assert breaches(people["ben"], hers, his) == set()
    assert breaches(people["eve"], hers, his) == set()
    with postgresql.writing() as connection:  # the control: the same, where nothing is guarded
        for table in TABLES:
            connection.execute(text(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"))
            connection.execute(text(f"GRANT ALL ON {table} TO PUBLIC"))
    each = {
        f"{what} {table}" for what in ("reads", "counts", "deletes from", "changes") for table in TABLES
    }
    each |= {
        f"{what} {table}"
        for what in (
            "adds to her",
            "adds as ann to",
            "adds as ann, of no project, to",
            "moves",
            "gives away",
        )
        for table in WITH_PROJECT
    }
    each |= {
        "needs hers",
        "blocks hers",
        "waits for hers",
        "joins her project",
        "joins all",
        "makes a token",
    }
    assert breaches(people["ben"], hers, his) == each


def test_everything_of_a_store_is_guarded_and_nothing_else_is_lent(postgresql: PostgreSQL) -> None:
    """Whatever a step adds, if nobody has thought of it."""
    with postgresql.reading() as connection:
        there = set(inspect(connection).get_table_names())
        guarded = connection.execute(text("SELECT relname FROM pg_class WHERE relrowsecurity")).scalars()
        assert set(guarded) == there - {"schema"}
        runs_as_owner = text(
            "SELECT proname, prosqlbody IS NOT NULL FROM pg_proc p JOIN pg_namespace n "
            "ON n.oid = pronamespace "
            "WHERE prosecdef AND nspname NOT IN ('pg_catalog', 'information_schema')"
        )
        # Each bound to what its names meant when it was made.
        assert set(connection.execute(runs_as_owner)) == {("items_holding", True), ("items_counted", True)}
        lent = connection.execute(
            text(
                "SELECT DISTINCT privilege_type FROM information_schema.table_privileges "
                "WHERE grantee = 'PUBLIC' AND table_schema = 'public'"
            )
        ).scalars()
        assert set(lent) == {"SELECT", "INSERT", "UPDATE", "DELETE"}


#: What a member learns by words: the uids of items that hold one, and how many there are.
_HOLDING = (
    "SELECT uid FROM public.items_holding('tide', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 9) ORDER BY uid"
)
_COUNTED = "SELECT held FROM public.items_counted(ARRAY[CAST('tide' AS tsquery)], NULL, {}, true)"


def told_of(postgresql: PostgreSQL) -> None:
    """Items that hold a word: one of ann's in her project, one in none, three of his."""
    owner = Postgres(postgresql, "here")
    said = [(HERS, "h1"), ("", "n1"), (HIS, "i1"), (HIS, "i2"), (HIS, "i3")]
    owner.add([Item(uid, "decisions", "tide", project, "l", "s") for project, uid in said])
    with postgresql.writing() as connection:
        connection.execute(
            text("UPDATE items SET who = CASE project WHEN :his THEN 'ben' ELSE 'ann' END"), {"his": HIS}
        )


@pytest.mark.parametrize(
    "before",
    [
        "SELECT 1",
        "CREATE TEMP TABLE members AS SELECT 'ben'::text AS who, '*'::text AS project",
        "CREATE TEMP TABLE items AS SELECT 'x' AS uid, ''::tsvector AS words",
        "SET search_path = pg_temp, public",
        "SET row_security = off",
        "CREATE FUNCTION pg_temp.pg_has_role(name, oid, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "SET ROLE ben",
        "RESET ROLE",
    ],
)
def test_by_words_a_member_finds_its_own_projects_items_alone(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], before: str
) -> None:
    told_of(postgresql)
    seen = {"ann": ["h1"], "ben": ["i1", "i2", "i3"], "eve": []}
    stores = {**people, **{f"as {who}": postgresql.acting_as(who) for who in people}}
    for name, store in stores.items():
        who = name.removeprefix("as ")
        if "ROLE" in before and name != "ben":
            continue  # who logged in as the owner may become anybody
        with store.engine.connect() as connection:
            connection.execute(text(before))
            assert connection.execute(text(_HOLDING)).scalars().all() == seen[who], name
            assert connection.scalar(text(_COUNTED.format(9))) == len(seen[who]), name
            connection.rollback()
    with postgresql.reading() as connection:  # whatever it sees in the table itself
        assert connection.execute(text(_HOLDING)).all() == []


def test_the_owner_and_a_member_of_all_find_words_in_every_project(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    told_of(postgresql)
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS).values(who="eve", project="*"))
    shelves = {"team": Postgres(postgresql), **{who: Postgres(people[who]) for who in people}}
    shelves["as ben"] = Postgres(postgresql.acting_as("ben"))
    found = {
        who: sorted(uid for uid, _ in one.keyword(["tide"], Filter(), 9)) for who, one in shelves.items()
    }
    his = ["i1", "i2", "i3"]
    assert found == {
        "team": ["h1", *his, "n1"],
        "ann": ["h1"],
        "ben": his,
        "as ben": his,
        "eve": ["h1", *his],
    }
    for who, one in shelves.items():
        hers = [uid for uid, _ in one.keyword(["tide"], Filter(projects=(HERS,)), 9)]
        assert hers == [uid for uid in found[who] if uid == "h1"]
        assert one.keyword(["tide"], Filter(projects=("example.org/none",)), 9) == []
        assert one.keyword(["tide"], Filter(file="src/a.py"), 9) == []
    for store in people.values():  # no words are not every word
        assert works(store, text(_HOLDING.replace("tide", ""))) == 0


def test_examples_tell_a_member_how_many_items_hold_a_word(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    projects = [f"example.org/p{at:02d}" for at in range(63)]
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS), [{"who": "ben", "project": one} for one in projects])
    ben = Postgres(people["ben"], "here")
    chosen = sorted([HIS, *projects], key=lambda name: sha256(name.encode()).digest())
    first, last = chosen[0], chosen[-1]
    ben.add([Item(f"t{at}", "decisions", f"tide n{at}", first, "l", "s") for at in range(160)])
    ben.add([Item(f"m{at}", "decisions", f"mast n{at}", last, "l", "s") for at in range(48)])
    asked = text(
        "SELECT held FROM public.items_counted(ARRAY[CAST('tide' AS tsquery), 'mast'], :projects, :most, "
        ":every)"
    )

    def counted(most: int, *projects: str, every: bool = False) -> list[float]:
        with people["ben"].engine.connect() as connection:
            given = {"projects": list(projects) or None, "most": most, "every": every}
            return [*connection.execute(asked, given).scalars()]

    assert counted(1000, first, last) == [160, 48]
    assert counted(1000) == [2 * 160, 0]  # of 64 projects it is in, 32 are looked at
    assert counted(1000, every=True) == [160, 48]
    assert (
        counted(5, first)[0] >= 80
    )  # more than were counted are reckoned by where the last of them stands


def test_a_common_word_that_seemed_rare_hides_nothing(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a store that an older holdfast has filled, nothing is marked as an example."""
    monkeypatch.setattr(memory, "_MANY", 10)
    monkeypatch.setattr(memory, "_WEIGHED", 50)
    monkeypatch.setattr(memory, "_HELD", 21)
    monkeypatch.setattr(pgsql, "FEW", 20)
    monkeypatch.setattr(pgsql, "EVERY", 1 << 40)
    ben = Postgres(people["ben"], "here")
    ben.add([Item(f"t{at}", "decisions", f"tide n{at}", HIS, "l", "s") for at in range(80)])
    ben.add([Item("both", "decisions", "tide mast", HIS, "l", "s")])
    ben.add([Item(f"m{at}", "decisions", f"mast n{at}", HIS, "l", "s") for at in range(30)])
    assert ben.keyword(["tide", "mast"], Filter(), 1)[0][0] == "both"


@pytest.mark.parametrize("project", ODD)
def test_a_project_is_among_the_words_as_the_store_itself_makes_it(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], project: str
) -> None:
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS).values(who="ben", project=project))
    ben = Postgres(people["ben"], "here")
    ben.add([Item("u", "decisions", "tide", project, "l", "s")])
    assert [uid for uid, _ in ben.keyword(["tide"], Filter(), 9)] == ["u"]


@pytest.mark.parametrize("who", ["eve", "ben"])
@pytest.mark.parametrize("plan", ["enable_seqscan", "enable_bitmapscan", "jit"])
def test_no_counter_of_the_server_tells_what_others_items_hold(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], who: str, plan: str
) -> None:
    """Everybody may read how many rows a transaction has fetched, also within the functions."""
    owner = Postgres(postgresql, "here")
    said = [Item(f"h{at}", "decisions", f"tide pump{at}", HERS, "l", "s") for at in range(40)]
    owner.add([*said, *(Item(f"i{at}", "decisions", "mast", HIS, "l", "s") for at in range(7))])
    counters = text(
        "SELECT sum(seq_scan), sum(seq_tup_read), sum(idx_scan), sum(idx_tup_fetch) "
        "FROM pg_stat_xact_user_tables"
    )

    def fetched(asked: str) -> list[int]:
        with people[who].engine.connect() as connection:
            # A plan for each call: which one is taken does not depend on how often it was called before.
            connection.execute(text(f"SET {plan} = off; SET plan_cache_mode = force_custom_plan"))
            given = {"asked": asked}
            before = connection.execute(counters).one()
            holding = "SELECT 1 FROM items_holding(CAST(:asked AS tsquery), {}, 9)"
            connection.execute(text(holding.format("NULL, NULL, NULL, NULL, NULL, NULL, NULL")), given)
            connection.execute(text(holding.format("NULL, NULL, NULL, NULL, NULL, 'x', '%x'")), given)
            connection.execute(
                text(holding.format(":projects, NULL, NULL, 0, 9, NULL, NULL")),
                {**given, "projects": [HERS, ""]},
            )
            connection.execute(text(holding.format("NULL, '{text}', 's', 0, 9, NULL, NULL")), given)
            for every in ("true", "false"):
                counted = f"items_counted(ARRAY[CAST(:asked AS tsquery)], NULL, 9, {every})"
                connection.execute(text(f"SELECT * FROM {counted}"), given)
            after = connection.execute(counters).one()
            connection.rollback()
            return [int(now - then) for now, then in zip(after, before, strict=True)]

    hers = f"'{project_word(HERS)}'"
    nobody = fetched("nobody")
    for asked in (
        "tide",
        "pump7",
        "tid:*",
        "pump:*",
        f"{hers} & tide",
        hers,
        f"{hers} & pump:*",
        "!nobody & tide",
    ):
        assert fetched(asked) == nobody, asked
    if plan == "enable_seqscan":  # the control
        assert (fetched("mast") == nobody) == (who == "eve")


def test_no_plan_of_a_search_by_words_tells_of_others_items(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    told_of(postgresql)
    with people["eve"].reading() as connection:
        plan = "\n".join(connection.execute(text(f"EXPLAIN (ANALYZE, VERBOSE) {_HOLDING}")).scalars())
    assert "Function Scan" in plan
    assert "items_words" not in plan
    assert "Removed by Filter" not in plan


def test_a_member_finds_words_by_their_index(postgresql: PostgreSQL, people: dict[str, PostgreSQL]) -> None:
    with postgresql.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO items (uid, project, machine, collection, text, lineage, session, agent, "
                "origin, by, kind, at, first_at, title, files, sources, thread, seq, shape, words) "
                "SELECT 'u' || i, CASE i % 2 WHEN 0 THEN :his ELSE :hers END, '', 'decisions', '', '', "
                "'', '', 'file', '', '', 0, 0, '', '{}', '{}', '', 0, '', "
                "to_tsvector('simple', 'w' || i % 1000 || ' w' || i % 7) || array_to_tsvector(ARRAY["
                "CASE i % 2 WHEN 0 THEN :in_his ELSE :in_hers END]) FROM generate_series(1, 20000) i"
            ),
            {"his": HIS, "hers": HERS, "in_his": project_word(HIS), "in_hers": project_word(HERS)},
        )
        connection.execute(text("ANALYZE"))

    # Of this transaction alone: when others tell what they have counted is up to them.
    scans = text(
        "SELECT pg_stat_get_xact_numscans(CAST('items' AS regclass)), "
        "pg_stat_get_xact_numscans(CAST('items_words' AS regclass))"
    )
    ben = Postgres(people["ben"], "here")
    with ben.asking() as connection:
        found = ben.keyword(["w500"], Filter(), 30)
        about = ben._holding(["w500", "w3"], Filter(), every=True)
        every, by_index = connection.execute(scans).one()
    assert len(found) == 20
    assert every == 0
    assert by_index > 0
    assert about["w500"] == 20  # counted; the other one is reckoned from the first 501
    assert 1300 < about["w3"] < 1550


def test_a_vector_stands_beside_ones_own_item_only(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    """Or its place would be taken when its owner comes, who could not change it."""
    shelves = {who: Postgres(people[who], who) for who in ("ann", "ben")}
    shelves["ann"].add([Item("a", "learned", "The harbour pump is slow", HERS, shape="a")])
    shelves["ben"].add([Item("b", "learned", "The pump is fast", HIS, shape="b")])
    with postgresql.reading() as connection:
        items = dict(connection.execute(text("SELECT uid, id FROM items")).all())
    forge = text(
        "INSERT INTO vectors (item, model, project, machine, data) "
        "VALUES (:item, 'm', :project, 'ben', '[1,2]')"
    )

    def forged() -> list[int]:
        trials = [(items["a"], HIS), (items["b"], ""), (items["b"], HIS)]
        return [works(people["ben"], forge, {"item": item, "project": project}) for item, project in trials]

    assert forged() == [0, 0, 1]
    shelves["ann"].put_vectors("m", [("a", numpy.array([1.0, 2.0]))])
    assert shelves["ann"].counts("m").vectors == 1
    with postgresql.writing() as connection:  # the control
        connection.execute(text("DELETE FROM vectors"))
        connection.execute(text("ALTER TABLE vectors DISABLE ROW LEVEL SECURITY"))
    assert forged() == [1, 1, 1]


_LARGEST_NUMBER = (1 << 63) - 1


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (MESSAGES, {"received": _LARGEST_NUMBER, "lasts_ms": _LARGEST_NUMBER}),
        (MESSAGES, {"lasts_ms": _LARGEST_NUMBER}),
        (MESSAGES, {"received": -_LARGEST_NUMBER}),
        (MARKS, {"received": _LARGEST_NUMBER}),
        (TASKS, {"state": "claimed", "holder": "x", "lease_ms": _LARGEST_NUMBER}),
        (TASKS, {"state": "claimed", "holder": "x", "until": _LARGEST_NUMBER}),
        (TASKS, {"claims": (1 << 31) - 1}),
        (TASKS, {"added_at": _LARGEST_NUMBER}),
        (WAITS, {"lease_ms": _LARGEST_NUMBER}),
        (WAITS, {"until": -_LARGEST_NUMBER}),
    ],
)
def test_no_member_writes_a_number_that_stops_all_others(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], table: Table, columns: dict[str, object]
) -> None:
    task = filled(postgresql, HERS, "ann")["needed"]
    given = row(table, HERS, "ann", "new") | ({"task": task} if table is WAITS else {})

    def written(**more: object) -> None:
        with people["ann"].writing() as connection:
            connection.execute(insert(table).values(given | more))

    with pytest.raises(Unavailable, match="violates check constraint"):
        written(**columns)
    written()


def test_members_of_a_project_share_it_and_a_row_of_none_is_its_writers(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    with postgresql.writing() as connection:
        connection.execute(
            insert(MEMBERS), [{"who": "ann", "project": HIS}, {"who": "eve", "project": "*"}]
        )
    filled(postgresql, HERS, "ann")
    filled(postgresql, HIS, "ben")
    filled(postgresql, "", "ann")

    def sees(who: str, table: Table) -> int:
        return works(people[who], select(table))

    for table in WITH_PROJECT:
        each = 2 if table is TASKS else 1
        assert {who: sees(who, table) for who in people} == {"ann": 3 * each, "ben": each, "eve": 2 * each}
    assert {who: sees(who, MEMBERS) for who in people} == {"ann": 2, "ben": 1, "eve": 1}
    assert {who: sees(who, TOKENS) for who in people} == {"ann": 0, "ben": 0, "eve": 0}


def test_the_queue_does_all_it_does_for_members(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS), [{"who": "ann", "project": HIS}])
    ann, ben = Queue(people["ann"]), Queue(people["ben"])
    first, second = ann.add([Draft("first", HIS, name="a"), Draft("second", HIS, 9, ("a",))], "ann's agent")
    secret = ann.add([Draft("of hers", HERS)], "ann's agent")[0]
    claimed = ben.claim(Holder("b1"), HIS, None, 60)
    assert claimed
    assert claimed.number == first.number
    assert ben.claim(Holder("b2"), HIS, None, 60) is None  # the second needs the first
    with pytest.raises(BadInput, match="cannot wait"):
        ben.wait(second.number, "b1", 0)
    assert ann.wait(first.number, "a1", 0).holder == "b1"
    assert ben.renew(first.number, "b1", 90).lease_s > 60
    assert ben.release(first.number, "b1").state == "open"
    assert ben.claim(Holder("b1"), HIS, first.number, 60)
    assert ben.finish(first.number, "b1", "done").state == "finished"
    assert ann.claim(Holder("a1"), HIS, None, 60).number == second.number  # type: ignore[union-attr]
    assert [link.task for link in ann.chain(None)] == []
    assert ben.counts(HIS) == {"finished": 1, "claimed": 1}
    assert ben.claim(Holder("b1"), HERS, None, 60) is None
    assert [task.number for task in ben.tasks(None, None, 0)] == [second.number, first.number]
    for asked in (
        lambda: ben.task(secret.number),
        lambda: ben.claim(Holder("b1"), HERS, secret.number, 60),
        lambda: ben.finish(secret.number, "b1", ""),
        lambda: ben.release(secret.number, "b1", by_force=True),
        lambda: ben.wait(secret.number, "b1", 0),
    ):
        with pytest.raises(NotFound, match="there is no task"):
            asked()
    with pytest.raises(Forbidden, match="no member"):
        ben.add([Draft("into hers", HERS)], "ben")


def test_what_needs_a_task_one_cannot_see_is_blocked_and_not_free(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS), [{"who": "ann", "project": HIS}])
    ann, ben = Queue(people["ann"]), Queue(people["ben"])
    needed = ann.add([Draft("of hers", HERS)], "ann")[0]
    task = ann.add([Draft("of his", HIS, needs=(needed.number,))], "ann")[0]
    assert ben.claim(Holder("b1"), HIS, None, 60) is None
    with pytest.raises(BadInput, match="needs a task of another project"):
        ben.claim(Holder("b1"), HIS, task.number, 60)
    ann.finish(needed.number, "ann", "")
    assert ann.claim(Holder("a1"), HIS, None, 60).number == task.number  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "words",
    [
        "SET ROLE team",
        "SET SESSION AUTHORIZATION team",
        "SET ROLE ann",
        "GRANT ann TO ben",
        "GRANT pg_read_all_data TO ben",
        "ALTER ROLE ben BYPASSRLS",
        "ALTER ROLE ben SUPERUSER",
        "CREATE ROLE more LOGIN",
        "ALTER TABLE tasks DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE tasks OWNER TO ben",
        "DROP POLICY members_select ON tasks",
        "CREATE POLICY all_of_it ON tasks USING (true)",
        "CREATE TABLE public.mine (what TEXT)",
        "CREATE FUNCTION public.current_user() RETURNS text LANGUAGE sql AS $$SELECT 'ann'$$",
        "CREATE SCHEMA team",
        "TRUNCATE tasks",
        "COPY tasks TO PROGRAM 'cat'",
        "CREATE TRIGGER t AFTER INSERT ON tasks EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "UPDATE schema SET version = 99",
        "LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE",
    ],
)
def test_no_member_makes_itself_more_than_one(people: dict[str, PostgreSQL], words: str) -> None:
    with people["ben"].engine.connect() as connection:
        with pytest.raises(DBAPIError) as refused:
            connection.execute(text(words))
        assert getattr(refused.value.orig, "sqlstate", "") == "42501", refused.value
        connection.rollback()


@pytest.mark.parametrize(
    "before",
    [
        "CREATE TEMP TABLE members AS SELECT 'ben'::text AS who, '*'::text AS project",
        "SET search_path = pg_temp, public",
        "CREATE FUNCTION pg_temp.cardinality(text[]) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TEMP VIEW tasks AS SELECT * FROM public.tasks",
    ],
)
def test_no_setting_of_a_session_shows_more(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL], before: str
) -> None:
    filled(postgresql, HERS, "ann")
    with people["ben"].engine.connect() as connection:
        connection.execute(text(before))
        assert connection.scalar(text("SELECT count(*) FROM public.tasks")) == 0
        assert connection.scalar(text("SELECT count(*) FROM public.members")) == 1
        connection.rollback()


def test_whoever_switches_policies_off_is_refused_all(people: dict[str, PostgreSQL]) -> None:
    with people["ben"].engine.connect() as connection:
        connection.execute(text("SET row_security = off"))
        with pytest.raises(DBAPIError, match="row-level security"):
            connection.execute(select(TASKS))


def test_a_claim_under_policies_goes_by_the_index(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    with postgresql.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO tasks "
                "(uid, project, description, payload, priority, state, added_by, added_at) "
                "SELECT 'u' || i, CASE i % 50 WHEN 0 THEN :his ELSE :hers END, "
                "'', '{}', i % 5, 'open', '', 0 FROM generate_series(1, 20000) i"
            ),
            {"his": HIS, "hers": HERS},
        )
        connection.execute(text("ANALYZE"))
    asked = _NEXT._statement.compile(dialect=postgresql.engine.dialect)
    with people["ben"].reading() as connection:
        said = connection.exec_driver_sql(f"EXPLAIN {asked}", {**asked.params, "project": HIS}).scalars()
        plan = "\n".join(said)
    assert "Index Scan using tasks_next on tasks" in plan
    assert "Seq Scan on tasks" not in plan


@pytest.mark.parametrize("name", ODD)
def test_names_are_names_whatever_is_in_them(postgresql: PostgreSQL, server: Server, name: str) -> None:
    make_role(server, name)
    project = f"example.org/{name}"
    with postgresql.writing() as connection:
        connection.execute(insert(MEMBERS).values(who=name, project=project))
    filled(postgresql, HERS, "ann")
    store = PostgreSQL(url_of(server, name))
    try:
        number = Queue(store).add([Draft("mine", project)], name)[0].number
        with store.reading() as connection:
            assert connection.execute(select(TASKS.c.number, TASKS.c.who)).all() == [(number, name)]
        claimed = Queue(store).claim(Holder(name), project, None, 60)
        assert claimed
        assert claimed.holder == name
    finally:
        store.close()
    with postgresql.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(TASKS)) == 3


def test_who_leaves_a_project_sees_nothing_of_it_from_then_on(
    postgresql: PostgreSQL, people: dict[str, PostgreSQL]
) -> None:
    filled(postgresql, HIS, "ben")
    with people["ben"].engine.connect() as connection:  # one that stays open all the while
        assert connection.scalar(select(func.count()).select_from(TASKS)) == 2
        connection.commit()
        with postgresql.writing() as owner:
            owner.execute(MEMBERS.delete().where(MEMBERS.c.who == "ben"))
        assert connection.scalar(select(func.count()).select_from(TASKS)) == 0
