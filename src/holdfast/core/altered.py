"""Where a summary says an item again with something changed: a number, a unit, a name, two of them swapped,
a negation, an opposite.

Every number, name and opposite of an item stands in a slot: the words before it and behind it. A sentence
that is about the same and has something else of the same kind in that slot says otherwise, unless a
sentence as near to the item agrees with it, or what was typed or noted explains the difference.
"""

from holdfast.core.terms import stem

#: Words of a number, so that `three` is 3.
_NUMBERS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for number, word in enumerate(words.split())
} | {
    "twice": "2",
    "thrice": "3",
    "dozen": "12",
    "hundred": "100",
    "fifteen": "15",
    "twenty": "20",
    "thirty": "30",
}
#: How much one of a unit is, in the smallest of its kind (but for sizes), after the plural was taken off.
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "msec"), ("time", 1)),
    **dict.fromkeys(("s", "sec", "second"), ("time", 1000)),
    **dict.fromkeys(("min", "minute"), ("time", 60_000)),
    **dict.fromkeys(("h", "hr", "hour"), ("time", 3_600_000)),
    **dict.fromkeys(("d", "day"), ("time", 86_400_000)),
    **dict.fromkeys(("week",), ("time", 604_800_000)),
    **dict.fromkeys(("b", "byte"), ("b", 1)),
    **dict.fromkeys(("kb", "kib", "kilobyte"), ("kb", 1)),
    **dict.fromkeys(("mb", "mib", "megabyte"), ("mb", 1)),
    **dict.fromkeys(("gb", "gib", "gigabyte"), ("gb", 1)),
    **dict.fromkeys(("tb", "terabyte"), ("tb", 1)),
}
#: Sizes go up by 1000 or by 1024, as who writes them likes it: they are compared in the units they have.
_SIZES, _BASES = {unit: power for power, unit in enumerate("b kb mb gb tb".split())}, (1000, 1024)
#: A number of more digits is a name: nobody counts so far.
_LONGEST_NUMBER = 18
_MINUS = ("-", "−")
_OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in """before after|always never|always sometimes|add remove|enable disable|enabled disabled|on off
    first last|with without|public private|true false|required optional|mandatory optional|pass fail
    passes fails|passed failed|open closed|open close|old new|keep drop|keep remove|keep delete
    left right|local remote|local global|tabs spaces|tab space|include exclude|included excluded
    allow forbid|allowed forbidden|allow deny|accept reject|accepted rejected|must may|must can
    minimum maximum|min max|above below|over under|up down|increase decrease|increased decreased
    more less|more fewer|sync async|synchronous asynchronous|read write|start stop|upper lower
    ascending descending|client server|user agent|input output|success failure|succeeds fails
    start end|begin end|default custom|lowercase uppercase|horizontal vertical|top bottom|front back
    frontend backend|yes no|http https|merge rebase|squash merge|production staging
    production development|main master|internal external|manual automatic|manually automatically
    inside outside|encode decode|encrypt decrypt|import export|push pull|upgrade downgrade
    stable unstable|valid invalid|visible hidden|show hide|static dynamic|strict lenient
    parent child|source target|send receive|lock unlock|install uninstall|mount unmount
    attach detach|connect disconnect|subscribe unsubscribe|immer nie|vor nach|mit ohne|siempre nunca
    antes después|con sin|之前 之后|启用 禁用|允许 禁止""".replace("\n", "|").split("|"):
    _one, _other = _pair.split()
    _OPPOSITES[_one] = _OPPOSITES.get(_one, frozenset()) | {_other}
    _OPPOSITES[_other] = _OPPOSITES.get(_other, frozenset()) | {_one}
