"""The index: what a line says, what a damaged one costs, and its rendering for people and scripts."""

from __future__ import annotations

import fcntl
import json
import os
import posix
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clock import new_id
from holdfast.disk import files, index
from holdfast.disk.home import Home

NOW = 1_794_000_000_000
NUMBERS = {"iteration": 1, "used_tokens": 2, "window": 3, "verified": True}


@pytest.fixture
def place(home: Path) -> Home:
    return Home(str(home))


def said(number: int, **more: object) -> dict:
    fields = {name: f"{name} {number}" for name in (*index.SHOWN, *index.MORE)}
    return {**fields, **NUMBERS, "uid": new_id(NOW + number), "path": f"/p/{number}.md", **more}


def filled(place: Home, number: int) -> list[dict]:
    entries = [said(turn) for turn in range(number)]
    files.make_dir(place.checkpoints)
    Path(place.index).write_bytes(b"".join(index.line(entry) + b"\n" for entry in entries))
    return entries


def test_what_is_added_is_read_again_oldest_first(place: Home) -> None:
    entries = [said(turn, summary='quotes " and \u2028 and \ud800 and 漢') for turn in (3, 1, 2)]
    for entry in entries:
        index.add(place, entry)
    found = index.load_all(place)
    assert list(found.entries.values()) == sorted(entries, key=lambda entry: str(entry["uid"]))
    assert (found.damaged, found.repeated) == (0, [])
    assert os.stat(place.index).st_mode & 0o777 == 0o600


def test_no_index_is_an_empty_one(place: Home) -> None:
    assert index.load_all(place).entries == {}


def test_what_is_gone_is_not_there(place: Home) -> None:
    one, two = said(1), said(2)
    index.add(place, one)
    index.add(place, two)
    index.drop(place, [one["uid"]], lambda: None)
    index.drop(place, ["never was"], lambda: None)
    assert list(index.load_all(place).entries.values()) == [two]


def test_a_line_that_stands_there_twice_counts_once_and_is_known(place: Home) -> None:
    entry = said(1)
    index.add(place, entry)
    index.add(place, entry)
    found = index.load_all(place)
    assert (list(found.entries.values()), found.repeated) == ([entry], [entry["uid"]])


def test_wherever_it_is_cut_off_the_lines_before_are_there(place: Home) -> None:
    entries = filled(place, 4)
    whole = Path(place.index).read_bytes()
    for cut in range(0, len(whole), 7):
        Path(place.index).write_bytes(whole[:cut])
        found = index.load_all(place)
        assert list(found.entries.values()) == entries[: whole[:cut].count(b"\n")]
        assert found.damaged == 0


def test_every_byte_that_changes_is_noticed(place: Home) -> None:
    entry = said(1)
    line = index.line(entry)
    assert index._read(line) == entry
    for at in range(len(line)):
        for bit in (1, 128):
            changed = line[:at] + bytes([line[at] ^ bit]) + line[at + 1 :]
            assert index._read(changed) is None, (at, bit)


def test_a_torn_line_does_not_swallow_the_next(place: Home) -> None:
    entries = filled(place, 2)
    with open(place.index, "ab") as file:
        file.write(index.line(said(8))[:200])
    last = said(9)
    index.add(place, last)
    assert list(index.load_all(place).entries.values()) == [*entries, last]


FOREIGN = [
    b"", b" ", b"null", b"[]", b"{}", b'{"v":1}', b'{"v":1,"sum":0,}', b"\0" * 100, b"\xff\xfe",
    b"x" * 10_000, b'{"v":1,"sum":' + b"9" * 5000 + b',"uid":"x"}', b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("line", FOREIGN, ids=lambda line: repr(line[:12]))
def test_a_foreign_line_is_counted_and_hides_nothing(place: Home, line: bytes) -> None:
    entries = filled(place, 3)
    lines = Path(place.index).read_bytes().split(b"\n")
    Path(place.index).write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]))
    found = index.load_all(place)
    assert list(found.entries.values()) == entries
    assert found.damaged + found.torn == 1


WRONG = [
    said(1, uid=["x"]), said(1, uid=5), said(1, uid=None), said(1, path=7), said(1, path=["/p"]),
    said(1, project={}), said(1, lineage=None), {"gone": ["x"]}, {"gone": {}}, {"gone": 5},
]  # fmt: skip


