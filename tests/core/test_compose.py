"""What a checkpoint says, from a transcript of which everything is known."""

import copy
import random

import pytest

from composed import PROJECT, composer, edited, everything, plain, ran, sections
from holdfast.core.compose import Composer
from holdfast.core.fence import fenced
from holdfast.core.lines import Account, records
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from holdfast.disk import transcripts
from holdfast.disk.words import Words
from hooks import WRONG
from session import Script, handed_on, text, use


def test_files_are_told_with_the_line_of_their_first_hunk():
    script = Script()
    script.prompt("fix it")
    edited(script, f"{PROJECT}/src/a.py", "x = 1\ny = 2", "x = 1\ny = 3", line=41)
    edited(script, f"{PROJECT}/src/b.py", "gone\nkept", "kept", line=7, hunks=3)
    edited(script, "/etc/hosts", "", "127.0.0.1 tide", line=2)
    script.answer(use("w", "Write", file_path=f"{PROJECT}/c.md", content="one\ntwo\n"))
    script.result("w", result={"type": "create", "structuredPatch": []})
    script.answer(use("n", "NotebookEdit", notebook_path=f"{PROJECT}/d.ipynb", new_source="1 + 1"))
    script.result("n", result={})
    many = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    script.answer(use("m", "MultiEdit", file_path=f"{PROJECT}/e.py", edits=many))
    script.result("m", result={"structuredPatch": [{"newStart": 3, "newLines": 1}]})
    assert [plain(item) for item in sections(script)["What Changed"]] == [
        "[src/a.py:41] - `y = 3` (+2 −2)",
        "[src/b.py:7] - `− gone` (+1 −2, 3 places)",
        "[/etc/hosts:2] - `127.0.0.1 tide` (+1 −0)",
        "[c.md:1] - written, 2 lines",
        "[d.ipynb:1] - `1 + 1` (+1 −0)",
        "[e.py:3] - `b` (+1 −1)",
    ]


def test_an_edit_that_failed_changed_nothing():
    script = Script()
    script.prompt()
    script.answer(use("e", "Edit", file_path=f"{PROJECT}/a.py", old_string="a", new_string="b"))
    script.result("e", content="String to replace not found", is_error=True)
    found = sections(script)
    assert found["What Changed"] == []
    assert plain(found["Active Issues"][0]).endswith("String to replace not found")


def test_commands_are_told_with_their_exit_codes_and_tests_with_their_results():
    script = Script()
    script.prompt()
    ran(script, "make", "built")
    ran(script, "grep -r tide", "Exit code 1", failed=True)
    ran(script, "nonsense", "Exit code 127\nnonsense: not found", failed=True)
    ran(script, "sleep 999", "Command timed out", failed=True)
    ran(script, "pytest -q", "Exit code 1\n...\n=== 2 failed, 40 passed in 3.1s ===", failed=True)
    ran(script, "make test", "lots\nOK (12 tests)\n")
    ran(script, "make", "built again")
    assert [plain(item) for item in sections(script)["Commands and Tests"]] == [
        "`grep -r tide` → exit 1",
        "`nonsense` → exit 127",
        "`sleep 999` → failed without a status",
        "Test run: `pytest -q` → exit 1: 2 failed, 40 passed",
        "Test run: `make test` → passed, exit 0: OK (12 tests)",
        "`make` → exit 0",
    ]


def test_of_many_commands_those_that_test_or_failed_outlast_the_others():
    script = Script()
    script.prompt()
    ran(script, "pytest -q", "3 passed")
    ran(script, "make", "Exit code 2", failed=True)
    for number in range(25):
        ran(script, f"echo {number}")
    found = [plain(item).partition(" →")[0] for item in sections(script)["Commands and Tests"]]
    assert found == ["Test run: `pytest -q`", "`make`", *(f"`echo {number}`" for number in range(11, 25))]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"cd {PROJECT}/src && ls {PROJECT}/docs", "ls docs"),
        (f"cd {PROJECT}\nmake all | head -3", "make all"),
        ("cd src; make", "make"),
        ("cd /tmp/scratch && make", "cd /tmp/scratch && make"),
    ],
)
def test_the_way_into_the_project_is_left_out(command, shown):
    script = Script()
    script.prompt()
    ran(script, command)
    assert plain(sections(script)["Commands and Tests"][0]) == f"`{shown}` → exit 0"


@pytest.mark.parametrize("project", ["/", ""])
def test_a_project_without_a_name_takes_no_slash_from_a_command(project):
    script = Script()
    script.prompt()
    ran(script, "ls /etc/tide")
    made = composer(script)
    made.project = project
    assert plain(made.commands()[0]) == "`ls /etc/tide` → exit 0"