_NOT = "not"
_NEGATORS = frozenset(
    "not never no none neither nor dont doesnt didnt isnt arent wasnt werent cant cannot wont shouldnt "
    "mustnt hasnt havent "
    "nicht nie niemals kein keine keinen nunca jamás tampoco 不 别 勿 未 没 無 无".split()
)
_FORBIDDING = ("不要", "不能", "不得", "不可", "请勿", "切勿", "禁止")
_DROPPED = frozenset("do does did longer anymore the a an".split())
_SMALL = frozenset(
    "is are was were be to of in on at for and or by as it its this that with from into".split()
)
_APART = str.maketrans(
    dict.fromkeys('"*()[]{}<>|;!?=→“”„«»「」、。，：；！？（）', " ") | {"'": "", "’": "", "`": " "}
)
#: What the words around a slot count that agree: words that say something, and others (and an end).
_SAYS, _LITTLE, _ENOUGH, _EXACTLY = 1.0, 0.5, 1.5, 2.5
#: How much of the shorter of item and sentence has to be in the other.
_SAME = 0.6
#: How much of what an item is about, its values apart, for another value to be one of the same.
_SAME_SUBJECT = 0.6
#: What is numbered, not set; and what only counts how far the work is.
_COUNTED = frozenset(
    map(
        stem,
        """line lines step phase task item section turn part round issue pr pull chapter option entry
        case test tests page row column scenario group commit commits file files checkpoint
        session finding comment thread example sprint level tier batch iteration job total passed
        failed about around""".split(),
    )
)
#: Says who does it where what it is done to stands first.
_BY = frozenset(("by", "von", "por", "被"))
#: Forbid without a negation; and say the opposite, or leave out.
_REFUSES = frozenset(
    map(stem, "avoid avoided forbidden forbid forbids prohibited refuse refused reject rejected".split())
) | frozenset("verboten vermeiden prohibido evitar".split())
_FORBIDS = _REFUSES | frozenset(
    map(
        stem,
        """without unless instead rather alone unchanged untouched except stop stays limits excluded exclude
        skip skipped leave ohne sin""".split(),
    )
)
#: Before a value that was another one's place: `moved from 8123 to 9123`.
_BEFORE = frozenset("from was previously formerly old originally instead von war desde era 从".split())
#: Words of which an order consists, for that to be said.
_LEAST_FORBIDDEN = 3
#: How much of the item, for plain words that change places; then it is nearly the same sentence.
_NEARLY = 0.85
#: Words of an item whose only number may stand beside other words.
_SHORT = 4
#: How much of the item, for a word to decide.
_SAME_WORDS = 0.6
_MOST_WORDS, _MOST_SENTENCES = 120, 4
#: Of a commit the first seven letters name it.
_HEX, _HASH, _LONGEST_HASH = frozenset("0123456789abcdef"), 7, 40
#: Letters behind a number that may be a unit nobody listed.
_UNIT = 2

NUMBER, NAME, WORD, UNIT = range(4)


class Words:
    """A sentence in words that can be compared, and of each what kind it is."""

    __slots__ = ("asks", "content", "keys", "kinds")

    def __init__(self, text: str, known: "dict[str, list[tuple[str, int]]] | None" = None) -> None:
        self.asks = "?" in text or "？" in text
        self.keys: list[str] = []
        self.kinds: list[int] = []
        known = {} if known is None else known
        for token in _split(text)[:_MOST_WORDS]:
            made = known.get(token)
            if made is None:
                made = known[token] = _made(token)
            for key, kind in made:
                self._add(key, kind)
        self.content = {
            key
            for key, kind in zip(self.keys, self.kinds, strict=True)
            if kind != WORD or key not in _SMALL
        } - {_NOT}

    def _add(self, key: str, kind: int) -> None:
        """A unit behind a number is a part of that: 2 s are 2000 ms."""
        if kind == UNIT:
            if self.kinds and self.kinds[-1] == NUMBER and self.keys[-1].removeprefix("-").isdecimal():
                what, many = _UNITS[key]
                self.keys[-1] = f"{int(self.keys[-1]) * many} {what}"
                return
            kind = WORD
        self.keys.append(key)
        self.kinds.append(kind)

    @property
    def subjects(self) -> int:
        """How many words say what it is about: those that are no number and no name."""
        return max(1, len(self.content - self.values))

    @property
    def values(self) -> set[str]:
        """Its numbers and names."""
        return {key for key, kind in zip(self.keys, self.kinds, strict=True) if kind != WORD}

    def only(self, kind: int, other: "Words") -> list[int]:
        """Where those of a kind are that the other has not."""
        there = set(other.keys)
        return [at for at, key in enumerate(self.keys) if self.kinds[at] == kind and key not in there]

    def beside(self, at: int) -> set[str]:
        """The nearest words on both sides that say something."""
        found = set()
        for places in (range(at - 1, -1, -1), range(at + 1, len(self.keys))):
            found |= set([self.keys[place] for place in places if self.keys[place] in self.content][:1])
        return found

    def once(self) -> dict[str, int]:
        """What says something and stands there once: where."""
        return {
            key: at for at, key in enumerate(self.keys) if key in self.content and self.keys.count(key) == 1
        }

    def around(self, at: int) -> list[str]:
        """Two before and two behind; beyond an end there is nothing."""
        keys = self.keys
        return [keys[place] if 0 <= place < len(keys) else "" for place in (at - 2, at - 1, at + 1, at + 2)]


