"""What fills a window, read from a transcript within bounds; and who is to blame where it refills."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.culprit import Culprit, culprit, say
from holdfast.core.gauge import measure
from holdfast.core.shares import Shares
from holdfast.core.state import State
from holdfast.core.thrash import thrashing
from holdfast.disk import attributed, transcripts
from session import Script, text, use

LARGE = "the tide at the gate is high\n" * 4000
PROJECT = "/home/mira/tidegate"


def call(script: Script, tool: str, result: Any = "ok", **given: Any) -> None:
    calls(script, tool, result, [given])


def calls(script: Script, tool: str, result: Any, givens: list[dict[str, Any]]) -> None:
    """All of them at once, in one turn."""
    names = [f"toolu_{script.count}_{number}" for number in range(len(givens))]
    script.answer(*(use(name, tool, **given) for name, given in zip(names, givens, strict=True)))
    for name in names:
        script.result(name, result)


def attach(script: Script, kind: str, **fields: Any) -> None:
    script.line("attachment", attachment={"type": kind, **fields})


def loaded(path: Path, script: Script) -> State:
    path.write_bytes(script.bytes())
    state = State("s1")
    assert transcripts.catch_up(state, str(path), 1 << 40) == ""
    return state


def current(path: Path, script: Script, **limits: float) -> Shares:
    state = loaded(path, script)
    return attributed.shares_of(str(path), state, measure(state).used, **limits)  # type: ignore[arg-type]


# Who is to blame


def _reads(script: Script) -> None:
    call(script, "Read", LARGE, file_path=f"{PROJECT}/src/big.py")


def _many_files(script: Script) -> None:
    calls(script, "Read", LARGE[:20_000], [{"file_path": f"{PROJECT}/src/{n}.py"} for n in range(8)])


def _command(script: Script) -> None:
    call(script, "Bash", LARGE, command="npm test")


def _many_commands(script: Script) -> None:
    calls(script, "Bash", LARGE[:20_000], [{"command": f"cat part-{n}"} for n in range(8)])


def _in_the_background(script: Script) -> None:
    name = f"toolu_{script.count}"
    script.answer(use(name, "Bash", command="npm test"))
    script.result(name, "running")
    noted = f"<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>{name}</tool-use-id>\n{LARGE}"
    script.prompt(noted, promptSource="system")


def _server(script: Script) -> None:
    call(script, "mcp__linear__list_issues", LARGE, query="all")


def _tool_list(script: Script) -> None:
    tools = [{"name": f"mcp__vast__tool_{n}", "description": "x" * 900} for n in range(400)]
    attach(script, "prompt_snapshot", systemPrompt=["short"], tools=tools)
    script.answer(context=160_000)


def _instructions(script: Script) -> None:
    attach(script, "instructions", files=[{"path": f"{PROJECT}/CLAUDE.md", "content": LARGE}])


def _skill(script: Script) -> None:
    script.answer(use("s1", "Skill", skill="release"))
    script.result("s1")
    script.prompt(LARGE, isMeta=True, sourceToolUseID="s1")


def _reread(script: Script) -> None:
    file = {"filePath": f"{PROJECT}/big.py", "content": LARGE}
    attach(script, "file", filename=f"{PROJECT}/big.py", content={"type": "text", "file": file})


def _pictures(script: Script) -> None:
    image = {"type": "image", "source": {"data": "A" * 100}}
    calls(script, "Read", [image] * 2, [{"file_path": f"{PROJECT}/{n}.png"} for n in range(20)])


def _kept(script: Script) -> None:
    """Nothing new: the last result is so large that what is kept fills the window by itself."""
    if script.count < 5:
        call(script, "Bash", LARGE, command="npm test")


@pytest.mark.parametrize(
    ("happens", "kind", "says"),
    [
        (_reads, "file", ("src/big.py, again after a compaction", "a search in it")),
        (_many_files, "file", ("files that were read (8 times)", "Ranges")),
        (_command, "tool", ("output of `npm test`", "tail or grep")),
        (_many_commands, "tool", ("output of commands (8 times)", "tail or grep")),
        (_in_the_background, "tool", ("output of `npm test`", "tail or grep")),
        (_kept, "tool", ("output of `npm test`", "tail or grep")),
        (lambda s: call(s, "Grep", LARGE, pattern="tide"), "tool", ("Grep tide", "Narrower")),
        (
            lambda s: call(s, "Agent", LARGE, description="find it"),
            "tool",
            ("the agent for find it", "names"),
        ),
        (lambda s: call(s, "WebFetch", LARGE, url="http://x.y"), "tool", ("http://x.y", "narrower")),
        (lambda s: call(s, "Write", file_path="/a", content=LARGE), "tool", ("writing /a", "An edit")),
        (lambda s: call(s, "Edit", file_path="/a", new_string=LARGE), "tool", ("edits of /a", "Shorter")),
        (_server, "server", ("the MCP server linear", "Fewer fields and rows")),
        (_tool_list, "schemas", ("tools of the MCP server vast", "/mcp")),
        (_instructions, "memory", ("CLAUDE.md", "shorter")),
        (_skill, "skill", ("the skill release", "agent")),
        (_reread, "reread", ("big.py, which the client reads again", "fewer at a time")),
        (_pictures, "image", ("pictures (40 times)", "fewer")),
        (lambda s: s.prompt(LARGE), "prompt", ("prompts", "named and not pasted")),
        (lambda s: s.answer(text(LARGE)), "answer", ("the model's own text", "Shorter answers")),
        (lambda s: s.answer({"type": "thinking", "thinking": LARGE}), "thinking", ("thinking", "effort")),
        (lambda s: s.prompt(LARGE, isCompactSummary=True), "summary", ("the summary itself", "/compact")),
        (
            lambda s: attach(s, "hook_additional_context", content=[LARGE], hookName="PostToolUse:Bash"),
            "reminder",
            ("reminder or hook PostToolUse:Bash", "print less"),
        ),
        (lambda s: attach(s, "skill_listing", content=LARGE), "listing", ("the list of skills", "plugins")),
    ],
)
def test_whoever_refills_the_window_is_named(
    happens: Callable[[Script], object], kind: str, says: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "s1.jsonl"
    found, said = _blamed(path, happens)
    assert found.kind == kind
    assert found.percent >= 40
    assert len(said) <= 300
    assert said.startswith("holdfast: 3 compactions within ")
    for words in says:
        assert words in said


def _blamed(path: Path, happens: Callable[[Script], object]) -> tuple[Culprit, str]:
    script = Script()
    script.prompt("begin")
    call(script, "Bash", "small", command="ls")
    for _ in range(3):
        happens(script)
        script.answer(text("on it"))
        kept = [json.loads(line)["uuid"] for line in script.lines if b"the tide at" in line]
        script.boundary(before=0, preservedMessages={"uuids": kept if happens is _kept else []})
    state = loaded(path, script)
    burst = thrashing(state)
    assert burst is not None
    shares = attributed.refill_of(str(path), state, burst)
    found = culprit(shares)
    assert found is not None
    return found, say(burst, found, str, PROJECT)


def test_an_ordinary_prompt_of_the_system_is_not_to_blame(tmp_path: Path) -> None:
    """However little else there is: it is in every window."""
    script = Script()
    call(script, "Bash", "x" * 3000, command="ls")
    found = culprit(current(tmp_path / "s1.jsonl", script))
    assert found is not None
    assert (found.kind, found.tool) == ("tool", "Bash")


def test_a_vast_one_is(tmp_path: Path) -> None:
    script = Script()
    attach(script, "prompt_snapshot", systemPrompt=["x" * 500_000], tools=[{"name": "Bash"}])
    script.answer(context=150_000)
    state = loaded(tmp_path / "s1.jsonl", script)
    found = culprit(attributed.shares_of(str(tmp_path / "s1.jsonl"), state, 150_000))
    assert found is not None
    assert found.kind == "system"


# What is read


def test_only_the_current_cycle_is_told_of_with_what_was_kept(tmp_path: Path) -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/old.py")
    call(script, "Read", LARGE, file_path="/kept.py")
    kept = [json.loads(line)["uuid"] for line in script.lines[-1:]]
    script.boundary(preservedMessages={"uuids": kept})
    call(script, "Bash", LARGE, command="make")
    found = current(tmp_path / "s1.jsonl", script)
    assert found.is_whole
    assert [group.name for group in found.files()] == ["/kept.py"]
    assert dict(found.kinds())["kept"] > 10_000
    assert sum(size for _, size in found.kinds()) == found.used


def test_what_a_rewind_abandoned_is_not_told_of(tmp_path: Path) -> None:
    script = Script()
    script.prompt("first")
    parent = script.leaf
    script.prompt("one way")
    call(script, "Read", LARGE, file_path="/abandoned.py")
    script.leaf = parent
    script.prompt("another way")
    call(script, "Read", LARGE, file_path="/taken.py")
    found = current(tmp_path / "s1.jsonl", script)
    assert [group.name for group in found.files()] == ["/taken.py"]


def test_of_more_than_may_be_read_the_newest_is_and_the_rest_is_said_to_be_missing(tmp_path: Path) -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/early.py")
    call(script, "Read", LARGE, file_path="/late.py")
    script.answer(context=150_000)
    path = tmp_path / "s1.jsonl"
    state = loaded(path, script)
    size = path.stat().st_size
    found = attributed.shares_of(str(path), state, 150_000, most=size // 2)
    assert not found.is_whole
    assert [group.name for group in found.files()] == []  # whose call lies before
    assert dict(found.kinds())["unread"] > 20_000
    assert sum(tokens for _, tokens in found.kinds()) == 150_000
    assert attributed.shares_of(str(path), state, 150_000, most=size).is_whole


def test_out_of_time_it_says_what_it_has(tmp_path: Path) -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/a.py")
    script.answer(context=150_000)
    found = current(tmp_path / "s1.jsonl", script, seconds=0.0)
    assert not found.is_whole
    assert dict(found.kinds())["unread"] > 50_000
    assert culprit(found) is None


def test_with_only_the_newest_part_known_the_beginning_is_missing(tmp_path: Path) -> None:
    script = Script()
    for number in range(40):
        call(script, "Read", LARGE, file_path=f"/{number}.py")
    script.answer(context=500_000)
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    state = State("s1")
    assert transcripts.catch_up(state, str(path), 1 << 20) == "behind"
    found = attributed.shares_of(str(path), state, 500_000)
    assert not found.is_whole
    assert found.files()


def test_damaged_lines_cost_only_themselves(tmp_path: Path) -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/a.py")
    call(script, "Bash", LARGE, command="make")
    script.lines[1:1] = [b"\0" * 500 + b"\n", b'{"type":"user","mess\n', b"[]\n", script.lines[0][:90]]
    found = current(tmp_path / "s1.jsonl", script)
    assert [group.name for group in found.tools()] == ["Read", "Bash"]


def test_an_agents_own_transcript_is_told_of(tmp_path: Path) -> None:
    script = Script()
    script.line(
        "user",
        isSidechain=True,
        agentId="a1",
        promptSource="typed",
        message={"content": LARGE},
    )
    path = tmp_path / "agent-a1.jsonl"
    path.write_bytes(script.bytes())
    state = State("s1", "a1")
    transcripts.catch_up(state, str(path), 1 << 40)
    found = attributed.shares_of(str(path), state, measure(state).used)
    assert dict(found.kinds())["prompts"] > 10_000
