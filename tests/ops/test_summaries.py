"""`holdfast summaries`: as functions, and as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import summaries
from holdfast.disk.home import Home
from holdfast.errors import BadInput, Damaged, NotFound
from holdfast.ops.summaries import clear, list_all, show


def made(session: str, task: str, at: int, agent: str = "", **fields: object) -> dict:
    return {
        "session_id": session,
        "task_id": task,
        "subject": f"do {task}",
        "start_turn": at,
        "end_turn": at + 3,
        "compressed_at": f"2026-03-01T10:00:{at:02d}.000Z",
        "files_modified": ["src/a.py", "src/b.py"],
        "commands_run": ["pytest -q"],
        "key_outcomes": [f"{task} is done"],
        "errors_resolved": ["`pytest -q`: 1 failed"],
        "agent_id": agent,
        "kind": "task",
        "partial": False,
        "entry": "u-1",
        "place": [at, 20, at, 50],
    } | fields


@pytest.fixture
def app(tmp_path: Path) -> Holdfast:
    home = Home(str(tmp_path / "home"))
    for session, agent in (("alpha", ""), ("beta", ""), ("alpha", "a1")):
        os.makedirs(home.session(session, agent), exist_ok=True)
    assert summaries.write(home, made("alpha", "1", 1))
    assert summaries.write(home, made("alpha", "2", 5))
    assert summaries.write(home, made("alpha", "3", 7, "a1"))
    assert summaries.write(home, made("beta", "1", 9))
    environ = {
        "HOLDFAST_HOME": home.root,
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "client"),
    }
    return Holdfast.open(environ)


def run(app: Holdfast, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "summaries", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | app.environ,
    )


def stem(session: str, task: str) -> str:
    return summaries.stem(session, task)


def test_all_are_listed_newest_first(app: Holdfast) -> None:
    assert [(one.session_id, one.task_id) for one in list_all(app)] == [
        ("beta", "1"),
        ("alpha", "3"),
        ("alpha", "2"),
        ("alpha", "1"),
    ]
    assert [one.task_id for one in list_all(app, session="alpha", limit=2)] == ["3", "2"]
    assert list_all(app)[1].agent_id == "a1"
    assert list_all(app)[0].line == "do 1 (turns 9–12; a.py, b.py): 1 is done"


def test_one_is_shown_by_its_id_the_beginning_of_it_or_its_task(app: Holdfast) -> None:
    assert show(app, stem("alpha", "2")).subject == "do 2"
    assert show(app, stem("alpha", "2")[:6]).subject == "do 2"
    assert show(app, "2").commands_run == ["pytest -q"]
    assert show(app, "1", session="beta").end_turn == 12


def test_what_is_not_there_or_not_clear_is_said(app: Holdfast) -> None:
    with pytest.raises(NotFound, match="summaries list"):
        show(app, "99")
    with pytest.raises(NotFound, match="no session 'gamma'"):
        show(app, "1", session="gamma")
    with pytest.raises(BadInput, match="2 summaries are called '1'"):
        show(app, "1")
    with pytest.raises(BadInput, match="cannot be a session"):
        list_all(app, session="../..")
    with pytest.raises(BadInput, match="--limit"):
        list_all(app, limit=-1)


def test_one_that_is_damaged_hides_no_other(app: Holdfast) -> None:
    path = Path(app.home.session("alpha"), "summaries", stem("alpha", "1") + ".json")
    path.write_text("{")
    found = list_all(app, session="alpha")
    assert [bool(one.problem) for one in found] == [False, False, True]
    with pytest.raises(Damaged, match="summaries clear"):
        show(app, stem("alpha", "1"))
    assert [one.path for one in clear(app, stem("alpha", "1")).removed] == [str(path)]
    assert not path.exists()


def test_what_is_cleared_is_told_and_gone(app: Holdfast) -> None:
    assert [one.task_id for one in clear(app, "2").removed] == ["2"]
    assert [one.task_id for one in clear(app, session="alpha").removed] == ["3", "1"]
    assert [one.session_id for one in list_all(app)] == ["beta"]
    assert clear(app, session="alpha").removed == []
    assert len(clear(app, everything=True).removed) == 1
    assert list_all(app) == []


@pytest.mark.parametrize(
    "given", [{}, {"everything": True, "session": "alpha"}, {"everything": True, "name": "1"}]
)
def test_clearing_wants_to_know_what(app: Holdfast, given: dict) -> None:
    with pytest.raises(BadInput):
        clear(app, **given)
    assert len(list_all(app)) == 4


def test_before_anything_happened_there_are_none(tmp_path: Path) -> None:
    app = Holdfast.open({"HOLDFAST_HOME": str(tmp_path / "none"), "HOME": str(tmp_path)})
    assert list_all(app) == []
    assert clear(app, everything=True).removed == []
    assert not (tmp_path / "none").exists()


def test_people_see_tables(app: Holdfast) -> None:
    done = run(app, "list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["summary", "made", "turns", "files", "subject", "session"]
    assert "9–12" in lines[1]
    assert "alpha agent a1" in lines[2]
    shown = run(app, "show", lines[1].split()[0]).stdout
    for words in ("do 1", "task", "Outcomes", "- 1 is done", "- src/a.py", "- `pytest -q`: 1 failed"):
        assert words in shown
    cleared = run(app, "clear", "--session", "beta")
    assert cleared.stdout.startswith("removed ")
    assert cleared.stdout.rstrip().endswith(": do 1")
    assert "no summaries" in run(app, "list", "--session", "beta").stdout


def test_scripts_get_json(app: Holdfast) -> None:
    listed = json.loads(run(app, "list", "--json").stdout)
    assert [one["task_id"] for one in listed] == ["1", "3", "2", "1"]
    assert json.loads(run(app, "show", "2", "--json").stdout)["key_outcomes"] == ["2 is done"]
    assert [one["task_id"] for one in json.loads(run(app, "clear", "2", "--json").stdout)["removed"]] == [
        "2"
    ]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["show", "nope"], 3, "no summary 'nope'"),
        (["show", "1"], 2, "name one by its id"),
        (["show"], 2, "name"),
        (["clear"], 2, "which?"),
        (["list", "--session", "../../etc"], 2, "cannot be a session"),
        (["list", "--limit", "-3"], 2, "--limit"),
        (["clear", "\udcffx"], 3, "no summary"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(app: Holdfast, words: list[str], code: int, says: str) -> None:
    done = run(app, *words)
    assert done.returncode == code
    assert says.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_looked_into_is_named_and_hides_no_other(app: Holdfast) -> None:
    place = Path(app.home.session("broken"))
    place.mkdir()
    (place / "summaries").symlink_to("/tmp")
    listed = run(app, "list", "--json")
    assert listed.returncode == 0
    assert [one["problem"] for one in json.loads(listed.stdout) if one["problem"]] == [
        f"{place}/summaries cannot be read: Not a directory"
    ]
    assert len(list_all(app)) == 5
    assert f"{place}/summaries" in "".join(run(app, "list").stdout.split())
    cleared = run(app, "clear", "--everything")
    assert cleared.returncode == 1
    assert f"{place}/summaries cannot be read: Not a directory" in cleared.stdout
    assert [one.id for one in list_all(app)] == [""]
    assert os.path.realpath(place / "summaries") == os.path.realpath("/tmp")
    with pytest.raises(NotFound):
        show(app, "")
