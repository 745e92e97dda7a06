"""Hostile commits through the installed hook, in a real repository: python bench/hostile.py

Each commit has a message, a branch or a file with a name that tries to leave its place: quotes, newlines,
`$(…)`, backticks, pieces of JSON, options, invalid UTF-8, marks that turn text around, megabytes. What is
saved is compared with what was committed, value by value, and nothing that was written may have run. The
control is a hook that puts its JSON together by hand, in the shell: it must be found out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from harness import progress, table
from holdfast import breaks
from holdfast.app import Holdfast
from holdfast.core.plain import excerpt, one_line
from holdfast.disk import saves, spool
from holdfast.install import githooks
from holdfast.install.operations import install

_EVERY = 32  # commits between two that come for what was spooled
_CONTROL_EVERY = 10
_HUGE = 10_000_000
#: What messages are made of.
_PIECES = [
    *(bytes([one]) for one in b"\"'\\\n\r\t$`;|&<>{}-\x01\x07\x7f\xff\xc3"),
    *(b"\\n", b"%s", b"${IFS}", b"$HOME", b"!!", b"-n", b"--", b"--amend", b"--output=CANARY"),
    *(b'", "environment": "production', b'"}, {"commit_sha": "0', b"# no comment", b"a" * 300),
    *(b"$(touch CANARY)", b"`touch CANARY`", b"; touch CANARY #", b"| touch CANARY", b"\ntouch CANARY\n"),
    *(b"' ; touch CANARY ; '", b'" ; touch CANARY ; "', b"\xed\xa0\x80", b"\xff\xfe", b"\x1b[2J"),
    *(
        one.encode()
        for one in ("\u202eevil\u202c", "\u200b", "\U000e0041", "\u2028", "größe", "你好", "👩‍💻")
    ),
]
_BRANCHES = [
    *('a"b', "a'b", "a;b", "a$(id)", "a`id`", "a|b", "a&b", "a{b}", "a,b", "a=b", "a#b", "a%sb", "a!b"),
    *("(a)", "<a>", "größe", "你好", "x" * 200, "a/" * 40 + "z"),
]
_FILES = [
    *(
        b'a"b',
        b"a'b",
        b"a b",
        b"a\nb",
        b"a\\b",
        b"a\tb",
        b"$(touch canary)",
        b"`touch canary`",
        b"--x",
        b"-",
    ),
    *(b"\xff", "größe".encode()),
]

#: As a project once had it.
_BY_HAND = r"""#!/bin/bash
ENV="${CONTEXTS_ENV:-development}"
CONTEXTS_URL="${CONTEXTS_URL:-http://localhost:8100}"

COMMIT_SHA=$(git rev-parse HEAD)
COMMIT_MSG=$(git log -1 --pretty=%B | head -1)
BRANCH=$(git branch --show-current)
FILES_CHANGED=$(git diff-tree --no-commit-id --name-only -r HEAD | wc -l)

curl -s -X POST "$CONTEXTS_URL/hooks/git-commit" \
    -H "Content-Type: application/json" \
    -d "{
        \"environment\": \"$ENV\",
        \"commit_sha\": \"$COMMIT_SHA\",
        \"commit_message\": \"$COMMIT_MSG\",
        \"branch\": \"$BRANCH\",
        \"files_changed\": $FILES_CHANGED
    }" > /dev/null
"""
_CURL = '#!/bin/sh\nfor last; do :; done\nprintf %s "$last" > "$POSTED"\n'


class Commit:
    """One that is to be made: what git is given, and what has to be saved of it."""

    def __init__(self, number: int, chance: random.Random, canary: str) -> None:
        pieces = chance.choices(_PIECES, k=chance.randint(1, 6))
        self.message = b"".join(pieces).replace(b"CANARY", canary.encode())
        if number % 400 == 7:
            self.message += chance.choice((b" ", b"\n")) + b"x" * _HUGE
        self.branch = f"{chance.choice(_BRANCHES)}-{number}" if number % 5 == 0 else ""
        names = chance.sample(_FILES, k=chance.randint(1, 3))
        self.files = [name + b"-%d" % number for name in names]


class Bench:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.root = folder / "repository"
        self.canaries = folder / "canaries"
        self.canaries.mkdir(parents=True)
        self.chance = random.Random(seed)
        whose = [f"{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        self.environ = {
            "PATH": os.defpath,
            "HOME": str(folder),
            "HOLDFAST_HOME": str(folder / "home"),
            "POSTED": str(folder / "posted"),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{name}": "b@example.org" for name in whose},
        }
        self.app = Holdfast.open(self.environ)
        self.git("init", "-q", "-b", "main", str(self.root), at=folder)
        done = install(self.app, str(self.root), git=True)
        assert isinstance(done, githooks.Hooked)
        self.hook = Path(done.hook)

    def git(self, *words: str | bytes, at: Path | None = None, stdin: bytes = b"") -> bytes:
        place = at or self.root
        done = subprocess.run(
            ["git", *words], cwd=place, env=self.environ, input=stdin, capture_output=True, check=True
        )
        return done.stdout

    def make(self, commit: Commit) -> str:
        """The commit's id; "" where git refuses it."""
        if commit.branch:
            self.git("checkout", "-q", "-b", commit.branch)
        for name in commit.files:
            Path(os.fsdecode(os.fsencode(self.root) + b"/" + name)).write_bytes(b"x")
        self.git("add", "-A")
        try:
            how = ("-q", "--allow-empty-message", "--cleanup=verbatim", "-F", "-")
            self.git("commit", *how, stdin=commit.message)
        except subprocess.CalledProcessError:
            return ""
        return self.git("rev-parse", "HEAD").decode().strip()

    def subject(self) -> str:
        """As git itself reads it. What is no UTF-8 it has made some of."""
        message = self.git("log", "-1", "--format=%B", "--encoding=UTF-8").decode("utf-8", "replace")
        return message.lstrip("\n").split("\n")[0]

    def branch(self) -> str:
        return self.git("branch", "--show-current").decode().strip()


