"""When hooks take a checkpoint, whose it is, and what happens to one that could not be taken at once."""

import json
import subprocess

import pytest

from holdfast.core.config import DEFAULTS
from holdfast.core.ladder import LEVELS
from hooks import (
    SAFETY_S,
    Transcript,
    event,
    notes,
    run_silently,
    start_hook,
    state,
)
from taken import (
    Session,
    assert_exact,
    documents,
    entries,
    newest,
    owed,
    reasons,
    saved,
    verified,
)


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def session(home, project, tmp_path):
    return Session(home, project, tmp_path / "projects" / "s1.jsonl")


FIRST, EVERY = DEFAULTS["checkpoints.first_turns"], DEFAULTS["checkpoints.every_turns"]
TOO_LONG = {"error": "invalid_request", "last_assistant_message": "Prompt is too long"}

#: Turns since the last checkpoint, the hook, and why it takes one ("": it does not).
TRIGGERS = [
    (0, "PreCompact", {}, "compaction"),
    (1, "PreCompact", {}, "compaction"),
    (1, "PreCompact", {"trigger": "manual"}, "compaction"),
    (0, "SessionStart", {"source": "compact"}, ""),
    (9, "SessionStart", {"source": "startup"}, ""),
    (9, "SessionStart", {"source": "resume"}, ""),
    (9, "SessionStart", {"source": "clear"}, ""),
    (FIRST - 1, "Stop", {}, ""),
    (FIRST, "Stop", {}, f"{FIRST} turns of work"),
    (EVERY - 1, "PostToolBatch", {}, ""),
    (EVERY, "PostToolBatch", {}, f"{EVERY} turns of work"),
    (EVERY, "UserPromptSubmit", {}, f"{EVERY} turns of work"),
    (8, "PreToolUse", {}, ""),
    (8, "PostToolUse", {}, ""),  # of which the batch tells
    (8, "Notification", {}, ""),
    (0, "StopFailure", TOO_LONG, "the window is full"),
    (1, "StopFailure", TOO_LONG, "the window is full"),
    (1, "StopFailure", {}, "stopped by an error"),
    (0, "StopFailure", {}, ""),
    (1, "SessionEnd", {}, "session ended"),
    (0, "SessionEnd", {}, ""),
    (0, "SubagentStart", {}, ""),
]


@pytest.mark.parametrize(
    ("turns", "name", "fields", "why"),
    TRIGGERS,
    ids=[f"{name}-{turns}-{why or 'none'}".replace(" ", "-") for turns, name, _, why in TRIGGERS],
)
def test_each_hook_takes_a_checkpoint_when_it_should(turns, name, fields, why, session, home, project):
    session.turn()
    session.hook("PreCompact")  # so that there is one already
    session.turn(times=turns)
    session.hook(name, **fields)
    assert reasons(home) == ["compaction", *([why] if why else [])]
    assert_exact(home, project)
    assert not owed(home)
    assert not notes(home)


@pytest.mark.parametrize(
    ("name", "fields", "trigger"),
    [
        ("PreCompact", {"trigger": "auto"}, "auto"),
        ("PreCompact", {"trigger": "manual"}, "manual"),
        ("SessionEnd", {}, "end"),
        ("Stop", {}, "auto"),
    ],
)
def test_a_checkpoint_says_what_led_to_it(name, fields, trigger, session, home, project):
    session.turn(times=3)
    session.hook(name, **fields)
    made = newest(home)
    assert made.fields["trigger"] == trigger
    assert made.fields["project"] == str(project)
    assert made.fields["session_id"] == "s1"
    assert made.fields["iteration"] == 1
    assert made.fields["used_tokens"] >= 50_000


def test_the_first_comes_soon_and_then_one_every_few_turns(session, home, project):
    taken_after = []
    for turn in range(1, FIRST + 2 * EVERY + 2):
        session.turn()
        before = len(entries(home))
        session.hook("PostToolBatch")
        taken_after += [turn] * (len(entries(home)) - before)
    assert taken_after == [FIRST, FIRST + EVERY, FIRST + 2 * EVERY]
    assert_exact(home, project)


def test_what_a_killed_client_left_unsaved_is_saved_when_the_session_is_resumed(session, home, project):
    session.hook("UserPromptSubmit")
    session.turn(times=FIRST - 1)
    session.hook("SessionStart", source="resume")
    assert reasons(home) == ["left unsaved"]
    session.hook("SessionStart", source="resume")
    assert len(entries(home)) == 1


