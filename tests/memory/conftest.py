"""Engines of deep memory to be tried: one file of tests for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.memory import qdrant
from holdfast.memory.index import Index
from holdfast.memory.postgres import Postgres
from holdfast.memory.qdrant import Qdrant
from holdfast.memory.shelf import Shelf
from holdfast.store.postgres import PostgreSQL
from memory.qdrant import StandIn
from store.conftest import postgresql, server  # noqa: F401


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Index]:
    with Index(str(tmp_path / "memory.db")) as made:
        yield made


@pytest.fixture
def on_postgresql(postgresql: PostgreSQL) -> Postgres:  # noqa: F811
    return Postgres(postgresql, "here")


@pytest.fixture
def on_qdrant(on_postgresql: Postgres, tmp_path: Path) -> Iterator[Qdrant]:
    """Embedded, in a folder."""
    made = Qdrant(on_postgresql, str(tmp_path / "qdrant"))
    yield made
    qdrant._client(made._url).close()
    qdrant._client.cache_clear()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.stop()
    qdrant._client.cache_clear()


@pytest.fixture
def on_wire(on_postgresql: Postgres, stand_in: StandIn) -> Qdrant:
    """By HTTP, from a stand-in."""
    return Qdrant(on_postgresql, stand_in.url)


@pytest.fixture(params=["sqlite", "postgresql", "qdrant", "wire"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    made: Shelf = request.getfixturevalue(f"on_{request.param}")
    return made
