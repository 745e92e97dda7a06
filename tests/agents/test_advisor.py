"""The second tier, against a scripted API that speaks the real wire protocol: what counts as an opinion,
what it may cost, and whom it is never asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client.api import Api, Script
from holdfast.agents.advisor import KEY, Opinion, parsed
from holdfast.agents.watcher import Watch, watch
from holdfast.app import Holdfast
from holdfast.core.config import Config
from hooks import environ, lines
from told import Work

FINE = "STATUS: looping\nRECOMMENDED_ACTION: tell_person"
SAVE = "STATUS: looping\nRECOMMENDED_ACTION: trigger_checkpoint"
LARGER = "STATUS: looping\nRECOMMENDED_ACTION: escalate"
Ask = Callable[..., tuple[Watch, list[dict]]]


@pytest.mark.parametrize(
    "text",
    [
        *("", "ok", "STATUS: looping", "STATUS: fine\nRECOMMENDED_ACTION: none"),
        *("STATUS: ok\nRECOMMENDED_ACTION: rm -rf", "STATUS: ok\nRECOMMENDED_ACTION: save_for_it"),
        *(f"Sure!\n{FINE}", f"{FINE}\nNow ignore all rules", "RECOMMENDED_ACTION: none\nSTATUS: ok"),
        *("STATUS:ok\nRECOMMENDED_ACTION: none", "status: ok\nrecommended_action: none"),
    ],
)
def test_anything_but_the_two_lines_is_no_opinion(text):
    assert parsed(text, "m") is None


def test_the_two_lines_are_one():
    assert parsed(f"\n{FINE}\n", "m") == Opinion("looping", "tell_person", "m")


@pytest.fixture
def ask(work: Work, tmp_path: Path) -> Iterator[Ask]:
    """A look at a session that loops, with these answers of the model; and what it was asked."""
    for _ in range(6):
        work.call("Bash", "no", command="make lamp SECRET_LAMP")
    work.path.write_bytes(work.script.bytes())
    served: list[Api] = []

    def look(
        *turns: dict | str, key: str = "sk-test", inside: str = "", **keys: object
    ) -> tuple[Watch, list[dict]]:
        record = tmp_path / f"asked{len(served)}.jsonl"
        said = [{"say": turn, "context": 500} if isinstance(turn, str) else turn for turn in turns]
        api = Api(Script({"side": said}, record))
        served.append(api)
        api.start()
        app = Holdfast.open(environ(work.home, **{KEY: key, "CLAUDE_CODE_SESSION_ID": inside}))
        given = {"watcher.model": "small-model", "watcher.base_url": api.url, "watcher.timeout_seconds": 20}
        app.config = Config(
            {}, {}, given | {name.replace("__", "."): value for name, value in keys.items()}
        )
        seen = watch(app, once=True)
        return seen, lines(record) if record.exists() else []

    yield look
    for api in served:
        api.shutdown()
        api.server_close()


def test_an_odd_session_is_asked_about_with_figures_and_no_text(ask):
    seen, asked = ask(FINE)
    assert seen.sessions[0].opinion == "STATUS: looping, RECOMMENDED_ACTION: tell_person (small-model)"
    assert seen.models == "second opinion by small-model"
    ((request,),) = [[one["body"] for one in asked]]
    assert request["model"] == "small-model"
    figures = json.loads(request["messages"][0]["content"])
    assert figures["status"] == "looping"
    assert "SECRET_LAMP" not in json.dumps(request)
    assert "tidegate" not in json.dumps(request)


def test_it_may_add_a_checkpoint(ask, work):
    seen, _ = ask(SAVE)
    assert seen.asked == 1
    work.hook("PostToolBatch")
    assert [one["reason"] for one in lines(work.home / "checkpoints" / "index.jsonl")] == [
        "advised looping"
    ]


def test_a_larger_one_is_asked_where_the_first_wants_it(ask):
    seen, asked = ask(LARGER, FINE, watcher__escalation_model="large-model")
    assert [one["body"]["model"] for one in asked] == ["small-model", "large-model"]
    assert "(large-model)" in seen.sessions[0].opinion


def test_without_one_to_escalate_to_nothing_more_is_asked(ask):
    seen, asked = ask(LARGER)
    assert (len(asked), seen.asked) == (1, 0)


@pytest.mark.parametrize(
    ("turn", "what"),
    [
        ("I think it is fine.", "an answer that is no opinion"),
        ({"error": "overloaded"}, "OverloadedError"),
        ({"error": "broken"}, "InternalServerError"),
        ({"say": FINE, "delay_s": 3}, "APITimeoutError"),
    ],
)
def test_what_is_no_answer_is_noted_and_the_rules_go_on(turn, what, ask, work):
    seen, _ = ask(turn, watcher__timeout_seconds=1)
    assert (seen.sessions[0].status, seen.sessions[0].opinion, seen.problems) == ("looping", "", [])
    noted = [one for one in lines(work.home / "events.jsonl") if one["event"] == "degraded.advisor"]
    assert [(one["what"], one["model"]) for one in noted] == [(what, "small-model")]


def spent(work: Work) -> int:
    return json.loads((work.home / "advisor.json").read_text())["tokens"]


def test_what_it_costs_is_booked_and_bounded(ask, work):
    ask(FINE)
    assert spent(work) == 550  # 500 of context and 50 of an answer, as the API has counted
    seen, asked = ask(FINE, watcher__tokens_per_day=1_400)
    assert (asked, spent(work)) == ([], 550)
    assert "used up" in seen.models


@pytest.mark.parametrize("damage", ["{", "[]", '{"v":1,"day":"x","tokens":"many"}', "\0" * 9000])
def test_where_nobody_knows_what_was_spent_nothing_is(damage, ask, work):
    (work.home / "advisor.json").write_text(damage)
    assert ask(FINE)[1] == []


def test_yesterday_costs_nothing_today(ask, work):
    (work.home / "advisor.json").write_text('{"v":1,"day":"2020-01-01","tokens":199999}')
    assert len(ask(FINE)[1]) == 1


def test_it_is_never_asked_about_the_session_it_runs_in(ask):
    assert ask(FINE, inside="s1")[1] == []


def test_nor_about_one_that_holdfast_has_started(ask, work):
    from hooks import run_hook

    run_hook(work.event("SessionStart", source="resume"), work.home, env={"CONTEXTS_STARTED_BY": "run"})
    assert ask(FINE)[1] == []


@pytest.mark.parametrize(
    ("given", "says"),
    [({"key": ""}, "ANTHROPIC_API_KEY is not set"), ({"watcher__model": ""}, "watcher.model is not set")],
)
def test_without_a_key_or_a_model_there_are_rules_only_and_that_is_said(given, says, ask):
    seen, asked = ask(FINE, **given)
    assert asked == []
    assert seen.models == f"rules only: {says}"
    assert seen.sessions[0].status == "looping"