def _made(token: str) -> list[tuple[str, int]]:
    """Keys of one token: none of what says nothing, two of a number with its unit."""
    plain = token.lower().strip(".,:-−_/~$#@%&+")
    if not plain or plain in _DROPPED:
        return []
    if plain in _NEGATORS:
        return [(_NOT, WORD)]
    if plain in _NUMBERS:
        return [(_NUMBERS[plain], NUMBER)]
    if (
        _HASH <= len(plain) <= _LONGEST_HASH
        and _HEX.issuperset(plain)
        and not plain.isalpha()
        and not plain.isdecimal()
    ):
        return [(plain[:_HASH], NAME)]
    if plain[0].isdigit() or (plain[0] == "v" and plain[1:2].isdigit()):
        return _number(plain, "-" if token.startswith(_MINUS) and token[1:2].isdigit() else "")
    unit = plain if plain in _UNITS else plain.rstrip("s")
    if unit in _UNITS:
        return [(unit, UNIT)]
    if _is_name(token.strip(".,:")):
        return [(plain, NAME)]
    return [(part if part in _OPPOSITES else stem(part), WORD) for part in plain.split("-") if part]


def _number(plain: str, sign: str) -> list[tuple[str, int]]:
    plain = plain.removeprefix("v")
    digits = plain.rstrip("abcdefghijklmnopqrstuvwxyzµ")
    unit = plain[len(digits) :]
    if unit and unit not in _UNITS and len(unit) > _UNIT:  # a name that begins with a figure
        return [(plain, NAME)]
    digits = digits.replace(",", "").rstrip(".")
    number = (sign + digits, NUMBER if len(digits) <= _LONGEST_NUMBER else NAME)
    return [number, (unit, UNIT if unit in _UNITS else WORD)] if unit else [number]


def _split(text: str) -> list[str]:
    found: list[str] = []
    if not text.isascii():
        for word in _FORBIDDING:
            text = text.replace(word, "不")
    for token in text.translate(_APART).split():
        if token.count(":") == 1 and "//" not in token and not token.replace(":", "").isdecimal():
            found += token.split(":")
        elif any("\u3400" <= letter <= "\u9fff" for letter in token):
            found += _letters(token)
        elif "," in token.strip(",") and not token.replace(",", "").replace(".", "").isdecimal():
            found += token.split(",")
        else:
            found.append(token)
    return found


def _letters(token: str) -> list[str]:
    """Of a script that puts no spaces between words every letter; the rest of it whole."""
    spaced = "".join(f" {letter} " if "\u3400" <= letter <= "\u9fff" else letter for letter in token)
    return spaced.split()