def test_an_error_is_an_issue_until_the_same_thing_succeeds():
    script = Script()
    script.prompt()
    ran(script, "pytest", "Exit code 1\nE  assert 1 == 2\n1 failed", failed=True)
    ran(script, "make", "Exit code 2\nno rule", failed=True)
    ran(script, "pytest", "1 passed")
    assert [plain(item) for item in sections(script)["Active Issues"]] == ["`make`: Exit code 2 | no rule"]


def test_what_failed_is_named_however_many_commands_ran_since():
    script = Script()
    script.prompt()
    ran(script, "make tables", "Exit code 2\nKeyError: 'tide'", failed=True)
    for number in range(80):
        ran(script, f"echo {number}")
    assert [plain(item) for item in sections(script)["Active Issues"]] == [
        "`make tables`: Exit code 2 | KeyError: 'tide'"
    ]


def test_what_only_looked_and_found_nothing_is_no_issue_unless_it_is_the_newest():
    script = Script()
    script.prompt()
    ran(script, "cat gone.py", "Exit code 1\nNo such file", failed=True)
    ran(script, "make", "Exit code 2", failed=True)
    ran(script, "cd src && grep -r tide", "Exit code 1", failed=True)
    assert composer(script).errors() == ["`make`: Exit code 2", "`grep -r tide`: Exit code 1"]
    ran(script, "make all", "Exit code 2", failed=True)
    assert composer(script).errors() == ["`make`: Exit code 2", "`make all`: Exit code 2"]


def test_a_call_that_the_client_refused_as_wrong_is_no_issue():
    script = Script()
    script.prompt()
    script.answer(use("e", "Edit", file_path=f"{PROJECT}/a.py", old_string="a", new_string="b"))
    script.result(
        "e", content="<tool_use_error>File has not been read yet.</tool_use_error>", is_error=True
    )
    assert composer(script).errors() == []


def test_of_errors_that_a_compaction_passed_over_only_the_newest_are_told():
    script = Script()
    script.prompt()
    for number in range(5):
        ran(script, f"make {number}", "Exit code 2", failed=True)
    every = [f"`make {number}`: Exit code 2" for number in range(5)]
    script.boundary()
    assert [plain(item) for item in sections(script)["Active Issues"]] == every
    ran(script, "make 5", "Exit code 2", failed=True)
    assert composer(script).errors() == [*every[3:], "`make 5`: Exit code 2"]


def test_tasks_come_from_all_three_sources_with_their_states():
    script = Script()
    script.prompt()
    for number, subject in enumerate(("parse", "lex", "emit"), 1):
        script.answer(use(f"t{number}", "TaskCreate", subject=subject))
        script.result(f"t{number}", result={"task": {"id": str(number), "subject": subject}})
    script.answer(use("u", "TaskUpdate", taskId="1", status="completed"))
    script.result("u")
    made = composer(script, tasks={"3": ("completed", "emit, the client says"), "9": ("pending", "of old")})
    made.state.heard.tasks = {"2": "in_progress", "7": "pending"}
    found = made.sections()
    assert [item.partition(" (turn")[0] for item in found["Plan and Workflow"]] == [
        "Task 1 (completed): parse",
        "Task 2 (in_progress): lex",
        "Task 3 (completed): emit, the client says",
        "Task 7 (pending): (no subject) (told to a hook)",
        "Task 9 (pending): of old (the client's own task files)",
    ]
    assert [item[:7] for item in found["Next Steps"]] == [
        "[x] par",
        "[ ] lex",
        "[x] emi",
        "[ ] (no",
        "[ ] of ",
    ]


def test_what_holdfast_said_is_not_told_as_what_was_said_last_or_reported():
    brief = fenced("0123456789abcdef", "Kept by holdfast.", ["> Always raise the gate"])
    script = Script()
    script.prompt("look")
    script.answer(use("a", "Agent", description="look at the brief", prompt="x"))
    came = text(f"The gate is to be raised by noon.\n{brief}")
    script.result("a", content=[came], result={"status": "completed", "agentId": "a1"})
    script.answer(text(f"This is the brief:\n{brief}"))
    found = sections(script)
    assert "This is the brief" in str(found["Next Steps"])
    assert "raised by noon" in str(found["Agents"])
    assert "Kept by holdfast" not in str(found)


def test_what_is_private_leaves_the_rest_of_a_long_prompt():
    script = Script()
    script.prompt(f"Fix the login. <private>{'a line of the log ' * 800}</private> Then run the tests.")
    script.answer(text("I do."))
    assert plain(sections(script)["Goal"][0]) == "Fix the login. [private] Then run the tests."


