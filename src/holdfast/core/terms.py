"""What a text says, as terms that can be found again in another text, and where they stand there.

A term is a word (its stem), or an identifier or value: a path, a symbol, a flag, a number, a commit. No
model and no grammar: inflection is cut off, `initial_attribution`, `InitialAttribution` and
`--initial-attribution` are one, a path is its last two parts, and scripts that write without spaces are
taken two letters at a time.
"""

#: How much each kind of term says about what an item is about. Chosen by measurement (bench/receipt.py).
SMALL, WORD, VALUE, PATH = range(4)
WEIGHTS = (0.3, 1.0, 3.0, 3.0)
#: What an identifier is worth that is missing, when the words it is made of are there.
_LOOSE = 0.5
#: Words to a segment. A place in a text is a segment; what is close together is in the same two.
SEGMENT = 24
_WIDEST = 6
#: An item is not asked for more than this, however long it is.
_ENOUGH = 15.0

_STOP = frozenset(
    """a about actually additional after afterwards again ago all almost along already also although
    always am among an and another any anyway are around as at away back be because been before
    began begin being both but by came can cant come could currently did different do does doesnt
    doing done dont down each eg either else enough especially etc even ever every everything
    exactly far few finally first following for former from full fully further generally get gets
    give given gives giving go goes going gone got had has have having he her here him his how
    however i id ie if im in including indeed inside instead into is it its itself ive just know
    known last later latest least less let lets like likely little live lives long look looks made
    main mainly make makes many may maybe me mean means meant might more most mostly much must my
    namely near nearly need needs neither never new next no nor not nothing now number of off
    often ok okay on once one ones only onto or other otherwise our out outside over own part past
    per perhaps place please plus possible quite rather really recent remains same second see seem
    seems seen several shall she should show shown shows side simply since so some sort start
    started still such sure take taken takes tell than that the their them then there these they
    thing things think this those though three through thus till to together too toward try twice
    two under unless until up upon us use used user users uses using very via vs want wanted wants
    was way we well went were what when where whether which while who whom why will with within
    without wont work worked working works would yes yet you your""".split()
)
_APART = '()[]{}<>;"`*|=!?…“”„«»→←⇒·•—–−×≤≥≈、。，：；！？「」'
_TABLE = str.maketrans({**dict.fromkeys(_APART, " "), "'": ""})
#: Inflection, by its last letter.
_ENDS = {
    "s": ("ations", "ments", "ings", "ies", "es", "s"),
    "d": ("ied", "ed"),
    "g": ("ing",),
    "n": ("ation",),
    "t": ("ment",),
    "y": ("ingly", "edly", "ly"),
}
_STEM = 6
_HEX = frozenset("0123456789abcdef")
_EDGE = ".,:-/#~@+&\\_$%^"
_UNIT = "abcdefghijklmnopqrstuvwxyzµ%"

TYPE_CHECKING = False
if TYPE_CHECKING:
    #: kind, key, and the words an identifier is made of
    Term = tuple[int, str, tuple[str, ...]]


