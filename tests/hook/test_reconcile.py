"""What a session is told about what has changed since it was saved: by content, not by time."""

import os
import time

import pytest

from holdfast.app import Holdfast
from holdfast.ops.breakpoints import result
from holdfast.reconcile import Probe
from hooks import environ, state
from told import Work, day, git, repository

HOUR = 3600


@pytest.fixture
def project(tmp_path):
    return repository(tmp_path / "tidegate")


@pytest.fixture
def work(home, project):
    return day(Work(home, project))


def saved(work):
    work.hook("SessionEnd", reason="prompt_input_exit")
    return work


def started(work, session="s2"):
    """The lines of a new session's brief, by how they begin."""
    said = Work(work.home, work.project, session).start("startup").split("\n")
    return [line for line in said if line.startswith(("Verified", "Changed since", "Gone", "Not verified"))]


def marks(work):
    return state(work.home)["heard"]["saved"]["files"]


# Files


def test_a_file_that_was_only_touched_is_verified(work):
    saved(work)
    later = time.time() + HOUR
    os.utime(work.project / "src" / "poll.py", (later, later))
    verified, *rest = started(work)
    assert verified.startswith("Verified: branch main, commit ")
    assert verified.endswith(", src/poll.py")
    assert not any("poll.py" in line for line in rest)


def test_a_file_that_was_changed_is_said_to_be_and_how_whatever_its_time_says(work):
    path = saved(work).project / "src" / "poll.py"
    path.write_text("def poll_gauge(): return 5433")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    changed = [line for line in started(work) if "poll.py" in line]
    assert len(changed) == 1
    assert changed[0].startswith("Changed since: src/poll.py (")
    said = "`def poll_gauge(): pass` is now `def poll_gauge(): return 5433`"
    assert changed[0].endswith(f" days ago, 22 → 29 bytes): {said}")


def test_a_file_that_is_gone_is_said_to_be(work):
    (saved(work).project / "src" / "poll.py").unlink()
    assert "Gone since: src/poll.py" in started(work)


def test_of_a_large_file_only_size_and_time_are_known_and_that_is_said(work):
    path = work.edit("src/tides.csv", "1\n" * 200_000)
    saved(work)
    assert [mark[2] for mark in marks(work).values() if mark[0] == 400_000] == [""]
    unsure = "src/tides.csv (size and time are the same; its content was not read)"
    assert any(line.startswith("Not verified: ") and unsure in line for line in started(work))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert any(
        line.startswith("Changed since: src/tides.csv (") and line.endswith(", 400,000 bytes as before)")
        for line in started(work, "s3")
    )


def test_the_content_of_key_files_is_not_even_hashed(work):
    work.edit(".env", "TOKEN=hunter2")
    saved(work)
    assert sorted(bool(mark[2]) for mark in marks(work).values()) == [False, True]


def test_something_else_in_the_place_of_a_file_holds_nobody_up(work):
    path = saved(work).project / "src" / "poll.py"
    path.unlink()
    os.mkfifo(path)
    assert any(line.startswith("Changed since: src/poll.py") for line in started(work))


def test_what_that_session_edited_after_it_was_saved_has_changed(work):
    saved(work)
    work.edit("src/poll.py", "def poll_gauge(): return 1")
    work.path.write_bytes(work.script.bytes())  # it was killed before any hook could save that
    assert any(line.startswith("Changed since: src/poll.py (just now") for line in started(work))


# Tests


def test_of_a_test_that_failed_it_is_said_that_nobody_ran_it_again(work):
    saved(work)
    unsure = "`pytest -q` (failed, and was not seen to be run again)"
    assert any(line.startswith("Not verified: ") and unsure in line for line in started(work))


def test_a_test_that_passed_after_it_was_saved_is_said_to_have(work):
    saved(work)
    work.call("Bash", "43 passed", command="pytest -q")
    work.path.write_bytes(work.script.bytes())
    found = started(work)
    assert "Changed since: `pytest -q` failed, and passed when it was run again (43 passed)" in found
    assert not any("not seen to be run again" in line for line in found)


def test_a_test_that_failed_again_still_fails(work):
    saved(work)
    work.fail("Bash", "Exit code 1\n2 failed, 41 passed", command="pytest -q")
    work.path.write_bytes(work.script.bytes())
    assert started(work)[0].endswith(", `pytest -q` still fails (2 failed, 41 passed)")


# In a session that goes on


def test_after_a_compaction_only_what_somebody_else_changed_is_said(work):
    work.hook("PreCompact")
    assert "since: src" not in work.start("compact")
    (work.project / "src" / "poll.py").write_text("by hand")
    assert "\nChanged since: src/poll.py (just now, 22 → 7 bytes)\n" in work.start("compact")