def test_pictures_do_not_hide_the_newest_prompt(tmp_path):
    script = Script()
    for number in range(8):
        picture = {"type": "image", "source": {"type": "base64", "data": "A" * 600_000}}
        content = [text(f"Now build wing {number} of the tower"), picture]
        script.line("user", message={"role": "user", "content": content}, promptSource="typed")
        script.answer(text("I do."))
    path = tmp_path / "pictures.jsonl"
    path.write_bytes(script.bytes())
    goal = [plain(item) for item in sections(script, words=Words(str(path)))["Goal"]]
    assert (goal[0], goal[-1]) == ("Now build wing 0 of the tower", "Then: Now build wing 7 of the tower")


def test_a_plan_that_was_accepted_is_goal_and_plan():
    script = Script()
    script.line("user", **handed_on("# Raise the gate\n\n1. measure\n2. raise", "slowly"))
    script.answer(text("I measure."))
    found = sections(script)
    assert plain(found["Goal"][0]) == "# Raise the gate 1. measure 2. raise slowly"
    (plan,) = found["Plan and Workflow"]
    assert plan.split("\n")[1:] == ["> # Raise the gate", ">", "> 1. measure", "> 2. raise"]


def test_todos_the_plan_and_what_was_said_last_are_told():
    script = Script()
    script.prompt()
    script.answer(use("p", "ExitPlanMode", plan="# Plan\n\n1. read\n2. write"))
    script.result("p")
    todos = [{"content": "read", "status": "completed"}, {"content": "write", "status": "pending"}]
    script.answer(use("t", "TodoWrite", todos=todos))
    script.result("t")
    script.answer(text("Now I write the lexer."))
    found = sections(script)
    plan, *rest = found["Plan and Workflow"]
    assert plan.split("\n")[1:] == ["> # Plan", ">", "> 1. read", "> 2. write"]
    assert [item[:16] for item in rest] == ["To do (completed", "To do (pending):"]
    steps = found["Next Steps"]
    assert [step.partition(" (")[0] for step in steps[:2]] == ["[x] read", "[ ] write"]
    assert plain(steps[-1]) == "[ ] Go on from: Now I write the lexer."


def test_many_finished_steps_are_told_together():
    script = Script()
    script.prompt()
    todos = [{"content": f"read {n}", "status": "completed"} for n in range(5)]
    todos.append({"content": "write", "status": "in_progress"})
    script.answer(use("t", "TodoWrite", todos=todos))
    script.result("t")
    found = sections(script)
    assert [plain(item) for item in found["Plan and Workflow"]] == ["To do (in_progress): write"]
    assert [plain(item) for item in found["Next Steps"]] == [
        "[x] read 0; read 1; read 2; read 3; read 4",
        "[ ] write",
    ]


def test_agents_are_told_and_a_refusal_is_no_issue():
    script = Script()
    script.prompt()
    script.answer(use("a1", "Agent", description="look for it", subagent_type="Explore", prompt="look"))
    script.result(
        "a1", content=[text("It is in lex.py.")], result={"status": "completed", "agentId": "a77"}
    )
    script.answer(use("a2", "Agent", prompt="in the background"))
    script.result("a2", result={"status": "async_launched", "agentId": "a78"})
    script.answer(use("b", "Bash", command="rm -rf build"))
    why = "The user doesn't want to proceed with this tool use. the user said:\nkeep the build folder"
    script.result("b", content=why, is_error=True)
    found = sections(script)
    assert [plain(item) for item in found["Agents"]] == [
        "a77 Explore (completed): look for it: It is in lex.py.",
        "a78 (async_launched): in the background",
    ]
    assert found["Active Issues"] == []


def test_the_goal_is_what_a_person_typed_first_and_last():
    script = Script()
    for number in range(6):
        script.prompt(f"prompt {number}")
        script.answer(text(f"answer {number}"))
    script.prompt("a notification", promptSource="system")
    script.prompt("/compact")
    assert [plain(item) for item in sections(script)["Goal"]] == [
        "prompt 0",
        "Then: prompt 3",
        "Then: prompt 4",
        "Then: prompt 5",
    ]


def test_every_item_names_the_turn_and_the_entry():
    for section, items in sections(everything()).items():
        assert items, section
        for item in items:
            last = item.split("\n")[0].rstrip(":")
            assert last.endswith(")"), (section, item)
            assert " (turn " in last, (section, item)
            assert ", s1-0000" in last, (section, item)


# What a transcript may be


def on_disk(script, tmp_path, most=1 << 40):
    path = tmp_path / "s1.jsonl"
    path.write_bytes(script.bytes())
    state = State("s1")
    transcripts.catch_up(state, str(path), most)
    return path, state


