"""What was said, in the sections of a checkpoint: the facts worth most, each where one looks for it.

What the person typed stands in sections of its own: only that may be read as an instruction. Where there is
not room for all, what was worked with gives way to what was said: it can be looked up.
"""

from holdfast.core.brief import committed, known_items
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, ISSUE, NEXT
from holdfast.core.facts import (
    ACCEPTED,
    AGENT,
    ANSWER,
    LEAD,
    PLAN,
    REFUSED,
    SENT,
    SUMMARY,
    USER,
    Facts,
)
from holdfast.core.guard import under_pressure
from holdfast.core.plain import excerpt
from holdfast.core.quoted import place_of
from holdfast.core.spoken import FROM_LEAD
from holdfast.core.worth import KNOWN, Item, chosen, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    #: Its turn and its entry.
    Saying = tuple[int, str]

#: Characters of the sections' names; of the dash before an item and the end of its line; of the indent of a
#: plan's lines; of the box before a step.
_FRAME, _LINE, _INDENT, _BOX = 240, 3, 2, 4
#: So much of a unit's beginning, and of its end, tells whether it stands there already: of what was cut
#: short only the beginning does.
_ENOUGH = 60
_COMMITS, _NEWEST, _ENDED = 5, 4, " → "
_LONGEST_HEAD = 80
#: Where the client keeps the plans of its plan mode.
_PLANS = "/.claude/plans/"
#: Characters that are left to a section where there is not room for all.
_LEFT = {
    "Goal": 600,
    "What Changed": 600,
    "Active Issues": 400,
    "Next Steps": 1000,
    "Commands and Tests": 760,
    "Agents": 250,
}
_DECISIONS, _REASONS = _PASSAGES = "Key Decisions", "Why Changed"
_BY_CLASS = {
    DECISION: _DECISIONS,
    DEAD_END: _DECISIONS,
    ISSUE: "Active Issues",
    NEXT: "Next Steps",
}


def fill(
    sections: dict[str, list[str]],
    facts: Facts,
    weighed: list[Item],
    room: int,
    pressed: "Sequence[list[int]]" = (),
) -> None:
    """Into the sections, after what is in them already, in the order in which it was said. `room` is what
    that leaves. A decision that was made where the window was nearly full (`pressed`) says so: somebody may
    want to look at it again."""
    hasty = {saying[4] for saying in facts.sayings if under_pressure(pressed, saying[1])}
    homes = _homes(weighed)

    def where(item: Item) -> str:
        said = _where(facts, item.turn, item.entry)
        if item.kind == SUMMARY:
            said = f"{said[:-1]}, summary)" if said else " (summary)"
        if item.cls != DECISION or item.entry not in hasty:
            return said
        return f"{said[:-1]}, under_pressure)" if said else " (under_pressure)"

    def place(item: Item) -> tuple[object, int]:
        name = _section(item, homes)
        is_step = name == "Next Steps"
        alone = item.order if is_step or item.kind == KNOWN else 0
        return (name, where(item), alone), len(where(item)) + (_BOX if is_step else 0)

    every = together(weighed, known_items(facts, []))
    indents = sum(item.count("\n") for item in sections["Plan and Workflow"])
    room += _size(sections) - _FRAME - _INDENT * indents
    _tell_known(sections, facts)
    if sum(len(item.text) + _LINE for item in every) > room - _size(sections):
        _thin(sections)
    there = "\n".join(item for items in sections.values() for item in items).replace("`", "")
    items = [item for item in every if not _stands(item, there)]
    picked = chosen(items, room - _size(sections), there, _LINE, place)
    last: dict[str, object] = {}
    for item in sorted(picked, key=lambda item: item.order):
        name, (from_, _) = _section(item, homes), place(item)
        said = sections.setdefault(name, [])
        if last.get(name) == from_:
            before = said[-1].removesuffix(where(item))  # one saying, one item
            said[-1] = f"{before}\n{item.text}{where(item)}"
        else:
            whose = FROM_LEAD if item.kind == LEAD else "[ ] " if name == "Next Steps" else ""
            said.append(whose + item.text + where(item))
        last[name] = from_


def _stands(item: Item, there: str) -> bool:
    words = item.text
    if item.kind == KNOWN and _ENDED in words:  # a check: among the commands, if it is one of the newest
        return words.partition(_ENDED)[0] + _ENDED in there
    return words[:_ENOUGH] in there and words[-_ENOUGH:] in there


def _where(facts: Facts, turn: int, entry: str = "") -> str:
    """Of a transcript that was not read from its beginning nobody knows the turns."""
    return place_of(0 if facts.start else turn, entry)


def _tell_known(sections: dict[str, list[str]], facts: Facts) -> None:
    """Where the work stands in git, and the plan it follows."""
    if facts.touched.commits:
        on = f" on {facts.branch}" if facts.branch else ""
        *before, newest = committed(facts, _COMMITS, f"Commits{on}: "[:_LONGEST_HEAD])
        said = newest + _where(facts, facts.touched.commits[-1][0])
        sections["Commands and Tests"] += [*before, said]
    plans = [(path, row[4]) for path, row in facts.touched.files.items() if row[1] and _PLANS in path]
    for path, turn in plans[-1:]:
        sections["Plan and Workflow"].append(f"Plan file: {excerpt(path, 200)}{_where(facts, turn)}")


def _size(sections: dict[str, list[str]]) -> int:
    return sum(len(item) + _LINE for items in sections.values() for item in items)


def _thin(sections: dict[str, list[str]]) -> None:
    """The newest of each section; before them the first goal, what is open, and what failed or tests."""
    for name, left in _LEFT.items():
        items = sections[name]
        kept: set[int] = set()
        for at in sorted(range(len(items)), key=lambda at: (_gives_way(name, items, at), -at)):
            left -= len(items[at]) + _LINE
            if left < 0 and kept:
                break
            kept.add(at)
        sections[name] = [item for at, item in enumerate(items) if at in kept]


def _gives_way(name: str, items: list[str], at: int) -> bool:
    if name == "Goal":
        return at > 0
    if name == "Next Steps":
        return items[at].startswith("[x]")
    succeeded = items[at].startswith("`") and "` → exit 0" in items[at]
    return name == "Commands and Tests" and succeeded and at < len(items) - _NEWEST


def _homes(items: list[Item]) -> "dict[Saying, str]":
    """Whether a saying is read among decisions or among reasons: as a whole, for a decision and what led to
    it explain each other."""
    worths: dict[tuple[Saying, str], float] = {}
    for item in items:
        name, saying = _BY_CLASS.get(item.cls, _REASONS), (item.turn, item.entry)
        if name in _PASSAGES:
            worths[saying, name] = worths.get((saying, name), 0.0) + item.worth
    homes: dict[Saying, str] = {}
    for (saying, name), worth in worths.items():
        if worth >= worths.get((saying, homes.get(saying, "")), 0.0):
            homes[saying] = name
    return homes


def _section(item: Item, homes: "dict[Saying, str]") -> str:
    if item.kind in (USER, LEAD):
        return "Standing Instructions" if item.cls == INSTRUCTION else "Goal"
    if item.kind in (AGENT, SENT):
        return "Agents"
    if item.kind in (PLAN, ACCEPTED):
        return "Plan and Workflow"
    if item.kind in (ANSWER, REFUSED):
        return _DECISIONS
    name = _BY_CLASS.get(item.cls, _REASONS)
    return homes.get((item.turn, item.entry), name) if name in _PASSAGES else name
