"""Saves join the newest checkpoint of the work they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import saves
from holdfast.ops.saves import Draft, Saved, keep
from taken import Session, entries
from told import git, repository


@pytest.fixture
def app(home: Path) -> Holdfast:
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "tidegate")


def worked(home: Path, project: Path) -> str:
    """A session has worked there; the path of the checkpoint it left behind."""
    session = Session(home, project, project / "t.jsonl")
    session.turn(times=3)
    session.hook("Stop", session_id=f"s{len(entries(home)) + 1}")
    return str(entries(home)[-1]["path"])


def save(app: Holdfast, environment: str = "dev", **said: str) -> Saved:
    (saved,) = keep(app, [Draft(environment, saves.MANUAL, **said)])
    return saved


def test_without_any_checkpoint_a_save_is_made_all_the_same(app: Holdfast, tmp_path: Path) -> None:
    assert save(app, task="dredge").joined == ""
    told = save(app, project=str(tmp_path))
    assert (told.checkpoint, told.joined, told.project) == ("", "told", str(tmp_path))


def test_told_where_the_work_is_it_joins_the_newest_of_that(
    app: Holdfast, home: Path, project: Path, tmp_path: Path
) -> None:
    path = worked(home, project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    newer = worked(home, elsewhere)
    (project / "docs").mkdir()
    for folder in (project, project / "docs"):
        found = save(app, project=str(folder))
        assert (found.checkpoint, found.joined, found.project) == (path, "told", str(folder))
        assert (found.session_id, found.branch) == ("s1", "main")
        assert found.commit == git(project, "rev-parse", "HEAD").strip()
    assert save(app, project=str(elsewhere)).checkpoint == newer


def test_untold_it_goes_on_with_the_work_of_the_environment(
    app: Holdfast, home: Path, project: Path, tmp_path: Path
) -> None:
    path = worked(home, project)
    save(app, project=str(project))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    newest = worked(home, elsewhere)
    for _ in range(2):
        found = save(app)
        assert (found.checkpoint, found.joined, found.project) == (path, "before", str(project))
    for _ in range(2):  # what was only guessed is guessed again
        found = save(app, "other")
        assert (found.checkpoint, found.joined, found.project) == (newest, "newest", str(elsewhere))
    newest = worked(home, project)
    assert save(app, "other").checkpoint == newest
    assert save(app).checkpoint == newest


def test_an_agents_checkpoint_is_nobody_elses(app: Holdfast, home: Path, project: Path) -> None:
    path = worked(home, project)
    session = Session(home, project, project / "t.jsonl")
    session.turn()
    session.hook("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="found it")
    assert entries(home)[-1]["agent_id"] == "a1"
    assert save(app).checkpoint == save(app, project=str(project)).checkpoint == path


def test_what_a_breakpoint_knows_of_git_is_kept(app: Holdfast, project: Path) -> None:
    found = save(app, project=str(project), branch="feature", commit="abc123")
    assert (found.branch, found.commit) == ("feature", "abc123")


def test_an_answer_is_not_looked_up_twice(
    app: Holdfast, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(home, project)
    first = save(app)
    monkeypatch.setattr("holdfast.ops.saves.index.newest", lambda *_: pytest.fail("looked up again"))
    assert save(app).checkpoint == first.checkpoint


def test_where_the_index_forgot_the_lineage_still_knows(app: Holdfast, home: Path, project: Path) -> None:
    path = worked(home, project)
    (home / "checkpoints/index.jsonl").write_text("")
    assert save(app, project=str(project)).checkpoint == path
