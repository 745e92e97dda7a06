"""Saves by environment: durable, whole, redacted."""

from __future__ import annotations

import posix
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.redact import Redactor
from holdfast.disk import files, saves
from holdfast.disk.home import Home
from holdfast.errors import BadInput

AT = 1_794_852_000_000
TOKEN = "ghp_" + "x7Kq2mZt9Rw4Lb8Vn3Pd6Hs1Yc5Jf0Ga2Te"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def a_save(environment: str = "development", **said: Any) -> dict:
    return saves.made(AT, environment, saves.MANUAL, Redactor(b"key").text, **said)


def test_what_is_added_is_there_newest_last(home: Home):
    first, second = a_save(task="dredge the lock"), a_save(task="mend the weir", tags=["weir"])
    saves.add(home, [first])
    saves.add(home, [second, a_save("staging")])
    assert saves.of(home, "development") == [first, second]
    assert saves.environments(home) == ["development", "staging"]


def test_an_environment_nobody_saved_has_none(home: Home):
    assert saves.of(home, "elsewhere") == []
    assert saves.environments(home) == []


def test_secrets_and_what_cannot_be_seen_stay_out(home: Home):
    said: dict[str, Any] = {
        "task": f"push with {TOKEN}",
        "context": f"one\x1b[2J\ntwo {TOKEN}",
        "next_steps": "a\u202eb",
        "branch": f"b\n{TOKEN}",
        "tags": [TOKEN, "t\x00"],
    }
    saves.add(home, [a_save(**said)])
    written = Path(home.root, "environments/development.jsonl").read_text()
    assert TOKEN not in written
    (kept,) = saves.of(home, "development")
    assert kept["context"].split("\n")[0] == "one [2J"
    assert kept["next_steps"] == "ab"
    assert "\n" not in kept["branch"] + kept["task"]
    assert kept["tags"][1] == "t"


def test_it_has_a_bound_however_much_is_said(home: Home):
    kept = a_save(task="t" * 10_000_000, context="c\n" * 10_000, tags=["x" * 1000] * 1000)
    assert len(kept["task"]) <= 302
    assert len(kept["context"]) <= 4000
    assert len(kept["tags"]) == 32
    assert len(kept["tags"][0]) <= 102


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "-x", "n" * 129, "a\0b", "ä"])
def test_a_name_that_is_no_file_name_is_refused(home: Home, name: str):
    with pytest.raises(BadInput, match="environment"):
        a_save(name)
    with pytest.raises(BadInput, match="environment"):
        saves.of(home, name)


def test_damage_costs_only_the_line_it_is_in(home: Home):
    each = [a_save(task=f"number {number}") for number in range(3)]
    for save in each:
        saves.add(home, [save])
    path = Path(home.root, "environments/development.jsonl")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(
        b"\n".join([lines[0], lines[1].replace(b"number", b"lumber"), *lines[2:]]) + lines[0][:40]
    )
    assert saves.of(home, "development") == [each[0], each[2]]
    saves.add(home, [each[1]])
    assert saves.of(home, "development") == [each[0], each[2], each[1]]


def test_where_a_text_is_cut_no_half_of_a_secret_stays():
    keys = "-----BEGIN RSA PRIVATE KEY-----\n" + "A1b2C3d4" * 1000 + "\n-----END RSA PRIVATE KEY-----\n"
    said = (keys * 2).ljust(saves._LOOKED_AT - 20, ".") + " " + TOKEN
    kept = a_save(context=said)["context"]
    assert "..." in kept
    assert TOKEN[:12] not in kept


def test_much_of_nothing_is_nothing():
    kept = a_save(task=" " * 20_000, context="\n" * 20_000, tags=["\t" * 20_000])
    assert (kept["task"], kept["context"], kept["tags"]) == ("", "", [""])


def test_a_save_that_a_full_disk_did_not_take_leaves_no_name_behind(
    home: Home, monkeypatch: pytest.MonkeyPatch
):
    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(posix, name)

        def write(self, fd: int, data: bytes) -> int:
            raise OSError(28, "No space left on device")

    saves.add(home, [a_save("taken")])
    with monkeypatch.context() as patched:
        patched.setattr(files, "posix", Full())
        with pytest.raises(OSError, match="No space"):
            saves.add(home, [a_save("refused")])
    assert saves.environments(home) == ["taken"]
    assert saves.of(home, "refused") == []
