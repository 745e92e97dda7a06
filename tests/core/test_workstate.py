"""Whether a checkpoint holds work, and whether that is finished: every sign as a row."""

import pytest

from holdfast.core.workstate import FINISHED, OPEN, TALK, closes, goal, is_only_talk, nothing, of

EDIT = {"What Changed": ["[src/gate.py:1] - `x = 1` (+1 −0) (turn 3, abc)"]}
COMMIT = "`git commit -am x` → exit 0 (turn 4, abc)"
PASSED = "Test run: `pytest -q` → exit 0: 43 passed (turn 4, abc)"

ROWS = [
    ({}, TALK),
    ({"Goal": ["hello, where were we (entry a)", "Then: ok then (turn 1, b)"]}, TALK),
    ({"Goal": ["Fix the gate (entry a)"]}, OPEN),
    ({"Standing Instructions": ["Never use tabs (turn 1, a)"]}, OPEN),
    ({"Standing Instructions": ["Don't touch the migrations folder. (turn 1, a)"]}, OPEN),
    ({"Standing Instructions": ["No new dependencies, please. (turn 1, a)"]}, OPEN),
    ({"Goal": ["what is left?"], "Next Steps": ["[ ] Go on from: The tests are left. (turn 1, a)"]}, TALK),
    (EDIT, OPEN),
    ({"Plan and Workflow": ["Task 1 (pending): test the relay (turn 1, a)"]}, OPEN),
    ({"Plan and Workflow": ["Plan (turn 1, a):\n> do it"]}, OPEN),
    ({"Active Issues": ["`make all`: Exit code 2 (turn 1, a)"]}, OPEN),
    ({"Active Issues": ["`ls nothing`: Exit code 2 (turn 1, a)"]}, TALK),
    ({"Active Issues": ["`holdfast report`: ValueError (turn 1, a)"]}, TALK),
    ({"Active Issues": ["There is no transcript to read: … (12 tool calls, 2 failed, 3 prompts)"]}, OPEN),
    ({"Active Issues": ["There is no transcript to read: … (0 tool calls, 0 failed, 1 prompts)"]}, TALK),
    ({"Commands and Tests": ["Test run: `pytest -q` → exit 1: 3 failed, 40 passed (turn 1, a)"]}, OPEN),
    ({"Commands and Tests": ["Test run: `pytest -q` → 3 failed, 40 passed (turn 1, a)"]}, OPEN),
    ({"Commands and Tests": [PASSED]}, TALK),
    ({"Commands and Tests": ["Test run: `pytest -q` → 43 passed (turn 1, a)"]}, TALK),
    ({"Commands and Tests": ["Test run: `pytest -q` → result not known (turn 1, a)"]}, TALK),
    (
        {"Commands and Tests": ["`cat a.txt` → exit 0 (turn 1, a)", "`git log -3` → exit 0 (turn 1, a)"]},
        TALK,
    ),
    ({"Commands and Tests": ["`mkdir -p /tmp/x` → exit 0 (turn 1, a)"]}, TALK),
    ({"Commands and Tests": ["`holdfast report > page.html` → exit 0 (turn 1, a)"]}, TALK),
    ({"Commands and Tests": ["`echo high > tide.txt` → exit 0 (turn 1, a)"]}, OPEN),
    ({"Commands and Tests": ["`sed -i s/a/b/ tide.txt` → exit 0 (turn 1, a)"]}, OPEN),
    ({"Commands and Tests": ["`rm -r build` → exit 0 (turn 1, a)"]}, OPEN),
    ({"Commands and Tests": ["`git stash` → exit 0 (turn 1, a)"]}, OPEN),
    ({"Key Decisions": ["We chose sqlite instead of a server. (turn 1, a)"]}, OPEN),
    ({"Key Decisions": ["It would be simpler so. (turn 1, a)"]}, TALK),
    ({"Key Decisions": ["Asked: Which store? The user answered: files (turn 1, a)"]}, OPEN),
    # Finished
    ({**EDIT, "Commands and Tests": [PASSED, COMMIT]}, FINISHED),
    ({**EDIT, "Commands and Tests": ["`git commit -am x` → exit 0 (turn 2, abc)"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT, "`echo a > b.txt` → exit 0 (turn 5, a)"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT, "`git push` → exit 0 (turn 5, a)"]}, FINISHED),
    ({**EDIT, "Commands and Tests": ["`git commit -am x` → exit 1 (turn 4, abc)"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT], "Goal": ["Now write the docs (turn 5, b)"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT], "Goal": ["thanks, bye (turn 5, b)"]}, FINISHED),
    ({**EDIT, "Commands and Tests": [COMMIT], "Active Issues": ["[src/gate.py:3] - TODO: more"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT], "Plan and Workflow": ["To do (pending): more"]}, OPEN),
    ({**EDIT, "Commands and Tests": [COMMIT], "Plan and Workflow": ["To do (completed): it"]}, FINISHED),
]


