"""Commits and test runs as breakpoints: spooled by git, taken in by the next hook, once each."""

import json
import os
import shutil
import subprocess

import pytest

import hostile
import told
from holdfast import breaks
from holdfast.app import Holdfast
from holdfast.disk import results, spool, worktree
from holdfast.disk.home import Home
from hooks import copy_package, edit, environ, event, lines, notes, run_silently, state
from repository import LINE, Repository, settled, spooled
from taken import Session, entries, newest, reasons


@pytest.fixture
def repository(home, tmp_path):
    return Repository(tmp_path / "project", home)


@pytest.fixture
def session(home, repository, tmp_path):
    made = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    made.hook("SessionStart")
    return made


def bash(session, command, **more):
    session.hook(
        "PostToolBatch", tool_input={"command": command}, tool_use_id=f"toolu_{session.turns}", **more
    )


def ran(line, said):
    return {
        "tool_name": "Bash",
        "tool_input": {"command": line},
        "tool_use_id": line,
        "tool_response": said,
    }


def test_a_commit_only_spools(repository, home):
    commit = repository.commit("dredge the lock")
    (entry,) = spooled(home)
    assert (entry["commit"], entry["branch"], entry["kind"]) == (commit, "main", "commit")
    assert (entry["root"], entry["environment"]) == (str(repository.root), "development")
    assert sorted(path.name for path in home.iterdir()) == ["spool"]


def test_the_next_hook_of_the_session_saves_and_takes_a_checkpoint(repository, session, home):
    session.turn()
    commit = repository.commit("dredge the lock", CONTEXTS_ENV="staging")
    session.hook("PostToolBatch")
    assert reasons(home) == [f"commit {commit[:12]}"]
    made = newest(home)
    assert (made.fields["trigger"], made.fields["commit"]) == ("commit", commit)
    (save,) = settled(home, 1, "staging")
    assert save["task"] == "Commit: dredge the lock"
    assert save["context"] == f"Branch: main, SHA: {commit[:8]}, Files: 1"
    assert save["tags"] == ["git-commit", "main", commit[:8]]
    assert (save["source"], save["commit"], save["branch"]) == ("git-commit", commit, "main")
    assert (save["checkpoint"], save["session_id"]) == (entries(home)[-1]["path"], "s1")
    assert not list((home / "spool").glob("*/"))
    assert {"breakpoint.saved"} <= {note["event"] for note in lines(home / "events.jsonl")}


def test_what_is_saved_already_needs_no_checkpoint(repository, session, home):
    session.turn(times=2)
    session.hook("Stop")
    assert len(reasons(home)) == 1
    repository.commit()
    session.hook("UserPromptSubmit")
    assert len(settled(home, 1)) == 1
    session.turn()
    session.hook("PostToolBatch")
    assert len(reasons(home)) == 1


def test_a_commit_of_the_session_itself_is_one_without_a_hook_of_git(home, tmp_path):
    repository = Repository(tmp_path / "project", home, hooked=False)
    session = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn()
    commit = repository.commit("mend the weir")
    bash(session, "git add -A && git commit -m 'mend the weir'")
    assert reasons(home) == [f"commit {commit[:12]}"]
    assert [save["commit"] for save in settled(home, 1)] == [commit]
    session.turn()
    bash(session, "git commit --dry-run || true")  # no other commit
    assert len(reasons(home)) == 1


def test_of_several_commits_of_a_batch_each_is_saved(home, tmp_path):
    repository = Repository(tmp_path / "project", home, hooked=False)
    repository.commit("before the session")
    session = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn()
    made = [repository.commit(f"part {number}") for number in range(3)]
    lines = ("git commit -m 'part 0' && git commit -m 'part 1'", "git commit -m 'part 2'")
    session.hook("PostToolBatch", tool_calls=[ran(line, "done") for line in lines])
    assert [save["commit"] for save in settled(home, 3)] == made
    assert reasons(home) == [f"commit {made[-1][:12]}"]
    session.turn()
    made.append(repository.commit("part 3"))
    bash(session, "git commit -m 'part 3'")
    assert [save["commit"] for save in settled(home, 4)] == made


