"""Stores to be tried: one file of tests for every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from holdfast.store.database import SQLite, Store
from holdfast.store.postgres import PostgreSQL
from store.postgres import Server

#: How long a statement may take where the machine has other things to do.
BUSY_S = 120


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("pg"))
    yield made
    made.stop()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    made = SQLite(str(tmp_path / "store.db"))
    yield made
    made.close()


@pytest.fixture
def postgresql(server: Server) -> Iterator[PostgreSQL]:
    made = PostgreSQL(server.url, timeout_s=BUSY_S)
    with made.writing() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    made.bring_up()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    made: Store = request.getfixturevalue(request.param)
    return made
