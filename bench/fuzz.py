"""Millions of damaged lines through the reader: python bench/fuzz.py [--lines N] [--seed N] [--seconds N]

Lines of a made session are cut, spliced, garbled and swapped about, then read and folded as a hook
would. What must hold: no exception, no line that takes 100 ms of CPU, every byte accounted for, 99 %
of the whole records that follow a cut one recovered, and a state that stays small and can be saved.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from harness import progress, table
from holdfast.core.fold import fold
from holdfast.core.lines import Account, records
from holdfast.core.state import State
from holdfast.core.transcript import entry
from made import Session

#: Seconds of CPU one line may take, bytes a state may have, share of spliced records to recover.
HANG_S, LARGEST_STATE, RECOVERED = 0.1, 256 << 10, 0.99
LONGEST_MADE = 3 << 20

JUNK = rb"""\ " } ] { {"type": \ud800 \x""".split()
JUNK += [b"\0", b"\x01\x1b[31m", b"\x7f", b"\r", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\0" * 600]
JUNK += [b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
NUMBERS = [*b'1e400 -1 NaN -Infinity 1.5 true "5" -'.split(), b"9" * 5000, b"9" * 40, b"0" * 30]
ODD = [None, True, -1, 1.5, 10**30, "", "x", "\ud800", [], [[]], [1, "x", {}, None], {}, {"type": []}]
ODD += [[{"type": "text", "text": {}}], [{"type": "tool_use", "input": []}], [{"type": "tool_result"}]]
OTHER = [*b'[] 1 null "x" true [{}] {} {"type":[]} {"type":"user"}'.split(), b"", b" ", b"\r"]
#: What the longest lines consist of.
FILLINGS = [b"x", b"\\n", b"\\u00e9", b"\xff", b'","', b"0,", b"{},", b"[],", b'{"type":1},']
FILLINGS += [b'{"type":"tool_use","id":"t","name":"TaskUpdate","input":{"taskId":"9"}},', "漢".encode()]
BOOKKEEPING = [
    b'{"type":"last-prompt","lastPrompt":"fold what is new","sessionId":"s"}\n',
    b'{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{}}}\n',
    b'{"type":"queue-operation","operation":"enqueue","content":"go on","sessionId":"s"}\n',
]


class Line(NamedTuple):
    kind: str
    raw: bytes
    owed: tuple[str, ...] = ()  # uuids of the whole records that come after a damaged one


class Maker:
    """Fuzzed lines from a seed, each cheap to make: the reader is what should take the time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            session = Session(Path(folder, "t"), f"fuzz{seed}", seed)
            session.grow_to(600_000)
            lines = session.path.read_bytes().splitlines(keepends=True)
        self.lines = [line for line in lines if len(line) < 3000] + lines[:: len(lines) // 8]
        self.parsed = [json.loads(line) for line in self.lines]
        self.heads = self.lines + BOOKKEEPING * (len(self.lines) // 20)
        weights = {
            self.whole: 12, self.cut: 8, self.splice: 20, self.splice_twice: 3, self.join: 5, self.flip: 12,
            self.junk: 12, self.repeat_key: 4, self.swap: 12, self.number: 5, self.deep: 1, self.other: 5,
        }  # fmt: skip
        self.makers, self.weights = list(weights), list(weights.values())

    def __iter__(self) -> Iterator[Line]:
        while True:
            for make in self.random.choices(self.makers, self.weights, k=1000):
                yield make()
            yield self.long()

    def pick(self) -> tuple[bytes, str]:
        at = self.random.randrange(len(self.lines))
        return self.lines[at], self.parsed[at]["uuid"]

    def head(self) -> bytes:
        """A record cut short; never whole."""
        raw = self.random.choice(self.heads)
        return raw[: self.random.randrange(1, len(raw) - 1)]

    def whole(self) -> Line:
        raw, uuid = self.pick()
        return Line("whole", raw, (uuid,))

    def cut(self) -> Line:
        return Line("cut", self.head() + b"\n")

    def splice(self) -> Line:
        raw, uuid = self.pick()
        return Line("splice", self.head() + raw, (uuid,))

    def splice_twice(self) -> Line:
        raw, uuid = self.pick()
        return Line("splice twice", self.head() + self.head() + raw, (uuid,))

    def join(self) -> Line:
        (first, one), (second, two) = self.pick(), self.pick()
        before = self.random.choice((b"", b"\0" * 64, BOOKKEEPING[0][:-1]))
        return Line("join", before + first[:-1] + second, (one, two))

    def flip(self) -> Line:
        raw = bytearray(self.pick()[0])
        for _ in range(self.random.randrange(1, 9)):
            raw[self.random.randrange(len(raw) - 1)] = self.random.randrange(256)
        return Line("flip", bytes(raw.replace(b"\n", b" ")) + b"\n")

    def junk(self) -> Line:
        raw, _ = self.pick()
        at = self.random.choice((0, len(raw) - 1, self.random.randrange(len(raw))))
        return Line("junk", raw[:at] + self.random.choice(JUNK) * self.random.randrange(1, 4) + raw[at:])

    def repeat_key(self) -> Line:
        raw, _ = self.pick()
        at = raw.find(b'"', self.random.randrange(len(raw) // 2))
        key = self.random.choice((b'"type":', b'"message":', b'"uuid":', b'"usage":', b'"content":'))
        return Line(
            "repeated key",
            raw[:at] + key + self.random.choice((b'"user"', b"{}", b"[1]")) + b"," + raw[at:],
        )

    def swap(self) -> Line:
        """A field, at any depth, replaced by a value of another type."""
        top = at = dict(self.random.choice(self.parsed))
        while True:
            key = self.random.choice(list(at) if type(at) is dict else range(len(at)))
            inner = at[key]
            if type(inner) not in (dict, list) or not inner or self.random.random() < 0.3:
                at[key] = self.random.choice(ODD)
                return Line("swap", json.dumps(top).encode() + b"\n")
            at[key] = at = inner.copy()

    def number(self) -> Line:
        raw, _ = self.pick()
        at = raw.rfind(b"_tokens", 0, self.random.randrange(len(raw)))
        start = raw.find(b":", max(at, 0)) + 1
        return Line("number", raw[:start] + self.random.choice(NUMBERS) + b"," + raw[start:])

    def deep(self) -> Line:
        raw, _ = self.pick()
        opening, closing = self.random.choice(((b"[", b"]"), (b'{"type":', b"}"), (b'[{"a":', b"}]")))
        depth = self.random.choice((50, 900, 1100, 20_000))
        return Line("deep", raw[:-2] + b',"x":' + opening * depth + b"1" + closing * depth + b"}\n")

    def other(self) -> Line:
        return Line("other", self.random.choice(OTHER) + b"\n")

    def long(self) -> Line:
        """Up to megabytes of one thing, as the value of some field."""
        dice = self.random
        size = dice.choice((1 << 17, 1 << 19, LONGEST_MADE))
        if dice.random() < 0.1:  # every start looks promising, and is tried to the end of the line
            return Line("long starts", b'{"type":' * dice.randrange(1, 900) + b'"' + b"x" * size + b"\n")
        item = dice.choice(FILLINGS)
        filling = (item * (size // len(item))).rstrip(b",")
        quote = (b"[", b"]") if item.endswith(b",") else (b'["', b'"]') if item == b'","' else (b'"', b'"')
        name = dice.choice((b"content", b"gitBranch", b"uuids", b"x", b"id", b"file_path", b"stdout"))
        raw, _ = self.pick()
        key = b'"%s":' % name
        at = raw.find(key) if key in raw else 1
        end = raw.find(b",", at) + 1 if at > 1 else 1
        whole = raw[:at] + key + quote[0] + filling + quote[1] + b"," + raw[end:]
        return Line(f"long {ascii(item)[2:14]}", whole if dice.random() < 0.7 else whole[: size // 2] + raw)


class Reader:
    """What a hook does with a line."""

    bare = True  # without `json` loaded, as in a hook: `_json` looks for it when it reports an error

    def __init__(self) -> None:
        self.account = Account()
        self.state = State("fuzz")
        self.offset = 0

    def read(self, raw: bytes) -> list[dict]:
        offset, self.offset = self.offset, self.offset + len(raw)
        found = records(raw, self.account)
        for record in found:
            made = entry(record, offset, len(raw))
            if made is not None:
                fold(self.state.seen, made)
        return found

    def accounted(self) -> int:
        return self.account.parsed + self.account.salvaged + self.account.skipped

    def salvaged(self) -> int:
        return self.account.salvaged

    def save(self) -> bytes:
        return self.state.render()


class Naive:
    """The reader one writes first. It must fail."""

    bare = False

    def __init__(self) -> None:
        self.bytes = 0

    def read(self, raw: bytes) -> list[dict]:
        try:
            record = json.loads(raw)
        except ValueError:
            return []
        self.bytes += len(raw)
        return [record] if record["type"] in ("user", "assistant", "system") else []

    def accounted(self) -> int:
        return self.bytes

    def salvaged(self) -> int:
        return 0

    def save(self) -> bytes:
        return b""


class Result:
    def __init__(self) -> None:
        self.lines = self.bytes = self.salvaged = self.owed = self.recovered = self.largest_state = 0
        self.wrongly_accounted = 0
        self.seconds = self.worst_s = 0.0
        self.worst_kind = ""
        self.errors: Counter[str] = Counter()
        self.hangs: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()

    def problems(self) -> list[str]:
        found = [f"{number} × {what}" for what, number in self.errors.items()]
        found += [f"{number} × over {HANG_S * 1000:.0f} ms: {kind}" for kind, number in self.hangs.items()]
        if self.wrongly_accounted:
            found.append(f"{self.wrongly_accounted} lines with bytes not accounted for")
        if self.recovered < RECOVERED * self.owed:
            found.append(f"only {self.recovered} of {self.owed} whole records recovered: {dict(self.lost)}")
        if self.largest_state > LARGEST_STATE:
            found.append(f"a state of {self.largest_state >> 10} KB")
        return found


def fuzz(
    lines: int, seed: int, reader: Callable[[], Reader | Naive] = Reader, seconds: float = 1e9
) -> Result:
    result, until = Result(), time.monotonic() + seconds
    hidden = {n: sys.modules.pop(n) for n in list(sys.modules) if n.split(".")[0] == "json" and reader.bare}
    collects = gc.isenabled()
    gc.disable()
    try:
        began = time.perf_counter()
        _feed(result, lines, Maker(seed), reader, until)
        result.seconds = time.perf_counter() - began
    finally:
        sys.modules.update(hidden)
        if collects:
            gc.enable()
    return result


def _feed(
    result: Result, lines: int, maker: Maker, make: Callable[[], Reader | Naive], until: float
) -> None:
    reader = make()
    for line in maker:
        accounted, began = reader.accounted(), time.process_time()
        try:
            found = reader.read(line.raw)
        except Exception as problem:
            found = []
            result.errors[f"{type(problem).__name__}: {str(problem)[:60]} ({line.kind})"] += 1
        spent = time.process_time() - began
        if spent > result.worst_s:
            spent = _timed_again(line.raw, spent, make)
            if spent > result.worst_s:
                result.worst_s, result.worst_kind = spent, f"{line.kind}, {len(line.raw) >> 10} KB"
        if spent > HANG_S and _timed_again(line.raw, spent, make) > HANG_S:
            result.hangs[line.kind] += 1
        result.wrongly_accounted += reader.accounted() - accounted != len(line.raw)
        result.lines += 1
        result.bytes += len(line.raw)
        if line.owed:
            _settle(result, line, found)
        if not result.lines % 10_000 or result.lines == lines:
            result.salvaged = reader.salvaged()
            result.largest_state = max(result.largest_state, len(reader.save()))
            progress(
                f"{result.lines:,} lines, {result.bytes >> 20:,} MB, {len(result.problems())} problems"
            )
            if result.lines >= lines or time.monotonic() > until:
                progress("")
                return


def _settle(result: Result, line: Line, found: list[dict]) -> None:
    there = {record.get("uuid") for record in found if type(record.get("uuid")) is str}
    got = sum(uuid in there for uuid in line.owed)
    result.owed += len(line.owed)
    result.recovered += got
    if got < len(line.owed):
        result.lost[line.kind] += len(line.owed) - got


def _timed_again(raw: bytes, spent: float, make: Callable[[], Reader | Naive]) -> float:
    """The best of three: on a busy machine a line may be slow for reasons of others."""
    for _ in range(2):
        began = time.process_time()
        try:
            make().read(raw)
        except Exception:
            continue
        spent = min(spent, time.process_time() - began)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this long")
    asked = parser.parse_args()
    result = fuzz(asked.lines, asked.seed, Reader, asked.seconds)
    rows = [
        ["lines", f"{result.lines:,}"],
        ["MB", f"{result.bytes / 1e6:,.0f}"],
        ["lines/s", f"{result.lines / result.seconds:,.0f}"],
        ["salvaged", f"{result.salvaged / 1e6:,.1f} MB"],
        ["whole records recovered", f"{result.recovered:,} of {result.owed:,}"],
        ["worst line", f"{result.worst_s * 1000:.1f} ms ({result.worst_kind})"],
        ["largest state", f"{result.largest_state / 1000:.1f} kB"],
        ["problems", f"{len(result.problems())}"],
    ]
    print(table([f"seed {asked.seed}", "measured"], rows))
    for problem in result.problems():
        print(f"- {problem}")
    sys.exit(1 if result.problems() else 0)


if __name__ == "__main__":
    main()