def test_a_commit_that_somebody_else_made_meanwhile_is_said(work):
    was = git(work.project, "rev-parse", "HEAD")[:12]
    work.hook("PreCompact")
    git(work.project, "commit", "-q", "--allow-empty", "-m", "second")
    now = git(work.project, "rev-parse", "HEAD")[:12]
    assert f"\nChanged since: commit was {was}, is {now}\n" in work.start("compact")


def test_what_the_session_changed_itself_after_the_checkpoint_is_no_news_to_it(work):
    """The summary was made before: PreCompact, more work, and then the swap."""
    work.hook("PreCompact")
    work.edit("src/poll.py", "def poll_gauge(): return 1")
    assert "Changed since" not in work.start("compact")


def test_a_resumed_session_is_not_told_of_files_that_were_only_touched(work):
    work.usual["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 60))
    work.prompt("until tomorrow")
    path = saved(work).project / "src" / "poll.py"
    path.write_text(path.read_text())
    assert work.start("resume") == ""
    path.write_text("by hand")
    assert "Changed since: src/poll.py (just now, 22 → 7 bytes)" in work.start("resume")


# What git says


def test_a_secret_in_the_name_of_a_branch_is_redacted(work):
    saved(work)
    secret = "ghp_" + "x1Y2z3A4b5" * 3 + "C6d7E8"
    git(work.project, "checkout", "-q", "-b", secret)
    changed = [line for line in started(work) if line.startswith("Changed since: branch was main, is ")]
    assert len(changed) == 1
    assert secret not in changed[0]
    assert "[redacted:" in changed[0]


# What the file says by now


def brief(work, session="s2", source="startup"):
    return Work(work.home, work.project, session).start(source)


def test_a_line_that_was_changed_before_the_checkpoint_is_not_called_verified(work):
    """Its content is that of the checkpoint, but not what the session wrote."""
    path = work.edit("src/gate.py", "def gate(level):\n    return level * 3\n")
    path.write_text("def gate(level):\n    return level * 2\n")
    said = brief(saved(work))
    verified = [line for line in said.split("\n") if line.startswith("Verified")]
    assert "src/poll.py" in verified[0]
    assert "gate.py" not in verified[0]
    told = "src/gate.py (just now): `return level * 3` is now `return level * 2`"
    assert f"\nChanged before it was saved: {told}\n" in said
    assert "Changed since: src/gate.py" not in said, "since it was saved nobody has touched it"
    assert "Edited last: src/gate.py" not in said


def test_what_a_formatter_laid_out_otherwise_before_it_was_saved_is_as_it_was(work):
    path = work.edit("src/gate.py", "GATE = call(a,  'b')\n")
    path.write_text('GATE = call(a, "b")\n')
    said = brief(saved(work))
    assert "gate.py" in next(line for line in said.split("\n") if line.startswith("Verified"))
    assert not any("gate.py" in line for line in said.split("\n") if line.startswith("Changed"))


def test_and_laid_out_otherwise_since_it_has_changed(work):
    path = work.edit("src/gate.py", "GATE = call(a,  'b')\n")
    saved(work)
    path.write_text('GATE = call(a, "b")\n')
    assert "\nChanged since: src/gate.py (just now" in brief(work)


def test_other_words_are_no_other_layout(tmp_path):
    path = tmp_path / "app.py"
    path.write_text('NAME = "onetwo"\n')
    probe = Probe(0)
    probe.written([[1, str(path), 'NAME = "one two"']], str)
    assert probe.stale


GONE = "is not in it any more"
SUCCESSORS = [
    # What was written, what stands there now, and what is said of it.
    ("import os\n", "import re\n", f"`import os` {GONE}"),
    ("import os\n", "import json\nimport re\n", f"`import os` {GONE}"),
    ("import json\nimport os\n", "import json\nimport re\nX = 1\n", f"`import os` {GONE}"),
    ("add(one)\nadd(two)\n", "add(one)\nadd(three)\nadd(four)\n", f"`add(two)` {GONE}"),
    (
        "import json\nimport os\nX = 1\n",
        "import json\nimport re\nX = 1\n",
        "`import os` is now `import re`",
    ),
    ("WAIT = 30\n", "A = 1\nWAIT = 60\nB = 2\n", "`WAIT = 30` is now `WAIT = 60`"),
    ("- name: one\n", "- name: two\n- name: six\n", f"`- name: one` {GONE}"),
    (
        "def a():\n    return b * 3\n",
        "def a():\n\n    return b * 2\nX = 1\n",
        "`return b * 3` is now `return b * 2`",
    ),
    ("if a == 3:\n", "x = 1\nif a == 4:\ny = 2\n", f"`if a == 3:` {GONE}"),
]


@pytest.mark.parametrize(("wrote", "stands", "told"), SUCCESSORS)
def test_only_what_is_in_the_place_of_a_line_is_called_what_it_is_now(wrote, stands, told, tmp_path):
    path = tmp_path / "app.py"
    path.write_text(stands)
    probe = Probe(0)
    probe.written([[1, str(path), " ⏎ ".join(map(str.strip, wrote.strip().split("\n")))]], str)
    assert probe.stale == {str(path): told}


def test_a_line_that_was_changed_after_it_is_told_with_what_it_is_now(work):
    path = work.edit("src/gate.py", "def gate(level):\n    return level * 3\n")
    saved(work)
    path.write_text("def gate(level):\n    return level * 2 + 1\n")
    said = brief(work)
    assert "`return level * 3` is now `return level * 2 + 1`" in said
    assert "Edited last: src/gate.py" not in said


def test_a_line_that_is_gone_is_said_to_be(work):
    path = work.edit("src/gate.py", "def gate(level):\n    return level * 3\n")
    saved(work)
    path.write_text("# nothing is left\n")
    assert "`def gate(level):` is not in it any more" in brief(work)


def test_a_secret_that_stands_there_now_is_not_told(work):
    path = work.edit("src/gate.py", "TOKEN = load()\n")
    saved(work)
    secret = "ghp_" + "x1Y2z3A4b5" * 3 + "C6d7E8"
    path.write_text(f"TOKEN = '{secret}'\n")
    said = brief(work)
    assert "TOKEN = load()` is" in said
    assert secret not in said


def test_what_the_session_wrote_and_still_stands_is_verified(work):
    work.edit("src/gate.py", "def gate(level):\n    return level * 3\n")
    said = brief(saved(work))
    assert "src/gate.py" in started(work, "s3")[0]
    assert "is now" not in said


def test_where_the_facts_are_gone_the_sections_are_looked_at(work):
    path = work.edit("src/gate.py", "def gate(level):\n    return level * 3\n")
    saved(work)
    (work.folder() / "facts.json").unlink()
    path.write_text("# nothing is left\n")
    said = brief(work)
    assert "`def gate(level):` is not in it any more" in said


# Tests that somebody else ran


def report(work, passed, command="pytest -q"):
    """As a person's terminal or a machine does it."""
    app = Holdfast.open(environ(work.home))
    result(
        app,
        environment="dev",
        passed=passed,
        test_count=43,
        duration_seconds=1.0,
        failed_count=0 if passed else 3,
        test_command=command,
        project=str(work.project),
    )


STANDS = "The websocket test fails because the proxy drops frames."


@pytest.mark.parametrize("command", ["pytest -q", ""])
def test_tests_that_passed_elsewhere_since_are_told_and_what_failed_is_past(command, work):
    work.say(STANDS)
    saved(work)
    report(work, passed=True, command=command)
    said = brief(work)
    by = f"`{command}`, " if command else ""
    assert f"\nChanged since: tests passed ({by}43 tests, just now)\n" in said
    assert "not seen to be run again" not in said
    assert "pytest -q → 2 failed" not in said
    told = [line for line in said.split("\n") if STANDS in line]
    assert told == [f"{STANDS} (said before the tests passed)"], "and once"


def test_tests_that_passed_before_it_was_saved_are_no_news(work):
    report(work, passed=True)
    time.sleep(0.01)
    work.usual["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime())
    work.prompt("on")
    said = brief(saved(work))
    assert "tests passed" not in said
    assert "`pytest -q` (failed, and was not seen to be run again)" in said


def test_a_run_that_does_not_say_what_was_run_clears_nothing_where_several_are_known(work):
    work.call("Bash", "12 passed", command="npm test")
    saved(work)
    report(work, passed=True, command="")
    said = brief(work)
    assert "\nChanged since: tests passed (43 tests, just now)\n" in said
    assert "`pytest -q` (failed, and was not seen to be run again)" in said
    assert "said before the tests passed" not in said


def test_other_tests_that_passed_say_nothing_of_those_that_failed(work):
    saved(work)
    report(work, passed=True, command="npm test")
    said = brief(work)
    assert "\nChanged since: tests passed (`npm test`, 43 tests, just now)\n" in said
    assert "`pytest -q` (failed, and was not seen to be run again)" in said


def test_tests_that_still_fail_elsewhere_still_fail(work):
    saved(work)
    report(work, passed=False)
    assert "`pytest -q` still fails" in brief(work)


def test_what_another_session_ran_is_known(work):
    saved(work)
    other = Work(work.home, work.project, "s2")
    other.start("startup")
    other.prompt("do the tests pass?")
    other.call("Bash", "43 passed in 1.0s", command="pytest -q")
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_response": "43 passed in 1.0s",
    }
    other.hook("PostToolBatch", **call)
    other.hook("SessionEnd", reason="prompt_input_exit")
    said = brief(work, "s3")
    assert "Changed since: tests passed (`pytest -q`" in said
    assert "not seen to be run again" not in said


def test_a_resumed_session_is_told_that_its_tests_passed_since(work):
    work.usual["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 60))
    work.prompt("until tomorrow")
    saved(work)
    report(work, passed=True)
    assert "Changed since: tests passed (`pytest -q`, 43 tests, just now)" in work.start("resume")