def told(state, path, project=PROJECT):
    words = Words(str(path) if path else "")
    try:
        made = Composer(state, words, Redactor(b"k").text, project, {})
        return made.sections(), made.summary()
    finally:
        words.close()


@pytest.mark.parametrize("what", ["cut", "emptied", "gone", "replaced", "shifted", "a folder"])
def test_a_transcript_that_changed_meanwhile_leaves_out_what_it_no_longer_says(what, tmp_path):
    script = everything()
    path, state = on_disk(script, tmp_path)
    other = b"".join(reversed(script.lines))
    {
        "cut": lambda: path.write_bytes(script.bytes()[: len(script.bytes()) // 2]),
        "emptied": lambda: path.write_bytes(b""),
        "gone": path.unlink,
        "replaced": lambda: path.write_bytes(other),
        "shifted": lambda: path.write_bytes(b"\n" * 7 + script.bytes()),
        "a folder": lambda: (path.unlink(), path.mkdir()),
    }[what]()
    found, summary = told(state, path)
    assert all(type(item) is str for items in found.values() for item in items)
    assert "1 file modified" in summary


def test_without_a_transcript_it_says_so_and_what_hooks_were_told():
    state = State("s1")
    state.heard.calls, state.heard.failures, state.heard.typed = 12, 2, 3
    state.heard.tasks, state.heard.trouble = {"1": "pending"}, "the transcript is gone"
    state.heard.green = ["c0ffee" * 6, "2026-11-16T04:53:34.170Z"]
    found, summary = told(state, "")
    assert found["Active Issues"][0].endswith("(12 tool calls, 2 failed, 3 prompts)")
    assert found["Active Issues"][1] == "holdfast is degraded: the transcript is gone"
    assert found["Plan and Workflow"] == ["Task 1 (pending): (no subject) (told to a hook)"]
    assert found["Commands and Tests"][0].startswith("Last known green commit: c0ffeec0ffee ")
    assert summary == "Nothing asked for in tidegate"


def test_a_transcript_that_was_read_from_both_ends_is_told_as_one(tmp_path):
    script = Script()
    script.prompt("the first of all")
    for number in range(300):
        edited(script, f"{PROJECT}/{number}.py", new="x" * 500)
    script.prompt("the last of all")
    script.answer(text("and on"))
    path, state = on_disk(script, tmp_path, most=60_000)
    assert state.behind
    found, _ = told(state, path)
    assert "of the rest of the transcript was read so far" in found["Active Issues"][0]
    assert found["What Changed"][-1].startswith("[299.py:1]")
    assert found["Goal"][-1].startswith("Then: the last of all") or found["Goal"][0].startswith("the last")
    while state.behind:
        transcripts.catch_up(state, str(path), 60_000)
    found, _ = told(state, path)
    assert found["Active Issues"] == []
    assert plain(found["Goal"][0]) == "the first of all"


def test_when_there_is_more_than_may_be_read_the_newest_is_told(tmp_path):
    """Forty files of 150 KB were written: twice what is read for one checkpoint."""
    script = Script()
    script.prompt("write them")
    for number in range(40):
        script.answer(
            use(f"w{number}", "Write", file_path=f"{PROJECT}/{number}.txt", content="x" * 150_000)
        )
        script.result(f"w{number}", result={"structuredPatch": []})
    ran(script, "make", "built")
    script.answer(text("all are written"))
    path, state = on_disk(script, tmp_path)
    words = Words(str(path))
    found = Composer(state, words, Redactor(b"k").text, PROJECT, {}).sections()
    assert words._left >= 0
    words.close()
    assert plain(found["Goal"][0]) == "write them"
    assert plain(found["Commands and Tests"][0]) == "`make` → exit 0"
    assert found["What Changed"][-1].startswith("[39.txt:1]")


def test_records_of_any_shape_do_no_harm():
    """The file may have been replaced by one whose lines are as long, and hold anything."""
    script, dice = everything(), random.Random(4)
    data = script.bytes()
    for _ in range(200):
        spoiled = {}

        def words(offset, length, spoiled=spoiled):
            if offset not in spoiled:
                found = records(data[offset : offset + length], Account())
                spoiled[offset] = [spoil(copy.deepcopy(record), dice) for record in found]
            return spoiled[offset]

        found = sections(script, words=words)
        assert all(type(item) is str for items in found.values() for item in items)


def spoil(record, dice):
    """With a few of its values, at any depth, replaced by others."""
    places = [(record, key) for key in record]
    for place, key in places:
        value = place[key]
        if isinstance(value, dict):
            places += [(value, inner) for inner in value]
        elif isinstance(value, list):
            places += [(value, inner) for inner in range(len(value))]
    for place, key in dice.sample(places, min(3, len(places))):
        place[key] = dice.choice(WRONG)
    return record
