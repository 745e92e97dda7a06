"""Sessions in a row with the real client: what the next one is told, and which leave a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.client import Machine, Run, wired
from client.scenario import git
from client.sent import words
from hooks import command
from taken import entries

RULE = "Always keep the harbour port at 5433, whatever the linter says"


@pytest.fixture
def machine(tmp_path: Path, binary: Path) -> Machine:
    return Machine(tmp_path / "machine", binary)


def ran(machine: Machine, prompt: str, *turns: dict, **more: object) -> Run:
    run = machine.run({"main": list(turns)}, ["-p", prompt], settings=wired(command()), **more)
    assert (run.returncode, run.refused) == (0, [])
    return run


def told(run: Run) -> str:
    """All that the model was sent with the first request."""
    first = next(request for request in run.requests if request["kind"] == "main")
    return "\n".join(words(message["content"]) for message in first["body"]["messages"])


def names(machine: Machine) -> list[str]:
    return [entry["session_id"] for entry in entries(machine.config / "holdfast")]


def test_greetings_and_questions_do_not_stand_between_two_days(machine: Machine) -> None:
    work = ran(
        machine,
        RULE,
        {"say": "I will.", "run": f"echo high > {machine.project}/tide.txt"},
        {"say": "It is high."},
    )
    kept = names(machine)
    assert set(kept) == {work.session}
    for prompt in ("hello, where were we", "Hallo, was fehlt noch?", "你好，我们上次做到哪里了"):
        talk = ran(machine, prompt, {"say": "We were at the tide."})
        assert "## Resuming from Checkpoint" in told(talk)
        assert RULE in told(talk)
        assert names(machine) == kept
    looked = ran(machine, "what is in it?", {"say": "I look.", "run": "cat tide.txt"}, {"say": "high"})
    assert RULE in told(looked)
    assert names(machine) == kept
    again = ran(machine, "go on", {"say": "On with it."}, resume=work.session)
    assert told(again).count("Resuming from Checkpoint") == 0
    assert again.session == work.session
    last = ran(machine, "and now?", {"say": "On with it."})
    said = told(last)
    assert RULE in said
    assert "where were we" not in said
    assert "Unfinished before" not in said


def test_finished_work_is_told_as_finished_and_the_unfinished_is_offered(machine: Machine) -> None:
    git(machine.project, "init", "-q", "-b", "main")
    ran(
        machine,
        "Add a foghorn",
        {"say": "I begin.", "run": "echo blow > foghorn.txt"},
        {"say": "It is begun."},
    )
    commit = (
        "echo high > tide.txt && git add tide.txt && git -c user.name=a -c user.email=a@b commit -qm tide"
    )
    ran(
        machine,
        "Write the tide and commit it",
        {"say": "I will.", "run": commit},
        {"say": "It is committed."},
    )
    said = told(ran(machine, "hello", {"say": "Hello."}))
    assert "## Resuming from Checkpoint" in said
    assert "Its work was finished then." in said
    assert "Unfinished before that: Add a foghorn (just now)" in said
    assert "/holdfast:load" not in said, "here are only hooks"
