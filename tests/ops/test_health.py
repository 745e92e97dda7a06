"""What a session may still be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.ops.health import Health, health
from session import Script

LONG = "Build the tide table as it is described here. " + "The gauge is read every minute. " * 200


def asked(tmp_path: Path, script: Script, **environ: str) -> Health:
    folder = tmp_path / "client/projects/-home-mira-tidegate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "s1.jsonl").write_bytes(script.bytes())
    given = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "client"), **environ}
    return health(Holdfast.open(given), session="s1")


@pytest.mark.parametrize(
    ("context", "room", "pressed"),
    [(20_000, 80_200, False), (100_000, 200, False), (110_000, 0, False), (150_000, 0, True)],
)
def test_room_is_what_is_left_until_sixty_percent(
    tmp_path: Path, context: int, room: int, pressed: bool
) -> None:
    script = Script()
    script.prompt("go on")
    script.answer(context=context, output=0)
    found = asked(tmp_path, script)
    assert (found.room, found.under_pressure) == (room, pressed)


def test_large_specs_are_counted_and_remarks_are_not(tmp_path: Path) -> None:
    script = Script()
    left = []
    for number in range(4):
        script.prompt(f"{number}: {LONG}")
        script.answer(context=20_000, output=0)
        script.prompt("yes")
        script.answer(context=21_000, output=0)
        found = asked(tmp_path, script)
        left.append((found.specs, found.specs_left))
    assert left == [(1, 2), (2, 1), (3, 0), (4, 0)]
    assert asked(tmp_path, script, HOLDFAST_ORCHESTRATOR_SPECS="9").specs_left == 5
