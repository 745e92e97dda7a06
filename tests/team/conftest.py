"""Two machines and the store that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store import projects
from holdfast.store.postgres import PostgreSQL
from store.conftest import BUSY_S, postgresql, server  # noqa: F401
from store.postgres import Server
from teammate import Machine


@pytest.fixture(autouse=True)
def _git_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does not say in time waits for the next round."""
    monkeypatch.setattr(projects, "_PATIENCE_S", BUSY_S)


@pytest.fixture
def engine(server: Server) -> Iterator[Server]:  # noqa: F811
    """For tests that stop it: it runs again afterwards."""
    yield server
    server.pause(False)
    if server.process.poll() is not None:
        server.start()


@pytest.fixture
def ann(tmp_path: Path, server: Server, postgresql: PostgreSQL) -> Machine:  # noqa: F811
    return Machine(tmp_path / "ann", server.url)


@pytest.fixture
def ben(tmp_path: Path, server: Server, postgresql: PostgreSQL) -> Machine:  # noqa: F811
    return Machine(tmp_path / "ben", server.url)
