"""Summaries on disk: written once, whole, and found again."""

import hashlib
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from disk.faults import Faults, kill, no_hard_links, over
from holdfast.disk import summaries
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged, NotFound


@pytest.fixture
def at(tmp_path) -> Home:
    home = Home(str(tmp_path / "home"))
    os.makedirs(home.session("s1"))
    return home


def made(task: str = "1", agent: str = "", **fields) -> dict:
    return {
        "session_id": "s1",
        "task_id": task,
        "subject": "parse the tide tables",
        "start_turn": 1,
        "end_turn": 4,
        "compressed_at": "2026-03-01T10:00:00.000Z",
        "files_modified": ["a.py"],
        "commands_run": [],
        "key_outcomes": ["it is parsed"],
        "errors_resolved": [],
        "agent_id": agent,
        "kind": "task",
        "partial": False,
        "entry": "u-1",
        "place": [10, 20, 10, 50],
    } | fields


def files_in(home: Home, agent: str = "") -> list[Path]:
    return sorted(Path(home.session("s1", agent), "summaries").iterdir())


def test_the_name_is_the_md5_of_session_and_task(at):
    assert summaries.write(at, made("oauth"))
    (path,) = files_in(at)
    assert path.name == hashlib.md5(b"s1:oauth").hexdigest() + ".json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_bytes())["v"] == 1


@pytest.mark.parametrize("task", ["../../etc/passwd", "/abs", "", "ü" * 64, "a\0b", "\ud800", "x" * 5000])
def test_no_id_becomes_a_path(at, task):
    assert summaries.write(at, made(task))
    (path,) = files_in(at)
    assert len(path.name) == 37
    assert summaries.read(at, "s1", path.stem)["task_id"] == task


def test_what_is_written_is_read_again_and_written_once(at):
    assert summaries.write(at, made())
    before = files_in(at)[0].stat()
    assert not summaries.write(at, made(subject="another"))
    assert files_in(at)[0].stat() == before
    (found,) = summaries.newest(at, "s1", 5)
    assert found["subject"] == "parse the tide tables"
    assert summaries.has(at, "s1", "1")
    assert not summaries.has(at, "s1", "2")


def test_one_of_many_writers_writes(at):
    told = []
    threads = [
        threading.Thread(target=lambda n=n: told.append(summaries.write(at, made(subject=f"by {n}"))))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 7 + [True]
    assert len(files_in(at)) == 1
    assert summaries.newest(at, "s1", 9)[0]["subject"].startswith("by ")


def test_agents_have_their_own(at):
    os.makedirs(at.session("s1", "a1"))
    os.makedirs(at.session("s1", "a2"))
    for agent in ("", "a1", "a2"):
        assert summaries.write(at, made(agent=agent, subject=f"of {agent}"))
    assert [summaries.newest(at, "s1", 9, agent)[0]["subject"] for agent in ("", "a1", "a2")] == [
        "of ",
        "of a1",
        "of a2",
    ]
    assert summaries.agents(at, "s1") == ["", "a1", "a2"]


def test_the_newest_come_first_and_no_more_than_asked_for(at):
    for number in range(12):
        assert summaries.write(at, made(str(number), compressed_at=f"2026-03-01T10:00:{number:02d}.000Z"))
        os.utime(
            Path(at.session("s1"), "summaries", summaries.stem("s1", str(number)) + ".json"),
            (number, number),
        )
    assert [one["task_id"] for one in summaries.newest(at, "s1", 3)] == ["11", "10", "9"]
    assert len(summaries.newest(at, "s1", 99)) == 12
    assert summaries.newest(at, "s1", 0) == []
    assert summaries.newest(at, "nobody", 5) == []


def test_of_those_that_were_written_in_one_moment_the_newest_are_told_by_their_place(at):
    for number in range(12):
        assert summaries.write(at, made(str(number), place=[number, number + 1, 0, 0]))
        path = Path(at.session("s1"), "summaries", summaries.stem("s1", str(number)) + ".json")
        os.utime(path, (1000, 1000))
    assert [one["task_id"] for one in summaries.newest(at, "s1", 3)] == ["11", "10", "9"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"null",
        b'{"v":2,"sum":1,"session_id":"s1"}\n',
        lambda data: data[:-20],
        lambda data: data.replace(b"tide", b"tidy"),
        lambda data: data.replace(b'"v":1', b'"v":9'),
        lambda data: summaries.render({**made(), "files_modified": [5]}),
        lambda data: summaries.render({**made(), "start_turn": "1"}),
        lambda data: summaries.render({**made(), "session_id": "s2"}),
        lambda data: summaries.render({**made(), "place": [1, 2, 3]}),
        lambda data: summaries.render(made("2")),
        lambda data: b"[" * 100_000,
        lambda data: b"x" * (1 << 20),
    ],
)
def test_what_is_damaged_is_said_to_be_and_stays(at, damage):
    summaries.write(at, made())
    summaries.write(at, made("whole"))
    path = Path(at.session("s1"), "summaries", summaries.stem("s1", "1") + ".json")
    path.write_bytes(damage if type(damage) is bytes else damage(path.read_bytes()))
    with pytest.raises(Damaged):
        summaries.read(at, "s1", path.stem)
    assert [one["task_id"] for one in summaries.newest(at, "s1", 5)] == ["whole"]
    assert not summaries.write(at, made())  # it is not missing
    assert path.exists()


