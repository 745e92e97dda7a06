"""At PreCompact and SubagentStop the end of the transcript is waited for only where something is missing.

What is counted is how often a hook waited, not for how long: that says how busy the machine is.
"""

import pytest

from hooks import copy_package, edit
from session import use
from told import Work, repository


@pytest.fixture
def waits(tmp_path):
    return tmp_path / "waits"


@pytest.fixture
def package(tmp_path, waits):
    made = copy_package(tmp_path / "counts")
    line = "        time.sleep(_SETTLE_STEP_S)\n"
    edit(made / "engine.py", line, f"        open({str(waits)!r}, 'a').write('w')\n{line}")
    return made


@pytest.fixture
def work(home, tmp_path, package):
    made = Work(home, repository(tmp_path / "tidegate"), package=package)
    made.prompt("fix the gate")
    made.hook("UserPromptSubmit", prompt="fix the gate")
    return made


def batch(work, call):
    told = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": call, "tool_response": "a"}
    work.hook("PostToolBatch", tool_calls=[told])


def a_result(work):
    work.answer(use("t1", "Bash", command="ls"))
    work.result("t1", "a")
    batch(work, "t1")


def no_result(work):
    work.answer(use("t1", "Bash", command="ls"))
    batch(work, "t1")


def no_result_and_no_hook(work):
    work.answer(use("t1", "Bash", command="ls"))


def an_answer(work):
    work.say("The gate is mended.")
    work.hook("Stop", last_assistant_message="The gate is mended.")


def no_answer(work):
    a_result(work)
    work.hook("Stop", last_assistant_message="The gate is mended.")


def half_a_line(work):
    an_answer(work)
    work.script.lines.append(work.script.lines[-1][:40])


def an_interrupted_call(work):
    work.answer(use("t0", "Bash", command="sleep"))
    work.prompt("go on")
    an_answer(work)


@pytest.mark.parametrize(
    ("ends", "is_waited_for"),
    [
        (a_result, False),
        (an_answer, False),
        (an_interrupted_call, False),
        (no_result, True),
        (no_result_and_no_hook, True),
        (no_answer, True),
        (half_a_line, True),
    ],
)
def test_the_end_of_the_transcript_is_waited_for_where_it_lacks_something(ends, is_waited_for, work, waits):
    ends(work)
    work.hook("PreCompact", trigger="auto")
    assert waits.exists() == is_waited_for


def test_it_is_over_once_what_lacked_is_there(work, waits, package, tmp_path):
    """The result comes while it waits; all four looks at a file that does not grow are not needed."""
    no_result(work)
    work.result("t1", "a")
    late = work.script.lines.pop()
    line = "        transcripts.catch_up(state, path, *_SETTLE_MOST)\n"
    edit(package / "engine.py", line, f"        open(path, 'ab').write({late!r})\n{line}")
    work.hook("PreCompact", trigger="auto")
    assert len(waits.read_text()) == 1
