"""A hook as the client runs it: whatever it is given, it is silent, leaves the session alone and
writes down what happened."""

import fcntl
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import from_hook
from hooks import (
    EVENTS,
    PYTHON,
    SAFETY_S,
    Transcript,
    assert_same_fold,
    bound_by_modes,
    command,
    copy_package,
    edit,
    encode,
    environ,
    event,
    files_under,
    folded,
    folder,
    heard,
    lines,
    notes,
    own_mounts,
    run_hook,
    run_silently,
    state,
    used,
)

WRONG = (None, 5, -1.5, True, [], ["s1"], {}, {"id": "s1"})


@pytest.fixture
def transcript(tmp_path):
    """Three turns, the last of which waits for a tool."""
    made = Transcript(tmp_path / "projects" / "s1.jsonl")
    made.prompt("fix the parser")
    for turn in range(3):
        made.answer(50_000 + 1000 * turn, call=f"toolu_{turn}")
        if turn < 2:
            made.result(f"toolu_{turn}", "line\n" * 100)
    return made


# -- every event


@pytest.mark.parametrize("name", [*EVENTS, "TomorrowsEvent", "status line", "é" * 41, ""])
def test_an_event_is_counted_in_silence(name, home):
    run_silently(event(name), home)
    agent = EVENTS.get(name, {}).get("agent_id", "")
    known = name if name.isidentifier() and len(name) <= 40 else "unknown"
    assert heard(home, agent=agent) == {known: 1}
    assert not notes(home)


def test_the_client_has_33_events():
    assert len(EVENTS) == 33


def test_all_events_of_one_session_are_counted_together(home, transcript):
    payloads = [event(name, transcript=transcript.path) for name in EVENTS for _ in range(2)]
    mine = [p for p in payloads if "agent_id" not in p]
    for payload in mine:
        run_silently(payload, home)
    assert heard(home) == {p["hook_event_name"]: 2 for p in mine}
    assert_same_fold(home, transcript.path)


def test_more_names_than_can_be_kept_do_not_make_a_prompt_unheard(home):
    app = Holdfast.open(environ(home))
    for number in range(70):
        payload = encode(event(f"Made{number}"))
        engine.handle(from_hook(payload, 1, len(payload)), app)
    run_silently(event("UserPromptSubmit"), home)
    assert not notes(home)
    assert state(home)["heard"]["prompts"] == 1


# -- what stdin may hold


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b" \n",
        b"hello",
        b"{",
        b'{"session_id":"s1"',
        b'{"session_id":"s1"} {"session_id":"s1"}',
        b"[]",
        b'[{"session_id":"s1"}]',
        b"null",
        b'"s1"',
        b"{}",
        b'{"hook_event_name":"Stop"}',
        b"\x80\x02}q\x00",
        bytes(range(256)) * 40,
        b"\0" * 5000,
        b"[" * 100_000,
        b'{"session_id":' * 50_000,
        '{"session_id":"s1"}'.encode("utf-16"),
    ],
    ids=lambda payload: repr(payload[:20]) + f"×{len(payload)}",
)
def test_what_is_no_event_is_noted_and_nothing_else_is_written(payload, home):
    run_silently(payload, home)
    assert [(n["event"], n["what"].partition(":")[0]) for n in notes(home)] == [
        ("degraded.hook", "BadInput")
    ]
    assert files_under(home) == {"events.jsonl"}


def test_white_space_around_an_event_does_no_harm(home):
    run_silently(b" \r\n\t" + encode(event("Stop")) + b"\n\n", home)
    assert heard(home) == {"Stop": 1}


def test_white_space_around_the_clients_settings_does_no_harm(home, tmp_path):
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('\n{"autoCompactWindow": 150000}\n')
    run_silently(event("SessionStart"), home)
    assert state(home)["heard"]["client"]["auto_window"] == 150_000


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_an_event_without_a_session_is_noted(wrong, home):
    run_silently(event("Stop", session=wrong), home)
    assert [n["what"] for n in notes(home)] == ["BadInput: the event names no session_id"]
    assert files_under(home) == {"events.jsonl"}


@pytest.mark.parametrize(
    "field",
    "transcript_path cwd hook_event_name agent_type prompt_id permission_mode effort".split(),
)
def test_a_common_field_of_the_wrong_type_is_as_good_as_absent(field, home):
    for wrong in WRONG:
        run_silently(event("Notification", **{field: wrong}), home)
    assert sum(heard(home).values()) == len(WRONG)
    assert not notes(home)
    assert files_under(home / "sessions") == {"s1", "s1/lock", "s1/state.json"}


