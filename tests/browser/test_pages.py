"""Every page in a real browser: what it shows is what the command line says, at all sizes and colours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import EVIL, Stage
from seeing import FLAGS, READY, WIDTHS, enter, said
from skipping import BROWSER

#: Where the pictures go, for people to look at.
BUILD = Path(__file__).resolve().parents[2] / "build/pages"
PAGES = ("", "checkpoints", "memory", "agents", "health", "session")


def address(root: str, stage: Stage, name: str) -> str:
    return f"{root}/session/{stage.players[0].session}" if name == "session" else f"{root}/{name}"


def opened(page: Page, where: str) -> Page:
    page.goto(where)
    page.wait_for_selector(READY)
    return page


def settled(page: Page, where: str) -> Page:
    """With what is read only when the page is there, and the times in words."""
    opened(page, where)
    page.wait_for_function("!document.querySelector('.waiting, time:empty')")
    return page


def test_now_shows_every_session_as_the_command_line_does(stage: Stage, page: Page, root: str) -> None:
    opened(page, f"{root}/")
    told: Any = said(stage.home, "sessions")
    assert len(told) == 3
    for one in told:
        row = page.locator(f"a.row[href$='{one['session']}']")
        assert row.locator(".fill").inner_text().replace("\n", "") == f"{one['fill']:.1f} %"
        assert row.locator(".chip").inner_text() == one["level"]
        assert row.locator(".name").inner_text() == one["project"].rpartition("/")[2]
        if one["turns_left"]:
            low, likely, high = one["turns_left"]
            assert row.locator(".runway").inner_text().split() == [str(likely), "turns", f"{low}–{high}"]


def test_session_shows_its_course(stage: Stage, page: Page, root: str) -> None:
    opened(page, address(root, stage, "session"))
    told: Any = said(stage.home, "history", "--session", stage.players[0].session)
    head = page.locator(".figures").inner_text()
    assert f"{told['usage']['fill']:.1f} %" in head
    assert f"{told['usage']['turns']} turns" in head
    assert page.locator(".wide .curve .cut").count() == len(told["compactions"]) == 2
    assert page.locator("article.card").count() == 2
    for cut in told["compactions"]:
        kept, items = cut["receipt"]["kept"], cut["receipt"]["items"]
        expect(page.get_by_text(f"{kept} of {items} items kept")).to_be_visible()
    explained: Any = said(stage.home, "explain", "--session", stage.players[0].session)
    table = page.locator("table", has=page.get_by_text("Of window"))
    expect(table.locator("tbody tr, tr:has(td)")).to_have_count(
        sum(1 for kind in explained["kinds"] if kind["tokens"])
    )


def test_checkpoints_are_listed_read_verified_pinned_and_compared(
    stage: Stage, page: Page, root: str
) -> None:
    opened(page, f"{root}/checkpoints")
    told: Any = said(stage.home, "checkpoint", "list", "--limit", "40")
    rows = page.locator(".pick")
    expect(rows).to_have_count(len(told))
    assert [row.get_attribute("data-uid") for row in rows.all()] == [one["uid"] for one in told]
    mine = [one for one in told if one["session_id"] == stage.players[0].session]
    chosen, other = mine[0], mine[1]
    page.locator(f"[data-uid='{chosen['uid']}']").click()
    expect(page.locator("h2.plain")).to_have_text(chosen["id"])
    shown: Any = said(stage.home, "checkpoint", "show", chosen["path"])
    goal = shown["sections"]["Goal"][0].split("\n")[0].replace("`", "")[:60]
    expect(page.locator("section", has_text="Goal").first).to_contain_text(goal)
    page.get_by_role("button", name="Verify").click()
    expect(page.locator(".warning")).to_contain_text("verified")
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    assert next(one for one in said(stage.home, "checkpoint", "list") if one["uid"] == chosen["uid"])[
        "pinned"
    ]  # type: ignore[attr-defined]
    page.get_by_role("button", name="Unpin").click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    page.locator(".compare select").select_option(other["uid"])
    expect(page.locator("h2.plain")).to_contain_text("→")


def test_memory_is_searched_with_highlights(stage: Stage, page: Page, root: str) -> None:
    opened(page, f"{root}/memory")
    page.locator("select").select_option(str(stage.players[0].project))
    expect(page.locator(".pick")).to_have_count(1)
    page.locator("input[type=search]").fill("gate opens")
    expect(page.locator(".pick mark").first).to_have_text("Gate")
    page.locator("input[type=search]").fill("nothing like it")
    expect(page.locator(".pick")).to_have_count(0)
    page.locator("input[type=search]").fill("")
    page.locator(".pick").click()
    expect(page.locator("pre")).to_contain_text("Open at six. <img src=x")


def test_agents_and_the_board_are_shown(stage: Stage, page: Page, root: str) -> None:
    opened(page, f"{root}/agents")
    expect(page.locator("main")).to_contain_text("3 agents")
    page.locator("select").select_option(str(stage.players[0].project))
    expect(page.locator("main")).to_contain_text("The load test is mine. <img src=x")
    expect(page.locator("main")).to_contain_text("Read the log <img src=x")
    here = ("--project", str(stage.players[0].project))
    tasks: Any = said(stage.home, "task", "list", *here)
    assert [one["state"] for one in tasks].count("finished") == 3
    for one in tasks:
        row = page.locator("tr", has=page.get_by_text(f"#{one['number']}", exact=True))
        expect(row).to_contain_text(one["state"])
    (answered,) = (one for one in said(stage.home, "board", "list", "--every", *here) if one["done"])  # type: ignore[attr-defined]
    expect(page.locator(".added")).to_contain_text(answered["done"][0].partition(" ")[2])


def test_health_shows_every_check_and_what_a_hook_costs(stage: Stage, page: Page, root: str) -> None:
    opened(page, f"{root}/health")
    told: Any = said(stage.home, "status")
    expect(page.locator(".check")).to_have_count(len(told["checks"]))
    shown = {words.partition(":")[0].strip() for words in page.locator(".check b").all_inner_texts()}
    assert shown == {check["name"] for check in told["checks"]}
    expect(page.locator(".cost")).to_contain_text("× the start of a bare interpreter")
    injected: Any = said(stage.home, "events", "--kind", "injection", "--limit", "0")
    expect(page.locator("main")).to_contain_text(f"{len(injected['events'])}")


#: Cells that stick out of their card, and a word of the way to the other pages that is cut.
_OUTSIDE = """() => [...document.querySelectorAll(".card td, .card dd, .top nav a")].filter((one) => {
  const box = one.getBoundingClientRect(), around = one.closest(".card, nav").getBoundingClientRect();
  return box.width && box.right > around.right + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits_at_both_widths_in_both_themes(
    stage: Stage, page: Page, root: str, axe: str, name: str
) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    settled(page, address(root, stage, name))
    page.evaluate(axe)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        for width, (across, down) in WIDTHS.items():
            page.set_viewport_size({"width": across, "height": down})
            page.screenshot(path=BUILD / f"{name or 'now'}-{width}-{theme}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            assert page.evaluate(_OUTSIDE) == [], (name, width, "is wider than what it stands in")
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            bad = [
                (one["id"], [node["html"][:160] for node in one["nodes"][:3]])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert bad == [], (name, width, theme)


def test_what_a_session_says_stays_text(stage: Stage, page: Page, root: str) -> None:
    hostile = stage.players[2].session
    listed: Any = said(stage.home, "checkpoint", "list", "--limit", "0")
    newest = next(one for one in listed if one["session_id"] == hostile)
    for where in (
        "",
        f"session/{hostile}",
        f"checkpoints?name={newest['uid']}",
        "health",
        "agents",
        "memory",
    ):
        settled(page, f"{root}/{where}")
        assert "taken" not in page.title()
        assert (
            page.locator("main img, main script, main a[href^=javascript], main [onmouseover]").count() == 0
        )
    opened(page, f"{root}/")
    assert page.locator(f"a.row[href$='{hostile}'] .name").inner_text() == EVIL


def test_the_keyboard_reaches_everything(page: Page, root: str) -> None:
    opened(page, f"{root}/")
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert reached[:7] == [
        "Skip to the content",
        "holdfast",
        "Now",
        "Checkpoints",
        "Memory",
        "Agents",
        "Health",
    ]
    assert any("tidegate" in words for words in reached)


def test_the_theme_can_be_chosen_and_is_remembered(page: Page, root: str) -> None:
    page.emulate_media(color_scheme="light")
    opened(page, f"{root}/")
    page.get_by_role("button", name="Dark").click()
    opened(page, f"{root}/health")
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    page.get_by_role("button", name="Auto").click()
    assert not page.evaluate("document.documentElement.classList.contains('dark')")


def test_no_request_leaves_loopback(stage: Stage, browser: Browser, tmp_path: Path) -> None:
    """By the browser's own log, which also knows what no page is told of."""
    log = tmp_path / "net.json"
    logged = browser.browser_type.launch(executable_path=BROWSER, args=[*FLAGS, f"--log-net-log={log}"])
    page = logged.new_page()
    root = enter(page, stage.service)
    for name in PAGES:
        opened(page, address(root, stage, name))
        page.wait_for_load_state("networkidle")
    logged.close()
    events = json.loads(log.read_text())["events"]
    ours = stage.service.url
    asked = [event["params"] for event in events if "initiator" in event.get("params", {})]
    theirs = {one["url"] for one in asked if one["initiator"] == ours}  # others the browser asks for itself
    assert len(theirs) > 10
    assert {
        url for url in theirs if not url.startswith((ours, ours.replace("http", "ws"), "data:"))
    } == set()
