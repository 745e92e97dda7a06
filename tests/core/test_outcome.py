"""How a test run ended, as runners say it."""

import pytest

from holdfast.core.outcome import outcome

#: command, status, what it printed, how it ended: (passed, tests, failed), or a word for what is not that.
RUNS = [
    ("pytest -q", 0, "12 passed in 0.31s", (True, 12, 0)),
    ("pytest -q", 0, "= 12 passed, 2 skipped, 1 warning in 0.31s =", (True, 12, 0)),
    ("pytest", 1, "FAILED t.py::a\n= 1 failed, 3 passed, 2 errors in 2.00s =", (False, 6, 3)),
    ("pytest", 1, "", (False, 0, 0)),
    ("pytest", 0, "", (True, 0, 0)),
    ("pytest", 5, "no tests ran in 0.01s", "none"),
    ("pytest", 4, "ERROR: file not found", "unknown"),
    ("pytest", 127, "pytest: command not found", "unknown"),
    ("pytest", 137, "Killed", "unknown"),
    ("pytest", -1, "", "unknown"),
    ("pytest", -1, "1 failed in 1s", (False, 1, 1)),
    ("cd lib && pytest", 0, "3 passed", (True, 3, 0)),
    ("cd lib\npytest 2>&1", 0, "3 passed", (True, 3, 0)),
    # The status is another's.
    ("pytest -q | tail -3", 0, "1 failed, 11 passed in 2s", (False, 12, 1)),
    ("pytest -q 2>&1 | tail -3", 0, "12 passed in 2s", (True, 12, 0)),
    ("pytest | tail -3", 0, "", "unknown"),
    ("pytest || true", 0, "", "unknown"),
    ("pytest; echo done", 0, "done", "unknown"),
    ("pytest &", 0, "", "unknown"),
    ("pytest && ls | wc", 0, "5", (True, 0, 0)),
    ("pytest -q; git commit -m 'Mend it\n\npytest -q'", 0, "", "unknown"),
    # Others.
    (
        "npx jest",
        1,
        "Tests:       1 failed, 5 passed, 6 total\nSnapshots:   0 total\nTime: 1 s",
        (False, 6, 1),
    ),
    ("npm test", 0, "Test Suites: 2 passed, 2 total\nTests:       8 passed, 8 total", (True, 8, 0)),
    ("npx vitest run", 0, " Test Files  1 passed (1)\n      Tests  5 passed (5)", (True, 5, 0)),
    ("npx mocha", 0, "  5 passing (12ms)", (True, 5, 0)),
    (
        "cargo test",
        0,
        "test result: ok. 5 passed; 0 failed; 0 ignored\n\ntest result: ok. 0 passed; 0 failed",
        (True, 5, 0),
    ),
    ("cargo test", 101, "error[E0425]: cannot find value", (False, 0, 0)),
    ("go test ./...", 0, "ok  \texample.org/lock\t0.2s", (True, 0, 0)),
    ("go test ./...", 1, "FAIL\texample.org/lock", (False, 0, 0)),
    ("bundle exec rspec", 0, "12 examples, 0 failures", (True, 12, 0)),
    ("bundle exec rspec", 1, "12 examples, 2 failures", (False, 12, 2)),
    # Not about tests, or a number nobody can believe.
    ("pytest | tail", 0, "Found 3 errors.", "unknown"),
    ("pytest | tail", 0, "99999999999 passed", "unknown"),
    ("pytest | tail", 0, "٣ passed", "unknown"),
    ("pytest | tail", 0, "passed", "unknown"),
]


@pytest.mark.parametrize(("command", "status", "printed", "expected"), RUNS)
def test_what_is_known_of_a_run(command, status, printed, expected):
    ended = outcome(command, status, printed)
    told = (ended.is_good, ended.count, ended.failed + ended.errors) if ended.is_known else ended.ended
    assert told == expected


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("1 passed, 1 xfailed in 0.1s", "1 passed"),
        ("1 passed, 1 xpassed in 0.1s", "1 passed"),
        ("1 failed, 1 xfailed in 0.1s", "1 failed"),
        ("2 xfailed in 0.1s", "passed, exit 0"),
    ],
)
def test_what_was_expected_to_fail_is_not_counted_as_passed(printed, said):
    assert outcome("pytest -q", 1 if "failed," in printed else 0, printed).said() == said


def test_of_a_run_that_was_repeated_the_last_is_counted():
    ended = outcome("pytest -q; python fix.py; pytest -q", 0, "1 failed in 1s\n2 passed in 1s")
    assert ended.with_status() == "exit 0: 2 passed"


def test_a_command_that_runs_no_tests_has_no_outcome():
    for command in ("ruff check src", "npm run build", "grep -n pytest x.py", "pip install pytest", ""):
        assert outcome(command, 0, "12 passed in 0.31s") is None
