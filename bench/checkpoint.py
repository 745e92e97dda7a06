"""What a checkpoint costs, against starting the interpreter: python bench/checkpoint.py

PreCompact in a git repository, with a state that has caught up but for one turn: the tail is waited for,
the turn is read, the checkpoint composed, redacted, verified, written and synced, the index told. Ratios
are to `python -I -S -c pass` of the same run. Goals: CPU at most 6 × at any size, wall p95 at most 400 ms.
Then SessionStart after the compaction, which says the brief, and that of a new session where another has
ended, which looks at what has changed since and says what it left: CPU at most 3 ×. Also after a compaction
whose summary was made long before, so that there is work to be saved, which it leaves to PostCompact; and
after one whose PreCompact was never heard of, so that what was said since is to be told as well.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import made
from harness import LAUNCH, PYTHON, Contender, median, rounds, run, table
from hook import read_all

GOAL_CPU, GOAL_START_CPU, GOAL_P95_S = 6.0, 3.0, 0.4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--python", default=PYTHON, help="interpreter to measure with")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        text, good = measure(Path(folder), args.mb, args.rounds, args.python)
    print(text)
    sys.exit(0 if good else 1)


def measure(folder: Path, sizes: list[float], times: int, python: str) -> tuple[str, bool]:
    home, project = folder / "home", folder / "project"
    environ = {"HOLDFAST_HOME": str(home), "HOME": str(folder)}
    subprocess.run(["git", "init", "-q", project], check=True)
    contenders = [Contender("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"])]
    for mb in sizes:
        path = folder / f"{mb:g}mb.jsonl"
        writer = made.Session(path, session=f"s-{mb:g}")
        writer.grow_to(int(mb * 1e6))
        argv = [python, "-I", "-S", str(LAUNCH)]
        hook = Contender(
            f"PreCompact, {mb:g} MB transcript", argv, writer.pre_compact(project), writer.turn
        )
        read_all(environ, hook, home / "sessions" / f"s-{mb:g}" / "state.json", path)
        start = writer.session_start(project)
        contenders += [hook, Contender(f"SessionStart, {mb:g} MB transcript", argv, start)]
        contenders.append(_made_before(folder, home, project, argv, mb, environ, is_heard=True))
        contenders.append(_made_before(folder, home, project, argv, mb, environ, is_heard=False))
        contenders.append(_new_session(folder, home, path, argv, mb, environ))
    before = len(list(project.glob(".claude/checkpoints/2*.md")))
    costs = rounds(contenders, times, environ)
    taken = len(list(project.glob(".claude/checkpoints/2*.md"))) - before
    # Two PreCompacts and two PostCompacts a round; what the last SessionStarts owe is still to be paid.
    expected = (4 * (times + 2) - 2) * len(sizes)
    if taken != expected:
        raise RuntimeError(f"{taken} checkpoints were taken, not {expected}")
    said = (home / "events.jsonl").read_text().count('"why":"startup"')
    if said < (times + 2) * len(sizes):
        raise RuntimeError(f"{said} new sessions were told something, not {(times + 2) * len(sizes)}")
    bare, rows, good = median(costs[contenders[0].name]), [], True
    for contender in contenders:
        cost = median(costs[contender.name])
        p95 = statistics.quantiles([c.wall_s for c in costs[contender.name]], n=20)[-1]
        ratio = cost.cpu_s / bare.cpu_s
        goal = GOAL_START_CPU if contender.name.startswith("SessionStart") else GOAL_CPU
        good = good and ratio <= goal and p95 <= GOAL_P95_S
        figures = [cost.wall_s * 1000, p95 * 1000, cost.cpu_s * 1000]
        rows.append([contender.name, *[f"{f:.1f}" for f in figures], f"{ratio:.2f}", f"{cost.rss_mb:.0f}"])
    head = ["command", "wall ms", "wall p95 ms", "CPU ms", "× bare, CPU", "peak MB"]
    return table(head, rows), good


def _made_before(
    folder: Path,
    home: Path,
    project: Path,
    argv: list[str],
    mb: float,
    environ: dict[str, str],
    is_heard: bool,
) -> Contender:
    """After a compaction whose summary was made a prompt ago: there is work that no checkpoint has. The
    PostCompact that follows each takes it. Where its PreCompact was not heard of, nobody knows that."""
    what = "summary made before" if is_heard else "PreCompact not heard of"
    path = folder / f"{what}-{mb:g}mb.jsonl"
    writer = made.Session(path, session=f"{'before' if is_heard else 'unheard'}-{mb:g}")
    writer.grow_to(int(mb * 1e6))
    hook = Contender("", argv, writer.pre_compact(project))
    read_all(environ, hook, home / "sessions" / writer.session / "state.json", path)

    def prepare() -> None:
        run(argv, writer.post_compact(project), environ)
        if is_heard:
            run(argv, writer.pre_compact(project), environ)
        writer.prompt()
        writer.turn()

    name = f"SessionStart, {what}, {mb:g} MB transcript"
    return Contender(name, argv, writer.session_start(project), prepare)


def _new_session(
    folder: Path, home: Path, grows: Path, argv: list[str], mb: float, environ: dict[str, str]
) -> Contender:
    """In a project of its own, where a session has ended whose transcript is as long."""
    project, path = folder / f"ended-{mb:g}", folder / f"ended-{mb:g}.jsonl"
    subprocess.run(["git", "init", "-q", project], check=True)
    shutil.copyfile(grows, path)

    def event(session: str, name: str, transcript: Path, **fields: str) -> bytes:
        common = {"session_id": session, "transcript_path": str(transcript), "cwd": str(project)}
        return json.dumps({**common, "hook_event_name": name, **fields}).encode()

    ended, fresh = f"ended-{mb:g}", f"new-{mb:g}"
    hook = Contender("", argv, event(ended, "PreCompact", path, trigger="auto"))
    read_all(environ, hook, home / "sessions" / ended / "state.json", path)
    run(argv, event(ended, "SessionEnd", path, reason="other"), environ)
    start = event(fresh, "SessionStart", folder / f"{fresh}.jsonl", source="startup")
    gone = home / "sessions" / fresh
    return Contender(
        f"SessionStart of a new session, {mb:g} MB transcript",
        argv,
        start,
        lambda: shutil.rmtree(gone, ignore_errors=True),
    )


if __name__ == "__main__":
    main()
