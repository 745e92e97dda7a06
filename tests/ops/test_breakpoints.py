"""Breakpoints as scripts report them, and what waits in the spool."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Holdfast
from holdfast.core.plain import one_line
from holdfast.disk import results, spool
from holdfast.errors import BadInput
from holdfast.ops import breakpoints
from holdfast.ops.resume import rs
from holdfast.ops.saves import ss
from repository import Repository, saved, spooled
from taken import Session, newest, reasons

SHA = "0123456789abcdef0123456789abcdef01234567"
COMMIT: dict[str, Any] = {
    "environment": "staging",
    "commit_sha": SHA,
    "commit_message": "Dredge the lock\n\nIt was full.",
    "branch": "main",
    "files_changed": 3,
}
RUN: dict[str, Any] = {
    "environment": "staging",
    "passed": True,
    "test_count": 12,
    "duration_seconds": 3.25,
}


@pytest.fixture
def repository(home: Path, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project", home)


@pytest.fixture
def session(home: Path, repository: Repository, tmp_path: Path) -> Session:
    made = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    made.hook("SessionStart")
    return made


@pytest.fixture
def app(home: Path, tmp_path: Path) -> Holdfast:
    return Holdfast.open({"HOME": str(tmp_path), "HOLDFAST_HOME": str(home), "PATH": "/usr/bin:/bin"})


def test_a_commit_is_saved_in_the_words_of_the_contract(app: Holdfast, home: Path) -> None:
    done = breakpoints.commit(app, **COMMIT)
    (save,) = saved(home, "staging")
    assert (done.status, done.session_id, done.commit) == ("saved", save["id"], "01234567")
    assert save["task"] == "Commit: Dredge the lock"
    assert save["context"] == "Branch: main, SHA: 01234567, Files: 3"
    assert save["tags"] == ["git-commit", "main", "01234567"]


def test_a_test_run_is_saved_in_the_words_of_the_contract(app: Holdfast, home: Path) -> None:
    done = breakpoints.result(app, **RUN, test_command="make check")
    failed = breakpoints.result(app, **{**RUN, "passed": False, "failed_count": 2})
    one, other = saved(home, "staging")
    assert (done.status, done.session_id, done.tests_passed) == ("saved", one["id"], True)
    assert (failed.session_id, failed.tests_passed) == (other["id"], False)
    assert (one["task"], one["context"]) == ("Tests passed: 12 tests in 3.2s", "Command: make check")
    assert one["tags"] == ["tests-passed", "count-12"]
    assert (other["task"], other["context"]) == ("Tests failed: 2/12 failed", "")
    assert other["tags"] == ["tests-failed", "failed-2"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"commit_sha": ""},
        {"commit_sha": "--all"},
        {"commit_sha": "0" * 65},
        {"files_changed": -1},
        {"files_changed": 10**5000},
        {"environment": "../x"},
        {"environment": ""},
        {"project": "relative"},
        {"commit_message": "x" * (17 << 20)},
    ],
)
def test_a_commit_that_cannot_be_one_is_refused(app: Holdfast, home: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        breakpoints.commit(app, **{**COMMIT, **wrong})
    assert not (home / "environments").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"test_count": -1},
        {"failed_count": 13, "passed": False},
        {"failed_count": 1},
        {"duration_seconds": float("nan")},
        {"duration_seconds": float("inf")},
        {"duration_seconds": -0.1},
        {"environment": "a/b"},
    ],
)
def test_a_run_that_cannot_be_one_is_refused(app: Holdfast, home: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        breakpoints.result(app, **{**RUN, **wrong})
    assert not (home / "environments").exists()


def test_what_is_not_wanted_is_refused(home: Path, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(home)}
    off = Holdfast.open({**environ, "HOLDFAST_AUTO_CONTEXT_HOOKS_TEST_RESULT": "false"})
    breakpoints.commit(off, **COMMIT)
    with pytest.raises(BadInput, match="test_result is false"):
        breakpoints.result(off, **RUN)


def test_a_report_is_a_reason_for_a_checkpoint_of_the_session_there(
    app: Holdfast, home: Path, repository: Repository, session: Session
) -> None:
    commit = repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    breakpoints.commit(app, **{**COMMIT, "commit_sha": commit[:12]})  # nobody says where: it stands there
    assert reasons(home) == [f"commit {commit[:12]}"]
    session.turn()
    breakpoints.result(app, **RUN, project=str(repository.root))
    assert reasons(home)[1:] == ["12 tests passed"]
    assert newest(home).fields["trigger"] == "tests"
    known = results.of(app.home, spool.key(str(repository.root)))
    assert known["tests"]["count"] == 12
    assert known["green"][0] == commit


def test_one_elsewhere_is_none(app: Holdfast, home: Path, session: Session, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other", home, hooked=False)
    other.commit()
    session.turn()
    breakpoints.result(app, **RUN, project=str(other.root))
    breakpoints.commit(app, **COMMIT)
    assert reasons(home) == []


def test_what_waits_is_drained_by_whoever_comes(
    app: Holdfast, home: Path, repository: Repository, session: Session, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other", home)
    session.turn()
    commits = [repository.commit("one"), other.commit("two")]
    waiting = breakpoints.list_all(app)
    assert [one.commit for one in waiting] == commits[::-1]
    assert {one.state for one in waiting} == {"waiting"}
    assert breakpoints.drain(app) == 1  # the session's own hook of it has saved the other
    assert breakpoints.drain(app) == 0
    assert not spooled(home)
    listed = breakpoints.list_all(app)
    assert [one.commit for one in listed] == commits[::-1]
    assert [one.task for one in listed] == ["Commit: two", "Commit: one"]
    assert reasons(home) == [f"commit {commits[0][:12]}"]
    assert len(breakpoints.list_all(app, environment="elsewhere")) == 0
    assert len(breakpoints.list_all(app, limit=1)) == 1


def test_a_session_that_has_ended_is_left_alone(
    app: Holdfast, home: Path, repository: Repository, session: Session
) -> None:
    session.hook("SessionEnd")
    session.turn()
    repository.commit()
    assert breakpoints.drain(app) == 1
    assert reasons(home) == []


def test_a_junit_file_is_a_run(app: Holdfast, home: Path, repository: Repository, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("<testsuite time='2'><testcase/><testcase><failure/></testcase></testsuite>")
    done = breakpoints.junit(app, str(path), project=str(repository.root), command="make check")
    (save,) = saved(home)
    assert (done.session_id, done.tests_passed) == (save["id"], False)
    assert (save["task"], save["context"]) == ("Tests failed: 1/2 failed", "Command: make check")
    assert save["project"] == str(repository.root)


HOSTILE = [
    "$(touch canary)",
    "a\n\x1b[2Jb",
    "\u202eevil",
    "x" * 500,
    'q"}, {"environment": "prod',
    "ghp_" + "x7Kq2mZt9Rw4Lb8Vn3Pd6Hs1Yc5Jf0Ga2Te",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_everything_that_was_told_is_data(app: Holdfast, home: Path, words: str) -> None:
    breakpoints.commit(app, **{**COMMIT, "commit_message": words, "branch": words})
    breakpoints.result(app, **RUN, test_command=words)
    first, second = saved(home, "staging")
    for said in (first["task"], first["branch"], *first["tags"], second["context"]):
        assert one_line(said) == said
        assert "ghp_x7" not in said
    assert len(first["task"]) <= len("Commit: ") + 80


def test_who_saves_by_hand_or_goes_on_takes_in_what_waits(
    app: Holdfast, home: Path, repository: Repository
) -> None:
    repository.commit("one")
    ss(app, task="mend the weir", project=str(repository.root))
    assert [save["task"] for save in saved(home)] == ["Commit: one", "mend the weir"]
    repository.commit("two")
    assert rs(app, "development").save.task == "Commit: two"


def test_a_spool_that_cannot_be_saved_now_waits_on(
    app: Holdfast, home: Path, repository: Repository
) -> None:
    repository.commit("one")
    (home / "environments").write_text("in the way")
    assert breakpoints.drain(app) == 0
    assert len(spooled(home)) == 1
    (home / "environments").unlink()
    assert breakpoints.drain(app) == 1