def _is_name(token: str) -> bool:
    """An identifier, a path, an acronym with figures: written as no word is."""
    bare = token.strip("-_/.$#@&+,:")
    if not bare or not bare.isascii():
        return False
    if any(mark in bare for mark in "_/.") or token[:2] == "--" or any(map(str.isdigit, bare)):
        return True
    if "-" in bare:
        return len(bare.split("-")) > 2 or not bare.replace("-", "").islower()
    return not bare.islower() and not bare[1:].islower()


#: Between what is taken and what is left for it.
_INSTEAD = [
    tuple(Words(phrase).keys)
    for phrase in (
        *("instead of", "rather than", "in place of", "over", "anstelle von", "anstatt"),
        *("statt", "en lugar de", "en vez de", "em vez de", "au lieu de", "plutôt que", "invece di"),
        *("al posto di", "вместо", "而不是", "而非"),
    )
]


class Sentences:
    """The sentences of a summary, found by what is in them."""

    __slots__ = ("_known", "_where", "words")

    def __init__(self, texts: list[str]) -> None:
        self._known: dict[str, list[tuple[str, int]]] = {}
        self.words = [self.of(text) for text in texts]
        self._where: dict[str, list[int]] = {}
        for at, words in enumerate(self.words):
            for key in words.content:
                self._where.setdefault(key, []).append(at)

    def of(self, text: str) -> Words:
        return Words(text, self._known)

    def near(self, item: Words) -> list[tuple[int, int]]:
        """(how much it shares with the item, which), the nearest first."""
        shared: dict[int, int] = {}
        about = item.content
        for key in about:
            for at in self._where.get(key, ()):
                shared[at] = shared.get(at, 0) + 1
        found, enough = [], min(2, item.subjects)
        for at, much in shared.items():
            least = min(len(about), len(self.words[at].content))
            if much >= min(enough, least) and much >= _SAME * (least - 1):
                found.append((much, at))
        found.sort(key=lambda one: (-one[0], one[1]))
        return found[:_MOST_SENTENCES]


def instead(item: Words, sentences: Sentences) -> tuple[int, str, str] | None:
    """(which sentence, what it says, what the item says in its place), of sentences about the same."""
    near = sentences.near(item)
    for _, at in near:
        found = _changed(item, sentences.words[at])
        if found is None:
            continue
        said, own = found
        if not any(_agrees(item, own, sentences.words[other]) for _, other in near if other != at):
            return at, said, own
    return None


def explained(item: Words, said: str, texts: Sentences) -> bool:
    """Whether one of these texts changes the item in the same way: then it was changed, not misread."""
    for _, at in texts.near(item):
        found = _changed(item, texts.words[at])
        if found and found[0] == said:
            return True
    return False


def _agrees(item: Words, own: str, sentence: Words) -> bool:
    """Whether it says what the item says, in the same place."""
    slots = [item.around(at) for at, key in enumerate(item.keys) if key == own]
    there = [sentence.around(at) for at, key in enumerate(sentence.keys) if key == own]
    return any(_fits(one, two) >= _ENOUGH for one in slots for two in there)


def _changed(item: Words, sentence: Words) -> tuple[str, str] | None:
    """(what the sentence has, what the item has in its place). Words decide only where most of the item is
    said again."""
    places = _places(sentence)
    both, every = item.content & sentence.content, len(item.content)
    again = len(both) >= _SAME_WORDS * every
    is_nearly = len(both) >= _NEARLY * (every - 1)  # but for the one that was changed
    for at, key in enumerate(item.keys):
        kind = item.kinds[at]
        if kind == WORD and (key not in _OPPOSITES or not again):
            continue
        around = item.around(at)
        if any(_fits(around, sentence.around(place)) >= _ENOUGH for place in places.get(key, ())):
            continue
        for place in _beside(around, places, len(sentence.keys)):
            other = sentence.keys[place]
            fit = _fits(around, sentence.around(place))
            alike = fit >= _EXACTLY or kind != NAME or _form(key) == _form(other)
            if (
                fit < _ENOUGH
                or sentence.kinds[place] != kind
                or not alike
                or not _differs(key, other, kind)
            ):
                continue
            if other in item.keys:
                if _is_swapped(item, sentence, key, other):
                    return other, key
            elif not _was(sentence, places.get(key, [])) and (is_nearly or not _is_counted(item, at)):
                return other, key
    if again and (negation := _negated(item, sentence) or _negated(sentence, item)):
        return negation
    if again and (preferred := _reversed(item, sentence)):
        return preferred
    return _another(item, sentence) or _crossed(item, sentence) or _allowed(item, sentence)


