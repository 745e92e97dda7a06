"""Who speaks: 400 quotes drawn from all sessions, and all that is shown as the user's words.

speakers.jsonl names each quote by session, line, block and place, with a hash of its words and its speaker,
decided by reading the raw record. Quotes were drawn by raw shape (type, marks, tool, opening tag), each
shape at least once or twice, and once per session and text. What is shown as typed is then looked up in
the raw lines of persons: marked so by the client, or, without marks, every line that is not one of the
client's own by its opening (all were read; `_NOT_TYPED` are those that only reading tells).
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from holdfast.app import Holdfast
from holdfast.core import speaker, spoken, waiting
from holdfast.core.fence import TYPED
from holdfast.core.transcript import entry
from holdfast.ops import survival
from truths import Corpora, NotMeasured, Row

_CASES = Path(__file__).with_suffix(".jsonl")
_SECTION = "speakers"
#: Tags in which the client hands on what others say.
_TAGS = {
    "command-name": speaker.USER,
    "command-args": speaker.USER,
    "bash-input": speaker.USER,
    "bash-stdout": speaker.TOOL,
    "result": speaker.AGENT,
    "event": speaker.TOOL,
}
#: Lines without a mark, and without a tag of the client's, that nobody typed.
_NOT_TYPED = (
    "Operation stopped by hook: ",
    "Unknown skill: ",
    "Unknown slash command: ",
    "[Request interr",
)
_TAG = re.compile(r"\s*(<[a-z]+-[a-z-]+[ >]|Caveat: The messages)")
_PLACE = re.compile(r" \((?:turn \d+|entry \w+)[^()]*\)$")
_HEADS = ("Then: ", "Edited plan: ")
_SHORT = 24


def measure(corpora: Corpora) -> list[Row]:
    cases = [json.loads(line) for line in _CASES.read_text().splitlines()]
    by_session: dict[str, list[dict]] = {}
    for case in cases:
        by_session.setdefault(case["session"], []).append(case)
    right = theirs = 0
    for name, asked in by_session.items():
        for case, found in _ascribed(corpora.session(name), asked):
            right += found == case["speaker"]
            theirs += found == speaker.USER != case["speaker"]
    shown, untrue = _shown(corpora)
    if not shown:
        raise NotMeasured("no session shows anything that was typed")
    return [
        Row(_SECTION, "quotes rightly ascribed", len(cases), 100 * right / len(cases), 99.5),
        Row(_SECTION, "others' quotes ascribed to the user", len(cases), theirs, 0, at_most=True, unit=""),
        Row(_SECTION, "shown as the user's, typed by nobody", shown, untrue, 0, at_most=True, unit=""),
    ]


# One quote


def _ascribed(data: bytes, cases: list[dict]) -> Iterator[tuple[dict, str]]:
    wanted: dict[int, list[dict]] = {}
    for case in cases:
        wanted.setdefault(case["line"], []).append(case)
    tools: dict[str, str] = {}
    lines = list(_records(data))
    for number, record in lines:
        for block in spoken.blocks(record):
            if block.get("type") == "tool_use":
                tools[block.get("id", "")] = block.get("name", "")
        for case in wanted.get(number, ()):
            words = _words(record, case["block"])
            quote = words[case["start"] : case["start"] + case["length"]]
            digest = hashlib.sha256(quote.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            if digest != case["sha"]:
                raise NotMeasured(f"{case['session']}: line {number} is not the one that was read")
            if record.get("type") == "queue-operation":
                yield case, _of_queued(lines, number, quote)
            else:
                yield case, _speaker(record, case["block"], quote, words, tools)


def _records(data: bytes) -> Iterator[tuple[int, dict]]:
    for number, raw in enumerate(data.split(b"\n")):
        try:
            record = json.loads(raw.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield number, record


def _words(record: dict, number: int) -> str:
    """All the words of one block of a record, as the cases count them."""
    kind = record["type"]
    if kind in ("user", "assistant"):
        content = record["message"]["content"]
        block = {"text": content} if isinstance(content, str) else content[number]
        inside = block.get("content", "") if block.get("type") == "tool_result" else block["text"]
        return inside if isinstance(inside, str) else "\n".join(one.get("text") or "" for one in inside)
    if kind == "attachment":
        return _attached(record["attachment"])
    if kind == "progress":
        return _progress(record["data"])
    return str(record.get("content") or record.get("summary") or "")


def _attached(given: dict) -> str:
    for key in ("content", "stdout", "prompt", "snippet", "text", "rendered", "blockingError", "reminder"):
        value = given.get(key)
        if isinstance(value, dict):
            value = value.get("content") or (value.get("file") or {}).get("content")
        if isinstance(value, list):
            value = value[0] if value and isinstance(value[0], str) else None
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _progress(data: dict) -> str:
    if data.get("type") == "agent_progress":
        message = (data.get("message") or {}).get("message") or {}
        words = spoken.joined(message.get("content")).strip("\n")
        return words or str(data.get("prompt") or "")
    return str(data.get("output") or data.get("command") or data.get("query") or "")


def _speaker(record: dict, number: int, quote: str, words: str, tools: dict[str, str]) -> str:
    """Whose words a quote is, by what the product itself asks of such a record."""
    kind, made = record["type"], entry(record, 0, 0)
    if kind == "assistant" and made:
        return speaker.CLIENT if made.failed else speaker.ASSISTANT
    if kind == "attachment" and made:
        return made.speaker
    if kind != "user" or not made:
        return speaker.of_record(record)
    if made.kind == "result":
        return _of_result(record, spoken.blocks(record)[number], quote, words, tools)
    if made.kind == "summary":
        return speaker.ASSISTANT if quote in spoken.summary(record) else speaker.CLIENT
    if made.plan:
        return speaker.ASSISTANT if quote in spoken.plan(record) else made.speaker
    for tag, said in _TAGS.items():
        at = words.find(f"<{tag}>")
        if words.startswith("<") and 0 <= at < words.find(quote) < words.find(f"</{tag}>"):
            is_theirs = said != speaker.USER or speaker.is_typed_command(record, words) or "bash" in tag
            return said if is_theirs else speaker.CLIENT
    if made.kind == "prompt" and made.speaker == speaker.USER:
        return speaker.USER if quote in spoken.typed(record) else speaker.of_block(words)
    return made.speaker


def _of_result(record: dict, block: dict, quote: str, words: str, tools: dict[str, str]) -> str:
    if block.get("type") != "tool_result":
        return speaker.USER if quote in spoken.beside_results(record) else speaker.CLIENT
    tool, is_error = tools.get(block.get("tool_use_id", ""), ""), block.get("is_error") is True
    if is_error and quote in spoken.reason(record, words):
        return speaker.USER
    if tool == "AskUserQuestion" and not is_error:
        typed = [said for _, said in spoken.answers(record, words, str)]
        return speaker.USER if any(quote in said for said in typed) else speaker.ASSISTANT
    return speaker.of_result(record, tool, is_error, words[:200])


def _of_queued(lines: list[tuple[int, dict]], number: int, quote: str) -> str:
    """A line of the queue: the words are of whoever speaks in the line that delivers them, if one does."""
    rows: list = []
    for at, record in lines:
        if record.get("type") == "queue-operation":
            waiting.queue(rows, record, at, str)
        made = entry(record, 0, 0) if at > number else None
        given = (
            record["attachment"].get("prompt") if made and made.kind == "queued" else spoken.said(record)
        )
        if made and made.speaker and isinstance(given, str) and given.strip() == quote:
            return made.speaker
        if any(row[3] and row[1] == number for row in rows):
            return speaker.USER  # handed over, and written down nowhere else
    return speaker.of_words(quote)


# All that is shown


def _shown(corpora: Corpora) -> tuple[int, int]:
    """How many lines are shown as the user's words, and how many of them nobody typed."""
    shown = untrue = 0
    with tempfile.TemporaryDirectory() as folder:
        app = Holdfast.open({"HOLDFAST_HOME": folder + "/home", "PATH": "/usr/bin:/bin"})
        path = Path(folder) / "session.jsonl"
        for name in corpora.names():
            data = corpora.session(name)
            path.write_bytes(data)
            typed = _all_typed(data)
            for line in _said_to_be_typed(app, str(path)):
                shown += 1
                untrue += not _is_in(line, typed)
    return shown, untrue


