"""The guard beside the real client, driven up a window: what the person is told, and what the model is not.

A context grows by about a hundredth of the room per step, through two prompts and a compaction.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from client.client import PYTHON, Machine, Run
from client.saved import Saved
from holdfast.app import Holdfast
from holdfast.core.guard import LEVELS
from holdfast.install.operations import install
from holdfast.install.settings import Launcher
from holdfast.install.settings import wired as installed
from hooks import PACKAGE, folder, lines, wrong

#: model -> where the client compacts it.
WINDOWS = {"claude-opus-4-6": 167_000, "claude-opus-5-5": 967_000}
#: Those whose settings have a statusline of holdfast: it shows every level, and less is said.
SHOWN = {"claude-opus-4-6"}
#: What is said beside a statusline.
LOUD = ("prompt warning", "L4 Critical")
#: How each rung is known in what is said; the first has no name of its own.
SIGNS = {
    "proactive checkpoint": "holdfast: ",
    "L1 Warning": "holdfast L1 Warning: ",
    "prompt warning": "CONTEXT: ~",
    "L2 Advisory": "holdfast L2 Advisory: ",
    "L3 Yellow Alert": "holdfast L3 Yellow Alert: ",
    "L4 Critical": "holdfast L4 Critical: ",
}


@dataclass(frozen=True)
class Driven:
    model: str
    capacity: int
    machine: Machine
    run: Run


def told(machine: Machine) -> list[list[str]]:
    """What was said to the person, per cycle."""
    cycles: list[list[str]] = [[]]
    (lines,) = machine.transcripts.values()
    for line in lines:
        if line.get("subtype") == "compact_boundary":
            cycles.append([])
        attachment = line.get("attachment", {})
        if attachment.get("type") == "hook_system_message":
            # What the summary kept is told after every compaction, and is no level.
            said = attachment["content"].split("\n")
            cycles[-1] += [line for line in said if not line.startswith("holdfast: the summary kept")]
    return cycles


def step(context: int, number: int) -> dict:
    return {"say": f"step {number}", "run": f"echo step{number}", "context": context}


@pytest.fixture(scope="module", params=WINDOWS)
def driven(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, binary: Path
) -> Driven:
    """Up to 82 % with the first prompt, over the edge with the second, and up again to 65 %."""
    model, capacity = request.param, WINDOWS[request.param]
    machine = Machine(tmp_path_factory.mktemp(model), binary)
    fills = [*range(50, 83), *range(83, 100), 100.2, *range(12, 66, 2)]
    turns = [step(int(capacity * fill / 100), number) for number, fill in enumerate(fills)]
    turns[fills.index(82)] = {"say": "half way", "context": int(capacity * 0.82)}
    turns.append({"say": "finished", "context": int(capacity * 0.66)})
    keys = [
        {"event": "SessionStart"},
        {"see": "bypass permissions"},
        {"type": "go"},
        {"event": "Stop", "within_s": 120},
        {"type": "go on"},
        {"event": "Stop", "times": 2, "within_s": 120},
        {"type": "/exit"},
    ]
    settings = installed({}, {}, Launcher(PYTHON, str(PACKAGE / "launch.py")), statusline=model in SHOWN)
    run = machine.run({"main": turns}, ["--model", model], settings=settings, keys=keys, within_s=280)
    assert (run.trouble, run.refused, run.unplayed) == ("", [], {})
    return Driven(model, capacity, machine, run)


def counted(said: list[str]) -> Counter[str]:
    """How often each rung was told; a line that is none is "soon"."""
    found: Counter[str] = Counter()
    for line in said:
        (name,) = [name for name, sign in SIGNS.items() if line.startswith(sign)]
        is_rung = name != "proactive checkpoint" or "aved" in line
        found[name if is_rung else "soon"] += 1
    return found


def test_each_rung_is_told_to_the_person_exactly_once_per_cycle(driven: Driven) -> None:
    first, second = told(driven.machine)
    if driven.model in SHOWN:
        assert (counted(first), second) == (Counter(LOUD), [])
        return
    assert counted(first) - Counter(soon=1) == Counter(SIGNS.keys())
    assert counted(second) - Counter(soon=1) <= Counter(["proactive checkpoint", "L1 Warning"])
    assert counted(second)["proactive checkpoint"] == 1


def test_the_person_sees_it_on_the_screen(driven: Driven) -> None:
    shown = driven.run.screen
    said = [SIGNS[name] for name in (LOUD if driven.model in SHOWN else SIGNS)]
    assert [sign for sign in said if sign.strip() not in shown] == []


def test_the_model_is_not_told(driven: Driven) -> None:
    sent = json.dumps([request["body"] for request in driven.run.requests])
    assert [sign for sign in SIGNS.values() if sign in sent] == []
    assert "tokens before compaction" not in sent


def test_the_session_has_saved_itself_and_rs_finds_it(driven: Driven) -> None:
    """At 85 % and at 97 %, compacted since, and by nobody's hand."""
    saved = lines(driven.machine.config / "holdfast/environments/development.jsonl")
    fills = [100 * save["used"] / driven.capacity for save in saved]
    assert [85 <= fills[0] < 90, 97 <= fills[1] <= 101, len(fills)] == [True, True, 2]
    assert {save["session_id"] for save in saved} == {driven.run.session}
    told = resumed(driven.machine)
    assert "Going on with development" in told
    assert "verified, taken" in told


