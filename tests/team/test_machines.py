"""What one machine does, and another sees."""

from __future__ import annotations

from sqlalchemy import func, select

from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import CHECKPOINTS, EVENTS
from teammate import PROJECT, Machine


def test_a_checkpoint_and_what_happened_reach_the_store_once(ann: Machine, postgresql: PostgreSQL) -> None:
    ann.sync()
    ann.begin()
    taken = ann.take()
    first, second = ann.sync(), ann.sync()
    assert first["sent"] >= 2
    assert (first["trouble"], first["waiting"], second["sent"]) == ("", 0, 0)
    with postgresql.reading() as connection:
        row = connection.execute(select(CHECKPOINTS)).one()
        assert (row.uid, row.project, row.who) == (taken["uid"], PROJECT, "team")
        assert "## Goal" in row.body or "## " in row.body
        assert row.machine.startswith("ann.")
        events = connection.execute(select(EVENTS.c.event, EVENTS.c.project)).all()
    assert ("checkpoint.taken", PROJECT) in [tuple(event) for event in events]


def test_what_one_says_on_the_board_the_other_is_told_and_what_it_did_comes_back(
    ann: Machine, ben: Machine
) -> None:
    for machine in (ann, ben):
        machine.sync()
        machine.begin()
    said = ann.say("board", "post", "the gate is open", "--type", "request", "--to", "role:lead")
    ann.sync()
    assert ben.sync()["received"] == 1
    told = ben.hook("UserPromptSubmit")
    assert "the gate is open" in told
    ben.say("board", "ack", said["id"], "--session", "s1")
    ben.sync()
    ann.sync()
    (message,) = [one for one in ann.say("board", "list", "--every") if one["id"] == said["id"]]
    assert message["state"] == "done"


def test_an_event_is_not_counted_twice(ann: Machine, postgresql: PostgreSQL) -> None:
    ann.sync()
    ann.begin()
    ann.sync()
    ann.sync("--all")
    with postgresql.reading() as connection:
        uids, rows = connection.execute(select(func.count(func.distinct(EVENTS.c.uid)), func.count())).one()
    assert uids == rows
