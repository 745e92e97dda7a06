"""What a summary says that the user said, and the user never typed: orders and permissions out of nowhere.

A false accusation costs more than a missed one, so whatever may support a sentence does: a word found
inside another word, what was agreed to with a `yes`, what the plan says. A sentence in a language in which
nothing was typed is held only against what both share: names, numbers and a list of everyday words.
"""

from itertools import islice

from holdfast.core.ascribed import Claim, words_of
from holdfast.core.glossary import WORDS, concepts, places
from holdfast.core.terms import WEIGHTS, WORD, Lexicon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.terms import Term

#: Unsupported when of its words less than this was typed close together, or typed anywhere and planned.
#: Chosen on one half of bench/truths/orders.json and of the sessions; the other half was looked at once.
_CLOSE, _ANYWHERE, _PLANNED = 0.34, 0.5, 0.6
#: The same of a quotation, of which besides no `_RUN` words in a row were typed.
_CLOSE_QUOTED, _RUN = 0.5, 3
#: What a claim has to say, to be judged; what says less, only where nothing of it is known; and words that
#: both languages know.
_LEAST, _FEW, _LEAST_SHARED = 3.5, 2, 3
#: Less than this is known of what would be said unsupported on weaker grounds.
_HARDLY = 0.25
#: Of everyday words so many may stand together in another language, all the same.
_CLOSE_SHARED = 0.4
#: Characters to a block of what was typed; what is close together is in the same three.
_BLOCK, _NEAR = 300, 3
#: So that no summary takes long to judge.
_CLAIMS, _WORDS, _OFTEN = 240, 40, 48
_LANGUAGES = {
    "en": frozenset("the to and is in it of that for this with we be on are you do can not when".split()),
    "de": frozenset(
        """der die das des dem und nicht ist mit auf ein eine für wir bitte den zu wenn dass es du er wie
        vor bei wird werden soll sollen nie mal noch auch kein keine im""".split()
    ),
    "es": frozenset(
        "el los las una que para con por del no en la de es cuando sea sí y lo un se como usa".split()
    ),
    "fr": frozenset("le la les une est pour dans pas et nous qui que il au avec sur".split()),
    "pt": frozenset("os não com uma em para que do da de e um por isso é".split()),
    "it": frozenset("il di che non sono per una del è con la si".split()),
}
#: A language is one of the user's when so much of what they typed is in it.
_SPOKEN, _SAMPLE = 0.15, 600


