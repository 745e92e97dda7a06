"""Hooks run as the client runs them, in a process of their own, and what they leave on disk."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from holdfast import bundling
from holdfast.core.state import State
from holdfast.disk import transcripts

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "holdfast"
PYTHON = os.path.realpath(sys.executable)
#: Seconds until a test gives up on a hook. A hook gives up on itself long before.
SAFETY_S = 60
#: So many times longer than a client's a hook of a test may take: its limits are told by a slower clock.
PATIENCE = 10

#: What may stand where a text should be.
WRONG = (None, 5, -1.5, True, [], ["s1"], {}, {"id": "s1"})

#: The client's own list of events, and the fields each brings besides the common ones.
EVENTS: dict[str, dict] = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_pre"},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_response": {"stdout": "a b c", "stderr": "", "interrupted": False, "isImage": False},
        "tool_use_id": "toolu_post",
        "duration_ms": 12,
    },
    "PostToolUseFailure": {
        "tool_name": "Bash",
        "tool_input": {"command": "false"},
        "tool_use_id": "toolu_failure",
        "error": "Exit code 1",
        "is_interrupt": False,
        "duration_ms": 3,
    },
    "PostToolBatch": {
        "tool_calls": [
            {
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_use_id": "toolu_post",
                "tool_response": "a b c",
            }
        ]
    },
    "Notification": {
        "message": "Claude needs your permission",
        "notification_type": "permission_prompt",
    },
    "UserPromptSubmit": {"prompt": "please fix the parser"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "hello",
        "command_args": "world",
        "command_source": "projectSettings",
        "prompt": "/hello world",
    },
    "SessionStart": {"source": "startup", "model": "claude-sonnet-4-5"},
    "SessionEnd": {"reason": "prompt_input_exit"},
    "Stop": {
        "stop_hook_active": False,
        "last_assistant_message": "Done.",
        "background_tasks": [],
        "session_crons": [],
    },
    "StopFailure": {"error": "unknown", "last_assistant_message": "API Error: 400"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "Explore"},
    "SubagentStop": {
        "agent_id": "a1",
        "agent_type": "Explore",
        "last_assistant_message": "Found it.",
        "stop_hook_active": False,
    },
    "PreCompact": {"trigger": "auto", "custom_instructions": None},
    "PostCompact": {
        "trigger": "auto",
        "compact_summary": "<analysis>long</analysis>\n<summary>short</summary>",
    },
    "PreModelSwitch": {"from_model": "claude-sonnet-5-5", "to_model": "claude-opus-5-5", "source": "user"},
    "PostModelSwitch": {"from_model": "claude-sonnet-5-5", "to_model": "claude-opus-5-5", "source": "user"},
    "PermissionRequest": {
        "tool_name": "Bash",
        "tool_input": {"command": "rm x"},
        "permission_suggestions": [],
    },
    "PermissionDenied": {"tool_name": "Bash", "tool_input": {"command": "rm x"}},
    "Setup": {"trigger": "init"},
    "TeammateIdle": {"teammate_name": "one"},
    "TaskCreated": {"task_id": "1", "task_subject": "parse", "task_description": "parse it"},
    "TaskCompleted": {"task_id": "1", "task_subject": "parse", "task_description": "parse it"},
    "Elicitation": {"message": "which?", "mcp_server": {"name": "stub", "source": "project"}},
    "ElicitationResult": {"action": "accept"},
    "ConfigChange": {"source": "local_settings", "file_path": "/work/.claude/settings.local.json"},
    "WorktreeCreate": {"name": "one"},
    "WorktreeRemove": {"worktree_path": "/work/one"},
    "InstructionsLoaded": {
        "file_path": "/work/CLAUDE.md",
        "memory_type": "Project",
        "load_reason": "session_start",
    },
    "CwdChanged": {"old_cwd": "/work", "new_cwd": "/work/src"},
    "FileChanged": {"file_path": "/work/a.py"},
    "DirectoryAdded": {"directory": "/work/lib", "source": "session"},
    "MessageDisplay": {"turn_id": "t", "message_id": "m", "index": 0, "final": True, "delta": "Done."},
}


def event(name: str, /, session: str = "s1", transcript: Path | str = "", **fields: object) -> dict:
    """What the client writes to a hook's stdin; `fields` replace or add to the usual ones. A batch has one
    call, which those of a call are about."""
    common = {
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": "/nowhere/tidegate",
        "hook_event_name": name,
    }
    made = {**common, **EVENTS.get(name, {}), **fields}
    if name == "PostToolBatch" and "tool_calls" not in fields:
        (call,) = made["tool_calls"]
        made["tool_calls"] = [call | {part: made.pop(part) for part in call if part in made}]
    return made


def encode(payload: bytes | dict) -> bytes:
    """Without spaces, as the client does."""
    return payload if isinstance(payload, bytes) else json.dumps(payload, separators=(",", ":")).encode()


def command(python: str = PYTHON, package: Path = PACKAGE) -> list[str]:
    return [python, "-I", "-S", str(package / "launch.py")]


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": str(home.parent), "HOLDFAST_HOME": str(home), **more}


def run_hook(
    payload: bytes | dict,
    home: Path,
    env: dict[str, str] | None = None,
    python: str = PYTHON,
    package: Path | None = None,
    before: tuple[str, ...] = (),
    cwd: Path | None = None,
    children: bool = True,
    then: Callable[[], object] | None = None,
    **more: object,
) -> subprocess.CompletedProcess:
    """`before` is a command that runs the hook's command; `more` goes to subprocess.run. The `children` to
    whom it left something have finished by then, too: the client does not wait for them, tests do. `then`
    is called in between. Unless it is of another `package`, the hook is `patient`."""
    if "stdin" not in more:
        more["input"] = encode(payload)
    ended, open_in_all = os.pipe()
    try:
        return subprocess.run(
            [*before, *command(python, package or patient())],
            env=environ(home, **(env or {})),
            cwd=cwd or home.parent,
            capture_output=True,
            timeout=SAFETY_S,
            check=False,
            pass_fds=[open_in_all],
            **more,
        )
    finally:
        os.close(open_in_all)
        if then:
            then()
        if children:
            assert select.select([ended], [], [], SAFETY_S)[0], (
                "what a hook left to a child was not finished"
            )
        os.close(ended)


def run_silently(payload: bytes | dict, home: Path, **more: object) -> None:
    """Without an error. What is printed is in the form the client takes."""
    result = run_hook(payload, home, **more)
    assert (result.returncode, result.stderr) == (0, b"")
    name = payload.get("hook_event_name") if type(payload) is dict else ""
    check_said(name, result.stdout.decode())


def check_said(name: object, said: str) -> None:
    """JSON would be pasted into the summariser's prompt; plain text elsewhere would be shown to people. Of
    what is longer than 10,000 characters, as JavaScript counts them, the model is shown the beginning."""
    answers = json.loads(said) if said and name != "PreCompact" else {}
    spoken = answers.get("hookSpecificOutput", {}).get("additionalContext", "")
    for part in (said if name == "PreCompact" else "", spoken, answers.get("systemMessage", "")):
        assert len(part.encode("utf-16-le", "surrogatepass")) // 2 <= 10_000
    if name == "PreCompact":
        assert not said or said.startswith("COMPACTION PRESERVATION INSTRUCTIONS")
    elif said:
        answer = json.loads(said)
        assert set(answer) <= {"systemMessage", "hookSpecificOutput"}
        assert "systemMessage" not in answer or name in ("UserPromptSubmit", "PostToolBatch", "Stop")
        spoken = answer.get("hookSpecificOutput")
        if spoken or not answer:
            assert name in ("SessionStart", "UserPromptSubmit", "PostToolBatch")
            assert spoken["hookEventName"] == name
            assert spoken["additionalContext"]


#: What may stand in the client's transcript of a hook of ours: what the model is told, or the person.
SAID_AT = {
    "hook_additional_context": {"SessionStart", "UserPromptSubmit", "PostToolBatch"},
    "hook_success": {"SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop"},
    "hook_system_message": {"UserPromptSubmit", "PostToolBatch", "Stop"},
}


def check_attached(attachments: list[dict]) -> None:
    """No hook failed, was cancelled, or said what it may not."""
    for one in attachments:
        if "hook_" in one["type"]:
            assert one["hookEvent"] in SAID_AT.get(one["type"], ()), one
            assert not one.get("exitCode")


def start_hook(payload: bytes | dict, home: Path, package: Path | None = None) -> subprocess.Popen:
    """The payload stands in a file, so that nobody has to wait to write it. It is `patient`, too."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(encode(payload))
        stdin.seek(0)
        return subprocess.Popen(
            command(package=package or patient()),
            env=environ(home),
            cwd=home.parent,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def folder(home: Path, session: str = "s1", agent: str = "") -> Path:
    place = home / "sessions" / session
    return place / "agents" / agent if agent else place


def state(home: Path, session: str = "s1", agent: str = "") -> dict:
    return json.loads((folder(home, session, agent) / "state.json").read_bytes())


def heard(home: Path, session: str = "s1", agent: str = "") -> dict[str, int]:
    """Name of an event -> how many were counted."""
    return state(home, session, agent)["heard"]["events"]


def lines(path: Path) -> list[dict]:
    """Every line of a file of ours; all of them are whole, the last one too."""
    if not path.exists():
        return []
    data = path.read_bytes()
    assert not data or data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def notes(home: Path) -> list[dict]:
    """What went wrong, as the trail has it. That a checkpoint was taken stands there too."""
    return [note for note in lines(home / "events.jsonl") if note["event"].startswith("degraded.")]


def late(home: Path) -> int:
    """Hooks that gave up: on an overloaded machine that is what they should do."""
    return sum(map(_is_late, notes(home)))


def wrong(home: Path, is_killed: bool = False) -> list[dict]:
    """What went wrong, where hooks run beside a real client. One or two that gave up are no fault of
    theirs: the client alone keeps two cores busy, and the disk is shared with others. More are. A client
    that is killed may have started one that it did not come to tell anything."""
    found = notes(home)
    if is_killed:
        found = [note for note in found if "nothing on stdin" not in note.get("what", "")]
    return found if late(home) > 2 else [note for note in found if not _is_late(note)]


def _is_late(note: dict) -> bool:
    return note.get("what", "").startswith("Late")


def used(home: Path, session: str = "s1", agent: str = "") -> int:
    """What the last sample says."""
    return lines(folder(home, session, agent) / "samples.jsonl")[-1]["used"]


def folded(path: Path, agent: str = "") -> dict:
    """What one reading of the whole transcript sees."""
    fresh = State("fresh", agent)
    assert transcripts.catch_up(fresh, str(path), 1 << 40) == ""
    return json.loads(fresh.render())["seen"]


def assert_same_fold(home: Path, transcript: Path) -> None:
    """The saved state shows what one reading of the transcript shows. The sums of its meter are
    rounded whenever it is saved; all else is exactly equal."""
    saved, fresh = state(home), folded(transcript)
    assert saved["behind"] is None
    got, expected = saved["seen"].pop("meter"), fresh.pop("meter")
    assert saved["seen"] == fresh
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            assert abs(got[name] - value) <= 1 + abs(value) / 1000, name
        else:
            assert got[name] == value, name


def files_under(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


def copy_package(to: Path, is_patient: bool = True) -> Path:
    """The package for a test that changes it, without compiled files."""
    package = Path(shutil.copytree(PACKAGE, to / "holdfast", ignore=shutil.ignore_patterns("__pycache__")))
    if is_patient:
        slower = f"def elapsed() -> float:\n    return time.monotonic() / {PATIENCE}\n"
        edit(package / "clock.py", "elapsed = time.monotonic\n", slower)
        left = "max(moment - elapsed(), 0.001)"
        edit(package / "hook.py", left, f"{left} * {PATIENCE}")
        edit(package / "engine.py", "_SETTLE_MOST = 0.25,", f"_SETTLE_MOST = 0.25 / {PATIENCE},")
    return package


@functools.cache
def patient() -> Path:
    """The package whose hooks give up later: how long one takes says how busy the machine is. What they do
    when they are out of time is tried with `PACKAGE`, where something is in their way for good."""
    folder = tempfile.mkdtemp(prefix="holdfast-patient-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return copy_package(Path(folder))


def bundled(package: Path) -> Path:
    """A hook that has first to make its bundles has less time for everything else."""
    (package / "__pycache__").mkdir(exist_ok=True)
    for group in bundling.GROUPS:
        bundling.build(str(package), group)
    return package


def hold(package: Path, path: str, line: str, gate: Path) -> None:
    """Whoever comes to this line waits until there is a `gate`: a disk that does not answer for as long as
    a test wishes. A test that sleeps instead is found to be right or wrong by how busy the machine is."""
    space = line[: len(line) - len(line.lstrip())]
    waits = f"__import__('os').path.exists({str(gate)!r}) or __import__('time').sleep(0.02)"
    edit(package / path, line, f"{space}any({waits} for _ in range({10 * SAFETY_S * 50}))\n{line}")
    bundled(package)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new))


def bound_by_modes() -> tuple[str, ...]:
    """A command under which file modes count for root as they do for everyone else."""
    if os.geteuid() != 0:
        return ()
    powers = "-dac_override,-dac_read_search"
    return ("setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}")


@functools.cache
def own_mounts() -> tuple[str, ...]:
    """A command that runs another where mounting is allowed and seen by nobody else; () if none."""
    for before in (("unshare", "-m"), ("unshare", "-rm")):
        try:
            tried = subprocess.run(
                [*before, "mount", "-t", "tmpfs", "none", tempfile.gettempdir()],
                capture_output=True,
                timeout=SAFETY_S,
                check=False,
            )
        except FileNotFoundError:
            return ()
        if tried.returncode == 0:
            return before
    return ()


class Transcript:
    """A session's file as the client writes it, one call a line."""

    def __init__(self, path: Path, agent: str = "") -> None:
        self.path = path
        self.agent = agent
        self.version = "2.1.327"
        self.number = 0
        self.parent: str | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def prompt(self, text: str) -> None:
        self._write("user", message={"role": "user", "content": text}, promptSource="typed")

    def answer(self, context: int, text: str = "I will.", call: str = "", output: int = 100) -> None:
        block: dict = {"type": "text", "text": text}
        if call:
            block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}
        message = {
            "id": f"msg_{self.number}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": [block],
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": context - 3,
                "cache_creation_input_tokens": 0,
                "output_tokens": output,
            },
            "stop_reason": "tool_use" if call else "end_turn",
        }
        self._write("assistant", message=message)

    def result(self, call: str, text: str) -> None:
        content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        self._write("user", message={"role": "user", "content": content}, toolUseResult={"stdout": text})

    def boundary(self, before: int, after: int) -> None:
        metadata = {"trigger": "auto", "preTokens": before, "postTokens": after}
        self._write("system", subtype="compact_boundary", compactMetadata=metadata)

    def summary(self, text: str) -> None:
        message = {"role": "user", "content": text}
        self._write("user", message=message, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def _write(self, kind: str, **fields: object) -> None:
        self.number += 1
        line = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.agent),
            **({"agentId": self.agent} if self.agent else {}),
            "sessionId": "s1",
            "cwd": "/nowhere/tidegate",
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": f"uuid-{self.agent}-{self.number}",
            "timestamp": "2026-11-16T01:00:00.000Z",
        }
        self.parent = str(line["uuid"])
        with self.path.open("ab") as file:
            file.write(encode(line) + b"\n")


def write_state(home: Path, data: bytes) -> None:
    (folder(home) / "state.json").write_bytes(data)
