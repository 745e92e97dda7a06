"""Values as text for people."""

from __future__ import annotations

from importlib import import_module

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.core.plain import one_line
from holdfast.ops.fitting import Fitting
from holdfast.ops.words import ago, many, model_of, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.ops.checkpoints import Difference, Listed, Listing, Marked, Shown, Verdict
    from holdfast.ops.context import Usage
    from holdfast.ops.fills import Session
    from holdfast.ops.integrity import Check, Pruned, Repaired
    from holdfast.ops.scan import Finding
    from holdfast.ops.summaries import Cleared, Summaries, Summary
    from holdfast.ops.upkeep import Status

_BAR = 44
_STYLES = {
    "L4 Critical": "bold red",
    "L3 Yellow Alert": "red",
    "L2 Advisory": "red",
    "L1 Warning": "yellow",
}
_TRUST = {
    "own": "written by this user's holdfast",
    "approved": "approved by you, as it is",
    "foreign": "not written by this user's holdfast: never given to a session until you approve it",
}
_SOURCES = {
    "usage": "the API's own count",
    "usage+estimate": "the API's own count, plus an estimate of what came after",
    "estimate": "estimated from the text since the last compaction (no usage reported)",
    "weights": "a rough guess from the number of messages and tool calls",
    "size": "a rough guess from the size of the file",
}


#: Where the rest is told how to be shown: module of a value -> module that knows.
_ELSEWHERE = {
    "holdfast.agents.watcher": "holdfast.cli.agents",
    "holdfast.ops.board": "holdfast.cli.agents",
    "holdfast.agents.conductor": "holdfast.cli.planned",
    "holdfast.ops.batch": "holdfast.cli.planned",
    "holdfast.ops.breakpoints": "holdfast.cli.saved",
    "holdfast.ops.health": "holdfast.cli.guarded",
    "holdfast.ops.replay": "holdfast.cli.guarded",
    "holdfast.ops.budget": "holdfast.cli.memory",
    "holdfast.ops.recall": "holdfast.cli.memory",
    "holdfast.ops.remember": "holdfast.cli.memory",
    "holdfast.ops.rules": "holdfast.cli.memory",
    "holdfast.ops.saves": "holdfast.cli.saved",
    "holdfast.ops.tasks": "holdfast.cli.tasks",
    "holdfast.ops.members": "holdfast.cli.team",
    "holdfast.ops.topics": "holdfast.cli.memory",
    "holdfast.store.task": "holdfast.cli.tasks",
}


def show(value: object) -> None:
    # No markup: a folder may be called [slug]. A pipe has no width: let nothing be cut.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=200)
    if type(value).__module__ in _ELSEWHERE:
        import_module(_ELSEWHERE[type(value).__module__])
    console.print(render(value))


class Render:
    """Which function makes text of which value, by the name of the class that it is declared to take: so
    that no operation is loaded but the one that made the value."""

    def __init__(self) -> None:
        self._known: dict[str, Callable[[Any], RenderableType]] = {}

    def register(self, function: Callable[[Any], RenderableType]) -> Callable[[Any], RenderableType]:
        kind = function.__annotations__["value"]
        if kind in self._known:
            raise TypeError(f"two functions would show a {kind}")
        self._known[kind] = function
        return function

    def __call__(self, value: object) -> RenderableType:
        for kind in type(value).__mro__:
            if kind.__name__ in self._known:
                return self._known[kind.__name__](value)
        return Text(str(value))


render = Render()


@render.register
def _(value: list) -> RenderableType:
    if not value:
        return Text("no sessions yet; measure a file with: holdfast usage --transcript PATH")
    return _table(value)


def _table(rows: list[Session]) -> RenderableType:
    table = Fitting(
        ("session", "project", "model", "used", "fill", "level", "turns", "compactions", "last"),
        spare=("compactions", "turns", "model", "used", "level", "last"),
        wrapped=("project",),
        right=("used", "fill", "turns", "compactions"),
    )
    for row in rows:
        if row.problem and not row.used:
            table.add_row(short(row.session), Text(row.problem, style="yellow"))
            continue
        table.add_row(
            short(row.session),
            row.project,
            model_of(row.model),
            f"{row.used:,}",
            Text(f"{row.fill:.0f} %", style=style_of(row.level)),
            row.level,
            f"{row.turns:,}",
            str(row.compactions),
            ago(row.last),
        )
    return table


