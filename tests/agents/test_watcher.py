"""The watcher on real sessions: who is over the threshold is asked once, and its next hook saves; who is
gone is saved; what cannot be read costs no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.agents.watcher import Watch, Watcher, watch
from holdfast.app import Holdfast
from holdfast.core.config import Config
from holdfast.disk import board, files, spool
from holdfast.errors import BadInput, HoldfastError
from holdfast.ops import board as ops
from hooks import environ, lines, notes
from told import Work, repository


def app_of(work: Work, **set_to: object) -> Holdfast:
    app = Holdfast.open(environ(work.home))
    app.config = Config({}, {}, {key.replace("__", "."): value for key, value in set_to.items()})
    return app


def fill(work: Work, context: int = 120_000) -> None:
    """In the transcript alone: its hooks have not been told yet."""
    work.context = context
    work.say("The table is made by poll.py.")
    work.path.write_bytes(work.script.bytes())


def triggers(work: Work) -> list[ops.Message]:
    found = ops.list_all(app_of(work), project=str(work.project), every=True)
    return [one for one in found if one.type == "checkpoint_trigger"]


def taken(work: Work) -> list[dict]:
    return lines(work.home / "checkpoints" / "index.jsonl")


def test_one_over_the_threshold_is_asked_once_and_its_next_hook_saves(work):
    fill(work)
    work.hook("PostToolBatch")
    saved = len(taken(work))
    fill(work, 40_000)
    work.boundary("what was")
    fill(work)
    seen = watch(app_of(work), once=True)
    (one,) = seen.sessions
    assert (one.status, one.recommended_action) == ("context_high", "trigger_checkpoint")
    assert one.context_metrics["estimated_usage"] == pytest.approx(0.6, abs=0.01)
    assert one.context_metrics["last_checkpoint"].endswith("Z")
    for _ in range(2):
        again = watch(app_of(work), once=True)
    assert (seen.asked, again.asked, again.sessions[0].trigger) == (1, 0, one.trigger)
    (trigger,) = triggers(work)
    assert (trigger.id, trigger.reason, trigger.sender) == (one.trigger, "context_60_percent", "watcher")
    assert (trigger.status, trigger.recommended_action) == ("context_high", "trigger_checkpoint")
    work.hook("PostToolBatch")
    made = taken(work)[saved:]
    assert [one["trigger"] for one in made] == ["watcher"]
    assert triggers(work)[0].done == [f"session:s1 checkpoint {made[0]['id']}"]
    assert watch(app_of(work), once=True).sessions[0].status == "ok"


def test_several_are_asked_to_save_one_after_the_other_the_fullest_first(home, project):
    contexts = {"s1": 105_000, "s2": 150_000, "s3": 130_000, "s4": 20_000}
    for name, context in contexts.items():
        one = Work(home, project, name)
        one.prompt("go")
        one.hook("SessionStart", source="startup")
        fill(one, context)
    watch(app_of(one, watcher__stagger_seconds=7), once=True)
    found = board.load(app_of(one).home, board.place(str(project)).key)
    asked = [(message["to"], message["after"]) for message in found.messages.values()]
    assert [to for to, _ in asked] == ["session:s2", "session:s3", "session:s1"]
    assert asked[0][1] == ""
    assert asked[1][1] < asked[2][1]


def test_one_that_shall_wait_a_little_does(work):
    fill(work)
    where = board.place(str(work.project))
    said = {"type": "checkpoint_trigger", "from": "watcher", "to": "session:s1", "reason": "x"}
    ops.send(app_of(work), where, said | {"after": "2099-01-01T00:00:00.000Z"}, 30)
    # Too far away to be meant: the clock was set back since. So it is done.
    work.hook("PostToolBatch")
    assert [one["trigger"] for one in taken(work)] == ["watcher"]


def gone() -> int:
    """The number of a process that has just ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def set_process(work: Work, process: int) -> None:
    from holdfast.disk import sessions

    home = app_of(work).home
    state = sessions.load(home, work.session, work.agent)
    state.heard.process = process
    sessions.save(home, state)


def test_what_a_client_that_is_gone_left_is_saved_once(work):
    work.say("The table is made by poll.py, and the gate stays shut.")
    work.path.write_bytes(work.script.bytes())
    set_process(work, gone())
    seen = watch(app_of(work), once=True)
    assert (seen.sessions[0].liveness, seen.sessions[0].status, seen.saved) == ("gone", "dead", 1)
    (made,) = taken(work)
    assert (made["trigger"], made["reason"]) == ("watcher", "its client is gone")
    assert "gate stays shut" in Path(made["path"]).read_text()
    assert watch(app_of(work), once=True).saved == 0
    assert len(taken(work)) == 1


