"""The report: one file, nothing in it that runs or asks, nothing that a session could have put there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.cli.main import main
from holdfast.errors import BadInput, NotFound
from holdfast.ops.history import history
from holdfast.report.page import report
from session import Script, text, use

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/session.jsonl"


@pytest.fixture
def app(home: Path) -> Holdfast:
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent)})


def test_it_says_what_history_says_and_needs_nothing_else(app: Holdfast, tmp_path: Path) -> None:
    done = report(app, str(EXAMPLE), output=str(tmp_path / "r.html"))
    page = Path(done.file).read_text()
    told = history(app, transcript=str(EXAMPLE))
    assert len(page) == len(page.encode().decode())
    assert f"{told.usage.fill:.1f} %" in page
    assert page.count('class="cut"') == 2 * len(told.compactions) > 0  # wide and slim
    assert "items kept" in page
    assert f"{len(told.checkpoints)} checkpoints would have been taken" in page  # no hook has seen it
    assert "<h2>Checkpoints that would have been taken</h2>" in page
    assert not re.search(r"(?i)<script|<img|<link|@import|url\(|https?://", page)
    assert "default-src 'none'" in page


def test_what_a_session_says_stays_text_and_secrets_stay_out(app: Holdfast, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    key = "sk-ant-api03-" + "Ab3dE6gH9jK2mN5p" * 4 + "AA"
    script = Script()
    script.prompt(f"look at {evil}")
    for number in range(4):
        call = f"t{number}"
        script.answer(use(call, "Read", file_path=f"/w/{evil}/{key}"), context=20_000 + 9000 * number)
        script.result(call, f"{evil} {key} " * 50)
    script.answer(text(evil), context=90_000)
    transcript = tmp_path / "s1.jsonl"
    transcript.write_bytes(script.bytes())
    page = Path(report(app, str(transcript), output=str(tmp_path / "r.html")).file).read_text()
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert key not in page


def test_the_command_takes_a_file_as_others_do(tmp_path: Path) -> None:
    assert main(["report", str(EXAMPLE), "-o", str(tmp_path / "r.html")]) == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_of_what_is_not_there_it_says_so(app: Holdfast, tmp_path: Path) -> None:
    for what in ("nope", "no/such.jsonl", ".."):
        with pytest.raises((NotFound, BadInput)):
            report(app, what, output=str(tmp_path / "r.html"))
    with pytest.raises(BadInput, match="folder"):
        report(app, str(EXAMPLE), output=str(tmp_path))
    copy = tmp_path / "s1.jsonl"
    copy.write_bytes(EXAMPLE.read_bytes())
    with pytest.raises(BadInput, match="transcript itself"):
        report(app, str(copy), output=str(copy))
    assert copy.read_bytes() == EXAMPLE.read_bytes()
    assert json.loads(copy.read_text().splitlines()[0])
