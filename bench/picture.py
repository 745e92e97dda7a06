"""The picture in the README: a session of the demo in the dashboard, some time after a compaction."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness import REPO

sys.path.insert(0, str(REPO / "src"))
sys.path.insert(0, str(REPO / "tests"))

from door import serving
from holdfast.demo.player import Player, environ_of
from holdfast.demo.script import Step, whole
from seeing import browsing, enter
from skipping import BROWSER, NO_BROWSER

_SIZE = {"width": 1200, "height": 760}


def main(target: str) -> None:
    if not BROWSER:
        sys.exit(NO_BROWSER)
    with tempfile.TemporaryDirectory(prefix="holdfast-picture-") as name:
        folder = Path(name)
        player = Player(folder, "tidegate", 1, float("inf"), 1, _until_full_again(whole()))
        player.run()
        with serving(folder / "home", environ=environ_of(folder)) as service, browsing(BROWSER) as browser:
            page = browser.new_page(viewport=_SIZE, color_scheme="light")  # type: ignore[arg-type]
            root = enter(page, service)
            page.goto(f"{root}/session/{player.session}")
            page.wait_for_selector(".stack")
            page.screenshot(path=target)
    print(f"{target}: {Path(target).stat().st_size:,} bytes")


def _until_full_again(script: list[Step]) -> list[Step]:
    """To a window that fills up a second time."""
    cut = [place for place, step in enumerate(script) if step.hook == "PreCompact"][1]
    return [step for step in script[: cut - 20] if not step.agent]


if __name__ == "__main__":
    main(sys.argv[1])