def through_ours(bench: Bench, count: int) -> Counter[str]:
    tally: Counter[str] = Counter()
    expected: dict[str, tuple[str, str, int]] = {}
    for number in range(count):
        commit = Commit(number, bench.chance, str(bench.canaries / f"c{number}"))
        sha = bench.make(commit)
        tally["commits" if sha else "refused by git"] += 1
        if sha:
            task = excerpt("Commit: " + one_line(bench.subject())[:80], 300)
            expected[sha] = task, bench.branch(), len(commit.files)
        if number % _EVERY == _EVERY - 1 or number == count - 1:
            breaks.settle(bench.app, spool.trees(bench.app.home))
            progress(f"commit {number + 1} of {count}")
    found = {save["commit"]: save for save in saves.of(bench.app.home, "development")}
    for sha, (task, branch, files) in expected.items():
        save = found.pop(sha, None)
        if save is None:
            tally["not saved"] += 1
            continue
        right = {
            "task": task,
            "context": f"Branch: {branch}, SHA: {sha[:8]}, Files: {files}",
            "branch": excerpt(branch, 250),
            "tags": ["git-commit", excerpt(branch, 100), sha[:8]],
            "environment": "development",
            "source": "git-commit",
            "project": str(bench.root),
        }
        wrong = [name for name, value in right.items() if save[name] != value]
        tally["wrong values"] += bool(wrong)
        if wrong and tally["wrong values"] <= 3:
            print(f"wrong: {[(name, save[name], right[name]) for name in wrong]}")
    tally["saved and never made"] += len(found)
    tally["executed"] = len(list(bench.canaries.iterdir())) + len(list(bench.root.glob("*canary")))
    return tally


def by_hand(bench: Bench, count: int) -> Counter[str]:
    """The control."""
    tally: Counter[str] = Counter()
    tools = bench.folder / "tools"
    tools.mkdir()
    (tools / "curl").write_text(_CURL)
    (tools / "curl").chmod(0o755)
    bench.environ["PATH"] = f"{tools}:{os.defpath}"
    bench.hook.write_text(_BY_HAND)
    for number in range(count):
        commit = Commit(100_000 + number, bench.chance, str(bench.canaries / f"hand-{number}"))
        sha = bench.make(commit)
        if not sha:
            continue
        tally["commits"] += 1
        posted = (bench.folder / "posted").read_bytes()
        try:
            said = json.loads(posted.decode("utf-8", "replace"), strict=False)
        except ValueError:
            tally["not JSON"] += 1
            continue
        right = {
            "environment": "development",
            "commit_sha": sha,
            "commit_message": bench.subject(),
            "branch": bench.branch(),
        }
        tally["wrong values"] += any(said.get(name) != value for name, value in right.items())
        progress(f"control {number + 1} of {count}")
    return tally


def measure(folder: Path, count: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    bench = Bench(folder, seed)
    ours = through_ours(bench, count)
    return ours, by_hand(bench, max(10, count // _CONTROL_EVERY))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        ours, control = measure(Path(folder), args.commits, args.seed)
    names = [
        "commits",
        "refused by git",
        "not saved",
        "wrong values",
        "saved and never made",
        "not JSON",
        "executed",
    ]
    rows = [
        [label, *(str(tally[name]) for name in names)]
        for label, tally in (("holdfast", ours), ("by hand", control))
    ]
    print(table(["hook", *names], rows))


if __name__ == "__main__":
    main()
