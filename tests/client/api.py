"""A scripted Messages API. THE ONLY FAKE IN THIS TREE: it stands where the model is.

Everything else in these tests is real: the client's binary, its hooks, its transcript, the wire
between them. A script is one list of turns per kind of request, each consumed in order:

    {"main": [TURN, ...], "agent": [...], "summary": [...], "side": [...]}
    TURN = {"think": text, "say": text, CALL, "calls": [{CALL}, ...], "context": tokens,
            "output": tokens, "error": name of one of ERRORS, "delay_s": seconds}
    CALL = "run": command for Bash  |  "call": tool, "input": {...}

For clients that run at once, "told" is {words: [TURN, ...]}: a main request is answered from the first of
these whose words stand in its newest message that holds any.

A request for which no turn is left is refused, and the run says so: a client that asks for more than
was scripted is a finding. Only side requests (titles and the like) have an answer by default.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: What the real API says. The client compacts on the first and tries again after the others.
ERRORS = {
    "too long": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "broken": (500, "api_error", "Internal server error"),
}
_SUMMARY = "<analysis>all of it</analysis>\n<summary>\n1. Primary Request and Intent:\n   {}\n</summary>"
#: The client's own words, by which its requests are told apart.
_ASKS_FOR_SUMMARY = "Your task is to create a detailed summary"
_FROM_AGENT = "cc_is_subagent=true"
#: Every half minute, of an agent in the background: a fork of its conversation says what it is doing.
_ASKS_FOR_PROGRESS = "Describe your most recent action in 3-5 words"
_PIECE = 400
_PLAN_FILE = "{plan file}"
_TOLD = "told "


def words(content: object) -> str:
    """All text of a message's content or of a system prompt, tool results included."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block.get("text") or words(block.get("content")) for block in blocks)


def kind_of(body: dict) -> str:
    """main, agent, summary or side."""
    messages = body.get("messages") or [{}]
    asked = words(messages[-1].get("content"))
    if _ASKS_FOR_SUMMARY in asked:
        return "summary"
    if _ASKS_FOR_PROGRESS in asked:
        return "side"
    if _FROM_AGENT in words(body.get("system")):
        return "agent"
    return "main" if body.get("tools") else "side"


