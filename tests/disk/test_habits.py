"""What past sessions did, on disk: one row each, the newest, never waited for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.forecast import habit
from holdfast.core.state import State
from holdfast.disk import habits
from holdfast.disk.home import Home
from hooks import lines as noted

MODEL = "claude-opus-4-6"


@pytest.fixture
def where(home):
    return Home(str(home))


def session(name="s1", steps=40, tokens=400, seconds=25, agent="", model=MODEL):
    """A session whose turns added and took so much each."""
    state = State(name, agent)
    meter = state.seen.meter
    meter.model, meter.steps = model, steps
    meter.step_tokens = round(100 * tokens**0.5) * steps
    meter.step_seconds = round(100 * seconds**0.5) * steps
    return state


@pytest.fixture
def saved(home):
    return home / "habits.json"


def rows(saved):
    return json.loads(saved.read_bytes())["sessions"]


def test_a_session_is_one_row_however_often_it_is_written(where, saved):
    assert habits.bring_up(where, session(steps=30))
    assert habits.bring_up(where, session(steps=60, tokens=900))
    assert rows(saved) == {"s1": [MODEL, 60, 900, 25.0]}
    assert habits.of(where, MODEL).sessions == 1


def test_what_was_written_is_what_a_forecast_is_made_from(where):
    for name in ("s1", "s2", "s3"):
        habits.bring_up(where, session(name))
    found, expected = habits.of(where, MODEL), habit(MODEL, [[MODEL, 40, 400, 25.0]] * 3)
    assert (found.pace, found.seconds, found.sessions) == (expected.pace, expected.seconds, 3)
    assert found.pace < habit(MODEL, ()).pace


def test_only_the_newest_sessions_are_kept_in_the_order_in_which_they_went_on(where, saved):
    for number in range(40):
        habits.bring_up(where, session(f"s{number}"))
    habits.bring_up(where, session("s20"))
    assert [*rows(saved)] == [*(f"s{number}" for number in range(16, 40) if number != 20), "s20"]
    assert saved.stat().st_size < 4096


@pytest.mark.parametrize("short", [session(steps=19), session(steps=0), session(agent="a1")])
def test_a_session_that_says_nothing_of_its_user_is_not_written(where, saved, short):
    assert not habits.bring_up(where, short)
    assert not saved.exists()


def test_a_session_that_has_shrunk_added_nothing(where, saved):
    shrunk = session()
    shrunk.seen.meter.step_tokens = -80_000
    habits.bring_up(where, shrunk)
    assert rows(saved) == {"s1": [MODEL, 40, 0, 25.0]}


def test_without_a_file_everything_is_typical(where):
    found, typical = habits.of(where, MODEL), habit(MODEL, ())
    assert (found.pace, found.seconds, found.sessions) == (typical.pace, typical.seconds, 0)


DAMAGES = {
    "empty": b"",
    "cut": b'{"v":1,"sum":12,"sess',
    "another version": b'{"v":2,"sum":1,"sessions":{}}',
    "nonsense": b"\xff\xfe[[[",
    "a large one": b"x" * (1 << 17),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_passed_over_set_aside_and_made_anew(where, home, saved, damage):
    home.mkdir()
    saved.write_bytes(DAMAGES[damage])
    assert habits.of(where, MODEL).sessions == 0
    assert habits.bring_up(where, session())
    assert habits.of(where, MODEL).sessions == 1
    (note,) = noted(home / "events.jsonl")
    assert note["event"] == "degraded.habits"
    assert (home / note["aside"]).read_bytes() == DAMAGES[damage]


def test_a_folder_in_its_place_is_set_aside(where, saved):
    saved.mkdir(parents=True)
    assert habits.of(where, MODEL).sessions == 0
    assert habits.bring_up(where, session())
    assert habits.of(where, MODEL).sessions == 1


@pytest.mark.parametrize(
    "sessions",
    [[], 5, {"s1": 5}, {"s1": []}, {"s1": [MODEL, 40, "many", 1.0]}, {"s1": [None, 40, 400, 1.0]}],
    ids=str,
)
def test_rows_of_another_shape_are_damage_even_if_the_sum_fits(where, saved, sessions):
    habits.bring_up(where, session())
    rest = json.dumps({"sessions": sessions}, separators=(",", ":"))[1:].encode()
    saved.write_bytes(b"%s%d,%s" % (habits._HEAD, habits.checksum(rest), rest))
    assert habits.of(where, MODEL).sessions == 0
    assert habits.bring_up(where, session())
    assert habits.of(where, MODEL).sessions == 1


def test_one_changed_byte_is_noticed(where, saved):
    habits.bring_up(where, session())
    saved.write_bytes(saved.read_bytes().replace(b"400", b"900"))
    assert habits.of(where, MODEL).sessions == 0


_HOLDS = """
import sys
from holdfast.disk import files
with files.Lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_session_that_writes_is_not_waited_for(where, home):
    habits.bring_up(where, session("s1"))
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, home / "habits.lock"],
        env={"PYTHONPATH": str(Path(habits.__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        assert not habits.bring_up(where, session("s2"))
        assert habits.of(where, MODEL).sessions == 1  # reading waits for nobody
        holder.stdin.close()
    assert habits.bring_up(where, session("s2"))


def test_a_home_that_cannot_be_written_costs_nothing_but_the_habit(where, home):
    home.write_text("in the way")
    assert not habits.bring_up(where, session())
    assert habits.of(where, MODEL).sessions == 0
