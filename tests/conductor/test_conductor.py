"""Workflows carried out: in order, at once, again, in time, and stopped politely."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from conductor.carried import Project
from holdfast.agents import children, kept
from holdfast.agents.workflow import read
from holdfast.app import Holdfast
from holdfast.core.checkpoint import parse
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.material import redactor_of

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def until(what: object, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_batches_follow_each_other_and_their_tasks_run_at_once(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0 wait-for b", "b": "0 wait-for a"}, {"c": "0"})
    done = project.run()
    assert (done.status, done.done, done.exit_code) == ("done", 3, 0)
    assert project.journal[-2:] == ["begin c", "end c"]
    assert set(project.statuses().values()) == {"done"}
    assert project.run().done == 3
    assert len(project.journal) == 6  # nothing was done again


def test_one_place_is_one_task_at_a_time(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0", "b": "0"})
    project.run(parallel=1)
    assert project.journal == ["begin a", "end a", "begin b", "end b"]


def test_a_task_that_fails_is_tried_again_and_then_stops_what_comes_after(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0 fail-once", "b": "0 fail"}, {"c": "0"})
    done = project.run(retries=1)
    assert (done.status, done.exit_code) == ("failed", 1)
    assert project.statuses() == {"a": "done", "b": "failed", "c": "waiting"}
    assert project.state["tasks"]["b"]["why"] == "exit code 3"
    assert project.journal.count("begin b") == 2
    project.run(retries=0)
    assert (project.journal.count("begin a"), project.journal.count("begin b")) == (2, 3)


def test_what_waits_for_one_that_failed_is_not_begun(tmp_path: Path) -> None:
    project = Project(tmp_path)
    tasks = [
        {"id": "a", "description": "0 fail"},
        {"id": "b", "description": "0", "depends_on": ["a"]},
        {"id": "c", "description": "0"},
    ]
    project.write({"nodes": {"only": {"type": "parallel", "tasks": tasks}}, "folder": str(tmp_path)})
    assert project.run(retries=0).status == "failed"
    assert project.statuses() == {"a": "failed", "b": "waiting", "c": "done"}


def test_what_failed_leaves_its_log_and_a_session_that_is_given_no_other_task(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0 fail-once"})
    done = project.run()
    assert sorted(path.name for path in Path(done.tasks[0].log).parent.iterdir()) == ["a.1.log", "a.2.log"]
    assert [session["closed"] for session in project.state["sessions"]] == [True, False]


def test_where_processes_cannot_be_looked_at_one_that_may_be_ours_is_not_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "_PROCESSES", "/nowhere")
    group = os.getpgid(0)
    assert children.end_leftovers("run", []) == []
    with pytest.raises(HoldfastError, match=f"process {group}"):
        children.end_leftovers("run", [group])


def test_nohup_is_honoured(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "1"})
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = project.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    until(lambda: project.journal)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_task_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    project = Project(tmp_path)
    tasks = [{"id": "a", "description": "60", "timeout_s": 1}]
    project.write({"nodes": {"only": {"type": "parallel", "tasks": tasks}}, "folder": str(tmp_path)})
    project.run(retries=0)
    assert project.state["tasks"]["a"]["why"] == "took more than 1 s"
    assert project.journal == ["begin a"]


def test_ctrl_c_ends_the_tasks_and_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "60", "b": "0"}, {"c": "0"})
    process = project.start()
    until(
        lambda: (
            project.statuses() == {"a": "running", "b": "done", "c": "waiting"} if project.journal else 0
        )
    )
    pid = project.state["tasks"]["a"]["pid"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert project.state["status"] == "stopped"
    assert project.statuses() == {"a": "stopped", "b": "done", "c": "waiting"}
    assert not Path(f"/proc/{pid}").exists()


def test_a_conductor_killed_in_the_middle_leaves_nothing_undone_and_nothing_doubled(tmp_path: Path) -> None:
    """By the command line, with kill -9."""
    project = Project(tmp_path, {"a": "0", "b": "2"}, {"c": "0"})
    process = project.start()
    until(
        lambda: (
            project.statuses() == {"a": "done", "b": "running", "c": "waiting"} if project.journal else 0
        )
    )
    process.kill()
    process.communicate()
    again = project.start()
    again.communicate(timeout=60)
    assert again.returncode == 0
    assert set(project.statuses().values()) == {"done"}
    assert [project.journal.count(f"end {name}") for name in "abc"] == [1, 1, 1]
    assert not any(line.startswith("beside") for line in project.journal)


def test_beginning_anew_ends_what_was_left_running_before(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "60"})
    process = project.start()
    until(lambda: project.journal)
    process.kill()
    process.communicate()
    project.write({**json.loads(project.path.read_text()), "nodes": one(description="0")["nodes"]})
    assert project.run(restart=True).status == "done"
    assert project.journal == ["begin a", "begin a", "end a"]  # and no "beside"


def test_it_is_gone_on_with_where_it_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path, {"a": "0"}, {"b": "0 fail"})
    project.write({**json.loads(project.path.read_text()), "folder": ""})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    project.run(retries=0)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"was begun in .*/here; run it there"):
        project.run(retries=0)
    assert project.journal.count("begin b") == 1


def test_a_folder_is_seen_from_the_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path, {"a": "0"})
    (tmp_path / "below").mkdir()
    project.write({**json.loads(project.path.read_text()), "folder": "below"})
    monkeypatch.chdir("/")
    assert read(str(project.path)).folder == str(tmp_path / "below")


def test_who_looks_may_go_and_the_work_goes_on(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0"}, {"b": "0"})
    process = project.start()
    assert process.stderr
    process.stderr.close()
    assert process.wait(60) == 0
    assert process.stdout
    process.stdout.close()
    assert set(project.statuses().values()) == {"done"}


def test_words_that_cannot_be_an_argument_fail_one_task_and_no_more(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0\0", "b": "0"})
    project.command = "echo {prompt}"
    done = project.run(retries=0)
    assert project.statuses() == {"a": "failed", "b": "done"}
    assert "could not be started" in done.tasks[0].why


def test_a_log_that_cannot_be_written_costs_no_work(tmp_path: Path) -> None:
    """Whoever prints more than a pipe holds would wait for ever if nobody read it."""
    project = Project(tmp_path, {"a": "0"})
    project.command = "head -c 300000 /dev/zero"
    place = kept.Place(Holdfast.open(project.environ).home, os.path.realpath(project.path))
    Path(place.log("a", 1)).mkdir()
    done = project.run()
    assert done.status == "done"
    assert "what a printed is not kept" in done.warnings[0]


def test_a_task_whose_start_cannot_be_written_down_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: no task goes on behind the back of a state that knows nothing of it."""
    project = Project(tmp_path, {"a": "0"})
    project.command = "sleep 30"
    real, pids = kept.save, []

    def save(place: kept.Place, state: kept.State) -> None:
        if state.tasks["a"].pid:
            pids.append(state.tasks["a"].pid)
            raise OSError(28, "No space left on device")
        real(place, state)

    monkeypatch.setattr(kept, "save", save)
    with pytest.raises(OSError, match="No space left"):
        project.run(retries=0)
    assert not Path(f"/proc/{pids[0]}").exists()


