"""The fast reader says what parsing every line with json says, whatever the lines are."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz import Maker
from holdfast.core.lines import Account, records
from holdfast.ops import responses
from holdfast.ops.responses import Compaction, Part, Response, curve, read_on
from session import Script, text, use

COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def read(path: Path, data: bytes) -> dict[str, tuple]:
    path.write_bytes(data)
    return read_on(str(path), len(data), 0, []).responses


def reference(data: bytes) -> dict[str, tuple]:
    """Every line parsed by json; one it does not take is salvaged as hooks would."""
    found: dict[str, tuple] = {}
    *lines, last = data.split(b"\n")
    for raw in [*(line + b"\n" for line in lines), last]:
        for record in parsed(raw):
            found.update(responses_of(record))
    return found


def parsed(raw: bytes) -> list[dict]:
    if len(raw) > responses.LONGEST:
        return []
    try:
        value = json.JSONDecoder(strict=False, parse_constant=lambda _: None).decode(
            raw.decode("utf-8", "surrogateescape")
        )
    except (ValueError, RecursionError):
        value = None
    if type(value) is dict and raw.startswith(b"{"):
        return [value]
    return records(raw, Account()) if raw.endswith(b"\n") else []


def responses_of(record: dict) -> dict[str, tuple]:
    message, aside = record.get("message"), record.get("isSidechain") is True
    if record.get("type") == "progress":
        told = inner(inner(record, "data"), "message")
        message, aside = told.get("message") if told.get("type") == "assistant" else None, True
    elif record.get("type") != "assistant":
        return {}
    if type(message) is not dict:
        return {}
    identity = string(message, "id") or string(record, "uuid")
    usage = inner(message, "usage")
    found = {identity: row(message, usage, aside)}
    parts = usage.get("iterations")
    if type(parts) is list and len(parts) > 1:
        advice = [part for part in parts if type(part) is dict and part.get("type") == "advisor_message"]
        found |= {f"{identity}/{n}": row(part, part, aside=True) for n, part in enumerate(advice)}
    return {key: value for key, value in found.items() if identity and any(value[1:4])}


def row(of: dict, usage: dict, aside: bool) -> tuple:
    numbers = [usage.get(name) for name in COUNTS]
    counts = [n if type(n) is int and 0 <= n < 1 << 30 else 0 for n in numbers]
    return (string(of, "model"), *counts, aside)


def inner(value: dict, key: str) -> dict:
    found = value.get(key)
    return found if type(found) is dict else {}


def string(value: dict, key: str) -> str:
    found = value.get(key)
    return found if type(found) is str else ""


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1 << 66),
    st.floats(),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
)
spent = {name: st.one_of(st.integers(0, 99_999), odd) for name in COUNTS}
part = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "advisor_message"])}, optional={"model": odd, **spent}
)
parts = st.lists(st.one_of(part, odd), max_size=4)
usage = st.fixed_dictionaries({}, optional={"iterations": st.one_of(odd, parts), **spent})
message = st.fixed_dictionaries(
    {"id": st.one_of(st.sampled_from(["m1", "m2"]), odd), "usage": st.one_of(usage, odd)},
    optional={
        "model": st.one_of(st.just("claude-opus-4-6"), odd),
        "content": st.one_of(odd, st.lists(st.one_of(odd, usage), max_size=3)),
    },
)
told = st.fixed_dictionaries({"type": st.sampled_from(["assistant", "user"]), "message": message})
entry = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["assistant", "assistant", "progress", "user", "api-request-blob"]),
        "message": st.one_of(message, odd),
    },
    optional={
        "uuid": st.one_of(st.sampled_from(["u1", "u2"]), odd),
        "isSidechain": odd,
        "timestamp": odd,
        "data": st.one_of(st.fixed_dictionaries({"message": st.one_of(told, odd)}), odd),
        "toolUseResult": st.one_of(st.fixed_dictionaries({"usage": usage}), odd),
    },
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """One line, its keys in any order, mostly whole."""
    record = draw(entry)
    keys = draw(st.permutations(list(record)))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    raw = json.dumps({key: record[key] for key in keys}, separators=separators).encode()
    at = draw(st.integers(0, len(raw)))
    harm = st.sampled_from(
        ["none", "none", "none", "cut", "splice", "insert", "blank before", "blank after"]
    )
    return {
        "none": raw,
        "cut": raw[:at],
        "splice": raw[:at] + raw,
        "insert": raw[:at] + draw(st.binary(max_size=4)).replace(b"\n", b"") + raw[at:],
        "blank before": b" " + raw,
        "blank after": raw + b" \t\r",
    }[draw(harm)]


@given(st.lists(lines(), max_size=6), st.sampled_from([b"", b"\n"]), st.sampled_from([1, 64, 1 << 18]))
def test_any_file_says_what_parsing_every_line_says(
    tmp_path_factory: pytest.TempPathFactory, made: list[bytes], end: bytes, chunk: int
) -> None:
    data = b"\n".join(made) + end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(responses, "_CHUNK", chunk)
        assert read(tmp_path_factory.getbasetemp() / "any.jsonl", data) == reference(data)


@pytest.mark.parametrize("seed", range(3))
def test_every_damaged_line_says_what_parsing_it_says(tmp_path: Path, seed: int) -> None:
    """But for numbers of 5,000 digits, which Python's json refuses, and which are none of ours."""
    made = [line.raw for line in islice(Maker(seed), 3_000) if b"9" * 5000 not in line.raw]
    found = [read(tmp_path / "t.jsonl", raw) for raw in made]
    assert found == [reference(raw) for raw in made]
    assert sum(map(len, found)) > 500
    together = b"".join(raw if raw.endswith(b"\n") else raw + b"\n" for raw in made)
    assert read(tmp_path / "t.jsonl", together) == reference(together)