def test_a_commit_on_a_branch_that_is_left_again_is_saved_as_one_of_that_branch(home, tmp_path):
    repository = Repository(tmp_path / "project", home, hooked=False)
    repository.commit("before the session")
    session = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn()
    repository.git("checkout", "-q", "-b", "weir")
    commit = repository.commit("mend the weir")
    repository.git("checkout", "-q", "main")
    bash(session, "git checkout -b weir && git commit -am 'mend the weir' && git checkout main")
    assert [(save["commit"], save["branch"]) for save in settled(home, 1)] == [(commit, "weir")]
    assert reasons(home) == [f"commit {commit[:12]}"]
    session.turn()
    bash(session, "git commit --dry-run || true")
    assert len(settled(home)) == 1
    session.turn()
    repository.git("checkout", "-q", "weir")
    again = repository.commit("mend it again")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--ff-only", "weir")
    bash(session, "git checkout weir && git commit -am more && git checkout main && git merge weir")
    told = {save["commit"]: save["branch"] for save in settled(home, 2)}
    assert told == {commit: "weir", again: "weir"}


def test_a_commit_from_before_the_session_is_none(home, tmp_path):
    repository = Repository(tmp_path / "project", home, hooked=False)
    repository.commit()
    session = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn()
    bash(session, "git pull || git commit -m 'nothing to commit'")
    assert settled(home) == []
    assert reasons(home) == []


def test_a_commit_that_git_and_the_session_tell_of_is_saved_once(repository, session, home):
    session.turn()
    repository.commit()
    bash(session, "git commit -m 'dredge the lock'")
    assert len(settled(home, 1)) == 1
    assert len(reasons(home)) == 1


