"""A session that never was, in a project that does not exist: four hours of work, as the client writes it.

Every word is invented, and every run writes the same bytes. A small workspace stands behind it: what a Read
shows is what an Edit changes and what a Grep finds. Usage adds up: the context of each response is that of
the one before, plus what that one wrote, plus what was given since.
"""

from __future__ import annotations

import difflib
import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from holdfast.demo.world import (
    CLIENTS,
    CODE,
    ERRORS,
    FIELDS,
    FILES,
    MODULES,
    NOUNS,
    PLAY,
    SHAPES,
    TESTS,
    VERBS,
)

HOME = "/home/mira/tidegate"
SESSION = "71de6a7e-0312-4a11-8c0d-5e55105a9b1e"
CAPACITY = 167_000
#: System prompt, tools and CLAUDE.md, which no line of a transcript shows; what of it was cached before.
BASE, WARM = 30_000, 16_200
#: Characters per token, of what the model is given and of what it writes.
GIVEN, WRITTEN = 2.7, 3.1
REFUSED = "The user doesn't want to proceed with this tool use. It was not run; wait to be told what to do."


class Call(NamedTuple):
    tool: str
    given: dict[str, Any]
    content: str
    result: Any
    failed: bool = False
    seconds: float = 0.4


class Workspace:
    """The invented repository. A method per verb of the play; each gets the rest of the words."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        for part in FILES:
            path, _, text = part.partition("\n")
            self.texts[path] = text + "\n"
        for name in MODULES:
            self._invent(f"tidegate/{name}.py", SHAPES, CODE)
            self._invent(f"tests/test_{name.rpartition('/')[2]}.py", TESTS, CODE)
        for run, name in enumerate("abc"):
            self.texts[f"logs/load-{name}.log"] = access_log(run)
        self.files = {path: text for path, text in self.texts.items() if not path.isupper()}

    def _invent(self, path: str, shapes: list[str], count: int) -> None:
        picks = random.Random(path)
        parts = [self.texts[path]] if path in self.texts else []
        for shape in picks.choices(shapes, k=count):
            n, m = picks.sample(NOUNS, 2)
            slots = {"n": n, "m": m, "N": n.title(), "M": m.title(), "v": picks.choice(VERBS)}
            slots |= {"e": picks.choice(ERRORS), "f": picks.choice(FIELDS), "k": str(picks.randint(2, 90))}
            parts.append(shape.format(**slots) + "\n")
        self.texts[path] = "\n\n".join(parts)

    def call(self, words: str) -> Call:
        verb, _, rest = words.partition(" ")
        made: Call = getattr(self, verb)(rest)
        return made

    def read(self, rest: str) -> Call:
        path, *part = rest.split()
        start, count = map(int, part or (1, 2000))
        lines = self.files[path].splitlines()
        shown = lines[start - 1 : start - 1 + count]
        given: dict[str, Any] = {"file_path": f"{HOME}/{path}"}
        if part:
            given |= {"offset": start, "limit": count}
        # The client repeats the content here; left out, it would double the size of the example.
        file = {
            "filePath": f"{HOME}/{path}",
            "numLines": len(shown),
            "startLine": start,
            "totalLines": len(lines),
        }
        numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, start))
        return Call("Read", given, numbered, {"type": "text", "file": file})

    def grep(self, words: str) -> Call:
        hits = [
            f"{path}:{number}:{line}"
            for path, text in sorted(self.files.items())
            for number, line in enumerate(text.splitlines(), 1)
            if words in line and path.endswith(".py")
        ][:70]
        given = {"pattern": words, "path": HOME, "glob": "*.py", "output_mode": "content", "head_limit": 70}
        return Call("Grep", given, "\n".join(hits), {"mode": "content", "numLines": len(hits)})

    def edit(self, rest: str) -> Call:
        path, _, change = rest.partition(" ")
        old, new = (part.replace("\\n", "\n") for part in change.split(" => "))
        before = self.files[path]
        if new == "BOUNDED":  # a whole method for another
            old, new = before[before.index("    def _bucket") :], self.texts["BOUNDED"]
        assert before.count(old) == 1, (path, old)
        after = self.files[path] = before.replace(old, new)
        given = {"file_path": f"{HOME}/{path}", "old_string": old, "new_string": new, "replace_all": False}
        result: dict[str, Any] = {"filePath": given["file_path"], "oldString": old, "newString": new}
        result |= {"structuredPatch": hunks(before, after), "userModified": False}
        return Call("Edit", given, f"The file {HOME}/{path} has been updated successfully.", result)

    def write(self, rest: str) -> Call:
        path, name = rest.split()
        text = self.files[path] = self.texts[name]
        given = {"file_path": f"{HOME}/{path}", "content": text}
        result = {"type": "create", "filePath": f"{HOME}/{path}", "content": text, "structuredPatch": []}
        return Call("Write", given, f"File created successfully at: {HOME}/{path}", result)

    def run(self, rest: str, code: int = 0, seconds: float = 8) -> Call:
        command, out = rest.split(" => ")
        out = self.texts.get(out, out).replace("\\n", "\n")
        given = {"command": command, "description": f"Run {command.split()[0]}"}
        if code:
            out = f"Exit code {code}\n{out}"
            return Call("Bash", given, out, f"Error: {out}", failed=True, seconds=seconds)
        result = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
        return Call("Bash", given, out, result, seconds=seconds)

    def test(self, rest: str) -> Call:
        """pytest -v over the test functions that are really in the files; one of them may fail."""
        path, failing, why = (*rest.split(" ", 2), "", "")[:3]
        names = [
            f"{file}::{line.split('def ')[1].split('(')[0]}"
            for file, text in sorted(self.files.items())
            for line in text.splitlines()
            if file.startswith(path) and "def test_" in line
        ]
        marks = ["FAILED" if failing and name.endswith(failing) else "PASSED" for name in names]
        bad, total = marks.count("FAILED"), len(names)
        assert bad == bool(failing), rest
        shown = [
            f"{name} {mark} [{100 * i // total:3d}%]"
            for i, (name, mark) in enumerate(zip(names, marks, strict=True), 1)
        ]
        if len(shown) > 120:
            shown[60:-60] = ["..."]
        end = f"=== {f'{bad} failed, ' if bad else ''}{total - bad} passed in {total / 61:.2f}s ==="
        out = "\n".join(
            [f"collected {total} items", *shown, *([f"___ {failing} ___", why] if bad else []), end]
        )
        return self.run(f"python -m pytest -v {path} => {out}", bad, total / 40)

    def refused(self, command: str) -> Call:
        return Call("Bash", {"command": command}, REFUSED, "User rejected tool use", failed=True, seconds=9)

    def agent(self, _: str) -> Call:
        given = {"description": "Map the middleware chain", "subagent_type": "Explore"}
        given["prompt"] = (
            "Find how middlewares are built, which of them keep state, and what a reload loses."
        )
        result = {
            "status": "completed",
            "agentId": "a7d3c01e",
            "totalTokens": 41_822,
            "totalToolUseCount": 17,
        }
        return Call("Agent", given, self.texts["REPORT"], result, seconds=96)

    def plan(self, _: str) -> Call:
        given = {"plan": self.texts["PLAN"]}
        return Call("ExitPlanMode", given, "User has approved your plan. You can start.", given, seconds=71)

    def task(self, rest: str) -> Call:
        number, _, subject = rest.partition(" ")
        given = {"subject": subject, "description": f"Step {number} of the plan"}
        result = {"task": {"id": number, "subject": subject}}
        return Call("TaskCreate", given, f"Task #{number} created successfully: {subject}", result)

    def mark(self, rest: str) -> Call:
        number, status = rest.split()
        change = {"from": "pending" if status == "in_progress" else "in_progress", "to": status}
        result = {"success": True, "taskId": number, "updatedFields": ["status"], "statusChange": change}
        return Call(
            "TaskUpdate", {"taskId": number, "status": status}, f"Updated task #{number} status", result
        )


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    old, new = before.splitlines(), after.splitlines()
    found = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
        lines = [line[0] + line[2:] for line in difflib.ndiff(old[a:b], new[c:d]) if line[0] != "?"]
        found.append(
            {"oldStart": a + 1, "oldLines": b - a, "newStart": c + 1, "newLines": d - c, "lines": lines}
        )
    return found


def access_log(run: int, count: int = 400) -> str:
    """One line per request. The second half of run 0 is slow, as the story has it."""
    picks = random.Random(run)
    lines = []
    for number in range(count):
        wait = picks.gammavariate(3, 40 if run == 0 and number > count // 2 else 8)
        status = picks.choices((200, 201, 304, 404, 429, 502), (70, 8, 9, 4, 8, 1))[0]
        path = f"/{picks.choice(('billing', 'search', 'orders', 'media'))}/{picks.choice(NOUNS)}s"
        lines.append(
            f"14:{number // 60:02d}:{number % 60:02d}.{picks.randrange(1000):03d} INFO access "
            f"client={picks.choice(CLIENTS)} {picks.choice(('GET', 'POST'))} {path} status={status} "
            f"ms={wait:.1f} bytes={picks.randrange(90, 48000)} buckets={min(number * 97, 38211)}"
        )
    return "\n".join(lines)


class Session:
    """Writes lines as the client does, and keeps the books: `used` is what the next request will hold."""

    def __init__(self) -> None:
        self.picks = random.Random(20260312)
        self.lines: list[str] = []
        self.at = datetime(2026, 3, 12, 13, 4, 11, tzinfo=UTC)
        self.branch = "main"
        self.parent: str | None = None
        self.prompted: str | None = None
        self.began = self.at
        self.used, self.cached, self.turned = float(BASE), WARM, 0
        self.round: list[tuple[str, float]] = []  # the last response and its results: (uuid, tokens)
        self.tasks: dict[str, dict[str, str]] = {}

    def price(self, text: str, per: float) -> float:
        return len(text) / (per * self.picks.uniform(0.96, 1.04))

    def name(self) -> str:
        return str(uuid.UUID(int=self.picks.getrandbits(128), version=4))

    def line(self, kind: str, seconds: float, name: str = "", **fields: Any) -> str:
        self.at += timedelta(seconds=seconds)
        name = name or self.name()
        common = {"parentUuid": self.parent, "isSidechain": False, "type": kind, **fields, "uuid": name}
        common |= {"timestamp": self.stamp(), "userType": "external", "entrypoint": "cli", "cwd": HOME}
        common |= {"sessionId": SESSION, "version": "2.1.325", "gitBranch": self.branch}
        self.bare(common)
        self.parent = name
        return name

    def bare(self, record: dict[str, Any]) -> None:
        self.lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")

    def stamp(self) -> str:
        return self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def prompt(self, text: str) -> None:
        self.at += timedelta(seconds=self.picks.uniform(360, 720) + 2 * len(text))
        self.began = self.at
        self.prompted = self.name()
        fields = {"promptId": self.prompted, "promptSource": "typed", "permissionMode": "default"}
        self.line("user", 0, message={"role": "user", "content": text}, origin={"kind": "human"}, **fields)
        self.bare({"type": "last-prompt", "leafUuid": self.parent, "sessionId": SESSION})
        self.used += self.price(text, GIVEN) + 14

    def attach(self, kind: str, seen: str, fixed: int = 15, **fields: Any) -> None:
        """`seen` is the text of it that reaches the model."""
        self.line("attachment", 0.1, attachment={"type": kind, **fields})
        self.used += self.price(seen, GIVEN) + fixed

    def aside(self, words: str, workspace: Workspace) -> None:
        """What the client adds by itself."""
        verb, _, rest = words.partition(" ")
        if verb == "compact":
            self.compact(workspace.texts[rest or "SUMMARY"])
        elif verb == "hook":
            event, _, text = rest.partition(" ")
            named: dict[str, Any] = {"hookName": event, "hookEvent": event.partition(":")[0]}
            self.attach("hook_additional_context", text, content=[text], **named)
        elif verb == "remind":
            seen = " ".join(f"{task['subject']} #{task['id']} [pending]" for task in self.tasks.values())
            tasks = [dict(task) for task in self.tasks.values()]
            self.attach("task_reminder", seen, 130, content=tasks, itemCount=len(tasks))
        elif verb == "file":
            text = workspace.files[rest]
            file = {**workspace.read(rest).result["file"], "content": text}
            shown: dict[str, Any] = {"displayPath": rest, "content": {"type": "text", "file": file}}
            self.attach("file", text, filename=f"{HOME}/{rest}", **shown)

    def turn(self, said: str, *calls: Call, think: str = "") -> None:
        """One response, a line for each of its blocks, and the results of its calls."""
        self.turned += 1
        blocks: list[dict[str, Any]] = []
        if think:
            blocks.append({"type": "thinking", "thinking": think, "signature": "made-up"})
        if said:
            blocks.append({"type": "text", "text": said})
        for number, call in enumerate(calls):
            name = f"toolu_01Tide{self.turned:04d}x{number}"
            blocks.append({"type": "tool_use", "id": name, "name": call.tool, "input": call.given})
        wrote = round(sum(self.price(json.dumps(b.get("input") or b), WRITTEN) + 20 for b in blocks))
        context = round(self.used)
        message = {
            "model": "claude-opus-4-6",
            "id": f"msg_01Tide{self.turned:04d}",
            "type": "message",
            "role": "assistant",
            "stop_reason": "tool_use" if calls else "end_turn",
            "usage": {
                "input_tokens": 3,
                "cache_creation_input_tokens": context - self.cached - 3,
                "cache_read_input_tokens": self.cached,
                "output_tokens": wrote,
                "service_tier": "standard",
            },
        }
        names = [
            self.line(
                "assistant",
                self.picks.uniform(2, 5) + wrote / len(blocks) / 60,
                message={**message, "content": [block]},
                requestId=f"req_01Tide{self.turned:04d}",
                apiBlockIndex=index,
            )
            for index, block in enumerate(blocks)
        ]
        self.used, self.cached = context + wrote, context
        self.round = [(name, wrote / len(names)) for name in names]
        for call, block, name in zip(calls, blocks[-len(calls) :], names[-len(calls) :], strict=False):
            self.result(call, block["id"], name)
        if not calls:
            took = round((self.at - self.began).total_seconds() * 1000)
            self.line("system", 0.2, subtype="turn_duration", durationMs=took, isMeta=False)

    def result(self, call: Call, use: str, source: str) -> None:
        block: dict[str, Any] = {"tool_use_id": use, "type": "tool_result", "content": call.content}
        fields: dict[str, Any] = {"toolUseResult": call.result, "sourceToolAssistantUUID": source}
        if call.failed:
            block["is_error"] = True
        if call.content == REFUSED:
            fields["toolDenialKind"] = "user-rejected"
        self.parent = source
        message = {"role": "user", "content": [block]}
        name = self.line("user", call.seconds, message=message, promptId=self.prompted, **fields)
        cost = self.price(call.content, GIVEN) + 14
        self.used += cost
        self.round.append((name, cost))
        if call.given.get("command", "").startswith("git switch"):
            self.branch = call.given["command"].split()[-1]
        if call.tool == "TaskCreate":
            self.tasks[call.result["task"]["id"]] = {**call.result["task"], "status": "pending"}
        elif call.tool == "TaskUpdate":
            self.tasks[call.given["taskId"]]["status"] = call.given["status"]

    def compact(self, summary: str) -> None:
        """As the client does by itself: the last round stays, all before it becomes the summary."""
        assert CAPACITY <= self.used < CAPACITY + 2500, self.used
        before, kept = round(self.used), [name for name, _ in self.round]
        after = self.price(summary, GIVEN) + 14 + sum(cost for _, cost in self.round)
        anchor = self.name()
        metadata = {
            "trigger": "auto",
            "preTokens": before,
            "postTokens": round(after),
            "cumulativeDroppedTokens": before - round(after),
            "durationMs": 74_310,
            "preservedSegment": {"headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[-1]},
            "preservedMessages": {"anchorUuid": anchor, "uuids": kept, "allUuids": kept},
        }
        logical, self.parent = self.parent, None
        words = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
        self.line("system", 74.3, logicalParentUuid=logical, **words, compactMetadata=metadata)
        flags = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        message = {"role": "user", "content": summary}
        self.line("user", 0, anchor, message=message, promptId=self.prompted, **flags)
        self.used, self.cached = BASE + after, WARM


def perform(session: Session, workspace: Workspace, play: str) -> None:
    """Line by line: what is typed (>), thought (?), added by the client (!), and all else said and done."""
    think = ""
    for line in play.strip().replace("\n  ", " ").split("\n"):
        if line.startswith("> "):
            session.prompt(line[2:])
        elif line.startswith("? "):
            think = line[2:]
        elif line.startswith("! "):
            session.aside(line[2:], workspace)
        else:
            said, _, calls = line.partition("::")
            made = [workspace.call(call.strip(" ")) for call in calls.split(" ;; ") if call]
            session.turn(said.strip(), *made, think=think)
            think = ""


def story() -> str:
    """The first three hours, up to a window that is four fifths full: examples/session.jsonl."""
    session = Session()
    perform(session, Workspace(), PLAY)
    return "".join(session.lines)
