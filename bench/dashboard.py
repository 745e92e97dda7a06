"""The dashboard with many sessions: python bench/dashboard.py [--sessions 200]

How long until a page is ready (from asking for it until its rows are there), with the framework loaded, and
for the very first one; how long after a hook has ended the row of its session has changed in the browser;
the memory of the service.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import LAUNCH, PYTHON, REPO, progress, table

sys.path.insert(0, str(REPO / "src"))
sys.path.insert(0, str(REPO / "tests"))

from playwright.sync_api import Page

from door import Service, post_link, serving
from holdfast.demo.player import environ_of
from made import Session
from seeing import READY, browsing
from skipping import BROWSER, NO_BROWSER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=12)
    wanted = parser.parse_args()
    if not BROWSER:
        sys.exit(NO_BROWSER)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        made = filled(folder, wanted.sessions)
        with serving(folder / "home", environ=environ_of(folder)) as service, browsing(BROWSER) as browser:
            idle = service.rss_kb() / 1024
            page = browser.new_page()
            first = entering(page, service)
            root = page.url.rstrip("/")
            ready = [opening(page, f"{root}/") for _ in range(wanted.rounds)]
            seen = [until_seen(folder, page, made[-1 - number]) for number in range(wanted.rounds)]
            looked = service.rss_kb() / 1024
    print(
        table(
            [f"{wanted.sessions} sessions", "median", "worst", "goal"],
            [
                ["first page, from the link", f"{first:.2f} s", "", ""],
                ["page ready", f"{statistics.median(ready):.2f} s", f"{max(ready):.2f} s", "1.5 s"],
                ["seen after a hook", _ms(statistics.median(seen)), _ms(max(seen)), "500 ms"],
                ["RSS, nobody looks", f"{idle:.0f} MB", "", ""],
                ["RSS, dashboard open", f"{looked:.0f} MB", "", "150 MB"],
            ],
        )
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def filled(folder: Path, count: int) -> list[Session]:
    """Sessions that hooks have told of, each with a transcript of some turns."""
    projects = folder / "client/projects/-work"
    projects.mkdir(parents=True)
    made = []
    for number in range(count):
        session = Session(projects / f"s{number:04d}.jsonl", f"s{number:04d}", seed=number)
        session.grow_to(40_000 + 900 * (number % 90))
        hook(folder, session)
        made.append(session)
        progress(f"{number + 1} of {count} sessions")
    progress("")
    return made


def hook(folder: Path, session: Session) -> None:
    event = {**json.loads(session.post_tool_batch()), "hook_event_name": "Stop"}
    argv = [PYTHON, "-I", "-S", str(LAUNCH)]
    subprocess.run(
        argv, input=json.dumps(event).encode(), env=environ_of(folder), check=True, capture_output=True
    )


def entering(page: Page, service: Service) -> float:
    began = time.perf_counter()
    page.goto(service.url + post_link(service))
    page.wait_for_selector(f"{READY} a.row")
    return time.perf_counter() - began


def opening(page: Page, where: str) -> float:
    began = time.perf_counter()
    page.goto(where, wait_until="commit")
    page.wait_for_selector(f"{READY} a.row")
    return time.perf_counter() - began


_WATCH = """(selector) => {
  const row = document.querySelector(selector).parentElement;
  const told = () => row.querySelector(".sub.n").textContent;
  const before = told();
  window.changed = 0;
  const look = () => { if (told() !== before) window.changed ||= Date.now(); };
  new MutationObserver(look).observe(row, {childList: true, subtree: true});
}"""


def until_seen(folder: Path, page: Page, session: Session) -> float:
    """From the end of the hook until the row says something else, by the browser's own clock."""
    selector = f"a.row[href$='{session.session}']"
    page.wait_for_selector(selector)
    page.evaluate(_WATCH, selector)
    for _ in range(5):  # enough that the figure, which is rounded, is another
        session.turn()
    hook(folder, session)
    ended = time.time()
    page.wait_for_function("window.changed > 0")
    return max(0.0, page.evaluate("window.changed") / 1000 - ended)


if __name__ == "__main__":
    main()
