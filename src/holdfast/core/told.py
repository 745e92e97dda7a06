"""What was said, in the sections of a checkpoint: the facts worth most, each where one looks for it.

What the person typed is told apart from what the model said: only the one may be read as an instruction.
"""

from holdfast.core.brief import known_items
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, ISSUE, NEXT
from holdfast.core.facts import AGENT, ANSWER, PLAN, REFUSED, USER, Facts
from holdfast.core.worth import KNOWN, Item, chosen, weighed

#: " (turn 123, entry 01234567)" and the dash before an item.
_PLACE = 30
#: So much of a unit tells whether it stands there already.
_ENOUGH = 60
_BY_CLASS = {
    DECISION: "Key Decisions",
    DEAD_END: "Key Decisions",
    ISSUE: "Active Issues",
    NEXT: "Next Steps",
}


def fill(sections: dict[str, list[str]], facts: Facts, room: int) -> None:
    """Into the sections, after what is in them already, in the order in which it was said."""
    there = "\n".join(item for items in sections.values() for item in items)
    items = [item for item in weighed(facts, known_items(facts, [])) if item.text[:_ENOUGH] not in there]
    for item in items:
        item.cost = _PLACE
    for item in sorted(chosen(items, room, there), key=lambda item: item.order):
        sections.setdefault(_section(item), []).append(_shown(item))


def _section(item: Item) -> str:
    if item.kind in (USER, ANSWER):
        return "Standing Instructions" if item.cls == INSTRUCTION else "Goal"
    if item.kind == AGENT:
        return "Agents"
    if item.kind == PLAN:
        return "Plan and Workflow"
    if item.kind == REFUSED:
        return "Key Decisions"
    return _BY_CLASS.get(item.cls, "Why Changed")


def _shown(item: Item) -> str:
    words = f"[ ] {item.text}" if _section(item) == "Next Steps" else item.text
    if item.kind in (USER, ANSWER):
        words = f"The user: {words}"
    elif item.kind == PLAN:
        words = f"Planned: {words}"
    return words if item.kind == KNOWN else f"{words} (turn {item.turn}, entry {item.entry})"
