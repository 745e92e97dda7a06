"""Whether two lines contradict each other. Words alone decide, so only what is plain counts: the same thing
once wanted and once forbidden, or the same sentence with another value in it."""

from __future__ import annotations

import re
from typing import NamedTuple

_NOT = re.compile(
    r"\b(?:never|don't|do not|(?:must|should|shall|can|may) (?:not|never)|mustn't|shouldn't|can't|cannot|"
    r"avoid|forbidden|no)\b",
    re.I,
)
_YES = re.compile(r"\b(?:always|must|should|shall|required?|prefer|only)\b", re.I)
_WORD = re.compile(r"[^\W_][\w./+-]*", re.UNICODE)
_VALUE = re.compile(r"`[^`]+`|(?<![\w.])\d[\w.:%-]*")
_MARK = re.compile(r"\((?:CRITICAL|ENFORCED)\)")
_KEY = re.compile(r"^\W*([\w][\w .\-/]{1,48}?)\s*(?::|=|→)\s+(\S.{0,79})$")
_STOP = frozenset(
    "a an and any are as at be by for from in is it of on or our please the this to use we with you".split()
)
#: So many words make a sentence that says something; and so much of two is the same.
_LEAST, _SAME, _MOST = 2, 0.8, 400
#: What forbids at the beginning of a line is an order; "no" may be a heading or a fact.
_OPENS = re.compile(
    r"\W*(?:(?:you|we)\s+)?(?:never|don't|do not|(?:must|should|shall)(?:n't| not| never))\b", re.I
)
_NUMBER = re.compile(r"^\d+[.)]\s+")


class Claim(NamedTuple):
    """A line as it can be compared. `wants`: None where it neither wants nor forbids in so many words ("Use
    tabs"); `words`: all of them in order, but those that do; `opens`: it begins by forbidding."""

    text: str
    wants: bool | None
    about: frozenset[str]
    words: tuple[str, ...]
    opens: bool
    values: tuple[str, ...]
    key: tuple[str, str] | None


def claim(line: str) -> Claim:
    text = _NUMBER.sub("", _MARK.sub("", line[:_MOST]).strip())
    forbids, wants = _NOT.search(text), _YES.search(text)
    values = tuple(_VALUE.findall(text))
    bare = _YES.sub(" ", _NOT.sub(" ", text))
    words = tuple(word.lower().rstrip(".") for word in _WORD.findall(bare))
    words = words[1:] if words[:1] in (("you",), ("we",)) else words
    about = frozenset(word.lower().rstrip(".") for word in _WORD.findall(_VALUE.sub(" ", bare))) - _STOP
    keyed = _KEY.match(text)
    key = (" ".join(keyed[1].lower().split()), keyed[2].strip(" .`*\"'").lower()) if keyed else None
    opens = bool(_OPENS.match(text))
    return Claim(text, False if forbids else True if wants else None, about, words, opens, values, key)


def conflict(one: Claim, other: Claim) -> str:
    """Why they cannot both be right; "" where they can."""
    if one.key and other.key and one.key[0] == other.key[0]:
        return "" if one.key[1] == other.key[1] else "the same key has another value"
    if len(one.words) >= _LEAST and one.words == other.words and _is_turned(one, other):
        return "the same is once wanted and once forbidden"
    shared = len(one.about & other.about)
    if shared < _LEAST or shared < _SAME * len(one.about | other.about):
        return ""
    if one.wants != other.wants:
        is_turned = one.values == other.values and _is_turned(one, other)
        return "the same is once wanted and once forbidden" if is_turned else ""
    if one.values and other.values and one.values != other.values:
        is_sentence = shared == len(one.about | other.about) and len(one.values) == len(other.values)
        return "the same sentence has another value" if is_sentence else ""
    return ""


def _is_turned(one: Claim, other: Claim) -> bool:
    """Whether one forbids what the other wants. What neither wants nor forbids in so many words wants it if
    it begins, as an order does, with what the other forbids at once."""
    if one.wants is None or other.wants is None:
        order, ban = (one, other) if one.wants is None else (other, one)
        begins_alike = order.words[:1] == ban.words[:1]
        return ban.wants is False and ban.opens and begins_alike
    return one.wants != other.wants