def test_the_control_a_reader_that_believes_what_stands_somewhere_is_found_out(tmp_path: Path) -> None:
    data = b"".join(line.raw for line in islice(Maker(0), 3_000))
    assert data.count(b'"usage":{') != len(reference(data))


def answer(message: str = "m1", output: int = 5, **fields: Any) -> dict[str, Any]:
    counted = {"input_tokens": 3, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
    said = {
        "id": message,
        "model": "claude-opus-4-6",
        "content": [],
        "usage": counted | {"output_tokens": output},
    }
    return {
        "type": "assistant",
        "uuid": "u1",
        "message": said,
        "timestamp": "2026-11-16T01:00:00.000Z",
    } | fields


def file(*entries: dict[str, Any] | bytes) -> bytes:
    raws = [entry if isinstance(entry, bytes) else json.dumps(entry).encode() for entry in entries]
    return b"\n".join(raws) + b"\n"


def row_of(output: int = 5, aside: bool = False, model: str = "claude-opus-4-6") -> tuple:
    return (model, 3, 70, 20, output, aside)


def test_of_a_response_the_last_line_wins_but_a_zero_is_not_believed(tmp_path: Path) -> None:
    zero = answer()
    zero["message"]["usage"] = dict.fromkeys(COUNTS, 0)
    data = file(answer(output=1), answer("m2", 9), answer(output=8), answer("m2", 2), zero)
    assert read(tmp_path / "t", data) == {"m1": row_of(8), "m2": row_of(2)}


def test_what_repeats_or_prints_a_response_is_none(tmp_path: Path) -> None:
    """The client's own record of a request, a tool's result, a prompt that quotes one."""
    quoted = json.dumps(answer("quoted"))
    data = file(
        answer("blob", type="api-request-blob"),
        {"type": "api-request-blob", "blob": {"messages": [answer("inner")]}},
        {
            "type": "user",
            "uuid": "u2",
            "message": {"content": quoted},
            "toolUseResult": answer()["message"],
        },
        {"type": "user", "uuid": "u3", "message": answer("prompt")["message"]},
        {"type": "system", "uuid": "u4", "message": 'input_tokens"'},
        answer("m1"),
    )
    assert read(tmp_path / "t", data) == {"m1": row_of()}


def test_what_is_told_aside_is_known_as_such(tmp_path: Path) -> None:
    told = {"type": "assistant", "message": answer("agent")["message"], "uuid": "x"}
    data = file(
        answer("side", isSidechain=True),
        {"type": "progress", "data": {"type": "agent_progress", "message": told}},
        {"type": "progress", "data": {"type": "agent_progress", "message": told | {"type": "user"}}},
    )
    assert read(tmp_path / "t", data) == {"side": row_of(aside=True), "agent": row_of(aside=True)}


def test_an_advisor_is_another_response_of_another_model(tmp_path: Path) -> None:
    asked = answer()
    asked["message"]["usage"]["iterations"] = [
        {"type": "message", "input_tokens": 3, "output_tokens": 5},
        {"type": "advisor_message", "model": "claude-elder", "input_tokens": 400, "output_tokens": 50},
    ]
    advice = ("claude-elder", 400, 0, 0, 50, True)
    assert read(tmp_path / "t", file(asked)) == {"m1": row_of(), "m1/0": advice}


def test_a_response_without_an_id_is_known_by_its_entry(tmp_path: Path) -> None:
    assert read(tmp_path / "t", file(answer(message=""), answer(message="", uuid="u2"))).keys() == {
        "u1",
        "u2",
    }


def test_a_line_too_long_to_be_held_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "_CHUNK", 64)
    monkeypatch.setattr(responses, "LONGEST", 4096)
    large, long = answer("large", pad="x" * 3000), answer("long", pad="x" * 5000)
    data = file(answer("m1"), large, long, answer("m2"), long)
    assert read(tmp_path / "t", data).keys() == {"m1", "large", "m2"}