def _all_typed(data: bytes) -> str:
    """As it was typed, and as it may be shown: without the way to the folder of the session."""
    words = " \n ".join(_typed(data))
    folders = {str(record.get("cwd") or "") for _, record in _records(data)}
    shown = [words.replace(folder.replace("\\", "/") + "/", "") for folder in folders if len(folder) > 3]
    return _plain(" \n ".join([words, *shown]))


def _said_to_be_typed(app: Holdfast, path: str) -> Iterator[str]:
    found = survival.facts(app, transcript=path)
    for section in ("Goal", "Standing Instructions"):
        for item in found.sections[section]:
            yield from _PLACE.sub("", item).split("\n")
    block = str(survival.preserve(app, transcript=path))
    part = block.partition("STANDING INSTRUCTIONS BY THE USER:\n")[2]
    yield from (line[4:] for line in part.split("\n") if line.startswith("  • ") and part.startswith(line))
    for line in str(survival.brief(app, transcript=path, tokens=20_000)).split("\n"):
        if line.startswith(TYPED):
            yield line.removeprefix(TYPED)


def _typed(data: bytes) -> Iterator[str]:
    """Every text of the session that a person typed, by the raw lines alone."""
    for _, record in _records(data):
        kind, operation = record.get("type"), record.get("operation")
        if kind == "queue-operation" and operation == "enqueue" and not _TAG.match(record["content"]):
            yield record["content"]
        if kind == "attachment" and record["attachment"].get("type") == "queued_command":
            given = record["attachment"]
            if (
                given.get("commandMode") == "prompt"
                and given.get("origin", {}).get("kind", "human") == "human"
            ):
                yield spoken.joined(given["prompt"])
        if kind != "user" or record.get("isMeta") or record.get("isCompactSummary"):
            continue
        if record.get("isSidechain") or (record.get("origin") or {}).get("kind", "human") != "human":
            continue
        if record.get("promptSource") == "system":
            continue
        yield str(record.get("planContent") or "")
        yield from _of_line(record)


