"""Estimates held against what tasks cost: bench/estimate.py on made sessions, and that it can fail."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

import estimate
from session import Script, text, use


def made(folder: Path, noise: float) -> None:
    """Twelve sessions of tasks that cost 4,000 tokens for each file they change, up to a factor."""
    chance = random.Random(3)
    for number in range(12):
        script, used = Script(f"s{number}"), 20_000
        script.prompt("hello")
        script.answer(text("so"), context=used)
        for task in range(12):
            script.prompt("fix it" + " now" * chance.randrange(200))
            count = chance.randrange(1, 7)
            calls = [(f"t{task}-{at}", f"/{number}-{task}-{at}.py") for at in range(count)]
            script.answer(*(use(name, "Edit", file_path=path) for name, path in calls), context=used + 50)
            for name, _ in calls:
                script.result(name, "…", {"originalFile": "x" * 900, "structuredPatch": []})
            used += round(4_000 * count * (1 + noise) ** chance.uniform(-1, 1))
            script.answer(text("done"), context=used)
        (folder / f"s{number}.jsonl").write_bytes(script.bytes())


def run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["estimate.py", "--json", "--transcripts", str(folder)])
    monkeypatch.setattr(estimate, "_AGAIN", 50)
    return estimate.main()


def test_what_files_tell_is_found_and_a_batch_is_surer_than_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, 0.6)
    assert run(monkeypatch, tmp_path) == 0
    found = json.loads(capsys.readouterr().out)
    words, single = found["by words"], found["as planned, at the session's pace"]
    batch = found["batches of these, up to 100,000 tokens"]
    assert batch["median_error"] < single["median_error"] < words["median_error"]
    assert single["interval"][0] < single["median_error"] < single["interval"][1]
    assert 0.7 < single["in_range"] < 0.9
    assert 0.7 < batch["in_range"] < 0.95


def test_which_goal_was_missed_is_told_by_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, 2.0)
    assert run(monkeypatch, tmp_path) == 1
    assert "missed: as planned, at the session's pace" in capsys.readouterr().err
    monkeypatch.setattr(estimate, "GOAL", 0.01)
    assert run(monkeypatch, tmp_path) == 2
    assert "missed: batches of these, up to 100,000 tokens" in capsys.readouterr().err


def test_what_there_is_none_of_is_left_out_and_the_goal_is_missed_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        script = Script(f"s{number}")
        for task in range(3):
            script.prompt("what is it?")
            script.answer(text("this"), context=20_000 + 500 * task)
        (tmp_path / f"s{number}.jsonl").write_bytes(script.bytes())
    assert run(monkeypatch, tmp_path) == 2
    told = capsys.readouterr()
    assert [*json.loads(told.out)] == ["rule of thumb", "by words"]
    assert "missed: as planned, at the session's pace: there is none" in told.err
