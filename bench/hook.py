"""What a hook and the statusline cost, against starting the interpreter: python bench/hook.py

Before every call the transcript grows by one turn, as in a session. It is read, folded, measured and
the state saved, under its lock. By itself, because what takes turns in one session also takes turns in
saving it, with a config.yaml and without. Ratios are to `python -I -S -c pass` of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import made
from harness import LAUNCH, PYTHON, Contender, median, rounds, run, table

_CONFIG = "ladder:\n  warning: 75  # later\nbrief: {tokens: 1000}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--python", default=PYTHON, help="interpreter to measure with")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        print(measure(Path(folder), args.mb, args.rounds, args.python))


def measure(folder: Path, sizes: list[float], times: int, python: str) -> str:
    environ = {"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}
    contenders = [Contender("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"])]
    for mb in sizes:
        path = folder / f"{mb:g}mb.jsonl"
        writer = made.Session(path, session=f"s-{mb:g}")
        writer.grow_to(int(mb * 1e6))
        event = writer.post_tool_batch()
        first = Contender("", [python, "-I", "-S", str(LAUNCH)], event)
        read_all(environ, first, folder / "home" / "sessions" / f"s-{mb:g}" / "state.json", path)
        contenders.append(Contender(f"PostToolBatch, {mb:g} MB transcript", first.argv, event, writer.turn))
        line = writer.statusline()
        argv = [*first.argv, "statusline"]
        contenders.append(Contender(f"statusline, {mb:g} MB transcript", argv, line, writer.turn))
    contenders += [alone(folder, python, sizes[0], config) for config in ("", _CONFIG)]
    costs = rounds(contenders, times, environ)
    bare = median(costs[contenders[0].name])
    smallest = median(costs[contenders[1].name])
    rows = []
    for contender in contenders:
        cost = median(costs[contender.name])
        rows.append(
            [
                contender.name,
                f"{cost.wall_s * 1000:.1f}",
                f"{cost.cpu_s * 1000:.1f}",
                f"{cost.wall_s / bare.wall_s:.2f}",
                f"{cost.cpu_s / bare.cpu_s:.2f}",
                "" if contender is contenders[0] else f"{cost.wall_s / smallest.wall_s:.2f}",
                f"{cost.rss_mb:.0f}",
            ]
        )
    head = ["command", "wall ms", "CPU ms", "× bare, wall", "× bare, CPU", "× smallest", "peak MB"]
    return table(head, rows)


def alone(folder: Path, python: str, mb: float, config: str) -> Contender:
    """A hook with a home and a transcript of its own, and with a config.yaml or without."""
    name = f"PostToolBatch by itself, {'with a' if config else 'no'} config.yaml"
    home = folder / name
    home.mkdir()
    environ = {"HOLDFAST_HOME": str(home), "HOME": str(folder)}
    if config:
        (home / "config.yaml").write_text(config)
        run([sys.executable, "-m", "holdfast", "config", "compile"], b"", environ)
    path = folder / f"{name}.jsonl"
    writer = made.Session(path, session="s")
    writer.grow_to(int(mb * 1e6))
    hook = Contender(
        name, [python, "-I", "-S", str(LAUNCH)], writer.post_tool_batch(), writer.turn, environ
    )
    read_all(environ, hook, home / "sessions" / "s" / "state.json", path)
    return hook


def read_all(environ: dict[str, str], hook: Contender, state: Path, path: Path) -> None:
    """First contact reads a large file in portions; the steady state is what is measured here."""
    while True:
        run(hook.argv, hook.stdin, environ)
        saved = json.loads(state.read_bytes())
        if not saved["behind"] and saved["seen"]["offset"] == os.path.getsize(path):
            return


if __name__ == "__main__":
    main()
