"""Where the client compacts, found by driving it there, is where holdfast says it will."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.client import Machine, wired
from hooks import command, folder, lines

WINDOW, PERCENT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
#: The client adds its own estimate of what came after an answer to what the API said of it.
BELOW, ABOVE = -200, 100


def row(at: int, model: str, env: dict | None = None, settings: dict | None = None) -> object:
    name = "-".join([model, *map(str, (env or {}).values()), *map(str, (settings or {}).values())])
    return pytest.param(at, model, env or {}, settings or {}, id=name)


@pytest.mark.parametrize(
    ("at", "model", "env", "settings"),
    [
        row(126_000, "claude-opus-4-6", {PERCENT: "70"}),
        row(467_000, "claude-opus-5-5", {WINDOW: "500000"}),
        row(167_000, "claude-sonnet-4-5", {WINDOW: "500000"}),
        row(167_000, "claude-opus-5-5", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}),
        row(117_000, "claude-sonnet-4-5", settings={"autoCompactWindow": 150_000}),
        row(967_000, "claude-unheard-of-9"),
        row(67_000, "claude-sonnet-4-5", {WINDOW: "50000"}),  # the client takes less than 100k for 100k
        row(117_000, "claude-sonnet-4-5", {WINDOW: "150k"}),
        row(126_900, "claude-opus-4-6", {PERCENT: "70.5"}),
    ],
)
def test_capacity_is_where_the_client_compacts(
    at: int, model: str, env: dict, settings: dict, tmp_path: Path, binary: Path
) -> None:
    contexts = (at // 2, at + BELOW, at + ABOVE, 20_000)
    script = [{"say": "step", "run": "echo step", "context": context} for context in contexts]
    machine = Machine(tmp_path, binary)
    run = machine.run(
        {"main": [*script, {"say": "finished", "context": 20_100}]},
        ["-p", "go", "--model", model],
        settings=wired(command()) | settings,
        env=env,
    )
    kinds = [request["kind"] for request in run.requests]
    assert kinds == ["main", "main", "main", "summary", "main", "main"], "the client changed, not holdfast"
    samples = lines(folder(machine.config / "holdfast", run.session) / "samples.jsonl")
    assert samples[-1]["capacity"] == at
    measured = {sample["capacity"] for sample in samples if sample["context"]}
    assert measured == {at}, "and it knew before the client did it"
