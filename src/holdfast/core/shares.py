"""What the window is filled with, and who filled it: tools, files, MCP servers, prompts, memory, …

`Filled` takes in records, as `fold` takes in entries, and forgets at a compaction all but what that kept.
`shares` makes tokens of it: characters by the ratio the session has taught the meter, what no line shows as
the meter has learned it, and all of it scaled so that the sum is what the API's usage says.
"""

from holdfast.core.meter import drops_thinking
from holdfast.core.origins import Origins
from holdfast.core.transcript import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holdfast.core.origins import Key, Piece

#: Newest lines remembered, to know what a compaction kept verbatim: as many as the meter remembers.
_TAIL = 48
#: origin -> kind. All kinds together are the whole window; what a compaction kept is a kind of its own.
KINDS = {
    "system": "system",
    "file": "files",
    "reread": "files",
    "command": "tools",
    "edit": "tools",
    "tool": "tools",
    "server": "servers",
    "prompt": "prompts",
    "answer": "answers",
    "thinking": "thinking",
    "memory": "memory",
    "skill": "skills",
    "listing": "listings",
    "reminder": "reminders",
    "image": "images",
    "summary": "summary",
}
KEPT, UNREAD = "kept", "unread"
#: By so much the price of a character may be wrong. What is missing beyond that is in no line that was
#: read, as when a session goes on from one whose lines are in another file.
_MOST_SCALED = 1.25
#: Units per token of the client's own prompt and tools, which are prose.
_PROSE = 4.0
_OF_FILES = ("file", "reread", "edit", "image")


class Filled:
    """What came into the window since the last compaction, by where it came from."""

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        self.rows: dict[Key, list[float]] = {}  # [units, tokens, times, units and tokens kept of that]
        self.cycles: dict[tuple[str, str], int] = {}  # (origin, name) -> earlier cycles it was in
        self.origins = Origins()
        self._model = ""
        self._lines: list[tuple[str, list[Piece]]] = []
        self._results: dict[str, list[Piece]] = {}  # by call, for what a microcompaction takes away

    def take(self, record: dict, entry: Entry) -> None:
        if entry.agent != self.agent:  # as in `fold`
            return
        if entry.kind == "boundary":
            self._compact(entry.kept)
        elif entry.kind == "micro":
            self._clear(record)
        else:
            self._add(record, entry)

    def _add(self, record: dict, entry: Entry) -> None:
        self._model = entry.model or self._model
        if entry.kind in ("prompt", "queued") and drops_thinking(self._model):
            self.rows.pop(("thinking", "", ""), None)
        pieces = self.origins.pieces(record, entry)
        if not pieces:
            return
        for piece in pieces:
            self._count(piece)
        if entry.kind == "result" and len(entry.results) == 1:
            self._results[entry.results[0][0]] = pieces
        self._lines.append((entry.uuid, pieces))
        if len(self._lines) > 2 * _TAIL:
            del self._lines[:-_TAIL]

    def _count(self, piece: "Piece", kept: int = 0) -> None:
        origin, tool, name, units, tokens, times = piece
        row = self.rows.setdefault((origin, tool, name), [0.0, 0.0, 0, 0.0, 0.0])
        row[0] += units
        row[1] += tokens
        row[2] += times
        row[3] += units * kept
        row[4] += tokens * kept

    def _compact(self, kept: "Iterable[object]") -> None:
        for origin, name in {(origin, name) for origin, _, name in self.rows}:
            self.cycles[origin, name] = self.cycles.get((origin, name), 0) + 1
        self.rows, self._results = {}, {}
        uuids = {uuid for uuid in kept if type(uuid) is str}
        self._lines = [line for line in self._lines if line[0] in uuids]
        for _, pieces in self._lines:
            for piece in pieces:
                self._count(piece, 1)
        self.origins.compacted()

    def _clear(self, record: dict) -> None:
        """The client has taken the results of these calls out of the window."""
        data = record.get("microcompactMetadata")
        calls = data.get("compactedToolIds") if type(data) is dict else None
        for call in calls if type(calls) is list else ():
            for origin, tool, name, units, tokens, _ in self._results.pop(str(call), ()):
                row = self.rows[origin, tool, name]
                row[0] = max(0.0, row[0] - units)
                row[1] = max(0.0, row[1] - tokens)


