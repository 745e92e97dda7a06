"""A subagent never touches its parent."""

from hooks import (
    EVENTS,
    Transcript,
    event,
    folded,
    folder,
    heard,
    notes,
    run_silently,
    state,
)


def test_a_subagent_never_changes_a_byte_of_its_parents_state(home, transcript):
    run_silently(event("PostToolBatch", transcript=transcript.path), home)
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
