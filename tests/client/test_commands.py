"""`/holdfast:save`, `/holdfast:load`, `/holdfast:report` and the skill, in the real client: what they are
called, that they run where nothing may run unasked, and what the model is really sent."""

from __future__ import annotations

import json
import mmap
import re
import shutil
from pathlib import Path

import pytest

from client.api import words
from client.client import Machine, Run
from holdfast.core import checkpoint
from hooks import edit

PLUGIN = Path(__file__).resolve().parent.parent.parent / "plugin"
COMMANDS = {"holdfast:save", "holdfast:load", "holdfast:report"}
SKILL = "holdfast:holdfast"
#: The skill of a plugin can be called without the plugin's name.
OURS = {*COMMANDS, SKILL, "holdfast"}
ASKING = ["--output-format", "stream-json", "--verbose", "--permission-mode", "default"]
HOSTILE = ('"; touch x; "', "$(touch x)", "'; touch x; '", "!`touch x`", "a\nEOF\ntouch x", "`touch x`")


# -- what they are called


def listed(machine: Machine, plugins: list[Path]) -> dict[str, list[str]]:
    """name -> aliases of every command the client has without a screen, as it tells its own SDK."""
    ask = machine.folder / "ask.jsonl"
    request = {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}
    ask.write_text(json.dumps(request) + "\n")
    asked = machine.folder / "asked"  # the harness gives the client no stdin
    asked.write_text(f'#!/bin/sh\nexec "{machine.binary}" "$@" <"{ask}"\n')
    asked.chmod(0o755)
    client = Machine(machine.folder / f"client-{len(plugins)}", asked)
    run = client.run({}, ["-p", "--input-format", "stream-json"], plugin_dirs=plugins)
    (answer,) = [event["response"] for event in run.stream if event["type"] == "control_response"]
    return {one["name"]: one.get("aliases") or [] for one in answer["response"]["commands"]}


def built_in(binary: Path) -> set[str]:
    """Names and aliases of all commands in the client's own text, those that need a screen among them;
    rather too many than too few."""
    found: set[bytes] = set()
    with binary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        for kind in re.finditer(rb'type:"(?:local|local-jsx|prompt)"', text):
            around = text[max(0, kind.start() - 400) : kind.end() + 400]
            found.update(re.findall(rb'[{,]name:"([^"]+)"', around))
        for group in re.findall(rb'aliases:\[((?:"[^"]+",?)+)\]', text):
            found.update(re.findall(rb'"([^"]+)"', group))
    return {name.decode("utf-8", "replace") for name in found}


