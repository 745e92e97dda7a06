"""One real service for all tests that do not stop it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from door import Service, serving


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("served") / "home") as running:
        yield running
