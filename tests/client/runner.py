"""Runs inside the namespace: brings loopback up, serves the script there, runs the client once.

    python -m client.runner JOB

JOB is a JSON file (see `client.Machine.run`). What happened is left beside it: `requests.jsonl`,
`stdout`, `stderr` or `screen`, and last `result.json`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from client.api import Api, Script
from client.terminal import Terminal, TooSlow

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_REQUEST = "16sh14x"
#: Addresses reserved for documentation: nothing is ever there, but a route would be found.
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
#: How long a client waits for another to begin.
_OTHER_S = 60
_NO_WAY = (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EHOSTUNREACH, errno.EAFNOSUPPORT)


def loopback_up() -> None:
    """What `ip link set lo up` does, for machines without iproute2."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        got = fcntl.ioctl(control, _GET_FLAGS, struct.pack(_REQUEST, b"lo", 0))
        flags = struct.unpack(_REQUEST, got)[1]
        fcntl.ioctl(control, _SET_FLAGS, struct.pack(_REQUEST, b"lo", flags | _UP))


def refuse_a_way_out(outside: tuple = _OUTSIDE) -> None:
    """The client is run only where it can reach nothing. Connecting UDP sends no packet: it asks
    the kernel for a route."""
    for family, address in outside:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asked:
                asked.connect((address, 9))
        except OSError as problem:
            if problem.errno not in _NO_WAY:
                raise
        else:
            sys.exit("this network namespace leads outside; the client is not started")


def heard(job: dict) -> list[dict]:
    """What the probe was told so far."""
    path = Path(job["heard"])
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def await_other(job: dict) -> None:
    """Clients that start at once on a new machine migrate its settings under each other's hands."""
    end = time.monotonic() + _OTHER_S
    while job["after"] and not any(one["session_id"] == job["after"] for one in heard(job)):
        if time.monotonic() > end:
            sys.exit(f"session {job['after']} has not begun within {_OTHER_S} s")
        time.sleep(0.05)


class Killer(threading.Thread):
    """Ends a client that is still ours to wait for, as soon as the probe was told of an event so often:
    then our own hook of the same event is at work beside it."""

    def __init__(self, pid: int, job: dict) -> None:
        super().__init__(daemon=True)
        self._victim = os.pidfd_open(pid)
        self._event, self._times = job["kill"].get("event"), job["kill"].get("times", 1)
        self._job = job
        if job["kill"]:
            self.start()

    def run(self) -> None:
        while self._told() < self._times:
            time.sleep(0.005)
        signal.pidfd_send_signal(self._victim, signal.SIGKILL)

    def _told(self) -> int:
        return sum(one["hook_event_name"] == self._event for one in heard(self._job))


def run_client(job: dict, env: dict[str, str], folder: Path) -> tuple[int, str]:
    """(exit code, what went wrong). In a session of its own, so that all of it can be ended."""
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        client = subprocess.Popen(
            job["argv"],
            env=env,
            cwd=job["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        Killer(client.pid, job)
        try:
            return client.wait(job["within_s"]), ""
        except subprocess.TimeoutExpired:
            os.killpg(client.pid, signal.SIGKILL)
            return client.wait(), f"the client did not end within {job['within_s']} s"


def run_terminal(job: dict, env: dict[str, str], folder: Path) -> tuple[int, str]:
    terminal = Terminal(job["argv"], env, job["cwd"], Path(job["heard"]), job["session"])
    Killer(terminal.pid, job)
    trouble = ""
    try:
        terminal.play(job["keys"])
    except TooSlow as problem:
        trouble = str(problem)
    code = terminal.end()
    (folder / "screen").write_text(terminal.screen())
    return code, trouble


def main(path: Path) -> None:
    job = json.loads(path.read_text())
    folder = path.parent
    loopback_up()
    refuse_a_way_out()
    await_other(job)
    api = Api(Script(job["script"], folder / "requests.jsonl", job["first"], job["lean"]))
    api.start()
    env = {**job["env"], "ANTHROPIC_BASE_URL": api.url}
    code, trouble = (run_terminal if job["keys"] else run_client)(job, env, folder)
    result = {
        "returncode": code,
        "trouble": trouble,
        "refused": api.script.refused,
        "unplayed": {kind: len(turns) for kind, turns in api.script.left.items() if turns},
    }
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
