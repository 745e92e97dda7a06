"""Stores to be tried: one file of tests for every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.database import SQLite, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = SQLite(str(tmp_path / "store.db"))
    yield made
    made.close()