def test_a_last_line_counts_once_it_is_whole_and_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "t"
    first, second = file(answer("m1")), file(answer("m2"))
    assert read(path, first + second[:-9]).keys() == {"m1"}
    part = read_on(str(path), len(first + second) - 9, 0, [])
    assert part.offset == len(first)
    path.write_bytes(first + second[:-1])
    on = read_on(str(path), len(first + second) - 1, part.offset, part.identity)
    assert (on.start, on.offset, on.responses.keys()) == (len(first), len(first), {"m2"})


def test_a_file_that_is_another_one_now_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "t"
    data = file(answer("m1"), answer("m2"))
    path.write_bytes(data)
    part = read_on(str(path), len(data), 0, [])
    assert part == Part(0, len(data), part.identity, {"m1": row_of(), "m2": row_of()})
    path.write_bytes(file(answer("other"), answer("m2"), answer("m3")))
    again = read_on(str(path), path.stat().st_size, part.offset, part.identity)
    assert (again.start, again.responses.keys()) == (0, {"other", "m2", "m3"})


def test_what_cannot_be_read_is_a_problem_and_no_exception(tmp_path: Path) -> None:
    assert "No such file" in read_on(str(tmp_path / "none"), 5, 0, []).problem
    assert "is a directory" in read_on(str(tmp_path), 5, 0, []).problem


def test_the_curve_is_every_response_once_and_every_compaction_in_order(tmp_path: Path) -> None:
    script = Script()
    script.prompt('{"usage": {"input_tokens": 5}, "type": "assistant"}')
    script.answer(text("one"), message="m1", context=40_000, output=1)
    script.answer(use("t1", "Bash", command="ls"), message="m1", context=40_000, output=9)
    script.result(
        "t1", "ok", {"usage": {"input_tokens": 7}, "type": "assistant", "subtype": "compact_boundary"}
    )
    script.boundary("manual", 40_009, 9_000)
    script.answer(text("two"), message="m2", context=10_000, output=3)
    script.line("system", subtype="compact_boundary", compactMetadata=[])
    path = tmp_path / "t.jsonl"
    path.write_bytes(script.bytes() + b'{"type":"assistant","message":{"usage":')
    assert curve(str(path)) == [
        Response("m1", "2026-03-01T10:00:03.000Z", script.model, 10, 39_990, 0, 9, aside=False),
        Compaction("2026-03-01T10:00:05.000Z", "manual", 40_009, 9_000),
        Response("m2", "2026-03-01T10:00:06.000Z", script.model, 10, 9_990, 0, 3, aside=False),
        Compaction("2026-03-01T10:00:07.000Z", "", 0, 0),
    ]
