"""Whatever is on stdin: the hook is silent, ends well and says what was wrong."""

import os
import subprocess

import pytest

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import from_hook
from hooks import (
    EVENTS,
    PACKAGE,
    SAFETY_S,
    WRONG,
    command,
    encode,
    environ,
    event,
    files_under,
    heard,
    notes,
    patient,
    run_hook,
    run_silently,
    state,
)


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
        run_silently(event("PostToolBatch", tool_use_id=call), home)
    run_silently(event("UserPromptSubmit"), home)
    assert not notes(home)
    assert heard(home) == {"PostToolBatch": len(ids), "UserPromptSubmit": 1}


def test_a_hundred_megabytes_are_counted_and_not_kept(home, tmp_path):
    payload = encode(event("PostToolBatch", tool_response={"stdout": ""}))
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
    payload = encode(event("PostToolBatch", tool_response={"stdout": "x" * (12 << 20)}))
    run_silently(payload, home)
    assert state(home)["heard"]["cut"] == 1


def test_a_closed_stdin_is_noted(home):
    result = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command(package=patient())],
        env=environ(home),
        capture_output=True,
        timeout=SAFETY_S,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, b"")
    assert len(notes(home)) == 1


def test_with_all_three_streams_closed_the_hook_leaves_quietly(home):
    result = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command(package=patient())],
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
        result = run_hook(b"", home, stdin=read, package=PACKAGE)
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
