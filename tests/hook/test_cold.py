"""Finished work that has gone cold, through the hook itself: summarised once, and never at the price of a
hook."""

import json
import os
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.disk import summaries
from holdfast.disk.home import Home
from holdfast.ops.summaries import clear
from hooks import (
    bound_by_modes,
    copy_package,
    edit,
    event,
    folder,
    hold,
    notes,
    run_hook,
    run_silently,
    state,
)
from session import Script, text, use

FULL = 130_000  # of the 167,000 at which this model's client compacts: 78 %
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Session:
    """A transcript that grows, and hooks that are told of it."""

    def __init__(self, home: Path, context: int = FULL) -> None:
        self.home = home
        self.path = home.parent / "projects" / "s1.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.project = home.parent / "project"
        self.project.mkdir()
        self.script = Script()
        self.context = context

    def turns(self, count: int, said: str = "It goes on.") -> None:
        for _ in range(count):
            self.script.answer(text(said), context=self.context)

    def stretch(self, prompt: str, turns: int = 2, said: str = "That is finished.") -> None:
        self.script.prompt(prompt)
        self.turns(turns, said)

    def work(self, path: str, command: str = "make") -> None:
        n = self.script.count
        self.script.answer(
            use(f"e{n}", "Edit", file_path=f"{self.project}/{path}", old_string="a", new_string="b"),
            context=self.context,
        )
        self.script.result(f"e{n}", result={"structuredPatch": [{"newStart": 3, "newLines": 1}]})
        self.script.answer(use(f"b{n}", "Bash", command=command), context=self.context)
        self.script.result(f"b{n}")

    def task(self, name: str, subject: str) -> None:
        call = f"c{self.script.count}"
        self.script.answer(use(call, "TaskCreate", subject=subject), context=self.context)
        self.script.result(call, result={"task": {"id": name}})

    def update(self, name: str, status: str) -> None:
        call = f"u{self.script.count}"
        self.script.answer(use(call, "TaskUpdate", taskId=name, status=status), context=self.context)
        self.script.result(call)

    def event(self, name: str = "PostToolBatch", **fields: object) -> dict:
        self.path.write_bytes(self.script.bytes())
        given = {"cwd": str(self.project), "tool_use_id": f"t{self.script.count}"} | fields
        return event(name, transcript=self.path, **given)

    def hook(self, name: str = "PostToolBatch", **more: object) -> None:
        run_silently(self.event(name), self.home, **more)

    def made(self, agent: str = "") -> list[dict]:
        """Oldest first."""
        found = summaries.newest(Home(str(self.home)), "s1", 1000, agent)
        return sorted(found, key=lambda one: one["place"])

    def subjects(self) -> list[str]:
        return [one["subject"] for one in self.made()]


@pytest.fixture
def session(home):
    return Session(home)


def test_a_stretch_is_summarised_once_it_is_cold(session):
    session.script.prompt("Fix the parser. It fails on high water.")
    session.work("src/parser.py", "pytest -q")
    session.turns(1, "High water parses now.")
    session.stretch("and the gate", 20)
    session.hook()
    assert session.made() == []
    session.turns(1)
    session.hook()  # looked through one turn ago: not again yet
    assert session.made() == []
    session.turns(9)
    session.hook()
    (made,) = session.made()
    assert (made["subject"], made["start_turn"], made["end_turn"]) == ("Fix the parser.", 1, 3)
    assert (made["files_modified"], made["commands_run"]) == (["src/parser.py"], ["pytest -q"])
    assert made["key_outcomes"] == ["High water parses now."]
    assert (made["session_id"], made["agent_id"], made["kind"]) == ("s1", "", "stretch")
    assert not notes(session.home)


def test_the_summariser_is_given_all_that_came_of_it_verbatim(session):
    session.script.prompt("Implement the OAuth2 login")
    fails = [text("Let me see."), use("f1", "Bash", command="pytest -q")]
    for block in fails:
        session.script.answer(block, context=FULL)
    session.script.result("f1", "Exit code 1\nJWT signature invalid", "Error: Exit code 1", is_error=True)
    session.work("src/auth.py", "pytest -q")
    session.turns(1, "We decided to use the PKCE flow for public clients. The form has two fields.")
    session.stretch("and the gate", 21, "The gate opens.")
    session.hook()
    (made,) = session.made()
    printed = run_hook(session.event("PreCompact", trigger="auto"), session.home).stdout.decode()
    said = printed.partition("PRE-COMPUTED TASK SUMMARIES (use verbatim, already compressed):\n")[2]
    first, *others = made["key_outcomes"]
    assert first == "We decided to use the PKCE flow for public clients."
    assert others
    (resolved,) = made["errors_resolved"]
    assert resolved.endswith("JWT signature invalid — fixed by a change of src/auth.py: `b` (+1 −1)")
    assert said.split("\n")[: len(others) + 2] == [
        f"  • Implement the OAuth2 login (turns 1–5; auth.py): {first}",
        *(f"    → {words}" for words in others),
        f"    → resolved: {resolved}",
    ]


