"""Trials in which it is chance whether what they are for comes about at all: who is to be killed may be
through before its turn comes, and processes that could disturb each other may never meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


def tries(folder: Path, most: int = 8) -> Iterator[Path]:
    """Folders, one for each try. Whoever asks returns as soon as it came about; else the test fails."""
    for number in range(most):
        made = folder / str(number)
        made.mkdir()
        yield made
    pytest.fail(f"it never came about in {most} tries")
