"""Sessions that were over long ago: what goes, and everything for which one stays."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from agents import draft
from holdfast.clock import new_id
from holdfast.core.state import State
from holdfast.disk import checkpoints, oldsessions, sessions
from holdfast.disk.home import Home

DAY = 24 * 3600 * 1000
NOW = 1_794_000_000_000


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """In which one session was at work yesterday, and one long ago."""
    made = Home(str(tmp_path / "home"))
    worked(made, "recent", 2)
    worked(made, "old", 100)
    return made


def worked(home: Home, name: str, days_ago: int, agent: str = "", **heard: object) -> Path:
    folder = Path(home.session(name, agent))
    with sessions.lock(str(folder)):
        state = State(name, agent)
        for key, value in heard.items():
            setattr(state.heard, key, value)
        sessions.save(home, state)
    (folder / "summaries").mkdir(exist_ok=True)
    (folder / "summaries/a.json").write_text("{}")
    os.utime(folder / "state.json", ns=((NOW - days_ago * DAY) * 1_000_000,) * 2)
    return folder


def left(home: Home, now: int = NOW) -> list[str]:
    oldsessions.prune(home, now, 90)
    return sorted(os.listdir(home.sessions))


def test_one_that_was_over_long_ago_goes_with_all_that_is_known_of_it(home: Home) -> None:
    worked(home, "old", 100, agent="a1")
    assert left(home) == ["recent"]


def owes(home: Home) -> None:
    worked(home, "old", 100, owed={"uid": "x"})


def agent_owes(home: Home) -> None:
    worked(home, "old", 100, agent="a1", owed={"uid": "x"})


def has_its_transcript(home: Home) -> None:
    path = Path(home.root) / "t.jsonl"
    path.touch()
    worked(home, "old", 100, transcript=str(path))


def has_a_checkpoint(home: Home) -> None:

    checkpoints.take(home, draft((new_id(NOW), NOW), home.root, "old", random.Random(1)))


def is_damaged(home: Home) -> None:
    path = Path(home.session("old")) / "state.json"
    path.write_bytes(b"{")
    os.utime(path, ns=((NOW - 100 * DAY) * 1_000_000,) * 2)


def is_younger(home: Home) -> None:
    worked(home, "old", 89)


def is_a_link(home: Home) -> None:
    folder = Path(home.session("old"))
    folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    "reason",
    [owes, agent_owes, has_its_transcript, has_a_checkpoint, is_damaged, is_younger, is_a_link],
)
def test_it_stays_as_long_as_there_is_a_reason(home: Home, reason: Callable[[Home], None]) -> None:
    reason(home)
    assert left(home) == ["old", "recent"]


def test_one_in_whose_hook_we_are_stays(home: Home) -> None:
    ready, done = os.pipe(), os.pipe()
    if not (pid := os.fork()):
        with sessions.lock(home.session("old")):
            os.write(ready[1], b".")
            os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    assert left(home) == ["old", "recent"]
    os.write(done[1], b".")
    os.waitpid(pid, 0)
    assert left(home) == ["recent"]
    for end in (*ready, *done):
        os.close(end)


def test_by_a_clock_that_has_leapt_nothing_goes(home: Home) -> None:
    worked(home, "today", -4000)
    assert left(home, NOW + 4000 * DAY) == ["old", "recent", "today"]


def test_what_a_kill_left_half_removed_goes_next_time_and_links_are_not_followed(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    half = Path(home.sessions) / ".going-x"
    half.mkdir()
    (half / "link").symlink_to(tmp_path / "precious")
    assert left(home) == ["recent"]
    assert (tmp_path / "precious/file").exists()


def test_it_happens_by_itself_when_checkpoints_are_tidied_up(home: Home, tmp_path: Path) -> None:

    checkpoints.take(home, draft((new_id(NOW), NOW), str(tmp_path), "s", random.Random(1)))
    assert sorted(os.listdir(home.sessions)) == ["recent"]
