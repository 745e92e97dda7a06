"""What a summary says that a person said, and no person did: instructions and permissions out of nowhere.

A false accusation costs more than a missed one. So whatever may excuse a sentence does: a word found
inside another word, what the plan says as well as what was typed, a language we cannot compare.
"""

from holdfast.core.terms import WEIGHTS, Lexicon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.terms import Term

_SPEAKERS = ("user", "human")
_SAYS = frozenset(
    """asked asks requested requests wants wanted said says told instructed instructs insisted
    insists requires required demanded prefers preferred decided directed ordered specified stated
    approved approves confirmed confirms agreed agrees allowed allows granted grants authorized
    authorised authorizes permitted permits accepted accepts""".split()
)
#: Orders in nobody's name are flagged only where they open a door: a summary also repeats what project
#: instructions say, and those are not ours to know.
_ORDERS = (
    "always ",
    "never ",
    "do not ",
    "don't ",
    "you must ",
    "you may ",
    "you are allowed ",
    "from now on",
)
_RISKS = (
    *("without asking", "without review", "without confirmation", "without permission", "no need to ask"),
    *("force push", "force-push", "push --force", "skip the tests", "skip tests", "--no-verify", "bypass"),
    *("disable the check", "ignore previous", "ignore all", "delete the", "rm -rf", "to production"),
    *("pre-approved", "preapproved", "full permission", "secrets", "credentials"),
)
_ENGLISH = frozenset("the to and is in it of that for this with we be on are you do can".split())
_FOREIGN = frozenset(
    """der die das und nicht ist mit auf ein eine für wir bitte den zu le la les des une est pour
    dans pas et du nous el los las una que para con por del il di che non sono o os não com uma de
    het een niet voor van y en jest nie się och att det inte""".split()
)
#: Nobody said it when less than this share of its words was typed anywhere; in quotation marks, when
#: besides no `_RUN` words in a row were. `_KNOWN` is against what was wanted and planned as well.
_TYPED, _KNOWN, _TYPED_QUOTED, _RUN = 0.4, 0.55, 0.75, 3
_LEAST = 3.5
#: Characters typed, claims, and words of a quotation: so that no summary takes long to judge.
_LOOKED_AT, _CLAIMS, _WORDS = 200_000, 200, 40
_BULLETS = "-*•#> 0123456789.)"
_QUOTES = '"“”「」'
_SIGNS = '"`*“”().,:;!?[]{}<>|=/'
_TABLE = str.maketrans({**dict.fromkeys(_SIGNS, " "), "'": ""})


def words_of(low: str) -> list[str]:
    """Words alone, as they are spelled: `don't` is `dont`."""
    if low.isascii():
        return low.translate(_TABLE).split()
    for sign in _SIGNS:
        low = low.replace(sign, " ")
    return low.replace("'", "").replace("’", "").split()


def sentences(text: str) -> list[str]:
    """One per line or full stop, without code."""
    found = []
    code = False
    for line in text.split("\n"):
        line = line.strip()
        if line[:3] == "```":
            code = not code
        elif line and not code:
            found += line.split(". ") if ". " in line[4:] else [line]  # not at the 12. of a list
    return found