def test_each_rung_is_saved_once_in_a_cycle_and_again_in_the_next(session, home, project):
    """167,000 is where the client compacts this model. A rung may be raised early."""
    names = [name for _, _, name in LEVELS]
    before = 0
    for _ in range(2):
        for fill in (40, 61, 62, 70, 86, 87, 94, 95, 98, 99):
            session.turn(context=1670 * fill)
            session.hook("PostToolBatch")
        made = reasons(home)[before:]
        assert made == sorted(set(made), key=names.index)
        assert {"proactive checkpoint", "L4 Critical"} < set(made)
        session.compact()
        before = len(reasons(home))
    assert_exact(home, project)


def test_a_jump_over_several_rungs_is_one_checkpoint(session, home):
    session.turn(context=164_000)
    session.hook("PostToolBatch")
    session.turn(context=164_500)
    session.hook("PostToolBatch")
    assert reasons(home) == ["L4 Critical"]


def test_a_rung_is_saved_once_in_a_cycle_even_if_it_is_left_in_between(session, home):
    """As when old results are cleared: one is taken below the rung, then it is reached again."""
    session.turn(context=1670 * 61)
    session.hook("PostToolBatch")
    session.turn(context=1670 * 50, times=EVERY)
    session.hook("PostToolBatch")
    session.turn(context=1670 * 62)
    session.hook("PostToolBatch")
    assert reasons(home) == ["proactive checkpoint", f"{EVERY} turns of work"]


def test_a_rung_that_a_compaction_saved_is_not_saved_again(session, home):
    session.turn(context=146_000)
    session.hook("PreCompact")
    session.turn(context=146_500)
    session.hook("PostToolBatch")
    assert reasons(home) == ["compaction"]


def test_where_nothing_was_done_nothing_is_saved(session, home, project):
    for name, fields in [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {}),
        ("SessionStart", {"source": "compact"}),
        ("SessionEnd", {}),
    ]:
        session.hook(name, **fields)
    assert not entries(home)
    assert not list(project.iterdir())


def test_without_any_transcript_batches_and_stops_are_the_work(home, project):
    run_silently(event("PostToolBatch", cwd=str(project)), home)
    run_silently(event("Stop", cwd=str(project)), home)
    assert reasons(home) == ["2 turns of work"]
    (said,) = newest(home).sections["Active Issues"]
    assert said.startswith("There is no transcript to read")


@pytest.mark.parametrize("then", ["PostCompact", "PostToolBatch", "UserPromptSubmit", "SessionEnd"])
def test_a_compaction_that_came_without_a_word_is_saved_when_the_session_goes_on(session, home, then):
    session.turn(times=FIRST - 1)
    session.hook("PostToolBatch")
    session.compact()
    session.hook("SessionStart", source="compact")
    assert reasons(home) == []  # the session waits for its brief; PostCompact comes next
    assert owed(home)["why"] == "compacted since the last"
    session.hook(then)
    assert reasons(home) == ["session ended" if then == "SessionEnd" else "compacted since the last"]
    assert owed(home) == {}
    assert newest(home).sections["Goal"] == ["fix the parser (entry uuid--1)"]


def test_the_ones_of_a_lineage_name_each_other_across_sessions(session, home, project, tmp_path):
    session.turn()
    session.hook("PreCompact")
    later = Session(home, project, tmp_path / "projects" / "s2.jsonl")
    later.turn()
    later.hook("PreCompact", session_id="s2")
    first, second = entries(home)
    assert (second["parent"], second["lineage"]) == (first["id"], first["lineage"])
    assert [first["iteration"], second["iteration"]] == [1, 2]
    assert first["uid"] < second["uid"]
    assert (project / ".claude" / "checkpoints" / "latest.md").resolve().stem == second["id"]


def test_a_session_that_changes_its_folder_stays_in_its_project(session, home, project):
    """The client names the project to every hook; the folder it is in goes wherever a shell went."""
    below = project / "src"
    below.mkdir()
    for cwd in (project, below, project):
        session.turn()
        event = session.event("PreCompact", cwd=str(cwd))
        run_silently(event, home, env={"CLAUDE_PROJECT_DIR": str(project)})
    assert len({entry["lineage"] for entry in entries(home)}) == 1
    assert len(documents(project)) == 3
    assert not list(below.iterdir())


