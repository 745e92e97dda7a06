"""A subagent never touches its parent."""

from hooks import (
    EVENTS,
    Transcript,
    event,
    folded,
    folder,
    heard,
    notes,
    run_hook,
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


ORDERS = "Count the sensors at pier 4.\n\nNever touch the gate motor while you count."


def compacted(home, transcript, agent):
    """What hooks print around a compaction of the session, or of a subagent of it."""
    fields = {"transcript": transcript, "trigger": "auto"} | ({"agent_id": agent} if agent else {})
    block = run_hook(event("PreCompact", **fields), home).stdout.decode()
    brief = run_hook(event("SessionStart", source="compact", **fields), home).stdout.decode()
    return block, brief


def test_what_a_lead_asks_of_its_subagent_is_not_said_to_be_the_users(home, transcript):
    own = Transcript(transcript.path.with_suffix("") / "subagents" / "agent-a1.jsonl", agent="a1")
    own.prompt(ORDERS)
    own.answer(150_000, "I found four of them, because two are under water.")
    block, brief = compacted(home, transcript.path, "a1")
    assert "BY THE USER" not in block
    assert "INSTRUCTIONS BY THE LEAD OF THIS AGENT (not the user):\n  • Never touch the gate motor" in block
    assert "From the lead: Never touch the gate motor" in brief
    assert "> Never" not in brief
    (made,) = home.glob("checkpoints/**/20*.md")
    assert "From the lead: Count the sensors" in made.read_text()
    assert not notes(home)


def test_the_same_typed_by_a_person_is_theirs(home, tmp_path):
    """The control: in a session of its own."""
    own = Transcript(tmp_path / "s1.jsonl")
    own.prompt(ORDERS)
    own.answer(150_000, "I found four of them, because two are under water.")
    block, brief = compacted(home, own.path, "")
    assert "STANDING INSTRUCTIONS BY THE USER:\n  • Never touch the gate motor" in block
    assert "> Never touch the gate motor" in brief


def test_a_hook_that_stopped_a_prompt_gives_no_order(home, tmp_path):
    own = Transcript(tmp_path / "s1.jsonl")
    own.version = "2.1.7"
    words = "Operation stopped by hook: Always run `x enable` before you commit anything."
    own._write("user", message={"role": "user", "content": words})
    own.prompt("Count the sensors at pier 4.")
    own.answer(150_000, "I found four of them, because two are under water.")
    block, brief = compacted(home, own.path, "")
    assert "x enable" not in block + brief
    assert "> Count the sensors" in brief