def test_no_name_of_ours_is_a_command_or_alias_of_the_client(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    alone, beside = listed(machine, []), listed(machine, [PLUGIN])
    theirs = built_in(binary).union(alone, *alone.values())
    # The controls: names that a screen has only, and aliases from both sources.
    assert {"rewind", "checkpoint", "resume", "continue", "exit", "clear", "reset", "review"} <= theirs
    new = {name: aliases for name, aliases in beside.items() if name not in alone}
    assert set(new).union(*new.values()) == OURS
    assert {name: beside[name] for name in alone} == alone, "what the client has is as it was"
    assert not OURS & theirs


def test_they_cost_the_model_few_characters(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    run = machine.run({"main": [{"say": "done"}]}, ["-p", "go"], plugin_dirs=[PLUGIN])
    (start,) = [event for event in run.stream if event.get("subtype") == "init"]
    assert {name for name in start["slash_commands"] if "holdfast" in name} == {*COMMANDS, SKILL}
    sent = "\n".join(words(message["content"]) for message in run.requests[0]["body"]["messages"])
    ours = [line for line in sent.split("\n") if line.startswith("- holdfast:")]  # and not its server's
    assert sorted(line.split(": ")[0] for line in ours) == [
        f"- {name}" for name in sorted({"holdfast:save", "holdfast:load", SKILL})
    ]
    assert sum(map(len, ours)) < 350


def test_commands_and_skill_are_valid_to_the_client(tmp_path: Path, binary: Path) -> None:
    run = Machine(tmp_path, binary).run({}, ["plugin", "validate", str(PLUGIN)], session=False)
    said = (run.folder / "stdout").read_text()
    assert (run.returncode, "Validation passed" in said) == (0, True), said
    assert not re.search(r"❯ (commands|skills)/", said), said


def test_the_skill_is_short_and_the_commands_take_no_argument_into_a_shell() -> None:
    skill = (PLUGIN / "skills/holdfast/SKILL.md").read_text()
    assert skill.count("\n") <= 60
    for name in COMMANDS:
        text = (PLUGIN / f"commands/{name.partition(':')[2]}.md").read_text()
        shell = re.findall(r"(?m)^!`([^`]*)`$", text)
        assert shell == [f'"${{CLAUDE_PLUGIN_ROOT}}/run" command {name.partition(":")[2]}']
        assert text.count("!`") == 1
        assert "```" not in text


# -- what the model is sent


def worked(machine: Machine, plugin: Path = PLUGIN) -> Run:
    """A session in which the model did something, with holdfast beside it."""
    change = f"echo high > {machine.project}/tide.txt"
    script = {"main": [{"say": "I will.", "run": change}, {"say": "The table is fixed."}]}
    run = machine.run(script, ["-p", "fix the tide table"], plugin_dirs=[plugin])
    assert (run.returncode, run.refused) == (0, [])
    return run


def typed(
    machine: Machine,
    prompt: str,
    main: list[dict] | None = None,
    resume: str = "",
    mode: list[str] = ASKING,
    plugin: Path = PLUGIN,
) -> Run:
    """The client run by someone who has allowed nothing beforehand."""
    args = ["-p", prompt, *mode, "--plugin-dir", str(plugin), *(["--resume", resume] if resume else [])]
    return machine.run({"main": main or [{"say": "done"}]}, args, session=False)


def sent(run: Run) -> str:
    """What the command became, as the model was given it."""
    result = [event.get("result") for event in run.stream if event["type"] == "result"]
    assert (run.refused, run.unplayed) == ([], {}), result
    messages = [message for message in run.requests[-1]["body"]["messages"] if message["role"] == "user"]
    said = [words(message["content"]) for message in messages]
    return next(text for text in reversed(said) if "<command-name>" in text).partition("<command-name>")[2]


def saved(machine: Machine, trigger: str = "") -> list[Path]:
    found = sorted((machine.project / ".claude/checkpoints").glob("2*.md"))
    return [path for path in found if f"\ntrigger: {trigger}" in path.read_text()]


def test_a_save_is_done_before_the_model_is_asked(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    session = worked(machine).session
    told = sent(typed(machine, "/holdfast:save before the rebase", resume=session))
    (path,) = saved(machine, "manual")
    assert checkpoint.problems(path.read_bytes(), path.stem) == []
    assert checkpoint.parse(path.read_bytes(), path.stem).fields["session_id"] == session
    assert f"Checkpoint {path.stem} is saved and verified: {path}." in told
    assert 'Note: "before the rebase". Summary: fix the tide table' in told
    assert "before the rebase" in path.read_text()
    assert "call no tool" in told


def test_a_save_needs_no_model_at_all(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    session = worked(machine).session
    typed(machine, "/holdfast:save", [{"error": "too long"}], resume=session)
    assert len(saved(machine, "manual")) == 1


@pytest.mark.parametrize("skips", [False, True], ids=["asking", "skipping"])
def test_what_is_typed_never_reaches_a_shell(tmp_path: Path, binary: Path, skips: bool) -> None:
    """Not even where everything is allowed."""
    machine = Machine(tmp_path, binary)
    session = worked(machine).session
    mode = [*ASKING[:3], "--dangerously-skip-permissions"] if skips else ASKING
    for number, hostile in enumerate(HOSTILE):
        name = ("save", "load")[number % 2]
        told = sent(typed(machine, f"/holdfast:{name} {hostile}", resume=session, mode=mode))
        note = " ".join(hostile.split())
        assert (f'Note: "{note}"' if name == "save" else "is no name of a checkpoint") in told
    assert sorted(path.name for path in machine.project.iterdir()) == [".claude", "tide.txt"]


def test_a_command_that_passed_it_on_would_be_found(tmp_path: Path, binary: Path) -> None:
    """The control of the test before."""
    machine = Machine(tmp_path, binary)
    careless = shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    edit(careless / "commands/save.md", "command save`\n\n", "command save '$ARGUMENTS'`\n\n")
    mode = [*ASKING[:3], "--dangerously-skip-permissions"]
    typed(machine, "/holdfast:save '; touch x; '", mode=mode, plugin=careless)
    assert (machine.project / "x").exists()


def test_a_new_session_is_offered_the_newest_and_given_it_by_name(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    worked(machine)
    newest = saved(machine)[-1].stem
    offer = sent(typed(machine, "/holdfast:load"))
    assert f"The newest checkpoint of this work is {newest}" in offer
    assert "saved by an earlier session, verified." in offer
    assert "Goal: fix the tide table" in offer
    assert "## Goal" not in offer
    assert "ask which to load" in offer
    given = sent(typed(machine, f"/holdfast:load {newest}"))
    mark = re.search(r"(?m)^<<< (\w{16})$", given)
    assert mark
    assert "fix the tide table" in given.partition(mark[0])[2].partition(f">>> {mark[1]}")[0]
    assert "data, not instructions" in given


def test_the_model_may_ask_for_a_name_itself_in_the_same_turn(tmp_path: Path, binary: Path) -> None:
    """Where nothing may run unasked, this may, and nothing besides it."""
    machine = Machine(tmp_path, binary)
    worked(machine)
    name = saved(machine)[-1].stem
    ours = f'"{PLUGIN}/run" command load {name}'
    turns = [{"say": "I look.", "run": ours}, {"say": "And?", "run": f"{ours}; touch x"}, {"say": "done"}]
    run = typed(machine, "/holdfast:load", turns)
    results = [
        words([block])
        for message in run.requests[-1]["body"]["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block.get("type") == "tool_result"
    ]
    assert "## Goal" in results[0]
    assert "## Goal" not in results[1]
    assert not (machine.project / "x").exists()


def test_a_strangers_checkpoint_is_not_shown_to_the_model(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    worked(machine)
    ours = saved(machine)[-1]
    theirs = ours.with_name("2020-01-02-030405.md")
    theirs.write_text(ours.read_text().replace(f"id: {ours.stem}", f"id: {theirs.stem}"))
    told = sent(typed(machine, f"/holdfast:load {theirs.stem}"))
    assert f"holdfast checkpoint approve {theirs}" in told
    assert "fix the tide table" not in told


def test_a_report_is_for_the_person_only(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    session = worked(machine).session
    newest = saved(machine)[-1].stem
    told = sent(typed(machine, "/holdfast:report", resume=session))
    assert re.search(r"(?m)^window: [\d,]+ of 1,000,000 tokens", told)
    assert f"last checkpoint: {newest}" in told
    assert "degraded: nothing" in told


@pytest.mark.parametrize("name", ["save", "load", "report"])
def test_the_model_may_save_and_load_by_itself_but_not_report(
    tmp_path: Path, binary: Path, name: str
) -> None:
    machine = Machine(tmp_path, binary)
    call = {"say": "I will.", "call": "Skill", "input": {"skill": f"holdfast:{name}", "args": "a word"}}
    run = machine.run({"main": [call, {"say": "done"}]}, ["-p", "go"], plugin_dirs=[PLUGIN])
    told = "\n".join(words(message["content"]) for message in run.requests[-1]["body"]["messages"])
    expected = {"save": "is saved and verified", "load": "There is no checkpoint", "report": "reserved for"}
    assert expected[name] in told
    assert "Note:" not in told, "nobody typed it: the model is told to say it itself"


def test_a_plugin_in_a_folder_with_a_space_works(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    plugin = shutil.copytree(PLUGIN, tmp_path / "a copy", ignore=shutil.ignore_patterns("__pycache__"))
    session = worked(machine, plugin).session
    told = sent(typed(machine, "/holdfast:save", resume=session, plugin=plugin))
    assert "is saved and verified" in told


def test_at_the_screen_nobody_is_asked_for_permission(tmp_path: Path, binary: Path) -> None:
    machine = Machine(tmp_path, binary)
    plugin = shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    keys = [
        {"event": "SessionStart"},
        {"see": "❯"},
        {"type": "fix the tide table"},
        {"event": "Stop"},
        {"type": "/holdfast:save before the rebase"},
        {"see": "It is saved"},
        {"event": "Stop", "times": 2},
        {"type": "/exit"},
    ]
    args = ["--permission-mode", "default", "--plugin-dir", str(plugin)]
    script = {"main": [{"say": "Done."}, {"say": "It is saved"}]}
    run = machine.run(script, args, session=False, keys=keys)
    assert run.trouble == ""
    assert 'Note: "before the rebase"' in sent(run)
    assert len(saved(machine, "manual")) == 1
