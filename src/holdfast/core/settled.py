"""What is settled in a session: the person's orders, and the decisions, with what was not taken.

A proposal is settled by the prompt that answers it. What was taken back later is shown as that.
"""

from holdfast.core.facts import ACCEPTED, ANSWER, COMMIT, LEAD, SAID_LAST, SAID_MID, SUMMARY, USER, Facts
from holdfast.core.plain import excerpt, one_line
from holdfast.core.sentences import (
    Choice,
    Demand,
    asks_again,
    chose,
    deciding,
    is_by_user,
    is_order,
    is_question,
    overturns,
    parts_of,
    picked,
    proposed,
    replaces,
    reply,
)
from holdfast.core.spoken import FROM_LEAD

_SPOKEN, _PROSE = (SAID_MID, SAID_LAST, COMMIT), ("p", "i")
#: What an answer says that settles nothing.
_UNSETTLED = ("let me pick", "(notes only)", "other", "none", "skip", "")
_ANSWERED = "The user answered: "
_ASKED, _SHOWN, _ANSWER = "Asked: ", 170, 160
#: Of the orders these stay, beside those that are marked as rules: a session begins with the first. Each is
#: held against all that are left.
FIRST_ORDERS, _NEWEST_ORDERS = 8, 64
#: A decision is held against so many of the newest that name a word of what it did not take.
_NEWEST_CHOICES = 64
_ITEMS = (" - ", " * ", " • ", *(f" {number}. " for number in range(1, 10)))
#: Of more units than this a text was pasted rather than typed.
_PASTED = 14


class Order:
    __slots__ = ("entry", "is_marked", "number", "replaced", "text", "turn")

    def __init__(self, turn: int, entry: str, text: str, number: int = -1, is_marked: bool = False) -> None:
        self.turn = turn
        self.entry = entry
        self.text = text
        self.number = number  # of what was typed at once
        self.is_marked = is_marked
        self.replaced = 0  # the turn in which it was taken back; 0: it holds

    def shown(self) -> str:
        return f"Replaced in turn {self.replaced}: {self.text}" if self.replaced else self.text


def orders(facts: Facts) -> list[Order]:
    """Oldest first, each as it was typed; said again, it was said last."""
    found = {rule: Order(turn, entry, rule, is_marked=True) for turn, entry, rule in facts.rules}
    sayings = {saying[5]: saying for saying in facts.sayings if saying[0] in (USER, LEAD)}
    for row in facts.units:
        saying = sayings.get(row[0])
        if saying is None or row[2] == "o":
            continue
        for order in ordering(row[1]):
            text = FROM_LEAD + order if saying[0] == LEAD else order
            if not any(text in rule for _, _, rule in facts.rules):
                found.pop(text, None)
                found[text] = Order(saying[2], saying[4], text, row[0])
    made = sorted(found.values(), key=lambda order: order.turn)
    newest = len(made) - _NEWEST_ORDERS
    made = [one for at, one in enumerate(made) if one.is_marked or at < FIRST_ORDERS or at >= newest]
    demands = [Demand(order.text) for order in made]
    for at, later in enumerate(made):
        for before, earlier in enumerate(made[:at]):
            if (
                earlier.number != later.number
                and not earlier.replaced
                and replaces(demands[at], demands[before])
            ):
                earlier.replaced = later.turn or 1
    return made


def taken_back(facts: Facts) -> list[str]:
    """The orders that a later one replaced."""
    return [order.text.removeprefix(FROM_LEAD) for order in orders(facts) if order.replaced]


def ordering(words: str) -> list[str]:
    """The sentences and list items of what a person typed that say how the work is to be done."""
    return [one for one in typed_sentences(words) if is_order(one)]


def typed_sentences(words: str) -> list[str]:
    """What a person typed, line by line and item by item: not everybody ends them with a full stop."""
    found = []
    for line in words.split("\n"):
        for sentence in parts_of(one_line(line)):
            for mark in _ITEMS:
                sentence = sentence.replace(mark, "\n")
            found += [one.strip() for one in sentence.split("\n") if one.strip(" -*•")]
    return found


def without(words: str, orders: list[str]) -> str:
    """What a person typed, on one line, but for these of their sentences; where one is left out from the
    middle, that shows."""
    words = one_line(words)
    for order in orders:
        words = words.replace(order, " … ", 1)
    if not orders:
        return words
    kept = [part.strip(" -*•") for part in words.split("…")]
    return one_line(" … ".join(part for part in kept if part))


