"""Checkpoints beside the real client: every compaction and a killed client leave one that is true.

What they say is compared with the probe's log, the requests the model was really sent, git, and the
client's transcript; that they exist, with what index, rendering and trail say of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from client.api import words
from client.client import PYTHON, Machine, Run, wired
from client.saved import Checkpoint, Saved
from client.scenario import NAMES, Played, commit, git, play
from holdfast.app import Holdfast
from holdfast.core.config import DEFAULTS
from holdfast.install.operations import install
from holdfast.install.settings import Launcher
from holdfast.install.settings import wired as installed
from hooks import PACKAGE, check_attached, check_said, command, copy_package, edit, wrong

EVERY = DEFAULTS["checkpoints.every_turns"]
PLUGIN = PACKAGE.parent.parent / "plugin"
INSTALLED = installed({}, {}, Launcher(PYTHON, str(PACKAGE / "launch.py")), statusline=False)
#: What the client estimates for a short tool result, and holdfast.
LITTLE = 200
#: How the client tells a person that a hook went wrong, or what it said.
WENT_WRONG = re.compile(
    r"hook error|hook cancelled|non-blocking status|\[[^\]]*\] (?:failed|completed successfully:(?! COMPA))"
)


@pytest.fixture(scope="session", params=[*NAMES, "work, installed", "agent, plugin"])
def played(request: pytest.FixtureRequest, shared: Path, binary: Path) -> Played:
    """Every scenario as `test_events` plays it, and two as people have holdfast."""
    name, _, how = request.param.partition(", ")
    if not how:
        return play(name, shared / name, binary, wired(command()))
    plugin = how == "plugin"
    return play(name, shared / f"{name}-{how}", binary, {} if plugin else INSTALLED, [PLUGIN] * plugin)


@pytest.fixture
def saved(played: Played) -> Saved:
    return stored(played.machine)


def stored(machine: Machine) -> Saved:
    return Saved.read(machine.config / "holdfast", machine.project)


def owner(event: dict) -> tuple[str, str]:
    return event["session_id"], event.get("agent_id", "")


def done_before(heard: list[dict], at: int, who: tuple[str, str]) -> list[tuple[str, int]]:
    """(command, exit status) of all that was run, as the probe was told; of the same one the last run."""
    found: dict[str, int] = {}
    for event in heard[:at]:
        ended = event["hook_event_name"] in ("PostToolUse", "PostToolUseFailure")
        if ended and event["tool_name"] == "Bash" and owner(event) == who:
            ran = event["tool_input"]["command"]
            found.pop(ran, None)
            found[ran] = int(event["error"].split()[2]) if "error" in event else 0
    return list(found.items())


def compactions(played: Played) -> list[tuple[int, dict]]:
    """(place in the probe's log, event) of each PreCompact."""
    return [
        (at, event) for at, event in enumerate(played.heard) if event["hook_event_name"] == "PreCompact"
    ]


def taken_for(saved: Saved, played: Played) -> list[tuple[int, dict, Checkpoint]]:
    """Each compaction with its checkpoint."""
    found = []
    told = compactions(played)
    for who in {owner(event) for _, event in told}:
        mine = [(at, event) for at, event in told if owner(event) == who]
        made = [one for one in saved.of(*who) if one.fields["reason"] == "compaction"]
        assert len(made) == len(mine), who
        found += [(at, event, one) for (at, event), one in zip(mine, made, strict=True)]
    return found


def transcript(played: Played, who: tuple[str, str]) -> list[dict]:
    session, agent = who
    name = f"agent-{agent}.jsonl" if agent else f"{session}.jsonl"
    return next((lines for path, lines in played.machine.transcripts.items() if path.name == name), [])


def verify(machine: Machine, path: Path | str) -> tuple[int, dict]:
    """What `holdfast verify` says to a person of this machine."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "verify", str(path), "--json"],
        env={"PATH": os.defpath, "HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)},
        cwd=machine.project,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


# -- what must hold of every session


def check_compactions(saved: Saved, played: Played) -> None:
    """One for each, with the client's own word for what brought it on, and before it happened."""
    for _, event, made in taken_for(saved, played):
        assert made.fields["trigger"] == event["trigger"]
        assert made.fields["project"] == str(played.machine.project)
    for who in {owner(event) for _, event in compactions(played)}:
        made = [one for _, event, one in taken_for(saved, played) if owner(event) == who]
        cuts = [line for line in transcript(played, who) if line.get("subtype") == "compact_boundary"]
        for one, cut in zip(made, cuts, strict=bool(cuts)):
            assert one.fields["created"] < cut["timestamp"]


def check_commands(saved: Saved, played: Played) -> None:
    """A checkpoint says what was run and how it ended, and nothing that was not. The transcript may lag
    by the newest of them; without one there is nothing to read."""
    for at, event, made in taken_for(saved, played):
        done = done_before(played.heard, at, owner(event))
        if transcript(played, owner(event)):
            assert made.commands in (done, done[:-1])
        else:
            assert made.commands == []
            assert made["Active Issues"][0].startswith("There is no transcript to read")
    for made in saved.files:
        # A fork begins with what was done in the session it was forked from.
        owners = {(session, made.owner[1]) for session in played.sessions}
        done = [done_before(played.heard, len(played.heard), who) for who in owners]
        assert {ran for ran, _ in made.commands} <= {ran for one in done for ran, _ in one}


def answers(played: Played, who: tuple[str, str]) -> list[int]:
    """What the API said was used, answer by answer."""
    kind = "agent" if who[1] else "main"
    mine = [one for one in played.requests if (one["session"], one["kind"]) == (who[0], kind)]
    return [sum(n for n in one["usage"].values() if type(n) is int) for one in mine if one["usage"]]


def check_usage(saved: Saved, played: Played) -> None:
    """And an estimate of what came after that answer, which is never much here."""
    ends = [made for made in saved.files if made.fields["trigger"] == "end"]
    for made in [*(made for _, _, made in taken_for(saved, played)), *ends]:
        if transcript(played, made.owner):
            over = [made.fields["used_tokens"] - used for used in answers(played, made.owner)]
            assert any(0 <= more < LITTLE for more in over), (made.fields, over)


def test_every_compaction_has_a_checkpoint_that_was_taken_for_it(played: Played, saved: Saved) -> None:
    check_compactions(saved, played)
    assert len(taken_for(saved, played)) == played.expect["told"].get("PreCompact", 0)


def test_it_is_verified_and_ours(played: Played, saved: Saved) -> None:
    for _, _, made in taken_for(saved, played):
        code, said = verify(played.machine, made.path)
        assert (code, said["verified"], said["trust"], said["problems"]) == (0, True, "own", [])


def test_it_says_what_was_run_and_how_it_ended(played: Played, saved: Saved) -> None:
    check_commands(saved, played)


def test_its_usage_is_what_the_api_said(played: Played, saved: Saved) -> None:
    check_usage(saved, played)


def test_files_index_rendering_and_trail_agree(saved: Saved) -> None:
    saved.check()


def test_each_stands_in_its_project_and_is_numbered(saved: Saved) -> None:
    saved.check_places()


def test_each_follows_the_one_before_it(saved: Saved) -> None:
    saved.check_lineages()


def is_work(event: dict) -> bool:
    edits = event["hook_event_name"] == "PostToolUse" and event["tool_name"] in ("Edit", "Write")
    return edits or event["hook_event_name"] == "PreCompact"


def test_no_session_that_worked_is_without_one(played: Played, saved: Saved) -> None:
    """One that only asked, or only ran a command that shows something, has done no work."""
    worked = {owner(event) for event in played.heard if is_work(event)}
    assert worked <= {made.owner for made in saved.files}
    assert {made.owner for made in saved.files} <= {owner(event) for event in played.heard}


def test_git_sees_nothing_of_ours(played: Played) -> None:
    if "repository" in played.script:
        assert ".claude" not in git(
            played.machine.project, "status", "--porcelain", "--untracked-files=all"
        )


def check_quiet(machine: Machine, is_killed: bool = False) -> None:
    """No hook failed, was too slow, or said anything but what the model is to know."""
    for run in machine.runs:
        for path in (run.folder / "stderr", run.folder / "screen"):
            shown = path.read_text() if path.exists() else ""
            assert not WENT_WRONG.search(shown), (path, WENT_WRONG.search(shown))
        ended = [event for event in run.stream if event.get("subtype") == "hook_response"]
        assert {event["outcome"] for event in ended} <= {"success"}
        for event in ended:
            check_said(event["hook_event"], event["output"])
    for entries in machine.transcripts.values():
        check_attached([entry["attachment"] for entry in entries if entry["type"] == "attachment"])
    assert wrong(machine.config / "holdfast", is_killed) == []


@pytest.mark.parametrize(
    "line",
    [
        "  ⎿  PostToolUse:Bash hook error",
        "  ⎿  Failed with non-blocking status code: bad",
        "PreCompact [/bin/sh -c 'echo bad >&2; exit 1'] failed: bad",
        "PreCompact [/usr/bin/python3.11 -I -S launch.py] completed successfully: something",
    ],
)
def test_a_hook_that_went_wrong_would_be_seen(line: str) -> None:
    """As the client's screen showed them."""
    assert WENT_WRONG.search(line)


def test_the_client_has_nothing_to_say_of_our_hooks(played: Played) -> None:
    check_quiet(played.machine)


# -- what it says


def sections(made: Checkpoint) -> dict[str, list[str]]:
    """Without where each item was said."""
    place = re.compile(r" \((?:turn \d+, |entry )[0-9a-f]{8}\)")
    return {name: [place.sub("", item) for item in items] for name, items in made.sections.items()}


@pytest.fixture(params=["", "-installed"])
def work(request: pytest.FixtureRequest, shared: Path, binary: Path) -> Played:
    hooks = INSTALLED if request.param else wired(command())
    return play("work", shared / f"work{request.param}", binary, hooks)


def test_it_is_an_account_of_what_really_happened(work: Played) -> None:
    ((_, _, made),) = taken_for(stored(work.machine), work)
    said = sections(made)
    assert said["Goal"] == ["make the gate's level right and write it down"]
    assert said["Active Issues"] == ["`sh ./test ebb`: Exit code 2 | not ok 1 ebb | 1 failed"]
    assert said["Plan and Workflow"][:2] == [
        "Task 1 (completed): Correct the level",
        "Task 2 (pending): Write notes",
    ]
    assert said["Next Steps"][:2] == ["[x] Correct the level", "[ ] Write notes"]
    assert said["Commands and Tests"][:2] == [
        "Test run: `sh ./test` → exit 0: 1 passed",
        "Test run: `sh ./test ebb` → exit 2: 1 failed",
    ]
    assert any("At flood the level is high, not low." in item for items in said.values() for item in items)


def test_what_changed_is_what_git_says_changed(work: Played) -> None:
    ((_, _, made),) = taken_for(stored(work.machine), work)
    project = work.machine.project
    changed = [item.partition("] - ")[0].lstrip("[") for item in made["What Changed"]]
    status = git(project, "status", "--porcelain").split("\n")[:-1]
    assert {place.partition(":")[0] for place in changed} == {line[3:] for line in status}
    assert "`echo $high` (+1 −1)" in made["What Changed"][0]
    assert "written, 3 lines" in made["What Changed"][1]
    assert made.fields["summary"].endswith("2 files modified")
    assert made.fields["branch"] == git(project, "branch", "--show-current").strip()
    assert made.fields["commit"] == git(project, "rev-parse", "HEAD").strip()


def test_a_place_in_a_file_is_the_line_that_changed(work: Played) -> None:
    ((_, _, made),) = taken_for(stored(work.machine), work)
    hunk = re.search(r"@@ -\S+ \+(\d+)", git(work.machine.project, "diff", "--unified=0"))
    assert made["What Changed"][0].startswith(f"[tide.sh:{hunk[1]}]")


def test_an_agents_result_is_in_its_parents_account(work: Played) -> None:
    ((_, _, made),) = taken_for(stored(work.machine), work)
    agent = made["Agents"][0]
    (name,) = {agent for _, agent in work.told() if agent}
    assert agent.startswith(f"{name} general-purpose (completed): read the notes")
    assert "Nothing is wrong with the notes of the gate." in agent


def test_an_agent_that_has_come_back_is_not_said_to_be_away(shared: Path, binary: Path) -> None:
    played = play("apart/background", shared / "background", binary, INSTALLED)
    assert [(run.returncode, run.refused, run.unplayed) for run in played.runs] == [(0, [], {})]
    saved = stored(played.machine)
    saved.check()
    check_quiet(played.machine)
    agent = saved.of(played.sessions[0])[-1]["Agents"][0]
    assert "general-purpose (completed): look around" in agent
    assert "There is a gate in the north." in agent


def test_a_commit_is_called_green_only_if_the_tests_pass_on_it(work: Played, tmp_path: Path) -> None:
    """Here they pass on what was changed since, and fail on the commit itself."""
    git(work.machine.project, "checkout-index", "--all", f"--prefix={tmp_path}/")
    assert (
        subprocess.run(["sh", "./test"], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False).returncode
        == 1
    )
    for made in stored(work.machine).files:
        assert not [item for item in made["Commands and Tests"] if "green commit" in item]


def test_a_folder_without_git_has_no_branch(shared: Path, binary: Path) -> None:
    threshold = play("threshold", shared / "threshold", binary, wired(command()))
    assert {made.fields["branch"] for made in stored(threshold.machine).files} == {""}


def test_a_subagents_compaction_leaves_its_parents_lineage_alone(shared: Path, binary: Path) -> None:
    played = play("agent", shared / "agent", binary, wired(command()))
    saved = stored(played.machine)
    ((_, event, made),) = taken_for(saved, played)
    assert event["agent_id"] == made.fields["agent_id"] != ""
    parents = saved.of(played.sessions[0])
    assert {one.fields["lineage"] for one in parents}.isdisjoint({made.fields["lineage"]})
    assert {one.fields["reason"] for one in parents} <= {"2 turns of work", "session ended"}
    assert parents
    assert not any(one.commands for one in parents), "what the agent ran is the agent's"


def test_work_after_an_early_precompact_is_saved_when_the_compaction_comes(
    shared: Path, binary: Path
) -> None:
    played = play("precomputed", shared / "precomputed", binary, wired(command()))
    saved = stored(played.machine)
    ((_, _, early),) = taken_for(saved, played)
    (late,) = [one for one in saved.files if one.fields["reason"] == "compacted since the last"]
    (cut,) = [
        line
        for line in transcript(played, (played.sessions[0], ""))
        if line.get("subtype") == "compact_boundary"
    ]
    assert early.fields["created"] < late.fields["created"] < cut["timestamp"]
    assert not any("prompt three" in item for item in early["Goal"])
    assert any("prompt three" in item for item in late["Goal"])
    assert "prompt four" in late["Next Steps"][-1]


def test_what_came_after_an_early_precompact_stays_in_the_window_and_is_not_told_again(
    shared: Path, binary: Path
) -> None:
    """The brief rests on the first: what the summary is not of, the client sends as it was."""
    played = play("precomputed", shared / "precomputed", binary, wired(command()))
    sent = [words(message["content"]) for message in played.requests[-1]["body"]["messages"]]
    (brief,) = re.findall(r"<(holdfast-\w+)>\n(.*?)\n</\1>", "\n".join(sent), re.DOTALL)
    rest = "\n".join(sent).replace(brief[1], "")
    assert "prompt zero" in brief[1]
    assert "prompt zero" not in rest
    for said in ("prompt two", "answer two", "prompt three", "answer three", "prompt four"):
        assert said in rest
    assert "three" not in brief[1]


def test_a_plan_accepted_for_an_empty_window_is_the_goal_of_what_follows(
    shared: Path, binary: Path
) -> None:
    played = play("apart/plan", shared / "plan", binary, wired(command()))
    assert [(run.returncode, run.refused, run.unplayed) for run in played.runs] == [(0, [], {})]
    planned, begun = played.sessions
    (handed,) = [line for line in transcript(played, (begun, "")) if "planContent" in line]
    assert handed["origin"]["kind"] != "human"
    saved = stored(played.machine)
    saved.check()
    for made in saved.of(begun):
        assert "Measure the tide at pier 4" in made["Goal"][0]
        assert "Never raise it above 320 cm" in made.path.read_text().partition("## Plan and Workflow")[2]
    assert "user rejected" not in str([made.sections for made in saved.of(planned)])
    sent = [words(message["content"]) for message in played.requests[-1]["body"]["messages"]]
    (brief,) = re.findall(r"<(holdfast-\w+)>\n(.*?)\n</\1>", "\n".join(sent), re.DOTALL)
    assert "Never raise it above 320 cm" in brief[1]
    assert "> # Raise" not in brief[1], "nobody typed it"


# -- a client that is killed


@pytest.mark.parametrize("how", ["print", "screen"])
def test_a_killed_client_leaves_a_checkpoint_and_its_lineage_goes_on(
    how: str, shared: Path, binary: Path
) -> None:
    played = play(f"apart/killed_{how}", shared / f"killed-{how}", binary, INSTALLED)
    first, second = played.runs
    assert (first.returncode, second.returncode, second.refused) == (-9, 0, [])
    assert first.unplayed, "it was in the middle"
    assert "SessionEnd" not in {event["hook_event_name"] for event in first.heard}
    saved = stored(played.machine)
    saved.check()
    saved.check_places()
    saved.check_lineages()
    (lineage,) = saved.lineages.values()
    again = (second.folder / "job.json").stat().st_mtime
    before = [made for made in lineage if made.path.stat().st_mtime < again]
    after = lineage[len(before) :]
    assert verify(played.machine, before[-1].path)[0] == 0
    done = done_before(first.heard, len(first.heard), (first.session, ""))
    kept = before[-1].commands
    assert kept == done[: len(kept)] != []
    assert len(done) - len(kept) <= EVERY + 1
    assert {made.owner for made in lineage} == {(first.session, "")} == {(second.session, "")}
    written = json.dumps(transcript(played, (first.session, "")))
    assert all(f'"{ran}"' in written for ran, _ in done[:-2])
    # What had ended, but the client could not write down how, or even that it began: it writes a tenth of a
    # second late, in which there may be two.
    last = {ran for ran, _ in done[-2:]}
    later = [(ran, 0 if ran in last else status) for ran, status in after[-1].commands]
    known = [(ran, status) for ran, status in done if f'"{ran}"' in written]
    assert later[: len(known)] == known, "what was not saved then, is now"
    check_quiet(played.machine, is_killed=True)


@pytest.mark.parametrize("how", ["print", "screen"])
def test_nobody_is_said_to_have_refused_what_a_kill_cut_short(how: str, shared: Path, binary: Path) -> None:
    played = play(f"apart/killed_{how}", shared / f"killed-{how}", binary, INSTALLED)
    newest = stored(played.machine).files[-1]
    assert newest["Key Decisions"] == []


# -- several at once


def steps(name: str) -> dict:
    """A session of its own, with a compaction in it."""
    contexts = (30_000, 50_000, 70_000, 20_000, 21_000, 22_000)
    turns = [
        {"say": f"{name} {n}", "run": f"echo {name}{n}", "context": at} for n, at in enumerate(contexts)
    ]
    return {
        "script": {"main": [*turns, {"say": f"{name} done", "context": 23_000}]},
        "args": ["-p", f"build the gate {name}", "--model", "claude-sonnet-4-5"],
        "env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
        "settings": INSTALLED,
    }


def check_together(machine: Machine, runs: list[Run], saved: Saved) -> None:
    for run, name in zip(runs, "abc", strict=True):
        assert (run.returncode, run.refused, run.unplayed) == (0, [], {})
        made = saved.of(run.own)
        assert [one.fields["reason"] for one in made].count("compaction") == 1
        assert made[-1].commands == [(f"echo {name}{n}", 0) for n in range(6)], "its own, and no other's"
    saved.check()
    check_quiet(machine)
    assert {made.owner for made in saved.files} == {(run.own, "") for run in runs}


def check_catalogue(machine: Machine) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "checkpoint", "check"],
        env={"PATH": os.defpath, "HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)},
        cwd=machine.project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_three_clients_at_once_in_one_project_do_not_conflict(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    commit(machine.project, {"README": "a gate\n"})
    runs = machine.run_together(*(steps(name) for name in "abc"))
    saved = stored(machine)
    check_together(machine, runs, saved)
    saved.check_places()
    saved.check_lineages(alone=False)
    assert len(saved.lineages) == 1
    assert git(machine.project, "status", "--porcelain", "--untracked-files=all") == ""
    check_catalogue(machine)


def test_three_clients_at_once_in_three_worktrees_have_three_lineages(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    commit(machine.project, {"README": "a gate\n"})
    trees = [tmp_path / f"tree-{name}" for name in "abc"]
    for tree in trees:
        git(machine.project, "worktree", "add", "-q", "-b", tree.name, str(tree))
    runs = machine.run_together(*({**steps(n), "cwd": tree} for n, tree in zip("abc", trees, strict=True)))
    saved = Saved.read(machine.config / "holdfast", *trees)
    check_together(machine, runs, saved)
    saved.check_places()
    saved.check_lineages()
    assert len(saved.lineages) == 3
    for run, tree in zip(runs, trees, strict=True):
        assert {one.fields["branch"] for one in saved.of(run.own)} == {tree.name}
        assert {one.fields["project"] for one in saved.of(run.own)} == {str(tree)}
        assert git(tree, "status", "--porcelain", "--untracked-files=all") == ""
    check_catalogue(machine)


# -- the seed's own commands


SEED = """
cd {project}
echo '{{"session_id":"test","transcript_path":"/tmp/test.jsonl",\
"hook_event_name":"PreCompact","trigger":"auto"}}' | {hook}
ls -la .claude/checkpoints/
cat ~/.claude/holdfast/checkpoints/index.json | jq '.checkpoints[-1]'
holdfast verify .claude/checkpoints/latest.md
"""
JQ = "import json, sys; print(json.dumps(json.load(sys.stdin)['checkpoints'][-1], indent=2))"


def hook_command(way: str, home: Path) -> str:
    if way == "launched":
        return shlex.join(command())
    if way == "installed":
        settings = Path(install(Holdfast.open({"HOME": str(home)})).settings)
    else:
        settings = PLUGIN / "hooks/hooks.json"
    [group] = json.loads(settings.read_text())["hooks"]["PreCompact"]
    return group["hooks"][0]["command"].removeprefix("exec ")


@pytest.mark.parametrize("way", ["launched", "installed", "plugin"])
def test_the_seeds_verification_commands_work(tmp_path: Path, way: str) -> None:
    home, project, tools = tmp_path / "home", tmp_path / "project", tmp_path / "tools"
    for place in (home, project, tools):
        place.mkdir()
    (tools / "holdfast").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m holdfast "$@"\n')
    if not shutil.which("jq", path=os.defpath):
        (tools / "jq").write_text(f"#!/bin/sh\nexec {shlex.quote(PYTHON)} -c {shlex.quote(JQ)}\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", SEED.format(project=project, hook=hook_command(way, home))],
        env={"PATH": f"{tools}:{os.defpath}", "HOME": str(home), "CLAUDE_PLUGIN_ROOT": str(PLUGIN)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (made,) = Saved.read(home / ".claude/holdfast", project).files
    assert f"latest.md -> {made.path.name}" in done.stdout
    newest = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert (newest["uid"], newest["path"], newest["verified"]) == (made.fields["uid"], str(made.path), True)
    assert (newest["project"], newest["trigger"]) == (str(project), "auto")
    assert made.owner == ("test", "")


# -- and these would notice


def test_without_hooks_the_checks_fail(shared: Path, binary: Path) -> None:
    alone = play("threshold", shared / "threshold-alone", binary, {})
    saved = stored(alone.machine)
    assert saved == Saved([], [], [], [])
    with pytest.raises(AssertionError):
        check_compactions(saved, alone)


def test_a_checkpoint_that_is_acknowledged_but_not_written_is_noticed(tmp_path: Path, binary: Path) -> None:
    """take() says that all is well, as one whose bytes never reached the disk would."""
    package = copy_package(tmp_path)
    lie = "    _afterwards(home, folder, entry, key)\n"
    gone = f"        folder.remove(stem + SUFFIX)\n    {lie}"
    edit(package / "disk/checkpoints.py", "    " + lie, gone)
    lied = play("threshold", tmp_path / "played", binary, wired(command(package=package)))
    saved = stored(lied.machine)
    assert (len(saved.index), saved.files) == (len(saved.taken), [])
    assert saved.index
    for check in (lambda: check_compactions(saved, lied), saved.check):
        with pytest.raises(AssertionError):
            check()


def test_verify_says_no_to_what_was_changed_or_is_a_strangers(
    tmp_path: Path, shared: Path, binary: Path
) -> None:
    played = play("threshold", shared / "threshold", binary, wired(command()))
    made = stored(played.machine).files[-1]
    copy = tmp_path / made.path.name
    copy.write_text(made.path.read_text().replace("echo step0", "echo step9"))
    assert verify(played.machine, copy)[0] == 1
    code, said = verify(Machine(tmp_path / "another", binary), made.path)
    assert (code, said["trust"]) == (0, "foreign")


def changed(made: Checkpoint, **fields: object) -> Checkpoint:
    return replace(made, fields={**made.fields, **fields})


def retold(made: Checkpoint, name: str, items: list[str]) -> Checkpoint:
    return replace(made, sections={**made.sections, name: items})


@pytest.mark.parametrize(
    ("check", "spoil"),
    [
        (check_compactions, lambda made: changed(made, reason="L4 Critical")),
        (check_compactions, lambda made: changed(made, trigger="manual")),
        (check_compactions, lambda made: changed(made, session_id="another")),
        (check_compactions, lambda made: changed(made, agent_id="a1")),
        (check_compactions, lambda made: changed(made, project="/elsewhere")),
        (check_compactions, lambda made: changed(made, created="2099-01-01T00:00:00.000Z")),
        (check_commands, lambda made: retold(made, "Commands and Tests", made["Commands and Tests"][:-2])),
        (check_commands, lambda made: retold(made, "Commands and Tests", ["`echo step0` → exit 1"])),
        (check_usage, lambda made: changed(made, used_tokens=made.fields["used_tokens"] + 5_000)),
        (check_usage, lambda made: changed(made, used_tokens=made.fields["used_tokens"] - 200)),
        (lambda saved, _: saved.check(), lambda made: replace(made, whole=False)),
        (lambda saved, _: saved.check(), lambda made: changed(made, uid="01M7HB3S77933AK5KCK1EA0GGE")),
        (lambda saved, _: saved.check(), lambda made: changed(made, iteration=99)),
        (lambda saved, _: saved.check_places(), lambda made: changed(made, iteration=1)),
        (lambda saved, _: saved.check_places(), lambda made: changed(made, project="/elsewhere")),
        (lambda saved, _: saved.check_lineages(), lambda made: changed(made, parent="2026-01-01-000000")),
        (lambda saved, _: saved.check_lineages(), lambda made: changed(made, lineage="0" * 16)),
    ],
)
def test_each_check_notices_a_checkpoint_that_is_not_true(
    check: object, spoil: object, shared: Path, binary: Path
) -> None:
    played = play("threshold", shared / "threshold", binary, wired(command()))
    saved = stored(played.machine)
    check(saved, played)
    ((_, _, made),) = taken_for(saved, played)
    spoilt = [spoil(one) if one is made else one for one in saved.files]
    with pytest.raises(AssertionError):
        check(replace(saved, files=spoilt), played)


@pytest.mark.parametrize("account", ["index", "shown", "taken"])
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "twice"])
def test_an_account_that_misses_one_or_has_it_twice_is_noticed(
    account: str, lost: bool, shared: Path, binary: Path
) -> None:
    played = play("threshold", shared / "threshold", binary, wired(command()))
    saved = stored(played.machine)
    entries = getattr(saved, account)
    with pytest.raises(AssertionError):
        replace(saved, **{account: entries[:-1] if lost else entries + entries[-1:]}).check()
