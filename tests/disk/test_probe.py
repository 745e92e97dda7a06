"""Files as they are, to be recognised later."""

import os

import pytest

from holdfast.core.seen import fingerprint
from holdfast.disk.probe import marks

KEY = b"k" * 32


def mark(path, key=KEY):
    (found,) = marks([str(path)], key).values()
    return found


def test_a_file_is_known_by_its_size_time_and_content(tmp_path):
    path = tmp_path / "tide.py"
    path.write_bytes(b"high")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    first = mark(path)
    assert first[:2] == [4, 1_700_000_000_000]
    assert list(marks([str(path)], KEY)) == [str(fingerprint(str(path)))]
    path.write_bytes(b"wave")
    assert mark(path)[2] != first[2]
    path.write_bytes(b"high")
    assert mark(path)[2] == first[2]


def test_who_has_another_key_has_other_hashes(tmp_path):
    path = tmp_path / "tide.py"
    path.write_bytes(b"high")
    assert mark(path)[2] != mark(path, b"another")[2]


def test_no_more_than_so_much_is_read_of_one_and_of_all(tmp_path):
    sizes = [300_000, 250_000, 250_000, 250_000, 250_000, 250_000, 10]
    paths = [tmp_path / f"{number}.bin" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b"x" * size)
    found = marks(list(map(str, paths)), KEY).values()
    assert [mark[0] for mark in found] == sizes
    assert [bool(mark[2]) for mark in found] == [False, True, True, True, True, False, True]


@pytest.mark.parametrize("path", ["/nowhere/at/all", "a\0b", "\ud800", "", "/" + "x" * 5000])
def test_what_is_not_there_has_no_mark(path):
    assert marks([path], KEY) == {}


def test_what_is_no_file_or_not_ours_to_read_has_no_hash(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert [mark(path)[2] for path in (tmp_path, tmp_path / "pipe", "/dev/zero")] == ["", "", ""]
