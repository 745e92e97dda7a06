"""What the MCP server costs: python bench/tools.py

Start until `initialize`, until `tools/list` and until a tool has answered, each to the end of the process,
against starting the interpreter (`python -I -S -c pass` of the same run); and how much of every session's
context the tools take: the names of those that are deferred, the schemas of those that are not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import LAUNCH, Contender, median, rounds, table
from holdfast.mcp import tools

#: As the client names them to the model.
_PREFIX = "mcp__holdfast__"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--python", default=sys.executable, help="interpreter to measure with")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        print(measure(Path(folder), args.rounds, args.python))
    print()
    print(context())


def measure(folder: Path, times: int, python: str) -> str:
    environ = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}
    server = [python, "-I", "-S", str(LAUNCH), "mcp"]
    start = _asked("initialize", protocolVersion="2025-11-25", capabilities={})
    listed, called = _asked("tools/list"), _asked("tools/call", name="status", arguments={})
    contenders = [
        Contender("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"]),
        Contender("initialize", server, start),
        Contender("initialize, tools/list", server, start + listed),
        Contender("initialize, tools/list, status", server, start + listed + called),
        Contender("holdfast mcp: initialize", [python, "-m", "holdfast", "mcp"], start),
    ]
    costs = rounds(contenders, times, environ)
    bare = median(costs[contenders[0].name])
    rows = []
    for contender in contenders:
        cost = median(costs[contender.name])
        timed = [cost.wall_s * 1000, cost.cpu_s * 1000, cost.wall_s / bare.wall_s, cost.cpu_s / bare.cpu_s]
        rows.append([contender.name, *(f"{value:.2f}" for value in timed), _memory(contender, environ)])
    return table(["until", "wall ms", "CPU ms", "× bare, wall", "× bare, CPU", "MB then"], rows)


def _memory(contender: Contender, environ: dict[str, str]) -> str:
    """Of a server that has answered and waits."""
    if not contender.stdin:
        return ""
    with subprocess.Popen(
        contender.argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(contender.stdin)
        server.stdin.flush()
        for _ in contender.stdin.splitlines():
            server.stdout.readline()
        status = Path(f"/proc/{server.pid}/status").read_text()
    (kilobytes,) = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return f"{int(kilobytes) / 1024:.1f}"


def context() -> str:
    """As the client sends it: of a tool that is deferred the name on a line, else what it takes."""
    every = json.loads(tools.listed())["tools"]
    loaded = [tool for tool in every if "_meta" in tool]
    names = sum(len(_PREFIX + tool["name"]) + 1 for tool in every if tool not in loaded)
    schemas = sum(
        len(json.dumps({key: tool[key] for key in ("name", "description", "inputSchema")}))
        for tool in loaded
    )
    each = names / (len(every) - len(loaded))
    rows = [
        [f"names of {len(every) - len(loaded)} deferred tools", f"{names:,}"],
        ["the same, for 60", f"{60 * each:,.0f}"],
        [f"schemas of {len(loaded)} tools that are always loaded", f"{schemas:,}"],
    ]
    return table(["in every context", "bytes"], rows)


def _asked(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


if __name__ == "__main__":
    main()