class Lexicon:
    """Tokens and the terms they make, remembered: most of them come back."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[Term, ...]] = {}

    def of(self, token: str) -> "tuple[Term, ...]":
        known = self._known.get(token)
        if known is None:
            known = self._known[token] = tuple(_terms(token))
        return known

    def terms(self, text: str) -> "dict[str, Term]":
        return self.made_of(tokens(text))

    def made_of(self, words: list[str]) -> "dict[str, Term]":
        """The distinct terms, in the order of the text."""
        known, found = self._known, {}
        for token in words:
            for term in known.get(token) or self.of(token):
                found[term[1]] = term
        return found


def tokens(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_TABLE).split()
    # Beyond ASCII `translate` looks every letter up; a few dozen searches are faster.
    for sign in _APART:
        if sign in text:
            text = text.replace(sign, " ")
    return text.replace("'", "").replace("’", "").split()


def _terms(token: str) -> "list[Term]":
    bare = token.strip(_EDGE)
    if not bare:
        return []
    if bare.isalpha() and token[:2] != "--" and (bare.islower() or bare[1:].islower() or bare.isupper()):
        return _words(bare.lower())
    for mark in ",:":
        if mark in bare:
            return _joined(bare, mark)
    if not bare.isascii() and any(map(_unspaced, bare)):
        return _pairs(bare)
    low = bare.lower()
    if low[0].isdigit() or (low[0] == "v" and low[1:2].isdigit()):
        digits = low.lstrip("v").rstrip(_UNIT)
        if digits.replace(".", "").isdecimal() and len(low) - len(digits) <= 4:
            return [(SMALL if len(low) < 2 else VALUE, digits, ())]
        parts = digits.split("-")
        if len(parts) == 2 and parts[0].isdecimal() and parts[1].isdecimal():
            return [(VALUE, part, ()) for part in parts]
    if 7 <= len(low) <= 40 and _HEX.issuperset(low) and not low.isalpha():
        return [(VALUE, low[:7], ())]
    parts = [part for part in low.split("/") if part.strip(".")]
    if len(parts) > 1 and ("." in parts[-1][1:] or len(parts) > 2 or token[0] in "/~."):
        above = ["/".join(parts[at : at + 2]) for at in range(len(parts) - 2)]
        return [(PATH, "/".join(parts[-2:]), (*_made_of(parts[-1]), *above))]
    return _symbol(token, bare)


def _words(low: str) -> "list[Term]":
    if low.isascii():
        return [] if low in _STOP or len(low) < 2 else [(WORD, stem(low), ())]
    return _pairs(low) if any(map(_unspaced, low)) else [(WORD, stem(low), ())]


def _joined(bare: str, mark: str) -> "list[Term]":
    """`50,000` is a number, `file.py:12` the file (lines move), `key:value` both."""
    if mark == "," and bare.replace(",", "").isdecimal():
        return [(VALUE, bare.replace(",", ""), ())]
    found: list[Term] = []
    for part in bare.split(mark):
        named = found and found[-1][0] >= VALUE and not found[-1][1].isdecimal()
        if not (mark == ":" and named and part.isdecimal()):
            found += _terms(part)
    return found


def _symbol(token: str, bare: str) -> "list[Term]":
    flag = token[:2] == "--" or (token[0] == "/" and token.count("/") == 1)
    parts = _parts(bare)
    plain = bare.replace("-", "").isalpha()
    if not parts or (plain and not flag and len(parts) <= 2 and bare[1:].islower()):
        return [(WORD, word, ()) for word in _made_of(bare)]  # an ordinary word, or two with a hyphen
    key = "".join(parts)
    if key.isdecimal() and len(key) < 2:
        return [(SMALL, key, ())]
    made_of = _made_of(bare)
    for mark in "./":  # `client.send_all` and `read/send_all` also name `send_all`
        if mark in bare:
            made_of += tuple(
                "".join(_parts(name)) for name in bare.split(mark) if "_" in name or _mixed(name)
            )
    return [(VALUE, f"--{key}" if flag and len(parts) == 1 else key, made_of)]


def _mixed(name: str) -> bool:
    return not name[1:].islower() and not name.isupper()


def _parts(name: str) -> list[str]:
    """The words in a name, in lower case: at every sign, and where lower case turns into upper."""
    low = name.lower()
    if low != name and not name.isupper():
        low, before = "", True
        for letter in name:
            upper = letter.isupper()
            low += f" {letter.lower()}" if upper and not before else letter.lower()
            before = upper
    low = low.replace("_", " ").replace("-", " ").replace(".", " ").replace("/", " ")
    if not low.replace(" ", "").isalnum():
        low = "".join(letter if letter.isalnum() else " " for letter in low)
    return low.split()


def _made_of(name: str) -> tuple[str, ...]:
    return tuple(
        stem(part) for part in _parts(name) if len(part) > 1 and part not in _STOP and not part.isdecimal()
    )


def stem(word: str) -> str:
    """Lower-case word without its inflection, roughly: the same for `commit` and `committed`."""
    if len(word) > 4:
        for end in _ENDS.get(word[-1], ()):
            if word.endswith(end) and len(word) - len(end) >= 3:
                word = word[: -len(end)]
                break
        if len(word) > 3 and word[-1] in "ey":
            word = word[:-1]
        if len(word) > 3 and word[-1] == word[-2]:
            word = word[:-1]
    return word[:_STEM]


def _unspaced(letter: str) -> bool:
    """Of a script that puts no spaces between words."""
    if letter < "\u0e00" or "\u10a0" <= letter < "\u1780" or "\u1800" <= letter < "\u2e80":
        return False
    return letter.isalnum()


def _pairs(token: str) -> "list[Term]":
    found: list[Term] = []
    run = rest = ""
    for letter in token + " ":
        if _unspaced(letter):
            run += letter
            continue
        if run:
            found += [(WORD, run[i : i + 2], ()) for i in range(max(1, len(run) - 1))]
            run, rest = "", rest + " "
        rest += letter
    for other in rest.split():
        found += _terms(other)
    return found


class Places:
    """A text by its terms: in which segments of it does each stand?"""

    __slots__ = ("segments", "where")

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        where: dict[str, list[int]] = {}
        at, of = -1, lexicon.of
        for at, token in enumerate(tokens(text)):
            segment = at // SEGMENT
            for kind, key, made_of in of(token):
                found = where.get(key)
                if found is None:
                    where[key] = [segment]
                elif found[-1] != segment:
                    found.append(segment)
                if kind >= VALUE:
                    for each in (*made_of, f"/{_file(key)}") if kind == PATH else made_of:
                        found = where.setdefault(each, [segment])
                        if found[-1] != segment:
                            found.append(segment)
        self.where = where
        self.segments = at // SEGMENT + 1

    def __contains__(self, term: "Term") -> bool:
        return bool(self._found(term))

    def _found(self, term: "Term") -> list[int] | None:
        found = self.where.get(term[1])
        if found is None and term[0] == PATH:
            return self.where.get(_file(term[1]))  # named without its folder
        if found is None and term[0] == VALUE:
            return self.where.get(f"/{term[1]}")
        return found

    def best(self, terms: "dict[str, Term]", length: int) -> tuple[float, int]:
        """How much of the terms stands close together, at best, 0 to 1, and where that place begins.
        `length` is the item's, in tokens: what takes many words to say may be spread as wide."""
        wide = min(_WIDEST, max(2, -(-length // SEGMENT)))
        scores = [0.0] * (self.segments + wide)
        asked = 0.0
        for term in terms.values():
            weight = WEIGHTS[term[0]]
            found = self._found(term)
            if found is not None:
                weight /= _COMMON[min(len(found), 63)]
                _add(scores, found, weight, wide)
            elif term[2]:
                for part in term[2]:
                    loose = self.where.get(part)
                    if loose:
                        _add(scores, loose, _LOOSE * weight / len(term[2]), wide)
            asked += weight
        most = max(scores)
        return (min(1.0, most / min(asked, _ENOUGH)) if asked else 0.0), max(
            0, scores.index(most) - wide + 1
        )


def _add(scores: list[float], found: list[int], weight: float, wide: int) -> None:
    done = -1
    for segment in found:
        for end in range(segment if segment > done else done + 1, segment + wide):
            scores[end] += weight
        done = segment + wide - 1


def _file(path: str) -> str:
    return "".join(_parts(path.rpartition("/")[2]))


def _common() -> list[float]:
    """1 + 0.3 ln n, without `math`: a term that stands everywhere says little about any place."""
    found, logarithm = [1.0, 1.0], 0.0
    for n in range(2, 64):
        logarithm += 1 / (n - 0.5)
        found.append(1 + 0.3 * logarithm)
    return found


_COMMON = _common()
