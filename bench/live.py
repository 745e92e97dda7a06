"""What holdfast adds to a session of the real client: python bench/live.py

Sessions of many tool calls against the scripted model, with the hooks that `holdfast install` wires and
without, one after the other in turns. Per tool call: the time from the first response to the last in the
transcript, divided by the calls between. The reference is a bare interpreter start of the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from harness import PYTHON, REPO, progress, run, table

sys.path.insert(0, str(REPO / "src"))
sys.path.insert(0, str(REPO / "tests"))

from client.binary import ensure
from client.client import Machine, wired
from holdfast.app import Holdfast
from holdfast.install.operations import install


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        print(measure(Path(folder), args.calls, args.rounds))


def measure(folder: Path, calls: int, rounds: int) -> str:
    binary = ensure()
    kinds = ("no hooks", "one hook that does nothing", "holdfast, as installed")
    costs: dict[str, list[float]] = {kind: [] for kind in kinds}
    bare = []
    for number in range(rounds):
        for kind in kinds:
            progress(f"round {number + 1} of {rounds}: {kind}")
            machine = Machine(folder / f"{number}-{kinds.index(kind)}", binary)
            costs[kind].append(_per_call(machine, _settings(machine, kind), calls))
        bare += [run([PYTHON, "-I", "-S", "-c", "pass"], b"", {}).wall_s for _ in range(20)]
    progress("")
    start = statistics.median(bare)
    without = statistics.median(costs["no hooks"])
    rows = [["python -I -S -c pass", f"{start * 1000:.1f}", "", "1.00"]]
    for kind in kinds:
        each = statistics.median(costs[kind])
        added = each - without
        rows.append([kind, f"{each * 1000:.1f}", f"{added * 1000:+.1f}", f"{added / start:+.2f}"])
    return table([f"{calls} tool calls", "ms per call", "added ms", "× bare start"], rows)


def _settings(machine: Machine, kind: str) -> dict:
    if kind == "no hooks":
        return {}
    if kind == "one hook that does nothing":
        return wired([PYTHON, "-I", "-S", "-c", "pass"], ["PostToolUse"])
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(machine.config)}
    settings: dict = json.loads(Path(install(Holdfast.open(environ)).settings).read_text())
    return settings


def _per_call(machine: Machine, settings: dict, calls: int) -> float:
    turns = [{"say": f"step {n}", "run": f"echo {n}", "context": 20_000 + 100 * n} for n in range(calls)]
    script = {"main": [*turns, {"say": "finished", "context": 41_000}]}
    done = machine.run(script, ["-p", "go", "--model", "claude-opus-4-6"], settings=settings, probed=False)
    if done.returncode or done.trouble or done.unplayed:
        raise RuntimeError(f"the session did not go to its end: {done}")
    (lines,) = machine.transcripts.values()
    times = [datetime.fromisoformat(line["timestamp"]) for line in lines if line["type"] == "assistant"]
    return (times[-1] - times[0]).total_seconds() / calls


if __name__ == "__main__":
    main()