def test_one_in_a_folder_below_the_session_counts_where_the_agent_stood(home, tmp_path):
    workspace = tmp_path / "workspace"
    repository = Repository(workspace / "inner", home)
    session = Session(home, workspace, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn()
    commit = repository.commit()
    bash(session, "git commit -m x", cwd=str(repository.root))
    assert reasons(home) == [f"commit {commit[:12]}"]


def test_a_session_elsewhere_leaves_it_alone(repository, session, home, tmp_path):
    other = Session(home, tmp_path / "other", tmp_path / "projects" / "s2.jsonl")
    other.project.mkdir()
    other.turn()
    repository.commit()
    run_silently(
        event("PostToolBatch", session="s2", transcript=other.transcript.path, cwd=str(other.project)), home
    )
    assert len(spooled(home)) == 1
    assert reasons(home) == []


def test_many_commits_are_one_checkpoint(repository, session, home):
    session.turn()
    commits = [repository.commit(f"part {number}") for number in range(5)]
    session.hook("PostToolBatch")
    assert reasons(home) == [f"commit {commits[-1][:12]}"]
    assert [save["commit"] for save in settled(home, 5)] == commits


def test_of_a_rebase_only_the_last_commit_is_kept(repository, session, home):
    base = repository.commit("base")
    repository.git("checkout", "-q", "-b", "topic")
    for number in range(6):
        repository.commit(f"part {number}")
    repository.git("checkout", "-q", "-b", "onto", base)
    repository.commit("under them")
    shutil.rmtree(home / "spool")
    repository.git("checkout", "-q", "topic")
    repository.git("rebase", "-q", "--force-rebase", "onto")
    (entry,) = spooled(home)
    assert entry["kind"] == "series"
    session.turn()
    session.hook("PostToolBatch")
    (save,) = settled(home, 1)
    assert save["task"] == "Commit: part 5"
    assert save["tags"][-1] == "rebase"
    assert len(reasons(home)) == 1


@pytest.mark.parametrize("how", ["amend", "initial", "detached", "worktree", "submodule", "GIT_DIR"])
def test_whatever_kind_of_commit_it_is_the_spool_names_it(repository, home, tmp_path, how):
    place = repository.root
    if how != "initial":
        repository.commit("first")
    branch, more = "main", ()
    if how == "amend":
        more = ("--amend",)
    elif how == "detached":
        repository.git("checkout", "-q", "--detach")
        branch = ""
    elif how == "worktree":
        place, branch = tmp_path / "linked", "linked"
        repository.git("worktree", "add", "-q", str(place))
    elif how == "submodule":
        Repository(tmp_path / "library", home, hooked=False).commit("of the library")
        allowed = ("-c", "protocol.file.allow=always")
        repository.git(*allowed, "submodule", "add", "-q", str(tmp_path / "library"), "lib")
        place = repository.root / "lib"
        hooks = repository.root / ".git" / "modules" / "lib" / "hooks"
        hooks.mkdir(exist_ok=True)
        shutil.copy(repository.root / ".git" / "hooks" / "post-commit", hooks)
    shutil.rmtree(home / "spool", ignore_errors=True)
    if how == "GIT_DIR":  # the git directory is no .git above it
        place = tmp_path / "bare" / "tree"
        place.mkdir(parents=True)
        where = ("--git-dir", str(repository.root / ".git"), "--work-tree", str(place))
        repository.git(*where, "commit", "-q", "--allow-empty", "-m", "from afar", at=place)
        commit = repository.git("rev-parse", "HEAD")
    else:
        commit = repository.commit("the one", *more, at=place)
    (entry,) = spooled(home)
    assert (entry["commit"], entry["branch"], entry["root"]) == (commit, branch, str(place))


def test_what_lies_in_the_spool_and_is_no_breakpoint_is_set_aside(repository, session, home):
    repository.commit()
    (folder,) = (path for path in (home / "spool").iterdir() if path.is_dir())
    (whole,) = folder.iterdir()
    said = json.loads(whole.read_text())
    (folder / "notes.txt").write_text("mine")
    (folder / "a folder").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    for number, wrong in enumerate(
        ({"v": 2}, {"commit": "--output=/tmp/x"}, {"root": "/elsewhere"}, {"at": 5}, {"branch": None})
    ):
        (folder / f"01K9ZZZZZZZZZZZZZZZZZZZZZ{number}.commit.json").write_text(
            json.dumps({**said, **wrong})
        )
    (folder / "01K9ZZZZZZZZZZZZZZZZZZZZZ9.commit.json").write_bytes(b"\xff" * (1 << 16))
    session.turn()
    session.hook("PostToolBatch")
    assert len(settled(home, 1)) == 1
    assert len(list((home / "spool" / "aside").iterdir())) == 9
    assert not folder.exists()
    assert {note["event"] for note in notes(home)} == {"degraded.breakpoint"}


def test_the_spool_keeps_a_bound(home, tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    said = dict.fromkeys(("common", "environment", "branch", "commit"), "") | {"root": str(root)}
    for _ in range(80):
        spool.put(Home(str(home)), spool.COMMIT, said)
    assert len(spooled(home)) == 64


PASSED = "====== 12 passed in 0.31s ======"


def test_tests_that_pass_in_the_session_are_a_breakpoint_and_make_a_commit_green(repository, session, home):
    commit = repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    (repository.root / ".gitignore").write_text("*\n")
    bash(session, "pytest -q", tool_response=PASSED)
    assert reasons(home) == ["12 tests passed"]
    assert newest(home).fields["trigger"] == "tests"
    (save,) = settled(home, 1)
    assert save["task"] == "Tests passed: 12 tests"
    assert (save["context"], save["tags"]) == ("Command: pytest -q", ["tests-passed", "count-12"])
    session.turn()
    session.hook("PreCompact")
    said = newest(home).sections["Commands and Tests"]
    assert any(item.startswith(f"Last known green commit: {commit[:12]}") for item in said)
    assert any(item.startswith("Last test result: passed, 12 tests (`pytest -q`") for item in said)


EDITS = {"tool_name": "Edit", "tool_input": {"file_path": "a"}, "tool_use_id": "e", "tool_response": "ok"}
LOOKS = {"tool_name": "Read", "tool_input": {"file_path": "a"}, "tool_use_id": "r", "tool_response": "a"}
TESTS = ran("pytest -q", PASSED)


@pytest.mark.parametrize(
    ("calls", "is_green"),
    [
        ([EDITS, ran("git commit -am x", "done"), TESTS], True),
        ([TESTS, LOOKS], True),
        ([TESTS, ran("npm test", "3 passing")], True),
        ([ran("git commit -am x && pytest -q 2>&1 | tail -3; echo $?", PASSED)], True),
        ([TESTS, EDITS, ran("git commit -am x", "done")], False),
        ([TESTS, ran("git checkout main", "Switched")], False),
        ([TESTS, ran("./release", "done")], False),
        ([TESTS, {**LOOKS, "tool_name": "Agent"}], False),
        ([TESTS, ran("git checkout main && npm test", "Exit code 1")], False),
        ([ran("pytest -q && git checkout main", PASSED)], False),
        ([ran("pytest -q || git checkout main", PASSED)], False),
    ],
)
def test_a_commit_is_green_only_if_it_is_what_was_tested(repository, session, home, calls, is_green):
    """What the batch left behind is there when it is taken in, and only that."""
    commit = repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    (repository.root / ".git" / "info" / "exclude").write_text(".claude\n")
    session.hook("PostToolBatch", tool_calls=calls)
    green = state(home)["heard"].get("green", [""])[0]
    assert green == (commit if is_green else "")
    assert "Tests passed: 12 tests" in [save["task"] for save in settled(home, 1)]


@pytest.mark.parametrize(
    "command",
    [
        'git commit -m "Mend the gauge\n\npytest -q passes now"',
        'gh pr create --title x --body "## Test plan\n\npytest -q"',
        "cat > run.sh <<EOF\npytest -q\nEOF",
    ],
)
def test_a_command_that_only_writes_of_tests_has_run_none(command, home, tmp_path):
    work = told.Work(home, told.repository(tmp_path / "written"))
    work.prompt("go")
    work.call("Bash", "done", {"stdout": "done"}, command=command)
    work.hook("PostToolBatch", tool_calls=[ran(command, "done")])
    work.hook("PreCompact")
    made = "\n".join(newest(home).sections["Commands and Tests"])
    assert "green" not in made
    assert "Last test" not in made
    assert not state(home)["heard"].get("green")


def test_where_no_process_can_be_started_nothing_of_a_batch_is_lost(home, tmp_path):
    repository = Repository(tmp_path / "project", home, hooked=False)
    session = Session(home, repository.root, tmp_path / "projects" / "s1.jsonl")
    session.hook("SessionStart")
    session.turn(times=2)
    session.hook("Stop")  # the first checkpoint, and what every later one needs
    session.turn()
    commit = repository.commit()
    package = copy_package(tmp_path / "full")
    for name in ("hook.py", "apart.py"):
        edit(package / name, "posix.fork()", "posix.open('/dev/null/full', 0)")
    ended = [ran("git commit -m 'dredge the lock'", "done"), ran("pytest -q", "3 passed in 0.01s")]
    run_silently(session.event("PostToolBatch", tool_calls=ended), home, package=package)
    assert [(entry["kind"], entry["commit"]) for entry in spooled(home)] == [
        ("commit", commit),
        ("tests", commit),
    ]
    session.hook("PostToolBatch")
    assert reasons(home)[1:] == ["3 tests passed"]
    assert len(settled(home, 2)) == 2
    assert state(home)["heard"]["green"][0] == commit


def test_the_same_outcome_again_is_none_and_another_is(repository, session, home):
    repository.commit()
    shutil.rmtree(home / "spool")
    for command, answer, expected in (
        ("pytest -q", {"tool_response": PASSED}, 1),
        ("pytest -q", {"tool_response": PASSED}, 1),
        ("pytest -q | tail -3", {"tool_response": "1 failed, 3 passed in 2s"}, 2),
        ("pytest -q", {"tool_response": PASSED}, 3),
    ):
        session.turn()
        bash(session, command, **answer)
        tasks = [save["task"] for save in settled(home, expected)]
        assert len(tasks) == expected
    assert tasks[1] == "Tests failed: 1/4 failed"
    assert reasons(home) == ["12 tests passed", "12 tests passed"]


def test_tests_that_fail_are_noted_and_no_reason_for_a_checkpoint(repository, session, home):
    repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    bash(session, "pytest", tool_response="Exit code 1\n= 2 failed, 3 passed in 1s =")
    (save,) = settled(home, 1)
    assert save["tags"] == ["tests-failed", "failed-2"]
    assert reasons(home) == []
    assert state(home)["heard"]["tests"] == [0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        {"tool_response": "Command running in background with ID: b1. Output is being written to: b1.out."},
        {"tool_response": "Command was moved to the background (ID: b1) after running for 120s."},
        {"tool_response": "Command was manually backgrounded by user with ID: b1."},
        {
            "tool_response": f"{PASSED}\nCommand did not complete within its 120s timeout and was moved to "
            "the background (ID: b1). Output is being written to: b1.out."
        },
        {"tool_response": ".....F\n<error>Command was aborted before completion</error>"},
        {"tool_response": "Permission to use Bash with command pytest has been denied."},
        {"tool_response": "The user doesn't want to proceed with this tool use. It was rejected."},
        {"tool_input": {"command": "pytest", "run_in_background": True}, "tool_response": PASSED},
        {"tool_response": "<tool_use_error>Cancelled: parallel tool call failed</tool_use_error>"},
        {"tool_response": [{"type": "text", "text": PASSED}]},
        {"tool_input": {"command": "pytest | tail -1"}, "tool_response": ""},
        {"tool_response": "Exit code 127\npytest: not found"},
        {"tool_response": "Exit code 143\nCommand timed out after 2m 0s"},
    ],
)
def test_a_run_whose_end_is_not_known_is_none(repository, session, home, answer):
    repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    run_silently(session.event("PostToolBatch", **({"tool_input": {"command": "pytest"}} | answer)), home)
    assert not spooled(home)
    assert reasons(home) == []
    assert "tests" not in state(home)["heard"]


def test_git_is_asked_once_for_all_test_runs_of_a_batch(repository, session, home, tmp_path):
    """In a large tree it takes almost as long as there is time for everything."""
    repository.commit()
    asked, git = tmp_path / "asked", tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *" status "*) echo x >> {asked};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    session.turn()
    runs = [ran(f"pytest -q tests/{name}", "2 passed in 0.01s") for name in "abc"]
    said = session.event("PostToolBatch", tool_calls=runs)
    run_silently(said, home, env=environ(home, PATH=f"{git.parent}:{os.environ['PATH']}"))
    assert asked.read_text() == "x\n"


