"""What is said of test runs: real output of some forty runners, whole, piped, chained and cut."""

import json

import pytest

from holdfast.core import fold, shell, started, testruns
from holdfast.core.facts import Facts, parse
from holdfast.core.jsontext import dump
from holdfast.core.outcome import outcome, tells_failure
from holdfast.core.runners import RUNNERS
from holdfast.core.seen import checksum
from truths import verdicts

CASES = verdicts.cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['runner']}-{case['cls']}")
def test_nothing_untrue_is_said_of_a_run(case):
    for shape, command, status, text, so in verdicts.shapes(case):
        ended = outcome(command, status, text)
        said = ended.ended if ended else "unknown"
        assert said in (so, "unknown"), shape
        if shape == "plain" and case["source"] == "run here" and case["summed"]:
            assert said == so


def test_the_status_of_the_shell_alone_would_be_wrong_of_many():
    """The control: these cases can tell."""
    said = [("passed" if status == 0 else "failed", so) for case in CASES for *_, status, _, so in
            verdicts.shapes(case)]  # fmt: skip
    assert sum(told != so for told, so in said) > 300


def test_there_are_two_dozen_runners_of_eight_languages():
    tried = {case["runner"] for case in CASES}
    assert len(tried & {runner.name for runner in RUNNERS}) >= 24
    assert len({runner.language for runner in RUNNERS if runner.name in tried}) >= 8


CALLS = [call for runner in RUNNERS for call in runner.calls.split("|") if call]


@pytest.mark.parametrize("call", CALLS)
def test_every_way_to_call_a_runner_is_seen_on_a_tool_call(call):
    command = call.replace("..", "--quiet")
    assert fold.runs_tests(f"python {command}" if command.startswith("-m") else command)


def test_the_words_that_are_looked_for_on_a_tool_call_are_those_that_run_tests():
    tasks = testruns._MAY_TEST | testruns._TESTING
    assert [word for word in tasks if not fold.runs_tests(f"make {word}")] == []
    calls = {word for call in CALLS for word in call.replace("/", " ").split()}
    assert fold._MAY_TEST - calls - tasks == set()


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("cd x && uv run pytest -q 2>&1 | tail -5", "uv run pytest -q"),
        ("uv run ruff check . && uv run pytest -q", "uv run pytest -q"),
        ("cat >> docs/A.md <<'EOF'\npytest -q\nEOF\nmake lint; npm test", "npm test"),
        ("bash -c 'cd x && pytest -q'", "bash -c 'cd x && pytest -q'"),
        ("docker compose run --rm app npm test", "docker compose run --rm app npm test"),
        ("for d in a b; do (cd $d && go test ./...); done", "go test ./..."),
        ("npx tsc --noEmit && npx vitest run > out.txt", "npx vitest run"),
    ],
)
def test_what_runs_the_tests_is_named_and_not_what_stands_beside_it(command, named):
    assert outcome(command, 1, "").named == named


@pytest.mark.parametrize(
    "command",
    [
        'grep -rn "pytest" .',
        'git commit -m "run pytest"',
        "which pytest",
        "pip install pytest",
        "pytest --version",
        "pytest --collect-only -q",
        "go vet ./...",
        "npm run lint",
        "npm run test:lint",
        "uv run grep -rn pytest .",
        "tox -e lint",
        "mvn -DskipTests package",
        "npx playwright install",
        "test -f x && ls",
        "cat >> docs/DEVELOPMENT.md <<'EOF'\npytest -q\nEOF",
    ],
)
def test_what_only_names_tests_runs_none(command):
    assert not fold.runs_tests(command)


#: command, status, what was printed, how it ended.
WHOSE = [
    ("pytest -q && echo ok || echo bad", 0, "x\nbad", "failed"),
    ("pytest -q > /dev/null && echo ALL PASS || { echo FAILURES; pytest -q; }", 0, "ALL PASS", "passed"),
    ("pytest -q > log; echo exit=$?", 0, "exit=1", "failed"),
    ("pytest | tail -3; exit ${PIPESTATUS[0]}", 1, "x", "failed"),
    ("pytest || exit 1; ls", 0, "a b", "passed"),
    ("set -e; pytest; ls", 0, "a b", "passed"),
    ("set -euo pipefail\npytest | tee log", 1, "", "failed"),
    ("cd nowhere && pytest", 1, "bash: cd: nowhere: No such file or directory", "unknown"),
    ("make build && pytest", 2, "error: no rule", "unknown"),
    ("pytest a && npm test", 1, "3 passed in 0.1s", "failed"),
    ("pytest a | tail; pytest b | tail", 0, "3 passed in 0.1s", "unknown"),
    ("go test ./... | grep -v '^ok' | head", 0, "?  a [no test files]", "unknown"),
    ("go test ./... | head -3", 0, "ok  a 0.1s\nok  b 0.1s\nok  c 0.1s", "unknown"),
    ("pytest -q", 0, "1 failed, 3 passed in 0.2s", "failed"),
    ("pytest -q", 1, "3 passed in 0.2s", "unknown"),
    ("pytest -q", 137, "3 passed in 0.2s", "unknown"),
    (
        "pytest -q",
        0,
        "moved to the background (ID: b1). Output is being written to: /t/b1.output",
        "unknown",
    ),
    ("pytest -q", 1, "!!! KeyboardInterrupt !!!\n3 passed in 0.2s", "unknown"),
    ("pytest > run.log; cat other.log", 0, "9 passed in 1.00s", "unknown"),
    ("make check", 0, "All good", None),
    ("make check", 0, "12 passed in 0.31s", "passed"),
    ("npm test -ws", 0, "Tests: 1 failed, 5 passed, 6 total\nTests: 8 passed, 8 total", "failed"),
    ("pytest | tail -1", 0, "\x1b[32m\x1b[1m1,234 passed\x1b[0m\x1b[32m in 9.1s\x1b[0m", "passed"),
]


