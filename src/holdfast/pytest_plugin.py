"""A test run as a breakpoint, told by pytest itself: its result goes into the spool when the run is over.

It is silent, never fails a run, and does nothing unless the tests are in a repository and holdfast is in
use here. `-p no:holdfast` leaves it out, and so does `auto_context.hooks.test_result: false`.
"""

from __future__ import annotations

import os
import shlex
import time
from typing import Any

import pytest

from holdfast.errors import MISTAKES, HoldfastError

#: Runs that were not interrupted, refused or empty.
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")  # of xdist: the process that started it tells
    if not is_worker and not config.getoption("collectonly"):
        config.pluginmanager.register(_Run(config), "holdfast-run")


class _Run:
    def __init__(self, config: pytest.Config) -> None:
        self._root = str(config.rootpath)
        self._words = ["pytest", *config.invocation_params.args]
        self._began = time.monotonic()
        self._ran: set[str] = set()
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "call" or report.failed:
            self._ran.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus not in _ENDED or not self._ran:
            return
        try:
            self._spool(exitstatus == pytest.ExitCode.OK)
        except (OSError, HoldfastError, *MISTAKES):  # a run that ended well must not fail over this
            return

    def _spool(self, passed: bool) -> None:
        from holdfast import breaks
        from holdfast.app import Holdfast
        from holdfast.disk import spool, worktree

        app = Holdfast.open()
        tree = worktree.find(self._root)
        if not tree or not os.path.isdir(app.home.root) or not breaks.is_wanted(app.config, spool.TESTS):
            return
        run: dict[str, Any] = {
            "passed": passed,
            "count": len(self._ran),
            "failed": len(self._failed),
            "seconds": time.monotonic() - self._began,
            "command": shlex.join(map(str, self._words)),
        }
        breaks.spool_run(app, tree, run)
