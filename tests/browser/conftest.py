"""A real browser before a real service, over a home that the real engine has filled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from client.binary import ensure
from door import Service, serving
from holdfast.app import Holdfast
from holdfast.demo.player import Player, environ_of
from holdfast.demo.script import whole
from holdfast.ops import board, tasks, topics
from skipping import BROWSER, NO_BROWSER

if BROWSER:
    from playwright.sync_api import Browser, BrowserContext, Page

    from seeing import WIDTHS, browsing, enter

#: Whatever of it became more than text would show.
PAYLOAD = "<img src=x onerror=\"document.title='taken'\"><script>taken()</script>[a](javascript:taken())"
EVIL = "<b onmouseover=document.title='taken'>&"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and not BROWSER:
            item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


class Stage(NamedTuple):
    folder: Path
    service: Service
    players: list[Player]

    @property
    def home(self) -> Path:
        return self.folder / "home"


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two sessions of the invented project, one of which goes on, and one whose words are hostile."""
    folder = tmp_path_factory.mktemp("stage")
    script = whole()
    begun = next(place for place, step in enumerate(script) if step.at > 3600)
    players = [
        Player(folder, "tidegate", 1, float("inf"), 1, script),
        Player(folder, "harbour", 2, float("inf"), 1, script[:begun]),
        Player(folder, EVIL, 3, float("inf"), 1, _hostile(script[:60])),
    ]
    for player in players:
        player.start()
    for player in players:
        player.join(120)
        assert not player.is_alive()
    app = Holdfast.open(environ_of(folder))
    project = str(players[0].project)
    topics.write(
        app, "Gate times", f"Open at six. {PAYLOAD}", description="When the gate opens", project=project
    )
    tasks.add(app, f"Read the log {PAYLOAD}", project=project)
    board.post(app, f"The load test is mine. {PAYLOAD}", project=project)
    with serving(folder / "home", environ=environ_of(folder)) as service:
        yield Stage(folder, service, players)


def _hostile(script: list) -> list:
    def spoiled(value: object) -> object:
        if isinstance(value, str) and len(value) > 30 and " " in value:
            return f"{PAYLOAD} {value}"
        if isinstance(value, dict):
            return {name: spoiled(one) for name, one in value.items()}
        return [spoiled(one) for one in value] if isinstance(value, list) else value

    return [step._replace(lines=spoiled(step.lines), given=spoiled(step.given)) for step in script]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Gone when these tests are: as long as it is there, its event loop runs in the thread of all tests."""
    with browsing(BROWSER) as opened:
        yield opened


@pytest.fixture(scope="package")
def known(browser: Browser, stage: Stage) -> Iterator[tuple[BrowserContext, str]]:
    """Logged in; what the address of every page begins with."""
    width, height = WIDTHS["wide"]
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    root = enter(page, stage.service)
    page.close()
    yield context, root
    context.close()


@pytest.fixture
def page(known: tuple[BrowserContext, str]) -> Iterator[Page]:
    opened = known[0].new_page()
    yield opened
    opened.close()


@pytest.fixture
def root(known: tuple[BrowserContext, str]) -> str:
    return known[1]


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core: what is inaccessible, it finds."""
    return ensure(Path(__file__).with_name("axe.json")).read_text()
