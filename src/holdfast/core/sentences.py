"""What one sentence is: an order that stays, a choice that was made, a proposal, a question, a reason.

Words alone decide; where a sentence is not clearly one of these it is none.
"""

from holdfast.core import phrases
from holdfast.core.cues import terms_of
from holdfast.core.units import sentences_of

_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"', "\u00a0": " "})
_SIGNS = '.,;:!?()"—–*…，。；：！？、（）「」《》¿¡'
_APART = str.maketrans({sign: f" {sign} " for sign in _SIGNS})
_QUESTION, _COLON = ("?", "？", "؟"), (":", "：")
#: Where another clause of a sentence may begin.
_BETWEEN = (
    *(" , ", " ; ", " : ", " — ", " – ", " - ", " . ", " ! ", "，", "；", "。"),
    *(" and ", " but ", " und ", " et ", " y ", " e ", " и "),
)
#: How an order ends in languages in which the verb comes last.
_ORDERS_END = ("ないこと", "すること", "してほしい", "하세요")
#: Of these signs code and output are full.
_ODD, _MOST_ODD, _FOR_ONE_ODD = frozenset("{}<>=|\\^~;[]$_"), 4, 60
#: Of two orders, what they have in common: enough to be about the same, or to say the same.
_SHARED, _ALIKE = 0.5, 0.55
#: So much of what a decision did not take was chosen by the one that it overturns.
_GIVEN_UP = 0.6
_LONGEST_ANSWER, _LONGEST_YES = 200, 30
_LEAST_WORDS = 4
#: Shorter than this is a number or an initial, with its full stop.
_SHORTEST = 3


def parts_of(words: str) -> list[str]:
    """The sentences, the shortest too."""
    return sentences_of(words, _SHORTEST)


def spaced(sentence: str) -> str:
    """Lower case, every word and sign between blanks, so that a phrase can be found as words."""
    return f" {' '.join(sentence.translate(_APOSTROPHES).lower().translate(_APART).split())} "


#: Of each table of phrases: those that begin with a whole word by that word, and the others.
_BY_WORD: "dict[int, tuple[dict[str, list[str]], list[str]]]" = {}


def _has(said: str, known: tuple[str, ...]) -> bool:
    """Whether one of these phrases stands there. A table has hundreds, and a checkpoint thousands of
    sentences: only those are looked for whose first word stands there."""
    by_word, rest = _BY_WORD.get(id(known)) or _indexed(known)
    for word in by_word.keys() & said.split():
        if any(phrase in said for phrase in by_word[word]):
            return True
    return any(phrase in said for phrase in rest)


def _indexed(known: tuple[str, ...]) -> "tuple[dict[str, list[str]], list[str]]":
    by_word: dict[str, list[str]] = {}
    rest: list[str] = []
    for phrase in known:
        words = phrase.split()
        if phrase[:1] == " " and (len(words) > 1 or phrase[-1:] == " "):
            by_word.setdefault(words[0], []).append(phrase)
        else:
            rest.append(phrase)
    _BY_WORD[id(known)] = by_word, rest
    return by_word, rest


def is_question(sentence: str) -> bool:
    """A question, or an offer that waits for an answer."""
    return sentence.rstrip(" )*\"'_`").endswith(_QUESTION) or _has(spaced(sentence), phrases.ASKS)


def _clauses(said: str) -> list[str]:
    """What may begin with a verb: the sentence, and what follows a comma or a joint."""
    parts = [said]
    for sign in _BETWEEN:
        parts = [f" {piece.strip()} " for part in parts for piece in part.split(sign)]
    found = []
    for part in parts:
        while joint := next((one for one in phrases.JOINTS if part.startswith(one) and part != one), ""):
            part = " " + part[len(joint) :].lstrip()
        found.append(part)
    return found


# What a person orders


def is_order(sentence: str) -> bool:
    """Whether a person's sentence says how the work is to be done from now on, not what to do next."""
    if is_question(sentence) or _is_code(sentence):
        return False
    said = spaced(sentence)
    if _has(said, phrases.TELLS) and not _has(said, phrases.ORDERS_ME):
        return False
    if _has(said, phrases.LASTING) or said.replace("。", "").strip().endswith(_ORDERS_END):
        return True
    clauses = _clauses(said)
    return clauses[0].startswith(phrases.RULES) or any(one.startswith(phrases.FORBIDS) for one in clauses)