def test_what_was_cleared_is_summarised_again(session):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 21)
    session.hook()
    session.turns(1)
    session.hook()
    (made,) = session.made()
    app = Holdfast.open({"HOLDFAST_HOME": str(session.home), "HOME": str(session.home.parent)})
    clear(app, session="s1")
    assert session.made() == []
    session.turns(1)
    session.hook()
    (again,) = session.made()
    assert {**again, "compressed_at": ""} == {**made, "compressed_at": ""}


@pytest.mark.parametrize(("later", "cold"), [(20, []), (21, ["Fix the parser"])])
def test_twenty_turns_are_not_enough(session, later, cold):
    session.stretch("Fix the parser")
    session.stretch("and the gate", later)
    session.hook()
    assert session.subjects() == cold


def test_tasks_are_summarised_where_there_are_any(session):
    session.stretch("Do both things", 1)
    session.task("1", "Parse the tables")
    session.task("2", "Open the gate")
    session.update("1", "in_progress")
    session.work("parser.py")
    session.update("1", "completed")
    session.work("gate.py")
    session.stretch("go on", 21)
    session.hook()
    (made,) = session.made()
    assert (made["task_id"], made["subject"], made["kind"]) == ("1", "Parse the tables", "task")
    assert (made["start_turn"], made["end_turn"]) == (4, 7)
    assert made["files_modified"] == ["parser.py"]


def test_what_is_named_again_is_not_cold(session):
    session.stretch("go", 1)
    session.task("1", "Parse the tables")
    session.update("1", "completed")
    session.turns(25)
    session.turns(1, "First I have to parse the tables again.")
    session.hook()
    assert session.made() == []
    session.turns(20)
    session.hook()
    assert session.subjects() == ["Parse the tables"]


@pytest.mark.parametrize(("context", "made"), [(110_000, 0), (116_000, 0), (117_500, 1)])
def test_below_seventy_percent_nothing_is_summarised(home, context, made):
    session = Session(home, context)
    session.stretch("Fix the parser")
    session.stretch("and the gate", 30)
    session.hook()
    assert len(session.made()) == made


@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd", "SessionStart", "Notification", "PreToolUse"])
def test_hooks_that_have_other_things_to_do_leave_it(session, name):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 30)
    session.hook(name)
    assert session.made() == []


def test_twenty_rounds_write_nothing_new(session):
    for number in range(9):
        session.stretch(f"Fix part {number} of it")
    session.turns(30)
    for _ in range(4):
        session.turns(1)
        session.hook()
    assert session.subjects() == [f"Fix part {number} of it" for number in range(8)]
    place = folder(session.home) / "summaries"
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    for _ in range(20):
        session.turns(10)
        session.hook()
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_a_state_that_is_lost_makes_nothing_twice(session):
    for number in range(3):
        session.stretch(f"Fix part {number} of it")
    session.turns(30)
    session.hook()
    before = session.made()
    (folder(session.home) / "state.json").unlink()
    session.turns(10)
    session.hook()
    assert session.made() == before


def test_no_hook_writes_more_than_a_few_and_the_next_goes_on(session):
    for number in range(30):
        session.stretch(f"Fix part {number} of it")
    session.turns(30)
    counts = []
    for _ in range(9):
        session.turns(1)
        session.hook()
        counts.append(len(session.made()))
    assert counts == [4, 8, 12, 16, 20, 24, 28, 29, 29]


def test_what_a_rewind_abandons_is_not_kept(session):
    session.stretch("Fix the parser")
    leaf = session.script.leaf
    session.stretch("Rewrite it all in Fortran")
    session.stretch("go on then", 25)
    session.hook()
    assert session.subjects() == ["Fix the parser", "Rewrite it all in Fortran"]
    session.script.leaf = leaf
    session.stretch("Mend the gate instead")
    session.stretch("go on then", 25)
    session.hook()
    assert session.subjects() == ["Fix the parser", "Mend the gate instead"]


def test_what_was_abandoned_before_it_was_cold_is_never_summarised(session):
    session.stretch("Fix the parser")
    leaf = session.script.leaf
    session.stretch("Rewrite it all in Fortran")
    session.script.leaf = leaf
    session.stretch("go on then", 25)
    session.hook()
    assert session.subjects() == ["Fix the parser"]


