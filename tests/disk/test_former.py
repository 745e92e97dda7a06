"""State and facts as an earlier version wrote them (`former/`, by the hooks of 5cc7452, of the sessions in
`former.py`) are read, or made again from the transcript, and nothing that only they know is lost."""

import json
import shutil
from pathlib import Path

import pytest

from former import LATER, RULE, goes_on, late, normal
from hooks import event, folded, heard, notes, run_hook, state

FORMER = Path(__file__).parent / "former"
SESSIONS = {"normal": normal, "late": late}


def continued(what, home):
    """The session goes on under this version; the block before its next compaction."""
    place = home / "sessions" / "s1"
    place.mkdir(parents=True)
    for name in ("state.json", "facts.json"):
        shutil.copy(FORMER / what / name, place / name)
    path = home.parent / "s1.jsonl"
    path.write_bytes(goes_on(SESSIONS[what]()).bytes())
    said = ""
    for name in ("UserPromptSubmit", "Stop", "PreCompact"):
        told = event(name, transcript=path, cwd=str(home.parent), prompt=LATER)
        said = run_hook(told, home).stdout.decode()
    return said, path


@pytest.mark.parametrize("what", SESSIONS)
def test_what_a_former_version_left_is_read(what, home):
    before = json.loads((FORMER / what / "state.json").read_bytes())
    said, path = continued(what, home)
    assert RULE in said
    assert LATER in said
    assert not notes(home)
    now, fresh = state(home), folded(path)
    assert now["behind"] is None
    for seen in (now["seen"], fresh):
        del seen["meter"]  # whose sums are rounded whenever they are saved
        seen.pop("slow", None)  # of which a former version did not know
    assert now["seen"] == fresh
    events = before["heard"]["events"]
    assert heard(home) == events | {name: events.get(name, 0) + 1 for name in CONTINUED}
    assert now["heard"]["saved"]["uid"] > before["heard"]["saved"]["uid"]


CONTINUED = ("UserPromptSubmit", "Stop", "PreCompact")


@pytest.mark.parametrize("name", ["state.json", "facts.json"])
def test_what_cannot_be_read_is_made_again_and_kept(name, home, monkeypatch, tmp_path):
    """The control: an unknown form is told of and set aside; what the transcript has is not lost."""
    damaged = tmp_path / "former"
    shutil.copytree(FORMER, damaged)
    written = (damaged / "normal" / name).read_bytes().replace(b'{"v":1', b'{"v":9', 1)
    (damaged / "normal" / name).write_bytes(written)
    monkeypatch.setitem(globals(), "FORMER", damaged)
    said, _ = continued("normal", home)
    assert RULE in said
    assert [note["event"] for note in notes(home)] == [f"degraded.{name.partition('.')[0]}"]
    assert [one.read_bytes() for one in (home / "sessions" / "s1").glob(f"{name}.damaged-*")] == [written]