def test_an_event_of_who_knows_whom_is_nobodys(home):
    """Were it counted, a subagent's event could touch its parent's state."""
    for wrong in (1, [], {}, True):
        run_silently(event("Notification", agent_id=wrong), home)
    assert len(notes(home)) == 4
    assert files_under(home) == {"events.jsonl"}


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, field) for name in EVENTS for field in EVENTS[name] if field != "agent_id"],
)
def test_an_own_field_of_the_wrong_type_does_no_harm(name, field, home):
    app = Holdfast.open(environ(home))
    for wrong in WRONG:
        payload = encode(event(name, **{field: wrong}))
        engine.handle(from_hook(payload, 1, len(payload)), app)
    run_silently(event(name), home)
    assert not notes(home)


def test_a_tool_call_may_have_any_id(home):
    ids = ["prompt", "", "main", "é" * 5000, "\ud800", "../x", "0"]
    for call in ids:
        run_silently(event("PostToolUse", tool_use_id=call), home)
    run_silently(event("UserPromptSubmit"), home)
    assert not notes(home)
    assert heard(home) == {"PostToolUse": len(ids), "UserPromptSubmit": 1}


def test_a_hundred_megabytes_are_counted_and_not_kept(home, tmp_path):
    payload = encode(event("PostToolUse", tool_response={"stdout": ""}))
    head, tail = payload[:-2].removesuffix(b'"'), b'"}}'
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.write(head[: head.index(b'"stdout":"') + 10])
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(tail)
    with large.open("rb") as stdin:
        run_silently(b"", home, stdin=stdin)
    assert not notes(home)
    saved = state(home)["heard"]
    assert (saved["calls"], saved["cut"]) == (1, 1)
    assert saved["units"] == 120_000  # no more than the client shows of it
    assert sum(path.stat().st_size for path in home.rglob("*")) < 100_000


def test_all_that_is_written_to_a_pipe_is_read(home):
    """A client that writes to a closed pipe gets an error."""
    payload = encode(event("PostToolUse", tool_response={"stdout": "x" * (12 << 20)}))
    run_silently(payload, home)
    assert state(home)["heard"]["cut"] == 1


def test_a_closed_stdin_is_noted(home):
    result = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command()],
        env=environ(home),
        capture_output=True,
        timeout=SAFETY_S,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, b"")
    assert len(notes(home)) == 1


def test_with_all_three_streams_closed_the_hook_leaves_quietly(home):
    result = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command()],
        env=environ(home),
        timeout=SAFETY_S,
        check=False,
    )
    assert result.returncode == 0
    assert len(notes(home)) == 1


def test_a_client_that_never_closes_stdin_is_not_waited_for(home):
    read, write = os.pipe()
    try:
        os.write(write, encode(event("Stop")))
        result = run_hook(b"", home, stdin=read)
    finally:
        os.close(read)
        os.close(write)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert [n["what"].partition(":")[0] for n in notes(home)] == ["Late"]


@pytest.mark.parametrize(
    "name",
    [
        "../../outside",
        "..",
        ".",
        "a/b",
        "/etc",
        "x" * 300,
        "-rf",
        "a\0b",
        "a\nb",
        "a b",
        "é",
        "\ud800",
        "~",
    ],
    ids=lambda name: ascii(name[:20]),
)
@pytest.mark.parametrize("field", ["session_id", "agent_id"])
def test_an_id_that_cannot_name_a_folder_is_refused(field, name, home, tmp_path):
    run_silently(event("Stop", **{field: name}), home)
    assert [n["what"].partition(":")[0] for n in notes(home)] == ["BadInput"]
    assert files_under(tmp_path) == {"home", "home/events.jsonl"}


def test_a_note_is_short_however_long_the_ids_are(home):
    run_silently(event("N" * 100_000, session="../" + "x" * 1_000_000), home)
    assert len(notes(home)) == 1
    assert (home / "events.jsonl").stat().st_size < 4096


@pytest.mark.parametrize("window", ["lots", "-1", "0", "²", "9" * 5000])
def test_a_setting_that_cannot_be_understood_is_noted_once_and_no_event_is_lost(window, home):
    for _ in range(2):
        run_silently(event("Stop"), home, env={"HOLDFAST_WINDOW": window})
    assert [n["what"][:19] for n in notes(home)] == ["HOLDFAST_WINDOW is "]
    assert heard(home) == {"Stop": 2}


# -- what stands where the transcript should be


def test_a_transcript_that_is_not_there_yet_is_no_problem(home, tmp_path):
    run_silently(event("SessionStart", transcript=tmp_path / "none" / "s1.jsonl"), home)
    assert heard(home) == {"SessionStart": 1}
    assert not notes(home)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_unreadable(path: Path) -> None:
    path.write_bytes(b"{}\n")
    path.chmod(0)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


NO_TRANSCRIPTS = {
    "a directory": make_directory,
    "a FIFO": os.mkfifo,
    "unreadable": make_unreadable,
    "a link to itself": make_loop,
    "under a file": lambda path: path.parent.rmdir() or path.parent.touch(),
    "too long a name": lambda path: None,
    "a name with NUL": lambda path: None,
}


