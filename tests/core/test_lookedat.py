"""Test runs that went on in the background, or printed to a file: whose result it is that is seen later."""

import pytest

from gathering import facts_of
from session import Script, use

STARTED = (
    "Command running in background with ID: bx41ds2. Output is being written to: /t/tasks/bx41ds2.output"
)
FIVE = "5 passed in 1.00s"
TO_FILE, LEFT_ALONE = "pytest -q > out.log; date", "pytest -q > out.log &"
GOES_ON, SO_FAR = "cargo test", "test result: ok. 5 passed; 0 failed"
OVER = "<status>completed</status><exit_code>0</exit_code>"
STATUS = 'tail -2 out.log; echo "exit code: $?"'

#: The run, what the shell printed of it at once, the tool and what it was given, what that printed, what is
#: said of the run. Found by review, unless it says otherwise.
LOOKS = [
    (LEFT_ALONE, "", "Bash", STATUS, "collecting ...\nexit code: 0", None),
    (LEFT_ALONE, "", "Bash", "pytest tests/unit -q; ls", FIVE + "\nout.log", None),
    (LEFT_ALONE, "", "Read", "/home/mira/tidegate/docs/old.md", "see out.log\n" + FIVE, None),
    ("pytest -q", STARTED, "Bash", "echo bx41ds2", FIVE, None),
    ("pytest -q", STARTED, "Grep", "", "bx41ds2\n" + FIVE, None),
    # Beside them: what is a look, and what is none.
    (TO_FILE, "", "Bash", "tail -2 out.log", FIVE, "5 passed"),
    (TO_FILE, "", "Bash", "sleep 5; tail -2 /home/mira/tidegate/out.log | cat", FIVE, "5 passed"),
    (TO_FILE, "", "Bash", "cat other.log out.log", FIVE, None),
    (TO_FILE, "", "Bash", "tail -2 old/out.log", FIVE, None),
    ("cd lib && " + TO_FILE, "", "Bash", "tail -2 lib/out.log", FIVE, "5 passed"),
    (TO_FILE, "", "Bash", "grep -o '[0-9]* passed' out.log", "5 passed", None),
    (TO_FILE, "", "Bash", "grep passed out.log", "1 failed, 5 passed in 1.00s", "1 failed, 5 passed"),
    (TO_FILE, "", "Bash", "python show.py out.log", FIVE, None),
    (TO_FILE, "", "Read", "/home/mira/tidegate/out.log", "    1→" + FIVE, "5 passed"),
    (TO_FILE, "", "Read", "/home/dev/other/out.log", FIVE, None),
    ("pytest -q", STARTED, "Read", "/t/tasks/bx41ds2.output", FIVE, "5 passed"),
    ("pytest -q", STARTED, "BashOutput", "bx41ds2", OVER, "passed, exit 0"),
    ("pytest -q", STARTED, "TaskOutput", "bx41ds3", "<exit_code>0</exit_code>\n" + FIVE, None),
    ("pytest -q", STARTED, "", "bx41ds2", "completed (exit code 0)", "passed, exit 0"),
    ("pytest -q", STARTED, "", "bx41ds2", "failed with exit code 1", "failed, exit 1"),
    ("pytest -q", STARTED, "", "bx41ds3", "completed (exit code 0) of bx41ds2", None),
    (GOES_ON, STARTED, "Read", "/t/tasks/bx41ds2.output", SO_FAR, None),
    (GOES_ON, STARTED, "BashOutput", "bx41ds2", "<status>running</status>\n" + SO_FAR, None),
]  # fmt: skip


@pytest.mark.parametrize(("command", "at_once", "tool", "given", "printed", "said"), LOOKS)
def test_only_a_look_at_that_run_tells_how_it_ended(command, at_once, tool, given, printed, said):
    made = Script()
    made.prompt("Build the tide table")
    made.answer(use("r1", "Bash", command=command))
    made.result("r1", at_once)
    if tool:
        named = {"Bash": "command", "Read": "file_path", "BashOutput": "bash_id"}.get(tool, "task_id")
        made.answer(use("r2", tool, **{named: given}))
        made.result("r2", printed)
    else:
        notice = f"<task-id>{given}</task-id><status>completed</status><summary>{printed}</summary>"
        made.prompt(f"<task-notification>{notice}</task-notification>", promptSource=None)
    facts = facts_of(made)
    assert [run.said for run in facts.touched.tests() if run.named in command] == [
        said or "result not known"
    ]
