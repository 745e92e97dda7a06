"""The outbox: appended to by many who are killed, sealed meanwhile, sent by one."""

from __future__ import annotations

import json
import os
import posix
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import board, index, messages, outbox, trail
from holdfast.disk.home import Home
from holdfast.disk.outbox import CHECKPOINT, EVENT
from holdfast.ops import config
from hooks import own_mounts

#: Puts what it is told to, and says after each that it is done; `careless` reads, changes and rewrites.
_PUTS = """
import os, sys
from holdfast.disk import outbox
from holdfast.disk.home import Home
from holdfast.disk.index import line
home, who, careless = Home(sys.argv[1]), sys.argv[2], len(sys.argv) > 3
log = os.open(sys.argv[1] + "/log." + who, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(10**6):
    uid = f"{who}-{number}"
    if careless:
        path = home.outbox + "/now.jsonl"
        before = open(path, "rb").read() if os.path.exists(path) else b""
        said = {"kind": "event", "uid": uid, "at": 1, "data": {}}
        with open(path, "wb") as file:
            file.write(before + line(said) + b"\\n")
    else:
        outbox.put(home, "event", {"n": number, "words": "x" * 200}, uid)
    os.write(log, uid.encode() + b"\\n")
"""


@pytest.fixture
def team(tmp_path: Path) -> Home:
    (tmp_path / "outbox").mkdir()
    return Home(str(tmp_path))


def said(home: Home) -> list[dict]:
    outbox.seal(home)
    found = []
    for path in outbox.segments(home):
        lines, damaged = outbox.lines(path)
        assert not damaged
        found += lines
    return found


def test_where_there_is_no_team_nothing_is_made(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "home"))
    trail.note(home, "checkpoint.taken", session="s1")
    outbox.put(home, EVENT, {})
    assert sorted(os.listdir(home.root)) == ["events.jsonl"]


def test_what_is_noted_taken_posted_and_marked_is_put_there(team: Home) -> None:
    trail.note(team, "checkpoint.taken", session="s1")
    index.add(team, {"uid": "U1", "project": "/p"})
    index.drop(team, ["U1"], lambda: None)
    message = messages.made("01" * 13, 1000, 5, str, type="note", to="all", text="hello")
    where = board.Place("k", "/p")
    board.post(team, where, message)
    board.mark(team, "k", [messages.marked(message["id"], "session:s1", 2000, messages.DONE)])
    kinds = [(line["kind"], line["uid"]) for line in said(team)]
    assert [kind for kind, _ in kinds] == ["event", "checkpoint", "gone", "message", "mark"]
    assert kinds[1:4] == [("checkpoint", "U1"), ("gone", "U1"), ("message", message["id"])]
    assert len(kinds[0][1]) == 26


def test_what_other_machines_said_is_not_sent_back(team: Home) -> None:
    message = messages.made("01" * 13, 1000, 5, str, type="note", to="all", text="hello")
    theirs = [message, messages.marked(message["id"], "x", 1, "done")]
    board.take_in(team, board.Place("k", "/p"), theirs, board.Board())
    assert said(team) == []
    assert list(board.load(team, "k").messages) == [message["id"]]


def test_segments_are_numbered_in_their_order_whatever_the_clock_says(team: Home) -> None:
    for number in range(12):
        outbox.put(team, EVENT, {"n": number}, at=1000 - number)
        outbox.seal(team)
        outbox.seal(team)  # nothing new: no other
    assert [line["data"]["n"] for line in said(team)] == list(range(12))
    outbox.remove(outbox.segments(team)[-1])
    outbox.put(team, EVENT, {"n": 99})
    assert [line["data"]["n"] for line in said(team)] == [*range(11), 99]


def run(tmp_path: Path, *flags: str, seconds: float) -> tuple[set[str], list[str]]:
    """(acknowledged, found) after four who put were killed again and again, and the file sealed
    meanwhile."""
    home, dice = Home(str(tmp_path)), random.Random(7)
    (tmp_path / "outbox").mkdir(exist_ok=True)
    running: dict[str, subprocess.Popen] = {}
    started = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        while len(running) < 4:
            who, started = f"w{started}", started + 1
            argv = [sys.executable, "-c", _PUTS, home.root, who, *flags]
            running[who] = subprocess.Popen(argv)
        time.sleep(dice.random() * 0.3)
        if not flags:
            outbox.seal(home)
        killed = dice.choice(sorted(running))
        running[killed].send_signal(signal.SIGKILL)
        running.pop(killed).wait()
    for process in running.values():
        process.kill()
        process.wait()
    told = {uid for path in tmp_path.glob("log.*") for uid in path.read_text().split("\n")[:-1]}
    outbox.seal(home)
    found = [line["uid"] for path in outbox.segments(home) for line in outbox.lines(path)[0]]
    return told, found