def test_links_and_pipes_are_not_followed(at, tmp_path):
    summaries.write(at, made())
    folder = Path(at.session("s1"), "summaries")
    outside = tmp_path / "outside.json"
    outside.write_bytes(summaries.render(made("link")))
    (folder / (summaries.stem("s1", "link") + ".json")).symlink_to(outside)
    os.mkfifo(folder / (summaries.stem("s1", "pipe") + ".json"))
    (folder / "notes.json").write_text("of the user's")
    assert [one["task_id"] for one in summaries.newest(at, "s1", 9)] == ["1"]


def test_a_folder_that_is_a_link_is_refused(at, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    Path(at.session("s1"), "summaries").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="Not a directory"):
        summaries.write(at, made())
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_was_removed_is_gone(at):
    summaries.write(at, made())
    summaries.remove(at, "s1", [summaries.stem("s1", "1"), "0" * 32])
    assert not files_in(at)
    with pytest.raises(NotFound):
        summaries.read(at, "s1", summaries.stem("s1", "1"))


def test_what_a_kill_left_is_tidied_up_after_an_hour(at):
    summaries.write(at, made())
    folder = Path(at.session("s1"), "summaries")
    for name, age in ((".old.json.1.tmp", 0), (".new.json.2.tmp", 2_000_000_000)):
        (folder / name).write_text("half")
        os.utime(folder / name, (age, age))
    summaries.tidy(at, "s1", "", 1_000_000_000_000)
    assert {path.name for path in files_in(at)} == {".new.json.2.tmp", summaries.stem("s1", "1") + ".json"}


@pytest.mark.parametrize("session", ["..", "a/b", "", ".hidden", "x" * 200])
def test_a_session_that_cannot_be_one_is_refused(at, session):
    with pytest.raises(BadInput):
        summaries.newest(at, session, 3)


def killed_at(due: int, how: str, home: Home, refuse=None) -> bool:
    """Write one in a process that is killed at its effect numbered `due`; False if it was done before."""
    child = os.fork()
    if not child:
        with over(Faults(due, kill(how), refuse)):
            summaries.write(home, made())
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


@pytest.mark.parametrize("refuse", [None, no_hard_links], ids=["links", "no links"])
@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_whoever_is_killed_leaves_a_whole_one_or_none(how, refuse, tmp_path):
    """At every step, and whatever was left is no obstacle to the next."""
    for due in range(100):
        home = Home(str(tmp_path / str(due)))
        os.makedirs(home.session("s1"))
        if not killed_at(due, how, home, refuse):
            break
        found = summaries.newest(home, "s1", 9)
        assert found in ([], [made()])
        assert summaries.write(home, made()) is not bool(found)
        assert summaries.newest(home, "s1", 9) == [made()]
        summaries.tidy(home, "s1", "", 1 << 60)
        assert len(files_in(home)) == 1
    assert due >= 6


def test_where_there_are_no_hard_links_they_are_written_all_the_same(at):
    with over(Faults(1 << 30, kill("before"), no_hard_links)):
        assert summaries.write(at, made())
        assert not summaries.write(at, made())
    assert len(files_in(at)) == 1
