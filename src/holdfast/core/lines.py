"""One line of a transcript, as bytes, into the records it holds: whole, salvaged or none.

Transcripts in the wild hold records cut short and followed by a whole one on the same line, NUL
runs, missing newlines and lines of many megabytes. A line never stops the reader: what can be
recovered is, the rest is counted. Every byte ends up in exactly one of three sums.
"""

from holdfast.core.jsontext import UNREADABLE, scan

#: Longer lines are skipped without being held in memory.
LONGEST = 8 << 20
#: What may be spent on finding records in a damaged line: failing attempts, bytes looked at by them,
#: and pieces that turn out not to be records.
_TRIES, _TRIED_BYTES, _PIECES = 64, 12 << 20, 4096
#: A long line so full of tiny values that parsing it would take far longer than its size suggests. (A
#: table of hundreds of thousands of commas in one string looks the same and is given up with it.)
_DENSE_BYTES, _DENSE_OBJECTS, _DENSE_VALUES = 1 << 17, 1 << 15, 1 << 18
_MARKS = (b"{}", b"[]", b'{"', b"[[", b"[{")
_STARTS = ('{"parentUuid":', '{"type":', '{"uuid":', '{"logicalParentUuid":')
_ENTRY = b'{"parentUuid":'
_BLANK = " \t\r\n\0\ufeff"
_ENTRIES = ("user", "assistant", "system", "attachment")

#: Bookkeeping of the client that is no part of the conversation. Skipped by prefix because some
#: repeat whole requests: parsing them would double the cost of a session for nothing.
BOOKKEEPING = tuple(
    b'{"type":"' + name
    for name in (
        b"api-request",
        b"file-history-",
        b"last-prompt",
        b"permission-mode",
        b"ai-title",
        b"queue-operation",
        b"tools-used",
        b"cost-state",
        b"atis-latch",
        b"mode",
        b"pr-link",
        b"agent-name",
        b"agent-color",
        b"custom-title",
    )
)


class Account:
    """Where the bytes went. parsed + salvaged + skipped equals the bytes given to `records`."""

    __slots__ = ("damaged", "lines", "parsed", "salvaged", "skipped")

    def __init__(
        self, parsed: int = 0, salvaged: int = 0, skipped: int = 0, lines: int = 0, damaged: int = 0
    ) -> None:
        self.parsed = parsed
        self.salvaged = salvaged
        self.skipped = skipped
        self.lines = lines
        self.damaged = damaged

    def skip(self, size: int, begins: bool) -> None:
        """A piece of a line too long to be read at all."""
        self.skipped += size
        if begins:
            self.lines += 1
            self.damaged += 1


def records(raw: bytes, account: Account) -> list:
    """The records of one line (given with its newline, if it has one)."""
    account.lines += 1
    size = len(raw)
    if raw.startswith(BOOKKEEPING) and raw.endswith((b"}\n", b"}")) and raw.find(_ENTRY, 1) < 0:
        account.parsed += size
        return []
    if is_dense(raw):
        account.damaged += 1
        account.skipped += size
        return []
    text = raw.decode("utf-8", "surrogateescape")  # so that a piece has as many bytes as it had
    try:
        value, end = scan(text, 0)
    except UNREADABLE:
        return _salvage(text, size, account)
    if type(value) is dict and not text[end:].strip():
        account.parsed += size
        return [value]
    return _salvage(text, size, account)


def is_dense(raw: bytes) -> bool:
    if len(raw) < _DENSE_BYTES:
        return False
    return raw.count(b",") > _DENSE_VALUES or sum(map(raw.count, _MARKS)) > _DENSE_OBJECTS


def _salvage(text: str, size: int, account: Account) -> list:
    """Records inside a damaged line."""
    if not text.strip(_BLANK) and "\0" not in text:
        account.parsed += size  # a blank line is as good as none
        return []
    found: list = []
    recovered, pieces = 0, 0
    tries = max(2, min(_TRIES, _TRIED_BYTES // size))
    starts = _Starts(text)
    at = starts.after(-1)
    while at >= 0 and pieces < _PIECES:
        try:
            value, end = scan(text, at)
        except UNREADABLE as problem:
            # Nested too deep, every start inside it is nested almost as deep: not one by one.
            tries = min(tries - 1, 1) if isinstance(problem, RecursionError) else tries - 1
            # With the last attempt, the last record: what follows a cut one is mostly alone there.
            at = starts.after(at) if tries > 1 else starts.last(at) if tries else -1
            continue
        if is_entry(value):
            found.append(value)
            recovered += len(text[at:end].encode("utf-8", "surrogateescape"))
        else:
            pieces += 1
        at = starts.after(end - 1)
    account.damaged += 1
    account.salvaged += recovered
    account.skipped += size - recovered
    return found


class _Starts:
    """Places where a record may start, in order. Each mark is searched once over the text, not
    once per place: a line of a thousand pieces must not cost a thousand searches."""

    __slots__ = ("places", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = [text.find(start) for start in _STARTS]

    def after(self, at: int) -> int:
        nearest = -1
        for i, place in enumerate(self.places):
            if 0 <= place <= at:
                place = self.places[i] = self.text.find(_STARTS[i], at + 1)
            if place >= 0 and (nearest < 0 or place < nearest):
                nearest = place
        return nearest

    def last(self, at: int) -> int:
        place = self.text.rfind(_STARTS[0])
        return place if place > at else -1


def is_entry(value: object) -> bool:
    """Whether an object found inside a line is an entry, and not a part of one."""
    return type(value) is dict and value.get("type") in _ENTRIES and type(value.get("uuid")) is str
