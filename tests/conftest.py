"""No test may reach the real home: what forgets to say where it writes lands in a temporary folder."""

import os

import pytest
from hypothesis import HealthCheck, settings

from skipping import BROWSER, NO_BROWSER, NOT_TESTED, SKIPPED

# How long an example takes says how busy the machine is.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """One browser and one stage: what needs them is on one worker. All else is shared out test by test."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else nodeid

    return Scheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Here and not in tests/client: the process that prints loads no other conftest under xdist."""
    if SKIPPED:
        terminalreporter.section("CLIENT NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(NOT_TESTED, red=True, bold=True)
    if not BROWSER:
        terminalreporter.section("BROWSER NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(NO_BROWSER, red=True, bold=True)


@pytest.fixture(autouse=True)
def _nowhere_near_the_real_home(tmp_path_factory, monkeypatch):
    away = tmp_path_factory.mktemp("away")
    for name in list(os.environ):
        if name.startswith(("HOLDFAST_", "CLAUDE_CODE_", "CLAUDE_AUTOCOMPACT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(away))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(away / ".claude"))


@pytest.fixture
def home(tmp_path):
    """Where the hooks of a test keep their files; it does not exist yet."""
    return tmp_path / "home"