def test_an_agent_of_a_client_that_is_gone_is_saved_too_and_a_finished_one_is_not_watched(
    work, home, project
):
    agent, done = Work(home, project, agent="a1"), Work(home, project, agent="a2")
    for one in (agent, done):
        one.prompt("look around")
        one.hook("PostToolBatch")
        one.say("looked: nothing there")
        one.path.write_bytes(one.script.bytes())
    done.hook("SubagentStop", last_assistant_message="looked")
    set_process(work, gone())
    before = len(taken(work))
    seen = watch(app_of(work), once=True)
    assert [(one.session, one.agent, one.liveness) for one in seen.sessions] == [
        ("s1", "", "gone"),
        ("s1", "a1", "gone"),
    ]
    assert [one["agent_id"] for one in taken(work)[before:]] == ["a1"]


def test_a_session_that_has_ended_is_not_watched(work):
    work.say("done")
    work.hook("SessionEnd", reason="other")
    assert watch(app_of(work), once=True).sessions == []


def test_a_loop_is_noticed_and_noted_once(work):
    for _ in range(6):
        work.call("Bash", "no", command="make lamp")
    work.path.write_bytes(work.script.bytes())
    watcher = Watcher(app_of(work))
    for _ in range(2):
        seen = watcher.look()
    assert seen.sessions[0].status == "looping"
    assert "the same command 6 times in a row" in seen.sessions[0].findings
    found = [one for one in lines(work.home / "events.jsonl") if one["event"] == "watch.found"]
    assert [(one["status"], one["action"], one["why"]) for one in found] == [
        ("looping", "tell_person", "looping")
    ]
    assert "make lamp" not in json.dumps(found)


def test_a_damaged_session_and_a_project_that_is_gone_cost_no_other(work, home, project):
    (home / "sessions" / "s0").mkdir()
    (home / "sessions" / "s0" / "state.json").write_text("{}")
    fill(work)
    work.hook("SessionStart", source="resume")
    project.rename(project.with_name("elsewhere"))
    fill(work, 150_000)
    seen = watch(app_of(work), once=True)
    assert [one.session for one in seen.sessions] == ["s1"]
    assert (home / "sessions" / "s0" / "state.json").read_text() == "{}"


def test_what_commits_left_in_the_spool_is_saved(work, tmp_path):
    made = repository(tmp_path / "repo")
    from holdfast.disk import worktree

    app = app_of(work)
    spool.put(app.home, spool.COMMIT, spool.about(worktree.find(str(made)), {}))
    assert spool.trees(app.home)
    watch(app, once=True)
    assert not [tree for tree in spool.trees(app.home) if spool.names(app.home, tree)]


def test_there_is_one_for_each_home(work):
    app = app_of(work)
    (work.home).mkdir(exist_ok=True)
    ready, child = os.pipe(), 0
    child = os.fork()
    if not child:
        with files.Lock(app.home.root + "/watch.lock"):
            os.write(ready[1], b".")
            signal.pause()
    os.read(ready[0], 1)
    try:
        with pytest.raises(HoldfastError, match="running already"):
            watch(app, once=True)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert isinstance(watch(app, once=True), Watch)  # the kernel has let go


@pytest.mark.parametrize("given", [{"interval": 0}, {"interval": 86_401}, {"scenario": "storm"}])
def test_what_cannot_be_is_refused(given, work):
    with pytest.raises(BadInput, match="it takes"):
        watch(app_of(work), once=True, **given)


def test_a_scenario_shows_what_would_be_said_and_touches_nothing(tmp_path):
    command = [sys.executable, "-m", "holdfast", "watch", "--scenario", "context_high"]
    ran = subprocess.run(
        command, env=environ(tmp_path / "home"), capture_output=True, text=True, check=True
    )
    assert "STATUS: context_high  RECOMMENDED_ACTION: trigger_checkpoint" in ran.stdout
    assert not (tmp_path / "home").exists()


def test_it_goes_on_until_it_is_stopped_and_says_what_changes_a_line_each(work):
    fill(work)
    command = [sys.executable, "-m", "holdfast", "watch", "--interval", "1"]
    ran = subprocess.Popen(command, env=environ(work.home), stdout=subprocess.PIPE, text=True)
    first = ran.stdout.readline()
    work.hook("PostToolBatch")
    second = ran.stdout.readline()
    ran.send_signal(signal.SIGINT)
    rest, _ = ran.communicate(timeout=60)
    assert "STATUS: context_high" in first
    assert "STATUS: ok" in second
    assert ran.returncode == 0
    assert "Traceback" not in rest
    assert not notes(work.home)
    assert [one["trigger"] for one in taken(work)] == ["watcher"]
