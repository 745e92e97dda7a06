"""What a window is filled with, on any transcript, and without a trace at home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Holdfast
from holdfast.errors import BadInput, NotFound
from holdfast.ops.explain import explain
from session import Script, text, use

LARGE = "the tide at the gate is high\n" * 2000
PROJECT = "/home/mira/tidegate"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def app(tmp_path: Path) -> Holdfast:
    place = {"HOLDFAST_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "client")}
    return Holdfast.open({"HOME": str(tmp_path), **place})


def call(script: Script, tool: str, result: Any = "ok", **given: Any) -> None:
    name = f"toolu_{script.count}"
    script.answer(use(name, tool, **given), context=30_000 + len(script.bytes()) // 3)
    script.result(name, result)


def written(tmp_path: Path, script: Script) -> str:
    path = tmp_path / "alpha.jsonl"
    path.write_bytes(script.bytes())
    return str(path)


def worked() -> Script:
    script = Script("alpha")
    script.prompt("Build the tide table")
    for _ in range(3):
        call(script, "Bash", LARGE, command="npm test")
    call(script, "Bash", "short", command="ls")
    call(script, "Read", LARGE, file_path=f"{PROJECT}/src/poll.py")
    call(script, "mcp__linear__list_issues", LARGE, query="all")
    script.line("attachment", attachment={"type": "skill_listing", "content": LARGE})
    script.answer(text("done"), context=130_000)
    return script


def test_the_kinds_are_all_of_what_is_used(app: Holdfast, tmp_path: Path) -> None:
    found = explain(app, transcript=written(tmp_path, worked()))
    assert sum(kind.tokens for kind in found.kinds) == found.used == 130_050
    assert found.kinds[0].kind == "tools"
    assert [kind.tokens for kind in found.kinds] == sorted((k.tokens for k in found.kinds), reverse=True)
    assert found.percent == pytest.approx(100 * found.used / found.window, abs=0.05)
    assert (found.session, found.cycle, found.cycles, found.source) == ("alpha", 1, 1, "usage")
    assert found.measured > 0


def test_tools_files_and_servers_are_told_with_their_largest(app: Holdfast, tmp_path: Path) -> None:
    found = explain(app, transcript=written(tmp_path, worked()))
    bash, read = found.tools
    assert (bash.name, bash.times, read.name, read.times) == ("Bash", 4, "Read", 1)
    assert bash.largest is not None
    assert (bash.largest.name, bash.largest.times) == ("npm test", 3)
    assert bash.largest.tokens > 0.9 * bash.tokens
    assert [file.name for file in found.files] == ["src/poll.py"]
    (server,) = found.servers
    assert (server.name, server.times) == ("linear", 1)
    assert server.largest is not None
    assert server.largest.name == "list_issues"
    assert [other.name for other in found.others] == ["list of skills"]


def test_a_person_reads_it_biggest_first(app: Holdfast, tmp_path: Path) -> None:
    found = explain(app, transcript=written(tmp_path, worked()))
    lines = str(found).splitlines()
    assert lines[0] == "130,050 of 200,000 tokens (65 %), cycle 1 of 1"
    assert lines[1].endswith("tool calls and their results")
    assert found.tools[0].largest is not None
    largest = f"largest: npm test, {found.tools[0].largest.tokens:,} in 3"
    assert f"  Bash (4 calls; {largest})" in lines[lines.index("tools") + 1]
    assert lines.index("tools") < lines.index("files") < lines.index("MCP servers") < lines.index("others")
    assert lines[-1].startswith("Measured in the transcript: ")


def test_of_many_files_a_person_sees_the_largest_and_json_has_all(app: Holdfast, tmp_path: Path) -> None:
    script = Script("alpha")
    for number in range(30):
        call(script, "Read", LARGE[: 1000 * number], file_path=f"{PROJECT}/{number}.py")
    found = explain(app, transcript=written(tmp_path, script))
    assert len(found.files) == 30
    assert "and 20 more (--json)" in str(found)


def test_an_earlier_cycle_is_told_as_it_was(app: Holdfast, tmp_path: Path) -> None:
    script = Script("alpha")
    for number in range(1, 41):  # more than the state remembers the places of
        call(script, "Read", LARGE, file_path=f"{PROJECT}/{number}.py")
        script.answer(text("read"), context=60_000 + number)
        script.boundary()
    call(script, "Bash", "x", command="ls")
    path = written(tmp_path, script)
    for number in (1, 2, 17, 24, 25, 40):
        found = explain(app, transcript=path, cycle=number)
        assert [file.name for file in found.files] == [f"{number}.py"]
        assert (found.cycle, found.cycles, found.used) == (number, 41, 60_050 + number)
        assert "as it was before it was compacted" in str(found)
    assert explain(app, transcript=path, cycle=41) == explain(app, transcript=path)
    assert [tool.name for tool in explain(app, transcript=path).tools] == ["Bash"]


def test_a_cycle_that_never_was_is_refused(app: Holdfast, tmp_path: Path) -> None:
    path = written(tmp_path, worked())
    for cycle in (0, 2, -1):
        with pytest.raises(BadInput, match="this session has 1 cycle, counted from 1"):
            explain(app, transcript=path, cycle=cycle)


def test_without_usage_it_is_estimated(app: Holdfast, tmp_path: Path) -> None:
    script = Script("alpha")
    script.prompt(LARGE)
    script.line("assistant", message={"id": "m", "content": [text("hm")]})
    found = explain(app, transcript=written(tmp_path, script))
    assert found.source == "estimate"
    assert {kind.kind for kind in found.kinds} == {"system", "prompts", "answers"}
    assert found.measured == pytest.approx(found.used, abs=2)


def test_a_damaged_transcript_is_told_of_as_far_as_it_can_be_read(app: Holdfast, tmp_path: Path) -> None:
    script = worked()
    script.lines.insert(3, b"\0" * 300 + b"\n")
    script.lines.insert(4, script.lines[1][:50])
    path = Path(written(tmp_path, script))
    path.write_bytes(path.read_bytes()[:-40])
    found = explain(app, transcript=str(path))
    assert sum(kind.tokens for kind in found.kinds) == found.used
    assert "Bash" in {tool.name for tool in found.tools}


def test_names_are_shown_without_secrets_and_on_one_line(app: Holdfast, tmp_path: Path) -> None:
    script = Script("alpha")
    call(script, "Bash", LARGE, command=f"curl -H 'Authorization: Bearer {SECRET}' x")
    call(script, "Read", LARGE, file_path=f"{PROJECT}/\u202eevil\n0 %  9,999  fake.py")
    call(script, "Read", LARGE, file_path=f"{PROJECT}/ファイル/größer.py")
    call(script, "Read", LARGE, file_path="/elsewhere/" + "deep/" * 60 + "end.py")
    shown = str(explain(app, transcript=written(tmp_path, script)))
    assert SECRET not in shown
    assert "[redacted:" in shown
    assert "\u202e" not in shown
    assert not any(line.startswith("0 %  9,999") for line in shown.splitlines())
    assert "  ファイル/größer.py" in shown
    assert "/deep/end.py" in shown


def test_nothing_is_written_at_home(app: Holdfast, tmp_path: Path) -> None:
    explain(app, transcript=written(tmp_path, worked()))
    assert not (tmp_path / "home").exists()


def test_in_an_empty_file_nothing_was_said_and_another_is_no_transcript(
    app: Holdfast, tmp_path: Path
) -> None:
    path = tmp_path / "alpha.jsonl"
    path.write_bytes(b"")
    assert [kind.kind for kind in explain(app, transcript=str(path)).kinds] == ["system"]
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(BadInput, match="not a transcript"):
        explain(app, transcript=str(path))
    with pytest.raises(NotFound):
        explain(app, transcript=str(tmp_path / "none.jsonl"))
    with pytest.raises(BadInput, match="not both"):
        explain(app, transcript=str(path), session="alpha")


def test_it_is_a_command(tmp_path: Path) -> None:
    path = written(tmp_path, worked())
    environ = {**os.environ, "HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "holdfast", "explain", "--transcript", path]
    said = subprocess.run([*command, "--json"], env=environ, capture_output=True, check=True)
    found = json.loads(said.stdout)
    assert found["kinds"][0]["kind"] == "tools"
    assert found["tools"][0]["largest"]["name"] == "npm test"
    wrong = subprocess.run([*command, "--cycle", "9"], env=environ, capture_output=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"--cycle is 9" in wrong.stderr
