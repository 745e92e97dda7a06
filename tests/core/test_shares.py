"""What the window is filled with: every part is somebody's, and together they are all of it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import sizes
from holdfast.core.fold import fold
from holdfast.core.lines import Account, records
from holdfast.core.seen import Seen
from holdfast.core.shares import KINDS, Filled, Shares, shares
from holdfast.core.transcript import entry
from session import Script, text, use

BARE = 30_000.0


def filled(lines: list[bytes], agent: str = "") -> Filled:
    found, offset = Filled(agent), 0
    for raw in lines:
        for record in records(raw, Account()):
            made = entry(record, offset, len(raw))
            if made is not None:
                found.take(record, made)
        offset += len(raw)
    return found


def shared(script: Script, used: int = 0) -> Shares:
    return shares(filled(script.lines), used, BARE, 2.5)


def tokens(found: Shares, kind: str) -> int:
    return dict(found.kinds()).get(kind, 0)


def attach(script: Script, kind: str, **fields: Any) -> str:
    return script.line("attachment", attachment={"type": kind, **fields})


def call(script: Script, tool: str, result: Any, **given: Any) -> None:
    name = f"toolu_{script.count}"
    script.answer(use(name, tool, **given))
    script.result(name, result)


LARGE = "the tide at the gate is high\n" * 1000


# Who it belongs to


@pytest.mark.parametrize(
    ("kind", "happens"),
    [
        ("tools", lambda s: call(s, "Bash", LARGE, command="npm test")),
        ("tools", lambda s: call(s, "Write", "ok", file_path="/a.py", content=LARGE)),
        ("tools", lambda s: call(s, "Grep", LARGE, pattern="tide")),
        ("tools", lambda s: s.result("toolu_of_a_call_nobody_read", LARGE)),
        ("files", lambda s: call(s, "Read", LARGE, file_path="/a.py")),
        ("files", lambda s: attach(s, "file", filename="/a.py", content={"file": {"content": LARGE}})),
        ("files", lambda s: attach(s, "edited_text_file", filename="/a.py", snippet=LARGE)),
        ("servers", lambda s: call(s, "mcp__linear__list_issues", LARGE)),
        ("servers", lambda s: attach(s, "mcp_instructions_delta", addedNames=["x"], addedBlocks=[LARGE])),
        ("prompts", lambda s: s.prompt(LARGE)),
        ("prompts", lambda s: attach(s, "queued_command", prompt=LARGE, commandMode="prompt")),
        ("answers", lambda s: s.answer(text(LARGE))),
        ("thinking", lambda s: s.answer({"type": "thinking", "thinking": LARGE})),
        ("memory", lambda s: attach(s, "instructions", files=[{"path": "/CLAUDE.md", "content": LARGE}])),
        ("memory", lambda s: attach(s, "nested_memory", path="/a/CLAUDE.md", content={"content": LARGE})),
        ("skills", lambda s: s.prompt([text(LARGE)], isMeta=True, promptSource=None)),
        ("skills", lambda s: attach(s, "invoked_skills", skills=[{"name": "x", "content": LARGE}])),
        ("listings", lambda s: attach(s, "skill_listing", content=LARGE)),
        ("reminders", lambda s: attach(s, "hook_additional_context", content=[LARGE], hookName="Stop")),
        ("reminders", lambda s: s.prompt("<local-command-stdout>" + LARGE, promptSource="system")),
        ("summary", lambda s: s.prompt(LARGE, isCompactSummary=True)),
    ],
)
def test_each_thing_belongs_to_its_kind(kind: str, happens: Any) -> None:
    script = Script()
    happens(script)
    found = shared(script)
    assert tokens(found, kind) > 9_000
    assert tokens(found, "system") == BARE
    assert tokens(found, kind) + BARE > 0.98 * found.used


def test_every_origin_has_a_kind() -> None:
    script = Script()
    for tool in ("Bash", "Read", "Edit", "Grep", "mcp__a__b"):
        call(script, tool, "x", file_path="/a" if tool in ("Read", "Edit") else None)
    assert all(part.origin in KINDS for part in shared(script).parts)


def test_a_picture_is_a_picture_wherever_it_comes_from() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 90_000}}
    script = Script()
    script.line("user", message={"content": [text("look"), image]}, promptSource="typed")
    call(script, "Read", [image], file_path="/pic.png")
    attach(script, "file", filename="/b.png", content={"type": "image", "file": {"base64": "A" * 90_000}})
    found = shared(script)
    assert tokens(found, "images") == 3 * sizes.IMAGE
    assert tokens(found, "files") < 200
    assert {group.name for group in found.files()} == {"/pic.png", "/b.png"}


def test_a_report_from_the_background_belongs_to_the_call_that_started_it() -> None:
    script = Script()
    call(script, "Bash", "started", command="make all")
    started = f"toolu_{script.count - 2}"
    script.prompt(
        f"<task-notification>\n<task-id>b</task-id>\n<tool-use-id>{started}</tool-use-id>\n{LARGE}",
        promptSource="system",
    )
    (bash,) = shared(script).tools()
    assert (bash.name, bash.parts[0].name) == ("Bash", "make all")
    assert bash.tokens > 10_000


def test_a_skill_is_named_by_its_call_or_its_folder() -> None:
    script = Script()
    script.answer(use("t1", "Skill", skill="release"))
    script.result("t1", "Launching skill")
    script.prompt(LARGE, isMeta=True, sourceToolUseID="t1")
    script.prompt("Base directory for this skill: /home/mira/skills/tides\n\n" + LARGE, isMeta=True)
    assert {group.name for group in shared(script).named("skill")} == {"release", "tides"}


def test_what_holdfast_said_is_told_as_such() -> None:
    script = Script()
    said = "<holdfast-ab12>\n" + LARGE + "</holdfast-ab12>"
    attach(script, "hook_success", hookEvent="SessionStart", hookName="SessionStart:compact", content=said)
    (ours,) = shared(script).named("reminder")
    assert ours.name == "holdfast"


def test_servers_have_their_calls_their_lists_and_their_instructions() -> None:
    script = Script()
    names = [f"mcp__tide_gauge__tool_{number:03}" for number in range(50)]
    attach(script, "deferred_tools_delta", addedNames=[*names, "CronCreate"], addedLines=names)
    attach(script, "mcp_instructions_delta", addedNames=["tide gauge"], addedBlocks=["Ask first. " * 50])
    script.answer(use("t1", "ToolSearch", query="select:" + names[0]))
    script.result("t1", [{"type": "tool_reference", "tool_name": names[0]}])
    call(script, names[0], LARGE)
    (server,) = shared(script).servers()
    assert server.name == "tide_gauge"
    assert server.times == 1
    assert [part.tool for part in server.parts] == [names[0], ""]
    listed = server.parts[1].tokens
    assert 500 + 50 * len(names[0]) / 2.5 < listed < 500 + 4 * 50 * len(names[0]) / 2.5


def test_what_no_line_shows_is_split_where_the_client_tells_what_it_sends() -> None:
    script = Script()
    tools = [
        {"name": "Bash", "description": "x" * 3_000},
        {"name": "mcp__a__b", "description": "y" * 5_990},
    ]
    attach(script, "prompt_snapshot", systemPrompt=["z" * 985], tools=tools)
    found = shared(script)
    assert [(part.origin, part.name, round(part.tokens, -3)) for part in found.parts] == [
        ("system", "system prompt", 3_000),
        ("system", "tools", 9_000),
        ("server", "a", 18_000),
    ]
    assert found.used == BARE


def test_an_agents_lines_are_not_the_sessions() -> None:
    script = Script()
    script.prompt(LARGE, isSidechain=True, agentId="a1")
    assert tokens(shared(script), "prompts") == 0
    assert filled(script.lines, "a1").rows


def test_earlier_thinking_leaves_the_window_of_models_that_drop_it() -> None:
    for model, stays in (("claude-sonnet-4-5", False), ("claude-opus-4-6", True)):
        script = Script(model=model)
        script.answer({"type": "thinking", "thinking": LARGE})
        script.prompt("go on")
        assert bool(tokens(shared(script), "thinking")) == stays


def test_what_a_microcompaction_clears_is_gone() -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/a.py")
    call(script, "Read", LARGE, file_path="/b.py")
    data = {"tokensSaved": 9_000, "compactedToolIds": ["toolu_0", 7, None, "unknown"]}
    script.line("system", subtype="microcompact_boundary", microcompactMetadata=data)
    found = {group.name: group.tokens for group in shared(script).files()}
    assert found["/a.py"] < 200
    assert found["/b.py"] > 9_000


# Compactions


def test_a_compaction_leaves_what_it_kept_under_its_name() -> None:
    script = Script()
    call(script, "Read", LARGE, file_path="/old.py")
    call(script, "Read", LARGE, file_path="/kept.py")
    kept = [json.loads(line)["uuid"] for line in script.lines[-2:]]
    script.boundary(preservedMessages={"uuids": [*kept, "unknown", 7, None]})
    script.prompt("a summary", isCompactSummary=True)
    attach(script, "file", filename="/again.py", content={"file": {"content": LARGE}})
    found = shared(script)
    assert tokens(found, "kept") > 9_000
    assert tokens(found, "summary") > 0
    assert {group.name for group in found.files()} == {"/kept.py", "/again.py"}
    assert {part.origin for part in found.parts if part.name == "/again.py"} == {"reread"}


def test_a_file_attached_later_is_not_one_that_was_read_again() -> None:
    script = Script()
    script.boundary()
    script.answer()
    attach(script, "file", filename="/a.py", content={"file": {"content": LARGE}})
    assert {part.origin for part in shared(script).parts if part.name == "/a.py"} == {"file"}


def test_cycles_are_counted() -> None:
    script = Script()
    for _ in range(3):
        call(script, "Read", LARGE, file_path="/big.py")
        script.boundary()
    call(script, "Read", LARGE, file_path="/big.py")
    call(script, "Read", LARGE, file_path="/new.py")
    cycles = {part.name: part.cycles for part in shared(script).parts}
    assert (cycles["/big.py"], cycles["/new.py"]) == (4, 1)


# The sum


def test_the_parts_are_scaled_to_what_is_used() -> None:
    script = Script()
    call(script, "Bash", LARGE, command="npm test")
    script.prompt("go on")
    plain = shared(script)
    assert plain.measured == plain.used
    for scale in (0.3, 0.9, 1.2):
        found = shared(script, round(scale * plain.used))
        assert found.measured == plain.measured
        assert tokens(found, "tools") == pytest.approx(scale * tokens(plain, "tools"), abs=2)
        assert tokens(found, "unread") <= 1


def test_what_no_line_accounts_for_is_not_put_down_to_those_that_were_read() -> None:
    """As in a session that goes on from one whose lines are not in its file."""
    script = Script()
    call(script, "Bash", LARGE, command="npm test")
    plain, found = shared(script), shared(script, 4 * shared(script).used)
    assert tokens(found, "tools") == pytest.approx(1.25 * tokens(plain, "tools"), abs=2)
    assert tokens(found, "unread") == pytest.approx(2.75 * plain.used, abs=2)


def test_of_a_cycle_that_was_not_all_read_the_rest_is_said_to_be_missing() -> None:
    script = Script()
    call(script, "Bash", LARGE, command="npm test")
    whole = shared(script)
    part = shares(filled(script.lines), whole.used + 50_000, BARE, 2.5, is_whole=False)
    assert tokens(part, "unread") == 50_000
    assert tokens(part, "tools") == tokens(whole, "tools")
    less = shares(filled(script.lines), whole.used // 2, BARE, 2.5, is_whole=False)
    assert tokens(less, "unread") == 0
    assert sum(size for _, size in less.kinds()) == whole.used // 2


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_NAMES = st.sampled_from(
    ["/a.py", "/b\n.py", "/\u202ec.py", "ファイル.py", "", "\ud800x", "mcp____", "mcp__s__t"]
)
_TEXTS = st.text(max_size=200) | st.sampled_from(
    [LARGE, "界" * 5000, "<task-notification>", "<holdfast-x>"]
)


@st.composite
def _events(draw: st.DrawFn) -> Script:
    """A session in which anything may happen in any order."""
    script = Script(model=draw(st.sampled_from(["claude-opus-4-6", "claude-sonnet-4-5", ""])))
    for number in range(draw(st.integers(0, 12))):
        what, name, words = draw(st.integers(0, 9)), draw(_NAMES), draw(_TEXTS)
        if what == 0:
            script.prompt(words)
        elif what == 1:
            script.prompt(words, isMeta=True)
        elif what == 2:
            tool = draw(st.sampled_from(["Bash", "Read", "Edit", "Grep", "mcp__s__t", "mcp__", ""]))
            script.answer(text(words), use(f"c{number}", tool, file_path=name, command=words))
        elif what == 3:
            script.result(f"c{draw(st.integers(0, 12))}", draw(st.just(words) | _VALUES))
        elif what == 4:
            script.boundary(preservedMessages={"uuids": [f"s1-{number:06d}", draw(_VALUES)]})
        elif what == 5:
            script.line(
                "system",
                subtype="microcompact_boundary",
                microcompactMetadata={"compactedToolIds": [f"c{number - 1}", draw(_VALUES)]},
            )
        elif what == 6:
            script.answer({"type": "thinking", "thinking": words})
        else:
            kind = draw(
                st.sampled_from(
                    "file instructions nested_memory deferred_tools_delta mcp_instructions_delta "
                    "invoked_skills skill_listing hook_success queued_command prompt_snapshot other".split()
                )
            )
            fields = st.sampled_from(
                "content files skills addedNames addedBlocks prompt tools filename rendered".split()
            )
            attach(script, kind, **draw(st.dictionaries(fields, st.just(words) | _VALUES, max_size=4)))
    return script


@settings(deadline=None)
@given(_events(), st.integers(0, 2_000_000), st.floats(5_000, 60_000), st.floats(1.5, 4.5), st.booleans())
def test_whatever_happens_the_parts_are_the_whole_and_none_is_negative(
    script: Script, used: int, bare: float, ratio: float, is_whole: bool
) -> None:
    found = shares(filled(script.lines), used, bare, ratio, is_whole)
    assert found.used == used or not used
    assert sum(size for _, size in found.kinds()) == found.used
    assert all(size > 0 for _, size in found.kinds())
    assert all(0 <= part.kept <= part.tokens * 1.000001 + 1e-6 for part in found.parts)
    assert sum(part.tokens for part in found.parts) == pytest.approx(found.used, abs=1)
    assert all(part.name for part in found.parts if part.origin == "server")
    for groups in (found.tools(), found.files(), found.servers()):
        assert sum(group.tokens for group in groups) <= found.used + 1
        assert [group.tokens for group in groups] == sorted((g.tokens for g in groups), reverse=True)


@settings(deadline=None)
@given(_events())
def test_the_pieces_of_a_record_are_as_large_as_its_entry(script: Script) -> None:
    """What is told of the window's parts is told of the sizes the gauge works with."""
    found = Filled()
    for raw in script.lines:
        (record,) = records(raw, Account())
        made = entry(record, 0, len(raw))
        assert made is not None
        pieces = found.origins.pieces(record, made)
        units, size = made.units + made.thought_units, made.tokens + made.thought_tokens
        assert sum(piece[3] for piece in pieces) == pytest.approx(units, abs=0.01)
        assert sum(piece[4] for piece in pieces) == pytest.approx(size, abs=0.01)


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.lists(_VALUES, min_size=1, max_size=4))
def test_a_record_of_any_shape_costs_nothing_but_itself(chance: Any, values: list[Any]) -> None:
    """Any field of any record replaced by anything, at any depth."""
    script = Script()
    call(script, "Read", [text("x"), {"type": "image"}], file_path="/a.py")
    attach(script, "instructions", files=[{"path": "/CLAUDE.md", "content": "x"}])
    attach(script, "prompt_snapshot", systemPrompt=["x"], tools=[{"name": "mcp__a__b"}])
    attach(script, "deferred_tools_delta", addedNames=["mcp__a__b"], addedLines=["x"])
    attach(script, "file", filename="/a.py", content={"type": "text", "file": {"content": "x"}})
    script.boundary(preservedMessages={"uuids": ["s1-000001"]})
    damaged = []
    for raw in script.lines:
        record = json.loads(raw)
        for value in values:
            inside: Any = record
            while True:
                keys = list(inside) if type(inside) is dict else list(range(len(inside)))
                key = chance.choice(keys)
                if type(inside[key]) in (dict, list) and inside[key] and chance.random() < 0.7:
                    inside = inside[key]
                    continue
                inside[key] = copy.deepcopy(value)
                break
        damaged.append(json.dumps(record).encode() + b"\n")
    found = shares(filled(damaged), 100_000, BARE, 2.5)
    assert sum(size for _, size in found.kinds()) == 100_000


def test_the_sum_is_the_gauges_own(tmp_path: Any) -> None:
    """Of the same lines, the meter counts what is counted here."""
    script = Script()
    script.prompt("look at it")
    for number in range(5):
        call(script, "Read", LARGE, file_path=f"/{number}.py")
        script.answer(text("said"), {"type": "thinking", "thinking": "hm" * 500})
    script.boundary(preservedMessages={"uuids": [json.loads(script.lines[-1])["uuid"]]})
    script.prompt("summary", isCompactSummary=True)
    call(script, "Bash", LARGE, command="make")
    seen, offset = Seen(), 0
    for raw in script.lines:
        (record,) = records(raw, Account())
        made = entry(record, offset, len(raw))
        assert made is not None
        fold(seen, made)
        offset += len(raw)
    ratio = seen.meter.ratio()
    found = shares(filled(script.lines), 0, 0.0, ratio)
    assert found.measured == pytest.approx(seen.meter.since_units / ratio + seen.meter.since_tokens, abs=2)
