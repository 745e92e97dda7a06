"""Tasks sized to a window: the rule of thumb exactly as it was defined, and what is made of it."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents import task_batcher as named
from holdfast.core import batch, together
from holdfast.core.batch import batches, by_files, ordered, sized, split, thumb, workflow
from holdfast.errors import BadInput

WORDS = st.text(alphabet="abc ", max_size=60) | st.sampled_from(
    ["Refactor it", "implement and fix", "update", "add ADDitions", "prefix", ""]
)
TASKS = st.fixed_dictionaries(
    {"description": WORDS}, optional={"estimated_files": st.integers(0, 60), "files": st.just([])}
)


def as_defined(task: dict) -> int:
    """The definition, word for word."""
    base_cost = len(task["description"]) // 4
    complexity_multipliers = {"refactor": 2.0, "implement": 1.5, "fix": 1.0, "update": 0.8, "add": 1.2}
    multiplier = 1.0
    for keyword, mult in complexity_multipliers.items():
        if keyword in task["description"].lower():
            multiplier = max(multiplier, mult)
    file_cost = task.get("estimated_files", 3) * 2000
    return int((base_cost + file_cost) * multiplier)


@given(TASKS)
def test_an_estimate_is_what_the_definition_says(task: dict) -> None:
    assert named.estimate_task_tokens(task) == as_defined(task)


def test_the_example_of_the_definition() -> None:
    task = {"description": "Implement user authentication with OAuth2", "estimated_files": 5}
    assert named.estimate_task_tokens(task) == 15_015


@given(TASKS, st.integers(1, 100_000))
def test_what_fits_or_cannot_be_split_comes_back_as_it_is(task: dict, available: int) -> None:
    (part,) = named.split_task_for_context(task, available)
    assert part is task
    assert ("warning" in task) == (as_defined(task) > available)


def test_subtasks_come_before_files_and_are_given_as_they_are() -> None:
    subtasks = [{"description": "one"}, {"description": "two", "estimated_files": 99}]
    task = {"description": "both", "estimated_files": 50, "subtasks": subtasks, "files": ["a.py"]}
    assert named.split_task_for_context(task, 50_000) == subtasks
    assert named.split_task_for_context({**task, "estimated_files": 3}, 50_000) == [
        {**task, "estimated_files": 3}
    ]


def test_a_large_task_is_split_by_its_files_into_parts_that_fit() -> None:
    files = [f"src/{name}.py" for name in "abcdefghij"]
    task = {"description": "Refactor all of it", "estimated_files": 10, "files": files}
    parts = named.split_task_for_context(task, 13_000)
    assert len(parts) == 4
    assert all(named.estimate_task_tokens(part) <= 13_000 for part in parts)
    assert sorted(file for part in parts for file in part["files"]) == files
    assert [part["description"][-13:] for part in parts] == [f"(part {n} of 4)" for n in range(1, 5)]


def test_the_workflow_is_as_defined() -> None:
    tasks = [{"description": "fix", "estimated_files": 40, "id": name} for name in "ab"]
    assert named.create_batched_workflow(tasks) == {
        "nodes": {
            "batch_0": {"type": "parallel", "tasks": [tasks[0]]},
            "checkpoint_0": {"type": "single", "prompt": "Run /checkpoint to save progress"},
            "batch_1": {"type": "parallel", "tasks": [tasks[1]]},
        },
        "edges": [{"from": "batch_0", "to": "checkpoint_0"}, {"from": "checkpoint_0", "to": "batch_1"}],
    }
    assert workflow([]) == {"nodes": {}, "edges": []}


def test_without_a_session_all_of_the_budget_is_available() -> None:
    assert named.get_available_context() == 100_000


def test_what_is_to_be_kept_together_is_and_a_file_too_large_is_no_endless_matter() -> None:
    task = {"description": "fix", "files": ["a.py", "b.py"], "keep_together": True, "estimated_files": 2}
    assert split(task, 3_000, thumb) == [{**task, "warning": batch.WARNING}]
    parts = split({**task, "keep_together": False}, 10, thumb)
    assert [part["files"] for part in parts] == [["a.py"], ["b.py"]]
    assert all(part["warning"] == batch.WARNING for part in parts)


def test_an_empty_list_of_subtasks_makes_no_task_disappear() -> None:
    huge = task("huge", 500, subtasks=[])
    assert split(huge, 20_000, thumb) == [{**huge, "warning": batch.WARNING}]
    assert planned([huge, task("a")]) == [["huge"], ["a"]]


def test_parts_have_their_share_of_the_files_that_are_not_named() -> None:
    whole = task("all", 40, files=["a.py", "b.py"])
    assert [part["estimated_files"] for part in split(whole, 50_000, thumb)] == [20, 20]
    (first, second) = split(whole, 30_000, thumb)
    assert first["warning"] == second["warning"] == batch.WARNING


def test_what_a_task_makes_is_made_by_its_first_part_alone() -> None:
    parts = split(task("all", 2, files=["a.py", "b.py"], creates=["new.py"]), 5_000, lambda _: 5_001)
    assert [part.get("creates") for part in parts] == [["new.py"], None]
    whole = task("all", 3, files=["a.py", "b.py", "c.py"], creates=["new.py"])
    parts = split(whole, 4_100, lambda one: sized(one, {}))
    assert [part["files"] for part in parts] == [["a.py"], ["b.py", "c.py"]]


def test_very_many_files_are_no_matter_of_memory() -> None:
    tracemalloc.start()
    files = [f"src/d{number % 9}/m{number}.py" for number in range(800)]
    groups = together.grouped(files, lambda group: len(group) <= 50, together.kinship)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(name for group in groups for name in group) == sorted(files)
    assert most < 10_000_000  # all pairs at once would take three times as much


def test_sizes_of_files_count_where_they_are_known() -> None:
    task = {"description": "fix it", "files": ["a", "b"]}
    assert sized(task, {"a": 10_000}) == 12_001
    assert sized({**task, "creates": ["c"]}, {"a": 1}) == 4_002
    assert sized({"description": "fix it"}, {}) == thumb({"description": "fix it"})


def planned(tasks: list[dict], available: int = 20_000) -> list[list[str]]:
    return [[task["id"] for task in one] for one in batches(tasks, available, thumb)]


def task(name: str, count: int = 3, **more: object) -> dict:
    return {"id": name, "description": "fix", "estimated_files": count, **more}


def test_batches_hold_what_fits_and_nothing_beside_what_it_waits_for() -> None:
    assert planned([task("a"), task("b"), task("c"), task("d")]) == [["a", "b", "c"], ["d"]]
    assert planned([task("a", depends_on=["b"]), task("b"), task("c")]) == [["b", "c"], ["a"]]
    assert planned([task("huge", 500), task("a")]) == [["huge"], ["a"]]


def test_tasks_that_name_the_same_file_are_not_done_at_once() -> None:
    shared = {"files": ["a.py"]}
    assert planned([task("a", **shared), task("b", **shared), task("c", creates=["a.py"])]) == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_who_waits_for_a_task_that_is_split_waits_for_all_its_parts() -> None:
    files = ["a.py", "b.py", "c.py"]
    whole = [task("big", 3, files=files), task("after", depends_on=["big"])]
    made = batches(whole, 6_500, lambda one: 4_000 * len(one.get("files", ["x"])))
    assert [[one["id"] for one in batch] for batch in made] == [["big.1"], ["big.2"], ["big.3"], ["after"]]
    assert made[-1][0]["depends_on"] == ["big.1", "big.2", "big.3"]


def test_subtasks_get_names_and_wait_for_what_the_whole_waits_for() -> None:
    parts = [{"description": "fix one"}, {"id": "own", "description": "fix two", "depends_on": ["big.1"]}]
    big = task("big", 40, subtasks=parts, depends_on=["first"])
    made = batches([task("first"), big, task("last", depends_on=["own"])], 20_000, thumb)
    names = {one["id"]: one.get("depends_on", []) for batch in made for one in batch}
    assert names == {"first": [], "big.1": ["first"], "own": ["big.1", "first"], "last": ["own"]}


def test_who_waits_for_a_subtask_of_what_was_not_split_waits_for_the_whole() -> None:
    small = task("small", 1, subtasks=[{"id": "inner", "description": "x"}])
    assert planned([small, task("after", depends_on=["inner"])]) == [["small"], ["after"]]


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ({"a": ["b"], "b": ["c"], "c": ["a"], "d": []}, "b → c → a → b"),
        ({"a": ["a"]}, "a → a"),
        ({"a": ["nobody"]}, "a depends on 'nobody'"),
    ],
)
def test_a_circle_and_what_is_not_there_are_named(waits: dict[str, list[str]], said: str) -> None:
    with pytest.raises(BadInput) as problem:
        ordered([{"id": name, "depends_on": names} for name, names in waits.items()])
    assert said in str(problem.value)


def test_a_part_that_is_called_like_another_task_is_no_secret() -> None:
    tasks = [task("big", 3, files=["a.py", "b.py"]), task("big.1")]
    with pytest.raises(BadInput, match=r"two tasks 'big\.1'"):
        batches(tasks, 2_100, thumb)


def test_a_long_row_of_tasks_is_no_matter_of_recursion() -> None:
    tasks = [{"id": str(n), "depends_on": [str(n + 1)] if n < 1999 else []} for n in range(2000)]
    assert [one["id"] for one in ordered(tasks)] == [str(n) for n in range(1999, -1, -1)]


def test_files_that_changed_together_stay_together() -> None:
    files = ["src/a.py", "src/b.py", "src/c.py", "src/d.py"]
    history = together.changed([["src/a.py", "src/d.py"]] * 3 + [["src/b.py", "src/c.py"]] * 2)
    near = together.by_history(history)
    parts = by_files({"description": "fix"}, files, 4_200, thumb, near)
    assert [part["files"] for part in parts] == [["src/a.py", "src/d.py"], ["src/b.py", "src/c.py"]]
    alone = by_files({"description": "fix"}, files, 4_200, thumb)
    assert [part["files"] for part in alone] == [["src/a.py", "src/b.py"], ["src/c.py", "src/d.py"]]


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("src/parser.py", "tests/test_parser.py", 0.5),
        ("lib/net.c", "include/net.h", 0.5),
        ("ui/App.tsx", "ui/App.test.ts", 0.5),
        ("a/x.go", "a/y.go", 0.2),
        ("a/x.go", "b/y.go", 0.1),
        ("a/x.go", "a/x.md", 0.0),
    ],
)
def test_names_say_what_belongs_together(one: str, other: str, least: float) -> None:
    assert together.kinship(one, other) == least


def test_one_commit_together_is_chance_and_a_sweeping_one_says_nothing() -> None:
    assert together.changed([["a", "b"]]) == {}
    assert together.changed([["a", "b"]] * 2 + [["a"]] * 2) == {("a", "b"): 0.5}
    assert together.changed([[str(n) for n in range(51)]] * 5) == {}


@given(st.lists(st.sampled_from([f"d{n % 3}/f{n}.py" for n in range(12)]), unique=True), st.integers(1, 5))
def test_every_file_is_in_one_group_that_fits(files: list[str], most: int) -> None:
    groups = together.grouped(files, lambda group: len(group) <= most, together.kinship)
    assert sorted(file for group in groups for file in group) == sorted(files)
    assert all(len(group) <= most for group in groups)