def test_of_a_long_log_only_whole_lines_are_kept(tmp_path: Path) -> None:
    """Half a secret is not known as one."""
    log = children.Log(str(tmp_path / "log"), redactor_of(Holdfast.open({"HOME": str(tmp_path)}), "/"))
    tail = "\n".join("line" for _ in range(children._KEPT // 5 - 10)) + "\n"
    log.add(b"x" * (2 * children._KEPT) + SECRET.encode() + b"\n" + tail.encode())
    log.write()
    assert SECRET[12:] not in (tmp_path / "log").read_text()


def test_a_workflow_has_one_conductor(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "60"})
    process = project.start()
    until(lambda: project.journal)
    with pytest.raises(HoldfastError, match="carried out by another"):
        project.run()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_words_of_a_task_are_data_and_its_log_is_redacted(tmp_path: Path) -> None:
    words = f"0 print $(touch${{IFS}}{tmp_path}/pwned)`id`\x1b[2J{SECRET}"
    project = Project(tmp_path, {"a": words})
    done = project.run()
    log = Path(done.tasks[0].log).read_text()
    assert "`id`" in log
    assert SECRET not in log
    assert "\x1b" not in log
    assert not (tmp_path / "pwned").exists()
    assert os.stat(done.tasks[0].log).st_mode & 0o777 == 0o600


def test_a_batch_that_has_used_its_budget_is_saved_before_it_goes_on(tmp_path: Path) -> None:
    tasks = {"a": "0 transcript 7000", "b": "0 transcript 6000", "c": "0 transcript 300"}
    project = Project(tmp_path, tasks, budget=7500)
    done = project.run(parallel=1)
    assert done.status == "done"
    assert project.state["nodes"]["batch_0"]["spent"] == [7000, 6300]
    assert len(done.checkpoints) == 1
    assert Path(done.checkpoints[0]).exists()
    assert [task.cost for task in done.tasks] == [7000, 6000, 300]
    costs = json.loads((project.home / "costs.json").read_text())
    assert [row[1] for row in costs["tasks"].values()] == [7000, 6000, 300]


def test_a_damaged_file_of_costs_is_told_and_costs_no_work(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0 transcript 10"}, {"b": "0"})
    project.home.mkdir()
    (project.home / "costs.json").write_text("{}")
    done = project.run()
    assert done.status == "done"
    assert "what a cost is not kept" in done.warnings[0]
    assert (project.home / "costs.json").read_text() == "{}"


def test_one_task_beyond_its_budget_is_told(tmp_path: Path) -> None:
    done = Project(tmp_path, {"a": "0 transcript 9000"}, budget=8000).run()
    assert done.warnings == ["batch_0 took 9,000 tokens, more than its 8,000"]


def test_checkpoints_between_batches_are_those_of_the_sessions_that_worked(tmp_path: Path) -> None:
    project = Project(tmp_path, {})
    batch = [{"id": name, "description": "0 transcript 10"} for name in "ab"]
    nodes = {
        "batch_0": {"type": "parallel", "tasks": batch},
        "checkpoint_0": {"type": "single", "prompt": "Run /checkpoint to save progress"},
        "batch_1": {"type": "parallel", "tasks": [{"id": "c", "description": "0"}]},
    }
    edges = [{"from": "batch_0", "to": "checkpoint_0"}, {"from": "checkpoint_0", "to": "batch_1"}]
    project.write({"nodes": nodes, "edges": edges, "folder": str(tmp_path)})
    done = project.run()
    saved = {parse(Path(path).read_bytes(), path).fields["session_id"] for path in done.checkpoints}
    assert saved == {project.state["tasks"][name]["session"] for name in "ab"}
    assert project.journal[-2:] == ["begin c", "end c"]


def test_a_workflow_that_has_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0"})
    project.run()
    project.write({**json.loads(project.path.read_text()), "budget": 5})
    with pytest.raises(BadInput, match="has changed since"):
        project.run()
    assert project.run(restart=True).status == "done"
    assert project.journal.count("end a") == 2


def test_a_damaged_state_is_no_missing_one(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0"})
    path = Path(project.run().state)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Damaged, match="--restart sets it aside"):
        project.run()
    project.run(restart=True)
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


def one(**task: object) -> dict:
    return {"nodes": {"n": {"type": "parallel", "tasks": [{"id": "a", "description": "0", **task}]}}}


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        ([], "is no workflow"),
        ({"nodes": {}}, "holds no task"),
        ({**one(), "version": 2}, "version 2"),
        ({**one(), "budget": -1}, "budget is -1"),
        ({**one(), "folder": "/nowhere"}, "/nowhere is not there"),
        ({**one(), "edges": [{"from": "n", "to": "m"}]}, "names 'm'"),
        ({**one(), "edges": [{"from": "n", "to": "n"}]}, "n → n"),
        (one(description=" "), "has no description"),
        (one(depends_on=["z"]), "waits for 'z', which does not come before it"),
        (one(depends_on=["a"]), "a → a"),
        (one(timeout_s=0), "timeout_s is 0"),
        (one(estimate=-5), "estimate is -5"),
        (one(id="../x"), "an id is"),
        ({"nodes": {"n": {"type": "loop"}}}, "'loop'"),
        ({"nodes": {"n": {"type": "single", "operation": "purge"}}}, "'purge'"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_the_reason(
    tmp_path: Path, workflow: object, said: str
) -> None:
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps(workflow))
    with pytest.raises(BadInput) as problem:
        read(str(path))
    assert said in str(problem.value)


def test_bad_flags_are_refused_before_anything_is_done(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a": "0"})
    for flags, said in (
        ({"parallel": 0}, "--parallel"),
        ({"timeout": 0}, "--timeout"),
        ({"retries": -1}, "--re"),
    ):
        with pytest.raises(BadInput, match=said):
            project.run(**flags)
    project.command = "there-is-no-such-program"
    with pytest.raises(NotFound, match="is not found"):
        project.run()
    assert not project.home.exists()
