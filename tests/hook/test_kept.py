"""What is on the disk afterwards, and what must not be."""

import json
import stat

import pytest

from hooks import (
    EVENTS,
    Transcript,
    event,
    folder,
    notes,
    run_silently,
    state,
    write_state,
)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_user_can_read_what_is_written(umask, home, transcript):
    payload = event("PostToolBatch", transcript=transcript.path)
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


def test_text_of_a_session_is_written_where_it_belongs_alone(home, tmp_path):
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
    run_silently(event("PostToolBatch", transcript=transcript.path, tool_name=f"{mark} tool"), home)
    for path in folder(home).glob("state.json.damaged-*"):
        path.unlink()  # which is what we wrote ourselves
    written = [path for path in home.rglob("*") if path.is_file()]
    assert len(written) >= 5
    marked_files = [path.relative_to(home) for path in written if mark.encode() in path.read_bytes()]
    assert marked_files
    ours = {path.name for path in marked_files if path.parts[0] != "checkpoints"}
    assert ours <= {"facts.json", "brief.txt", "overflow.md", "receipts.jsonl"}


def test_what_is_no_name_of_an_event_is_not_repeated_in_a_note(home):
    run_silently(event("words of CANARY-7f3a, not a name", session=".no"), home)
    assert len(notes(home)) == 1
    assert "CANARY" not in str(notes(home))


def test_the_clients_own_task_files_are_known_by_id_and_status_alone(home, tmp_path):
    client = tmp_path / "client"
    folder_of_tasks = client / "tasks" / "s1"
    folder_of_tasks.mkdir(parents=True)
    for number, status in ((1, "completed"), (2, "in_progress")):
        task = {"id": str(number), "subject": "CANARY-7f3a", "status": status}
        (folder_of_tasks / f"{number}.json").write_text(json.dumps(task))
    (folder_of_tasks / "3.json").write_text("{")
    (folder_of_tasks / "notes.txt").write_text("x")
    run_silently(event("Stop"), home, env={"CLAUDE_CONFIG_DIR": str(client)})
    assert state(home)["heard"]["tasks"] == {"1": "completed", "2": "in_progress"}
    assert b"CANARY" not in (folder(home) / "state.json").read_bytes()
