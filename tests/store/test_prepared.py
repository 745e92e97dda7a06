"""Statements that are put into words once: what they give, whoever carries them out."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, select, text, update

from holdfast.errors import Unavailable
from holdfast.store.database import Store
from holdfast.store.prepared import Prepared
from holdfast.store.queue import Queue
from holdfast.store.tables import TASKS
from holdfast.store.task import Draft

ABOVE = Prepared(
    select(TASKS.c.number, (TASKS.c.priority + 1).label("more"))
    .where(TASKS.c.priority > bindparam("priority"))
    .order_by(TASKS.c.number)
    .limit(2)
)
RAISED = Prepared(update(TASKS).where(TASKS.c.number == bindparam("this")).values(priority=bindparam("to")))


@pytest.fixture
def tasks(store: Store) -> Store:
    Queue(store).add([Draft("it", "p", priority) for priority in range(5)], "me")
    return store


def test_rows_know_their_columns_by_name(tasks: Store) -> None:
    with tasks.reading() as connection:
        rows = ABOVE(connection, priority=1)
        assert [(row.number, row.more) for row in rows] == [(3, 3), (4, 4)]
        assert rows[0]._asdict() == {"number": 3, "more": 3}
        assert ABOVE(connection, priority=9) == []


def test_what_asks_for_nothing_gives_nothing_and_is_done(tasks: Store) -> None:
    with tasks.writing(RAISED) as connection:
        assert RAISED(connection, this=1, to=7) == []
    with tasks.reading() as connection:
        assert [row.number for row in ABOVE(connection, priority=6)] == [1]


def test_what_fails_afterwards_undoes_it(tasks: Store) -> None:
    def fail() -> None:
        with tasks.writing() as connection:
            RAISED(connection, this=1, to=7)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with tasks.reading() as connection:
        assert ABOVE(connection, priority=6) == []


def test_all_that_is_read_is_of_one_moment(sqlite: Store) -> None:
    Queue(sqlite).add([Draft("it", "p", 1)], "me")
    with sqlite.reading() as connection:
        assert len(ABOVE(connection, priority=0)) == 1
        Queue(sqlite).add([Draft("more", "p", 1)], "me")
        assert len(ABOVE(connection, priority=0)) == 1
    with sqlite.reading() as connection:
        assert len(ABOVE(connection, priority=0)) == 2


def test_what_the_database_refuses_is_told_in_our_words(tasks: Store) -> None:
    with tasks.writing() as connection:
        connection.execute(text("ALTER TABLE tasks RENAME COLUMN priority TO urgency"))
    with pytest.raises(Unavailable, match="priority"), tasks.reading() as connection:
        ABOVE(connection, priority=1)
