"""Which finished work is cold, and what a summary says of it."""

from collections.abc import Callable

import pytest

from composed import PROJECT, edited, ran, words_of
from holdfast.core import cold
from holdfast.core.cold import STRETCH, TASK, Summary, Work, comparable, is_named, is_outcome, sentences
from holdfast.core.config import DEFAULTS
from holdfast.core.redact import Redactor
from holdfast.core.state import State
from session import Script, folded, text, use

COLD_AFTER = DEFAULTS["cold.after_turns"]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def state_of(script: Script) -> State:
    state = State("s1")
    state.seen = folded(script.lines)
    return state


def turns(script: Script, count: int, said: str = "on it") -> None:
    for _ in range(count):
        script.answer(text(said))


def task(script: Script, name: str, subject: str = "parse the tide tables") -> None:
    call = f"c{script.count}"
    script.answer(use(call, "TaskCreate", subject=subject))
    script.result(call, result={"task": {"id": name}})


def update(script: Script, name: str, status: str) -> None:
    call = f"u{script.count}"
    script.answer(use(call, "TaskUpdate", taskId=name, status=status))
    script.result(call)


def cold_works(script: Script) -> list[Work]:
    state = state_of(script)
    return [work for work in cold.finished(state) if cold.is_cold(state.seen, work, COLD_AFTER)]


def summary_of(script: Script, number: int = 0, redact=None, files=None) -> dict:
    """Of the finished work with this number, as if everything in between had been read."""
    state = state_of(script)
    work = cold.finished(state)[number]
    part = folded(script.lines)  # places as in the whole, kept where they lie in the work
    for name, at in (("edits", 1), ("commands", 1), ("errors", 1), ("said", 0)):
        rows = [row for row in getattr(part, name) if work.begin <= row[at] < work.until]
        setattr(part, name, rows)
    part.start, part.offset = work.begin, work.until
    made = Summary(state, part, words_of(script.bytes()), redact or Redactor(b"k").text, PROJECT)
    return made.of(work, made.subject(work, files or {}), (1, 2), "2026-03-01T10:00:00.000Z")


# What is cold


@pytest.mark.parametrize(
    ("later", "is_cold"), [(0, False), (19, False), (20, False), (21, True), (300, True)]
)
def test_a_task_is_cold_when_completed_more_than_twenty_turns_ago(later, is_cold):
    script = Script()
    script.prompt("go")
    task(script, "1")
    update(script, "1", "completed")
    turns(script, later)
    assert [work.task for work in cold_works(script)] == (["1"] if is_cold else [])


@pytest.mark.parametrize(("later", "is_cold"), [(20, False), (21, True)])
def test_a_stretch_is_cold_when_the_next_prompt_is_more_than_twenty_turns_ago(later, is_cold):
    script = Script()
    script.prompt("parse the tide tables")
    turns(script, 30)
    script.prompt("and now the gate")
    turns(script, later)
    assert len(cold_works(script)) == int(is_cold)


def test_several_lines_of_one_response_are_one_turn():
    script = Script()
    script.prompt("one")
    turns(script, 1)
    script.prompt("two")
    for _ in range(COLD_AFTER):
        script.answer(text("a"), text("b"), text("c"))
    assert not cold_works(script)
    turns(script, 1)
    assert len(cold_works(script)) == 1


def test_where_there_are_tasks_stretches_do_not_count():
    script = Script()
    script.prompt("first")
    turns(script, 3)
    script.prompt("second")
    task(script, "7")
    turns(script, 40)
    assert not cold_works(script)
    update(script, "7", "completed")
    turns(script, 21)
    assert [(work.kind, work.task) for work in cold_works(script)] == [(TASK, "7")]


def test_a_task_only_the_hooks_were_told_of_keeps_stretches_out_too():
    script = Script()
    script.prompt("first")
    turns(script, 3)
    script.prompt("second")
    turns(script, 40)
    state = state_of(script)
    assert [work.kind for work in cold.finished(state)] == [STRETCH]
    state.heard.tasks = {"1": "completed"}
    assert cold.finished(state) == []


