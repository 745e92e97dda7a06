"""Many agents on one board, some of them killed: the short form of bench/board.py, and its control."""

from pathlib import Path

from board import BROKEN, check, run
from chance import tries


def test_many_agents_lose_nothing_and_nothing_comes_twice(tmp_path: Path, monkeypatch) -> None:
    """With the board made anew again and again meanwhile."""
    from holdfast.disk import board

    monkeypatch.setattr(board, "_TIDY", 1 << 14)
    monkeypatch.setattr(board, "_STEP", 1 << 11)
    run(tmp_path, agents=6, each=60, killed=34)
    seen = check(tmp_path, 6)
    assert seen.is_right, seen
    assert seen.operations > 150


def test_a_board_that_is_read_changed_and_rewritten_is_found_out(tmp_path: Path) -> None:
    for home in tries(tmp_path):
        run(home, agents=6, each=40, killed=0, way=BROKEN)
        if not check(home, 6).is_right:
            return
