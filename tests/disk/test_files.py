"""Folders that are made on the way to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.disk import files


def test_a_folder_is_made_with_all_above_it_for_its_owner_alone(tmp_path: Path) -> None:
    made = tmp_path / "a/b/c"
    files.make_dir(str(made))
    files.make_dir(str(made))
    assert [one.stat().st_mode & 0o777 for one in (made, made.parent)] == [0o700, 0o700]


def test_below_a_link_that_leads_nowhere_it_is_refused_once(tmp_path: Path) -> None:
    (tmp_path / "drive").symlink_to(tmp_path / "unplugged")
    with pytest.raises(FileNotFoundError):
        files.make_dir(str(tmp_path / "drive/home/sessions"))
