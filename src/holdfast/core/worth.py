"""Which facts go into a text of so many characters: what they are worth, and what they repeat.

Worth grows with who said it, how lately, what its words show, and how many other sayings share its names;
it is divided by a root of its length, and shrinks with what has been chosen already. The weights began as
judgement and were moved, on labelled compactions (`bench/survive.py`), to where it matters little if one of
them is off: with so few cases a closer fit only learns the cases.
"""

from holdfast.core.cues import DEAD_END, DECISION, INSTRUCTION, OTHER, VALUE, terms_of
from holdfast.core.facts import (
    ACCEPTED,
    AGENT,
    ANSWER,
    ASKED,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Look = Callable[[str], float]
    #: (what it has in common with others from there, characters that this takes)
    Place = Callable[["Item"], tuple[object, int]]

#: What is known otherwise than by being said: files, tasks, how commands ended.
KNOWN = -1
_KINDS = {
    USER: 0.8,
    ANSWER: 0.8,
    ACCEPTED: 0.65,
    SAID_MID: 0.05,
    SAID_LAST: 0.45,
    PLAN: -0.1,
    SUMMARY: 0.6,
    AGENT: -1.2,
    COMMIT: 0.1,
    REFUSED: 0.2,
    SENT: 0.45,
    LEAD: 0.8,
    KNOWN: 0.0,
}
#: What a session is given to do.
_GIVEN = (USER, ACCEPTED, LEAD)
_FIRST, _LONG, _BEGINS = 0.5, -1.0, 0.3
#: How many times as much counts what belongs to the newest prompt.
_CURRENT = 2.718**0.7
_NAMED, _CENTRAL, _ASKED, _ALIVE, _COMMON = 0.33, 0.85, 0.58, 0.15, -0.3
#: How long a saying takes to fade, in turns and as a share of the session; and what of it stays.
_FADE_TURNS, _FADE_SHARE, _STAYS, _TYPED_STAYS = 9.0, 0.17, 0.2, 0.53
#: What holds until it is taken back fades less.
_LASTING, _LASTS = (INSTRUCTION, DEAD_END), 2.2
#: What was said before one compaction, and before more than one, has been told again or was not worth it.
#: Less so what the person said and holds: all but what hardly has a word that is not said over and over.
_TOLD, _TOLD_HOLDS, _RARE = (0.0, -0.5, -1.5), -0.3, 0.3
#: Decisions, dead ends and values that no summary has told yet have so much of the room before all else,
#: and at most so many characters: where there are more, they have their worth.
_KEPT, _FOR_KEPT, _MOST_KEPT = (DECISION, DEAD_END, VALUE), 0.26, 1300
_REPEATS, _ROOT, _OVERHEAD = 0.78, 0.65, 12
#: So many of the best are looked at; what is beyond them never gets a place.
_LOOKED_AT = 500
#: Up to one unit that came since for so many that were weighed, these are not weighed again: it takes a
#: third of a brief's time, and what came last stands in the window word for word.
_A_FEW = 8


class Item:
    """A unit that may be chosen. `order` is its place among all, oldest first; `words` are its names and
    topics, as the facts keep them."""

    __slots__ = ("_terms", "_words", "cls", "entry", "fresh", "kind", "order", "text", "turn", "worth")

    def __init__(
        self,
        text: str,
        kind: int,
        turn: int,
        cls: str = OTHER,
        entry: str = "",
        worth: float = 0.0,
        words: tuple[str, str] | None = None,
        order: int = 0,
    ) -> None:
        self.text = text
        self.kind = kind
        self.turn = turn
        self.cls = cls
        self.entry = entry
        self.worth = worth
        self.order = order
        self.fresh = False  # said, and no summary has told it yet
        self._words = words
        self._terms: tuple[list[str], list[str]] | None = None

    def terms(self) -> tuple[list[str], list[str]]:
        """(names, topics). Of most units nobody asks."""
        if self._terms is None:
            words = self._words
            self._terms = (words[0].split(), words[1].split()) if words else terms_of(self.text)
        return self._terms

    def saying(self, text: str) -> "Item":
        """The same in other words."""
        made = Item(text, self.kind, self.turn, self.cls, self.entry, self.worth, None, self.order)
        made.fresh = self.fresh
        return made


def known(text: str, worth: float, turn: int, cls: str) -> Item:
    return Item(text, KNOWN, turn, cls, "", worth)


def weighed(facts: Facts, until: int = 0) -> list[Item]:
    """Every unit with its worth, oldest first: as things stand now, or where few came since they were last
    weighed, with that of these beside what the others had. The facts keep it. `until`: without what was
    said from this place of the transcript on."""
    sayings = {saying[5]: saying for saying in facts.sayings}
    units = [row for row in facts.units if sayings[row[0]][1] < until] if until else facts.units
    known, last = facts.worths, max(facts.past, default=-1)
    if (len(units) - len(known)) * _A_FEW > len(known):
        known = []
    if len(known) < len(units):
        known = facts.worths = known + _worths(facts, sayings, units, len(known))
    found = []
    for order, row in enumerate(units):
        kind, offset, turn, prompt, entry, _ = sayings[row[0]]
        worth = known[order] * 2.718 ** (row[3] + _KINDS[kind])  # these may have changed since
        worth *= _CURRENT if prompt == facts.prompts else 1.0
        item = Item(row[1], kind, turn, row[4], entry, worth, (row[5], row[6]), order)
        item.fresh = kind != SUMMARY and offset > last
        found.append(item)
    return found


def _worths(facts: Facts, sayings: dict[int, list], units: list, start: int) -> list[float]:
    """Of those from `start` on, among all, but for what their kind and their words by themselves add."""
    rows = [(sayings[row[0]], row, row[5].split(), row[6].split()) for row in units]
    shared, apt, alive, counts = _known_of(facts, rows)
    again, once = ([-1, -1, *sorted(facts.past)])[-2:]  # what was said before has been told so often
    fade = _FADE_TURNS + _FADE_SHARE * facts.turns
    lengths: dict[int, int] = {}
    for saying, *_ in rows:
        if saying[0] in _GIVEN:
            lengths[saying[5]] = lengths.get(saying[5], 0) + 1
    found = []
    before = -1
    for saying, row, named, about in rows[start:]:
        kind, offset, turn, prompt, _, number = saying
        begins, before = number != before, number
        every = named + about
        log = sum(map(apt, every)) / (len(every) or 1)
        if named:
            central = sum([shared[word] for word in named if word in shared])
            log += _NAMED * min(len(named), 5) / 5 + _CENTRAL * min(central, 8.0) / 8
            log += _ALIVE * sum(map(alive, named)) / len(named)
        if kind in _GIVEN:
            log += (_FIRST if prompt == 1 else 0.0) + (_LONG if lengths[number] > 8 else 0.0)
            log += _BEGINS if begins else 0.0  # there it says what it is about
        stays = _TYPED_STAYS if kind in ASKED else _STAYS
        if row[4] in _LASTING:
            stays = min(1.0, stays * _LASTS)
        told = (offset < once) + (offset < again)
        holds = kind in _GIVEN and (row[4] in _LASTING or _is_rare(every, counts))
        log += (_TOLD_HOLDS if told else 0.0) if holds else _TOLD[told]
        worth = 2.718**log * (stays + (1 - stays) * 2.718 ** ((turn - facts.turns) / fade))
        found.append(worth)
    return found


def _is_rare(words: list[str], counts: dict[str, int]) -> bool:
    """Whether some of them stand hardly anywhere else."""
    return sum([counts[word] <= 2 for word in words]) >= _RARE * len(words)


def _known_of(facts: Facts, rows: list) -> "tuple[dict[str, float], Look, Look, dict[str, int]]":
    """What a word adds: a name that sayings share; any word the person spoke of, less if it is everywhere;
    a name that was spoken of lately; and in how many sayings each stands."""
    by_saying: dict[int, set] = {}
    asked: set = set()
    late: set = set()
    since = facts.turns - max(8, facts.turns * 0.15)
    for saying, row, named, about in rows:
        by_saying.setdefault(saying[5], set()).update(named, about)
        if saying[0] in _GIVEN and row[2] != "o":
            asked.update(named, about)
        if saying[2] >= since:
            late.update(named)
    counts: dict[str, int] = {}
    for words in by_saying.values():
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    logs = [_log(min(count, 12)) for count in range(max(counts.values(), default=0) + 1)]
    common = [_COMMON / 3 * log for log in logs]
    spread = {word: common[count] for word, count in counts.items()}
    for word in asked:
        spread[word] += _ASKED
    shared = {word: logs[count] for word, count in counts.items() if count > 1}
    return shared, spread.__getitem__, late.__contains__, counts


def _log(count: int) -> float:
    """Of 1 + count: near enough, and without an import."""
    return (
        (count + 1).bit_length() * 0.693
        - 0.693
        + ((count + 1) / (1 << ((count + 1).bit_length() - 1)) - 1) * 0.66
    )


def together(items: list[Item], more: list[Item]) -> list[Item]:
    """With what else is known, after all that was said."""
    for order, item in enumerate(more, len(items)):
        item.order = order
        item.worth = 2.718**item.worth
    return items + more


def chosen(
    items: list[Item],
    room: int,
    taken: str = "",
    cost: int = 1,
    place: "Place | None" = None,
    guaranteed: "Sequence[tuple[list[Item], int]]" = (),
) -> list[Item]:
    """The best that fit into `room` characters, most valuable first. `taken` is what stands there already:
    who repeats it is worth less. `cost` is what each takes beside its text, at least the end of a line;
    `place` what it takes to say where it is from, once for all that are from there. `guaranteed`: those who
    have so many characters before all others."""
    choice = _Choice(room, taken, cost, place)
    for those, share in guaranteed:
        choice.take(those, min(share, choice.room))
    kept = [item for item in items if item.fresh and item.cls in _KEPT]
    choice.take(kept, int(min(room * _FOR_KEPT, _MOST_KEPT)))
    choice.take(items, choice.room)
    return choice.picked


class _Choice:
    def __init__(self, room: int, taken: str, cost: int, place: "Place | None") -> None:
        self.room = room
        self.picked: list[Item] = []
        self._there: set[int] = set()
        self._covered = {word for words in terms_of(taken) for word in words}
        self._cost = cost
        self._place = place
        self._places: set[object] = {None}
        self._values: dict[int, float] = {}  # as long as they do not depend on a place

    def take(self, items: list[Item], room: int) -> None:
        """Of these, into so much of the room."""
        there, value_of, known = self._there, self._value, self._values.get
        queue = [(known(id(item)) or value_of(item), item) for item in items if id(item) not in there]
        queue.sort(key=_first, reverse=True)
        del queue[_LOOKED_AT:]
        beside: dict[object, list[Item]] = {}
        if self._place:
            for _, item in queue:
                beside.setdefault(self._place(item)[0], []).append(item)
        while queue and room > 30:
            # The queue is sorted by what each was worth when last looked at, and worth only shrinks. Only
            # when a place is named for the first time, the others from there cost less: they come again.
            _, item = queue.pop(0)
            size = self._size(item)
            if size > room or id(item) in there:
                continue
            repeats, is_new = _repeats(item, self._covered)
            if not is_new:
                continue
            value = value_of(item) * (1 - _REPEATS * repeats)
            if queue and value < queue[0][0]:
                _insert(queue, value, item)
                continue
            self.picked.append(item)
            there.add(id(item))
            self.room -= size
            room -= size
            self._covered.update(*item.terms())
            where = self._place(item)[0] if self._place else None
            if where not in self._places:
                self._places.add(where)
                for other in beside[where]:
                    _insert(queue, value_of(other), other)

    def _size(self, item: Item) -> int:
        if not self._place:
            return len(item.text) + self._cost
        where, takes = self._place(item)
        return len(item.text) + self._cost + (0 if where in self._places else takes)

    def _value(self, item: Item) -> float:
        known = self._values.get(id(item))
        if known is None:
            known = item.worth / (self._size(item) + _OVERHEAD) ** _ROOT
            if not self._place:
                self._values[id(item)] = known
        return known


def _first(valued: tuple[float, Item]) -> float:
    return valued[0]


def _repeats(item: Item, covered: set) -> tuple[float, bool]:
    """(how much of it has been said, whether there is anything new in it)."""
    names, topics = item.terms()
    if topics and covered.issuperset(topics) and covered.issuperset(names):
        return 1.0, False  # so it is with most of those that are left at the end
    about = sum(map(covered.__contains__, topics)) / len(topics) if topics else 0.0
    if not names:
        return about, about <= 0.95
    named = sum(map(covered.__contains__, names)) / len(names)
    return (about + named) / 2, about <= 0.95 or named < 1.0


def _insert(queue: list, value: float, item: Item) -> None:
    low, high = 0, len(queue)
    while low < high:
        middle = (low + high) // 2
        if queue[middle][0] > value:
            low = middle + 1
        else:
            high = middle
    queue.insert(low, (value, item))