def usage_of(turn: dict) -> dict:
    """Split the way a cached conversation's is: the context is the sum of the first three."""
    context = turn.get("context", 20_000)
    created = min(1_000, context // 2)
    given = min(10, context - created)
    return {
        "input_tokens": given,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": context - created - given,
        "output_tokens": turn.get("output", 50),
        "service_tier": "standard",
    }


class Script:
    """What is left to be said, and a record of all that was asked."""

    def __init__(self, turns: dict, record: Path, first: int = 0, lean: bool = False) -> None:
        told = turns.get("told", {})
        self.left = {kind: list(queue) for kind, queue in turns.items() if kind != "told"}
        self.left |= {f"{_TOLD}{said}": list(queue) for said, queue in told.items()}
        self._told = list(told)
        self.refused: list[str] = []
        self._record = record
        self._lean = lean  # of a request only its messages: system and tools are 80 KB of each
        self._number = first  # ids are counted, not drawn: two runs of a script can be compared
        self._lock = threading.Lock()

    def reply(self, body: dict, session: str) -> tuple[dict, int]:
        """(the turn that answers, a number unique to it)."""
        kind = kind_of(body)
        with self._lock:
            self._number += 1
            number = self._number
            turn = _placed(self._next(self._queue(kind, body), number), body)
            usage = None if "error" in turn else usage_of(turn)
            kept = {"messages": body.get("messages", [])} if self._lean else body
            asked = {"kind": kind, "session": session, "turn": turn, "usage": usage, "body": kept}
            with self._record.open("a") as file:
                file.write(json.dumps(asked) + "\n")
        time.sleep(turn.get("delay_s", 0))
        return turn, number

    def _queue(self, kind: str, body: dict) -> str:
        if kind == "main" and self._told:
            for asked in reversed(body.get("messages", [])):
                said = words(asked.get("content")) if asked.get("role") == "user" else ""
                for one in self._told:
                    if one in said:
                        return f"{_TOLD}{one}"
        return kind

    def _next(self, kind: str, number: int) -> dict:
        if self.left.get(kind):
            return self.left[kind].pop(0)
        if kind == "summary":
            return {"say": _SUMMARY.format(f"summary number {number}"), "output": 300}
        if kind == "side":
            return {"say": '{"title": "A scripted session", "isNewTopic": false}'}
        self.refused.append(kind)
        return {"error": "unscripted"}


def _placed(turn: dict, body: dict) -> dict:
    """Where the client wants a plan to be written it tells the model alone."""
    if _PLAN_FILE not in json.dumps(turn):
        return turn
    told = re.search(r"/[^\s\"]+/plans/[\w-]+\.md", words(body["messages"][-1]["content"]))
    return json.loads(json.dumps(turn).replace(_PLAN_FILE, told[0] if told else _PLAN_FILE))


def _blocks(turn: dict, number: int) -> list[dict]:
    blocks: list[dict] = []
    if "think" in turn:
        blocks.append({"type": "thinking", "thinking": turn["think"], "signature": "c2lnbmVk"})
    if "say" in turn:
        blocks.append({"type": "text", "text": turn["say"]})
    for at, call in enumerate(turn.get("calls", [turn])):
        name = f"toolu_{number:04d}{at:02d}"
        if "run" in call:
            given = {"command": call["run"], "description": "One step"}
            blocks.append({"type": "tool_use", "id": name, "name": "Bash", "input": given})
        elif "call" in call:
            blocks.append({"type": "tool_use", "id": name, "name": call["call"], "input": call["input"]})
    return blocks


def message(turn: dict, number: int, model: str) -> dict:
    blocks = _blocks(turn, number)
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": usage_of(turn),
    }


def stream(whole: dict) -> Iterator[dict]:
    """The same message as the events of a stream."""
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(whole["content"]):
        empty, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _opened(block: dict) -> tuple[dict, list[dict]]:
    """A block as it begins, and the pieces that fill it."""
    kind = block["type"]
    if kind == "text":
        text = block["text"]
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if kind == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
    given = json.dumps(block["input"])
    halves = given[: len(given) // 2], given[len(given) // 2 :]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": half} for half in halves]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def log_message(self, *_: object) -> None:
        """The record is the log."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._error(404, "not_found_error", "there is nothing here")

    def do_POST(self) -> None:
        data = self._read()
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": len(data) // 4})
        elif path == "/v1/messages":
            self._answer(json.loads(data))
        else:
            self._error(404, "not_found_error", "there is nothing here")

    def _answer(self, body: dict) -> None:
        session = self.headers.get("X-Claude-Code-Session-Id", "")
        turn, number = self.server.script.reply(body, session)
        if "error" in turn:
            unscripted = (400, "invalid_request_error", "the script has no turn left for this request")
            self._error(*ERRORS.get(turn["error"], unscripted))
            return
        whole = message(turn, number, body["model"])
        if body.get("stream"):
            self._stream(whole)
        else:
            self._json(200, whole)

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("request-id", "req_scripted")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _json(self, status: int, value: dict) -> None:
        data = json.dumps(value).encode()
        self._head(status, content_type="application/json", content_length=str(len(data)))
        if self.command != "HEAD":
            self.wfile.write(data)

    def _error(self, status: int, kind: str, text: str) -> None:
        self._json(status, {"type": "error", "error": {"type": kind, "message": text}})

    def _stream(self, whole: dict) -> None:
        self._head(200, content_type="text/event-stream; charset=utf-8", transfer_encoding="chunked")
        try:
            for event in stream(whole):
                data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True  # the client hung up: a person pressed Escape


class Api(ThreadingHTTPServer):
    """Serves a script on a free port of loopback, in threads of this process."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()
