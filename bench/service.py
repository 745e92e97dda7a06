"""The service against a bare FastAPI endpoint, both served by uvicorn, in turns.

Usage: 32 connections ask how full a window is. Ours passes the gate on the way (token, Host, Origin, …) and
counts the request. Save: 32 connections save, each time something else; ours is redacted, joined to the
newest checkpoint and synced to the disk before it is answered, the other is one committed insert into
SQLite (WAL, synchronous=NORMAL: not synced). The load comes from `wrk`, a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from harness import REPO, progress, table

SAVE = {
    "environment": "bench",
    "used_tokens": 170_000,
    "max_tokens": 200_000,
    "inferred_task": "Move part NUMBER of the parser to the new tokenizer",
    "inferred_context": "The old one fails on nested quotes: tests/test_parse.py, line NUMBER. On tokens.",
}
#: Every request says something else.
SCRIPT = """
wrk.method, wrk.headers['Content-Type'] = 'POST', 'application/json'
local count, body = 0, 'BODY'
request = function()
    count = count + 1
    return wrk.format(nil, nil, nil, (body:gsub('NUMBER', count)))
end
"""
USAGE = "/context/usage?used_tokens=150000&max_tokens=200000"


class Server(NamedTuple):
    name: str
    process: subprocess.Popen
    url: str
    headers: dict[str, str]

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found.group(1)) / 1024

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


class Turn(NamedTuple):
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    requests: int


def ours(folder: Path) -> Server:
    environ = {**os.environ, "HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}
    argv = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    url = process.stdout.readline().split()[0]
    token = (folder / "home/token").read_text().strip()
    return Server("holdfast", process, url, {"Authorization": f"Bearer {token}"})


def bare(folder: Path) -> Server:
    argv = [sys.executable, str(REPO / "bench/bare.py"), str(folder / "bare.db")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return Server("bare FastAPI", process, process.stdout.readline().strip(), {})


def load(server: Server, path: str, script: Path | None, seconds: int, connections: int) -> Turn:
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    argv += [word for name, value in server.headers.items() for word in ("-H", f"{name}: {value}")]
    argv += ["-s", str(script)] if script else []
    before = server.cpu_s()
    said = subprocess.run([*argv, server.url + path], capture_output=True, text=True, check=True).stdout
    cpu = server.cpu_s() - before
    wrong = re.search(r"Non-2xx.*|Socket errors.*", said)
    if wrong:
        raise RuntimeError(f"{server.name} {path}: {wrong.group()}")
    requests = int(_found(r"(\d+) requests in", said))
    return Turn(
        float(_found(r"Requests/sec:\s+([\d.]+)", said)),
        _ms(_found(r"(?m)^\s+50%\s+(\S+)", said)),
        _ms(_found(r"(?m)^\s+99%\s+(\S+)", said)),
        1e6 * cpu / max(1, requests),
        requests,
    )


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        raise RuntimeError(f"wrk did not say {pattern}:\n{text}")
    return match.group(1)


def _ms(text: str) -> float:
    for unit, factor in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)


def median(turns: list[Turn]) -> Turn:
    rate, p50, p99, cpu, requests = (statistics.median(column) for column in zip(*turns, strict=True))
    return Turn(rate, p50, p99, cpu, int(requests))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=2, help="of every turn")
    parser.add_argument("--connections", type=int, default=32)
    wanted = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("this needs wrk, which makes the load: install it with your package manager")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "save.lua"
        body = json.dumps(SAVE).replace("\\", "\\\\").replace("'", "\\'")
        script.write_text(SCRIPT.replace("BODY", body))
        servers = [ours(folder), bare(folder)]
        try:
            measure(servers, script, folder, wanted)
        finally:
            for server in servers:
                server.stop()


def measure(servers: list[Server], script: Path, folder: Path, wanted: argparse.Namespace) -> None:
    time.sleep(1)
    idle = {server.name: server.rss_mb() for server in servers}
    kinds = [("usage", USAGE, None), ("save", "/context/auto-save", script)]
    turns: dict[tuple[str, str], list[Turn]] = {}
    for done in range(wanted.rounds + 1):
        for kind, path, lua in kinds:
            for server in random.sample(servers, len(servers)):
                turn = load(server, path, lua, wanted.seconds, wanted.connections)
                if done:  # the first warms up
                    turns.setdefault((kind, server.name), []).append(turn)
        progress(f"round {done} of {wanted.rounds}")
    progress("")
    rows = []
    for kind, _, _ in kinds:
        theirs = median(turns[kind, servers[1].name])
        for server in servers:
            it = median(turns[kind, server.name])
            rows.append(
                [
                    f"{kind}, {server.name}",
                    f"{it.rate:,.0f}",
                    f"{it.rate / theirs.rate:.2f}",
                    f"{it.p50_ms:.1f} / {it.p99_ms:.1f}",
                    f"{it.p99_ms / theirs.p99_ms:.2f}",
                    f"{it.cpu_us:.0f}",
                ]
            )
    print(table(["", "requests/s", "× bare", "p50 / p99 ms", "p99 × bare", "CPU µs"], rows))
    print(f"\nidle: {', '.join(f'{name} {mb:.0f} MB' for name, mb in idle.items())}")
    saved = sum(1 for _ in (folder / "home/environments/bench.jsonl").open("rb"))
    answered = sum(turn.requests for turn in turns["save", "holdfast"])
    print(f"{saved:,} saves on the disk, at least {answered:,} answered")
    if saved < answered:
        raise SystemExit("saves were lost")


if __name__ == "__main__":
    main()