def test_a_todo_list_makes_no_tasks():
    script = Script()
    script.prompt("first")
    script.answer(use("d", "TodoWrite", todos=[{"content": "parse", "status": "completed"}]))
    script.result("d")
    script.prompt("second")
    turns(script, 21)
    assert [work.kind for work in cold_works(script)] == [STRETCH]


def test_what_is_not_completed_any_more_is_not_cold():
    script = Script()
    script.prompt("go")
    for status in ("in_progress", "completed", "in_progress"):
        task(script, "1") if status == "in_progress" and not script.count > 1 else None
        update(script, "1", status)
    turns(script, 40)
    assert not cold_works(script)
    update(script, "1", "completed")
    turns(script, 20)
    assert not cold_works(script)
    turns(script, 1)
    assert len(cold_works(script)) == 1


def test_completed_twice_counts_from_the_first_time():
    script = Script()
    script.prompt("go")
    task(script, "1")
    update(script, "1", "completed")
    turns(script, 15)
    update(script, "1", "completed")
    turns(script, 5)
    assert len(cold_works(script)) == 1


def test_a_tasks_work_begins_where_it_was_begun_else_where_it_was_made():
    script = Script()
    script.prompt("go")
    task(script, "1", "first")
    task(script, "2", "second")
    turns(script, 3)
    update(script, "2", "in_progress")
    turns(script, 1)
    update(script, "2", "completed")
    update(script, "1", "completed")
    turns(script, 21)
    second, first = cold.finished(state_of(script))
    seen = state_of(script).seen
    assert (second.task, seen.turn(second.begin), seen.turn(second.end)) == ("2", 6, 8)
    assert (first.task, seen.turn(first.begin), seen.turn(first.end)) == ("1", 1, 9)


def test_notes_of_the_client_begin_no_stretch():
    script = Script()
    script.prompt("first")
    turns(script, 2)
    script.prompt("<task-notification>\n<task-id>a1</task-id>", promptSource="system")
    turns(script, 30)
    assert cold.finished(state_of(script)) == []


def test_at_most_as_many_tasks_are_known_as_the_state_keeps():
    script = Script()
    script.prompt("go")
    for number in range(200):
        task(script, str(number))
        update(script, str(number), "completed")
    turns(script, 21)
    state = state_of(script)
    assert len(state.seen.worked) == len(state.seen.tasks) == 64
    assert len(cold.finished(state)) == 64


# Named again


@pytest.mark.parametrize(
    ("subject", "said", "named"),
    [
        ("Parse the tide tables", "I will parse the tide tables again", True),
        ("Parse the tide tables.", "PARSE THE\n  TIDE TABLES!", True),
        ("Parse the tide tables", "parse the tables", False),
        ("API", "this is rapid", False),
        ("API", "the API, then", True),
        ("api", "apis and api", True),
        ("v2", "v21 and v2", True),
        ("v2", "v21", False),
        ("解析器", "请修复解析器。", True),
        ("исправить парсер", "Надо Исправить Парсер сегодня", True),
        ("Größe prüfen", "GRÖSSE PRÜFEN", True),
        ("إصلاح المحلل", "تم إصلاح المحلل", True),
        ("", "anything", False),
        ("...", "anything ... else", False),
    ],
)
def test_a_subject_is_named_as_words_of_its_own(subject, said, named):
    work = Work(TASK, "1", 0, 1, 0, 1, 1)
    assert is_named(work, subject, [comparable("before"), comparable(said)]) is named


def test_a_prompt_of_a_word_names_nothing():
    work = Work(STRETCH, "", 0, 1, 0, 1, 1)
    assert not is_named(work, "yes", [comparable("yes, that is it")])
    assert is_named(work, "fix the gate", [comparable("fix the gate, please")])


