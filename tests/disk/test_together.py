"""Many agents that take checkpoints at once, and one whose clock goes back. `bench/agents.py` has more of
them and says how long it takes."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

import pytest

from agents import Plan, Trial, body, careless, carelessly_listed, draft, wrong, wrong_shown
from chance import tries
from holdfast import clock
from holdfast.app import Holdfast
from holdfast.clock import id_time, new_id
from holdfast.core import checkpoint
from holdfast.core.events import Event
from holdfast.disk import checkpoints, index, retention
from holdfast.disk.folder import Folder
from holdfast.disk.home import Home
from holdfast.engine import handle

NOW = 1_794_000_000_000
HOUR = 3600 * 1000


@pytest.mark.parametrize("shared", [True, False])
def test_what_many_agents_take_at_once_is_all_there(tmp_path: Path, shared: bool) -> None:
    trial = Trial(tmp_path, Plan(agents=8, each=8, shared=shared)).run()
    assert [*wrong(trial, trial.listed()), *wrong_shown(trial)] == []
    assert len(index.load_all(trial.home).entries) == 64


def test_agents_that_are_killed_pay_what_they_owe_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = Trial(folder, Plan(agents=8, each=10, kills=12, pause_s=0.1, seed=3)).run()
        assert [*wrong(trial, trial.listed()), *wrong_shown(trial)] == []
        if trial.killed:
            return


def test_an_index_that_is_read_changed_and_rewritten_is_found_out(tmp_path: Path) -> None:
    for folder in tries(tmp_path):
        trial = Trial(folder, Plan(agents=8, each=8, add=careless)).run()
        kinds = [kind for kind, _ in wrong(trial, carelessly_listed(trial.home))]
        if "lost" in kinds:
            return


def test_a_checker_that_is_lied_to_says_so(tmp_path: Path) -> None:
    trial = Trial(tmp_path, Plan(agents=2, each=3)).run()
    listed = trial.listed()
    entry, uid = listed[0], new_id(NOW)
    tries = {
        "lost": listed[1:],
        "duplicate": [*listed, {**entry, "summary": "x"}],
        "phantom": [*listed, {**entry, "uid": uid}],
        "order": listed[::-1],
    }
    for kind, told in tries.items():
        assert kind in {found for found, _ in wrong(trial, told)}, kind
    Path(entry["path"]).unlink()
    assert {kind for kind, _ in wrong(trial, listed)} == {"phantom"}


def test_a_body_is_as_large_as_those_of_sessions() -> None:
    sizes = [len(body(random.Random(seed))) for seed in range(40)]
    assert min(sizes) > 5_000
    assert max(sizes) < 9_000


# Names and clocks


def take(home: Home, project: Path, at: int, uid: str = "") -> dict:
    return checkpoints.take(home, draft((uid or new_id(at), at), str(project), "s1", random.Random(at)))


def test_in_one_second_all_names_differ_and_their_iterations_count_up(tmp_path: Path, home: Path) -> None:
    entries = [take(Home(str(home)), tmp_path, NOW + turn) for turn in range(5)]
    assert [entry["id"][17:] for entry in entries] == ["", "-002", "-003", "-004", "-005"]
    assert [entry["iteration"] for entry in entries] == [1, 2, 3, 4, 5]


def test_who_pays_again_finds_what_was_written(tmp_path: Path, home: Path) -> None:
    """Killed after the index line: the debt is paid once more, and there is one file and one entry."""
    first = take(Home(str(home)), tmp_path, NOW)
    other = take(Home(str(home)), tmp_path, NOW)
    assert take(Home(str(home)), tmp_path, NOW, uid=first["uid"]) == first
    assert take(Home(str(home)), tmp_path, NOW, uid=other["uid"]) == other
    assert list(index.load_all(Home(str(home))).entries) == sorted((first["uid"], other["uid"]))
    assert len(list((tmp_path / ".claude/checkpoints").glob("2*.md"))) == 2


def saved(app: Holdfast, project: Path, at: int) -> dict:
    data = {"cwd": str(project), "transcript_path": "", "trigger": "auto"}
    return handle(Event("PreCompact", "s1", at, data), app).checkpoint


def test_a_first_try_does_not_read_what_others_took_in_the_same_second(
    tmp_path: Path, home: Path, monkeypatch
) -> None:
    """Each of 64 agents would read all the others' checkpoints to see that none of them is its own."""
    app = Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(tmp_path)})
    for _ in range(6):
        saved(app, tmp_path, NOW)
    names, read = [], Folder.read
    monkeypatch.setattr(
        Folder, "read", lambda self, name, most: (names.append(name), read(self, name, most))[1]
    )
    entry = saved(app, tmp_path, NOW)
    assert entry["id"].endswith("-007")
    assert [name for name in names if name.endswith(".md")] == [entry["id"][:-1] + "6.md"]  # `latest.md`