class Part:
    """One origin's share. `times`: calls, prompts, attachments; `kept`: tokens of it that the last
    compaction kept; `cycles`: in how many of the cycles that were read it was there, with this one."""

    __slots__ = ("cycles", "kept", "name", "origin", "times", "tokens", "tool")

    def __init__(
        self, key: "Key", tokens: float, times: int = 0, kept: float = 0.0, cycles: int = 1
    ) -> None:
        self.origin, self.tool, self.name = key
        self.tokens = tokens
        self.times = times
        self.kept = kept
        self.cycles = cycles


class Group:
    """Parts that belong together, largest first."""

    __slots__ = ("name", "parts", "times", "tokens")

    def __init__(self, name: str, parts: list[Part]) -> None:
        self.name = name
        self.parts = sorted(parts, key=lambda part: -part.tokens)
        self.tokens = sum(part.tokens for part in parts)
        self.times = sum(part.times for part in parts)


class Shares:
    """`used` is what is in the window, `measured` what the parts came to before they were scaled to it;
    `is_whole`: whether all of the cycle was read."""

    __slots__ = ("is_whole", "measured", "parts", "used")

    def __init__(self, used: int, measured: float, parts: list[Part], is_whole: bool) -> None:
        self.used = used
        self.measured = round(measured)
        self.parts = parts
        self.is_whole = is_whole

    def kinds(self) -> list[tuple[str, int]]:
        """(kind, tokens), largest first. Together they are `used`, to the token."""
        totals: dict[str, float] = {}
        for part in self.parts:
            kind = KINDS.get(part.origin, UNREAD)
            totals[kind] = totals.get(kind, 0.0) + part.tokens - part.kept
            totals[KEPT] = totals.get(KEPT, 0.0) + part.kept
        return _rounded(sorted(totals.items(), key=lambda item: -item[1]), self.used)

    def tools(self) -> list[Group]:
        """By tool, files and commands in it; what MCP servers have is theirs."""
        return self._grouped(lambda part: part.tool if part.origin != "server" else "")

    def files(self) -> list[Group]:
        return self._grouped(lambda part: part.name if part.origin in _OF_FILES else "")

    def servers(self) -> list[Group]:
        return self._grouped(lambda part: part.name if part.origin == "server" else "")

    def named(self, origin: str) -> list[Group]:
        return self._grouped(lambda part: part.name if part.origin == origin else "")

    def _grouped(self, name_of: "Callable[[Part], str]") -> list[Group]:
        found: dict[str, list[Part]] = {}
        for part in self.parts:
            name = name_of(part)
            if name and part.tokens:
                found.setdefault(name, []).append(part)
        return sorted((Group(*item) for item in found.items()), key=lambda group: -group.tokens)


def shares(filled: Filled, used: int, bare: float, ratio: float, is_whole: bool = True) -> Shares:
    """`used`: tokens in the window, 0 where nobody knows; `bare`: those of them that no line shows. What is
    missing, more so where the cycle was not read as a whole, is a part by itself."""
    parts = _bare(filled, bare)
    for key, (units, tokens, times, kept_units, kept_tokens) in filled.rows.items():
        size, kept = units / ratio + tokens, kept_units / ratio + kept_tokens
        cycles = filled.cycles.get((key[0], key[2]), 0) + 1
        parts.append(Part(key, size, int(times), min(size, kept), cycles))
    measured = sum(part.tokens for part in parts)
    used = used or round(measured)
    scale = min(used / measured, _MOST_SCALED if is_whole else 1.0)
    for part in parts:
        part.tokens *= scale
        part.kept *= scale
    if used > measured * scale:
        parts.append(Part((UNREAD, "", ""), used - measured * scale))
    return Shares(used, measured, parts, is_whole)


def _bare(filled: Filled, bare: float) -> list[Part]:
    """What no line shows. Where the client has noted down what it sends, that is believed when it is more
    than the meter takes for possible."""
    told = filled.origins.bare
    total = sum(told.values())
    if not total:
        return [Part(("system", "", ""), bare)]
    bare = max(bare, total / _PROSE)
    return [Part(key, bare * part / total) for key, part in told.items()]


def _rounded(items: list[tuple[str, float]], total: int) -> list[tuple[str, int]]:
    """Whole numbers that add up to `total`, as their originals do."""
    found, done, exact = [], 0, 0.0
    for name, size in items:
        exact += size
        upto = min(total, round(exact))
        if upto > done:
            found.append((name, upto - done))
            done = upto
    return found
