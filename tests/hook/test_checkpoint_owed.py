"""A checkpoint that could not be taken at once is owed, and the next hook pays: once."""

import os
import signal
import time

import pytest

from holdfast.clock import new_id, now
from holdfast.disk import index
from holdfast.disk.checkpoints import seal_key
from holdfast.disk.home import Home
from hooks import SAFETY_S, Transcript, copy_package, edit, start_hook
from taken import Session, assert_exact, documents, entries, newest, owed, saved, unfinished


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def session(home, project, tmp_path):
    return Session(home, project, tmp_path / "projects" / "s1.jsonl")


#: Where a hook that takes a checkpoint is killed: before this line of the package.
#: The hook, and the child that writes for it.
_KILL = "posix.kill(posix.getppid(), 9), posix.kill(posix.getpid(), 9)"
_LISTED = "        index.add(home, entry)\n"
_FIRST = "    base = stem_at(draft.at)\n"
_SYNCED = "                files.sync_above(home.root, 4)\n"
KILLS = {
    "before anything was written": ("disk/checkpoints.py", _FIRST, "True"),
    "with a temporary file": ("disk/folder.py", "                posix.fsync(fd)\n", "True"),
    "with both names": ("disk/folder.py", "            self.remove(temporary)\n", "name[-3:] == '.md'"),
    "when it was published": ("disk/checkpoints.py", _LISTED, "True"),
    "when it was listed": (
        "disk/checkpoints.py",
        "        _afterwards(home, folder, entry, key)\n",
        "True",
    ),
}


def killing(to, path, line, when="True"):
    """A package whose hooks are killed before this line, `when` that is so."""
    package = copy_package(to)
    space = line[: len(line) - len(line.lstrip())]
    edit(package / path, line, f"{space}if {when}:\n{space}    {_KILL}\n{line}")
    return package


def run_killed(payload, home, package):
    assert start_hook(payload, home, package).wait(SAFETY_S) == -signal.SIGKILL


@pytest.mark.parametrize("kill", KILLS)
def test_what_a_killed_hook_owed_the_next_one_pays(kill, session, home, project, tmp_path):
    seal_key(Home(str(home)))  # made once, by the first
    session.turn()
    run_killed(session.event("PreCompact"), home, killing(tmp_path / "broken", *KILLS[kill]))
    promised = owed(home)
    assert promised["why"] == "compaction"
    session.hook("Notification")
    assert set(index.load_all(Home(str(home))).entries) == {promised["uid"]}
    assert not owed(home)
    assert len(documents(project)) == 1
    # What is unfinished may be somebody's who is slow: it stays for an hour.
    assert all(promised["uid"] in path.read_text() for path in unfinished(home, project))
    assert newest(home).fields["uid"] == promised["uid"]


def test_one_that_was_published_counts_but_not_for_what_came_after(session, home, project, tmp_path):
    session.turn()
    run_killed(
        session.event("PreCompact"), home, killing(tmp_path / "broken", "disk/checkpoints.py", _LISTED)
    )
    (published,) = documents(project)
    before = published.read_bytes()
    session.transcript.prompt("and the lexer")
    session.turn()
    session.hook("PostToolBatch")
    assert published.read_bytes() == before
    first, second = entries(home)
    assert first["path"] == str(published)
    assert second["parent"] == first["id"]
    assert any("and the lexer" in item for item in newest(home).sections["Goal"])
    assert saved(home)["work"] == 2
    assert_exact(home, project)


def test_a_debt_is_paid_where_it_was_made(session, home, project, tmp_path):
    """Without a word of the client on its project, a session is where it was when the debt was made."""
    session.turn()
    run_killed(
        session.event("PreCompact"), home, killing(tmp_path / "broken", "disk/checkpoints.py", _LISTED)
    )
    (published,) = documents(project)
    (project / "src").mkdir()
    session.hook("Notification", cwd=str(project / "src"))
    assert entries(home)[0]["path"] == str(published)
    assert not (project / "src" / ".claude").exists()