def test_when_the_clock_goes_back_an_hour_the_newest_is_still_the_newest(
    tmp_path: Path, home: Path
) -> None:
    app = Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(tmp_path)})
    times = (NOW, NOW + 1000, NOW - HOUR, NOW - HOUR + 1, NOW - HOUR + 2, NOW - 10 * 365 * 24 * HOUR)
    taken = [saved(app, tmp_path, at) for at in times]
    uids = [entry["uid"] for entry in taken]
    assert uids == sorted(uids)
    assert list(index.load_all(app.home).entries) == uids
    assert len({entry["id"] for entry in taken}) == len(taken)
    assert [entry["iteration"] for entry in taken] == [1, 2, 3, 4, 5, 6]
    assert [entry["parent"] for entry in taken] == ["", *(entry["id"] for entry in taken[:-1])]
    assert checkpoints.head(app.home, taken[0]["lineage"])["uid"] == uids[-1]
    assert os.readlink(tmp_path / ".claude/checkpoints/latest.md") == taken[-1]["id"] + ".md"
    assert id_time(uids[-1]) > NOW


@pytest.mark.parametrize("found", [b"", b"x", b"-1", b"\0" * 16, b"1\n2", b"3.5", b"\xff"])
def test_a_counter_that_says_nothing_is_counted_anew(tmp_path: Path, home: Path, found: bytes) -> None:
    take(Home(str(home)), tmp_path, NOW)
    take(Home(str(home)), tmp_path, NOW)
    (tmp_path / ".claude/checkpoints/.checkpoint_iteration").write_bytes(found)
    assert take(Home(str(home)), tmp_path, NOW)["iteration"] == 3


@pytest.mark.parametrize("found", [b"9" * 15, b"9" * 16, b"9" * 400])
def test_a_counter_that_a_stranger_has_wound_up_keeps_nobody_from_saving(
    tmp_path: Path, home: Path, found: bytes
) -> None:
    """It stands in the project, and a project may be cloned from anyone."""
    (tmp_path / ".claude/checkpoints").mkdir(parents=True)
    (tmp_path / ".claude/checkpoints/.checkpoint_iteration").write_bytes(found)
    for _ in range(3):
        take(Home(str(home)), tmp_path, NOW)


def test_a_foreign_checkpoint_with_a_huge_number_keeps_nobody_from_saving(
    tmp_path: Path, home: Path
) -> None:
    made = draft((new_id(NOW), NOW), str(tmp_path), "s1", random.Random(1))
    fields = {**made.fields, "id": "2026-01-01-000000", "uid": made.uid, "created": "x"}
    data = checkpoint.render({**fields, "iteration": 10**15 - 1}, made.body, bytes(32))
    (tmp_path / ".claude/checkpoints").mkdir(parents=True)
    (tmp_path / ".claude/checkpoints/2026-01-01-000000.md").write_bytes(data)
    take(Home(str(home)), tmp_path, NOW)


