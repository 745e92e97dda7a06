"""The client's settings, layer over layer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.disk.client import settings


def written(
    folder: Path, user: object = None, project: object = None, local: object = None
) -> tuple[str, str]:
    client, cwd = folder / "client", folder / "project"
    (cwd / ".claude").mkdir(parents=True)
    client.mkdir()
    for path, value in (
        (client / "settings.json", user),
        (cwd / ".claude/settings.json", project),
        (cwd / ".claude/settings.local.json", local),
    ):
        if value is not None:
            path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(client), str(cwd)


AUTO = {"autoCompactWindow": 150_000}


@pytest.mark.parametrize(
    ("layers", "environ", "expected"),
    [
        ({}, {}, {}),
        ({"user": AUTO}, {}, {"auto_window": 150_000, "auto_window_from": "settings"}),
        (
            {"user": AUTO, "local": {"autoCompactWindow": 300_000}},
            {},
            {"auto_window": 300_000, "auto_window_from": "settings"},
        ),
        (
            {
                "project": {"modelSettings": {"claude-opus-5-5": {"autoCompactWindow": 250_000}}},
                "user": AUTO,
            },
            {},
            {
                "auto_window": 150_000,
                "auto_window_from": "settings",
                "model_windows": {"claude-opus-5-5": 250_000},
            },
        ),
        (
            {},
            {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150k", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70.5"},
            {"auto_window": 150_000, "auto_window_from": "environment", "percent": 70.5},
        ),
        (
            {},
            {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "50000"},
            {"auto_window": 100_000, "auto_window_from": "environment"},
        ),
        ({}, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "0"}, {}),
        (
            {"user": AUTO},
            {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
            {"auto_window": 100_000, "auto_window_from": "environment"},
        ),
        ({"user": {"autoCompactEnabled": False}}, {}, {"compaction_off": True}),
        ({"user": {"autoCompactEnabled": False}, "local": {"autoCompactEnabled": True}}, {}, {}),
        ({}, {"DISABLE_AUTO_COMPACT": "1"}, {"compaction_off": True}),
        ({}, {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "true"}, {"no_1m": True}),
        ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70"}, {"percent": 70}),
        ({}, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "700", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "-5"}, {}),
        ({"user": "{ not json", "project": "[]", "local": {"autoCompactWindow": "200000"}}, {}, {}),
        ({"user": {"autoCompactWindow": 5}}, {}, {}),
    ],
)
def test_settings_are_found_where_the_client_looks(
    tmp_path: Path, layers: dict, environ: dict, expected: dict
) -> None:
    client, cwd = written(tmp_path, **layers)
    assert settings(environ, client, cwd) == expected