def test_what_was_said_lately_is_of_the_last_twenty_turns():
    script = Script()
    script.prompt("old prompt")
    turns(script, 5, "old")
    turns(script, 20, "new")
    script.prompt("new prompt")
    seen = folded(script.lines)
    read = Summary(State("s1"), seen, words_of(script.bytes()), str, PROJECT)
    assert [read.spoken(place) for place in cold.recent(seen, COLD_AFTER)] == ["new prompt", *["new"] * 20]


def test_a_summary_of_the_client_names_nothing():
    script = Script()
    script.prompt("parse the tide tables")
    turns(script, 21)
    script.prompt(
        "This session is being continued: parse the tide tables",
        isCompactSummary=True,
        promptSource="system",
    )
    read = Summary(State("s1"), folded(script.lines), words_of(script.bytes()), str, PROJECT)
    assert all("tide" not in read.spoken(place) for place in cold.recent(folded(script.lines), COLD_AFTER))


# What is kept of it


def worked(secret: str = "") -> Script:
    script = Script()
    script.prompt(f"Fix the parser{secret}. It fails on high water.\nBe quick.")
    script.answer(text("Let me look."))
    ran(script, f"pytest -q{secret}", f"Exit code 1\n1 failed{secret}", failed=True)
    edited(script, f"{PROJECT}/src/parser.py", "a", "b")
    edited(script, f"{PROJECT}/src/parser.py", "b", "c")
    edited(script, f"{PROJECT}/docs/notes.md{secret}", "b", "c")
    script.answer(text("The parser swallowed the last column."))
    ran(script, f"pytest -q{secret}", "9 passed")
    script.answer(
        text(
            f"High water parses now{secret}. The cause was an off-by-one in `column()`.\n\n"
            "| a | b |\n```\nx = 1.\n```\n- **Tests**: 9 passed.\n\nShall I commit?"
        )
    )
    script.prompt("next")
    turns(script, 21)
    return script


def test_a_summary_has_the_seeds_form():
    made = summary_of(worked())
    assert made["subject"] == "Fix the parser."
    assert made["files_modified"] == ["src/parser.py", "docs/notes.md"]
    assert made["commands_run"] == ["pytest -q"]
    assert made["key_outcomes"] == [
        "High water parses now.",
        "Tests: 9 passed.",
        "The cause was an off-by-one in `column()`.",
        "The parser swallowed the last column.",
    ]
    assert made["errors_resolved"] == [
        "`pytest -q`: Exit code 1 | 1 failed — fixed by a change of src/parser.py: `c` (+1 −1)"
    ]
    assert (made["session_id"], made["task_id"], made["kind"]) == ("s1", "s1-000001", "stretch")
    assert (made["entry"], made["partial"]) == ("s1-000001", False)


def fixed(*steps: object) -> list[str]:
    """What is said of `pytest -q` that failed, then these, then passed."""
    script = Script()
    script.prompt("Fix the parser")
    edited(script, f"{PROJECT}/src/before.py", "a", "not this")
    ran(script, "pytest -q", "Exit code 1\nJWT signature invalid", failed=True)
    for step in steps:
        step(script)
    ran(script, "pytest -q", "9 passed")
    edited(script, f"{PROJECT}/src/after.py", "a", "nor this")
    ran(script, "make after", "ok")
    script.prompt("next")
    return summary_of(script)["errors_resolved"]


def change(path: str, new: str) -> Callable[[Script], None]:
    return lambda script: edited(script, f"{PROJECT}/{path}", "old = 1", new)


def command(given: str, **how: bool) -> Callable[[Script], None]:
    return lambda script: ran(script, given, "Exit code 1\nno" if how else "ok", **how)


FAILURE = "`pytest -q`: Exit code 1 | JWT signature invalid"


