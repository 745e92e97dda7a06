"""Where a summary says otherwise than a checkpoint: another value, the opposite of an order, a run that
ended differently.

A false accusation costs more than a missed one. So each rule wants the same subject in the same place,
nothing in the summary that agrees with the item, and nothing that was typed or noted that would explain
the difference: a value that was changed later, an order that was lifted.
"""

from holdfast.core.ascribed import words_of
from holdfast.core.claims import Typed
from holdfast.core.outcome import tells_failure
from holdfast.core.terms import VALUE, Lexicon, Places, stem, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.terms import Term

    #: key word -> value -> (its unit, the sentence it stands in)
    Settings = dict[str, dict[str, tuple[str, str]]]

#: How much of an item, without its value, has to stand where the other value does.
_SAME_SUBJECT = 0.5
#: How much of what an order is about has to be in the sentence that says the opposite.
_SAME_ORDER = 0.6
_BRIDGES = frozenset("is to on at of the now was set be a as uses using currently are".split())
#: What is numbered, not set: another number is another thing.
_COUNTED = frozenset(
    map(
        stem,
        """line step phase task item section turn part round issue pr pull number chapter option
        point entry case test page row column scenario group commit file checkpoint session
        finding comment thread example sprint level tier batch iteration job total about around
        approximately roughly exit than least most up first last next after before""".split(),
    )
)
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
    """What the rules look at, made once: sentences, their words, the values that are set in them."""

    __slots__ = ("lows", "places", "said", "settings", "words")

    def __init__(self, said: list[str], places: Places, lexicon: Lexicon) -> None:
        self.said = said
        self.lows = [sentence.lower() for sentence in said]
        self.places = places
        self.settings: Settings = {}
        for sentence in said:
            if "branch" in sentence or any(digit in sentence for digit in "1203456789"):
                _settings(tokens(sentence), sentence, lexicon, self.settings)
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


def _settings(words: list[str], sentence: str, lexicon: Lexicon, found: "Settings") -> None:
    """Values that stand right after what they are a value of: `port 8123`, `limit = 50`."""
    before = ""
    for token in words:
        terms = lexicon.of(token)
        for kind, key, _ in terms:
            numeric = kind == VALUE and key[0].isdecimal() and key.replace(".", "").isdecimal()
            if before and (numeric or (before == "branch" and kind >= VALUE)):
                unit = token.strip(".,:~$").lstrip("0123456789.,") if numeric else ""
                found.setdefault(before, {})[key] = unit, sentence
                before = ""
            else:
                before = "" if numeric else key
        if (not terms and token.lower() not in _BRIDGES) or token[-1] in ".,":
            before = ""


def other_value(
    words: list[str],
    terms: "dict[str, Term]",
    summary: Summary,
    noted: set[str],
    known: Typed,
    lexicon: Lexicon,
) -> str:
    """The sentence that gives another value for what an item gives one; "" if there is none."""
    mine: Settings = {}
    if any(key[0].isdecimal() or key == "branch" for key in terms):
        _settings(words, "", lexicon, mine)
    for key, values in mine.items():
        others = summary.settings.get(key, {})
        if len(values) != 1 or len(others) != 1 or key in _COUNTED:
            continue
        (value, (unit, _)), (other, (other_unit, sentence)) = *values.items(), *others.items()
        where = summary.places.where
        if unit != other_unit or value in where or other in noted or other in known:
            continue
        rest = {name: term for name, term in terms.items() if name != value}
        share, start = summary.places.best(rest, len(rest))
        near = any(start - 1 <= segment <= start + 2 for segment in where.get(other, ()))
        if near and share >= _SAME_SUBJECT and (len(rest) > 2 or (key in rest and rest[key][2])):
            return sentence
    return ""


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
