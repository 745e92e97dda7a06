"""How test runs ended: what runners print, whole, piped, chained and cut, and the test runs of real
sessions.

verdicts.jsonl: what a runner printed (`source`: run here, or as its documentation shows it), its exit
status and what is so (`cls`). `summed`: whether it printed a summary; where it did not, only its own
status can tell. verdicts-commands.jsonl: commands of which it is hard to say whose the status is, and what
was printed; `ended` is null where no tests run. verdicts-sessions.jsonl: runs of the sessions by session,
entry and a hash of what was printed, with what is so, decided by reading it. `unknown` is a truth, too:
what nobody can tell from what is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.fold import exit_status
from holdfast.core.outcome import outcome
from holdfast.core.spoken import joined
from truths import Corpora, NotMeasured, Row

_HERE = Path(__file__).resolve().parent
_ENDED = {"passed": "passed", "failed": "failed", "error": "failed", "none": "none"}
_MOST_UNKNOWN = 10.0
_CUT = "\n\n... [481 lines truncated] ..."


def measure(corpora: Corpora) -> list[Row]:
    rows = [*_rows("as printed", list(_made())), *_rows("of commands", list(_commands()))]
    try:
        found = list(_real(corpora))
    except NotMeasured:
        found = []
    return rows + (_rows("of sessions", found) if found else [])


def _rows(what: str, found: list[tuple[str, str, str]]) -> list[Row]:
    """Of (case, what is so, what is said)."""
    wrong = [case for case, so, said in found if said not in (so, "unknown")]
    knowable = [said for _, so, said in found if so != "unknown"]
    unknown = 100 * knowable.count("unknown") / max(1, len(knowable))
    for case in wrong:
        print(f"wrong: {case}")
    return [
        Row("verdicts", f"wrong, {what}", len(found), len(wrong), 0, at_most=True, unit=""),
        Row("verdicts", f"not known, {what}", len(knowable), unknown, _MOST_UNKNOWN, at_most=True),
    ]


def cases() -> list[dict]:
    return [json.loads(line) for line in (_HERE / "verdicts.jsonl").read_text().splitlines()]


def shapes(case: dict) -> Iterator[tuple[str, str, int, str, str]]:
    """(shape, command, the shell's status, what is shown, what is so)."""
    command, status, text = case["command"], case["status"], case["text"]
    so = _ENDED[case["cls"]]
    by_print = so if case["summed"] else "unknown"
    yield "plain", command, status, text, so
    yield "behind cd and env", f"cd app && CI=1 timeout 600 {command} 2>&1", status, text, so
    yield "piped", f"{command} 2>&1 | tail -200", 0, text, by_print
    yield "pipefail", f"set -o pipefail; {command} 2>&1 | tee run.log", status, text, so
    yield "chained", f"ruff check .; {command}; echo done", 0, f"All checks passed!\n{text}\ndone", by_print
    yield "excused", f"{command} || true", 0, text, by_print
    if so != "none":  # where nothing was run only the summary says so
        yield "cut", command, status, _CUT, so
    yield "cut and piped", f"{command} | cat", 0, _CUT, "unknown"
    yield "in the background", f"{command} &", 0, "", "unknown"


def commands() -> list[dict]:
    return [json.loads(line) for line in (_HERE / "verdicts-commands.jsonl").read_text().splitlines()]


def _commands() -> Iterator[tuple[str, str, str]]:
    for case in commands():
        ended = outcome(case["command"], case["status"], case["text"])
        said = ended.ended if ended else "no tests"
        so = case["ended"] or "no tests"
        yield f"{case['command']}: {so}, said {said}", so, said


def _made() -> Iterator[tuple[str, str, str]]:
    for case in cases():
        for shape, command, status, text, so in shapes(case):
            ended = outcome(command, status, text)
            said = ended.ended if ended else "unknown"  # of a task like `check` that printed nothing
            yield f"{case['runner']}, {case['cls']}, {shape}: {so}, said {said}", so, said


def _real(corpora: Corpora) -> Iterator[tuple[str, str, str]]:
    lines = (_HERE / "verdicts-sessions.jsonl").read_text().splitlines()
    wanted: dict[str, dict[str, dict]] = {}
    for case in map(json.loads, lines):
        wanted.setdefault(case["session"], {})[case["entry"]] = case
    for session, entries in wanted.items():
        try:
            data = corpora.session(session)
        except NotMeasured:
            continue
        yield from _of_session(session, data, entries)


def _of_session(session: str, data: bytes, entries: dict[str, dict]) -> Iterator[tuple[str, str, str]]:
    given: dict[str, dict] = {}
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        message = record.get("message") if isinstance(record, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                given[block.get("id")] = block.get("input") or {}
            case = entries.get(record.get("uuid", ""))
            if case and block.get("type") == "tool_result":
                text = joined(block.get("content"))
                if hashlib.sha256(text.encode()).hexdigest()[:16] != case["sum"]:
                    continue
                call = given.get(block.get("tool_use_id"), {})
                failed = block.get("is_error") is True
                status = exit_status(failed, text)
                ended = outcome(str(call.get("command")), status, text, bool(call.get("run_in_background")))
                said = ended.ended if ended else "no tests"
                yield f"{session} {case['entry'][:8]}: {case['ended']}, said {said}", case["ended"], said
