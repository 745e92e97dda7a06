"""Whether two lines contradict each other. Words alone decide, so only what is plain counts: the same thing
once wanted and once forbidden, or the same sentence with another value in it."""

from __future__ import annotations

import re
from typing import NamedTuple

_NOT = re.compile(
    r"\b(?:never|don't|do not|must not|mustn't|should not|shouldn't|may not|avoid|forbidden|no)\b", re.I
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


class Claim(NamedTuple):
    """A line as it can be compared. `wants`: None where it neither wants nor forbids."""

    text: str
    wants: bool | None
    about: frozenset[str]
    values: tuple[str, ...]
    key: tuple[str, str] | None


def claim(line: str) -> Claim:
    text = _MARK.sub("", line[:_MOST]).strip()
    forbids, wants = _NOT.search(text), _YES.search(text)
    values = tuple(_VALUE.findall(text))
    bare = _VALUE.sub(" ", _NOT.sub(" ", _YES.sub(" ", text)))
    about = frozenset(word.lower().rstrip(".") for word in _WORD.findall(bare)) - _STOP
    keyed = _KEY.match(text)
    key = (" ".join(keyed[1].lower().split()), keyed[2].strip(" .`*\"'").lower()) if keyed else None
    return Claim(text, False if forbids else True if wants else None, about, values, key)


def conflict(one: Claim, other: Claim) -> str:
    """Why they cannot both be right; "" where they can."""
    if one.key and other.key and one.key[0] == other.key[0]:
        return "" if one.key[1] == other.key[1] else "the same key has another value"
    shared = len(one.about & other.about)
    if shared < _LEAST or shared < _SAME * len(one.about | other.about):
        return ""
    if one.wants is not None and other.wants is not None and one.wants != other.wants:
        return "the same is once wanted and once forbidden" if one.values == other.values else ""
    if one.wants == other.wants and one.values and other.values and one.values != other.values:
        is_sentence = shared == len(one.about | other.about) and len(one.values) == len(other.values)
        return "the same sentence has another value" if is_sentence else ""
    return ""
