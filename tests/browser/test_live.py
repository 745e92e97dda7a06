"""What happens while somebody looks: hooks, restarts, files that vanish, homes that are empty or full."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from browser.conftest import Stage
from door import Service, serving
from holdfast.clock import now, rfc3339
from holdfast.demo.player import Player, environ_of
from holdfast.demo.script import whole
from holdfast.disk import index
from holdfast.disk.home import Home
from seeing import READY, enter, said


def test_a_hook_changes_the_row_and_two_browsers_see_it(
    stage: Stage, browser: Browser, page: Page, root: str
) -> None:
    player = stage.players[1]
    other = browser.new_context().new_page()
    enter(other, stage.service)
    page.goto(f"{root}/")
    before = [one.locator(f"a.row[href$='{player.session}'] .sub.n").inner_text() for one in (page, other)]
    script = [step for step in whole() if step.at > 3600 and not step.agent]
    after = next(place for place, step in enumerate(script) if step.hook == "Stop") + 1
    for step in script[:after]:
        player._write(step, now())
    player._call("Stop", {"stop_hook_active": False}, "")
    told: Any = next(one for one in said(stage.home, "sessions") if one["session"] == player.session)  # type: ignore[attr-defined]
    for shown, was in zip((page, other), before, strict=True):
        row = shown.locator(f"a.row[href$='{player.session}']")
        expect(row.locator(".fill")).to_have_text(f"{told['fill']:.1f} %")
        assert row.locator(".sub.n").inner_text() != was
    other.context.close()


def test_a_transcript_that_vanishes_while_it_is_shown_is_told_of(
    stage: Stage, page: Page, root: str
) -> None:
    player = stage.players[2]
    page.goto(f"{root}/session/{player.session}")
    expect(page.locator(".figures")).to_be_visible()
    aside = player.transcript.with_suffix(".aside")
    folder = stage.home / "sessions" / player.session
    before = folder.stat()
    player.transcript.rename(aside)
    try:
        os.utime(folder)  # as its next hook would
        expect(page.locator(".warning").first).to_contain_text("the transcript is gone")
        expect(page.locator(".figures")).to_be_visible()
    finally:
        aside.rename(player.transcript)
        os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_damaged_session_is_shown_beside_the_others(stage: Stage, page: Page, root: str) -> None:
    bad = stage.home / "sessions" / "damaged-one"
    bad.mkdir()
    (bad / "state.json").write_text('{"v": 1, "half')
    try:
        page.goto(f"{root}/")
        expect(page.locator("a.row.amiss")).to_contain_text("state.json")
        assert page.locator("a.row:not(.amiss)").count() == 3
        page.goto(f"{root}/session/damaged-one")
        expect(page.locator(".warning").first).to_contain_text("state.json")
    finally:
        (bad / "state.json").unlink()
        bad.rmdir()


def test_a_session_that_does_not_exist_is_an_answer(page: Page, root: str) -> None:
    for name in ("nope", "..", "a%20b"):
        page.goto(f"{root}/session/{name}")
        assert page.locator("body").inner_text().strip()
        assert page.locator(".figures").count() == 0


def test_without_the_login_nothing_is_shown(stage: Stage, browser: Browser, root: str) -> None:
    stranger = browser.new_context().new_page()
    answer = stranger.goto(f"{root}/")
    assert answer
    assert answer.status == 401
    assert "holdfast dashboard" in stranger.locator("body").inner_text()
    assert "tidegate" not in stranger.content()
    stranger.context.close()


def test_an_empty_home_says_what_to_do_next(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "s").mkdir()
    with serving(tmp_path / "s/home") as service:
        page = browser.new_context().new_page()
        root = enter(page, service)
        expect(page.locator(".empty").first).to_contain_text("holdfast install")
        for name, words in (
            ("checkpoints", "checkpoint take"),
            ("memory", "memory write"),
            ("agents", "agent"),
        ):
            page.goto(f"{root}/{name}")
            expect(page.locator(".empty").first).to_contain_text(words)
        page.goto(f"{root}/health")
        expect(page.locator("h1")).to_have_text("All is well")
        page.context.close()


def test_ten_thousand_checkpoints_are_paged_and_a_page_outlives_its_service(
    tmp_path: Path, browser: Browser
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    player = Player(folder, "harbour", 1, float("inf"), 1, whole()[:40])
    player.run()
    home = Home(str(folder / "home"))
    entries = list(index.load_all(home).entries.values())
    with open(home.index, "ab") as file:
        for number in range(10_000):
            at = rfc3339(now() + number)
            file.write(index.line({**entries[-1], "uid": f"01K{number:023d}", "created": at}) + b"\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = browser.new_context().new_page()
    with _on(folder, port) as service:
        root = enter(page, service)
        page.goto(f"{root}/checkpoints")
        expect(page.locator(".pick")).to_have_count(40)
        page.get_by_role("button", name="Show older ones").click()
        expect(page.locator(".pick")).to_have_count(80)
        page.evaluate("window.before = true")
    with _on(folder, port):
        page.wait_for_function("window.before === undefined", timeout=40_000)
        page.wait_for_selector(READY)
        expect(page.locator(".pick")).to_have_count(40)
    page.context.close()


@contextlib.contextmanager
def _on(folder: Path, port: int) -> Iterator[Service]:
    argv = [sys.executable, "-m", "holdfast", "serve", "--port", str(port)]
    process = subprocess.Popen(argv, env=environ_of(folder), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        assert re.search(r":\d+ \(token", process.stdout.readline())
        yield Service(process, port, (folder / "home/token").read_text().strip(), folder / "home")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()