def _of_line(record: dict) -> Iterator[str]:
    content = record["message"]["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block.get("type") == "tool_result":
            inside = block.get("content")
            words = inside if isinstance(inside, str) else spoken.joined(inside)
            if "the user said:\n" in words and block.get("is_error"):
                yield words.partition("the user said:\n")[2]
            result = record.get("toolUseResult")
            if isinstance(result, dict) and isinstance(result.get("answers"), dict):
                yield from map(str, result["answers"].values())
                yield from (str(one.get("notes")) for one in (result.get("annotations") or {}).values())
        words = block.get("text")
        if not isinstance(words, str) or words.startswith(_NOT_TYPED):
            continue
        if words.startswith("<command-"):
            name = words.partition("<command-name>")[2].partition("</command-name>")[0]
            given = words.partition("<command-args>")[2].partition("</command-args>")[0]
            yield f"{name} {given}"
        elif not _TAG.match(words):
            yield words


def _plain(words: str) -> str:
    return re.sub(r"[^\w]+", " ", words).lower()


#: What holdfast puts before an order that was taken back.
_REPLACED = re.compile(r"^Replaced in turn \d+: ")


def _is_in(line: str, typed: str) -> bool:
    """Whether every stretch of a line that was neither cut nor redacted stands in what was typed."""
    for head in _HEADS:
        line = line.removeprefix(head)
    line = _REPLACED.sub("", line)
    parts = [
        _plain(part).strip() for part in re.split(r"…|\[redacted[^\]]*\]|\[REDACTED[^\]]*\]|\.\.\.", line)
    ]
    return all(part in typed for part in parts if len(part) >= 2)