@pytest.mark.parametrize(
    ("steps", "fix"),
    [
        ([change("auth.py", 'ALG = "HS256"')], 'a change of auth.py: `ALG = "HS256"` (+1 −1)'),
        (
            [change("keys.py", "k = 2"), change("auth.py", "alg = 2"), change("NOTES.md", "noted")],
            "a change of auth.py: `alg = 2` (+1 −1) and of 1 more",
        ),
        ([change("NOTES.md", "read me")], "a change of NOTES.md: `read me` (+1 −1)"),
        ([change(".env", "KEY=swordfish")], "a change of .env"),
        ([command("pip install pyjwt")], "`pip install pyjwt`"),
        ([command("pip install pyjwt"), command("cat auth.py")], "`pip install pyjwt`"),
        ([command("pip install pyjwt"), command("git commit -am wip")], "`pip install pyjwt`"),
        (
            [change("auth.py", "alg = 2"), command("pip install pyjwt")],
            "a change of auth.py: `alg = 2` (+1 −1)",
        ),
        ([], ""),
        ([command("cat auth.py")], ""),
        ([command("pip install pyjwt", failed=True)], ""),
        ([command("pytest -q tests/other.py")], ""),
    ],
)
def test_an_error_that_was_resolved_tells_what_fixed_it(steps, fix):
    assert fixed(*steps) == [f"{FAILURE} — fixed by {fix}" if fix else FAILURE]


def test_of_an_error_that_came_twice_the_last_fix_counts():
    def again(script: Script) -> None:
        ran(script, "pytest -q", "9 passed")
        ran(script, "pytest -q", "Exit code 1\nJWT signature invalid", failed=True)

    made = fixed(change("auth.py", "alg = 2"), again, change("auth.py", "alg = 3"))
    assert made == [f"{FAILURE} — fixed by a change of auth.py: `alg = 3` (+1 −1)"]
    assert fixed(change("auth.py", "alg = 2"), again) == [FAILURE]


def test_what_was_decided_in_the_middle_is_an_outcome():
    script = Script()
    script.prompt("Implement the OAuth2 login")
    script.answer(
        text(
            "I looked at the flows. We decided to use the PKCE flow for public clients. The form is next. "
            "It has two fields."
        )
    )
    for number in range(6):
        script.answer(text(f"Field {number} of the form works. Its label has the colour of the harbour."))
    script.prompt("next")
    made = summary_of(script)["key_outcomes"]
    assert made[-1] == "We decided to use the PKCE flow for public clients."
    assert made[0] == "Field 5 of the form works."
    assert len(made) == len(set(made)) <= 5


def test_a_tasks_subject_is_its_own_or_else_what_the_clients_files_say():
    script = Script()
    script.prompt("go")
    task(script, "1", "parse the tide tables")
    update(script, "1", "completed")
    update(script, "2", "completed")
    turns(script, 21)
    assert summary_of(script, 0)["subject"] == "parse the tide tables"
    assert summary_of(script, 1)["subject"] == "(no subject)"
    assert summary_of(script, 1, files={"2": ("completed", "from the file")})["subject"] == "from the file"


def test_nothing_of_a_secret_is_in_a_summary():
    clean, told = summary_of(worked()), summary_of(worked(f" token={SECRET}"))
    assert SECRET[4:] not in repr(told)
    assert repr(told).count("[redacted:") >= 5
    assert told["key_outcomes"][-1] == clean["key_outcomes"][-1]


def test_what_is_private_stays_so():
    script = Script()
    script.prompt("<private>the boat is called Petrel</private> fix it")
    turns(script, 2, "Renamed. <private>Petrel</private> it is.")
    script.prompt("next")
    assert "Petrel" not in repr(summary_of(script))


def test_of_key_files_only_the_name_is_kept():
    script = Script()
    script.prompt("set it up")
    edited(script, f"{PROJECT}/.env", "A=1", "A=swordfish")
    ran(script, "cat >.env <<EOF\nA=swordfish\nEOF", "swordfish: permission denied", failed=True)
    ran(script, "cat >.env <<EOF\nA=swordfish\nEOF", "ok")
    script.prompt("next")
    made = summary_of(script)
    assert made["files_modified"] == [".env"]
    assert "swordfish" not in repr(made)


