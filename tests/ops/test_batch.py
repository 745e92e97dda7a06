"""`batch plan` and `batch calibrate`, on real files, a real repository and real transcripts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.agents import task_batcher as named
from holdfast.app import Holdfast
from holdfast.cli.main import main
from holdfast.errors import BadInput, Damaged, HoldfastError, NotFound
from holdfast.ops import costs
from holdfast.ops.batch import Plan, calibrate, plan
from session import Script, text, use

ENVIRON = {
    "GIT_AUTHOR_NAME": "m",
    "GIT_AUTHOR_EMAIL": "m@x",
    "GIT_COMMITTER_NAME": "m",
    "GIT_COMMITTER_EMAIL": "m@x",
}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Holdfast:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    environ = {
        "HOME": str(tmp_path),
        "HOLDFAST_HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "client"),
        "PATH": os.defpath,
    }
    return Holdfast.open(environ)


def planned(app: Holdfast, tasks: object, **more: object) -> Plan:
    Path("tasks.json").write_text(json.dumps(tasks))
    return plan(app, "tasks.json", **more)  # type: ignore[arg-type]


def git(*words: str) -> None:
    subprocess.run(["git", *words], env={**os.environ, **ENVIRON}, check=True, capture_output=True)


def session(app: Holdfast, name: str, script: Script) -> None:
    folder = Path(app.client_dir, "projects/p")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(script.bytes())


def test_ten_files_are_split_and_what_changes_together_stays_together(app: Holdfast) -> None:
    files = [f"f{number}.py" for number in range(10)]
    for name in files:
        Path(name).write_text("a line of forty-two characters, more or less\n" * 40)
    git("init", "-q")
    for times in range(3):
        for one, other in zip(files[:5], files[:4:-1], strict=True):
            for name in (one, other):
                with Path(name).open("a") as file:
                    file.write(f"{times}\n")
            git("add", one, other)
            git("commit", "-qm", "both")
    made = planned(app, [{"id": "all", "description": "Refactor", "files": files}], budget=9_000)
    groups = [task.files for one in made.batches for task in one.tasks]
    assert len(groups) > 2
    assert sorted(name for group in groups for name in group) == files
    for one, other in zip(files[:5], files[:4:-1], strict=True):
        assert any(one in group and other in group for group in groups), (one, other, groups)
    assert all(one.estimate <= 9_000 for one in made.batches)
    assert [*made.workflow["nodes"]][:2] == ["batch_0", "checkpoint_0"]  # type: ignore[misc]


def test_a_large_file_weighs_what_it_holds(app: Holdfast) -> None:
    Path("small.py").write_text("x\n")
    Path("large.py").write_text("x = 1\n" * 9_000)
    made = planned(app, [{"description": "fix", "files": [name]} for name in ("small.py", "large.py")])
    small, large = made.batches[0].tasks
    assert small.estimate < 400
    assert 15_000 < large.estimate < 25_000


def test_a_task_larger_than_any_window_is_a_warning_and_no_loop(app: Holdfast) -> None:
    made = planned(
        app, [{"id": "all", "description": "Refactor", "estimated_files": 4000, "keep_together": True}]
    )
    assert made.warnings == ["all: Task may exceed context budget: larger than any window"]
    assert len(made.batches) == 1


def test_the_budget_is_the_room_of_the_session(app: Holdfast) -> None:
    script = Script()
    script.prompt("go")
    script.answer(text("so"), context=60_000)
    session(app, "s1", script)
    made = planned(app, [{"description": "fix"}], session="s1")
    assert (made.budget_from, made.budget) == ("session", 167_000 * 60 // 100 - 60_050)
    script.prompt("more")
    script.answer(text("so"), context=150_000)
    session(app, "s1", script)
    made = planned(app, [{"description": "fix"}], session="s1")
    assert (made.budget_from, made.budget) == ("fresh", 100_200)
    assert "has no room left" in made.warnings[0]
    assert planned(app, [{"description": "fix"}]).budget == 100_000


def nested(deep: int) -> list[dict]:
    task: dict = {"description": "x"}
    for _ in range(deep):
        task = {"description": "x", "subtasks": [task]}
    return [task]


def test_a_number_that_is_left_open_is_as_good_as_none(app: Holdfast) -> None:
    made = planned(app, [{"description": "fix", "estimated_files": None}, {"description": "fix"}])
    one, other = made.batches[0].tasks
    assert one.estimate == other.estimate
    assert named.estimate_task_tokens({"description": "fix", "estimated_files": None}) == one.estimate


@pytest.mark.parametrize(
    ("tasks", "more", "said"),
    [
        ([{"id": "a", "description": " "}], {}, "task a has no description"),
        ([{"files": []}], {}, "task 1 has no description"),
        ([{"description": "x", "subtasks": [{}]}], {}, "subtask 1 has no description"),
        ([{"description": "x", "files": ["gone.py"]}], {}, "gone.py"),
        ([{"id": "a", "description": "x", "depends_on": ["b"]}], {}, "'b'"),
        (
            [
                {"id": "a", "description": "x", "depends_on": ["b"]},
                {"id": "b", "description": "x", "depends_on": ["a"]},
            ],
            {},
            "→",
        ),
        ([{"id": "a", "description": "x"}] * 2, {}, "two of this id"),
        ([{"description": "x"}], {"budget": -5}, "--budget is -5"),
        ([{"description": "x"}], {"budget": 0}, "--budget is 0"),
        ([{"description": "x", "estimated_files": -1}], {}, "estimated_files is -1"),
        ([{"description": "x", "estimated_files": "many"}], {}, "Expected `int"),
        ([{"description": 5}], {}, "Expected `str`"),
        ([{"description": "x", "id": "../up"}], {}, "an id is"),
        ([{"description": "x", "id": ""}], {}, "an id is"),
        (nested(21), {}, "more than 20 deep"),
        (nested(300), {}, "more than 20 deep"),
        (["x"], {}, "is no object"),
        ([], {}, "holds no task"),
        ("x", {}, "holds no tasks"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_the_reason(
    app: Holdfast, tasks: object, more: dict, said: str
) -> None:
    with pytest.raises(BadInput) as problem:
        planned(app, tasks, **more)
    assert said in str(problem.value)
    assert not Path(app.home.root).exists()


def test_a_file_that_is_no_json_or_not_there_is_named(app: Holdfast) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.json"):
        plan(app, "nowhere.json")
    Path("t.json").write_text('[{"description": ')
    with pytest.raises(BadInput, match="is no JSON"):
        plan(app, "t.json")
    Path("t.json").write_text("[" * 100_000)
    with pytest.raises(BadInput, match="is no JSON"):
        plan(app, "t.json")
    with pytest.raises(HoldfastError, match="no session 'gone'"):
        planned(app, [{"description": "x"}], session="gone")


def test_the_command_shows_table_and_graph_and_writes_what_run_takes(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", app.home.root)
    Path("tasks.json").write_text(json.dumps([{"id": name, "description": "fix"} for name in "abc"]))
    assert main(["batch", "plan", "tasks.json", "--budget", "13000", "--out", "w.json"]) == 0
    shown = capsys.readouterr().out
    assert "2 batches of at most 13,000 tokens" in shown
    assert "◆ checkpoint_0" in shown
    written = json.loads(Path("w.json").read_text())
    assert (written["version"], written["budget"]) == (1, 13_000)
    assert [*written["nodes"]] == ["batch_0", "checkpoint_0", "batch_1"]
    assert written["nodes"]["checkpoint_0"]["operation"] == "checkpoint.take"
    assert sorted(os.listdir()) == ["tasks.json", "w.json"]


def taught(app: Holdfast, times: int) -> None:
    """Two sessions in which every prompt costs `times` what the rule of thumb says."""
    for name in ("s1", "s2"):
        script, used = Script(name), 10_000
        script.prompt("hello")
        script.answer(context=used)
        for _ in range(30):
            script.prompt("fix")
            script.answer(context=used + 100)
            used += 6_000 * times
            script.answer(context=used)
        session(app, name, script)


def test_estimates_are_scaled_by_what_past_tasks_cost(app: Holdfast) -> None:
    taught(app, 4)
    done = calibrate(app)
    assert (done.sessions, done.tasks, done.kept) == (2, 60, 60)
    assert done.median_error < 0.05
    assert done.without > 0.7
    made = planned(app, [{"description": "fix"}])
    assert made.calibrated == 60
    assert 22_000 < made.batches[0].tasks[0].estimate < 26_000
    assert calibrate(app).kept == 60  # the same sessions count once


def as_planned(cost: int) -> costs.Row:
    """A task that named one large file."""
    return costs.Row(20_000, cost, [3, 1, 0, -1, 18_000, 0])


def test_prompts_do_not_make_a_task_smaller_than_its_files(app: Holdfast) -> None:
    """Where words say nothing of the cost, large tasks would be taken for small ones."""
    script, used = Script("s1"), 10_000
    script.prompt("hello")
    script.answer(context=used)
    for number in range(40):
        script.prompt("fix" + " it" * 1000 * (number % 8))
        script.answer(context=used + 100)
        used += 3_000
        script.answer(context=used)
    session(app, "s1", script)
    calibrate(app)
    Path("large.py").write_text("x = 1\n" * 9_000)
    task = {"description": "fix", "files": ["large.py"]}
    assert planned(app, [task]).batches[0].tasks[0].estimate > 18_000
    rows = {costs.planned_name("r", str(number)): as_planned(5_000) for number in range(20)}
    costs.note(app, rows)
    assert planned(app, [task]).batches[0].tasks[0].estimate < 6_000


def with_files(app: Holdfast, name: str, tokens: int) -> None:
    """A session whose prompts each read one file and change another, for so many tokens."""
    script, used = Script(name), 10_000
    script.prompt("hello")
    script.answer(context=used)
    for number in range(20):
        script.prompt("fix it")
        calls = use(f"r{number}", "Read", file_path="/r.py"), use(f"e{number}", "Edit", file_path="/e.py")
        script.answer(*calls, context=used + 100)
        shown = {"content": "x" * 400, "numLines": 10, "totalLines": 10}
        script.result(f"r{number}", "…", {"type": "text", "file": shown})
        script.result(f"e{number}", "…", {"originalFile": "y" * 800, "structuredPatch": []})
        used += tokens
        script.answer(context=used)
    session(app, name, script)


def test_a_task_that_names_its_files_costs_what_others_with_such_files_did(app: Holdfast) -> None:
    with_files(app, "s1", 15_000)
    with_files(app, "s2", 15_000)
    done = calibrate(app)
    assert done.planned == 40
    assert done.planned_error < 0.1
    assert costs.read(app.home).tasks
    Path("e.py").write_text("y" * 800)
    Path("r.py").write_text("x" * 400)
    whole = planned(app, [{"description": "fix it", "files": ["e.py"], "reads": ["r.py"]}])
    task = whole.batches[0].tasks[0]
    assert 13_500 < task.estimate < 16_500
    assert 13_500 < task.likely[0] <= task.likely[1] < 16_500
    more = planned(app, [{"description": "fix it", "files": ["e.py"], "reads": ["r.py"] * 9}])
    assert more.batches[0].tasks[0].estimate > task.estimate + 1_000
    with pytest.raises(BadInput, match=r"none\.py"):
        planned(app, [{"description": "fix it", "reads": ["none.py"]}])


def test_a_plan_for_a_session_goes_by_its_own_pace(app: Holdfast) -> None:
    for name in ("s1", "s2", "s3"):
        with_files(app, name, 5_000)
    with_files(app, "slow-session", 20_000)
    calibrate(app)
    Path("e.py").write_text("y" * 800)
    task = {"description": "fix it", "files": ["e.py"], "reads": []}
    usual, slow = planned(app, [task]), planned(app, [task], session="slow-session")
    assert usual.pace == 1.0
    assert 2 < slow.pace < 4
    assert slow.batches[0].estimate > 2 * usual.batches[0].estimate
    assert planned(app, [task], session="slow-ses") == slow  # named by its beginning


def test_a_plan_for_a_session_knows_what_is_in_its_window(app: Holdfast) -> None:
    """Past sessions read each large file twice, the second time for little."""
    for name in ("s1", "s2", "s3"):
        script, used = Script(name), 10_000
        script.prompt("hello")
        script.answer(context=used)
        for number in range(20):
            script.prompt("look")
            path = str(Path(f"{name}-{number // 2}.py").absolute())
            script.answer(use(f"r{number}", "Read", file_path=path), context=used + 100)
            shown = {"content": "x" * 30_000, "numLines": 10, "totalLines": 10}
            script.result(f"r{number}", "…", {"type": "text", "file": shown})
            used += 2_000 if number % 2 else 15_000
            script.answer(context=used)
        session(app, name, script)
    calibrate(app)
    for name in ("s1-3.py", "other.py"):
        Path(name).write_text("x" * 30_000)
    tasks = [{"id": name[:2], "description": "look", "reads": [name]} for name in ("s1-3.py", "other.py")]
    there, new = (
        one for part in planned(app, tasks, session="s1", budget=90_000).batches for one in part.tasks
    )
    assert there.estimate < 5_000
    assert new.estimate > 10_000
    both = planned(app, [tasks[1], {**tasks[1], "id": "x"}], session="s1", budget=90_000).batches[0]
    assert both.estimate < new.estimate * 1.5  # what the first reads is there for the second
    made = planned(app, tasks, session="s1")
    assert made.budget_from == "fresh"
    assert {one.estimate for part in made.batches for one in part.tasks} == {new.estimate}


def test_a_batch_is_surer_than_its_tasks(app: Holdfast) -> None:
    chance = random.Random(1)
    rows = {
        f"s{number % 9}@{number}": costs.Row(
            1, round(9_000 * chance.lognormvariate(0, 0.6)), [6, 1, 0, 0, 300, 0]
        )
        for number in range(180)
    }
    costs.note(app, rows)
    names = [f"e{number}.py" for number in range(6)]
    for name in names:
        Path(name).write_text("y" * 800)
    listed = [{"description": "fix it", "files": [name], "reads": []} for name in names]
    (whole,) = planned(app, listed, budget=200_000).batches
    (one, *_) = whole.tasks
    assert sum(task.estimate for task in whole.tasks) <= whole.estimate
    assert whole.likely[0] < whole.estimate < whole.likely[1]
    assert whole.likely[1] / whole.likely[0] < 0.6 * one.likely[1] / one.likely[0]


def test_costs_of_an_older_holdfast_still_count(app: Holdfast) -> None:
    rows = {f"s@{at}": [1_000, 4_000] for at in range(30)}
    Path(app.home.root).mkdir(parents=True)
    Path(app.home.root, "costs.json").write_text(json.dumps({"v": 1, "tasks": rows}))
    assert costs.scales(app).every(1_000) == 4_000
    costs.note(app, {"t@1": costs.Row(1, 2)})
    assert json.loads(Path(app.home.root, "costs.json").read_text())["v"] == 3
    assert len(costs.read(app.home).tasks) == 31


def test_a_task_is_estimated_once_however_many_batches_it_might_go_into(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    estimated = costs.Scales.cost

    def counted(scales: costs.Scales, task: dict, *known: object) -> int:
        asked.append(task["id"])
        return estimated(scales, task, *known)  # type: ignore[arg-type]

    monkeypatch.setattr(costs.Scales, "cost", counted)
    tasks = [{"id": f"t{number}", "description": "fix", "estimated_files": 3} for number in range(40)]
    assert len(planned(app, tasks, budget=20_000).batches) > 10
    assert len(asked) == len(tasks)


def test_facts_of_an_older_holdfast_knew_of_no_window(app: Holdfast) -> None:
    Path(app.home.root).mkdir(parents=True)
    row = {"s@1": [1_000, 4_000, [3, 1, 0, 0, 500, 0]]}
    Path(app.home.root, "costs.json").write_text(json.dumps({"v": 2, "tasks": row}))
    known = costs.read(app.home).tasks["s@1"].known()
    assert known
    assert known.as_list() == [3, 1, 0, 0, 500, 0, 0, 0]


def test_many_prompts_leave_what_planned_tasks_cost(app: Holdfast) -> None:
    planned_one, prompts = (
        costs.planned_name("r", "a"),
        {f"s@{at}": costs.Row(10, 10) for at in range(1_500)},
    )
    costs.note(app, {planned_one: as_planned(5_000)})
    assert costs.note(app, prompts) == 1_000
    kept = costs.read(app.home).tasks
    assert kept[planned_one] == as_planned(5_000)
    assert "s@1499" in kept
    assert "s@0" not in kept


def test_a_plan_is_not_written_over_its_tasks(app: Holdfast) -> None:
    Path("t.json").write_text('[{"description": "fix"}]')
    Path("link.json").symlink_to("t.json")
    for out in ("t.json", "link.json"):
        with pytest.raises(BadInput, match="is the list of tasks itself"):
            plan(app, "t.json", out=out)
    assert Path("t.json").read_text() == '[{"description": "fix"}]'


def test_damaged_costs_are_no_missing_ones(app: Holdfast) -> None:
    taught(app, 1)
    calibrate(app)
    Path(app.home.root, "costs.json").write_text('{"v": 1, "tasks": 5}')
    with pytest.raises(Damaged, match=r"costs\.json"):
        planned(app, [{"description": "fix"}])


def test_the_one_liners_work_in_a_process_of_their_own(app: Holdfast) -> None:
    lines = {
        "estimate_task_tokens as f; print(f({'description': 'Implement user authentication with OAuth2', "
        "'estimated_files': 5}))": "15015",
        "split_task_for_context as f; print(len(f({'description': 'Refactor', 'estimated_files': 40, "
        "'files': [f'{n}.py' for n in range(40)]}, 50000)))": "4",
        "get_available_context as f; print(f())": "100000",
    }
    for line, printed in lines.items():
        environ = {**app.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", f"from holdfast.agents.task_batcher import {line}"],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == printed


def test_available_is_what_is_unused_of_the_budget_and_fits(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.agents.task_batcher import get_available_context

    for name in ("HOLDFAST_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, app.environ[name])
    script = Script()
    script.prompt("go")
    script.answer(text("so"), context=49_950)
    session(app, "s1", script)
    assert get_available_context() == 75_000
    script.prompt("go")
    script.answer(text("so"), context=159_950)
    session(app, "s1", script)
    assert get_available_context() == 7_000  # of which 20,000 would be unused, but the client compacts