def _another(item: Words, sentence: Words) -> tuple[str, str] | None:
    """The only number, or the only name of its form, that the sentence has and the item has not, for the
    only one that the item has and the sentence has not; in other words around it."""
    about = item.content - item.values
    if not about or len(about & sentence.content) < _SAME_SUBJECT * len(about):
        return None
    for kind in (NUMBER, NAME):
        mine, its = item.only(kind, sentence), sentence.only(kind, item)
        if len(mine) != 1 or len(its) != 1:
            continue
        own, other = item.keys[mine[0]], sentence.keys[its[0]]
        beside, there = item.beside(mine[0]), sentence.beside(its[0])
        if not _differs(own, other, kind) or not _COUNTED.isdisjoint(beside | there):
            continue  # as in: step 12, 41 tests
        alone = (
            kind == NUMBER
            and len(about) <= _SHORT
            and item.kinds.count(kind) == sentence.kinds.count(kind) == 1
        )
        if (kind == NUMBER or _form(own) == _form(other)) and (beside & there or alone):
            return other, own
    return None


def _reversed(item: Words, sentence: Words) -> tuple[str, str] | None:
    """What the item prefers to something is what the sentence gives up for it."""
    mine, its = _preference(item), _preference(sentence)
    if not mine or not its or item.keys.count(_NOT) != sentence.keys.count(_NOT) or sentence.asks:
        return None
    (taken, left), (takes, leaves) = mine, its
    own, other = left[0], leaves[0]
    if own in takes and own not in leaves and other in taken and other not in left:
        return other, own
    return None


def _preference(words: Words) -> tuple[list[str], list[str]] | None:
    """(what is taken, what is left for it): `use a instead of b`, `instead of b use a`."""
    for phrase in _INSTEAD:
        for at in range(len(words.keys) - len(phrase)):
            if tuple(words.keys[at : at + len(phrase)]) != phrase:
                continue
            before = [key for key in words.keys[:at] if key in words.content]
            behind = [key for key in words.keys[at + len(phrase) :] if key in words.content]
            if before and behind:
                return before, behind
            return (behind[1:], behind[:1]) if behind else None
    return None


def _crossed(item: Words, sentence: Words) -> tuple[str, str] | None:
    """Two that have changed places: `a w b v` is `b w a v`, or `v a w b` is `v b w a`."""
    both = len(item.content & sentence.content)
    is_again = both >= _NEARLY * len(item.content) and both >= _SAME * len(sentence.content)
    if both < _SAME * len(item.content):
        return None
    mine, its = item.once(), sentence.once()
    shared = [key for key in mine if key in its]
    for at, one in enumerate(shared):
        for after, two in enumerate(shared[at + 1 :], at + 1):
            first, last = its[two], its[one]
            if first >= last or _BY.intersection(sentence.keys[first:last]) - set(item.keys):
                continue
            between = [key for key in shared[at + 1 : after] if first < its[key] < last]
            before = [key for key in shared[:at] if its[key] < first]
            behind = [key for key in shared[after + 1 :] if its[key] > last]
            kind = item.kinds[mine[one]]
            if kind != item.kinds[mine[two]] or (kind == WORD and not is_again):
                continue
            if between and (before or behind):
                return two, one
    return None


def _allowed(item: Words, sentence: Words) -> tuple[str, str] | None:
    """Everything the item forbids, said without a word that forbids."""
    about = item.content - item.values
    if _NOT not in item.keys or _NOT in sentence.keys or sentence.asks or len(about) < _LEAST_FORBIDDEN:
        return None
    if not _FORBIDS.isdisjoint(sentence.keys) or not about <= sentence.content:
        return None
    return "", ""


