"""Deep memory in the browser: asked with Enter, what was looked for is marked."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from browser.conftest import Stage
from seeing import READY, said


def test_what_sessions_learnt_is_recalled_with_enter(stage: Stage, page: Page, root: str) -> None:
    project = str(stage.players[0].project)
    told = said(stage.home, "recall", "migrations", "--project", project)
    page.goto(f"{root}/memory")
    page.wait_for_selector(READY)
    page.locator("select").select_option(project)
    page.locator("input[type=search]").fill("migrations")
    page.locator("input[type=search]").press("Enter")
    rows = page.locator(".card", has=page.locator("mark")).locator("tr")
    expect(rows).to_have_count(len(told["found"]))  # type: ignore[index, call-overload]