@pytest.mark.parametrize(("command", "status", "printed", "expected"), WHOSE)
def test_a_status_counts_only_where_it_is_that_of_the_tests(command, status, printed, expected):
    ended = outcome(command, status, printed)
    assert (ended and ended.ended) == expected


@pytest.mark.parametrize("case", verdicts.commands(), ids=lambda case: case["command"][:60])
def test_a_run_is_told_from_what_stands_beside_it(case):
    ended = outcome(case["command"], case["status"], case["text"])
    assert (ended and ended.ended) == case["ended"]


@pytest.mark.parametrize("behind", ["; true", "| tail"])
def test_the_status_of_a_command_that_was_read_in_part_says_nothing(behind):
    short, long = (f"pytest -q {'a ' * many}" for many in (8, 8300))
    assert outcome(short, 0, "").ended == "passed"
    assert outcome(long + behind, 0, "").ended == outcome(short + behind, 0, "").ended == "unknown"
    assert outcome("pytest -q #" + " " * shell.LOOKED_AT, 0, "").ended == "unknown"


def test_every_part_of_a_command_is_weighed_once(monkeypatch):
    """A status in brackets that is asked for again, in brackets, takes no work twice."""
    weighed = []
    simple = testruns.Runs._simple
    monkeypatch.setattr(
        testruns.Runs, "_simple", lambda self, part: weighed.append(1) or simple(self, part)
    )
    command = "pytest"
    for _ in range(12):
        command = f"({command}) | tail; echo ${{PIPESTATUS[0]}}; "
    runs = testruns.Runs(command)
    assert len(runs.found) == 1
    assert 12 < len(weighed) <= len(shell.simple(shell.read(command)))


@pytest.mark.parametrize(
    "command", ["eval " * 20_000 + "pytest", "eval '" * 20 + "x " * 30_000, "bash -c 'eval " * 3000]
)
def test_scripts_in_scripts_are_read_up_to_a_number_of_characters(monkeypatch, command):
    seen = []
    read = shell.read
    monkeypatch.setattr(shell, "read", lambda command: seen.append(len(command)) or read(command))
    testruns.runs_tests(command)
    started.calls(command)
    assert seen
    assert sum(seen) <= 2 * (len(command) + started.MOST_OF_SCRIPTS)


@pytest.mark.parametrize(
    "once", ["python -m coverage run ", "coverage run -m ", "php ", "nice ", "$(", "(x; echo $("]
)
def test_what_starts_itself_again_and_again_ends(once):
    testruns.runs_tests(once * 3000 + "pytest")
    testruns.runs_tests(("$(" + "(" * 24) * 24 + "pytest" + (")" * 25) * 24)


def test_a_long_command_is_read_in_part_and_odd_ones_to_some_end():
    assert not testruns.runs_tests("a;" * shell.LOOKED_AT + "pytest")
    for odd in ('"$(' * 5000, "bash -c '" * 3000, "a && " * 20_000, "if true; then " * 3000, "`" * 999):
        assert testruns.runs_tests(f"pytest; {odd}")


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("Test run: `pytest -q` → exit 1: 2 failed, 40 passed (turn 1)", True),
        ("pytest -q → failed, exit 1: x", True),
        ("pytest -q → 1 error, 3 passed", True),
        ("pytest -q → 3 passed", False),
        ("pytest -q → result not known: 3 failed", False),
    ],
)
def test_a_line_of_ours_that_tells_a_failure_is_known(line, tells):
    assert tells_failure(line) is tells


def test_facts_of_the_version_before_say_of_their_tests_that_the_result_is_not_known():
    facts = Facts()
    saved = dict(json.loads(facts.render()))
    saved["touched"]["commands"] = {"cd a && pytest -q": [2, 3, 0, "ok"], "ls": [1, 1, 0, ""]}
    version = saved.pop("v")
    del saved["sum"]
    rest = dump(saved)[1:].encode()
    read = parse(b'{"v":%d,"sum":%d,' % (version, checksum(rest)) + rest, "facts.json")
    (run,) = read.touched.tests()
    assert (run.named, run.said) == ("pytest -q", "result not known")