def resumed(machine: Machine) -> str:
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "holdfast", "rs", "development"]
    done = subprocess.run(
        command, cwd=machine.project, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_change_of_the_level_is_in_the_trail(driven: Driven) -> None:
    events = lines(driven.machine.config / "holdfast/events.jsonl")
    changes = [event for event in events if event["event"] == "CONTEXT_PRESSURE"]
    names = [name for _, _, name in LEVELS]
    assert [event["level"] for event in changes][: len(names) + 1] == [*names, "normal"]
    assert all(event["level"] != event["before"] for event in changes)
    assert [event["level"] for event in changes if event["under_pressure"]] == names[2:]
    assert not wrong(driven.machine.config / "holdfast")


def test_what_is_measured_equals_what_the_client_counts(driven: Driven) -> None:
    """To the token. A hook that comes late on a busy machine may find two responses at once."""
    samples = lines(folder(driven.machine.config / "holdfast", driven.run.session) / "samples.jsonl")
    usages = [request["usage"] for request in driven.run.requests if request["kind"] == "main"]
    reported = {
        usage["input_tokens"] + usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"]
        for usage in usages
    }
    measured = {sample["context"] for sample in samples if sample["context"]}
    assert measured <= reported
    assert len(measured) >= 0.8 * len(reported)
    assert {sample["capacity"] for sample in samples} == {driven.capacity}


def test_a_session_that_thrashes_gets_one_message_that_names_what_refills_it(
    tmp_path: Path, binary: Path
) -> None:
    """The same large file is read piece by piece after every compaction, which fills the window at once."""
    machine = Machine(tmp_path, binary)
    large = machine.project / "tides.csv"
    large.write_text("".join(f"{hour:05d},{hour * 37 % 911},harbour\n" for hour in range(12_000)))
    pieces = [{"file_path": str(large), "offset": 1500 * piece + 1, "limit": 1500} for piece in range(8)]
    reads = {"say": "again", "calls": [{"call": "Read", "input": piece} for piece in pieces]}
    filled = [reads | {"context": 168_000} for _ in range(3)]
    calm = [step(40_000 + 1000 * number, number) for number in range(3)]
    run = machine.run(
        {"main": [reads | {"context": 60_000}, *filled, *calm, {"say": "finished", "context": 44_000}]},
        ["-p", "go", "--model", "claude-opus-4-6"],
        settings=installed({}, {}, Launcher(PYTHON, str(PACKAGE / "launch.py")), statusline=False),
    )
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    assert [request["kind"] for request in run.requests].count("summary") == 3
    said = [line for cycle in told(machine) for line in cycle if "compactions within" in line]
    assert len(said) == 1
    assert "3 compactions" in said[0]
    assert "tides.csv" in said[0]
    assert not [request for request in run.requests if "compactions within" in json.dumps(request["body"])]


def test_a_session_that_ran_out_of_room_leaves_a_checkpoint_and_is_told_how_to_go_on(
    tmp_path: Path, binary: Path
) -> None:
    """Once, on the screen and not to the model. After /clear there is room, and /holdfast:load finds it."""
    machine = Machine(tmp_path, binary)
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}
    settings = json.loads(Path(install(Holdfast.open(environ)).settings).read_text())
    turns = [
        step(120_000, 0),
        step(170_000, 1),
        *[{"error": "too long"}] * 3,
        {"say": "loaded", "context": 30_000},
    ]
    keys = [
        {"event": "SessionStart"},
        {"see": "bypass permissions"},
        {"type": "mend the lock"},
        {"event": "StopFailure"},
        {"type": "go on"},
        {"see": "To go on: /compact, or /clear, then /holdfast:load"},
        {"event": "StopFailure", "times": 2},
        {"type": "go on, please"},
        {"event": "StopFailure", "times": 3},
        {"type": "/clear"},
        {"event": "SessionStart", "times": 2},
        {"type": "/holdfast:load"},
        {"event": "Stop"},
        {"type": "/exit"},
    ]
    settings["autoCompactEnabled"] = False
    model = ["--model", "claude-sonnet-4-5"]
    run = machine.run({"main": turns}, model, settings=settings, keys=keys, within_s=180)
    assert (run.returncode, run.trouble, run.refused, run.unplayed) == (0, "", [], {})
    saved = Saved.read(machine.config / "holdfast", machine.project)
    saved.check()
    *_, full = [one for one in saved.files if one.fields["reason"] == "the window is full"]
    said = [
        line["attachment"]["content"]
        for entries in machine.transcripts.values()
        for line in entries
        if line.get("attachment", {}).get("type") == "hook_system_message"
    ]
    assert "\n".join(said).count("To go on: ") == 1
    *before, last = [json.dumps(request["body"]) for request in run.requests]
    assert "To go on: " not in "".join(before)
    assert f"To load it: /holdfast:load {full.fields['id']}" in last
    assert full.fields["session_id"] != run.session
    saves = lines(machine.config / "holdfast/environments/development.jsonl")
    assert any("the window is full" in save["context"] for save in saves)
    assert {save["session_id"] for save in saves} == {full.fields["session_id"]}
    assert "Going on with development" in resumed(machine)
    assert not wrong(machine.config / "holdfast")


def test_a_session_above_its_window_has_saved_itself_where_the_client_does_not_compact(
    tmp_path: Path, binary: Path
) -> None:
    """To 108 % of the 177,000 tokens that this client lets in; `rs` finds the newest state of it."""
    machine = Machine(tmp_path, binary)
    settings = installed({}, {}, Launcher(PYTHON, str(PACKAGE / "launch.py")), statusline=False)
    settings["autoCompactEnabled"] = False
    turns = [step(100_000, 0), step(152_000, 1), {"say": "All gates are shut.", "context": 191_000}]
    run = machine.run(
        {"main": turns}, ["-p", "shut the gates", "--model", "claude-sonnet-4-5"], settings=settings
    )
    assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
    saved = lines(machine.config / "holdfast/environments/development.jsonl")
    assert ["L2 Advisory" in saved[0]["context"], "the window is full" in saved[-1]["context"]] == [
        True,
        True,
    ]
    assert saved[-1]["used"] >= 191_000
    assert {save["session_id"] for save in saved} == {run.session}
    assert "shut the gates" in resumed(machine)
    assert not wrong(machine.config / "holdfast")
