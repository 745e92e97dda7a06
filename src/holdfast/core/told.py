"""What was said, in the sections of a checkpoint: the facts worth most, each where one looks for it.

What the person typed stands in sections of its own: only that may be read as an instruction. Where there is
not room for all, what was worked with gives way to what was said: it can be looked up.
"""

from holdfast.core.brief import committed, known_items
from holdfast.core.cues import DECISION
from holdfast.core.facts import (
    ACCEPTED,
    AGENT,
    ANSWER,
    COMMIT,
    LEAD,
    PLAN,
    REFUSED,
    SAID_LAST,
    SAID_MID,
    SENT,
    SUMMARY,
    USER,
    Facts,
)
from holdfast.core.guard import under_pressure
from holdfast.core.plain import excerpt
from holdfast.core.quoted import place_of
from holdfast.core.sentences import is_open_issue, is_reason, parts_of
from holdfast.core.settled import FIRST_ORDERS, Settled
from holdfast.core.spoken import FROM_LEAD
from holdfast.core.workstate import without_place
from holdfast.core.worth import KNOWN, Item, chosen, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Characters of the sections' names; of the dash before an item and the end of its line; of the indent of a
#: plan's lines.
_FRAME, _LINE, _INDENT = 240, 3, 2
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
    "What Changed": 900,
    "Active Issues": 500,
    "Next Steps": 1000,
    "Commands and Tests": 760,
    "Agents": 250,
}
_GOAL, _CHANGED, _WHY, _ISSUES, _DECISIONS, _ORDERS, _PLAN, _COMMANDS, _AGENTS = (
    "Goal",
    "What Changed",
    "Why Changed",
    "Active Issues",
    "Key Decisions",
    "Standing Instructions",
    "Plan and Workflow",
    "Commands and Tests",
    "Agents",
)
#: Characters of orders, which come before all else; shares of the room for decisions and for reasons.
_FOR_ORDERS, _FOR_DECISIONS, _FOR_REASONS = 4000, 0.3, 0.1
#: Who says it, in a section in which others speak, too.
_SAID, _COMMITTED = "Agent: ", "Commit: "
#: An open issue is believed for so many turns, or so large a share of the session.
_FRESH_TURNS, _FRESH_SHARE = 30, 0.25
_CHANGES, _LAST_EDIT = " changed: ", "Edited last: "


def fill(
    sections: dict[str, list[str]],
    facts: Facts,
    weighed: list[Item],
    room: int,
    pressed: "Sequence[list[int]]" = (),
    settled: Settled | None = None,
) -> None:
    """Into the sections, after what is in them already, in the order in which it was said. `room` is what
    that leaves. A decision that was made where the window was nearly full (`pressed`) says so: somebody may
    want to look at it again."""
    _Filling(sections, facts, room, pressed, settled or Settled(facts)).take(weighed)