def test_every_test_run_of_a_batch_counts(repository, session, home):
    repository.commit()
    shutil.rmtree(home / "spool")
    session.turn()
    calls = [TESTS, ran("npm test", "Exit code 1\n2 failing, 3 passing")]
    session.hook("PostToolBatch", tool_calls=calls)
    tasks = sorted(save["task"] for save in settled(home, 2))
    assert tasks == ["Tests failed: 2/5 failed", "Tests passed: 12 tests"]


FAILED = ran("npm test", "Exit code 1\n2 failing, 3 passing")
OTHERS = ran("npm test", "3 passing")
#: How it ended nobody knows: the status is that of tail.
SILENT = ran("pytest -q | tail -0", "")


@pytest.mark.parametrize(
    ("told", "calls", "last"),
    [
        ([True], [TESTS], ("pytest", 5)),
        ([True], [TESTS, FAILED], ("npm test", 5)),
        ([True], [OTHERS, TESTS], ("npm test", 3)),
        ([True], [SILENT, OTHERS], ("npm test", 3)),
        ([True], [ran("make test", PASSED)], ("pytest", 5)),
        ([False], [TESTS], ("pytest -q", 12)),
        ([True, False], [TESTS, FAILED], ("pytest", 5)),
    ],
)
def test_what_pytest_says_itself_stands_for_one_run(repository, session, home, told, calls, last):
    app, tree = Holdfast.open(environ(home)), worktree.find(str(repository.root))
    for passed in told:
        run = {"passed": passed, "count": 5, "failed": int(not passed), "seconds": 0.0, "command": "pytest"}
        breaks.spool_run(app, tree, run)
    session.turn()
    session.hook("PostToolBatch", tool_calls=calls)
    settled(home, 1)
    tests = results.of(app.home, spool.key(tree.root))["tests"]
    assert (tests["command"], tests["count"]) == last


