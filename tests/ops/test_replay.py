"""A replay says what the hooks would have done: held against the hooks themselves, on the same session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import Event
from holdfast.disk import index
from holdfast.errors import BadInput, NotFound
from holdfast.ops.replay import Folder, Replayed, replay
from session import Script, use

#: Fills of the room in percent, turn by turn; 167,000 is where the client compacts this model.
UP = [30, 31, 34, 35, 40, 41, 45, 52, 59, 60, 61, 62, 69, 71, 72, 79, 80, 84, 86, 90, 92, 94, 96, 98]


class Live:
    """A session whose hooks are called as the client calls them, while its transcript grows."""

    def __init__(self, folder: Path) -> None:
        self.app = app(folder / "live")
        self.path = folder / "s1.jsonl"
        self.script = Script()
        self.said: list[tuple[int, str]] = []
        self.turns = 0

    def hook(self, name: str, **data: object) -> None:
        self.path.write_bytes(self.script.bytes())
        given = {"transcript_path": str(self.path), "cwd": str(self.path.parent), **data}
        answer = engine.handle(Event(name, "s1", 0, given), self.app).stdout
        if name != "PreCompact" and answer:
            said = json.loads(answer).get("systemMessage", "")
            self.said += [(self.turns, line) for line in said.split("\n") if line]

    def work(self, fills: list[float]) -> None:
        self.script.prompt("go on")
        self.hook("UserPromptSubmit", prompt="go on")
        for fill in fills:
            call = f"t{self.turns}"
            self.script.answer(
                use(call, "Edit", file_path="/tide/a.py", old_string="a", new_string=call),
                context=int(1670 * fill),
            )
            self.turns += 1
            self.script.result(call)
            self.hook("PostToolBatch", tool_name="Bash", tool_use_id=call)
            self.hook("PostToolBatch")
        self.script.answer(context=int(1670 * fills[-1]) + 100)
        self.turns += 1
        self.hook("Stop")

    def compact(self) -> None:
        self.hook("PreCompact", trigger="auto")
        self.script.boundary()
        self.hook("SessionStart", source="compact")

    @property
    def checkpoints(self) -> list[str]:
        return [entry["reason"] for entry in index.load_all(self.app.home).entries.values()]


def app(home: Path) -> Holdfast:
    home.mkdir(parents=True, exist_ok=True)
    return Holdfast.open({"HOME": str(home), "HOLDFAST_HOME": str(home / "holdfast")})


def test_it_says_what_the_hooks_did(tmp_path: Path) -> None:
    live = Live(tmp_path)
    live.work(UP[:16])
    live.work(UP[16:])
    live.compact()
    live.work([12, 30, 61, 62])
    found = replay(app(tmp_path / "other"), str(live.path))
    assert isinstance(found, Replayed)
    told = [(moment.turn, what) for moment in found.moments for what in moment.told]
    assert len(told) == len(live.said) > 6
    for (turn, what), (when, line) in zip(told, live.said, strict=True):
        assert turn == when
        signs = {"prompt warning": "CONTEXT", "proactive checkpoint": "holdfast:", "soon": "holdfast:"}
        assert line.startswith(signs.get(what, f"holdfast {what}"))
    assert [moment.checkpoint for moment in found.moments if moment.checkpoint] == live.checkpoints
    assert (found.turns, found.compactions, found.capacity) == (live.turns, 1, 167_000)
    assert sum(found.checkpoints.values()) == len(live.checkpoints)


def test_what_a_rewind_abandoned_is_left_out(tmp_path: Path) -> None:
    script = Script()
    script.prompt("first")
    leaf = script.answer(context=50_000)
    script.prompt("second, abandoned")
    script.answer(context=160_000)
    script.leaf = leaf
    script.prompt("second, again")
    script.answer(context=60_000)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    found = replay(app(tmp_path), str(path))
    assert isinstance(found, Replayed)
    assert max(moment.used for moment in found.moments) < 70_000
    assert found.turns == 2


def test_a_rewind_that_the_hooks_do_not_see_is_no_end_of_it(tmp_path: Path) -> None:
    """A line with hundreds of thousands of commas is not parsed by hooks, nor looked at for rewinds."""
    script = Script()
    leaf = script.answer(context=50_000)
    script.prompt(",".join("0" * 300_000))
    script.answer(context=60_000)
    script.leaf = leaf
    script.prompt(",".join("0" * 300_000))
    script.answer(context=70_000)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    assert replay(app(tmp_path), str(path)).turns == 3


def test_an_agents_window_is_told_to_nobody(tmp_path: Path) -> None:
    script = Script()
    for fill in (50, 90):
        script.answer(use(f"t{fill}", "Bash", command="ls"), context=1670 * fill)
        script.result(f"t{fill}")
    lines = [json.loads(line) | {"isSidechain": True, "agentId": "abc"} for line in script.lines]
    path = tmp_path / "agent-abc.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = replay(app(tmp_path), str(path))
    assert (found.turns, found.told) == (2, {})


def test_a_folder_is_summed_up_and_a_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    (folder / "a").mkdir(parents=True)
    for name, fills in (("a/one", [40, 61, 72]), ("two", [20])):
        live = Live(tmp_path / name.replace("/", "-"))
        live.path.parent.mkdir(parents=True, exist_ok=True)
        live.work(list(fills))
        (folder / f"{name}.jsonl").write_bytes(live.path.read_bytes())
    (folder / "empty.jsonl").touch()
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    found = replay(app(tmp_path), str(folder))
    assert isinstance(found, Folder)
    assert {Path(one.transcript).name: one.turns for one in found.sessions} == {
        "one.jsonl": 4,
        "two.jsonl": 2,
        "empty.jsonl": 0,
        "gone.jsonl": 0,
    }
    assert [bool(one.problem) for one in found.sessions] == [False, False, True, False]
    assert found.turns == 6
    assert sum(found.told.values()) >= 2


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    notes = tmp_path / "notes.jsonl"
    notes.write_text("hello\n")
    with pytest.raises(NotFound, match="does not exist"):
        replay(app(tmp_path), str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(NotFound, match="no transcript"):
        replay(app(tmp_path), str(empty))
    with pytest.raises(BadInput, match="no response"):
        replay(app(tmp_path), str(notes))
    (tmp_path / "nothing.jsonl").touch()
    with pytest.raises(BadInput, match="no response"):
        replay(app(tmp_path), str(tmp_path / "nothing.jsonl"), png="x.png")
    with pytest.raises(BadInput, match="one session"):
        replay(app(tmp_path), str(empty), png="x.png")


def test_no_picture_takes_the_place_of_the_transcript(tmp_path: Path) -> None:
    live = Live(tmp_path)
    live.work([20])
    with pytest.raises(BadInput, match="the transcript itself"):
        replay(app(tmp_path), str(live.path), png=str(live.path))


@pytest.mark.parametrize("name", ["s1.jsonl", "$x_{.jsonl", "<script>.jsonl"])
def test_the_picture_is_drawn(tmp_path: Path, name: str) -> None:
    live = Live(tmp_path)
    live.path = tmp_path / name
    live.work(UP)
    live.compact()
    live.work([12, 30])
    png, page = tmp_path / "r.png", tmp_path / "r.html"
    replay(app(tmp_path), str(live.path), png=str(png), html=str(page))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size > 20_000
    words = page.read_text()
    assert words.count("<svg") == 1
    assert "L4 Critical" in words
    assert "src=" not in words
    assert "<script" not in words