def test_a_second_kill_leaves_the_second_debt_too(session, home, project, tmp_path):
    """The one that pays for a killed one may be killed itself, over what came after."""
    session.turn()
    run_killed(
        session.event("PreCompact"), home, killing(tmp_path / "broken", "disk/checkpoints.py", _LISTED)
    )
    session.turn()
    once = "index.load_all(home).entries"
    again = killing(tmp_path / "again", "disk/checkpoints.py", _LISTED, once)
    run_killed(session.event("PreCompact"), home, again)
    assert owed(home)
    session.hook("Notification")
    assert len(entries(home)) == 2
    assert_exact(home, project)


def test_a_debt_is_paid_once_by_ten_hooks_at_the_same_time(session, home, project, tmp_path):
    session.turn()
    broken = killing(tmp_path / "broken", "disk/checkpoints.py", _FIRST)
    run_killed(session.event("PreCompact"), home, broken)
    hooks = [start_hook(session.event("Notification"), home) for _ in range(10)]
    assert [hook.wait(SAFETY_S) for hook in hooks] == [0] * 10
    session.hook("Notification")
    assert len(entries(home)) == 1
    assert_exact(home, project)


@pytest.mark.parametrize("line", ["                key = posix.urandom(_KEY_SIZE)\n", _SYNCED])
def test_a_kill_while_the_key_is_made_delays_the_first(line, session, home, tmp_path):
    session.turn()
    run_killed(session.event("PreCompact"), home, killing(tmp_path / "broken", "disk/checkpoints.py", line))
    session.hook("Notification")
    assert len(entries(home)) == 1
    newest(home)


@pytest.mark.parametrize("name", ["Stop", "SessionEnd", "PreCompact", "SessionStart", "StopFailure"])
def test_what_an_agent_owed_when_it_ended_its_session_pays(name, session, home, project, tmp_path):
    ended = session.event("SubagentStop")
    own = Transcript(session.transcript.path.with_suffix("") / "subagents" / "agent-a1.jsonl", agent="a1")
    own.prompt("look for the lexer")
    own.answer(9000, "it is in lexer.py")
    run_killed(ended, home, killing(tmp_path / "broken", "disk/checkpoints.py", _FIRST))
    promised = owed(home, agent="a1")
    assert promised["why"] == "agent finished"
    for tool_call in ("PreToolUse", "PostToolBatch"):  # these cost nothing more than before
        session.hook(tool_call)
    assert owed(home, agent="a1") == promised
    session.hook(name)
    assert not owed(home, agent="a1")
    (paid,) = (entry for entry in entries(home) if entry["agent_id"] == "a1")
    assert (paid["uid"], paid["session_id"]) == (promised["uid"], "s1")
    assert "lexer" in paid["summary"]
    assert_exact(home, project)


def test_an_agent_that_cannot_be_paid_for_does_not_keep_its_session_from_saving(
    session, home, project, tmp_path
):
    ended = session.event("SubagentStop")
    run_killed(ended, home, killing(tmp_path / "broken", "disk/checkpoints.py", _FIRST))
    (home / "sessions/s1/agents/a0").write_text("no folder")
    state_file = home / "sessions/s1/agents/a1/state.json"
    state_file.write_bytes(state_file.read_bytes().replace(b'"owed"', b'"0wed"') + b'"owed":{')
    session.turn(times=3)
    session.hook("Stop")
    assert [entry["agent_id"] for entry in entries(home)] == [""]


def test_what_was_left_unfinished_is_gone_after_an_hour(session, home, project):
    place = project / ".claude" / "checkpoints"
    place.mkdir(parents=True)
    at = now()
    for age_s in (3700, 10):
        left = place / f".{new_id(at - 1000 * age_s)}.tmp"
        left.touch()
        os.utime(left, (at / 1000 - age_s, at / 1000 - age_s))
    session.turn()
    session.hook("PreCompact")
    until = time.monotonic() + SAFETY_S  # nobody waits for it
    while len(unfinished(place)) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(unfinished(place)) == 1
