"""Every event of the client is accepted, and counted once."""

import pytest

from holdfast import engine
from holdfast.app import Holdfast
from holdfast.core.events import from_hook
from hooks import (
    EVENTS,
    assert_same_fold,
    encode,
    environ,
    event,
    heard,
    notes,
    run_silently,
    state,
)


@pytest.mark.parametrize("name", [*EVENTS, "TomorrowsEvent", "status line", "é" * 41, ""])
def test_an_event_is_counted_in_silence(name, home):
    run_silently(event(name), home)
    agent = EVENTS.get(name, {}).get("agent_id", "")
    known = name if name.isidentifier() and len(name) <= 40 else "unknown"
    assert heard(home, agent=agent) == {known: 1}
    assert not notes(home)


def test_the_client_has_33_events():
    assert len(EVENTS) == 33


def test_all_events_of_one_session_are_counted_together(home, transcript):
    payloads = [event(name, transcript=transcript.path) for name in EVENTS for _ in range(2)]
    mine = [p for p in payloads if "agent_id" not in p]
    for payload in mine:
        run_silently(payload, home)
    assert heard(home) == {p["hook_event_name"]: 2 for p in mine}
    assert_same_fold(home, transcript.path)


def test_more_names_than_can_be_kept_do_not_make_a_prompt_unheard(home):
    app = Holdfast.open(environ(home))
    for number in range(70):
        payload = encode(event(f"Made{number}"))
        engine.handle(from_hook(payload, 1, len(payload)), app)
    run_silently(event("UserPromptSubmit"), home)
    assert not notes(home)
    assert state(home)["heard"]["prompts"] == 1
