"""What a window is filled with: by kind, and which tools, files and MCP servers brought it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.core.gauge import Reading, measure
from holdfast.core.plain import excerpt, one_line
from holdfast.core.shares import Group, Shares
from holdfast.core.spoken import redacted
from holdfast.core.state import State
from holdfast.disk import attributed, checkpoints, transcripts
from holdfast.errors import BadInput
from holdfast.material import Ground, redactor_of
from holdfast.ops.context import read_all

_ALL, _LONG = 1 << 62, 1e9
#: Rows of a table that people are shown, and characters of a name.
_ROWS, _LONGEST = 10, 120
#: What a kind is called where people read it.
KINDS = {
    "system": "system prompt, tools, and what no line shows",
    "files": "files that were read or attached",
    "tools": "tool calls and their results",
    "servers": "MCP servers: calls, results, lists of tools",
    "prompts": "prompts that were typed",
    "answers": "the model's text",
    "thinking": "the model's thinking",
    "memory": "memory and instructions",
    "skills": "skills and commands",
    "listings": "lists of tools, agents and skills",
    "reminders": "reminders and output of hooks",
    "images": "pictures",
    "summary": "the last compaction's summary",
    "kept": "kept by the last compaction as it was",
    "unread": "in no line that was read",
}


@dataclass(frozen=True)
class Kind:
    kind: str
    tokens: int
    percent: float


@dataclass(frozen=True)
class Item:
    name: str
    tokens: int
    times: int


@dataclass(frozen=True)
class Source:
    """A tool, a file, a server or another source, and what of it takes the most."""

    name: str
    tokens: int
    percent: float
    times: int
    largest: Item | None


@dataclass(frozen=True)
class Explanation:
    """`percent` is of the window. The kinds are all of `used`; the other tables show parts of it by another
    name, so that what a file has its tool has, too."""

    session: str
    transcript: str
    cycle: int
    cycles: int
    used: int
    measured: int
    window: int
    percent: float
    source: str
    kinds: list[Kind]
    tools: list[Source]
    files: list[Source]
    servers: list[Source]
    others: list[Source]

    def __str__(self) -> str:
        now = "" if self.cycle == self.cycles else ", as it was before it was compacted"
        shown = [
            f"{self.used:,} of {self.window:,} tokens ({self.percent:g} %), "
            f"cycle {self.cycle} of {self.cycles}{now}",
            *(f"{_figures(one)}  {KINDS[one.kind]}" for one in self.kinds),
        ]
        for title, sources, noun in (
            ("tools", self.tools, "call"),
            ("files", self.files, "time"),
            ("MCP servers", self.servers, "call"),
            ("others", self.others, "time"),
        ):
            largest = [one for one in sources[:_ROWS] if one.percent]
            if largest:
                shown += ["", title, *(_line(one, noun) for one in largest)]
            if largest and len(sources) > len(largest):
                shown.append(f"{'':20}and {len(sources) - len(largest):,} more (--json)")
        if self.used:
            share = f"{100 * self.measured / self.used:.0f} %"
            shown += ["", f"Measured in the transcript: {share} of what is used; scaled to it."]
        return "\n".join(shown)


def _figures(one: Kind | Source) -> str:
    return f"{one.percent:6.1f} %{one.tokens:10,}"


def _line(one: Source, noun: str) -> str:
    largest = one.largest
    said = [_many(one.times, noun)] if one.times else []
    if largest:
        often = f" in {largest.times:,}" if largest.times > 1 else ""
        said.append(f"largest: {largest.name}, {largest.tokens:,}{often}")
    return f"{_figures(one)}  {one.name}" + (f" ({'; '.join(said)})" if said else "")


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def explain(
    app: Holdfast, *, transcript: str | None = None, session: str | None = None, cycle: int | None = None
) -> Explanation:
    """What the window of a session is filled with: tools, files, MCP servers, prompts, memory and the rest.

    Parameters
    ----------
    transcript
        Look into this transcript file.
    session
        Look into the session with this id. Without either: the newest session.
    cycle
        From which compaction to the next: 1 is what came before the first. Without it: the current one.
    """
    state, path = read_all(app, transcript, session)
    cycles = state.seen.compacted + 1
    number = cycles if cycle is None else cycle
    if not 1 <= number <= cycles:
        raise BadInput(f"--cycle is {number}; this session has {_many(cycles, 'cycle')}, counted from 1")
    state.heard.pending, state.heard.told = {}, []  # what no line shows yet is nobody's
    if number < cycles:
        _go_back(state, path, number)
    reading = measure(state, state.seen.offset, app.window)
    found = attributed.shares_of(path, state, reading.used, _ALL, _LONG)
    return _explained(app, state, path, reading, found, (number, cycles))


def _go_back(state: State, path: str, number: int) -> None:
    """To just before the compaction with this number. The state names the places of the newest alone."""
    while state.seen.compacted >= number:
        newest = state.seen.compactions
        at = max(0, number - 1 - (state.seen.compacted - len(newest)))
        state.seen = transcripts.fold_part(state.seen, path, 0, newest[at][4], _ALL, _LONG)


def _explained(
    app: Holdfast, state: State, path: str, reading: Reading, found: Shares, cycle: tuple[int, int]
) -> Explanation:
    project = Ground(state.heard.project, state.seen.cwd).project
    redactor = redactor_of(app, project, checkpoints.known_key(app.home) or bytes(32))

    def shown(name: str) -> str:
        line = one_line(redacted(name.removeprefix(project.rstrip("/") + "/"), redactor.text))
        is_long_path = len(line) > _LONGEST and name.startswith("/")
        return "…" + line[-_LONGEST:] if is_long_path else excerpt(line, _LONGEST)

    def percent(tokens: float) -> float:
        return round(100 * tokens / reading.window, 1)

    def sources(groups: list[Group], item: Callable[[Group], Item | None]) -> list[Source]:
        return [
            Source(shown(one.name), round(one.tokens), percent(one.tokens), one.times, item(one))
            for one in groups
        ]

    def nothing(_: Group) -> None:
        return None

    def by_name(group: Group) -> Item | None:
        first = group.parts[0]
        return Item(shown(first.name), round(first.tokens), first.times) if first.name else None

    def by_tool(group: Group) -> Item:
        first = group.parts[0]
        tool = first.tool.removeprefix(f"mcp__{first.name}__")
        return Item(shown(tool) or "its list of tools", round(first.tokens), first.times)

    others = [
        group for origin in ("memory", "skill", "listing", "reminder") for group in found.named(origin)
    ]
    others.sort(key=lambda group: -group.tokens)
    return Explanation(
        session=state.session,
        transcript=path,
        cycle=cycle[0],
        cycles=cycle[1],
        used=found.used,
        measured=found.measured,
        window=reading.window,
        percent=percent(found.used),
        source=reading.source,
        kinds=[Kind(kind, tokens, percent(tokens)) for kind, tokens in found.kinds()],
        tools=sources(found.tools(), by_name),
        files=sources(found.files(), nothing),
        servers=sources(found.servers(), by_tool),
        others=sources(others, nothing),
    )
