"""`holdfast task`: as functions, and as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import trail
from holdfast.errors import BadInput, Unavailable
from holdfast.ops import tasks
from holdfast.store.projects import _shared, name_of
from hooks import event, run_silently
from repository import hang


@pytest.fixture
def app(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(tmp_path)})


def run(app: Holdfast, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "holdfast", "task", *words]
    environ = {**os.environ, "HOLDFAST_HOME": app.home.root}
    return subprocess.run(argv, capture_output=True, text=True, env=environ, check=False)


def test_a_task_goes_from_hand_to_hand_by_command(app: Holdfast) -> None:
    assert run(app, "add", "make it", "--priority", "2").returncode == 0
    assert run(app, "add", "test it", "--needs", "1").returncode == 0
    listed = run(app, "list").stdout.splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [["1", "open"], ["2", "blocked"]]
    assert "held by   ann" in run(app, "claim", "--holder", "ann").stdout
    nothing = run(app, "claim", "--holder", "ben")
    assert nothing.returncode == 3
    assert "1 held, 1 blocked" in nothing.stdout
    assert run(app, "finish", "1", "--holder", "ann", "--result", "made").returncode == 0
    claimed = json.loads(run(app, "claim", "--holder", "ben", "--json").stdout)
    assert (claimed["task"]["number"], claimed["task"]["holder"]) == (2, "ben")
    assert run(app, "wait", "2", "--seconds", "0", "--holder", "ann").returncode == 1
    assert run(app, "release", "2", "--holder", "ann").returncode == 2
    assert "nobody waits" in run(app, "chain").stdout
    assert run(app, "show", "9").returncode == 3


def test_what_happens_is_in_the_trail_without_a_word_of_it(app: Holdfast) -> None:
    tasks.add(app, "say nothing of this")
    tasks.claim(app, holder="ann")
    tasks.release(app, 1, holder="ann")
    tasks.finish(app, 1, result="nor of this")
    notes = [note for note in trail.recent(app.home) if note["event"].startswith("task.")]
    assert [note["event"] for note in notes] == [
        "task.added",
        "task.claimed",
        "task.released",
        "task.finished",
    ]
    assert "of this" not in json.dumps(notes)


def test_secrets_and_what_cannot_be_seen_are_not_kept(app: Holdfast) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    tasks.add(app, f"push\u202e with {secret}\nand\x1b[2J more")
    done = tasks.finish(app, 1, result=f"pushed with {secret}")
    kept = tasks.show(app, 1).description + done.result
    assert secret not in kept
    assert "\u202e" not in kept
    assert "\x1b" not in kept
    assert kept.count("\n") == 1
    (planned_one,) = planned(app, [{"description": "x", "subtasks": [{"description": f"use {secret}"}]}])
    assert secret not in json.dumps(planned_one.payload)
    assert planned_one.payload["subtasks"][0]["description"].startswith("use ")


def test_nor_are_they_in_what_else_stands_in_a_plan(app: Holdfast) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    Path("two  spaces.py").write_text("")
    task = {
        "description": "push",
        "files": ["two  spaces.py"],
        "subtasks": [{"description": f"with\u202e {secret}"}],
        "why": {"said": [secret, 5, None]},
    }
    Path("tasks.json").write_text(json.dumps([task]))
    tasks.add(app, plan=Path("tasks.json"))
    payload = tasks.show(app, 1).payload
    assert secret not in json.dumps(payload)
    assert "\u202e" not in payload["subtasks"][0]["description"]
    assert payload["files"] == ["two  spaces.py"]
    assert payload["why"]["said"][1:] == [5, None]


def test_a_session_claims_in_its_own_name_and_its_end_frees_what_it_held(app: Holdfast, home: Path) -> None:
    run_silently(event("SessionStart", "first", source="startup"), home)
    environ = {**app.environ, "CLAUDE_CODE_SESSION_ID": "first"}
    tasks.add(app, "do it")
    assert tasks.claim(Holdfast.open(environ)).task.holder == "first"
    run_silently(event("SessionEnd", "first", reason="clear"), home)
    assert tasks.claim(app, holder="ann").task.claim == 2


def test_a_claim_may_end_with_a_process(app: Holdfast) -> None:
    tasks.add(app, "do it")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert tasks.claim(app, holder="ann", process=process.pid).task
    assert tasks.claim(app, holder="ben").task is None
    process.kill()
    process.wait()
    assert tasks.claim(app, holder="ben").task


def planned(app: Holdfast, said: object) -> list:
    Path("plan.json").write_text(json.dumps(said) if not isinstance(said, str) else said)
    return tasks.add(app, plan=Path("plan.json"))


def test_a_file_of_tasks_is_added_whole(app: Holdfast) -> None:
    Path("a.py").write_text("")
    made = planned(
        app,
        {
            "tasks": [
                {"id": "test", "description": "test it", "depends_on": ["make"], "keep_together": True},
                {"id": "make", "description": "make it", "priority": 3, "files": ["a.py"]},
            ]
        },
    )
    assert made[0].needs == [made[1].number]
    assert made[0].payload == {"keep_together": True}
    assert made[1].payload == {"files": ["a.py"]}


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("[", "no JSON"),
        ([], "no task"),
        ({"tasks": {}}, "holds no tasks"),
        (["x"], "task 1 is no object"),
        ([{"id": "a"}], "task a has no description"),
        ([{"description": " "}], "has no description"),
        ([{"description": "x", "priority": "high"}], "priority is 'high'"),
        ([{"description": "x", "files": ["gone.py"]}], "names gone.py, which is not in"),
        ([{"description": "x", "depends_on": "a"}], "depends_on"),
        ([{"description": "x", "depends_on": ["a"]}], "no task of that name"),
        ([{"id": "a", "description": "x", "depends_on": ["a"]}], "a needs a"),
    ],
)
def test_what_is_wrong_with_a_file_of_tasks_is_said_and_nothing_is_added(
    app: Holdfast, said: object, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        planned(app, said)
    assert tasks.list_all(app, all=True) == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda app: tasks.add(app), "say what is to be done"),
        (lambda app: tasks.add(app, "x", plan=Path("y")), "not both"),
        (lambda app: tasks.add(app, "x", priority=10**7), "priority"),
        (lambda app: tasks.add(app, " "), "^the task has no description"),
        (lambda app: tasks.add(app, "x", file=("gone.py",)), "names gone.py"),
        (lambda app: tasks.claim(app, lease=0), "--lease"),
        (lambda app: tasks.claim(app, lease=10**9), "--lease"),
        (lambda app: tasks.claim(app, holder="two\nlines"), "cannot be a holder"),
        (lambda app: tasks.claim(app, process=2**22 + 1), "no process"),
        (lambda app: tasks.wait(app, 1, seconds=-1), "--seconds"),
        (lambda app: tasks.list_all(app, limit=-1), "--limit"),
        (lambda app: tasks.list_all(app, limit=10**21), "--limit"),
    ],
)
def test_what_cannot_be_is_refused(app: Holdfast, asked, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        asked(app)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://ann:secret@Example.org:8443/team/thing.git", "example.org/team/thing"),
        ("git@example.org:team/thing.git", "example.org/team/thing"),
        ("ssh://git@example.org:22/team/thing/", "example.org/team/thing"),
        ("/srv/git/thing.git", ""),
        ("../thing", ""),
        ("", ""),
    ],
)
def test_clones_of_a_project_have_one_name_and_nobodys_password(address: str, name: str) -> None:
    assert _shared(address) == name


def test_a_repository_is_named_by_where_it_comes_from(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert name_of(str(tmp_path)) == str(tmp_path)
    address = "git@example.org:team/thing.git"
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", address], check=True)
    assert name_of(str(tmp_path)) == "example.org/team/thing"


def test_while_git_does_not_answer_a_repository_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", clone], check=True)
    subprocess.run(["git", "-C", clone, "remote", "add", "origin", "https://example.org/x"], check=True)
    with monkeypatch.context() as slowly:
        hang(slowly, tmp_path / "bin")
        with pytest.raises(Unavailable, match="git did not say"):
            name_of(str(clone))
    assert name_of(str(clone)) == "example.org/x"


def test_a_hook_of_another_repository_changes_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        subprocess.run(["git", "init", "-q", tmp_path / name], check=True)
        address = f"https://example.org/{name}"
        subprocess.run(["git", "-C", tmp_path / name, "remote", "add", "origin", address], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    assert name_of(str(tmp_path / "one")) == "example.org/one"
