"""The client's memory, its rules and the context budget, as text for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from holdfast.cli.show import render
from holdfast.core.plain import excerpt, one_line
from holdfast.ops.words import many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ops.budget import Allotted, BriefPlan, Estimated
    from holdfast.ops.recall import Recalled
    from holdfast.ops.remember import Collections
    from holdfast.ops.rules import Conflicts, Instructions, Rules
    from holdfast.ops.topics import Linted, Topics

_STATES = {"rule": "bold", "pinned": "bold", "left out": "dim", "evicted": "strike"}


def _rows(titles: str, rows: Iterable[Iterable[object]], right: str = "") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles.split(", "):
        is_right = title in right.split(", ")
        table.add_column(title, justify="right" if is_right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(one if isinstance(one, Text) else one_line(str(one)) for one in row))
    return table


@render.register
def _(value: Topics) -> RenderableType:
    head = f"{value.folder}: {many(len(value.topics), 'topic')}, index {value.lines} of 200 lines"
    if not value.topics:
        return Text(f"{head}; write one with: holdfast memory write NAME TEXT --description …")
    rows = (
        (
            one.name or "–",
            one.type or "–",
            one.description,
            one.file,
            f"{one.bytes:,}",
            Text(one.problem or ("" if one.indexed else "not in the index"), style="yellow"),
        )
        for one in value.topics
    )
    return Group(
        Text(head, style="dim"), _rows("topic, type, description, file, bytes, amiss", rows, "bytes")
    )


@render.register
def _(value: Linted) -> RenderableType:
    if not value.findings:
        return Text(f"{value.folder}: nothing is amiss")
    rows = ((one.kind, one.where, one.what, one.fix or "–") for one in value.findings)
    return Group(Text(value.folder, style="dim"), _rows("finding, where, what, `memory fix`", rows))


@render.register
def _(value: Instructions) -> RenderableType:
    if not value:
        return Text("the client has no instructions for this project")
    rows = (
        (
            one.level,
            one.path,
            ", ".join(one.paths) or "all",
            one.lines,
            one.marked or "",
            "client" if one.reloaded else "holdfast",
            Text(
                ", ".join(
                    filter(None, [one.problem, f"imported by {one.imported_by}" if one.imported_by else ""])
                ),
                style="dim",
            ),
        )
        for one in value
    )
    return _rows("level, file, for, lines, marked, brought back by, ", rows, "lines, marked")


@render.register
def _(value: Rules) -> RenderableType:
    if not value:
        return Text("there are no such rules; mark one with (CRITICAL) or (ENFORCED)")
    rows = (
        (
            one.level,
            Text(one_line(one.text), style="bold" if one.marker else ""),
            f"{one.path}:{one.line}" if one.path else f"typed, turn {one.line}",
            one.kept_by,
        )
        for one in value
    )
    return _rows("level, rule, where, brought back by", rows)


@render.register
def _(value: Conflicts) -> RenderableType:
    if not value:
        return Text("no two files plainly contradict each other")
    rows = [row for one in value for row in ((one.why, one.one, one.one_at), ("", one.other, one.other_at))]
    return _rows("conflict, line, where", rows)


@render.register
def _(value: Allotted) -> RenderableType:
    rows = (
        (one.name, f"{one.share} %", one.tokens, one.priority, one.set_by) for one in value.compartments
    )
    table = _rows("compartment, share, tokens, priority, set by", rows, "share, tokens, priority")
    lines: list[RenderableType] = [
        Text(f"{value.project}: of a brief of {value.brief_tokens:,} tokens", style="dim"),
        table,
    ]
    lines.append(Text(f"{value.free_share} % for whatever is worth most"))
    lines += [Text(f"pinned {one.id} ({one.compartment}): {one.text}") for one in value.pinned]
    lines += [Text(f"evicted {key}: {said}") for key, said in value.evicted.items()]
    return Group(*lines)


@render.register
def _(value: Estimated) -> RenderableType:
    fits = ", ".join(value.fits) or "no guaranteed share"
    return Text(
        f"{many(value.characters, 'character')}, about {many(value.tokens, 'token')}: "
        f"{value.percent:g} % of a brief; fits into {fits}"
    )


@render.register
def _(value: BriefPlan) -> RenderableType:
    head = f"session {value.session}, {value.project}: {value.used:,} of {value.tokens:,} tokens"
    shown: list[RenderableType] = [Text(head, style="dim")]
    for part in value.parts:
        shown.append(
            Text(f"{part.name}: {part.used:,} tokens, {part.guaranteed:,} guaranteed", style="bold")
        )
        rows = (
            (one.id, one.state, Text(excerpt(one.text, 150), style=_STATES.get(one.state, "")))
            for one in part.items
        )
        shown.append(_rows("id, state, text", rows))
    return Group(*shown)


@render.register
def _(value: Recalled) -> RenderableType:
    head = f"{value.project}: {value.mode}"
    if not value.found:
        return Text(f"{head}: nothing")
    shown: list[RenderableType] = [Text(head, style="dim")]
    for one in value.found:
        where = " ".join(filter(None, (one.collection, one.kind, one.title, one.project)))
        times = f" × {one.count}" if one.count > 1 else ""
        shown.append(
            Text(
                f"{one.at[:16].replace('T', ' ')}  {where}  ({one.origin}{times})  {one.uid}", style="bold"
            )
        )
        shown.append(Text(f"  {one.text}"))
        shown += [Text(f"    {line}", style="dim") for line in one.beside]
    if value.left_out:
        more = f"{value.left_out} more did not fit, or are evicted; --tokens, --limit"
        shown.append(Text(more, style="dim"))
    return Group(*shown)


@render.register
def _(value: Collections) -> RenderableType:
    head = f"{value.path}: {many(value.items, 'item')}, {value.vectors:,} with vectors; {value.mode}"
    rows = ((one.name, f"{one.items:,}") for one in value.collections)
    lines: list[RenderableType] = [Text(head, style="dim"), _rows("collection, memories", rows, "memories")]
    if value.waiting:
        lines.append(Text(f"{value.waiting:,} bytes that hooks have noted wait: holdfast memory drain"))
    if value.trouble:
        lines.append(Text(value.trouble, style="yellow"))
    return Group(*lines)