def test_every_text_is_short_and_on_one_line():
    script = Script()
    script.prompt("Fix\x1b[31m " + "the parser " * 400)
    for number in range(60):
        edited(script, f"{PROJECT}/{'deep/' * 30}{number}.py")
        ran(script, f"make {number} " + "x " * 900, "Exit code 2\n" + "no " * 900, failed=True)
        ran(script, f"make {number} " + "x " * 900, "ok")
        script.answer(text(f"Made {number}. " + "it is " * 900))
    script.prompt("next")
    made = summary_of(script)
    assert [len(made[name]) for name in ("files_modified", "commands_run")] == [20, 20]
    assert (len(made["key_outcomes"]), len(made["errors_resolved"])) == (5, 8)
    texts = [made["subject"], *(item for value in made.values() if type(value) is list for item in value)]
    assert max(len(item) for item in texts if type(item) is str) <= 240
    assert len(made["subject"]) <= 120
    assert not any("\n" in item or "\x1b" in item for item in texts if type(item) is str)
    assert made["commands_run"][-1].startswith("make 59 ")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("1. Install v1.2.3, e.g. from PyPI. Done", ["Install v1.2.3, e.g. from PyPI.", "Done"]),
        ("修复解析器。然后运行测试！好", ["修复解析器。", "然后运行测试！", "好"]),
        ("# Heading\n- **bold** point\n```\ncode. here.\n```\n| a |", ["Heading", "bold point"]),
        ("run ... and wait. ok", ["run ... and wait.", "ok"]),
        ("", []),
        ("हो गया। ठीक है", ["हो गया।", "ठीक है"]),
    ],
)
def test_sentences(words, found):
    assert sentences(words) == found


@pytest.mark.parametrize(
    ("words", "is_so"),
    [
        ("All 12 tests pass.", True),
        ("Now all tests pass.", True),
        ("Nothing else depends on it.", True),
        ("测试全部通过。", True),
        ("Тесты прошли.", True),
        ("Now the tests.", False),
        ("Let me look at the tests.", False),
        ("Applying the fix to the parser.", False),
        ("Shall I commit this?", False),
        ("要提交吗？", False),
        ("What changed is this:", False),
        ("Done.", False),
    ],
)
def test_outcomes_are_told_from_intentions(words, is_so):
    assert is_outcome(words) is is_so


@pytest.mark.parametrize("prompt", ["", "   ", "…", "```\ncode\n```"])
def test_a_prompt_without_words_has_a_subject_all_the_same(prompt):
    script = Script()
    script.prompt(prompt)
    turns(script, 1)
    script.prompt("next")
    assert summary_of(script)["subject"] == "(no words)"


def test_a_summary_on_one_line():
    made = summary_of(worked())
    assert cold.line(made) == (
        "Fix the parser. (turns 1–2; parser.py, notes.md): High water parses now. Tests: 9 passed."
    )
    long = {
        **made,
        "subject": "s" * 120,
        "key_outcomes": ["o " * 119] * 5,
        "files_modified": ["f" * 200] * 9,
    }
    assert len(cold.line(long)) <= 240
    assert len("".join(cold.verbatim(long))) > 1000  # uncut: the block has a room of its own
    bare = {**made, "start_turn": 0, "end_turn": 0, "files_modified": [], "key_outcomes": []}
    assert cold.line(bare) == "Fix the parser."
    assert cold.verbatim({**bare, "errors_resolved": []}) == ["Fix the parser."]


def test_all_that_came_of_it_is_said_verbatim():
    made = summary_of(worked())
    first, *others = made["key_outcomes"]
    assert cold.verbatim(made) == [
        f"Fix the parser. (turns 1–2; parser.py, notes.md): {first}",
        *(f"→ {said}" for said in others),
        f"→ resolved: {made['errors_resolved'][0]}",
    ]


def test_turns_are_numbered_from_what_is_known():
    assert [cold.begun([10, 20, 30], 9, offset) for offset in (5, 10, 19, 20, 99)] == [6, 7, 7, 8, 9]
    assert cold.begun([], 0, 5) == 0