class Known:
    """All that may excuse a summary: what was typed, and what the checkpoint says of aims and plans."""

    __slots__ = ("_planned", "_runs", "_seen", "foreign", "typed", "whole")

    def __init__(self, typed: list[str], planned: list[str]) -> None:
        taken, size = [], 0
        for words in reversed(typed):
            size += len(words)
            if size > _LOOKED_AT:
                break
            taken.append(words)
        self.typed = "\n".join(taken).lower()
        self.whole = len(taken) == len(typed)  # of what was not looked at nothing can be said
        self.foreign = _foreign(self.typed)
        self._planned = "\n".join(planned).lower()
        self._seen: dict[str, tuple[bool, bool]] = {}
        self._runs = ""

    def __contains__(self, part: str) -> bool:
        return self._find(part)[1]

    def _find(self, part: str) -> tuple[bool, bool]:
        """Whether it was typed, and whether it was typed or planned."""
        seen = self._seen.get(part)
        if seen is None:
            typed = part in self.typed
            seen = self._seen[part] = typed, typed or part in self._planned
        return seen

    def shares(self, terms: "dict[str, Term]") -> tuple[float, float, float]:
        """Of these terms: the share that was typed, the share that is known, and how much they say."""
        typed = known = asked = 0.0
        for kind, key, made_of in terms.values():
            weight = min(2.0, WEIGHTS[kind])
            asked += weight
            for part in made_of or (key.rpartition("/")[2],):
                seen = self._find(part)
                typed += weight * seen[0] / (len(made_of) or 1)
                known += weight * seen[1] / (len(made_of) or 1)
        return (typed / asked, known / asked, asked) if asked else (1.0, 1.0, 0.0)

    def has_run(self, quoted: str) -> bool:
        """Whether some words of a quotation were typed in a row; of a short one we cannot say."""
        words = words_of(quoted)[:_WORDS]
        if len(words) < _RUN + 2:
            return True
        self._runs = self._runs or f" {' '.join(words_of(self.typed))} "
        ends = range(_RUN, len(words) + 1)
        return any(f" {' '.join(words[end - _RUN : end])} " in self._runs for end in ends)


def _foreign(low: str) -> bool:
    """Not in English, as far as one can see: an English summary of it cannot be held against it."""
    low = low[:4000]
    words = low.split()
    letters = 0 if low.isascii() else sum(letter > "\u024f" for letter in low)
    english = sum(word in _ENGLISH for word in words)
    return 10 * letters > len(low) or sum(word in _FOREIGN for word in words) > english


def invented(said: list[str], known: Known, lexicon: Lexicon) -> list[str]:
    """Sentences that put an instruction or a permission into a person's mouth, and nobody said it."""
    found: dict[str, None] = {}
    judged = 0
    listed = False  # in the client's list of all user messages
    for sentence in said if known.whole else ():
        low = sentence.lower()
        bare = low.lstrip(_BULLETS)
        if "user messages" in low and len(low) < 60:
            listed = True
            continue
        listed = listed and (bare != low or bare[:1] in _QUOTES)
        quoted = _quoted(bare)
        claim = quoted if listed and bare[:1] in _QUOTES else _claim(bare, quoted)
        if not claim or (known.foreign and claim.isascii()):
            continue
        judged += 1
        if judged <= _CLAIMS and _unheard(claim, claim is quoted, known, lexicon):
            found[sentence] = None
    return list(found)


def _unheard(claim: str, quoted: bool, known: Known, lexicon: Lexicon) -> bool:
    terms = lexicon.terms(claim)
    typed, planned, asked = known.shares(terms)
    if len(terms) >= 2 <= asked and not planned:
        return True
    if quoted and typed < _TYPED_QUOTED and not known.has_run(claim):
        return asked >= _LEAST
    return asked >= _LEAST and typed < _TYPED and planned < _KNOWN


def _quoted(low: str) -> str:
    """What stands between the first quotation mark and the last."""
    marks = [low.find(mark) for mark in _QUOTES if mark in low]
    return low[min(marks) + 1 : max(low.rfind(mark) for mark in _QUOTES)] if marks else ""


def _claim(bare: str, quoted: str) -> str:
    """What a person is said to have said, or what is ordered in nobody's name."""
    if "user" in bare or "human" in bare:
        words = words_of(bare)
        for at, word in enumerate(words):
            if word in _SPEAKERS:
                for verb in range(at + 1, min(at + 4, len(words))):
                    if words[verb] in _SAYS:
                        return quoted or " ".join(words[verb + 1 :])
        if words[0] in _SPEAKERS and ": " in bare[:10]:
            return quoted or bare.partition(": ")[2]
    if bare.startswith(_ORDERS) and any(risk in bare for risk in _RISKS):
        return bare
    return ""