class Settled:
    """`rows`: the place of a unit among all -> how it reads among the decisions; `orders` as above."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._orders: list[Order] | None = None
        self.rows: dict[int, str] = {}
        self._rest: dict[int, str] = {}
        self._turns: dict[int, int] = {}
        sayings = {saying[5]: saying for saying in facts.sayings}
        units: dict[int, list[tuple[int, list]]] = {}
        for at, row in enumerate(facts.units):
            units.setdefault(row[0], []).append((at, row))
        again: set[int] = set()  # prompts that ask what was decided: the answer tells it
        for number, own in units.items():
            saying = sayings[number]
            if saying[0] == USER and asks_again(own[0][1][1]):
                again.add(saying[3])
            if saying[0] not in _SPOKEN or saying[3] not in again:
                self._take(saying, own)
        self._answer(facts, units)
        self._overturn()

    @property
    def orders(self) -> list[Order]:
        if self._orders is None:
            self._orders = orders(self._facts)
        return self._orders

    def without_orders(self, at: int, words: str) -> str:
        """What a person typed, but for what is said among the orders."""
        return self._rest.get(at, words)

    def _take(self, saying: list, own: list[tuple[int, list]]) -> None:
        kind, turn = saying[0], saying[2]
        if kind == ANSWER:
            self._asked(own)
        for at, row in own:
            said = ""
            if kind in (USER, LEAD) and row[2] != "o":
                if found := ordering(row[1]):
                    self._rest[at] = without(row[1], found)
            elif (kind in _SPOKEN and row[2] in _PROSE) or kind == ACCEPTED:
                said = deciding(row[1])
            elif kind == SUMMARY and row[2] in _PROSE:
                said = next((one for one in parts_of(row[1]) if is_by_user(one)), "")
            if said:
                self.rows[at] = said
            if at in self.rows:
                self._turns[at] = turn

    def _asked(self, own: list[tuple[int, list]]) -> None:
        """Questions of the client's own with their answers, each whole."""
        asked: list[tuple[int, str]] = []
        for at, row in own:
            if row[1].startswith(_ASKED) or not asked:
                asked.append((at, row[1]))
            else:
                asked[-1] = asked[-1][0], f"{asked[-1][1]} {row[1]}"
        for at, words in asked:
            question, found, answer = words.partition(_ANSWERED)
            if found and answer.strip().lower() not in _UNSETTLED and " /" not in answer:
                self.rows[at] = f"{question}{found}{answer}"

    def _answer(self, facts: Facts, units: "dict[int, list[tuple[int, list]]]") -> None:
        """What the agent proposed or asked last, by what the person typed then."""
        last: list = []
        for saying in facts.sayings:
            if saying[0] == SAID_LAST:
                last = saying
            elif saying[0] == USER and last and saying[3] == last[3] + 1:
                typed = units.get(saying[5], [])
                words = " ".join(row[1] for _, row in typed[:2])
                if len(typed) <= _PASTED:
                    self._reply(units.get(last[5], []), words, typed, saying[2])
                last = []

    def _reply(
        self, own: "list[tuple[int, list]]", words: str, typed: "list[tuple[int, list]]", turn: int
    ) -> None:
        said = reply(words)
        for at, row in own:
            one = proposed(row[1]) if row[2] in _PROSE else ""
            decided = self.rows.get(at, "")
            if said == "no" and (one or decided):
                self.rows[at] = f"Rejected by the user (“{excerpt(words, _ANSWER)}”): {one or decided}"
            elif said == "yes" and one and not decided:
                self.rows[at] = f"{one} (The user agreed: “{excerpt(words, 60)}”)"
            else:
                continue
            self._turns[at] = turn
        asked = [one for _, row in own for one in parts_of(row[1]) if is_question(one)]
        if asked and typed and chose(asked[-1], words):
            option = _option(own, picked(words))
            if option or not picked(words):
                at = typed[0][0]
                self.rows[at] = (
                    f"{_ASKED}{excerpt(asked[-1], _SHOWN)} {_ANSWERED}{excerpt(words, _ANSWER)}{option}"
                )
                self._turns[at] = turn

    def _overturn(self) -> None:
        """A decision that a later one took back says so."""
        choices: dict[int, Choice] = {}
        naming: dict[str, list[int]] = {}  # a word -> the decisions that chose it
        for at in sorted(self.rows):
            made, turn = Choice(self.rows[at]), self._turns[at]
            for before in {one for word in made.left for one in naming.get(word, ())[-_NEWEST_CHOICES:]}:
                earlier = self.rows[before]
                holds = not earlier.startswith(_TAKEN_BACK) and self._turns[before] < turn
                if holds and overturns(made, choices[before]):
                    self.rows[before] = f"Replaced in turn {turn}: {earlier}"
            choices[at] = made
            for word in made.chosen:
                naming.setdefault(word, []).append(at)


def _option(own: "list[tuple[int, list]]", name: str) -> str:
    """What the agent had said of the option of this name."""
    marks = (f"option {name}", f"{name})", f"{name}.", f"{name}:", f"({name})")
    for _, row in own if name else ():
        for part in row[1].split("; "):
            low = part.lower().lstrip("*- ")
            if low.startswith(marks) and len(low) > len(name) + 12:
                return f" ({excerpt(part, _SHOWN)})"
    return ""


_TAKEN_BACK = ("Replaced in turn", "Rejected by the user")
