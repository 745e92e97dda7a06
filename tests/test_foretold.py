"""The forecast held against sessions to come: the short form of bench/forecast.py, and that it can fail."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

import forecast
from forecast import CORPUS, alarms, measured, missed, score
from holdfast.core import forecast as forecasts
from replayed import Cycle, Said
from session import Script

REAL = sorted((CORPUS / "transcripts").glob("*.jsonl.gz"))


def worked(script: Script, seed: int, until: int = 167_000, start: int = 40_000) -> None:
    """Turns that add much now and then, until the client compacts."""
    chance = random.Random(seed)
    context = start
    while context < until:
        script.answer(context=context)
        context += round(chance.lognormvariate(6.6, 0.9))
    script.boundary(before=context)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def write(folder: Path, script: Script) -> Path:
    path = folder / f"{script.session}.jsonl"
    path.write_bytes(script.bytes())
    return path


@pytest.fixture
def made(folder: Path) -> list[Path]:
    """Nine sessions of one user, two compactions each."""
    paths = []
    for seed in range(9):
        script = Script(f"s{seed}")
        script.prompt("go")
        worked(script, 2 * seed)
        worked(script, 2 * seed + 1)
        script.answer(context=45_000)
        paths.append(write(folder, script))
    return paths


def test_made_sessions_are_foretold(made: list[Path]) -> None:
    found = measured(made)
    mine = found["contenders"]["holdfast"]
    assert found["cycles"] == {"compacted": 18, "unexpected": 0, "manual": 0, "open": 9}
    assert mine["noticed"] == 1
    assert 3 <= mine["notice"] <= 20
    assert mine["error_at_10"] <= 4
    assert (mine["said"], mine["false_alarms"], mine["open"]) == (1, 0, 0)
    assert mine["covered"] >= 0.8
    assert found["imagined"]["compactions"] >= 18


def test_an_alarm_that_comes_too_late_is_found_out(
    made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "_SOON", -1)
    assert any(line.startswith("noticed") for line in missed(measured(made)))


def test_an_interval_that_is_too_narrow_is_found_out(
    made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "_TURNS", ((0.95, 0.0), (1.0, 0.5), (1.05, 1.0)))
    assert any(line.startswith("covered") for line in missed(measured(made)))


def test_what_a_person_or_a_setting_decides_is_told_apart_and_not_counted(folder: Path) -> None:
    script = Script()
    worked(script, 1)
    worked(script, 2, until=90_000)  # far below the capacity, as with a setting that nobody can see
    for context in (40_000, 41_000, 42_000):
        script.answer(context=context)
    script.boundary("manual", before=42_000)
    script.answer(context=45_000)
    found = measured([write(folder, script)])
    assert found["cycles"] == {"compacted": 1, "unexpected": 1, "manual": 1, "open": 1}
    mine = found["contenders"]["holdfast"]
    assert (mine["compactions"], mine["noticed"], mine["noticed_with_unexpected"]) == (1, 1, 0.5)


def test_what_a_rewind_abandoned_and_a_fork_repeats_is_not_counted(folder: Path) -> None:
    script = Script()
    script.prompt("go")
    parent = script.leaf
    script.prompt("wrong")
    worked(script, 1)
    script.leaf = parent
    script.prompt("right")
    worked(script, 2)
    fork = Script("s2")
    fork.lines = [*script.lines]
    found = measured([write(folder, script), write(folder, fork)])
    assert found["cycles"]["compacted"] == 1


NO, YES, STAYS = Said(False, False), Said(True, True), Said(False, True)


@pytest.mark.parametrize(
    ("said", "raised"),
    [
        ([NO, NO], []),
        ([NO, YES, STAYS, YES], [(1, 4)]),
        ([YES, NO, NO, YES], [(0, 1), (3, 4)]),
        ([STAYS, YES], [(1, 2)]),
    ],
)
def test_an_alarm_lasts_from_when_it_is_said_until_it_is_withdrawn(
    said: list[Said], raised: list[tuple[int, int]]
) -> None:
    assert alarms(said) == raised


def scored(said: list[Said], ended: str) -> dict:
    return score([Cycle("s1", ended, {"x": said}, [0.0] * len(said))], "x")


@pytest.mark.parametrize(
    ("said", "ended", "false", "still_open"),
    [
        ([NO, YES, STAYS, STAYS, STAYS], "compacted", 0, 0),
        ([YES, NO, YES, STAYS, STAYS], "compacted", 1, 0),
        ([YES, *[STAYS] * 60], "open", 0, 1),
        ([YES, *[STAYS] * 61], "open", 1, 0),
        ([YES, *[STAYS] * 61], "compacted", 1, 0),
        ([YES, STAYS], "manual", 0, 1),
    ],
    ids=["true", "withdrawn", "open", "long past", "far too early", "a person compacted"],
)
def test_an_alarm_is_false_when_it_is_withdrawn_or_long_past(
    said: list[Said], ended: str, false: int, still_open: int
) -> None:
    found = scored(said, ended)
    assert (found["false_alarms"], found["open"]) == (false, still_open)


def test_notice_is_what_an_alarm_that_held_gave() -> None:
    assert scored([YES, NO, YES, STAYS, STAYS], "compacted")["notice"] == 2
    assert scored([YES, NO], "compacted")["notice"] == 0


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["forecast.py", *words])
    return forecast.main()


def test_the_command_says_by_its_status_whether_the_goals_are_met(
    made: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(made[0].parent)
    monkeypatch.setattr(forecast, "GOALS", {"noticed": (0.95, 1.0), "said": (0, 1)})
    assert run(monkeypatch, "--transcripts", folder) == 0
    assert "| holdfast |" in capsys.readouterr().out
    monkeypatch.setattr(forecast, "GOALS", {"notice": (0, 1)})
    assert run(monkeypatch, "--transcripts", folder, "--json") == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["transcripts"] == 9
    assert "missed: notice" in printed.err


def test_nothing_to_measure_is_no_success(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--transcripts", str(folder)) == 2
    script = Script()
    script.answer(context=40_000)
    write(folder, script)
    assert run(monkeypatch, "--transcripts", str(folder)) == 2


@pytest.mark.skipif(not REAL, reason=f"no transcripts under {CORPUS}: nothing real was foretold")
def test_on_real_sessions_every_goal_is_met() -> None:
    assert not missed(measured(REAL))