@render.register
def _(value: Listing) -> RenderableType:
    if not value:
        return Text("no checkpoints yet; take one with: holdfast checkpoint take")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("checkpoint", "taken", "goal", "state", "why", "#", "project"):
        fixed = name in ("checkpoint", "taken", "#", "state")
        table.add_column(name, justify="right" if name == "#" else "left", no_wrap=fixed, overflow="fold")
    for row in value:
        mark = " ★" if row.pinned else ""
        title = Text.assemble(row.id + mark, ("" if row.state == "ok" else f" {row.state}", "red"))
        whose = f"{row.reason}, agent {row.agent_id}" if row.agent_id else row.reason
        where = f"{row.machine}:{row.project}" if row.machine else row.project
        table.add_row(title, ago(row.created), row.summary, row.work, whose, str(row.iteration), where)
    return table


@render.register
def _(value: Listed) -> RenderableType:
    return Text(f"checkpoint {value.id} is taken and verified: {value.path}\n{value.summary}")


@render.register
def _(value: Shown) -> RenderableType:
    fields = value.fields
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    for name in (
        "created",
        "trigger",
        "reason",
        "project",
        "branch",
        "commit",
        "session_id",
        "agent_id",
        "parent",
    ):
        if fields[name]:
            facts.add_row(name, one_line(str(fields[name])))
    facts.add_row("window", f"{fields['used_tokens']:,} of {fields['window']:,} tokens")
    facts.add_row("trust", _TRUST[value.trust])
    head = Text.assemble((f"checkpoint {fields['id']}", "bold"), f", iteration {fields['iteration']}")
    # Line by line as it is: Markdown hides comments and where links lead, and this is what a person looks
    # at before approving a stranger's.
    lines = value.text.partition("\n---\n")[2].split("\n")
    shown = [Text(one_line(line), style="bold" if line.startswith("## ") else "") for line in lines]
    return Group(head, facts, *shown)


@render.register
def _(value: Verdict) -> RenderableType:
    if value.verified:
        return Text.assemble(("verified", "green"), f" {value.path} ({_TRUST[value.trust]})")
    return Text.assemble(
        ("not verified", "red"), f" {value.path}", *[f"\n  {what}" for what in value.problems]
    )


@render.register
def _(value: Difference) -> RenderableType:
    lines: list[Text] = [Text(f"--- {value.old}"), Text(f"+++ {value.new}")]
    for name, changed in value.sections.items():
        lines.append(Text(f"\n## {name}", style="bold"))
        lines += [Text(f"- {item}", style="red") for item in changed["gone"]]
        lines += [Text(f"+ {item}", style="green") for item in changed["added"]]
    return Group(*lines) if value.sections else Text("they say the same")


@render.register
def _(value: Marked) -> RenderableType:
    return Text(f"{value.path}: {value.what}")


@render.register
def _(value: Check) -> RenderableType:
    said = f"{many(value.checkpoints, 'checkpoint')} in {many(len(value.folders), 'folder')}"
    if not value.findings:
        return Text(f"{said}: each is whole, ours and in the index")
    return Group(Text(f"{said}; {many(len(value.findings), 'finding')}"), _findings(value.findings))


@render.register
def _(value: Repaired) -> RenderableType:
    lines = [Text(f"the index names {value.checkpoints:,} checkpoints, as the files say")]
    lines += [Text(f"set aside: {path}") for path in value.set_aside]
    if value.index_before:
        lines.append(Text(f"the index before: {value.index_before}"))
    return Group(*lines, _findings(value.left)) if value.left else Group(*lines)


@render.register
def _(value: Pruned) -> RenderableType:
    if not value.removed:
        return Text("nothing to prune: all are younger than a week, pinned, or the newest of their lineage")
    return Group(*[Text(f"removed {path}") for path in value.removed])


