"""Where a summary says otherwise than a checkpoint, in other words: the opposite of an order, a run that
ended differently. Where it says the same with something changed: see `altered`.

A false accusation costs more than a missed one. So each rule wants the same subject in the same place,
nothing in the summary that agrees with the item, and nothing that was typed or noted that would explain
the difference: a value that was changed later, an order that was lifted.
"""

from holdfast.core.ascribed import words_of
from holdfast.core.claims import Typed
from holdfast.core.outcome import tells_failure
from holdfast.core.terms import stem, tokens

#: How much of what an order is about has to be in the sentence that says the opposite.
_SAME_ORDER = 0.6
_NOT = frozenset(
    """not dont never no mustnt shouldnt cannot cant avoid forbidden prohibited refrain unless until
    without""".split()
)
_FORBIDS = frozenset("not dont never mustnt shouldnt cannot avoid".split())
_DEMANDS = frozenset("always must".split())
_PERMITS = frozenset("may can should always freely allowed okay ok fine permitted automatically".split())
_EMPTY = frozenset("be to the a an any it this that in on of or and you we i for with by please".split())
_PASSED = frozenset("pass passes passed passing green succeeds succeeded".split())
_FAILED = frozenset("fail fails failed failing failure failures red broken error errors not".split())
#: Not said to be so, only wished for or to be found out.
_HOPED = frozenset(
    "verify ensure confirm check should until if will would need needs must once when whether sure".split()
)
_ALL_PASS = ("all tests pass", "all tests are pass", "all tests now pass", "tests all pass")


class Summary:
    """What the rules look at, made once: sentences and their words."""

    __slots__ = ("lows", "said", "words")

    def __init__(self, said: list[str]) -> None:
        self.said = said
        self.lows = [sentence.lower() for sentence in said]
        self.words: dict[int, list[str]] = {}

    def naming(self, part: str) -> list[tuple[str, list[str]]]:
        """The sentences in which this stands, with their words."""
        found = []
        for at, low in enumerate(self.lows):
            if part in low:
                if at not in self.words:
                    self.words[at] = words_of(low)
                found.append((self.said[at], self.words[at]))
        return found


def opposite(item: str, summary: Summary, known: Typed) -> str:
    """The sentence that allows what the item forbids, or forbids what it demands."""
    words = words_of(item.lower())
    for at, word in enumerate(words[:-1]):
        forbidden = word in _FORBIDS
        if not forbidden and word not in _DEMANDS:
            continue
        if words[at + 1] in _NOT:
            continue
        verb = next((w for w in words[at + 1 : at + 3] if w not in _EMPTY and w.isalpha()), "")
        if len(verb) < 3:
            continue
        about = {stem(w) for w in words[at + 2 : at + 9] if w not in _EMPTY and w != verb}
        found = _against(stem(verb), about, forbidden, summary)
        if found and not _lifted(stem(verb), forbidden, known):
            return found
    return ""


def _against(verb: str, about: set[str], forbidden: bool, summary: Summary) -> str:
    against = ""
    for sentence, words in summary.naming(verb):
        stems = [stem(word) for word in words]
        if verb not in stems:
            continue
        place = stems.index(verb)
        negated = not _NOT.isdisjoint(words)
        same = not about or len(about.intersection(stems)) >= _SAME_ORDER * len(about)
        if negated == forbidden and (same or forbidden):
            return ""  # it says the same somewhere
        around = words[max(0, place - 3) : place + 4]
        if forbidden and same and not _PERMITS.isdisjoint(around):
            against = against or sentence
        if not forbidden and same and about and not _FORBIDS.isdisjoint(words[max(0, place - 2) : place]):
            against = against or sentence
    return against


def _lifted(verb: str, forbidden: bool, known: Typed) -> bool:
    """Whether a person typed something that may have been the opposite order."""
    if not known.whole:
        return True
    for line in known.low.split("\n"):
        if verb in line and _NOT.isdisjoint(words_of(line)) == forbidden:
            return True
    return False


def passed_instead(item: str, summary: Summary) -> str:
    """The sentence that says a failing command or test passes."""
    _, quote, rest = item.partition("`")
    command, _, ended = rest.partition("`")
    low = ended.lower()
    failed = " → exit " in ended and " → exit 0" not in ended
    if not quote or not (failed or tells_failure(item) or ended.startswith(":")):
        return ""
    names = [f"`{command.lower()}`"] if len(command) >= 6 else []
    names += [
        token.lower()
        for token in tokens(low)
        if token.startswith("test_") and not token.endswith((".py", ".go"))
    ]
    for name in names:
        said = summary.naming(name)
        if said and all(_FAILED.isdisjoint(words) for _, words in said):
            for sentence, words in said:
                if not _PASSED.isdisjoint(words) and _HOPED.isdisjoint(words):
                    return sentence
    return ""


def all_pass(summary: Summary) -> str:
    """The sentence that says all tests pass, when none says that one does not."""
    said = summary.naming("test")
    if all(_FAILED.isdisjoint(words) for _, words in said):
        for sentence, words in said:
            told = " ".join(words)
            if _HOPED.isdisjoint(words) and any(phrase in told for phrase in _ALL_PASS):
                return sentence
    return ""