def test_what_is_edited_after_a_commit_is_no_rest(repository, session, home):
    for order, rests in ((1, True), (-1, False)):
        session.turn()
        repository.commit(f"dredge the lock {order}")
        session.hook("PostToolBatch", tool_calls=[EDITS, ran("git commit -m dredge", "done")][::order])
        assert bool(state(home)["heard"]["broke"]["rest"]) is rests


@pytest.mark.parametrize(
    "variable", ["HOLDFAST_AUTO_CONTEXT_ENABLED", "HOLDFAST_AUTO_CONTEXT_HOOKS_GIT_COMMIT"]
)
def test_where_they_are_not_wanted_nothing_is_saved(repository, session, home, variable):
    session.turn()
    repository.commit()
    run_silently(session.event("PostToolBatch"), home, env={variable: "false"})
    assert settled(home) == []
    assert reasons(home) == []


def test_a_spool_that_cannot_be_used_costs_a_session_nothing_else(repository, session, home):
    (home / "spool").write_text("in the way")
    repository.commit()
    session.turn(times=2)
    bash(session, "git commit -m x")
    bash(session, "pytest", tool_response=PASSED)
    session.hook("Stop")
    assert reasons(home) == ["2 turns of work"]
    assert {note["event"] for note in notes(home)} == {"degraded.breakpoint"}


def test_the_hook_never_fails_a_commit(repository, home, tmp_path):
    home.write_text("no folder")
    repository.commit()
    done = subprocess.run(
        ["sh", "-c", LINE.replace("githook.py", "gone.py")], capture_output=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_hostile_commits_are_saved_as_they_are_and_nothing_of_them_runs(tmp_path):
    """A few of those of bench/hostile.py, and its control."""
    ours, control = hostile.measure(tmp_path, 40, seed=3)
    assert ours["commits"] > 30
    assert {name: number for name, number in ours.items() if number} == {"commits": ours["commits"]}
    assert control["not JSON"] + control["wrong values"]
