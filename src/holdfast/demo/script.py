"""A transcript as what the client does: lines written, and hooks called, each at its time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.demo.acts import AGENTS, go_on, of_agent
from holdfast.demo.story import Session, Workspace, perform
from holdfast.demo.world import PLAY

#: Seconds that an agent takes to the next one's beginning.
_STAGGER_S = 4.0


class Step(NamedTuple):
    """At `at` (seconds since the session began) these lines are written, then this hook is called. `agent`:
    whose, "" for the session's own."""

    at: float
    lines: list[dict[str, Any]]
    hook: str
    given: dict[str, Any]
    agent: str = ""


def whole() -> list[Step]:
    """Four hours, two compactions, three agents."""
    session, workspace = Session(), Workspace()
    perform(session, workspace, PLAY)
    go_on(session, workspace)
    records = [json.loads(line) for line in session.lines]
    began = _at(records[0], 0.0, 0.0)
    main = list(steps(records, began, ""))
    tracks = [main]
    start = next(step.at for step in main if _calls_agents(step))
    for place, one in enumerate(AGENTS):
        theirs = [json.loads(line) for line in of_agent(*one, workspace).lines]
        first = _at(theirs[0], 0.0, 0.0)
        tracks.append(list(_agents_own(theirs, first, start + _STAGGER_S * place, one[0])))
    return sorted((step for track in tracks for step in track), key=lambda step: step.at)


def _calls_agents(step: Step) -> bool:
    return any(
        block.get("name") == "Agent" and block["input"].get("description") == AGENTS[0][1]
        for line in step.lines
        if line["type"] == "assistant"
        for block in line["message"]["content"]
    )


def steps(records: list[dict[str, Any]], began: float, agent: str) -> Iterator[Step]:
    """The hooks that the client calls on the way, in its order."""
    calls: dict[str, dict[str, Any]] = {}
    held: list[dict[str, Any]] = []  # written with the next one that calls a hook
    batch: list[dict[str, Any]] = []
    at = 0.0
    for place, record in enumerate(records):
        at = _at(record, began, at)
        kind = record["type"]
        held.append(record)
        if kind == "system" and record.get("subtype") == "compact_boundary":
            summary = records[place + 1]["message"]["content"]
            boundary = held.pop()
            yield Step(at, held, "PreCompact", {"trigger": "auto", "custom_instructions": None}, agent)
            yield Step(at, [], "SessionStart", {"source": "compact"}, agent)
            yield Step(at, [], "PostCompact", {"trigger": "auto", "compact_summary": summary}, agent)
            held = [boundary]
        elif kind == "assistant":
            calls |= {
                block["id"]: block for block in record["message"]["content"] if block["type"] == "tool_use"
            }
        elif kind == "user" and record.get("promptSource"):
            yield Step(at, held, "UserPromptSubmit", {"prompt": record["message"]["content"]}, agent)
            held = []
        elif kind == "user" and "toolUseResult" in record:
            block = record["message"]["content"][0]
            batch.append(_called(calls[block["tool_use_id"]], block))
            if not any(_is_result(after) for after in records[place + 1 : place + 2]):
                yield Step(at, held, "PostToolBatch", {"tool_calls": batch}, agent)
                held, batch = [], []
        elif record.get("subtype") == "turn_duration":
            yield Step(at, held, "Stop", {"stop_hook_active": False}, agent)
            held = []
    if held:
        yield Step(at, held, "", {}, agent)


def _agents_own(records: list[dict[str, Any]], first: float, start: float, agent: str) -> Iterator[Step]:
    yield Step(start, [], "SubagentStart", {"agent_type": "Explore"}, agent)
    for record in records:
        record |= {"isSidechain": True, "agentId": agent}
    last = start
    for step in steps(records, first, agent):
        # An agent is typed to by nobody, and what it says last is told when it has stopped.
        hook = {"UserPromptSubmit": "", "Stop": "SubagentStop"}.get(step.hook, step.hook)
        last = start + step.at / 8
        given = {"agent_type": "Explore", **(step.given if hook else {})}
        yield Step(last, step.lines, hook, given, agent)


def _is_result(record: dict[str, Any]) -> bool:
    return record["type"] == "user" and "toolUseResult" in record


def _called(call: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    given = {"tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"]}
    return {**given, "tool_response": block["content"]}


def _at(record: dict[str, Any], began: float, otherwise: float) -> float:
    said = record.get("timestamp")
    return datetime.fromisoformat(said).timestamp() - began if said else otherwise
