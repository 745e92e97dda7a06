"""Text of a session as it may stand in a file of ours: one line, nothing invisible, not too long.

What a tool printed or a stranger wrote may hold control characters that repaint a terminal, bidi marks
that show a text in another order than it is read, and tag characters that only a model sees.
"""

#: Characters to a token, about.
PER_TOKEN = 3.5
#: Control characters, format characters (zero width, bidi, soft hyphen, joiners), line separators, tags,
#: variation selectors (a row of them spells what only a model reads), lone surrogates, and the two that
#: YAML does not allow: to nothing or to a space.
_INVISIBLE = {
    **dict.fromkeys((*range(32), *range(127, 160), 8232, 8233), " "),
    **dict.fromkeys(
        (
            *(
                0xAD,
                0x34F,
                0x61C,
                0x6DD,
                0x70F,
                0x890,
                0x891,
                0x8E2,
                0x115F,
                0x1160,
                0x17B4,
                0x17B5,
                0x180E,
                0x3164,
                0xFEFF,
            ),
            *(0xFFA0, 0xFFFE, 0xFFFF, 0x110BD, 0x110CD),
            *range(0x600, 0x606),
            *range(0x180B, 0x1810),
            *range(0x200B, 0x2010),
            *range(0x202A, 0x202F),
            *range(0x2060, 0x2070),
            *range(0xFE00, 0xFE10),
            *range(0xFFF0, 0xFFFC),
            *range(0x13430, 0x13440),
            *range(0x1BCA0, 0x1BCA4),
            *range(0x1D173, 0x1D17B),
        )
    ),
}
_ASCII = bytes(range(128))
_PLANE_14 = range(0xE0000, 0xE1000)
_SURROGATES = range(0xD800, 0xE000)
#: Of all these, what `isprintable` lets through: fillers and variation selectors.
_PRINTABLE = frozenset(filter(str.isprintable, map(chr, (*_INVISIBLE, *range(0xE0100, 0xE01F0)))))


#: What a shell takes as it is.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%:,")


def length(words: str) -> int:
    """As the client counts what a hook says: characters, of which those beyond the first plane are two."""
    return len(words) if words.isascii() else len(words) + sum(letter > "\uffff" for letter in words)


def one_line(words: str) -> str:
    """All of it on one line, without what cannot be seen."""
    if not (words.isprintable() and (words.isascii() or _PRINTABLE.isdisjoint(words))):
        words = words.translate(_INVISIBLE)
        if not words.isascii() and max(words) >= "\ud800":
            words = "".join(_seen(letter) for letter in words)
    return " ".join(words.split())


def joined(words: str) -> str:
    """Without the characters of which `one_line` leaves nothing: what they part is whole where it is
    read."""
    rest = words.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    gone = [letter for letter in set(rest) if not letter.translate(_INVISIBLE) or ord(letter) in _PLANE_14]
    return words.translate(dict.fromkeys(map(ord, gone))) if gone else words


def _seen(letter: str) -> str:
    code = ord(letter)
    if code in _PLANE_14:
        return ""
    return "\ufffd" if code in _SURROGATES else letter


def excerpt(words: str, most: int) -> str:
    """The beginning, on one line; where it was cut there is a sign of it."""
    line = one_line(words[: 8 * most])
    if len(line) <= most:
        return line if len(words) <= 8 * most else f"{line} …".strip()
    cut = line.rfind(" ", most // 2, most)
    return line[: cut if cut > 0 else most] + " …"


def in_lines(words: str, most: int) -> str:
    """On its own lines, each without what cannot be seen."""
    whole = "\n".join(map(one_line, words.split("\n"))).strip("\n ")
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def quoted(path: str) -> str:
    """As a shell would have to be given it: people copy what they read."""
    return path if _PLAIN.issuperset(path) else "'" + path.replace("'", "'\\''") + "'"


def ago(milliseconds: int) -> str:
    minutes = max(0, milliseconds) // 60_000
    for size, unit in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            count = minutes // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"
