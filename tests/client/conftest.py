"""The client's tests: one real client for all of them, and no silent way around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from client.binary import Unavailable, ensure
from client.client import namespace, wired
from client.scenario import NAMES, Played, play
from hooks import command
from skipping import NOT_TESTED, SKIPPED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SKIPPED:
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=NOT_TESTED))


@pytest.fixture(scope="session")
def binary() -> Path:
    """The client, and a place where it may be run. Without either the tests fail: they are the only
    ones that would notice a client that changed."""
    try:
        namespace()
        return ensure()
    except Unavailable as problem:
        pytest.fail(str(problem), pytrace=False)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of this test run, so that each scenario is played once."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "scenarios"


@pytest.fixture(scope="session", params=NAMES)
def played(request: pytest.FixtureRequest, shared: Path, binary: Path) -> Played:
    """A scenario with holdfast's hooks on every event, beside the probe."""
    return play(request.param, shared / request.param, binary, wired(command()))
