"""A refactoring of ten files with the real client, headless: split, batch after batch within the budget, a
checkpoint between each two, and gone on with after kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from client.client import Machine, Run, wired
from hooks import PACKAGE, command

LOOSE = "--dangerously-skip-permissions"
FILES = [f"gauge_{number}.py" for number in range(10)]
BUDGET = 24_000
BASE, TAKEN = 20_000, 9_000


@pytest.fixture
def machine(tmp_path: Path, binary: Path) -> Machine:
    """One whose project has ten files that say `old`, and whose command `holdfast` is the client's."""
    made = Machine(tmp_path / "machine", binary)
    for name in FILES:
        (made.project / name).write_text("level = old  # as the gauge there says, in inches\n" * 150)
    holdfast = tmp_path / "holdfast"
    holdfast.write_text(f'#!/bin/sh\nPYTHONPATH={PACKAGE.parent} exec {sys.executable} -m holdfast "$@"\n')
    holdfast.chmod(0o755)
    made.binary = holdfast
    return made


def planned(machine: Machine) -> list[list[dict]]:
    """The batches, as `holdfast batch plan` makes them."""
    task = {"id": "rename", "description": "Refactor the gauges: old becomes new", "files": FILES}
    path = machine.project / "tasks.json"
    path.write_text(json.dumps([task]))
    subprocess.run(
        [machine.binary, "batch", "plan", path, "--budget", str(BUDGET), "--out", "workflow.json"],
        cwd=machine.project,
        env={**machine._environ(), "PATH": os.defpath},
        check=True,
        capture_output=True,
    )
    nodes = json.loads((machine.project / "workflow.json").read_text())["nodes"]
    return [node["tasks"] for node in nodes.values() if node["type"] == "parallel"]


def scripted(batches: list[list[dict]]) -> dict:
    """What the model does when it is told a part: the edit, a look at it, and the word that it is done."""
    told = {}
    for task in (task for batch in batches for task in batch):
        edit = f"sed -i s/old/new/ {' '.join(task['files'])}; echo {task['id']} >> edited"
        told[task["description"]] = [
            {"run": edit, "context": BASE},
            {"run": f"grep -c new {task['files'][0]}", "context": BASE + TAKEN // 2},
            {"say": "Done.", "context": BASE + TAKEN - 50, "delay_s": 1},
        ]
    return {"told": told}


def carried_out(machine: Machine, binary: Path, script: dict, **more: object) -> Run:
    return machine.run(
        script,
        ["run", "workflow.json", "--parallel", "2"],
        settings=wired(command()),
        env={"HOLDFAST_CLIENT": f"{binary} {LOOSE}"},
        session=False,
        **more,
    )


def state(machine: Machine) -> dict:
    (path,) = (machine.config / "holdfast/workflows").glob("*/conductor-state.json")
    return json.loads(path.read_text())


def test_ten_files_are_refactored_in_batches_and_gone_on_with_after_a_kill(
    machine: Machine, binary: Path
) -> None:
    batches = planned(machine)
    parts = [task["id"] for batch in batches for task in batch]
    assert len(batches) >= 3
    assert sorted(name for batch in batches for task in batch for name in task["files"]) == FILES

    killed = carried_out(machine, binary, scripted(batches), kill={"event": "PostToolUse", "times": 4})
    assert killed.returncode == -9
    half = state(machine)
    done = [name for name in parts if half["tasks"][name]["status"] == "done"]
    assert 0 < len(done) < len(parts)
    assert "running" in {task["status"] for task in half["tasks"].values()}

    run = carried_out(machine, binary, scripted(batches))
    assert (run.returncode, run.refused) == (0, []), run.stderr
    whole = state(machine)
    assert {task["status"] for task in whole["tasks"].values()} == {"done"}
    assert all("old" not in (machine.project / name).read_text() for name in FILES)
    edited = (machine.project / "edited").read_text().split()
    assert all(edited.count(name) == 1 for name in done)
    assert set(edited) == set(parts)
    # Nobody asked the model for what had been done: those turns were not played.
    names = {task["description"]: task["id"] for batch in batches for task in batch}
    assert {names[said.removeprefix("told ")] for said in run.unplayed} == set(done)

    # A checkpoint stands between each two batches.
    saved = [node["checkpoints"] for name, node in whole["nodes"].items() if name.startswith("checkpoint")]
    assert len(saved) == len(batches) - 1
    assert all(paths and all(Path(path).exists() for path in paths) for paths in saved)
    # Each says how far the workflow was when it was taken.
    texts = [Path(path).read_text() for paths in saved for path in paths]
    assert all(f"workflow.json: running, at {name}; " in text for name, text in _by_node(whole, texts))
    assert all("(this session" in text and "(conductor-state.json)" in text for text in texts)

    # By what the API counted, no batch took more than its budget, and no session more than three tasks.
    assert all(max(node["spent"]) <= BUDGET for node in whole["nodes"].values() if node["spent"])
    assert all(task["cost"] > 0 for task in whole["tasks"].values())
    assert 1 < max(session["tasks"] for session in whole["sessions"]) <= 3
    used = defaultdict(list)
    for request in [*killed.requests, *run.requests]:
        if request["kind"] == "main" and request["usage"]:
            counts = request["usage"].values()
            used[request["session"]].append(sum(value for value in counts if type(value) is int))
    assert all(max(counts) - min(counts) <= BUDGET for counts in used.values())


@pytest.mark.parametrize(("used", "sessions"), [(100_000, [2]), (700_000, [1, 1])], ids=["room", "no room"])
def test_a_session_above_sixty_percent_is_given_no_other_task(
    machine: Machine, binary: Path, used: int, sessions: list[int]
) -> None:
    nodes = {f"batch_{at}": {"type": "parallel", "tasks": [_task(at)]} for at in range(2)}
    edges = [{"from": "batch_0", "to": "batch_1"}]
    (machine.project / "workflow.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    told = {f"step number {at}": [{"say": "Done.", "context": used}] for at in range(2)}
    run = carried_out(machine, binary, {"told": told})
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {}), run.stderr
    assert [session["tasks"] for session in state(machine)["sessions"]] == sessions


def test_a_session_with_room_is_given_three_tasks_and_no_fourth(machine: Machine, binary: Path) -> None:
    nodes = {f"batch_{at}": {"type": "parallel", "tasks": [_task(at)]} for at in range(4)}
    edges = [{"from": f"batch_{at}", "to": f"batch_{at + 1}"} for at in range(3)]
    (machine.project / "workflow.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    told = {f"step number {at}": [{"say": "Done.", "context": 50_000}] for at in range(4)}
    run = carried_out(machine, binary, {"told": told})
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {}), run.stderr
    assert [session["tasks"] for session in state(machine)["sessions"]] == [3, 1]


def _by_node(state: dict, texts: list[str]) -> list[tuple[str, str]]:
    names = [name for name, node in state["nodes"].items() for _ in node["checkpoints"]]
    return list(zip(names, texts, strict=True))


def _task(at: int) -> dict:
    return {"id": f"step-{at}", "description": f"Do step number {at}", "estimated_files": 1}