class _Filling:
    def __init__(
        self,
        sections: dict[str, list[str]],
        facts: Facts,
        room: int,
        pressed: "Sequence[list[int]]",
        settled: Settled,
    ) -> None:
        self.sections = sections
        self.facts = facts
        self.settled = settled
        self.hasty = {saying[4] for saying in facts.sayings if under_pressure(pressed, saying[1])}
        self.works = any(row[1] for row in facts.touched.files.values()) or bool(facts.touched.commits)
        self.since = facts.turns - max(_FRESH_TURNS, facts.turns * _FRESH_SHARE)
        indents = sum(item.count("\n") for item in sections[_PLAN])
        self.room = room + _size(sections) - _FRAME - _INDENT * indents
        self.homes: dict[int, str] = {}
        self.changes = "\n".join(sections.get(_CHANGED, ()))
        self.reasons = _reasons(facts) if self.works else set()

    def take(self, weighed: list[Item]) -> None:
        sections = self.sections
        sections[_ORDERS] = self._orders(sections.get(_ORDERS, []))
        _tell_known(sections, self.facts)
        every = [
            item for one in together(weighed, known_items(self.facts, [])) for item in self._shown(one)
        ]
        if sum(len(item.text) + _LINE for item in every) > self.room - _size(sections):
            _thin(sections)
        there = "\n".join(item for items in sections.values() for item in items).replace("`", "")
        items = [item for item in every if not _stands(item, there)]
        room = self.room - _size(sections)
        shares = [
            ([item for item in items if self.homes[id(item)] == _DECISIONS], int(room * _FOR_DECISIONS)),
            ([item for item in items if self.homes[id(item)] == _WHY], int(room * _FOR_REASONS)),
        ]
        picked = chosen(items, room, there, _LINE, self._place, shares)
        self._put(sorted(picked, key=lambda item: item.order))

    def _orders(self, shown: list[str]) -> list[str]:
        """What the person ordered, oldest first. Where there is not room for all, those in the middle give
        way, but for what they marked as rules. `shown`: what is known beside the facts, which may not hold
        all."""
        found = self.settled.orders
        room, kept = _FOR_ORDERS, []
        known = " ".join(order.text for order in found)
        for said in shown:
            if without_place(said).removesuffix(" …") not in known:
                room -= len(said) + _LINE
                kept.append((-1, said))
        for at in sorted(
            range(len(found)), key=lambda at: (not found[at].is_marked, at >= FIRST_ORDERS, -at)
        ):
            said = found[at].shown() + _where(self.facts, found[at].turn, found[at].entry)
            if len(said) + _LINE <= room:  # one that is too long gives way to shorter ones
                room -= len(said) + _LINE
                kept.append((at, said))
        return [said for _, said in sorted(kept)]

    def _shown(self, item: Item) -> list[Item]:
        """As it is shown where it belongs; nothing, where it stands elsewhere already."""
        home, text = self._home(item)
        if not text:
            return []
        if text != item.text:
            item = item.saying(text)
        self.homes[id(item)] = home
        return [item]

    def _home(self, item: Item) -> tuple[str, str]:
        if item.kind == KNOWN:
            return self._known(item)
        row = self.settled.rows.get(item.order)
        if row is not None:
            return _DECISIONS, row
        if item.kind == USER:
            return _GOAL, self.settled.without_orders(item.order, item.text)
        if item.kind == LEAD:
            rest = self.settled.without_orders(item.order, item.text)
            return _GOAL, rest and FROM_LEAD + rest
        if item.kind in (AGENT, SENT):
            return _AGENTS, item.text
        if item.kind in (PLAN, ACCEPTED):
            return _PLAN, item.text
        if item.kind == ANSWER:
            return _DECISIONS, ""
        if item.kind == SUMMARY:
            return _PLAN, item.text
        if item.kind == REFUSED:
            return _PLAN, item.text
        parts = parts_of(item.text)
        if item.turn >= self.since and any(map(is_open_issue, parts)):
            return _ISSUES, item.text
        if item.order in self.reasons:
            return _WHY, item.text
        return (_CHANGED, _COMMITTED + item.text) if item.kind == COMMIT else (_PLAN, _SAID + item.text)

    def _known(self, item: Item) -> tuple[str, str]:
        """Of what was worked with: a check stands among the commands, a file among the changes, if these do
        not say the same."""
        words = item.text
        if _ENDED in words:
            return _COMMANDS, words
        if words.startswith(_LAST_EDIT):
            path, _, new = words.removeprefix(_LAST_EDIT).partition(": ")
            return _CHANGED, "" if new[:_ENOUGH] in self.changes else f"[{path}] - edited last: `{new}`"
        path, _, names = words.partition(_CHANGES)
        fresh = ", ".join(name for name in names.split(", ") if name not in self.changes)
        return _CHANGED, fresh and f"[{path}] - {fresh}"

    def _place(self, item: Item) -> tuple[object, int]:
        name, where = self.homes[id(item)], self._said_at(item)
        alone = item.order if item.kind == KNOWN or name in (_DECISIONS, _ISSUES) else -1
        return (name, where, alone), len(where)

    def _said_at(self, item: Item) -> str:
        said = _where(self.facts, item.turn, item.entry)
        if item.kind == SUMMARY:
            said = f"{said[:-1]}, summary)" if said else " (summary)"
        if item.cls != DECISION or item.entry not in self.hasty:
            return said
        return f"{said[:-1]}, under_pressure)" if said else " (under_pressure)"

    def _put(self, picked: list[Item]) -> None:
        last: dict[str, object] = {}
        for item in picked:
            name, where = self.homes[id(item)], self._said_at(item)
            said, (from_, _) = self.sections.setdefault(name, []), self._place(item)
            if last.get(name) == from_:  # one saying, one item
                text = _bare(item.text)
                said[-1] = f"{said[-1].removesuffix(where)}\n{text}{where}"
            else:
                said.append(item.text + where)
            last[name] = from_


def _reasons(facts: Facts) -> set[int]:
    """The units that say why: of a saying that is mostly about something else they stay with the rest."""
    why: dict[int, list[int]] = {}
    lengths: dict[int, int] = {}
    spoken = {saying[5] for saying in facts.sayings if saying[0] in (SAID_MID, SAID_LAST, COMMIT)}
    for at, row in enumerate(facts.units):
        lengths[row[0]] = lengths.get(row[0], 0) + 1
        if row[0] in spoken and row[2] in ("p", "i") and any(map(is_reason, parts_of(row[1]))):
            why.setdefault(row[0], []).append(at)
    return {at for number, own in why.items() if 7 * len(own) >= lengths[number] for at in own}


def _bare(words: str) -> str:
    """Without who says it."""
    return words.removeprefix(_SAID).removeprefix(_COMMITTED).removeprefix(FROM_LEAD)


def _stands(item: Item, there: str) -> bool:
    words = _bare(item.text)
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
        sections[_COMMANDS] += [*before, said]
    plans = [(path, row[4]) for path, row in facts.touched.files.items() if row[1] and _PLANS in path]
    for path, turn in plans[-1:]:
        sections[_PLAN].append(f"Plan file: {excerpt(path, 200)}{_where(facts, turn)}")


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
    if name == _GOAL:
        return at > 0
    if name == "Next Steps":
        return items[at].startswith("[x]")
    succeeded = items[at].startswith("`") and "` → exit 0" in items[at]
    return name == _COMMANDS and succeeded and at < len(items) - _NEWEST