def not_a_transcript(kind: str, tmp_path: Path) -> str:
    path = tmp_path / "projects" / "s1.jsonl"
    path.parent.mkdir()
    NO_TRANSCRIPTS[kind](path)
    return {"too long a name": f"{path}{'x' * 300}", "a name with NUL": f"{path}\0"}.get(kind, str(path))


@pytest.mark.parametrize("kind", NO_TRANSCRIPTS)
def test_what_cannot_be_read_as_a_transcript_is_noted(kind, home, tmp_path):
    path = not_a_transcript(kind, tmp_path)
    run_silently(event("PostToolUse", transcript=path), home, before=bound_by_modes())
    assert len(notes(home)) == 1


@pytest.mark.parametrize("kind", NO_TRANSCRIPTS)
def test_an_event_counts_even_if_its_transcript_cannot_be_read(kind, home, tmp_path):
    """What hooks are told is all there is then; nothing can rebuild it."""
    path = not_a_transcript(kind, tmp_path)
    run_silently(event("PostToolUse", transcript=path), home, before=bound_by_modes())
    assert heard(home) == {"PostToolUse": 1}


@pytest.mark.parametrize(
    "content",
    [
        Path(PYTHON).read_bytes()[: 3 << 20],
        random.Random(1).randbytes(1 << 20),
        b"\0" * (1 << 20),
        b"SQLite format 3\0" + b"\1" * 4096,
        b"[1, 2, 3]\n" * 1000,
        b'{"type":"user"}\n{"type":"assistant","message":5}\n{"type":["user"]}\n',
        b"no newline anywhere" * 10_000,
    ],
    ids="program random zeros sqlite lists records text".split(),
)
def test_another_programs_file_does_no_harm(content, home, tmp_path):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(content)
    for _ in range(3):
        run_silently(event("PostToolUse", transcript=path), home)
    assert heard(home) == {"PostToolUse": 3}
    assert not notes(home)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "damage",
    [
        b'{"parentUuid":"x","type":"user","message":{"content":"cut he\n',
        b'{"parentUuid":"x","type":"user","message":{"content":"cut, then {"type":"system"}\n',
        b'{"type":"user" "uuid"}\n',
        b"{\n",
        b"{x}\n",
        b"\0" * 300 + b"\n",
        b'"just a text\n',
        b"tru\n",
        b"\n\n",
        b"\xff\xfe{\n",
    ],
    ids=repr,
)
def test_a_damaged_line_is_passed_over(damage, home, transcript):
    """In a process that has not loaded `json`, where the scanner reports errors in its own way."""
    with transcript.path.open("ab") as file:
        file.write(damage)
    transcript.result("toolu_2", "after the damage")
    transcript.answer(53_000)
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert not notes(home)
    assert state(home)["seen"]["turns"] == 4
    assert_same_fold(home, transcript.path)


@pytest.mark.parametrize("size", [1, 30, 100, 200, 250])
def test_a_torn_last_line_is_read_when_its_end_is_there(size, home, transcript):
    whole = transcript.path.read_bytes()
    transcript.answer(53_000, "with } and {} and {")
    line = transcript.path.read_bytes()[len(whole) :]
    cuts = [cut for cut in range(1, len(line)) if line[:cut].endswith(b"}")]
    for cut in (size, *cuts[:2]):
        transcript.path.write_bytes(whole + line[:cut])
        run_silently(event("PostToolUse", transcript=transcript.path), home)
        assert state(home)["seen"]["turns"] == 3
    transcript.path.write_bytes(whole + line)
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert not notes(home)
    assert_same_fold(home, transcript.path)
    assert state(home)["seen"]["turns"] == 4


# -- a disk that does not take it


def test_where_nothing_can_be_written_the_hook_only_says_so(home, transcript):
    home.mkdir()
    home.chmod(0o500)
    result = run_hook(event("Stop", transcript=transcript.path), home, before=bound_by_modes())
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.startswith(b"holdfast: PermissionError")
    assert not files_under(home)


@pytest.mark.parametrize("place", ["", "sessions", "sessions/s1", "sessions/s1/lock", "events.jsonl"])
def test_a_file_or_folder_in_the_way_breaks_nothing(place, home, transcript):
    blocked = home / place
    blocked.parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(("lock", "jsonl")):
        blocked.mkdir()
    else:
        blocked.write_bytes(b"something of the user's")
    result = run_hook(event("PostToolUse", transcript=transcript.path), home)
    assert (result.returncode, result.stdout) == (0, b"")
    assert blocked.is_dir() or blocked.read_bytes() == b"something of the user's"


