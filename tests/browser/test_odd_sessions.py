"""The page of a session opens whatever the session looks like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

import shapes
from door import serving
from repository import Repository
from seeing import READY, WIDTHS, enter

LOOKED_AT = (
    *("empty", "one_answer", "tiny", "no_usage", "falling", "switched", "over_full", "rewound"),
    *("compacted_six_times", "compacted_and_no_more", "subagents_only", "torn", "spliced", "foreign"),
    *("wrong_times", "running", "deleted", "replaced", shapes.NEVER_WRITTEN, "unheard-one_answer"),
)


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[tuple[Page, str]]:
    top = tmp_path_factory.mktemp("odd")
    project, home, client = top / "tidegate", top / "home", top / "client"
    folder = client / "projects/-tidegate"
    folder.mkdir(parents=True)
    Repository(project, home, hooked=False)
    shapes.lay_out(folder, project, home)
    environ = {"HOME": str(top), "HOLDFAST_HOME": str(home), "CLAUDE_CONFIG_DIR": str(client)}
    width, height = WIDTHS["wide"]
    with serving(home, environ=environ) as service:
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        yield page, enter(page, service)
        context.close()


@pytest.mark.parametrize("session", LOOKED_AT)
def test_the_page_of_a_session_of_any_shape_opens(entered: tuple[Page, str], session: str) -> None:
    page, root = entered
    answered = page.goto(f"{root}/session/{session}")
    assert answered
    assert answered.status < 500
    page.wait_for_selector(READY)
    words = page.locator("body").inner_text()
    assert session in words
    assert "mistake in holdfast" not in words


@pytest.mark.parametrize("name", ["", "checkpoints", "memory", "agents", "health"])
def test_pages_of_a_home_full_of_odd_sessions_open(entered: tuple[Page, str], name: str) -> None:
    page, root = entered
    answered = page.goto(f"{root}/{name}")
    assert answered
    assert answered.status < 500
    page.wait_for_selector(READY)
