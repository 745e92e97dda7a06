"""The client does the same with holdfast, without it, and when its hooks are killed under it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from client.client import EVENTS, HERE, PYTHON, merged, wired
from client.scenario import Played, play
from hooks import command, folded, heard, lines, state, wrong

SCENARIOS = ("threshold", "agent")
_CHANGES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids of sessions and messages
    r"|device_id\W+[0-9a-f]{64}"
    r"|\ba[0-9a-f]{16}\b"  # ids of agents
    r"|duration_ms: \d+"  # of an agent
)
#: What we say into a session, as it stands in a request.
_OURS = re.compile(
    r"(?:\\n\\n)?<system-reminder>\\n\w+ hook additional context: <(holdfast-[0-9a-f]{16})>.*?</\1>\\n"
    r"</system-reminder>"
    r"|\\n\\nAdditional Instructions:\\nCOMPACTION PRESERVATION INSTRUCTIONS.*?in-progress task context"
)


def sent(played: Played) -> list[str]:
    """What the model was sent, without what differs between any two runs, and without what is ours."""
    folder = str(played.machine.folder)
    slug = re.sub(r"[^A-Za-z0-9]", "-", folder)
    bodies = (json.dumps(request["body"], sort_keys=True) for request in played.requests)
    plain = (_OURS.sub("", body) for body in bodies)
    return [_CHANGES.sub("*", body.replace(folder, "").replace(slug, "")) for body in plain]


def difference(one: list[str], other: list[str]) -> str:
    """Where two accounts of what was sent part ways; "" if they do not."""
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} requests"
    for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        if mine != theirs:
            pairs = enumerate(zip(mine, theirs, strict=False))
            at = max(80, next((at for at, (a, b) in pairs if a != b), 80))
            return f"request {number}: {mine[at - 80 : at + 80]!r} and {theirs[at - 80 : at + 80]!r}"
    return ""


def endings(played: Played) -> list[tuple[int, str, list[str], dict[str, int]]]:
    return [(run.returncode, run.trouble, run.refused, run.unplayed) for run in played.runs]


@pytest.fixture(params=SCENARIOS, scope="session")
def alone(request: pytest.FixtureRequest, shared: Path, binary: Path) -> Played:
    """The client with nobody but the probe beside it."""
    return play(request.param, shared / f"{request.param}-alone", binary, {})


def test_the_model_is_sent_the_same_with_holdfast_as_without(
    alone: Played, shared: Path, binary: Path
) -> None:
    beside = play(alone.name, shared / alone.name, binary, wired(command()))
    assert endings(beside) == endings(alone)
    assert difference(sent(beside), sent(alone)) == ""


@pytest.fixture(params=range(2), scope="session")
def killed(request: pytest.FixtureRequest, alone: Played, shared: Path, binary: Path) -> Played:
    """Every hook of ours but the last of a session is in danger."""
    folder = shared / f"{alone.name}-killed-{request.param}"
    danger = [PYTHON, "-I", "-S", str(HERE / "killer.py"), str(folder / "killed"), *command()]
    others = [event for event in EVENTS if event != "SessionEnd"]
    hooks = merged(wired(danger, others), wired(command(), ["SessionEnd"]))
    played = play(alone.name, folder, binary, hooks)
    assert (folder / "killed").exists(), "no hook was killed in time: nothing was tested"
    return played


def test_killed_hooks_never_disturb_the_client(killed: Played, alone: Played) -> None:
    assert endings(killed) == endings(alone)
    assert difference(sent(killed), sent(alone)) == ""


def test_what_killed_hooks_did_not_do_the_next_one_does(killed: Played) -> None:
    """The last hook of the session lived: by then all is as if none had been killed, but for the
    count of what was heard, which nobody can know again."""
    (session,) = killed.sessions
    saved = state(killed.home, session)
    (transcript,) = (path for path in killed.machine.transcripts if path.stem == session)
    fresh = folded(transcript)
    for name in ("turns", "typed", "calls", "compacted", "compactions"):
        assert saved["seen"].get(name) == fresh.get(name), name
    assert saved["seen"]["meter"]["context"] == fresh["meter"]["context"]
    for event, times in heard(killed.home, session).items():
        assert times <= killed.told()[session, ""][event], event
    assert wrong(killed.home) == []
    for path in (killed.home / "sessions").rglob("*.jsonl"):
        assert lines(path), path
