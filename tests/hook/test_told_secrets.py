"""A secret that a session has seen is in nothing that hooks say or write."""

import json

import pytest

from planted import everything
from told import Work, repository

PARTS = 6
PLANTED = everything(11, 2)


def leaked(written: str) -> list[str]:
    """Plain, and as it stands in JSON, once or twice."""
    found = []
    for one in PLANTED:
        escaped = json.dumps(one.secret)[1:-1]
        if any(secret in written for secret in (one.secret, escaped, json.dumps(escaped)[1:-1])):
            found.append(one.family)
    return found


def session(home, project, planted):
    """With each in everything a session holds."""
    work = Work(home, project)
    for number, one in enumerate(planted):
        work.prompt(f"always mind this, never drop it: {one.text}")
        work.say(f"Decided because of it:\n\n{one.text}")
        work.call("Bash", one.text, command=f"pytest {one.text}")
        work.fail("Bash", f"Exit code 1\n{one.text}", command=f"make {one.text}")
        work.call("Write", file_path=f"{project}/src/{number}.py", content=one.text)
        work.call("TodoWrite", todos=[{"content": one.text, "status": "in_progress"}])
        work.call("AskUserQuestion", one.text, {"answers": {one.text: one.text}})
        work.call("Agent", one.text, {"status": "completed", "agentId": "a1"}, description=one.text)
        work.call("ExitPlanMode", plan=one.text)
    return work


@pytest.mark.parametrize("part", range(PARTS))
def test_no_secret_is_said_or_written(part, home, tmp_path):
    planted = PLANTED[part::PARTS]
    assert len(planted) > 15
    project = repository(tmp_path / "tidegate")
    work = session(home, project, planted)
    summary = "\n".join(f"The user said: {one.text}" for one in planted)
    said = [*work.compact(summary), *work.compact(summary)]
    work.hook("SessionEnd", reason="other")
    said.append(Work(home, project, "s2").start("startup"))
    assert sum(map(bool, said)) >= 5
    assert leaked("\n".join(said)) == []
    ours = [path for path in [*home.rglob("*"), *(project / ".claude").rglob("*")] if path.is_file()]
    assert {"facts.json", "brief.txt", "receipts.jsonl"} <= {path.name for path in ours}
    assert {
        path.name: leaked(path.read_text(errors="replace")) for path in ours if path.name != "seal.key"
    } == {path.name: [] for path in ours if path.name != "seal.key"}


def test_they_would_be_found():
    assert leaked(PLANTED[0].text) == [PLANTED[0].family]
    assert leaked(json.dumps({"x": PLANTED[1].text})) == [PLANTED[1].family]
