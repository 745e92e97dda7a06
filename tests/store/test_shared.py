"""Checkpoints, events and messages of a team: one suite for every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Connection, func, select, update

from holdfast.store import catalogue, happened, posted
from holdfast.store.catalogue import Entry
from holdfast.store.clocks import wall
from holdfast.store.database import Store
from holdfast.store.happened import Happened
from holdfast.store.posted import Mark, Message
from holdfast.store.tables import CHECKPOINTS, EVENTS, MARKS, MESSAGES

HERE = "git.example.org/harbour/tidegate"


def entry(uid: str, **more: object) -> Entry:
    plain = Entry(uid, HERE, "ann.1", "l", "s1", "", 1000, "{}", "all of it")
    return replace(plain, **more)


def event(uid: str, **more: object) -> Happened:
    return replace(Happened(uid, HERE, "ann.1", "s1", 1000, "checkpoint.taken", "{}"), **more)


def message(uid: str, lasts_ms: int = 60_000, **more: object) -> Message:
    return replace(Message(uid, HERE, "ann.1", '{"text":"open"}', lasts_ms), **more)


def mark(of: str, by: str = "session:s2", **more: object) -> Mark:
    return replace(Mark(of, by, "done", HERE, "ben.2", "{}"), **more)


def count(connection: Connection, table: object) -> int:
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)  # type: ignore[arg-type]


ADDS = {
    "checkpoints": (CHECKPOINTS, lambda c, n: catalogue.add(c, [entry(uid) for uid in n])),
    "events": (EVENTS, lambda c, n: happened.add(c, [event(uid) for uid in n])),
    "messages": (MESSAGES, lambda c, n: posted.post(c, [message(uid) for uid in n])),
    "marks": (MARKS, lambda c, n: posted.mark(c, [mark(uid) for uid in n])),
}


@pytest.mark.parametrize("kind", ADDS)
def test_what_is_sent_twice_is_there_once(store: Store, kind: str) -> None:
    table, add = ADDS[kind]
    with store.writing() as connection:
        assert add(connection, ["a", "b"]) == 2
        assert add(connection, ["b", "c", "c"]) == 1
        assert add(connection, []) == 0
    with store.reading() as connection:
        assert count(connection, table) == 3


@pytest.mark.parametrize("kind", ADDS)
def test_when_it_was_received_the_store_says(store: Store, kind: str) -> None:
    table, add = ADDS[kind]
    with store.writing() as connection:
        before = wall(connection)
        add(connection, ["a"])
        after = wall(connection)
        assert before - 5 <= connection.scalar(select(table.c.received)) <= after + 5


@pytest.mark.parametrize("kind", ADDS)
def test_all_of_a_transaction_or_nothing(store: Store, kind: str) -> None:
    table, add = ADDS[kind]

    def fail() -> None:
        with store.writing() as connection:
            add(connection, ["a"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as connection:
        assert count(connection, table) == 0


def test_text_that_no_database_takes_is_mended(store: Store) -> None:
    with store.writing() as connection:
        catalogue.add(connection, [entry("a", body="a\0b \ud800 größer → 你好")])
        found = catalogue.one(connection, "a")
    assert found
    assert found.body == "a\ufffdb ? größer → 你好"


def test_a_checkpoint_that_is_gone_is_not_told_of_and_its_words_are_gone_too(store: Store) -> None:
    with store.writing() as connection:
        catalogue.add(connection, [entry("a"), entry("b")])
        assert catalogue.end(connection, ["a", "no such"], "ann.1") == 1
        assert catalogue.end(connection, [], "ann.1") == 0
        assert catalogue.one(connection, "a") is None
        assert connection.scalar(select(CHECKPOINTS.c.body).where(CHECKPOINTS.c.uid == "a")) == ""
        assert catalogue.of_machine(connection, "ann.1").keys() == {"b"}
        catalogue.add(connection, [entry("a")])  # sent again by an outbox that was not removed in time
        assert catalogue.of_machine(connection, "ann.1").keys() == {"b"}


def test_what_a_machine_has_after_all_is_there_again_with_what_it_says(store: Store) -> None:
    with store.writing() as connection:
        catalogue.add(connection, [entry("a"), entry("b", machine="ben.2"), entry("c")])
        catalogue.end(connection, ["a", "c"], "ann.1")
        catalogue.end(connection, ["b"], "ben.2")
        again = [entry("a", body="half a\0word"), entry("b")]
        assert catalogue.revive(connection, again, "ann.1") == 1
        assert catalogue.of_machine(connection, "ann.1").keys() == {"a"}
        assert catalogue.of_machine(connection, "ben.2") == {}
        found = catalogue.one(connection, "a")
    assert found
    assert found.body == "half a\ufffdword"


def test_nobody_ends_another_machines_checkpoint(store: Store) -> None:
    with store.writing() as connection:
        catalogue.add(connection, [entry("a")])
        assert catalogue.end(connection, ["a"], "ben.2") == 0
        assert catalogue.one(connection, "a")


def test_a_machine_that_got_another_name_still_ends_its_own(store: Store) -> None:
    with store.writing() as connection:
        catalogue.add(connection, [entry("a"), entry("b")])
        assert catalogue.of_machine(connection, "anns-new.name.1").keys() == {"a", "b"}
        assert catalogue.of_machine(connection, "ann.11") == {}
        assert catalogue.end(connection, ["a"], "anns-new.name.1") == 1
        assert catalogue.one(connection, "a") is None


def test_a_list_is_newest_first_of_one_project_or_all_and_without_bodies(store: Store) -> None:
    with store.writing() as connection:
        entries = [
            entry("a", created=1),
            entry("b", created=3),
            entry("c", created=2, project="other", body=""),
        ]
        catalogue.add(connection, entries)
        found = catalogue.newest(connection, None, 0)
        assert [(one.uid, one.body, one.size) for one in found] == [
            ("b", "", 9),
            ("c", "", 0),
            ("a", "", 9),
        ]
        assert [one.uid for one in catalogue.newest(connection, HERE, 0)] == ["b", "a"]
        assert [one.uid for one in catalogue.newest(connection, None, 1)] == ["b"]


def test_events_come_in_the_order_in_which_the_store_heard_of_them(store: Store) -> None:
    """Clocks of machines differ: `at` does not count."""
    with store.writing() as connection:
        happened.add(connection, [event("a", at=9_000_000)])
        connection.execute(update(EVENTS).values(received=EVENTS.c.received - 1000))
        happened.add(connection, [event("b", at=1, event="task.added"), event("c", at=2, session="s2")])
        assert {one.uid for one in happened.newest(connection, "", None, 2)} == {"b", "c"}
        assert [one.uid for one in happened.newest(connection, "task.", None, 0)] == ["b"]
        assert [one.uid for one in happened.newest(connection, "", "s2", 0)] == ["c"]
        assert happened.newest(connection, "%", None, 0) == []


def test_a_message_stands_as_long_as_it_lasts_by_the_stores_clock(store: Store) -> None:
    with store.writing() as connection:
        posted.post(
            connection, [message("a", 60_000), message("b", 0), message("c", 60_000, project="other")]
        )
        now = wall(connection)
        assert [one.uid for one in posted.standing(connection, [HERE], 0, now)] == ["a"]
        assert posted.standing(connection, [HERE], 0, now + 61_000) == []
        assert posted.standing(connection, [HERE], now + 10_000, now) == []
        assert posted.standing(connection, [], 0, now) == []


def test_marks_are_told_of_messages_that_stand(store: Store) -> None:
    with store.writing() as connection:
        posted.post(connection, [message("a"), message("b", 0)])
        posted.mark(connection, [mark("a"), mark("a", "session:s3"), mark("b")])
        now = wall(connection)
        found = posted.marks(connection, [HERE], 0, now)
        assert {(one.message, one.reader) for one in found} == {("a", "session:s2"), ("a", "session:s3")}
        assert posted.marks(connection, [HERE], now + 10_000, now) == []


def test_a_control_without_ids_would_be_caught(store: Store) -> None:
    """What the tests above see when rows are simply inserted."""
    careless: Callable[[Connection], object] = lambda c: c.execute(  # noqa: E731
        MARKS.insert(), [vars(mark("a", received=1)), vars(mark("a", received=1))]
    )
    with pytest.raises(Exception, match=r"UNIQUE|unique"), store.writing() as connection:
        careless(connection)