def _was(sentence: Words, at: list[int]) -> bool:
    """Whether it is named as what it was before."""
    return any(not _BEFORE.isdisjoint(sentence.around(place)[:2]) for place in at)


def _is_counted(item: Words, at: int) -> bool:
    """Whether it is a number that is only counted: step 12, 41 tests."""
    return item.kinds[at] == NUMBER and not _COUNTED.isdisjoint(item.around(at)[1:3])


def _places(words: Words) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, key in enumerate(words.keys):
        found.setdefault(key, []).append(at)
    return found


def _is_swapped(item: Words, sentence: Words, key: str, other: str) -> bool:
    """Whether each of the two stands where the other one stood: in a list they only change places."""
    slots = [item.around(at) for at, mine in enumerate(item.keys) if mine == other]
    there = [sentence.around(at) for at, its in enumerate(sentence.keys) if its == key]
    return any(_fits(one, two) >= _ENOUGH for one in slots for two in there)


def _beside(around: list[str], places: dict[str, list[int]], length: int) -> list[int]:
    """Where the slot may be in a sentence: behind the word before it, or before the word behind it."""
    found = {at + 1 for at in places.get(around[1], ())} | {at - 1 for at in places.get(around[2], ())}
    found |= {0} if not around[1] else set()
    found |= {length - 1} if not around[2] else set()
    return sorted(at for at in found if 0 <= at < length)


def _fits(mine: list[str], other: list[str]) -> float:
    """How much of what is around two slots is the same. An end counts once."""
    worth = 0.0
    for one, two, farther in zip(mine, other, (False, True, True, False), strict=True):
        if one == two and (one or farther):
            worth += _LITTLE if one in _SMALL or not one else _SAYS
    return worth


def _differs(key: str, other: str, kind: int) -> bool:
    if kind == NUMBER:
        return key != other and (" " in key) == (" " in other) and not _is_same_size(key, other)
    if kind == WORD:
        return other in _OPPOSITES.get(key, ())
    one, two = _plain(key), _plain(other)
    if one == two or one.endswith(two) or two.endswith(one):
        return False
    return not one.startswith(two) and not two.startswith(one)  # cut short


def _is_same_size(key: str, other: str) -> bool:
    """Whether two sizes in different units are the same, by one way of counting or the other."""
    one, _, unit = key.partition(" ")
    two, _, its = other.partition(" ")
    if unit not in _SIZES or its not in _SIZES:
        return False
    return any(int(one) * base ** _SIZES[unit] == int(two) * base ** _SIZES[its] for base in _BASES)


def _form(name: str) -> tuple[bool, bool]:
    """A path, a file or member, or neither: one is not put in another's place by mistake."""
    return "/" in name, "." in name


def _plain(name: str) -> str:
    return "".join(letter for letter in name if letter.isalnum())


def _negated(one: Words, other: Words) -> tuple[str, str] | None:
    """A negation in one, where the other has none, and has fewer."""
    if one.keys.count(_NOT) <= other.keys.count(_NOT) or one.asks or other.asks:
        return None
    if not _REFUSES.isdisjoint(other.keys):
        return None
    places = _places(other)
    for at, key in enumerate(one.keys):
        if key == _NOT and _is_bare(one.around(at), other, places):
            return "", ""
    return None


def _is_bare(around: list[str], other: Words, places: dict[str, list[int]]) -> bool:
    """Whether what stands around a negation stands in another sentence without it."""
    before, behind, after = around[1:]
    for at in places.get(behind, ()) if behind else ():
        there = other.around(at)
        if _NOT in there[:2]:
            return False
        if _worth(before, there[1]) + _worth(after, there[2]) >= _SAYS:
            return True
    return False


def _worth(one: str, two: str) -> float:
    if one != two:
        return 0.0
    return _LITTLE if one in _SMALL or not one else _SAYS