def _findings(findings: list[Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        table.add_row(Text(finding.kind, style="yellow"), f"{finding.path}: {finding.what}")
        table.add_row("", Text(f"→ {finding.fix}", style="dim"))
    return table


@render.register
def _(value: Summaries) -> RenderableType:
    if not value:
        return Text(
            "no summaries yet: they are made of work finished more than 20 turns ago, "
            "once a window is 70 % full"
        )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("summary", "made", "turns", "files", "subject", "session"):
        right = name in ("turns", "files")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "subject")
    for row in value:
        if row.problem:
            what = Text("damaged" if row.id else row.problem, style="red")
            table.add_row(row.id[:12], "", "", "", what, short(row.session_id))
            continue
        whose = f"{short(row.session_id)} agent {row.agent_id}" if row.agent_id else short(row.session_id)
        files = str(len(row.files_modified))
        table.add_row(row.id[:12], ago(row.compressed_at), _turns(row), files, row.subject, whose)
    return table


def _turns(value: Summary) -> str:
    """0: too long ago to be known."""
    known = dict.fromkeys(str(turn) if turn else "?" for turn in (value.start_turn, value.end_turn))
    return "–".join(known)


@render.register
def _(value: Summary) -> RenderableType:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    for name, words in (
        (value.kind, value.task_id),
        ("turns", _turns(value) + (" (only the newest part was read)" if value.partial else "")),
        ("made", value.compressed_at),
        ("session", value.session_id),
        ("agent", value.agent_id),
        ("file", value.path),
    ):
        if words:
            facts.add_row(name, words)
    lines: list[RenderableType] = [Text(value.subject, style="bold"), facts]
    for title, items in (
        ("Outcomes", value.key_outcomes),
        ("Files modified", value.files_modified),
        ("Commands run", value.commands_run),
        ("Errors resolved", value.errors_resolved),
    ):
        if items:
            lines += [Text(""), Text(title, style="bold"), *[Text(f"- {item}") for item in items]]
    return Group(*lines)


@render.register
def _(value: Cleared) -> RenderableType:
    if not value.removed and not value.left:
        return Text("nothing to remove: there are no summaries")
    said = [f"removed {one.path}: {one.subject or 'damaged'}" for one in value.removed]
    said += [f"{one.problem}; see what put it there, and remove it" for one in value.left]
    return Group(*[Text(words) for words in said])


@render.register
def _(value: Usage) -> RenderableType:
    style = style_of(value.level)
    lines: list[RenderableType] = [
        Text.assemble(
            (f"{value.used:,}", "bold"),
            f" of {value.max:,} tokens ({value.percent:g} %)  ",
            (value.level, style),
        ),
        _bar(value, style),
        Text(""),
        _facts(value),
    ]
    lines += [Text(f"! {words}", style="yellow") for words in value.degraded]
    return Group(*lines)


def _bar(value: Usage, style: str) -> Text:
    """Fill, with a mark at each rung that is still ahead."""
    cells = ["─"] * _BAR
    for rung in value.rungs:
        cells[min(_BAR - 1, _BAR * rung // 100)] = "┼"
    full = min(_BAR, round(_BAR * value.fill / 100))
    text = Text("█" * full, style=style)
    text.append("".join(cells[full:]), style="dim")
    text.append(f"  {value.fill:g} % of the {value.capacity:,} before the client compacts")
    return text


def _facts(value: Usage) -> Table:
    facts: list[tuple[str, str]] = [
        ("left", f"{value.until_compaction:,} tokens until compaction"),
        ("known by", _SOURCES.get(value.source, value.source)),
        ("counted", f"{value.context:,} context + {value.output:,} answer + {value.estimated:,} estimated"),
        ("window", f"by {value.window_source}"),
        ("model", value.model or "unknown"),
        ("session", value.session),
        ("so far", _so_far(value)),
    ]
    if value.bytes:
        sums = value.bytes
        text = f"{sums.parsed:,} parsed, {sums.salvaged:,} salvaged, {sums.skipped:,} skipped"
        facts.append(("transcript", f"{sums.size:,} bytes: {text}"))
    return grid(facts)


def grid(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    for name, text in rows:
        table.add_row(name, text)
    return table


def _so_far(value: Usage) -> str:
    counted = (
        (value.prompts, "prompt"),
        (value.turns, "turn"),
        (value.tool_calls, "tool call"),
        (value.compactions, "compaction"),
    )
    return ", ".join(many(n, what) for n, what in counted)


@render.register
def _(value: Status) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for check in value.checks:
        mark = Text("ok", style="green") if check.ok else Text("degraded", style="yellow")
        table.add_row(mark, check.name, check.what)
        if check.fix:
            table.add_row("", "", Text(f"→ {check.fix}", style="dim"))
    words = "all is well" if value.ok else "degraded: see below"
    return Group(
        Text.assemble((f"holdfast {value.version}", "bold"), f", {words}"),
        Text(
            f"home {value.home}, {many(value.sessions, 'session')}, "
            f"last event {ago(value.last_event) or 'none'}"
        ),
        Text(f"Python {value.python}"),
        Text(""),
        table,
    )


def style_of(level: str) -> str:
    return _STYLES.get(level, "green")