def test_a_rewritten_transcript_makes_nothing_twice(session):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook()
    before = session.made()
    session.script.lines.insert(0, b'{"type":"custom-title","customTitle":"tides"}\n')
    session.turns(10)
    session.hook()
    assert state(session.home)["seen"]["reread_why"] == "replaced"
    assert session.made() == before


def test_secrets_are_taken_out_before_anything_is_written(session):
    session.script.prompt(f"Use token={SECRET} for the gate")
    session.work(f"{SECRET}.py", f"curl -H 'Authorization: Bearer {SECRET}' gate")
    session.turns(1, f"It is configured with {SECRET} now.")
    session.stretch("next", 25)
    session.hook()
    assert len(session.made()) == 1
    for path in session.home.rglob("*"):
        assert path.is_dir() or SECRET[4:].encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("修复解析器。然后运行测试。", "高水位的表格现在可以解析了。"),
        ("Почини парсер. Он падает.", "Парсер снова работает на всех таблицах."),
        ("أصلح المحلل", "المحلل يعمل الآن على جميع الجداول."),
        ("パーサーを直して！", "すべてのテストが通りました。"),
        ("Größe prüfen, bitte", "Die Größe stimmt überall."),
    ],
)
def test_other_scripts_are_kept_as_they_are(session, prompt, said):
    session.stretch(prompt, 2, said)
    session.stretch("next", 25)
    session.hook()
    (made,) = session.made()
    assert prompt.startswith(made["subject"])
    assert made["key_outcomes"] == [said]


def test_two_agents_keep_theirs_apart(session):
    own = session.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    own.parent.mkdir(parents=True)
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook()
    agent = Session.__new__(Session)
    agent.__dict__ = {**session.__dict__, "script": Script(), "path": own}
    agent.script.prompt("do it")
    agent.task("1", "Look at the gate")
    agent.update("1", "completed")
    agent.turns(25)
    lines = [json.loads(line) for line in agent.script.lines]
    own.write_bytes(
        b"".join(json.dumps(one | {"isSidechain": True, "agentId": "a1"}).encode() + b"\n" for one in lines)
    )
    payload = event(
        "PostToolBatch",
        transcript=session.path,
        agent_id="a1",
        agent_type="Explore",
        cwd=str(session.project),
    )
    run_silently(payload, session.home)
    assert session.subjects() == ["Fix the parser"]
    assert [one["subject"] for one in session.made("a1")] == ["Look at the gate"]
    assert session.made("a1")[0]["agent_id"] == "a1"


def test_ten_thousand_turns_are_bounded(session):
    for number in range(2000):
        session.stretch(f"Fix part {number} of it", 5)
    session.hook("SessionStart")  # which reads it all
    for _ in range(40):
        if not state(session.home)["behind"] and state(session.home)["seen"]["turns"] >= 10_000:
            break
        session.hook("Stop")
    assert state(session.home)["seen"]["turns"] >= 10_000
    was = len(session.made())
    session.turns(10)
    session.hook()
    made = session.made()
    assert len(made) - was <= 4
    assert 0 < len(made) <= 96
    first = made[0]
    assert first["end_turn"] - first["start_turn"] == 4
    assert first["subject"] == f"Fix part {(first['start_turn'] - 1) // 5} of it"
    assert (folder(session.home) / "state.json").stat().st_size < 60_000
    assert not notes(session.home)


def test_a_turn_too_long_ago_is_numbered_all_the_same(session):
    session.stretch("Fix the parser", 3)
    session.stretch("and the gate", 300)
    session.hook()
    (made,) = session.made()
    assert (made["start_turn"], made["end_turn"]) == (1, 3)


def test_of_a_very_long_stretch_the_newest_part_is_read(session):
    session.script.prompt("Read them all")
    session.work("first.py")
    for number in range(30):
        session.script.answer(use(f"r{number}", "Read", file_path="/x"), context=FULL)
        session.script.result(f"r{number}", "tide " * 30_000)
    session.work("last.py")
    session.turns(1, "All thirty are read.")
    session.stretch("next", 25)
    session.hook("Stop")
    session.turns(10)
    session.hook("Stop")
    (made,) = session.made()
    assert made["partial"] is True
    assert made["files_modified"] == ["last.py"]
    assert made["key_outcomes"] == ["All thirty are read."]