def _is_code(sentence: str) -> bool:
    odd = sum(sign in _ODD for sign in sentence)
    return odd > _MOST_ODD + len(sentence) // _FOR_ONE_ODD


class Demand:
    """What is compared of an order, found once: it is held against many others."""

    __slots__ = ("about", "negates", "numbers", "takes_back")

    def __init__(self, sentence: str) -> None:
        said = spaced(sentence)
        self.about = _about(sentence)
        self.numbers = {word for word in self.about if word[:1].isdecimal()}
        self.negates = _has(said, phrases.NEGATES)
        self.takes_back = _has(said, phrases.TAKES_BACK)


def replaces(later: Demand, earlier: Demand) -> bool:
    """Whether an order takes another back: it says so, or it says the same of other values."""
    new, old = later.about, earlier.about
    shared = len(new & old)
    enough = shared >= _SHARED * len(old) and (shared > 1 or len(old) == 1)
    if earlier.takes_back:  # two of one form have its words in common, whatever they are about
        enough = enough and shared > _SHARED * len(old)
    if later.takes_back and enough:
        return True
    ours, theirs = later.numbers, earlier.numbers
    if ours and theirs and not ours & theirs:
        return new - ours == old - theirs and len(new) > len(ours)
    return later.negates != earlier.negates and bool(shared) and shared >= _ALIKE * len(new | old)


def _about(sentence: str) -> set[str]:
    names, topics = terms_of(sentence.lower())
    return {word for word in (*names, *topics) if word not in phrases.FRAME}


# What was decided


def is_settled(sentence: str) -> bool:
    """Whether it says a choice that was made: by a word for that, or by what was done in place of what."""
    if is_question(sentence) or sentence.rstrip().endswith(_COLON) or sentence.startswith((">", "|")):
        return False
    said = spaced(sentence)
    if _has(said, phrases.OPEN) or _has(said, phrases.STATES):
        return False
    if _has(said, phrases.CHOSEN) or said.startswith(phrases.CHOSEN_FIRST):
        return True
    if _has(said, phrases.ROUTINE):
        return False
    if _has(said, phrases.CONTRAST):
        return _acts(said) or _has(said, phrases.MAKES_WIDE)
    return _has(said, phrases.INSTEAD) and _acts(said, alone=False)


def _acts(said: str, alone: bool = True) -> bool:
    """Whether somebody does something to the work in it: `I'll use`, `so we store`, or (`alone`) it begins
    with what is done: `Kept`."""
    for at, clause in enumerate(_clauses(said)):
        who = next((one for one in phrases.WHO if clause.startswith(one)), "")
        words = clause[len(who) :].split(None, 2)[:2] if who else clause.split(None, 2)[:2]
        if words[:1] and words[0] in phrases.ADVERBS:
            del words[0]
        if words and words[0] in phrases.MAKES and (who or (alone and not at)):
            return True
    return False


def is_reason(sentence: str) -> bool:
    """Whether it says why something is done, or what was wrong."""
    if is_question(sentence) or sentence.rstrip().endswith(_COLON):
        return False
    said = spaced(sentence)
    return _has(said, phrases.BECAUSE) or _has(said, phrases.CAUSES)


def deciding(unit: str) -> str:
    """What a unit says of a choice that was made, and why; '' if it says none."""
    parts = parts_of(unit)
    settled = [is_settled(parts[at]) or _is_reasoned(parts, at) for at in range(len(parts))]
    if True not in settled or any(_has(spaced(part), phrases.WAITS) for part in parts):
        return ""
    first = last = settled.index(True)
    before = parts[first - 1] if first else ""
    if before and not is_proposal(before) and (is_reason(before) or _has(spaced(before), phrases.CANNOT)):
        first -= 1  # why stands before it
    while last + 1 < len(parts) and (settled[last + 1] or is_reason(parts[last + 1])):
        last += 1
    said = " ".join(parts[first : last + 1])
    return said if len(said.split()) >= _LEAST_WORDS or not said.isascii() else ""


