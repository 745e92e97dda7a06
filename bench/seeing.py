"""A real browser before the dashboard, for tests, benchmarks and the picture in the README."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from door import Service, post_link
from harness import PYTHON

#: No network but loopback is needed, and none is asked for.
FLAGS = [
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    *"--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --disable-extensions "
    "--disable-domain-reliability --no-default-browser-check --no-pings".split(),
]
WIDTHS = {"wide": (1440, 900), "slim": (375, 812)}
READY = "#main.hf"


@contextlib.contextmanager
def browsing(path: str, *more: str) -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=[*FLAGS, *more])
        try:
            yield browser
        finally:
            browser.close()


def enter(page: Page, service: Service) -> str:
    """Log in as a person does, by the link; what every page's address begins with."""
    page.goto(service.url + post_link(service))
    page.wait_for_selector(READY)
    return page.url.rstrip("/")


def said(home: Path, *words: str) -> object:
    """What the command line says, as JSON."""
    environ = {
        "HOLDFAST_HOME": str(home),
        "HOME": str(home.parent),
        "CLAUDE_CONFIG_DIR": str(home.parent / "client"),
    }
    argv = [sys.executable or PYTHON, "-m", "holdfast", *words, "--json"]
    done = subprocess.run(argv, env=environ, capture_output=True, check=False)
    return json.loads(done.stdout)