def test_what_a_rewind_abandoned_is_removed_when_that_is_possible_again(session):
    session.stretch("Fix the parser")
    leaf = session.script.leaf
    session.stretch("Rewrite it all in Fortran")
    session.stretch("go on then", 25)
    session.hook()
    place = folder(session.home) / "summaries"
    place.chmod(0o500)
    session.script.leaf = leaf
    session.stretch("Mend the gate instead", 1)
    session.turns(25)
    session.hook(before=bound_by_modes())
    session.hook(before=bound_by_modes())
    assert [note["event"] for note in notes(session.home)] == ["degraded.cold"]
    place.chmod(0o700)
    session.turns(10)
    session.hook()
    assert session.subjects() == ["Fix the parser"]


# A disk that fails


def test_a_folder_that_cannot_be_written_is_noted_and_the_hook_goes_on(session):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    place = folder(session.home) / "summaries"
    place.mkdir(parents=True)
    place.chmod(0o500)
    session.hook(before=bound_by_modes())
    (note,) = notes(session.home)
    assert (note["event"], note["session"]) == ("degraded.cold", "s1")
    assert "Permission denied" in note["what"]
    session.hook(before=bound_by_modes())  # not asked again at every tool call
    assert len(notes(session.home)) == 1
    place.chmod(0o700)
    session.turns(10)
    session.hook()
    assert session.subjects() == ["Fix the parser"]


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_something_else_in_its_place_is_noted_and_left_alone(session, kind):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    place = folder(session.home) / "summaries"
    place.parent.mkdir(parents=True)
    elsewhere = session.home.parent / "elsewhere"
    if kind == "file":
        place.write_text("of the user's")
    else:
        place.symlink_to(elsewhere)
    if kind == "link":
        elsewhere.mkdir()
    session.hook()
    assert [note["event"] for note in notes(session.home)] == ["degraded.cold"]
    assert kind != "file" or place.read_text() == "of the user's"
    assert kind != "link" or not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    "problem", ["OSError(28, 'No space left on device')", "TypeError('a mistake of ours')"]
)
def test_a_write_that_fails_is_noted_and_costs_nothing_else(session, problem, tmp_path):
    package = copy_package(tmp_path / "copy")
    line = "        folder.create(temporary, render(summary), durable=True)\n"
    edit(package / "disk/summaries.py", line, f"        raise {problem}\n")
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook(package=package)
    (note,) = notes(session.home)
    assert note["event"] == "degraded.cold"
    assert "mistake of ours" not in note["what"]  # it might be text of the session
    assert state(session.home)["heard"]["calls"] == 1
    session.turns(10)
    session.hook()
    assert session.subjects() == ["Fix the parser"]


def test_a_disk_that_hangs_does_not_hold_up_the_hook(session, tmp_path):
    package, answers = copy_package(tmp_path / "copy", is_patient=False), tmp_path / "answers"
    line = "        folder.create(temporary, render(summary), durable=True)\n"
    hold(package, "disk/summaries.py", line, answers)
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook()  # compiles nothing, and takes the checkpoint that is due
    session.stretch("third", 25)
    payload = session.event("UserPromptSubmit")
    result = run_hook(payload, session.home, package=package, then=answers.touch)
    assert (result.returncode, result.stdout) == (0, b"")
    assert [note["event"] for note in notes(session.home)] == ["degraded.cold"]


def test_without_time_nothing_is_half_read(session, tmp_path):
    package = copy_package(tmp_path / "copy")
    edit(package / "coldwork.py", "_MOST_S = 2 << 20, 0.4", "_MOST_S = 2 << 20, 0.0")
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook(package=package)
    assert session.made() == []
    assert not notes(session.home)
    session.turns(1)
    session.hook()
    assert session.subjects() == ["Fix the parser"]


def test_a_prompt_with_pictures_has_a_subject(session):
    picture = {"type": "image", "source": {"type": "base64", "data": "iVBORw0" * 500_000}}
    message = {"role": "user", "content": [picture, text("What is wrong with this chart?")]}
    session.script.line("user", message=message, promptSource="typed")
    session.turns(2, "The chart has its axes swapped.")
    session.stretch("and the gate", 25)
    session.hook("Stop")
    assert session.subjects() == ["What is wrong with this chart?"]


def test_a_transcript_that_is_gone_makes_no_summary(session):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 20)
    session.hook()
    session.turns(10)
    payload = session.event()
    session.hook("Notification")
    session.path.unlink()
    run_silently(payload, session.home)
    assert session.made() == []
    assert not list((folder(session.home)).glob("summaries/.*"))


def test_nobody_else_can_read_them_whatever_the_umask(session):
    session.stretch("Fix the parser")
    session.stretch("and the gate", 25)
    session.hook(preexec_fn=lambda: os.umask(0))
    for path in (folder(session.home) / "summaries", *(folder(session.home) / "summaries").iterdir()):
        assert path.stat().st_mode & 0o077 == 0