@pytest.mark.parametrize("what", ["folder", "fifo", "link"])
def test_a_counter_that_is_no_file_is_not_written_into(tmp_path: Path, home: Path, what: str) -> None:
    take(Home(str(home)), tmp_path, NOW)
    counter = tmp_path / ".claude/checkpoints/.checkpoint_iteration"
    counter.unlink()
    victim = tmp_path / "victim"
    victim.write_text("7\n")
    {
        "folder": counter.mkdir,
        "fifo": lambda: os.mkfifo(counter),
        "link": lambda: counter.symlink_to(victim),
    }[what]()
    assert take(Home(str(home)), tmp_path, NOW)["iteration"] == 2
    assert victim.read_text() == "7\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-11-16-043904", True),
        ("2026-11-16-043904-002", True),
        ("2026-11-16-043904-1999", True),
        ("2026-11-16-043904-02", False),
        ("2026-11-16-043904-00002", False),
        ("2026-11-16-043904.md", False),
        ("2026-11-16-04390", False),
        ("2026-11-16-04390٤", False),
        ("2026-11-16-043904-00\u0662", False),
        ("2026_11_16_043904", False),
        (" 026-11-16-043904", False),
        ("latest", False),
        ("", False),
    ],
)
def test_a_name_is_a_time_and_nothing_else(name: str, expected: bool) -> None:
    assert checkpoints.is_stem(name) is expected


def test_names_are_in_the_order_of_time_and_only_those_before_one(tmp_path: Path) -> None:
    names = ["2026-11-16-043904", "2026-11-16-043904-002", "2026-11-17-000000", "2027-01-01-000000"]
    for name in [*names, "notes", ".2026-11-16-043904", "latest"]:
        (tmp_path / f"{name}.md").touch()
    with Folder.open(str(tmp_path)) as folder:
        assert checkpoints.stems(folder) == names
        assert checkpoints.stems_of(folder.names(), "2026-11-17-000000") == names[:2]


def test_a_large_folder_is_listed_more_seldom_and_more_of_it_looked_at(
    tmp_path: Path, home: Path, monkeypatch
) -> None:
    looked: list[tuple[int, int]] = []
    real = retention.prune_folder

    def pruned(*args, **named) -> list[str]:
        looked.append((args[3], args[5]))
        return real(*args, **named)

    monkeypatch.setattr(retention, "prune_folder", pruned)
    monkeypatch.setattr(checkpoints, "_PRUNED_EVERY", 2)
    for large, expected in ((False, [(64, 0), (64, 1), (64, 2)]), (True, [(192, 1)])):
        size = (tmp_path / ".claude/checkpoints").stat().st_size if large else 1 << 40
        monkeypatch.setattr(checkpoints, "_LISTED", size // 2)
        for turn in range(6):
            take(Home(str(home)), tmp_path, NOW + turn + 9 * large)
        assert looked == expected
        looked.clear()


@pytest.mark.parametrize(
    ("days", "left"),
    [
        ([0, 1, 4000, 4000], [0, 1, 4000, 4000]),  # a clock that has leapt
        ([0, 1, 20, 20], [20, 20]),
        ([0, 1, 60, 61], [60, 61]),  # somebody was away, and is back since yesterday
        ([0, 1, 2, 8], [2, 8]),
    ],
)
def test_a_clock_is_believed_a_day_after_it_leapt(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, days: list[int], left: list[int]
) -> None:
    monkeypatch.setattr(checkpoints, "_tidied", partial(tidied_each_time, checkpoints._tidied))
    for number, day in enumerate(days):
        take(Home(str(home)), tmp_path, NOW + day * 24 * HOUR + number * 1000)
    found = index.load_all(Home(str(home))).entries.values()
    assert [(clock.at(entry["created"]) - NOW) // (24 * HOUR) for entry in found] == left


def tidied_each_time(real, home, folder, _iteration, at, config) -> None:
    real(home, folder, 1, at, config)
