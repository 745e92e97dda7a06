"""Words to look for: of a question, and of what is kept."""

from __future__ import annotations

import re
from itertools import pairwise

from holdfast.core.digest import sha256_hex

_WORD = re.compile(r"[^\W_]+")
#: Written without spaces: Thai and Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
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
    """Every word in order, in lower case. Where words are written without spaces, every pair of letters:
    which of them are words only a dictionary knows."""
    return _WORD.findall(_RUN.sub(_pairs, text.lower()))


def _pairs(run: re.Match[str]) -> str:
    letters = _letters(run)
    return f" {' '.join(map(''.join, pairwise(letters))) or letters} "


def _letters(run: re.Match[str]) -> str:
    """Without marks above and below, which SQLite takes for spaces."""
    return "".join(filter(str.isalnum, run[0]))


def is_unspaced(text: str) -> bool:
    return not text.isascii() and _RUN.search(text) is not None


def indexed(text: str) -> str:
    """As it is put into an index of words that are told apart by spaces. The last letter stands for itself,
    too: so each letter begins some word, and one that is looked for alone is found."""
    return _RUN.sub(lambda run: f"{_pairs(run)}{_letters(run)[-1:]} ", text)


def telling(text: str, most: int = 1 << 30) -> list[str]:
    """The words that say something, each once, in order; all words where none does."""
    every = words(text)
    return list(dict.fromkeys(word for word in every if word not in STOP) or dict.fromkeys(every))[:most]


def shape(text: str) -> str:
    """The same for texts that say the same: whatever their case, points and small words."""
    # Not by `words`: what was erased is known again by the shape it had.
    kept = [word for word in _WORD.findall(text.lower()) if word not in STOP or word in _TURNS]
    return sha256_hex(" ".join(kept).encode("utf-8", "replace"))[:24] if kept else ""


def storable(text: str) -> str:
    """A path may hold bytes that are no text: as text that a database takes, the same each time."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def key(*parts: object) -> str:
    """A uid made from what something is."""
    return sha256_hex("\0".join(map(str, parts)).encode("utf-8", "replace"))[:24]
