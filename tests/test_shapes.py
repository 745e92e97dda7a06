"""Whatever a session looks like, every command, route and tool that reads gives an answer, or says in words
why there is none."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shapes
from door import Service, serving
from holdfast.cli.main import main
from holdfast.mcp import tools
from holdfast.ops import history
from holdfast.ops.described import REQUIRED, described
from holdfast.ops.registry import LOCAL, READS
from holdfast.ops.registry import everything as operations
from repository import Repository

#: Of the operations for the command line alone, those that only read.
READ_BY_HAND = ("doctor", "monitor", "report", "rs", "task.wait", "team.status")
#: What each operation is given that takes more than a session.
GIVEN: dict[str, dict[str, Any]] = {
    "batch.plan": {"path": "{project}/tasks.json"},
    "budget.estimate": {"text": "how much is this?"},
    "checkpoint.diff": {"old": "latest"},
    "checkpoint.verify": {"name": "latest"},
    "context.usage": {"used_tokens": 190_000},
    "memory.around": {"uid": "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
    "monitor": {"used_tokens": 190_000},
    "recall": {"question": "which port must stay?"},
    "report": {"out": "{project}/report.html"},
    "rs": {"environment": "development"},
    "saves.show": {"environment": "development"},
    "summaries.show": {"task": "1"},
    "task.chain": {"task": "1"},
    "task.show": {"task": "1"},
    "task.wait": {"task": "1", "timeout": 0},
    "verify": {"name": "latest"},
}
SESSIONS = [
    *shapes.SHAPES,
    *(f"unheard-{name}" for name in shapes.SHAPES),
    *shapes.LOST,
    shapes.NEVER_WRITTEN,
]
#: What stands in an answer only where a mistake of ours was caught.
_MISTAKES = ("Traceback (most recent", "a mistake in holdfast", "a mistake of holdfast's")


class Stage(NamedTuple):
    project: Path
    transcripts: dict[str, Path]
    environ: dict[str, str]
    service: Service


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    top = tmp_path_factory.mktemp("shapes")
    project, home, client = top / "tidegate", top / "home", top / "client"
    folder = client / "projects/-tidegate"
    folder.mkdir(parents=True)
    repository = Repository(project, home, hooked=False)
    repository.git("commit", "-q", "--allow-empty", "-m", "begin")
    (project / "tasks.json").write_text('[{"id":"1","description":"split parse.py"}]')
    transcripts = shapes.lay_out(folder, project, home)
    environ = {"HOME": str(top), "HOLDFAST_HOME": str(home), "CLAUDE_CONFIG_DIR": str(client)}
    with serving(home, environ=environ) as service:
        yield Stage(project, transcripts, environ, service)


@pytest.fixture
def there(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A person in that project."""
    for name, value in stage.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(stage.project)
    return stage


def reading() -> list[str]:
    return [*READS, *READ_BY_HAND]


def takes(name: str) -> set[str]:
    function = next(one for one in operations() if one.name == name).load()
    return {one.name for one in described(function).takes}


def given(stage: Stage, name: str, session: str = "") -> list[dict[str, Any]]:
    """How it is asked about this session: by its id and by its file; without one: once, about nothing."""
    common = {
        key: value.format(project=stage.project) if isinstance(value, str) else value
        for key, value in GIVEN.get(name, {}).items()
    }
    if not session:
        return [common]
    taken = takes(name)
    if "session" in taken and "used_tokens" in common:
        del common["used_tokens"]
    asked = [common | {"session": session}] if "session" in taken else []
    if "transcript" in taken:
        asked.append(common | {"transcript": str(stage.transcripts[session])})
    return asked


def by_command(stage: Stage, name: str, what: dict[str, Any]) -> str:
    places = _places(name, what)
    flags = [part for key, value in what.items() if key not in places for part in _flag(key, value)]
    said, wrong = io.StringIO(), io.StringIO()
    words = [*name.split("."), *(str(what[key]) for key in places), *flags]
    with redirect_stdout(said), redirect_stderr(wrong):
        code = main(words)
    assert code == 0 or said.getvalue() or wrong.getvalue().startswith("holdfast: "), (words, code)
    return said.getvalue() + wrong.getvalue()


def _places(name: str, what: dict[str, Any]) -> list[str]:
    function = next(one for one in operations() if one.name == name).load()
    return [one.name for one in described(function).takes if one.default is REQUIRED and one.name in what]


def _flag(key: str, value: Any) -> list[str]:
    return [f"--{key.replace('_', '-')}", str(value)]


def by_route(stage: Stage, name: str, what: dict[str, Any]) -> str:
    query = urllib.parse.urlencode(what)
    request = urllib.request.Request(
        f"{stage.service.url}/{name.replace('.', '/')}?{query}",
        headers=dict([stage.service.bearer]),
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as problem:
        status, said = problem.code, problem.read().decode()
    assert status < 500, (name, what, said)
    return json.loads(said)["error"]


def by_tool(stage: Stage, name: str, what: dict[str, Any]) -> str:
    said = tools.call(name.replace(".", "_").replace("-", "_"), what)
    return said or "no tool of its own"


SHELLS = {"command": by_command, "route": by_route, "tool": by_tool}


def check(said: str, asked: object) -> None:
    assert said.strip(), asked
    assert not any(mistake in said for mistake in _MISTAKES), (asked, said[:2000])


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("session", SESSIONS)
def test_every_read_of_a_session_answers_in_words(there: Stage, session: str, shell: str) -> None:
    asked = 0
    for name in reading() if shell == "command" else READS:
        for what in given(there, name, session):
            check(SHELLS[shell](there, name, what), (name, what))
            asked += 1
    assert asked >= 20


def test_every_read_of_a_session_of_100_mb_answers_in_words(there: Stage) -> None:
    path = there.transcripts["huge"] = there.transcripts["empty"].with_name("huge.jsonl")
    shapes.huge(path, 100)
    try:
        for name in reading():
            for what in given(there, name, "huge")[:1]:
                check(by_command(there, name, what), (name, what))
    finally:
        path.unlink()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_read_of_a_home_full_of_odd_sessions_answers_in_words(there: Stage, shell: str) -> None:
    for name in reading() if shell == "command" else READS:
        check(SHELLS[shell](there, name, given(there, name)[0]), name)


def test_no_operation_that_reads_is_left_out() -> None:
    """One that is new is read here, or says in this file that it writes or waits."""
    others = {
        *("aliases", "batch.calibrate", "dashboard", "demo", "mcp", "run", "serve", "sync", "watch"),
        *("install", "uninstall", "memory.rebuild", "summaries.clear", "test-result"),
        *("checkpoint.approve", "checkpoint.prune", "checkpoint.repair"),
    }
    groups = ("config.", "team.")
    left = {name for name in LOCAL if not name.startswith(groups)} - set(READ_BY_HAND) - others
    assert left == set()


def test_a_mistake_in_one_of_them_is_found(there: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with the slice that took all falls of usage for compactions, where there were none."""

    def broken(app: Any, state: Any, points: Any) -> list[Any]:
        raise ValueError("zip() argument 2 is longer than argument 1")

    monkeypatch.setattr(history, "_compacted", broken)
    what = {"session": "falling"}
    with pytest.raises(ValueError, match="zip"):
        by_command(there, "history", what)
    with pytest.raises(AssertionError, match="mistake of holdfast"):
        check(by_tool(there, "history", what), what)
