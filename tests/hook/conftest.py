import pytest

from hooks import Transcript


@pytest.fixture
def transcript(tmp_path):
    """Three turns, the last of which waits for a tool."""
    made = Transcript(tmp_path / "projects" / "s1.jsonl")
    made.prompt("fix the parser")
    for turn in range(3):
        made.answer(50_000 + 1000 * turn, call=f"toolu_{turn}")
        if turn < 2:
            made.result(f"toolu_{turn}", "line\n" * 100)
    return made
