"""Every line a transcript may hold, whole or damaged: what is found in it and where its bytes go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core import lines
from holdfast.core.fold import fold
from holdfast.core.lines import LONGEST, Account, is_entry, records
from holdfast.core.shares import Filled, shares
from holdfast.core.state import State, parse
from holdfast.core.transcript import entry

SOURCES = str(Path(lines.__file__).parents[2])


def assistant(
    uuid: str = "a1", parent: str = "p1", text: str = 'a "quote", a {brace} and \\ \u2028 é 漢'
) -> dict:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 20_000, "output_tokens": 7, "speed": "standard"}
    blocks = [
        {"type": "text", "text": text},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "Edit",
            "input": {"file_path": "/w/x.py", "n": [1, {}]},
        },
    ]
    message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-4-6", "content": blocks}
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": "assistant",
        "message": {**message, "stop_reason": None, "usage": usage},
        "uuid": uuid,
        "timestamp": "2026-11-16T01:00:00.000Z",
    }


def user(uuid: str = "u1", parent: str | None = "p1", content: object = "do it") -> dict:
    message = {"role": "user", "content": content}
    return {"parentUuid": parent, "type": "user", "message": message, "uuid": uuid, "sessionId": "s"}


def line(record: object, ascii_only: bool = False) -> bytes:
    return json.dumps(record, ensure_ascii=ascii_only, separators=(",", ":")).encode() + b"\n"


def read(raw: bytes) -> tuple[list, Account]:
    """The records of a line, once every byte of it has been accounted for."""
    account = Account()
    found = records(raw, account)
    assert account.parsed + account.salvaged + account.skipped == len(raw)
    assert account.lines == 1
    assert account.damaged == (0 if account.parsed == len(raw) else 1)
    return found, account


def uuids(raw: bytes) -> list[str]:
    return [record["uuid"] for record in read(raw)[0]]


WHOLE = line(assistant())
NEXT = line(user("u2", "a1"))

# -- whole lines


@pytest.mark.parametrize(
    "raw",
    [
        WHOLE,
        WHOLE[:-1],
        WHOLE[:-1] + b"\r\n",
        WHOLE[:-1] + b" \t \n",
        line(assistant(), ascii_only=True),
        line(assistant(text="\u2028\u2029\x85\x0b\x0c")),
        WHOLE.replace(b"brace", b"\0\0\0\0\x01\x1f"),
    ],
    ids=["lf", "no newline", "crlf", "blanks", "escaped", "separators", "controls in a string"],
)
def test_a_whole_line_is_one_parsed_record(raw):
    found, account = read(raw)
    assert [record["uuid"] for record in found] == ["a1"]
    assert account.parsed == len(raw)


@pytest.mark.parametrize("raw", [b"\n", b"", b"\r\n", b"   \n", b"\t\r\n", b"\xef\xbb\xbf\n"])
def test_a_blank_line_is_neither_a_record_nor_damage(raw):
    found, account = read(raw)
    assert (found, account.damaged) == ([], 0)


def test_duplicated_keys_leave_the_last_value():
    assert uuids(b'{"type":"user","uuid":"x","uuid":"y"}\n') == ["y"]


# -- records cut short


def test_every_cut_of_a_line_is_accounted_for_and_gives_no_record():
    for cut in range(1, len(WHOLE) - 1):
        found, account = read(WHOLE[:cut])
        assert (found, account.skipped) == ([], cut), cut


@pytest.mark.parametrize("tail", [NEXT, WHOLE, line({"type": "user", "uuid": "x", "message": {}})])
def test_a_whole_record_after_one_cut_anywhere_is_recovered(tail):
    expected = json.loads(tail)
    for cut in range(1, len(WHOLE) - 1):
        found, account = read(WHOLE[:cut] + tail)
        assert found == [expected], cut
        assert account.salvaged == len(tail) - 1
        assert account.skipped == cut + 1


def test_a_record_cut_inside_a_character_does_not_shift_the_count_of_bytes():
    cut = WHOLE.index("漢".encode()) + 1
    found, account = read(WHOLE[:cut] + NEXT)
    assert [record["uuid"] for record in found] == ["u2"]
    assert account.salvaged == len(NEXT) - 1


def test_several_cut_records_before_a_whole_one_do_not_hide_it():
    raw = b"".join(WHOLE[:cut] for cut in (40, 250, 90, 333)) + NEXT
    assert uuids(raw) == ["u2"]


BOOKKEEPING = b'{"type":"last-prompt","lastPrompt":"do it","leafUuid":"a1","sessionId":"s"}\n'


def test_bookkeeping_lines_are_parsed_without_being_looked_at():
    for name in ("api-request-blob", "file-history-snapshot", "mode", "permission-mode", "queue-operation"):
        raw = line({"type": name, "messages": [{"role": "user", "content": '{"parentUuid":'}]})
        found, account = read(raw)
        assert (found, account.parsed) == ([], len(raw))


def test_a_whole_record_after_a_cut_bookkeeping_record_is_recovered():
    for cut in range(1, len(BOOKKEEPING)):
        assert uuids(BOOKKEEPING[:cut].rstrip(b"\n") + NEXT) == ["u2"], cut


def test_torn_bookkeeping_is_damage():
    assert read(BOOKKEEPING[:40])[1].skipped == 40


# -- more than one record on a line


def test_records_whose_newline_is_missing_are_all_found():
    raw = WHOLE[:-1] + NEXT[:-1] + line(user("u3", "u2"))
    found, account = read(raw)
    assert [record["uuid"] for record in found] == ["a1", "u2", "u3"]
    assert account.salvaged == len(raw) - 1


def test_a_whole_record_before_a_cut_one_is_kept():
    for cut in range(1, len(NEXT) - 1):
        assert uuids(WHOLE[:-1] + NEXT[:cut]) == ["a1"], cut


def test_bookkeeping_joined_to_a_record_does_not_hide_it():
    assert uuids(BOOKKEEPING[:-1] + NEXT) == ["u2"]
    assert uuids(NEXT[:-1] + BOOKKEEPING) == ["u2"]


def test_parts_that_look_like_entries_are_not_taken_for_entries():
    part = {"type": "user", "uuid": "inner", "message": {"content": "x"}}
    outer = {**user("outer"), "toolUseResult": {"messages": [part, {"parentUuid": None, **part}]}}
    assert uuids(line(outer)) == ["outer"]
    assert uuids(b"\0" + line(outer)) == ["outer"]
    assert uuids(line(outer)[:-1] + NEXT) == ["outer", "u2"]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "uuid": "x"},
        {"type": "user"},
        {"type": "user", "uuid": 1},
        {"type": []},
        [],
        None,
        1,
    ],
)
def test_an_object_without_type_and_uuid_of_an_entry_is_none(value):
    assert not is_entry(value)


# -- bytes that do not belong


@pytest.mark.parametrize(
    "run", [b"\0", b"\0" * 4096, b"\xef\xbb\xbf", b"\xff\xfe", b"}]", b'"', b"\x80" * 9]
)
def test_junk_around_a_record_costs_only_the_junk(run):
    for raw in (run + WHOLE, WHOLE[:-1] + run + b"\n", run + WHOLE[:-1] + run + NEXT):
        found, account = read(raw)
        assert found[0]["uuid"] == "a1"
        assert account.salvaged == sum(len(line(record)) - 1 for record in found)


def test_nul_runs_between_the_parts_of_a_record_lose_it_but_not_the_next():
    cut = WHOLE.index(b',"type":')
    found, _ = read(WHOLE[:cut] + b"\0" * 512 + WHOLE[cut:-1] + NEXT)
    assert [record["uuid"] for record in found][-1] == "u2"
    assert read(b"\0" * 512 + b"\n")[1].skipped == 513


def test_bytes_that_are_not_utf8_do_no_harm():
    found, account = read(WHOLE.replace(b"brace", b"\xff\xfe\xc3"))
    assert account.parsed
    assert "{\udcff\udcfe\udcc3}" in found[0]["message"]["content"][0]["text"]


def test_lone_surrogates_pass_through_to_a_state_that_can_be_saved():
    raw = line({**user(), "gitBranch": "\ud800", "cwd": "\udfff"}, ascii_only=True)
    state = folded(raw)
    assert state.seen.branch == "\ud800"
    assert parse(state.render(), "here").render() == state.render()


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "0.1e-400", "-0"])
def test_numbers_beyond_a_float_are_read_and_never_written(number):
    raw = line(assistant()).replace(b"20000", number.encode())
    state = folded(raw)
    assert state.seen.turns == 1
    assert state.seen.meter.context == 3
    state.render()


def test_an_integer_of_thousands_of_digits_loses_its_line_at_most():
    found, account = read(WHOLE.replace(b"20000", b"9" * 5000))
    assert (found, account.parsed) == ([], 0)
    assert uuids(WHOLE[:-1].replace(b"20000", b"9" * 5000) + NEXT) == ["u2"]
    assert folded(WHOLE.replace(b"20000", b"9" * 4000)).seen.meter.context == 3


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"type":', b"}"), (b'{"a":[', b"]}")])
def test_a_hundred_thousand_levels_lose_their_line_only(pair):
    opening, closing = pair
    deep = opening * 100_000 + b"1" + closing * 100_000
    assert read(deep + b"\n")[0] == []
    assert read(WHOLE[:-2] + b',"x":' + deep + b"}\n")[0] == []
    assert read(opening * 100_000)[0] == []


@pytest.mark.parametrize("value", [[], [user()], 1, 1.5, "x", '{"type":"user","uuid":"u"}', None, True])
def test_a_line_that_is_no_object_is_skipped(value):
    found, account = read(line(value))
    assert account.parsed == 0
    assert [record["uuid"] for record in found] in ([], ["u1"])


def test_a_record_inside_a_list_is_salvaged():
    assert uuids(line([user()])) == ["u1"]


@pytest.mark.parametrize("item", [b"{}", b"[]", b'{"a":1}', b"[[]]", b"[{}]"])
def test_a_line_too_dense_to_parse_is_skipped_unread(item):
    dense = WHOLE[:-2] + b',"x":[' + b",".join([item] * 70_000) + b"]}\n"
    found, account = read(dense)
    assert (found, account.skipped) == ([], len(dense))
    assert uuids(WHOLE[:-2] + b',"x":[' + b",".join([item] * 1000) + b"]}\n") == ["a1"]


def test_a_long_line_of_text_is_not_dense():
    assert uuids(line(user("u9", content="say {braces} and [brackets], " * (LONGEST // 64)))) == ["u9"]


# -- fields of any type, all the way into the state

ODD = r"""
null true -1 0 1.5 1e400 "" "x" "\ud800" [] [[]] [null,1,"x",{}] {} {"type":{}} {"x":null} [{"type":[]}]
[{"type":"text","text":5}] [{"type":"tool_use","id":[],"input":3}] {"uuids":[1,{},"x"]}
[{"type":"tool_result","tool_use_id":{},"content":{},"is_error":true}]
""".split()
ODD = [10**400, *map(json.loads, ODD)]
HOOK = {"type": "hook_success", "hookEvent": "Stop"}
TODOS = [{"content": "x", "status": "pending"}]
TYPED = {"type": "queued_command", "commandMode": "prompt", "prompt": [{"text": "x"}]}
SAID = [{"type": "text", "text": "Exit code 1"}]
ERROR = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": SAID}
HUNKS = [{"newStart": 1, "newLines": 2}]
PATCH = {"structuredPatch": HUNKS, "task": {"id": "1"}, "status": "x", "agentId": "a"}
COMPACT = {"trigger": "auto", "preTokens": 9, "preservedMessages": {"uuids": ["a1"]}}
MICRO = {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": {"tokensSaved": 9}}


def call(name: str, **given: object) -> dict:
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given}
    return {"type": "assistant", "uuid": "c", "message": {"content": [block]}}


SHAPES = {
    "answer": assistant(),
    "prompt": {**user(), "promptSource": "typed", "origin": {"kind": "human"}, "isMeta": False},
    "result": {**user(content=[ERROR]), "toolUseResult": PATCH, "toolDenialKind": "x"},
    "queued": {"type": "attachment", "uuid": "q", "attachment": TYPED},
    "hook": {"type": "attachment", "uuid": "h", "attachment": HOOK},
    "reminder": {"type": "attachment", "attachment": {"type": "todo_reminder", "content": TODOS}},
    "boundary": {"type": "system", "subtype": "compact_boundary", "compactMetadata": COMPACT},
    "micro": MICRO,
    "command": call("Bash", command="pytest"),
    "task": call("TaskUpdate", taskId="1", status="x"),
    "todos": call("TodoWrite", todos=TODOS),
    "read": call("Read", file_path="C:\\x", notebook_path="y"),
    "plan": call("ExitPlanMode", plan="p"),
}


def folded(*raw: bytes) -> State:
    state = State("s")
    offset = 0
    for one in raw:
        for record in read(one)[0]:
            made = entry(record, offset, len(one))
            if made is not None:
                fold(state.seen, made)
        offset += len(one)
    return state


def variants(value, put=lambda new: new):
    """The value with each of its parts, at any depth, replaced by each odd value in turn."""
    for odd in ODD:
        yield put(odd)
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:

        def inner(new, key=key):
            copy = value.copy()
            copy[key] = new
            return put(copy)

        yield from variants(value[key], inner)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_field_of_any_type_is_folded_into_a_state_that_can_be_saved(shape):
    state = State("s")
    for tool in ("Edit", "Bash", "Agent", "TaskCreate"):
        for number, record in enumerate(variants(SHAPES[shape])):
            state.seen.open["toolu_1"] = [tool, 1, 0, 0, 0]
            made = entry(record, number, 1) if type(record) is dict else None
            if made is not None:
                fold(state.seen, made)
                assert state.seen.meter.context < 1 << 32
    assert parse(state.render(), "here").render() == state.render()


ATTACHED = {
    "files": {"type": "instructions", "files": [{"path": "/CLAUDE.md", "content": "x"}]},
    "tools": {"type": "prompt_snapshot", "systemPrompt": ["x"], "tools": [{"name": "mcp__a__b"}]},
    "list": {"type": "deferred_tools_delta", "addedNames": ["mcp__a__b", "Cron"], "addedLines": ["x"]},
    "servers": {"type": "mcp_instructions_delta", "addedNames": ["a b"], "addedBlocks": ["x"]},
    "skills": {"type": "invoked_skills", "skills": [{"name": "x", "content": "y"}]},
    "file": {"type": "file", "filename": "/a", "content": {"type": "text", "file": {"content": "x"}}},
}
CLEARED = {**MICRO, "microcompactMetadata": {"compactedToolIds": ["toolu_1", "c1"]}}
FILLING = {
    **SHAPES,
    **{name: {"type": "attachment", "attachment": given} for name, given in ATTACHED.items()},
    "meta": {**user(), "isMeta": True, "sourceToolUseID": "c1"},
    "picture": {
        **user(content=[{"type": "image"}, {"type": "text", "text": "<ide_x"}]),
        "promptSource": "x",
    },
    "found": user(
        content=[{"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "x"}]}]
    ),
    "cleared": CLEARED,
}


@pytest.mark.parametrize("shape", FILLING)
def test_a_field_of_any_type_is_some_part_of_the_window(shape):
    filled = Filled()
    for number, record in enumerate(variants(FILLING[shape])):
        made = entry(record, number, 1) if type(record) is dict else None
        if made is not None:
            filled.take(record, made)
    found = shares(filled, 100_000, 30_000, 2.5)
    assert sum(tokens for _, tokens in found.kinds()) == 100_000
    assert all(type(name) is str for key in filled.rows for name in key)


@pytest.mark.parametrize("field", ["uuid", "sessionId", "timestamp", "gitBranch", "cwd", "version"])
def test_a_field_of_megabytes_does_not_end_up_in_the_state(field):
    assert len(folded(line({**assistant(), field: "x" * 1_000_000})).render()) < 20_000


@pytest.mark.parametrize("field", ["id", "model"])
def test_a_message_field_of_megabytes_does_not_end_up_in_the_state(field):
    record = assistant()
    record["message"][field] = "x" * 1_000_000
    assert len(folded(line(record)).render()) < 20_000


def test_a_call_id_of_megabytes_does_not_end_up_in_the_state():
    record = assistant()
    record["message"]["content"][1]["id"] = "x" * 1_000_000
    assert len(folded(line(record)).render()) < 20_000


def test_damaged_lines_are_read_in_an_interpreter_that_never_loaded_json():
    """A hook does not import json, and `_json` looks there for the error it wants to raise."""
    bad = [
        WHOLE[:99] + NEXT,
        b'{"type":"user","uuid":"u2"}x\n',
        b"{\n",
        b'{"a"\n',
        b'{"a":1,}\n',
        b'"\\x"\n',
    ]
    program = f"""if True:
        import sys
        sys.path.insert(0, {SOURCES!r})
        from holdfast.core.lines import Account, records
        for raw in {bad!r}:
            account = Account()
            print([r["uuid"] for r in records(raw, account)], account.damaged)
    """
    command = [os.path.realpath(sys.executable), "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["['u2'] 1"] * 2 + ["[] 1"] * 4