# Agents


@pytest.fixture
def agent(session, tmp_path):
    session.turn()
    session.hook("PreCompact")
    own = Transcript(session.transcript.path.parent / "s1" / "subagents" / "agent-a1.jsonl", agent="a1")
    own.prompt("look for the bug")
    own.answer(12_000, text="It is in the lexer.")
    return own


def test_an_agent_that_is_done_leaves_a_checkpoint_of_its_own_lineage(agent, session, home, project):
    session.hook("SubagentStop", last_assistant_message="It is in the lexer.")
    parent, own = entries(home)
    assert (own["reason"], own["agent_id"], own["session_id"]) == ("agent finished", "a1", "s1")
    assert own["lineage"] != parent["lineage"]
    assert own["parent"] == ""
    assert newest(home).sections["Goal"][0].startswith("From the lead: look for the bug")
    assert saved(home, agent="a1")["uid"] == own["uid"]
    assert saved(home)["uid"] == parent["uid"]
    assert_exact(home, project)


def test_an_agent_is_never_told_its_parents_words(agent, session, home):
    """An event may come without a path; what was heard before is where the parent's transcript is."""
    session.hook("PostToolBatch", agent_id="a1", agent_type="Explore")
    session.hook("SubagentStop", transcript_path="")
    made = newest(home)
    assert made.fields["agent_id"] == "a1"
    assert "fix the parser" not in made.body
    assert made.sections["Commands and Tests"] == []


def test_an_agent_that_says_and_does_nothing_leaves_none(session, home):
    session.turn()
    session.hook("SubagentStop", last_assistant_message="", agent_id="a2")
    assert not entries(home)


def test_the_clients_own_summariser_is_no_agent(session, home):
    session.turn()
    session.hook("SubagentStop", agent_type="", last_assistant_message="<summary>all of it</summary>")
    assert not entries(home)
    assert not (home / "sessions" / "s1" / "agents").exists()


def test_work_of_an_agent_is_no_work_of_its_parent(agent, session, home):
    for turn in range(9):
        agent.answer(13_000 + turn, text="reading on")
    session.hook("PostToolBatch", agent_id="a1", agent_type="Explore")
    session.hook("Stop")
    assert [(entry["agent_id"], entry["reason"]) for entry in entries(home)] == [
        ("", "compaction"),
        ("a1", "10 turns of work"),
    ]


# Together


def test_three_sessions_and_their_agents_in_one_project_do_not_collide(home, project, tmp_path):
    made = [Session(home, project, tmp_path / "projects" / f"s{n}.jsonl") for n in range(3)]
    hooks = []
    for number, one in enumerate(made):
        one.turn()
        hooks.append(start_hook(one.event("PreCompact", session_id=f"s{number}"), home))
        for agent in ("a1", "a2"):
            stop = one.event("SubagentStop", session_id=f"s{number}", agent_id=agent)
            hooks.append(start_hook(stop, home))
    assert [hook.wait(SAFETY_S) for hook in hooks] == [0] * 9
    for number, one in enumerate(made):  # on an overloaded machine some were late
        one.hook("Notification", session_id=f"s{number}")
        for agent in ("a1", "a2"):
            one.hook("Notification", session_id=f"s{number}", agent_id=agent)
    assert len(entries(home)) == 9
    assert sorted(entry["iteration"] for entry in entries(home)) == list(range(1, 10))
    assert_exact(home, project)


def test_the_index_is_shown_in_the_seeds_schema(session, home):
    session.turn()
    session.hook("PreCompact")
    shown = json.loads((home / "checkpoints" / "index.json").read_bytes())
    assert shown["version"] == "1.0"
    (entry,) = shown["checkpoints"]
    assert list(entry) == "id uid path project created trigger verified iteration summary".split()
    assert entry["verified"] is True
    assert state(home)["heard"]["saved"]["path"] == entry["path"]


def test_git_does_not_see_them(session, home, project):
    git = ["git", "-c", "safe.directory=*", "-C", str(project)]
    subprocess.run([*git, "init", "-q", "-b", "tide/gate"], check=True)
    session.turn()
    session.hook("PreCompact")
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=True)
    assert status.stdout == b""
    made = verified(documents(project)[0])
    assert (made.fields["branch"], made.fields["commit"]) == ("tide/gate", "")
