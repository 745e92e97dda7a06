"""Rules that the client forgets when it compacts, beside the real client: with holdfast they are in what
the model is sent afterwards. The control, the same session without it, shows that they would not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from client.api import words
from client.client import Machine, Run, wired
from client.scenario import commit
from client.sent import Sent
from holdfast.disk.client import slug
from hooks import command, lines, notes, wrong

NESTED = "Never write to the tide table by hand (CRITICAL)"
BY_PATH = "Every pump is named after a river (ENFORCED)"
TYPED = "Never restart the pump while a gate moves (CRITICAL)"
OWN = "Ask before anything is deployed (CRITICAL)"
FILES = {
    "a.txt": "one",
    "pumps/main.py": "pump = 1\n",
    "pumps/CLAUDE.md": f"# Pumps\n\n- {NESTED}\n",
    ".claude/rules/pumps.md": f"---\npaths: pumps/*.py\n---\n\n- {BY_PATH}\n",
    **{f"gate{number}.txt": "shut\n" for number in range(6)},
}


def played(folder: Path, binary: Path, hooks: dict) -> tuple[Machine, Run]:
    machine = Machine(folder, binary)
    for name in FILES:
        (machine.project / name).parent.mkdir(parents=True, exist_ok=True)
    commit(machine.project, FILES)
    own = machine.config / "projects" / slug(str(machine.project)) / "CLAUDE.md"
    own.parent.mkdir(parents=True)
    own.write_text(f"- {OWN}\n")
    pump = str(machine.project / "pumps/main.py")
    gates = [str(machine.project / f"gate{number}.txt") for number in range(6)]
    script = {
        "main": [
            {"say": "I look at it.", "call": "Read", "input": {"file_path": pump}, "context": 30_000},
            # It reads the five newest files again, and counts those it loaded by itself among them.
            {
                "calls": [{"call": "Read", "input": {"file_path": gate}} for gate in gates],
                "context": 50_000,
            },
            {"say": "step 2", "run": "echo step2", "context": 70_000},
            {"say": "step 3", "run": "echo step3", "context": 20_000},
            {"say": "finished", "context": 20_400},
        ]
    }
    run = machine.run(
        script,
        ["-p", f"Look at the pumps. {TYPED}. Then go on.", "--model", "claude-sonnet-4-5"],
        settings=hooks,
        env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
    )
    assert (run.trouble, run.refused, run.unplayed) == ("", [], {})
    return machine, run


def around(run: Run) -> tuple[str, Sent]:
    """What the model was sent last before the compaction, and first after it."""
    kinds = [request["kind"] for request in run.requests if request["kind"] != "side"]
    assert kinds == ["main", "main", "main", "summary", "main", "main"]
    _, _, before, _, after, _ = (one for one in run.requests if one["kind"] != "side")
    return "\n".join(words(message["content"]) for message in before["body"]["messages"]), Sent.of(after)


def test_without_holdfast_they_are_gone(tmp_path: Path, binary: Path) -> None:
    _, run = played(tmp_path, binary, {})
    before, after = around(run)
    assert all(rule in before for rule in (NESTED, BY_PATH, TYPED))
    assert OWN not in before
    everything = "\n".join([*after.given, after.kept])
    assert not [rule for rule in (NESTED, BY_PATH, TYPED, OWN) if rule in everything]


def test_with_it_they_are_in_what_the_model_is_sent(tmp_path: Path, binary: Path) -> None:
    machine, run = played(tmp_path, binary, wired(command()))
    before, after = around(run)
    assert OWN in before  # the client does not look there; holdfast told it when the session began
    (brief,) = after.briefs
    assert f"Rule of pumps/CLAUDE.md:3: {NESTED}" in brief
    assert f"Rule of .claude/rules/pumps.md:5: {BY_PATH}" in brief
    assert OWN in brief
    (line,) = [line for line in brief.split("\n") if TYPED in line]
    assert line.startswith("> ")
    (asked,) = [one for one in run.requests if one["kind"] == "summary"]
    assert TYPED in words(asked["body"]["messages"][-1]["content"])
    assert wrong(machine.config / "holdfast") == []


INSTRUCTIONS = json.loads((Path(__file__).parent.parent / "instructions.json").read_text())


@pytest.mark.parametrize("case", [one for one in INSTRUCTIONS if "version" not in one])
def test_files_of_instructions_are_read_when_holdfast_says_so(
    tmp_path: Path, binary: Path, case: dict
) -> None:
    """`again`: at the beginning, and after a compaction; `nested`: when a file there is opened, and not
    after a compaction; `never`."""
    machine = Machine(tmp_path, binary)
    rules = {name: f"This is file number {number}." for number, name in enumerate(case["files"])}
    folders = {"pumps", "pumps/deep", "locks", "gates"}
    for name, rule in rules.items():
        place = machine.config if name.startswith("$CLIENT/") else machine.project
        path = place / name.removeprefix("$CLIENT/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# x\n\n- {rule}\n")
    opened = [machine.project / folder / "main.py" for folder in sorted(folders)]
    others = [machine.project / f"gate{number}.txt" for number in range(6)]
    for path in (*opened, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("shut\n")
    read = [
        [{"call": "Read", "input": {"file_path": str(one)}} for one in some] for some in (opened, others)
    ]
    script = {
        "main": [
            {"calls": read[0], "context": 30_000},
            {"calls": read[1], "context": 50_000},  # it reads the newest five again, and theirs
            {"say": "step 2", "run": "echo step2", "context": 70_000},
            {"say": "step 3", "run": "echo step3", "context": 20_000},
            {"say": "finished", "context": 20_400},
        ]
    }
    chosen = {"options": {"instructionFiles": case["instructionFiles"]}}
    run = machine.run(
        script,
        ["-p", "go", "--model", "claude-sonnet-4-5"],
        settings={"pluginConfigs": {"cc-plugin-agents-md@builtin": chosen}}
        if case["instructionFiles"]
        else {},
        env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
    )
    first, _, before, asked, after, _ = (one for one in run.requests if one["kind"] != "side")
    assert asked["kind"] == "summary"
    sent = [json.dumps(one["body"]["messages"]) for one in (first, before, after)]
    expected = {"again": (True, True, True), "nested": (False, True, False), "never": (False, False, False)}
    for name, rule in rules.items():
        assert tuple(rule in one for one in sent) == expected[case["files"][name]], name


@pytest.mark.parametrize("vault", ["vault", "missing"])
def test_a_session_that_ends_leaves_its_line_within_the_clients_time(
    tmp_path: Path, binary: Path, vault: str
) -> None:
    machine = Machine(tmp_path, binary)
    commit(machine.project, {"a.txt": "one"})
    (tmp_path / "vault").mkdir()
    run = machine.run(
        {"main": [{"say": "step", "run": "echo step"}, {"say": "done"}]},
        ["-p", "raise the gate", "--model", "claude-sonnet-4-5"],
        settings=wired(command()),
        env={"HOLDFAST_VAULT_PATH": str(tmp_path / vault)},
    )
    assert run.returncode == 0
    found = [line for note in (tmp_path / "vault").glob("*.md") for line in note.read_text().splitlines()]
    if vault == "missing":
        (noted,) = notes(machine.config / "holdfast")
        assert (found, noted["event"]) == ([], "degraded.breadcrumb")
        return
    (line,) = found
    assert "**project** on main: raise the gate" in line
    assert line.endswith(f"%%holdfast {run.session}%%")
    assert lines(machine.config / "holdfast/events.jsonl")
