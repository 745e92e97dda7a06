"""Engines of deep memory to be tried: one file of tests for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.memory.index import Index
from holdfast.memory.postgres import Postgres
from holdfast.memory.shelf import Shelf
from holdfast.store.postgres import PostgreSQL
from store.conftest import postgresql, server  # noqa: F401


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Index]:
    with Index(str(tmp_path / "memory.db")) as made:
        yield made


@pytest.fixture
def on_postgresql(postgresql: PostgreSQL) -> Postgres:  # noqa: F811
    return Postgres(postgresql, "here")


@pytest.fixture(params=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    made: Shelf = request.getfixturevalue(f"on_{request.param}")
    return made