def test_when_no_byte_can_be_written_the_saved_state_stays_as_it_was(home, transcript):
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    before = (folder(home) / "state.json").read_bytes()
    transcript.result("toolu_2", "more")
    result = run_hook(
        event("PostToolUse", transcript=transcript.path),
        home,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (result.returncode, result.stdout) == (0, b"")
    assert (folder(home) / "state.json").read_bytes() == before
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert state(home)["heard"]["calls"] == 2
    assert_same_fold(home, transcript.path)


#: Runs the hook before, while and after the home's disk is full (or read-only): argv is the home,
#: where to put what it holds, the payload's file, and the hook's command.
_ON_A_SMALL_DISK = r"""
set -e
home=$1 out=$2 payload=$3; shift 3
mkdir -p "$home"
mount -t tmpfs -o size=128k none "$home"
run() { "$@" <"$payload" >>"$out/stdout" 2>>"$out/stderr"; echo $? >>"$out/codes"; }
run "$@"; cp -r "$home" "$out/before"
if [ "$MODE" = full ]; then dd if=/dev/zero of="$home/ballast" bs=1k 2>/dev/null || true
else mount -o remount,ro "$home"; fi
run "$@"; run "$@"; cp -r "$home" "$out/during"
if [ "$MODE" = full ]; then rm "$home/ballast"; else mount -o remount,rw "$home"; fi
run "$@"; cp -r "$home" "$out/after"
"""


@pytest.mark.parametrize("mode", ["full", "read-only"])
def test_a_full_or_read_only_disk_costs_events_and_nothing_else(mode, home, tmp_path, transcript):
    if not own_mounts():
        pytest.skip("mounting a small disk needs root or user namespaces")
    out = tmp_path / "out"
    out.mkdir()
    payload = tmp_path / "payload"
    payload.write_bytes(encode(event("PostToolUse", transcript=transcript.path)))
    subprocess.run(
        [*own_mounts(), "sh", "-c", _ON_A_SMALL_DISK, "sh", home, out, payload, *command()],
        env={**environ(home), "MODE": mode},
        check=True,
        timeout=SAFETY_S,
    )
    assert (out / "codes").read_text() == "0\n" * 4
    assert (out / "stdout").read_bytes() == b""
    before, during, after = (out / name for name in ("before", "during", "after"))
    assert heard(before) == heard(during) == {"PostToolUse": 1}
    assert state(before) == state(during)
    assert heard(after) == {"PostToolUse": 2}
    for place in (before, during, after):  # torn lines nowhere
        notes(place)
        lines(folder(place) / "samples.jsonl")


# -- a damaged state


def write_state(home: Path, data: bytes) -> None:
    (folder(home) / "state.json").write_bytes(data)


def set_aside(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder(home).glob("state.json.damaged-*"))]


@pytest.fixture
def saved(home, transcript):
    """A state as a hook wrote it."""
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    run_silently(event("UserPromptSubmit", transcript=transcript.path), home)
    return (folder(home) / "state.json").read_bytes()


def assert_rebuilt(home: Path, transcript: Transcript, damaged: bytes) -> None:
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert set_aside(home) == [damaged]
    noted = [(n["event"], n["session"], n["aside"][:19]) for n in notes(home)]
    assert noted == [("degraded.state", "s1", "state.json.damaged-")]
    assert_same_fold(home, transcript.path)
    assert heard(home) == {"PostToolUse": 1}


@pytest.mark.parametrize("share", [0.0, *(n / 16 for n in range(1, 16)), 0.9999])
def test_a_state_cut_short_is_set_aside_and_rebuilt(share, saved, home, transcript):
    damaged = saved[: int(len(saved) * share)]
    write_state(home, damaged)
    assert_rebuilt(home, transcript, damaged)


