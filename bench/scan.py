"""How fast a folder of transcripts is counted: python bench/scan.py [--mb 300] [--corpus DIR] [--rounds 7]

Against ccusage's native binary, on the same files, in turns; on made sessions and, where a corpus is at
hand, on real ones. Before anything is timed, the totals must be those of ccusage and of a slow reader that
parses every line with json. Then the same with nothing new, against looking at the files and no more: by an
interpreter that is started like the command, with `-m`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import made
from harness import PYTHON, REPO, Contender, Cost, median, progress, rounds, table

sys.path.insert(0, str(REPO / "tests"))

from client.binary import Unavailable, ensure

CORPUS = Path(os.environ.get("HOLDFAST_CORPUS", REPO.parent / "shared" / "corpus"))
COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
THEIRS = ("inputTokens", "cacheReadTokens", "cacheCreationTokens", "outputTokens")
_LIBRARIES = next(path for path in sys.path if path.endswith("site-packages"))
_PATHS = f"import sys; sys.path[:0] = [{str(REPO / 'src')!r}, {_LIBRARIES!r}]; "
_SCAN = _PATHS + (
    "from holdfast.app import Holdfast; from holdfast.ops.tally import scan; app = Holdfast.open(); "
    "scan(app.home, app.client_dir + '/projects', lambda done, of: None)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=300, help="of made sessions")
    parser.add_argument(
        "--files", type=int, nargs="+", default=[100, 2000, 10_000], help="transcripts with nothing new"
    )
    parser.add_argument("--unchanged", action="store_true", help="only the scan of nothing new")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder with transcripts/*.jsonl.gz")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        if not args.unchanged:
            compared(folder, args)
        print(again(folder, args.files, args.rounds * 3))


def compared(folder: Path, args: argparse.Namespace) -> None:
    try:
        ccusage = ensure(Path(__file__).with_name("ccusage.json"))
    except Unavailable as problem:
        sys.exit(f"nothing to compare with: {problem}")
    progress(f"making {args.mb:g} MB")
    made.projects(folder / "made", int(args.mb * 1e6), 1e6)
    folders = {"made": folder / "made"}
    if (args.corpus / "transcripts").is_dir():
        folders["real"] = unpacked(args.corpus, folder / "real")
        print(explained(folders["real"], ccusage), end="\n\n")
        with_request_ids(folders["real"])
        folders["real, three times over"] = repeated(folders["real"], folder / "three", 3)
    for what, where in folders.items():
        print(timed(what, where, ccusage, args.rounds), end="\n\n")


class Totals(NamedTuple):
    input: int
    cache_read: int
    cache_creation: int
    output: int


def of_holdfast(folder: Path) -> Totals:
    said = _said(_command(), folder)["tokens"]
    return Totals(*(said[name] for name in Totals._fields))


def of_ccusage(folder: Path, binary: Path) -> Totals:
    said = _said(_daily(binary), folder)["totals"]
    return Totals(*(said[name] for name in THEIRS))


def by_the_rule(folder: Path) -> Totals:
    """In a file the last line of a message id; of several files the conversation's own, then the most."""
    found: dict[str, tuple[bool, int, Totals]] = {}
    for path in _files(folder):
        here = {}
        for told, aside in _told(path):
            counts = _counts(told["message"]["usage"])
            if any(counts):
                here[told["message"]["id"]] = not aside, sum(counts), counts
        for message, held in here.items():
            if message not in found or held[:2] > found[message][:2]:
                found[message] = held
    return _sum(counts for _, _, counts in found.values())


def by_their_rule(folder: Path) -> Totals:
    """Every message id with every request id; where there is none, with every time stamp, so that each line
    counts. What was written into the cache is the sum of its parts."""
    found: dict[tuple, Totals] = {}
    for path in _files(folder):
        for told, _ in _told(path):
            usage = told["message"]["usage"]
            parts = usage.get("cache_creation") or {}
            counts = _counts(
                usage | {"cache_creation_input_tokens": sum(parts.values())} if parts else usage
            )
            request = told.get("requestId") or (told.get("sessionId"), told["timestamp"])
            key = (told["message"]["id"], request)
            if sum(counts) > sum(found.get(key, ())):
                found[key] = counts
    return _sum(found.values())


def _told(path: Path) -> Iterator[tuple[dict, bool]]:
    """What tells of a response, and whether aside: every line parsed."""
    with path.open("rb") as file:
        for raw in file:
            told = json.loads(raw)
            aside = told.get("isSidechain") is True
            if told.get("type") == "progress":
                told, aside = (told.get("data") or {}).get("message") or {}, True
            if told.get("type") == "assistant":
                yield told, aside


def _counts(usage: dict) -> Totals:
    return Totals(*(usage.get(name, 0) for name in COUNTS))


def _sum(counts: Iterable[Totals]) -> Totals:
    return Totals(*map(sum, zip(*counts, strict=True)))


def unpacked(corpus: Path, folder: Path) -> Path:
    inside = folder / "projects/corpus"
    inside.mkdir(parents=True)
    for packed in sorted((corpus / "transcripts").glob("*.jsonl.gz")):
        with gzip.open(packed) as whole, (inside / packed.stem).open("wb") as file:
            shutil.copyfileobj(whole, file)
    return folder