class Typed:
    """What the user typed, or agreed to; `planned` is what the checkpoint says of aims and plans.
    `whole`: nothing that was typed is missing. Of what is missing nothing can be said."""

    __slots__ = ("_places", "_planned", "_runs", "languages", "low", "whole")

    def __init__(self, texts: list[str], planned: list[str], whole: bool = True) -> None:
        self.low = "\n".join(texts).lower()
        self.whole = whole
        self.languages = spoken_in(texts)
        self._planned = "\n".join(planned).lower()
        self._places: dict[str, frozenset[int]] = {}
        self._runs = ""

    def __contains__(self, part: str) -> bool:
        return part in self.low or part in self._planned

    def shares(self, terms: "dict[str, Term]") -> tuple[float, float, float, float]:
        """Of these terms: the shares typed close together, typed anywhere, and typed or planned; and how
        much they say."""
        typed = known = asked = 0.0
        found: list[tuple[frozenset[int], float]] = []
        for kind, key, made_of in terms.values():
            weight = min(2.0, WEIGHTS[kind])
            asked += weight
            parts = made_of or (key.rpartition("/")[2],)
            for part in parts:
                blocks = self._blocks(part)
                worth = weight / len(parts)
                typed += worth * bool(blocks)
                known += worth * (bool(blocks) or part in self._planned)
                found.append((blocks, worth))
        if not asked:
            return 1.0, 1.0, 1.0, 0.0
        return _closest(found) / asked, typed / asked, known / asked, asked

    def _blocks(self, part: str) -> frozenset[int]:
        found = self._places.get(part)
        if found is None:
            blocks: set[int] = set()
            at = self.low.find(part)
            while at >= 0 and len(blocks) < _OFTEN:
                blocks.add(at // _BLOCK)
                at = self.low.find(part, at + 1)
            found = self._places[part] = frozenset(blocks)
        return found

    def has_run(self, quoted: str) -> bool:
        """Whether some words of a quotation were typed in a row; of a short one we cannot say."""
        words = words_of(quoted)[:_WORDS]
        if len(words) < _RUN + 1:
            return True
        self._runs = self._runs or f" {' '.join(words_of(self.low))} "
        ends = range(_RUN, len(words) + 1)
        return any(f" {' '.join(words[end - _RUN : end])} " in self._runs for end in ends)

    def may_share(self, low: str) -> bool:
        """Whether of its everyday words some stand close together here, in whatever language."""
        meant, found = concepts(low), []
        for concept in meant:
            blocks = (at // _BLOCK for word in WORDS[concept] for at in places(word, self.low))
            found.append((frozenset(islice(blocks, _OFTEN)), 1.0))
        return _closest(found) > _CLOSE_SHARED * len(meant)


def _closest(found: list[tuple[frozenset[int], float]]) -> float:
    """How much stands together at best."""
    sums: dict[int, float] = {}
    for blocks, worth in found:
        for end in {block + behind for block in blocks for behind in range(_NEAR)}:
            sums[end] = sums.get(end, 0.0) + worth
    return max(sums.values(), default=0.0)


def language(low: str) -> str:
    """As far as its small words tell; "": nobody can say."""
    letters = sum(letter.isalpha() for letter in low)
    if not low.isascii():
        wide = sum("\u3400" <= letter <= "\u9fff" for letter in low)
        if any("\u3040" <= letter <= "\u30ff" for letter in low):
            return "ja"
        if 4 * wide > letters:
            return "zh"
        if 4 * sum("\u0370" <= letter <= "\u1fff" or letter >= "\uac00" for letter in low) > letters:
            return "other"
    words = words_of(low)
    counts = {name: sum(word in small for word in words) for name, small in _LANGUAGES.items()}
    counts["de"] += 2 * any(letter in low for letter in "äöüß")
    counts["es"] += 2 * any(letter in low for letter in "ñ¿¡")
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > 0 else ""


def spoken_in(texts: list[str]) -> frozenset[str]:
    sizes: dict[str, int] = {}
    for text in texts:
        name = language(text[:_SAMPLE].lower())
        sizes[name] = sizes.get(name, 0) + min(len(text), _SAMPLE)
    sizes.pop("", 0)
    whole = sum(sizes.values())
    return frozenset(name for name, size in sizes.items() if size >= _SPOKEN * whole)


def unsupported(claims: list[Claim], typed: Typed, lexicon: Lexicon) -> list[str]:
    """The sentences of which nothing that was typed supports what they ascribe to the user."""
    found: dict[str, None] = {}
    for claim in claims[:_CLAIMS] if typed.whole and typed.low.strip() else ():
        if _is_unsupported(claim, typed, lexicon):
            found[claim.sentence] = None
    return list(found)


def _is_unsupported(claim: Claim, typed: Typed, lexicon: Lexicon) -> bool:
    terms = lexicon.terms(claim.low)
    own = language(claim.sentence.lower())
    if typed.languages and own and own not in typed.languages:
        return _shares_nothing(claim.low, terms, typed)
    close, anywhere, planned, asked = typed.shares(terms)
    if typed.languages - {own or "en"}:  # it may translate what was typed in another language
        return asked >= _LEAST and planned < _HARDLY and not typed.may_share(claim.low)
    if asked < _LEAST:
        return asked >= _FEW and not planned and not claim.quoted
    if claim.quoted:
        return close < _CLOSE_QUOTED and (own == "zh" or not typed.has_run(claim.low))
    if claim.listed:
        return planned < _HARDLY
    return close < _CLOSE or (anywhere < _ANYWHERE and planned < _PLANNED)


def _shares_nothing(low: str, terms: "dict[str, Term]", typed: Typed) -> bool:
    """Not a name, a number or an everyday word of it was typed, in any language."""
    if any(
        kind != WORD and typed.shares({key: (kind, key, made)})[1] for key, (kind, _, made) in terms.items()
    ):
        return False
    meant = concepts(low)
    return len(meant) >= _LEAST_SHARED and not typed.may_share(low)