@pytest.mark.parametrize(
    "damaged",
    [
        b"\0" * 3000,
        random.Random(2).randbytes(3000),
        b"\xff\xfe",
        b"not JSON",
        b"[]",
        b'"v"',
        b"1",
        b"null",
        b"{}",
        b'{"v":1}',
        b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_state_that_is_none_is_set_aside_and_rebuilt(damaged, saved, home, transcript):
    write_state(home, damaged)
    assert_rebuilt(home, transcript, damaged)


SHAPES = {
    "another version": {"v": 2},
    "no version": {"v": None},
    "a version of text": {"v": "1"},
    "a session of another name": {"session": "s2"},
    "a session of no name": {"session": 7},
    "an agent's": {"agent": "a1"},
    "seen: a list": {"seen": []},
    "seen: empty": {"seen": {}},
    "seen: a text as offset": {"seen.offset": "12"},
    "seen: a negative offset": {"seen.offset": -12},
    "seen: a null as offset": {"seen.offset": None},
    "seen: numbers as texts": {"seen.turns": "3"},
    "seen: a number as list": {"seen.answered": 3},
    "seen: a text as list": {"seen.identity": "abcd"},
    "seen: a short list": {"seen.identity": [1]},
    "seen: short bytes": {"seen.bytes": [1]},
    "seen: a list as table": {"seen.tools": []},
    "seen: rows that are numbers": {"seen.tools": {"Bash": 5}},
    "seen: places that are numbers": {"seen.prompts": [1, 2, 3]},
    "seen: no meter": {"seen.meter": None},
    "seen: a meter of texts": {"seen.meter.context": "many"},
    "seen: a tail of numbers": {"seen.meter.tail": 5},
    "behind: a number": {"behind": 5},
    "heard: a list": {"heard": []},
    "heard: a number as table": {"heard.events": 5},
    "heard: texts as counts": {"heard.calls": "many"},
    "heard: a list as table": {"heard.pending": [1]},
    "heard: rows that are numbers": {"heard.tools": {"Bash": 7}},
    "heard: pending numbers": {"heard.pending": {"1": 5}},
    "heard: pending texts": {"heard.pending": {"1": ["a", "b"]}},
    "heard: a client of texts": {"heard.client": {"auto_window": "large"}},
    "heard: a text as client": {"heard.client": "2.1"},
    "heard: a text as window": {"heard.window": "large"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_state_of_another_shape_is_set_aside_and_rebuilt(shape, saved, home, transcript):
    """The hook must not fail on it for the rest of the session."""
    value = json.loads(saved)
    for dotted, wrong in SHAPES[shape].items():
        *path, last = dotted.split(".")
        place = value
        for name in path:
            place = place[name]
        place[last] = wrong
    damaged = encode(value)
    write_state(home, damaged)
    transcript.result("toolu_2", "more")
    assert_rebuilt(home, transcript, damaged)


def test_what_stands_in_the_state_s_place_but_is_no_file_does_not_end_the_session(saved, home, transcript):
    path = folder(home) / "state.json"
    path.unlink()
    path.mkdir()
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert heard(home) == {"PostToolUse": 1}
    assert len(list(folder(home).glob("state.json.damaged-*"))) == 1


def test_what_a_killed_hook_left_half_written_is_ignored(saved, home, transcript):
    (folder(home) / "state.json.tmp").write_bytes(saved[:100])
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert heard(home) == {"PostToolUse": 2, "UserPromptSubmit": 1}
    assert not (folder(home) / "state.json.tmp").exists()


# -- subagents


def test_a_subagent_never_changes_a_byte_of_its_parents_state(home, transcript):
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    own = Transcript(transcript.path.with_suffix("") / "subagents" / "agent-a1.jsonl", agent="a1")
    own.prompt("look around")
    own.answer(9000, "looking")
    parents = {p: p.read_bytes() for p in folder(home).iterdir() if p.is_file()}
    transcript.result("toolu_2", "which only the parent may read")
    names = [name for name in EVENTS if name != "SessionStart"]
    for name in names:
        run_silently(event(name, transcript=transcript.path, agent_id="a1", agent_type="Explore"), home)
    run_silently(event("SessionStart", transcript=transcript.path, agent_id="a1", source="compact"), home)
    assert {p: p.read_bytes() for p in folder(home).iterdir() if p.is_file()} == parents
    assert heard(home, agent="a1") == dict.fromkeys(EVENTS, 1)
    assert state(home, agent="a1")["seen"] == folded(own.path, agent="a1")
    assert state(home, agent="a1")["seen"]["turns"] == 1
    assert not notes(home)


def test_a_subagent_that_names_its_own_transcript_is_read_there(home, transcript, tmp_path):
    own = Transcript(tmp_path / "elsewhere.jsonl", agent="a1")
    own.answer(9000)
    own.answer(9500)
    run_silently(
        event("SubagentStop", transcript=transcript.path, agent_transcript_path=str(own.path)), home
    )
    assert state(home, agent="a1")["seen"]["turns"] == 2
    assert not (folder(home) / "state.json").exists()


def test_the_summariser_of_a_compaction_is_no_agent_of_the_session(home, transcript):
    run_silently(event("SubagentStop", transcript=transcript.path, agent_type=""), home)
    assert not home.exists()


def test_a_subagent_whose_transcript_does_not_exist_is_only_heard(home, transcript):
    run_silently(event("SubagentStop", transcript=transcript.path), home)
    assert heard(home, agent="a1") == {"SubagentStop": 1}
    assert "turns" not in state(home, agent="a1")["seen"]
    assert not notes(home)


# -- the installation


def bundle_of(package: Path) -> Path:
    return package / "__pycache__" / f"hot.{sys.implementation.cache_tag}"


def test_a_package_that_cannot_be_written_to_works_without_a_bundle(home, tmp_path, transcript):
    package = copy_package(tmp_path / "copy")
    for path in (package, *(p for p in package.rglob("*") if p.is_dir())):
        path.chmod(0o555)
    try:
        for _ in range(2):
            payload = event("PostToolUse", transcript=transcript.path)
            run_silently(payload, home, package=package, before=bound_by_modes())
        assert not (package / "__pycache__").exists()
    finally:
        for path in (package, *(p for p in package.rglob("*") if p.is_dir())):
            path.chmod(0o755)
    assert heard(home) == {"PostToolUse": 2}
    assert_same_fold(home, transcript.path)


def test_a_file_where_caches_should_be_breaks_nothing(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    (package / "__pycache__").write_bytes(b"")
    run_silently(event("Stop"), home, package=package)
    assert heard(home) == {"Stop": 1}


def damaged_bundles(whole: bytes) -> dict[str, bytes]:
    chance = random.Random(3)
    cuts = {f"cut to {n} of 16": whole[: len(whole) * n // 16] for n in range(16)}
    return {
        **cuts,
        "all but one byte": whole[:-1],
        "zeros": b"\0" * len(whole),
        "text": b"print('hello')\n" * 100,
        "a .pyc": b"\xa7\r\r\n" + b"\0" * 12 + whole[:500],
        **{f"random {n}": chance.randbytes(2000) for n in range(8)},
        **{f"zeros after {n} pages": (whole[: 4096 * n]).ljust(len(whole), b"\0") for n in range(1, 9)},
    }


def test_a_damaged_bundle_is_made_again(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    run_silently(event("Stop"), home, package=package)
    whole = bundle_of(package).read_bytes()
    damaged = damaged_bundles(whole)
    for times, (how, data) in enumerate(damaged.items(), start=2):
        bundle_of(package).write_bytes(data)
        result = run_hook(event("Stop"), home, package=package)
        assert (how, result.returncode, result.stdout, result.stderr) == (how, 0, b"", b"")
        assert (how, heard(home)) == (how, {"Stop": times})
        assert bundle_of(package).read_bytes() == whole, how


@pytest.mark.parametrize("place", ["core/heard.py", "hook.py", "__init__.py"])
def test_a_changed_source_is_used_at_once(place, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    run_silently(event("PostToolUse"), home, package=package)
    made = bundle_of(package).read_bytes()
    edit(package / "core" / "heard.py", "    heard.calls += 1\n", "    heard.calls += 7\n")  # of one size
    source = package / place
    source.write_text(source.read_text() + "# changed\n")
    run_silently(event("PostToolUse"), home, package=package)
    assert state(home)["heard"]["calls"] == 8
    assert bundle_of(package).read_bytes() != made


def test_a_copied_package_runs_its_own_code(home, tmp_path):
    """The client copies plugins into a cache of its own, compiled files and all."""
    first = copy_package(tmp_path / "first")
    run_silently(event("PostToolUse"), home, package=first)
    second = Path(shutil.copytree(first, tmp_path / "second" / "holdfast"))
    edit(second / "core" / "heard.py", "    heard.calls += 1\n", "    heard.calls += 7\n")
    run_silently(event("PostToolUse"), home, package=second)
    assert state(home)["heard"]["calls"] == 8


MISSING = "core/lines.py core/__init__.py disk/files.py engine.py hook.py bundle.py errors.py".split()


@pytest.mark.parametrize("has_bundle", [False, True])
@pytest.mark.parametrize("missing", MISSING)
def test_a_broken_installation_is_silent(missing, has_bundle, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if has_bundle:
        run_silently(event("Stop"), home, package=package)
    (package / missing).unlink()
    run_silently(event("Stop"), home, package=package)


def test_an_installation_with_a_syntax_error_is_silent(home, tmp_path):
    package = copy_package(tmp_path / "copy")
    with (package / "engine.py").open("a") as file:
        file.write("def (:\n")
    run_silently(event("Stop"), home, package=package)


@pytest.mark.parametrize("breakage", ["missing", "syntax"])
def test_a_broken_installation_does_not_fill_up_with_temporary_files(breakage, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if breakage == "missing":
        (package / "core" / "lines.py").unlink()
    else:
        (package / "engine.py").write_text("def (:\n")
    for _ in range(3):
        run_silently(event("Stop"), home, package=package)
    assert not list(package.rglob("*.tmp"))


PLANTED = (
    "json posix _json marshal gc time sitecustomize usercustomize holdfast errno pwd encodings zipimport"
).split()


@pytest.mark.parametrize("has_bundle", [False, True])
def test_nothing_planted_in_the_project_is_ever_imported(has_bundle, home, tmp_path):
    package = copy_package(tmp_path / "copy")
    if has_bundle:
        run_silently(event("SessionStart"), home, package=package)
    project = tmp_path / "project"
    marker = tmp_path / "planted code ran"
    for name in PLANTED:
        for path in (project / f"{name}.py", project / name / "__init__.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"open({str(marker)!r}, 'a').write({name!r})\n")
    (project / "launch.py").write_text(f"open({str(marker)!r}, 'w')\n")
    (project / "holdfast" / "hook.py").write_text(f"open({str(marker)!r}, 'w')\n")
    env = {"PYTHONPATH": str(project), "PYTHONSTARTUP": str(project / "json.py"), "PYTHONINSPECT": "1"}
    for name in ("SessionStart", "PostToolUse", "PreCompact"):
        run_silently(event(name, cwd=str(project)), home, package=package, cwd=project, env=env)
    assert not marker.exists()
    assert len(heard(home)) == 3


# -- a wedged lock


def test_a_wedged_session_is_given_up_on_and_noted(home, transcript):
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    before = (folder(home) / "state.json").read_bytes()
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(event("PostToolUse", transcript=transcript.path), home)
    (note,) = notes(home)
    assert (note["event"], note["session"], note["hook"]) == ("degraded.hook", "s1", "PostToolUse")
    assert note["what"].startswith("Late")
    assert (folder(home) / "state.json").read_bytes() == before
    run_silently(event("PostToolUse", transcript=transcript.path), home)
    assert state(home)["heard"]["calls"] == 2


def test_a_wedged_trail_is_given_up_on_too(home):
    home.mkdir()
    trail = home / "events.jsonl"
    trail.touch()
    with trail.open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(b"not JSON", home)
    assert trail.read_bytes() == b""


def test_a_wedged_session_is_given_up_on_by_whoever_started_the_hook(home):
    """Signal masks are inherited: a client that blocks SIGALRM must not silence the watchdog."""
    run_silently(event("Stop"), home)
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        hook = subprocess.Popen(
            command(),
            env=environ(home),
            stdin=subprocess.PIPE,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
        )
        try:
            hook.communicate(encode(event("Stop")), timeout=10)
        finally:
            hook.kill()
    assert hook.returncode == 0


def test_one_wedged_session_holds_up_no_other(home):
    run_silently(event("Stop"), home)
    with (folder(home) / "lock").open("r+") as wedged:
        fcntl.lockf(wedged, fcntl.LOCK_EX)
        run_silently(event("Stop", session="s2"), home)
        run_silently(event("Stop", agent_id="a1"), home)
    assert heard(home, "s2") == heard(home, "s1", "a1") == {"Stop": 1}
    assert not notes(home)


# -- what is on the disk


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_user_can_read_what_is_written(umask, home, transcript):
    payload = event("PostToolUse", transcript=transcript.path)
    run_silently(payload, home, umask=umask)
    write_state(home, b"damaged")
    run_silently(payload, home, umask=umask)
    run_silently({**payload, "agent_id": "a1"}, home, umask=umask)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    assert {path.name for path in modes} >= {"state.json", "samples.jsonl", "lock", "events.jsonl", "a1"}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}


def marked(value: object, mark: str) -> object:
    """The same with `mark` in every text."""
    if isinstance(value, str):
        return f"{value} {mark} {value}"
    if isinstance(value, list):
        return [marked(item, mark) for item in value]
    if isinstance(value, dict):
        return {key: marked(item, mark) for key, item in value.items()}
    return value


def test_no_text_of_a_session_is_written_anywhere(home, tmp_path):
    mark = "CANARY-7f3a"
    transcript = Transcript(tmp_path / "s1.jsonl")
    for turn in range(5):
        transcript.prompt(f"my {mark} prompt {turn}")
        transcript.answer(50_000, f"echo {mark} {turn}", call=f"toolu_{turn}")
        transcript.result(f"toolu_{turn}", f"a {mark} result")
    transcript.boundary(90_000, 9000)
    transcript.summary(f"a summary with {mark}")
    transcript.answer(20_000, f"the answer is {mark}")
    with transcript.path.open("a") as file:
        file.write(f'{{"type":"user","message":{{"content":"torn {mark}\n')
    ids = ("tool_use_id", "agent_id", "task_id", "model", "to_model")
    for name, fields in EVENTS.items():
        own = {key: fields[key] if key in ids else marked(fields[key], mark) for key in fields}
        run_silently(event(name, transcript=transcript.path, **own), home)
    run_silently(b'{"prompt":"%s"' % mark.encode(), home)
    run_silently(event("Stop", session=".no", prompt=mark), home)
    write_state(home, f'{{"text":"{mark}","v":1}} {mark}'.encode())
    run_silently(event("UserPromptSubmit", transcript=tmp_path, prompt=mark), home)
    run_silently(event("PostToolUse", transcript=transcript.path, tool_name=f"{mark} tool"), home)
    for path in folder(home).glob("state.json.damaged-*"):
        path.unlink()  # which is what we wrote ourselves
    written = [path for path in home.rglob("*") if path.is_file()]
    assert len(written) >= 5
    assert not [path for path in written if mark.encode() in path.read_bytes()]


def test_what_is_no_name_of_an_event_is_not_repeated_in_a_note(home):
    run_silently(event("words of CANARY-7f3a, not a name", session=".no"), home)
    assert len(notes(home)) == 1
    assert "CANARY" not in str(notes(home))


# -- the number a hook writes down


def test_a_tool_result_counts_before_it_is_in_the_transcript_and_not_twice_after(home, transcript):
    text = "word " * 2000
    run_silently(event("PreToolUse", transcript=transcript.path), home)
    before = used(home)
    response = {"stdout": text, "stderr": "", "interrupted": False}
    done = event("PostToolUse", transcript=transcript.path, tool_use_id="toolu_2", tool_response=response)
    run_silently(done, home)
    pending = used(home)
    assert before + len(text) / 5 < pending < before + len(text)
    transcript.result("toolu_2", text)
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
    assert abs(used(home) - pending) <= 2
    assert not state(home)["heard"].get("pending")
    transcript.answer(pending + 500)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == pending + 500 + 100


def test_a_result_that_is_read_before_its_hook_runs_is_not_counted_twice(home, transcript):
    text = "word " * 2000
    transcript.result("toolu_2", text)
    run_silently(event("Notification", transcript=transcript.path), home)
    before = used(home)
    response = {"stdout": text, "stderr": "", "interrupted": False}
    done = event("PostToolUse", transcript=transcript.path, tool_use_id="toolu_2", tool_response=response)
    run_silently(done, home)
    assert used(home) == before


def test_a_prompt_counts_before_it_is_in_the_transcript_and_not_twice_after(home, transcript):
    transcript.result("toolu_2", "done")
    transcript.answer(60_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    before = used(home)
    assert before == 60_100
    text = "please " * 1000
    run_silently(event("UserPromptSubmit", transcript=transcript.path, prompt=text), home)
    pending = used(home)
    assert before + len(text) / 5 < pending < before + len(text)
    transcript.prompt(text)
    run_silently(event("PreToolUse", transcript=transcript.path), home)
    assert abs(used(home) - pending) <= 2
    assert not state(home)["heard"].get("pending")


def test_usage_falls_with_a_compaction_before_the_transcript_shows_it(home, transcript):
    transcript.result("toolu_2", "done")
    transcript.answer(160_000)
    run_silently(event("PreCompact", transcript=transcript.path), home)
    assert used(home) == 160_100
    summary = "<analysis>" + "long " * 5000 + "</analysis>\n<summary>" + "short " * 500 + "</summary>"
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    run_silently(event("PostCompact", transcript=transcript.path, compact_summary=summary), home)
    after = used(home)
    assert after < 60_000
    assert state(home)["heard"]["awaits"][0] == 1
    transcript.boundary(160_100, 9000)
    transcript.summary("short " * 500)
    transcript.answer(31_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == 31_100
    assert_same_fold(home, transcript.path)


def test_usage_falls_as_soon_as_the_compacted_session_starts(home, transcript):
    """All that was heard before is no longer in the window, though no summary has been heard of yet."""
    for call in range(2, 22):
        done = {"tool_use_id": f"toolu_{call}", "tool_response": {"stdout": "word " * 3000}}
        run_silently(event("PostToolUse", transcript=transcript.path, **done), home)
        transcript.result(f"toolu_{call}", "word " * 3000)
        transcript.answer(60_000 + 5000 * call, call=f"toolu_{call + 1}")
    run_silently(event("PreCompact", transcript=transcript.path), home)
    assert used(home) == 165_100
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    assert used(home) < 100_000


def test_a_compaction_that_never_reached_the_transcript_is_not_awaited_after_a_resume(home, transcript):
    """The client was killed in between; what it resumes is what the transcript says."""
    transcript.result("toolu_2", "done")
    transcript.answer(160_000)
    run_silently(event("SessionStart", transcript=transcript.path, source="compact"), home)
    run_silently(event("PostCompact", transcript=transcript.path), home)
    assert used(home) < 60_000
    run_silently(event("SessionStart", transcript=transcript.path, source="resume"), home)
    assert used(home) == 160_100
    transcript.prompt("go on")
    transcript.answer(161_000)
    run_silently(event("Stop", transcript=transcript.path), home)
    assert used(home) == 161_100


class Growing:
    """Time in which a file grows: each nap brings the next of its lines."""

    def __init__(self, grow: list) -> None:
        self.grow = grow

    def sleep(self, seconds: float) -> None:
        if self.grow:
            self.grow.pop(0)()


def test_before_a_compaction_the_transcript_is_read_to_where_it_settles(home, transcript, monkeypatch):
    grow = [
        lambda: transcript.result("toolu_2", "the newest result"),
        lambda: transcript.answer(53_000, "one more thing"),
        lambda: transcript.answer(54_000, "and another"),
        lambda: transcript.prompt("the last word"),
    ]
    monkeypatch.setattr(engine, "time", Growing(grow))
    payload = encode(event("PreCompact", transcript=transcript.path))
    engine.handle(from_hook(payload, 1, len(payload)), Holdfast.open(environ(home)))
    assert not grow
    assert_same_fold(home, transcript.path)
    assert state(home)["seen"]["offset"] == transcript.path.stat().st_size


def test_a_transcript_that_never_settles_is_not_waited_for(home, transcript, monkeypatch):
    naps: list[float] = []

    class Restless:
        @staticmethod
        def sleep(seconds: float) -> None:
            naps.append(seconds)
            transcript.answer(53_000 + len(naps))

    monkeypatch.setattr(engine, "time", Restless)
    monkeypatch.setattr(engine, "elapsed", lambda: sum(naps))
    payload = encode(event("PreCompact", transcript=transcript.path))
    engine.handle(from_hook(payload, 1, len(payload)), Holdfast.open(environ(home)))
    assert 0 < sum(naps) < 0.3
    assert_same_fold(home, transcript.path)