def _is_reasoned(parts: list[str], at: int) -> bool:
    """Whether somebody says what they do to the work, and why: there was something to choose."""
    said = spaced(parts[at])
    if parts[at].rstrip().endswith(_COLON) or is_question(parts[at]) or _has(said, phrases.STATES):
        return False
    if _has(said, phrases.OPEN) or _has(said, phrases.ROUTINE):
        return False
    before = spaced(parts[at - 1]) if at else ""
    forced = _has(before, phrases.CANNOT) and not _has(before, phrases.OPEN)
    return (forced or _has(said, phrases.BECAUSE)) and _acts(said, alone=False)


def is_by_user(sentence: str) -> bool:
    """Whether a summary says that the user has chosen."""
    return _has(spaced(sentence), phrases.USER_CHOSE)


def is_proposal(sentence: str) -> bool:
    return not is_question(sentence) and _has(spaced(sentence), phrases.OPEN)


def proposed(unit: str) -> str:
    """The sentence of a unit that proposes a way to do the work; '' if none does."""
    parts = parts_of(unit)
    return next((one for one in parts if not is_question(one) and _has(spaced(one), phrases.PROPOSES)), "")


def reply(words: str) -> str:
    """`yes` where that is all a person says, `no` where their words begin so; else ''."""
    said = spaced(words[:_LONGEST_ANSWER])
    if said.startswith(phrases.NO):
        return "no"
    return "yes" if said.startswith(phrases.YES) and len(words) <= _LONGEST_YES else ""


def chose(question: str, answer: str) -> bool:
    """Whether an answer settles a question that gave a choice: it picks, or speaks of the same."""
    asked, said = spaced(question), spaced(answer)
    if not is_question(question) or is_question(answer) or len(answer) > _LONGEST_ANSWER:
        return False
    if not _has(asked, phrases.OFFERS) or _has(said, phrases.SEES) or " /" in said:
        return False
    telling = len(answer.split()) >= _LEAST_WORDS or not answer.isascii()
    picks = said.startswith(phrases.PICKS) or (said.startswith((*phrases.YES, *phrases.NO)) and telling)
    return picks or len(_about(question) & _about(answer)) > 1


def picked(answer: str) -> str:
    """The name of the option that an answer takes, as `option 3` or `b`; '' where it says more itself."""
    words = spaced(answer).replace(" option ", " ").split()
    name = words[0] if words else ""
    return name if len(name) == 1 and (name.isdecimal() or name in "abcdef") else ""


class Choice:
    """What is compared of a decision, found once: the words of what it chose and of what it left."""

    __slots__ = ("chosen", "left")

    def __init__(self, sentence: str) -> None:
        said, left = spaced(sentence), _left(sentence)
        self.left = {word for words in terms_of(left) for word in words}
        kept = said.replace(left, " ") if left else said
        self.chosen = {word for words in terms_of(kept) for word in words}


def overturns(later: Choice, earlier: Choice) -> bool:
    """Whether what a later decision did not take is what an earlier one had chosen."""
    shared = len(later.left & earlier.chosen)
    return bool(shared) and shared >= _GIVEN_UP * len(later.left)


def _left(sentence: str) -> str:
    """What a sentence says was not taken, or is not so any longer."""
    said = spaced(sentence)
    for phrase in (*phrases.CONTRAST, " , not ", " no longer ", " nicht mehr ", " dropped ", " reverted "):
        _, found, after = said.partition(phrase)
        if found:
            return after
    _, found, after = said.partition(" from ")
    return after.partition(" to ")[0] if found and " to " in after else ""


def asks_again(words: str) -> bool:
    """Whether a person asks what was done and decided before."""
    return _has(spaced(words), phrases.RECAPS)


def is_announced(sentence: str) -> bool:
    """Whether it says what is about to be done."""
    return sentence.rstrip().endswith(_COLON) or spaced(sentence).startswith(phrases.ANNOUNCES)


def is_open_issue(sentence: str) -> bool:
    said = spaced(sentence)
    mended = _has(said, phrases.MENDED) or " found " in said
    return _has(said, phrases.STILL) and not mended and not is_question(sentence)