@pytest.mark.parametrize("entry", WRONG, ids=lambda entry: repr(entry)[-60:])
def test_a_line_whose_checksum_fits_and_whose_values_do_not_is_damaged(place: Home, entry: dict) -> None:
    entries = filled(place, 3)
    index.add(place, entry)
    found = index.load_all(place)
    assert (list(found.entries.values()), found.damaged) == (entries, 1)


# Syncs that others rely on


class Disk:
    """`posix`, on a block device; `synced` counts."""

    def __init__(self, meanwhile: Callable[[], object] = dict) -> None:
        self.synced = 0
        self.meanwhile = meanwhile

    def __getattr__(self, name: str) -> object:
        return getattr(posix, name)

    def major(self, device: int) -> int:
        return 8

    def fdatasync(self, fd: int) -> None:
        self.synced += 1
        self.meanwhile()


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(files, "posix", disk)
    return disk


class Another:
    """One who syncs, as a process of its own would: a flock belongs to whoever opened the file."""

    def __init__(self, place: Home) -> None:
        files.make_dir(place.checkpoints)
        self.fd = os.open(place.index + ".synced", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def counts(self, number: int) -> None:
        os.ftruncate(self.fd, os.fstat(self.fd).st_size + number)


def waits(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> list[float]:
    """What happens while one waits, turn by turn."""
    turns: list[float] = []

    def sleep(seconds: float) -> None:
        turns.append(seconds)
        act(len(turns))

    monkeypatch.setattr(files, "time", SimpleNamespace(sleep=sleep))
    return turns


def test_who_is_alone_syncs_and_counts(place: Home, on_disk: Disk) -> None:
    for number in range(1, 4):
        index.add(place, said(number))
        assert (on_disk.synced, os.stat(place.index + ".synced").st_size) == (number, number)


def test_two_syncs_that_end_while_one_waits_do_for_it(place: Home, on_disk: Disk, monkeypatch) -> None:
    index.add(place, said(1))
    another = Another(place)
    turns = waits(monkeypatch, lambda turn: another.counts(1))
    index.add(place, said(2))
    assert (on_disk.synced, len(turns)) == (1, 2)
    assert len(index.load_all(place).entries) == 2


@pytest.mark.parametrize("before", [0, 1, 7, 1 << 40])
def test_what_was_counted_before_says_nothing(place: Home, on_disk: Disk, monkeypatch, before: int) -> None:
    index.add(place, said(1))
    another = Another(place)
    os.ftruncate(another.fd, before)
    waits(monkeypatch, lambda turn: another.counts(turn == 1))
    index.add(place, said(2))
    assert on_disk.synced == 2  # its own: the one that ended may have begun before it wrote


def test_a_number_that_shrinks_is_not_believed(place: Home, on_disk: Disk, monkeypatch) -> None:
    index.add(place, said(1))
    another = Another(place)
    another.counts(5)
    waits(monkeypatch, lambda turn: os.ftruncate(another.fd, 0) if turn == 1 else another.counts(turn < 5))
    index.add(place, said(2))
    assert on_disk.synced == 2


def test_nobody_depends_on_one_that_does_not_come_back(place: Home, on_disk: Disk, monkeypatch) -> None:
    another = Another(place)
    turns = waits(monkeypatch, lambda turn: None)
    index.add(place, said(1))
    assert on_disk.synced == 1
    assert sum(turns) <= 0.5
    assert os.fstat(another.fd).st_size == 0


def test_syncs_of_another_file_are_not_believed(place: Home, on_disk: Disk, monkeypatch) -> None:
    """Somebody has put another index in place of the one this line is in."""
    index.add(place, said(1))
    another = Another(place)

    def replaced(turn: int) -> None:
        if turn == 1:
            os.rename(place.index, place.index + ".gone")
            Path(place.index).touch()
        another.counts(1)

    waits(monkeypatch, replaced)
    index.add(place, said(2))
    assert on_disk.synced == 2


def test_the_sync_of_a_file_that_was_replaced_is_not_counted(place: Home, on_disk: Disk) -> None:
    index.add(place, said(1))
    on_disk.meanwhile = lambda: os.rename(place.index, place.index + ".gone")
    index.add(place, said(2))
    assert os.stat(place.index + ".synced").st_size == 1


def test_after_an_error_nobody_relies_on_others_who_did_not_see_it(place: Home, on_disk: Disk) -> None:
    index.add(place, said(1))
    waiting = os.open(place.index + ".synced", os.O_RDWR)
    on_disk.meanwhile = lambda: os.fstat(-1)
    with pytest.raises(OSError, match="Bad file"):
        index.add(place, said(2))
    on_disk.meanwhile = dict
    for number in range(3, 9):
        index.add(place, said(number))
    assert os.fstat(waiting).st_size == 1


@pytest.mark.parametrize("what", ["folder", "fifo", "link", "not ours"])
def test_whatever_stands_in_the_way_of_the_number_a_line_is_added(
    place: Home, on_disk: Disk, what: str
) -> None:
    files.make_dir(place.checkpoints)
    number = Path(place.index + ".synced")
    {
        "folder": number.mkdir,
        "fifo": lambda: os.mkfifo(number),
        "link": lambda: number.symlink_to("elsewhere"),
        "not ours": lambda: number.symlink_to("/dev/null"),
    }[what]()
    index.add(place, said(1))
    assert on_disk.synced == 1
    assert len(index.load_all(place).entries) == 1


def test_over_a_network_everyone_syncs(place: Home, on_disk: Disk, monkeypatch) -> None:
    monkeypatch.setattr(on_disk, "major", lambda device: 0)
    another = Another(place)
    waits(monkeypatch, lambda turn: another.counts(1))
    index.add(place, said(1))
    assert on_disk.synced == 1


# The rendering


def shown(place: Home) -> dict:
    return dict(json.loads(Path(place.checkpoints, "index.json").read_bytes()))


def test_it_is_shown_in_the_schema_that_scripts_expect(place: Home) -> None:
    entries = filled(place, 3)
    index.show(place)
    told = shown(place)
    assert list(told) == ["version", "checkpoints", "last_updated"]
    assert told["version"] == "1.0"
    assert [list(entry) for entry in told["checkpoints"]] == [list(index.SHOWN)] * 3
    assert told["checkpoints"][-1] == {name: entries[-1][name] for name in index.SHOWN}


HOSTILE = [
    '","reason":"x',
    ',"uid":"x"',
    '"gone":"',
    '\\","reason":"',
    '\\"',
    "}",
    '{"v":1,"sum":',
    "漢\ud800\n",
]


@given(st.lists(st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join), min_size=1, max_size=6))
def test_what_is_cut_out_of_a_line_is_what_it_says(texts: list[str]) -> None:
    entries = [said(n, id=text, path=text, summary=text, reason=text) for n, text in enumerate(texts)]
    lines = [index.line(entry) for entry in entries]
    lines[1:1] = [index.line({"gone": entries[0]["uid"], "at": texts[0]})]
    expected = [{name: entry[name] for name in index.SHOWN} for entry in entries[1:]]
    assert [json.loads(text) for text in index._shown(lines)] == expected


def test_of_many_the_newest_are_shown(place: Home) -> None:
    entries = filled(place, 1200)
    index.show(place)
    told = shown(place)["checkpoints"]
    assert [entry["uid"] for entry in told] == [entry["uid"] for entry in entries][-len(told) :]
    assert 50 <= len(told) < 1200


def test_what_is_gone_is_not_shown(place: Home) -> None:
    entries = filled(place, 3)
    index.drop(place, [entries[-1]["uid"]], lambda: None)
    index.show(place)
    assert [entry["uid"] for entry in shown(place)["checkpoints"]] == [e["uid"] for e in entries[:2]]


def test_who_finds_another_at_it_leaves(place: Home) -> None:
    filled(place, 1)
    index.show(place)
    before = shown(place)
    index.add(place, said(2))
    if not os.fork():  # a lock of this kind excludes other processes only
        with files.Lock(place.checkpoints + "/index.lock"):
            if not os.fork():
                index.show(place)
                os._exit(0)
            os.wait()
        os._exit(0)
    os.wait()
    assert shown(place) == before
    index.show(place)
    assert len(shown(place)["checkpoints"]) == 2


def test_a_reader_never_sees_half_of_it(place: Home) -> None:
    filled(place, 400)
    index.show(place)
    pid = os.fork()
    if not pid:
        for turn in range(12):
            index.add(place, said(1000 + turn))
            index.show(place)
        os._exit(0)
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        assert shown(place)["checkpoints"]
