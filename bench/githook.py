"""What a commit pays for its breakpoint: python bench/githook.py

The line in post-commit starts one interpreter, which only spools. It is compared with starting one
(`python -I -S -c pass`), and a `git commit` with the hook with one without, in a repository of its own
each. The commits are real, and the spool is emptied before each, as sessions do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import LAUNCH, PYTHON, Contender, median, rounds, run, table

GITHOOK = LAUNCH.with_name("githook.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--python", default=PYTHON, help="interpreter to measure with")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        print(measure(Path(folder), args.rounds, args.python))


def measure(folder: Path, times: int, python: str) -> str:
    git = shutil.which("git")
    if not git:
        raise SystemExit("there is no git on the PATH")
    identity = {
        f"GIT_{who}_{what}": "bench@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environ = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "HOLDFAST_HOME": str(folder / "home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        **identity,
    }
    repositories = [repository(folder / name, git, environ) for name in ("without", "with")]
    hook = repositories[1] / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    run_by_git = f"[ -r '{GITHOOK}' ] && '{python}' -I -S '{GITHOOK}' >/dev/null 2>&1 </dev/null || :"
    hook.write_text(f"#!/bin/sh\n{run_by_git}\n")
    hook.chmod(0o755)

    def empty() -> None:
        shutil.rmtree(folder / "home" / "spool", ignore_errors=True)

    commit = ["commit", "-q", "--allow-empty", "-m", "one more"]
    bare = Contender("python -I -S -c pass", [python, "-I", "-S", "-c", "pass"])
    spools = Contender(
        "the hook, spooling",
        [python, "-I", "-S", str(GITHOOK)],
        prepare=empty,
        environ={"GIT_DIR": str(repositories[1] / ".git"), "GIT_WORK_TREE": str(repositories[1])},
    )
    without, with_hook = (
        Contender(f"git commit, {name} the hook", [git, "-C", str(place), *commit], prepare=empty)
        for name, place in zip(("without", "with"), repositories, strict=True)
    )
    costs = rounds([bare, spools, without, with_hook], times, environ)
    run(with_hook.argv, b"", environ)  # in a random order the last of them may have emptied the spool
    left = len(list((folder / "home" / "spool").rglob("*.json")))
    if not left:
        raise RuntimeError("the hook has spooled nothing: there is nothing to compare")
    start = median(costs[bare.name])
    rows = []
    for contender, reference in ((bare, bare), (spools, bare), (without, without), (with_hook, without)):
        cost, other = median(costs[contender.name]), median(costs[reference.name])
        rows.append(
            [
                contender.name,
                f"{cost.wall_s * 1000:.1f}",
                f"{cost.wall_s / start.wall_s:.2f}",
                f"{cost.cpu_s / start.cpu_s:.2f}",
                f"{cost.wall_s / other.wall_s:.2f}",
            ]
        )
    return table(["command", "wall ms", "× bare, wall", "× bare, CPU", "× without"], rows)


def repository(place: Path, git: str, environ: dict[str, str]) -> Path:
    subprocess.run([git, "init", "-q", str(place)], env=environ, check=True)
    return place


if __name__ == "__main__":
    main()
