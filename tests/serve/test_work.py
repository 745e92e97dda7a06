"""How the service carries out what it is asked, apart from who asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import trail
from holdfast.errors import HoldfastError
from holdfast.serve import work
from holdfast.serve.work import Work


def test_a_spool_that_cannot_be_read_is_told_of_once_until_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Holdfast.open({"HOLDFAST_HOME": str(tmp_path)})
    troubles = iter(["fire", "fire", "flood", "flood", "", "flood"])

    def drained(_: Holdfast) -> None:
        if trouble := next(troubles):
            raise HoldfastError(trouble)

    async def looked() -> None:
        working = Work(app)
        for _ in range(6):
            await working.settle()
            await working._settling  # type: ignore[misc]

    monkeypatch.setattr(work, "drain", drained)
    asyncio.run(looked())
    said = [note["what"] for note in trail.recent(app.home)]
    assert said == ["fire", "flood", "flood"]