def test_no_line_that_was_acknowledged_is_lost_and_none_is_there_twice(tmp_path: Path) -> None:
    told, found = run(tmp_path, seconds=6)
    assert len(told) > 500
    assert told <= set(found)
    assert len(found) == len(set(found))
    # Who was killed may have put one more than it could say.
    assert len(set(found) - told) <= len(list(tmp_path.glob("log.*")))


def test_one_that_is_read_changed_and_rewritten_is_found_out(tmp_path: Path) -> None:
    told, found = run(tmp_path, "careless", seconds=4)
    assert not told <= set(found)


def test_a_torn_line_costs_nothing_and_a_damaged_one_is_counted(team: Home) -> None:
    path = Path(team.outbox, "now.jsonl")
    outbox.put(team, EVENT, {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"v":1,"sum":12,"kind":"ev')
    outbox.put(team, EVENT, {"n": 2})
    with path.open("ab") as file:
        file.write(b'{"v":1,"sum":12,"kind":"event"}\n' + bytes(20))
    outbox.seal(team)
    lines, damaged = outbox.lines(outbox.segments(team)[0])
    assert [line["data"]["n"] for line in lines] == [1, 2]
    assert damaged == 2


def test_beyond_the_cap_the_oldest_events_go_and_nothing_else(team: Home) -> None:
    for number in range(30):
        outbox.put(team, EVENT, {"n": number, "words": "x" * 1000})
        outbox.put(team, CHECKPOINT, {"n": number}, f"U{number}")
        if number % 10 == 9:
            outbox.seal(team)
    gone = outbox.trim(team, 20_000)
    assert gone == 20
    assert outbox.dropped(team) == 20
    assert outbox.size(team) <= 20_000
    lines = said(team)
    assert [line["data"]["n"] for line in lines if line["kind"] == EVENT] == list(range(20, 30))
    assert [line["uid"] for line in lines if line["kind"] == CHECKPOINT] == [f"U{n}" for n in range(30)]
    outbox.trim(team, 0)
    assert outbox.dropped(team) == 30
    assert len(said(team)) == 30


def in_file(most: int, _: pytest.MonkeyPatch, home: Home) -> None:
    app = Holdfast.open({"HOLDFAST_HOME": home.root, "HOME": home.root})
    config.put(app, "team.outbox_mb", str(most))


def in_environment(most: int, monkeypatch: pytest.MonkeyPatch, _: Home) -> None:
    monkeypatch.setitem(posix.environ, b"HOLDFAST_TEAM_OUTBOX_MB", b"%d" % most)


@pytest.mark.parametrize("configured", [in_file, in_environment])
@pytest.mark.parametrize("most", [5, 20])
def test_where_nobody_comes_hooks_themselves_keep_it_within_bounds(
    team: Home,
    monkeypatch: pytest.MonkeyPatch,
    configured: Callable[[int, pytest.MonkeyPatch, Home], None],
    most: int,
) -> None:
    configured(most, monkeypatch, team)
    monkeypatch.setattr(outbox, "_SEGMENT", 2000)
    for number in range(200):
        outbox.put(team, EVENT, {"n": number, "words": "x" * 200})
        if number % 10 == 0:
            outbox.put(team, CHECKPOINT, {"n": number}, f"U{number}")
    lines = said(team)
    assert sum(line["kind"] == CHECKPOINT for line in lines) == 20
    newest = [line["data"]["n"] for line in lines if line["kind"] == EVENT]
    assert newest == list(range(200 - len(newest), 200))
    assert len(newest) + outbox.dropped(team) == 200
    assert most - 2 < outbox.size(team) / 2000 < most + 2


_FULL = """
import json, sys
from holdfast.disk import outbox
from holdfast.disk.home import Home
home = Home(sys.argv[1])
for number in range(200):
    outbox.put(home, "checkpoint", {"words": "x" * 4000}, f"U{number}")
outbox.seal(home)
told = [outbox.lines(path) for path in outbox.segments(home)]
print(json.dumps([sum(len(lines) for lines, _ in told), sum(d for _, d in told), outbox.has_missed(home)]))
"""


@pytest.mark.skipif(not own_mounts(), reason="mounting is not allowed here")
def test_on_a_full_disk_nobody_fails_and_it_is_known_that_something_is_missing(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=256k none {tmp_path} && mkdir {tmp_path}/outbox && exec "$@"'
    argv = [*own_mounts(), "sh", "-c", mount, "sh", sys.executable, "-c", _FULL, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    whole, damaged, missed = json.loads(done.stdout)
    assert 10 < whole < 200
    assert (damaged, missed) == (0, True)


def test_a_team_that_was_left_a_moment_ago_is_told_nothing(team: Home) -> None:
    outbox.put(team, EVENT, {})
    os.rename(team.outbox, team.outbox + ".gone")
    outbox.put(team, EVENT, {})
    assert not os.path.exists(team.outbox)