def explained(folder: Path, binary: Path) -> str:
    """The real files as they are: where the two differ, and that the rule is all of the difference."""
    rows = {
        "holdfast": of_holdfast(folder),
        "every line parsed, last line of a message id": by_the_rule(folder),
        "ccusage": of_ccusage(folder, binary),
        "every line parsed, ccusage's rule": by_their_rule(folder),
    }
    ours, reference, theirs, rule = rows.values()
    if ours != reference or theirs != rule:
        sys.exit(f"the totals are not explained: {rows}")
    return table(
        ["real files as they are", *Totals._fields],
        [[name, *(f"{number:,}" for number in totals)] for name, totals in rows.items()],
    )


def with_request_ids(folder: Path) -> None:
    """Gives every response the request id that newer clients leave out: then both rules are one."""
    for path in _files(folder):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(map(_with_request_id, lines)))


def _with_request_id(raw: bytes) -> bytes:
    record = json.loads(raw)
    if record.get("type") != "assistant" or "requestId" in record:
        return raw
    return raw.replace(b"{", b'{"requestId":"%s",' % record["message"]["id"].encode(), 1)


def repeated(folder: Path, to: Path, times: int) -> Path:
    """The same lines of as many times the sessions: with other ids in each."""
    for number in range(times):
        (to / f"projects/{number}").mkdir(parents=True)
        for path in _files(folder):
            data = (
                path.read_bytes()
                .replace(b'"msg_', b'"msg_%d' % number)
                .replace(b'"req_', b'"req_%d' % number)
            )
            (to / f"projects/{number}" / path.name).write_bytes(data)
    return to


def timed(what: str, folder: Path, binary: Path, times: int) -> str:
    progress(f"comparing totals, {what}")
    totals = {of_holdfast(folder), of_ccusage(folder, binary), by_the_rule(folder)}
    if len(totals) > 1:
        sys.exit(f"the totals differ: {totals}")
    paths = _files(folder)
    mb = sum(path.stat().st_size for path in paths) / 1e6

    def forget() -> None:
        shutil.rmtree(folder / "home", ignore_errors=True)

    contenders = [
        Contender("ccusage, native", _daily(binary)),
        Contender("holdfast sessions --scan", _command(), prepare=forget),
        Contender("the scan alone", [PYTHON, "-I", "-S", "-c", _SCAN], prepare=forget),
    ]
    costs = {name: median(cost) for name, cost in rounds(contenders, times, _environ(folder)).items()}
    reference = costs["ccusage, native"]
    rows = [
        [
            name,
            *_ms(cost),
            f"{mb / cost.wall_s:.0f}",
            f"{reference.wall_s / cost.wall_s:.2f}",
            f"{reference.cpu_s / cost.cpu_s:.2f}",
        ]
        for name, cost in costs.items()
    ]
    head = f"{mb:.0f} MB in {len(paths)} files, {what}; equal totals"
    return table([head, "wall ms", "CPU ms", "MB/s", "× faster, wall", "× faster, CPU"], rows)


def again(folder: Path, sizes: list[int], times: int) -> str:
    """With nothing new: the command, against an interpreter that looks at the files."""
    rows = []
    for files in sizes:
        progress(f"making {files} transcripts")
        many(folder / f"{files}", files)
        of_holdfast(folder / f"{files}")
        environ = _environ(folder / f"{files}") | {"PYTHONPATH": str(REPO / "bench")}
        contenders = [
            Contender("walk", [sys.executable, "-m", "walk", str(folder / f"{files}/projects")]),
            Contender("command", _command()),
            Contender("command, without --json", _command()[:-1]),
        ]
        costs = {name: median(cost) for name, cost in rounds(contenders, times, environ).items()}
        walk = costs["walk"]
        for name, cost in costs.items():
            ratios = [f"{cost.wall_s / walk.wall_s:.2f}", f"{cost.cpu_s / walk.cpu_s:.2f}"]
            rows.append([f"{files:,} transcripts: {name}", *_ms(cost), *ratios])
    return table(["nothing new", "wall ms", "CPU ms", "× walk, wall", "× walk, CPU"], rows)


def many(folder: Path, files: int) -> None:
    """Small ones, as heavy users of subagents have them: nine to a session."""
    for number in range(files):
        session, agent = divmod(number, 10)
        path = folder / f"projects/-work-{session % 12}/s{session:05d}.jsonl"
        if agent:
            path = path.with_suffix("") / f"subagents/agent-{agent}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        (made.Agent if agent else made.Coding)(path, f"s{session:05d}-{agent}", number).grow_to(4_000)


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "projects").rglob("*.jsonl"))


def _ms(cost: Cost) -> list[str]:
    return [f"{cost.wall_s * 1000:.1f}", f"{cost.cpu_s * 1000:.1f}"]


def _command() -> list[str]:
    return [sys.executable, "-m", "holdfast", "sessions", "--scan", "--json"]


def _daily(binary: Path) -> list[str]:
    return [str(binary), "claude", "daily", "--offline", "--json"]


def _environ(folder: Path) -> dict[str, str]:
    home = str(folder / "home")
    return {"HOME": home, "HOLDFAST_HOME": home, "CLAUDE_CONFIG_DIR": str(folder), "PATH": os.defpath}


def _said(argv: list[str], folder: Path) -> dict:
    done = subprocess.run(argv, env=_environ(folder), capture_output=True, check=True)
    said: dict = json.loads(done.stdout)
    return said


if __name__ == "__main__":
    main()
