"""No test may reach the real home: what forgets to say where it writes lands in a temporary folder."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from skipping import BROWSER, NO_BROWSER, NOT_TESTED, SKIPPED

# How long an example takes says how busy the machine is.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
# Whoever was started in the background ignores it, and so would all that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """A file stays on one worker, and so do all that need the browser: what its tests share (a stage, a
    session of the client) is made once. In the order of their names, since the slow ones come early."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "browser" if file.startswith("tests/browser/") else file

    config.option.loadscopereorder = False
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
