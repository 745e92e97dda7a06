"""Words to look for: of a question, and of what is kept."""

from __future__ import annotations

import re

from holdfast.core.digest import sha256_hex

_WORD = re.compile(r"[^\W_]+")
#: What says nothing by itself. `not` and its kin are among them: nobody looks for them alone.
STOP = frozenset(
    "a about above after again all also am an and any are as at be been before being below between both "
    "but by can could did do does doing done down during each few for from further get got had has have "
    "having he her here hers him his how i if in into is it its itself just let like me more most my no "
    "nor not now of off on once only or other our out over own per s same she should so some such t "
    "than that the their them then there these they this those through to too under until up us very "
    "was we were what when where which while who whom whose why will with would you your yours d ll m "
    "re ve don didn doesn isn wasn weren won wouldn couldn shouldn hasn haven hadn aren ain".split()
)
#: These turn a sentence into its opposite: texts that differ in one do not say the same.
_TURNS = frozenset(
    "no nor not never without before after only until under over off on don didn doesn".split()
)


def words(text: str) -> list[str]:
    """Every word in order, in lower case."""
    return _WORD.findall(text.lower())


def telling(text: str, most: int = 1 << 30) -> list[str]:
    """The words that say something, each once, in order; all words where none does."""
    every = words(text)
    return list(dict.fromkeys(word for word in every if word not in STOP) or dict.fromkeys(every))[:most]


def shape(text: str) -> str:
    """The same for texts that say the same: whatever their case, points and small words."""
    kept = [word for word in words(text) if word not in STOP or word in _TURNS]
    return sha256_hex(" ".join(kept).encode("utf-8", "replace"))[:24] if kept else ""


def storable(text: str) -> str:
    """A path may hold bytes that are no text: as text that a database takes, the same each time."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def key(*parts: object) -> str:
    """A uid made from what something is."""
    return sha256_hex("\0".join(map(str, parts)).encode("utf-8", "replace"))[:24]
