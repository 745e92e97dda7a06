"""The context budget: what a brief may hold, by what it is about.

Each of five compartments is guaranteed its share of a brief; what the shares leave is for whatever is worth
most. What somebody pinned comes first, what was evicted does not come at all.
"""

from holdfast.core import config
from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, ISSUE, NEXT
from holdfast.core.facts import ACCEPTED, ANSWER, LEAD, PLAN, REFUSED, USER
from holdfast.core.plain import PER_TOKEN, one_line
from holdfast.core.seen import fingerprint
from holdfast.core.worth import Item

ACTIVE, BACKGROUND, PREFERENCES, SAFETY, AMBIENT = COMPARTMENTS = (
    "active_task",
    "project_background",
    "operator_preferences",
    "safety_constraints",
    "ambient_knowledge",
)
#: Who is served first where there is not room for every share.
PRIORITIES = {SAFETY: 1, ACTIVE: 2, PREFERENCES: 3, BACKGROUND: 4, AMBIENT: 5}
MOST_PINS, MOST_EVICTED, LONGEST = 12, 200, 240
#: Parts of a brief that rules, and what is pinned, have at most.
FOR_RULES, FOR_PINS = 0.4, 0.3
_BY_CLASS = {DECISION: BACKGROUND, DEAD_END: BACKGROUND, ISSUE: ACTIVE, NEXT: ACTIVE}
_BY_KIND = {ANSWER: PREFERENCES, REFUSED: PREFERENCES, PLAN: ACTIVE, ACCEPTED: ACTIVE}


class Pin:
    __slots__ = ("at", "compartment", "id", "text")

    def __init__(self, id: str, compartment: str, text: str, at: str) -> None:  # noqa: A002
        self.id = id
        self.compartment = compartment
        self.text = text
        self.at = at


class Budget:
    """Of one project. `evicted`: id -> what it said."""

    __slots__ = ("evicted", "pins", "priorities", "shares")

    def __init__(
        self,
        shares: dict[str, int],
        priorities: dict[str, int] | None = None,
        pins: list[Pin] | None = None,
        evicted: dict[str, str] | None = None,
    ) -> None:
        self.shares = shares
        self.priorities = {**PRIORITIES, **(priorities or {})}
        self.pins = pins or []
        self.evicted = evicted or {}

    @property
    def order(self) -> list[str]:
        """Who is served first."""
        return sorted(COMPARTMENTS, key=lambda name: (self.priorities[name], COMPARTMENTS.index(name)))

    def room(self, compartment: str, tokens: float) -> int:
        """Characters it is guaranteed of so many tokens."""
        return int(tokens * PER_TOKEN * self.shares[compartment] / 100)

    def admits(self, text: str) -> bool:
        return not self.evicted or ident(text) not in self.evicted

    def guarantees(self, items: list[Item], tokens: float, used: int = 0) -> list[tuple[list[Item], int]]:
        """(those of a compartment, characters for them), who is served first before the others. `used`:
        what rules have taken of the share of safety."""
        of_each: dict[str, list[Item]] = {name: [] for name in self.order}
        for item in items:
            of_each[compartment(item)].append(item)
        found = []
        for name, those in of_each.items():
            room = self.room(name, tokens) - (used if name == SAFETY else 0)
            if room > 0:
                found.append((those, room))
        return found

    def pinned(self, tokens: float) -> list[str]:
        """As lines of a brief, as many as may be."""
        room, found = int(tokens * PER_TOKEN * FOR_PINS), []
        for pin in sorted(self.pins, key=lambda pin: self.priorities[pin.compartment]):
            line = f"Pinned ({pin.compartment}): {pin.text}"
            room -= len(line) + 1
            if room < 0:
                break
            found.append(line)
        return found


def of(settings: config.Config, saved: dict) -> Budget:
    """What the configuration says, and over it what was set for a project."""
    shares = {name: settings[f"budget.{name}"] for name in COMPARTMENTS}
    pins = [Pin(*pin) for pin in saved.get("pins", ())]
    return Budget(
        {**shares, **saved.get("shares", {})},
        saved.get("priorities"),
        pins,
        {one: said for one, said, _ in saved.get("evicted", ())},
    )


#: Where nothing was set.
STANDARD = of(config.STANDARD, {})


def compartment(item: Item) -> str:
    """What it is about."""
    if item.kind in (USER, LEAD):
        return SAFETY if item.cls == INSTRUCTION else ACTIVE
    return _BY_KIND.get(item.kind) or _BY_CLASS.get(item.cls, AMBIENT)


def ident(text: str) -> str:
    """By which a text is known again wherever it comes from."""
    return f"{fingerprint(one_line(text).lower()):016x}"[-10:]


def tokens_of(text: str) -> int:
    return int(len(text) / PER_TOKEN) + 1 if text else 0


def rebalanced(shares: dict[str, int], wanted: dict[str, int]) -> dict[str, int]:
    """The same sum of shares, each no more than is wanted of it (in percent) while others want more."""
    left, found = sum(shares.values()), dict.fromkeys(shares, 0)
    while left > 0:
        hungry = [name for name in shares if found[name] < wanted.get(name, 0)]
        if not hungry:
            break
        weight = sum(shares[name] or 1 for name in hungry)
        given = {
            name: min(wanted[name] - found[name], left * (shares[name] or 1) // weight) for name in hungry
        }
        if not any(given.values()):
            given = {hungry[0]: 1}
        for name, more in given.items():
            found[name] += more
            left -= more
    first = max(shares, key=lambda name: shares[name])
    found[first] += left  # nobody wants it now
    return found
