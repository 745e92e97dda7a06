"""What a team's store keeps no longer, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from holdfast.app import Holdfast
from holdfast.errors import BadInput
from holdfast.ops import members as roster
from holdfast.ops import team
from holdfast.store import retention
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import CHECKPOINTS, EVENTS, MARKS, MESSAGES
from store.postgres import Server
from team.test_members import P, drop_all, machine

DAY = retention.DAY_MS
TABLES = (EVENTS, MESSAGES, MARKS, CHECKPOINTS)


@pytest.fixture
def app(postgresql: PostgreSQL, server: Server, tmp_path: Path) -> Iterator[Holdfast]:
    drop_all(server)
    yield machine(tmp_path / "owner", server.url)
    drop_all(server)


def fill(store: PostgreSQL) -> None:
    """Of each kind one that is old and over, one that is old and not over, and a new one."""
    shared = {"project": P, "machine": "m.1"}
    said = {**shared, "session": "s", "at": 0, "event": "e", "data": "{}"}
    kept = {**shared, "lineage": "l", "session": "s", "agent": "", "created": 0, "entry": "{}", "body": ""}
    with store.writing() as connection:
        clock = connection.scalar(select(func.extract("epoch", func.clock_timestamp())))
        old, new = int(clock * 1000) - 100 * DAY, int(clock * 1000) - DAY
        for name, at in (("old", old), ("new", new)):
            connection.execute(insert(EVENTS).values(uid=name, received=at, **said))
            connection.execute(insert(CHECKPOINTS).values(uid=name, received=old, gone_at=at, **kept))
        connection.execute(insert(CHECKPOINTS).values(uid="stands", received=old, **kept))
        for name, lasts in (("over", DAY), ("lasts", 50 * DAY)):
            message = {**shared, "said": "{}", "received": old}
            connection.execute(insert(MESSAGES).values(uid=name, lasts_ms=lasts, **message))
            connection.execute(insert(MARKS).values(message=name, reader="r", mark="seen", **message))


def left(store: PostgreSQL) -> dict[str, set[str]]:
    with store.reading() as connection:
        return {
            table.name: set(connection.scalars(select(next(iter(table.primary_key))))) for table in TABLES
        }


def test_what_is_older_goes_and_what_stands_stays(
    app: Holdfast, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(postgresql)
    everything = left(postgresql)
    told = team.prune(app, days=90, dry_run=True)
    assert "would remove 1 events, 1 messages, 1 marks, 1 checkpoints" in str(told)
    assert left(postgresql) == everything
    monkeypatch.setattr(retention, "_AT_ONCE", 1)
    assert team.prune(app, days=90).rows == {"events": 1, "messages": 1, "marks": 1, "checkpoints": 1}
    assert left(postgresql) == {
        "events": {"new"},
        "messages": {"lasts"},
        "marks": {"lasts"},
        "checkpoints": {"new", "stands"},
    }
    assert "removed nothing" in str(team.prune(app, days=90))


def test_it_takes_the_owner_and_a_number_of_days(
    app: Holdfast, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    fill(postgresql)
    ann = machine(tmp_path / "ann", roster.member_add(app, "ann", project=(P,)).url)
    with pytest.raises(BadInput, match="who owns the tables"):
        team.prune(ann)
    for days in (0, -1, 10**9):
        with pytest.raises(BadInput, match="--days"):
            team.prune(app, days=days)
    assert "old" in left(postgresql)["events"]
