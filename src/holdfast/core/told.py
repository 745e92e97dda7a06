"""What was said, in the sections of a checkpoint: the facts worth most, each where one looks for it.

What the person typed stands in sections of its own: only that may be read as an instruction.
"""

from holdfast.core.brief import known_items
from holdfast.core.compose import place_of
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, ISSUE, NEXT
from holdfast.core.facts import AGENT, ANSWER, PLAN, REFUSED, USER, Facts
from holdfast.core.guard import under_pressure
from holdfast.core.worth import KNOWN, Item, chosen, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: " (turn 123, 01234567)" and the dash before an item; half of the units share theirs with another.
_PLACE = 14
#: So much of a unit tells whether it stands there already.
_ENOUGH = 60
_BY_CLASS = {
    DECISION: "Key Decisions",
    DEAD_END: "Key Decisions",
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
    """Into the sections, after what is in them already, in the order in which it was said. A decision that
    was made where the window was nearly full (`pressed`) says so: somebody may want to look at it again."""
    hasty = {saying[4] for saying in facts.sayings if under_pressure(pressed, saying[1])}
    there = "\n".join(item for items in sections.values() for item in items)
    every = together(weighed, known_items(facts, []))
    items = [item for item in every if item.text[:_ENOUGH] not in there]
    last: dict[str, str] = {}
    for item in sorted(chosen(items, room, there, _PLACE), key=lambda item: item.order):
        name = _section(item)
        said = sections.setdefault(name, [])
        words = f"[ ] {item.text}" if name == "Next Steps" else item.text
        place = "" if item.kind == KNOWN else place_of(0 if facts.start else item.turn, item.entry)
        if item.cls == DECISION and item.entry in hasty:
            place = f"{place[:-1]}, under_pressure)" if place else " (under_pressure)"
        if place and last.get(name) == place and name != "Next Steps":
            said[-1] = f"{said[-1].removesuffix(place)}\n{words}{place}"  # one saying, one item
        else:
            said.append(words + place)
        last[name] = place


def _section(item: Item) -> str:
    if item.kind == USER:
        return "Standing Instructions" if item.cls == INSTRUCTION else "Goal"
    if item.kind == AGENT:
        return "Agents"
    if item.kind == PLAN:
        return "Plan and Workflow"
    if item.kind in (ANSWER, REFUSED):
        return "Key Decisions"
    return _BY_CLASS.get(item.cls, "Why Changed")