@pytest.mark.parametrize(("sections", "state"), ROWS)
def test_a_checkpoint_holds_work(sections, state):
    assert of(sections, is_repository=True) == state


@pytest.mark.parametrize(
    ("sections", "is_talk"),
    [
        ({"Goal": ["hello, where were we (entry a)"]}, True),
        ({"Goal": ["Don't touch the migrations folder. (entry a)"]}, False),
        ({"Goal": ["Show the total in the page header (entry a)"]}, False),
        ({"Goal": ["hello"], "Standing Instructions": ["No new dependencies, please. (entry a)"]}, False),
        ({"Standing Instructions": ["Don't change anything. (entry a)"]}, False),
    ],
)
def test_what_holds_an_order_is_not_only_talk(sections, is_talk):
    assert is_only_talk(sections, nothing) is is_talk


def test_a_decision_that_was_known_before_is_none():
    said = {"Key Decisions": ["Agent: We chose sqlite instead of a server because there is no network."]}
    assert (
        of(said, True, lambda: "We chose sqlite instead of a server, because there is no network.") == TALK
    )
    assert of(said, True, lambda: "The gate opens at high tide.") == OPEN


def test_its_goal_is_what_was_wanted_last():
    asked = ["Fix the gate (entry a)", "Then: Now write the docs (turn 2, b)", "Then: thanks (turn 3, c)"]
    assert goal({"Goal": asked}) == "Now write the docs"
    assert goal({"Goal": ["hello (entry a)"]}) == "hello"
    assert goal({}) == ""


def test_work_on_the_same_files_goes_on_with_it():
    other = {"What Changed": ["[src/poll.py:1] - changed (+1 −0)"]}
    assert closes({**EDIT, "Goal": ["x"]}, EDIT)
    assert not closes(other, EDIT)
    assert closes(EDIT, {"Goal": ["Fix the gate of the weir"]} | {"What Changed": EDIT["What Changed"]})
    assert not closes({}, {})
    assert not closes({**EDIT, "Goal": ["Add a foghorn"]}, {"Goal": ["Fix the gate"]})
    assert closes({**EDIT, "Goal": ["Fix the gate now"]}, {"Goal": ["Fix the gate"]})


def wrote(aim, *names):
    return {
        "Goal": [aim],
        "What Changed": [f"[{name}:1] - changed (+1 −0) (turn 3, abc)" for name in names],
    }


EXPORT = wrote("Build the billing CSV export.", "src/billing.py", "CHANGELOG.md")
LATER = [
    (wrote("Fix the login redirect and commit it.", "src/auth.py", "CHANGELOG.md"), False),
    (wrote("Fix the login redirect.", "src/auth.py", "src/billing.py", "CHANGELOG.md"), True),
    (wrote("Finish the billing CSV export.", "src/billing.py"), True),
    (wrote("Finish the export and commit it.", "src/billing.py"), True),
    (wrote("Write the release notes.", "CHANGELOG.md"), False),
    (wrote("go on", "src/billing.py"), True),
    (wrote("Build the billing CSV export.", "src/other.py"), False),
]


@pytest.mark.parametrize(("later", "does"), LATER)
def test_one_file_in_common_finishes_nothing(later, does):
    assert closes(later, EXPORT) is does
