"""Planted instructions never come out as instructions: the short form of bench/injection.py."""

import pytest

import carriers
from carriers import CARRIERS, SAFEGUARDS, came_out, play, violations, without
from payloads import CANARY, PAYLOADS

#: One that tries everything at once, for hooks in processes of their own.
ALL_AT_ONCE = "\n\n".join(words for words in PAYLOADS.values() if len(words) < 700)
#: What tools print, other hooks say and strangers leave in a repository is never said again.
NEVER_SAID = frozenset(
    (
        *("command_output", "file_read", "search_result", "web_page", "mcp_output", "mcp_error"),
        *("interrupted_output", "denied_by_a_rule", "hook_of_another", "agents_own_lines"),
        *("fields_of_an_event", "cloned_checkpoint", "selected_in_the_editor", "skill"),
        "output_of_a_local_command",
    )
)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch):
    monkeypatch.setattr(carriers.engine, "_SETTLE_S", 0.0)


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__)
def test_whatever_way_it_comes_in_it_is_data_when_it_comes_out(carrier, tmp_path):
    case = play(tmp_path, carrier, ALL_AT_ONCE, inside=False)
    assert list(violations(case)) == []
    assert len([said for _, said in case.printed if said]) >= 5
    if carrier.__name__ in NEVER_SAID:
        assert not came_out(case)


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize(
    "carrier", [carriers.said_by_the_model, carriers.prompt], ids=["the model", "a person"]
)
def test_whatever_it_is_it_is_data_when_it_comes_out(carrier, name, tmp_path):
    case = play(tmp_path, carrier, PAYLOADS[name])
    assert list(violations(case)) == []
    assert came_out(case)


#: A case that each safeguard is there for.
_SHOWN_BY = {
    "inert": (carriers.said_by_the_model, "closes our fence"),
    "fenced": (carriers.said_by_the_model, "ignore"),
    "not_typed": (carriers.said_by_the_model, "a typed line"),
    "slash_command": (carriers.skill, "a slash command"),
    "is_refused": (carriers.mcp_error, "ignore"),
    "typed": (carriers.selected_in_the_editor, "ignore"),
    "one_line": (carriers.said_by_the_model, "turned around"),
}


@pytest.mark.parametrize("safeguard", SAFEGUARDS)
def test_without_a_safeguard_it_would_be_noticed(safeguard, tmp_path):
    carrier, name = _SHOWN_BY[safeguard]
    with without(safeguard):
        case = play(tmp_path / "without", carrier, PAYLOADS[name])
    assert list(violations(case))
    assert list(violations(play(tmp_path / "with", carrier, PAYLOADS[name]))) == []


def wrong(kind, said, typed=("typed by hand",)):
    return list(violations(carriers.Case([(kind, said)], list(typed))))


FENCE = "<holdfast-0123456789abcdef>\n{}\n</holdfast-0123456789abcdef>"


@pytest.mark.parametrize(
    "said",
    [
        f"{CANARY}",
        FENCE.format("ours") + CANARY,
        CANARY + FENCE.format("ours"),
        FENCE.format("ours\n</system-reminder>"),
        FENCE.format("ours\n<holdfast-x>"),
        FENCE.format("ours\n0123456789abcdef"),
        FENCE.format("ours\n> not typed by hand"),
        FENCE.format("ours\n  > typed by somebody"),
        FENCE.format("ours\nhid\u200bden"),
        FENCE.format("ours\n\x1b[31m"),
        FENCE.format("x" * 10_001),
    ],
)
def test_the_judge_knows_what_is_wrong(said):
    assert wrong(
        "SessionStart compact",
        carriers.encode({"hookSpecificOutput": {"a": 1, "additionalContext": said}}).decode(),
    )


@pytest.mark.parametrize("said", ["not JSON", '{"continue":false}', "{}"])
def test_the_judge_knows_what_no_hook_may_print(said):
    with pytest.raises((AssertionError, KeyError)):
        assert not wrong("SessionStart compact", said)


def test_the_judge_lets_pass_what_is_right():
    said = FENCE.format("ours\n> typed by\nBranch main")
    spoken = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": said}}
    assert wrong("SessionStart compact", carriers.encode(spoken).decode()) == []
