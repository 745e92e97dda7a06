"""Secrets told by themselves: words with a provider's mark, as `families` lists them, and JWTs.

A text has many words and few that are long, so those are found first, all by `find`; then three bytes of
each are looked up. A text with no secret costs the same however many families there are.
"""

from holdfast.core import families, judge
from holdfast.core.families import CHARS
from holdfast.core.judge import DIGITS, HEX

TYPE_CHECKING = False
if TYPE_CHECKING:
    Span = tuple[int, int, str]
    Spans = list[Span]

#: Every byte as "w" (of a word) or a space, so that a long word is a run of one byte.
_OTHER = bytes(range(256)).translate(None, CHARS["w"])
_WORD = bytes.maketrans(CHARS["w"] + _OTHER, b"w" * 64 + b" " * 192)
_RUN = b"w" * 16
_WORD_BYTES = frozenset(bytes((c,)) for c in CHARS["."])
#: A byte before a word after which more is to be looked at: escapes, broken prefixes, joined parts.
_BEFORE = frozenset(b"\\.%[:~/$!|")


def find(data: bytes, spans: "Spans") -> None:
    """Long words that begin with a provider's prefix, and the few told by their end or their parts.
    `data` ends in some bytes of padding."""
    rows = families.index()
    kinds = data.translate(_WORD)
    at = kinds.find(_RUN)
    while at >= 0:
        end = kinds.find(b" ", at)
        span = None
        if data[at : at + 3] in rows:
            span = _prefixed(data, at, rows)
        if span is None and at and data[at - 1] in _BEFORE:
            span = _behind(data, at, end, rows)
        if span is None and 34 < end - at < 64:
            span = _by_parts(data, at, end)
        if span is not None:
            spans.append(span)
            end = max(end, span[1])
        at = kinds.find(_RUN, end)
    for prefix in families.BASE64:
        at = data.find(prefix)
        while at >= 0:
            span = _prefixed(data, at, rows) if _begins_word(data, at) else None
            if span is not None:
                spans.append(span)
            at = data.find(prefix, at + len(prefix))

    at = data.find(b"Q~")
    while at >= 0:
        span = _azure(data, at)
        if span is not None:
            spans.append(span)
        at = data.find(b"Q~", at + 2)


def _azure(data: bytes, at: int) -> "Span | None":
    """A client secret: three characters, a digit, Q~ and some 34 more, dots and tildes among them."""
    start, body = at - 4, data[at + 2 : at + 44]
    size = len(body) - len(body.lstrip(CHARS["~"]))
    if start < 0 or not 31 <= size <= 36 or not data[at - 1 : at].isdigit():
        return None
    if data[start : at - 1].strip(CHARS["~"]):
        return None
    size = len(body[:size].rstrip(b"."))
    return start, at + 2 + size, "azure"


def _begins_word(data: bytes, at: int) -> bool:
    """Whether no word goes on here; the letter of an escape is none."""
    before = data[max(0, at - 2) : at]
    return before[-1:] not in _WORD_BYTES or (before[:1] == b"\\" and before[-1:] in (b"n", b"r", b"t"))


def _span_of(data: bytes, at: int, chars: str, most: int) -> int:
    """How many such characters stand here, up to one more than `most`."""
    alphabet = families.CHARS[chars]
    for size in (min(most, 120) + 1, most + 1):  # most are short: a small piece is cut out first
        rest = data[at : at + size]
        found = len(rest) - len(rest.lstrip(alphabet))
        if found < size:
            break
    return found


def _prefixed(data: bytes, at: int, rows: "dict[bytes, tuple]") -> "Span | None":
    head = data[at : at + 3]
    if head == b"eyJ":
        end = _jwt(data, at)
        if end:
            return at, end, "jwt"
    for prefix, family, chars, least, most, check in rows.get(head, ()):
        if not data.startswith(prefix, at):
            continue
        begin = at + len(prefix)
        size = _span_of(data, begin, chars, most)
        if not least <= size <= most:
            continue
        body = data[begin : begin + size]
        if chars in ".%t":
            body = body.rstrip(b".%")
        if len(body) < least or judge.is_placeholder(body.lower()):
            continue
        if check and not _passes(check, body):
            continue
        return at, begin + len(body), family
    return None


def _passes(check: str, body: bytes) -> bool:
    if check == "c":
        return judge.is_mixed(body)
    return judge.is_random(body) and (check == "r" or len(body.translate(None, DIGITS)) < len(body) - 1)


def _jwt(data: bytes, at: int) -> int:
    """The end of header.payload.signature; a cut-off one may lack its end."""
    parts, end = 0, at
    while parts < 5:
        size = _span_of(data, end, "w", 1 << 14)
        if size < (8 if parts < 2 else 1):
            break
        parts += 1
        end += size
        if data[end] != 46:
            break
        end += 1
    if data[end - 1] == 46:
        end -= 1
    second = data.find(b".", at, end) + 1
    return end if parts > 2 or (parts == 2 and data.startswith(b"eyJ", second)) else 0


def _behind(data: bytes, at: int, end: int, rows: "dict[bytes, tuple]") -> "Span | None":
    """A word whose first byte belongs to an escape, or that continues what was broken before it."""
    before = data[at - 1]
    if before == 92:  # \n, \t, \u003d
        return _prefixed(data, at + (5 if data[at] == 117 else 1), rows)
    if before == 37:  # %20
        return _prefixed(data, at + 2, rows)
    if before == 91:  # the colour of a terminal: ESC [ 3 2 m
        letter = data.find(b"m", at, at + 6)
        return _prefixed(data, letter + 1, rows) if letter > 0 else None
    near = data[max(0, at - 24) : at]
    if near.endswith(families.BROKEN):
        for prefix in families.BROKEN:
            start = at - len(prefix)
            if near.endswith(prefix) and _begins_word(data, start):
                return _prefixed(data, start, rows)
    size = end - at
    if before == 46:
        return _dotted(data, at, near, size) or _goes_on(data, at, rows)
    if before == 58 and near[-8:-1].isdigit() and data[at : at + 2] == b"AA" and 32 <= size <= 36:
        digits = len(near) - 1 - len(near[:-1].rstrip(DIGITS))
        return at - 1 - digits, end, "telegram"
    if before == 58 and size == 32 and near[-18:-17] == b"/" and near[-17:-1].isdigit():
        return at, end, "asana"
    if before == 58 and size >= 54 and near[-12:-6] == b"token-" and not near[-6:-1].strip(CHARS["l"]):
        return at, end, "rancher"
    if before == 58 and data.startswith(b"APA91b", at) and size > 100:
        return at, end, "google"
    if before == 124 and size == 27 and near[-16:-1].isdigit():  # an app's id | its token
        return at, end, "facebook"
    if before == 33 and near[-19:].find(b"00D") >= 0:  # 00D… ! AQ…: a Salesforce session
        start = at - len(near) + near.rfind(b"00D")
        return start, end + _span_of(data, end, ".", 120), "salesforce"
    if before == 36 and near.endswith((b"production$", b"sandbox$")):
        tail = _span_of(data, end + 1, "h", 40)
        return (at, end + 1 + tail, "paypal") if data[end] == 36 and tail >= 32 else None
    return None


def _dotted(data: bytes, at: int, near: bytes, size: int) -> "Span | None":
    if near.endswith(b".atlasv1."):
        name = near[:-9]
        start = at - 9 - (len(name) - len(name.rstrip(CHARS["n"])))
        return (start, at + size, "terraform") if size > 50 else None
    if size == 32 and data[max(0, at - 38) : at].startswith(b"1000.") and data[at - 1] == 46:
        halves = data[at - 33 : at - 1] + data[at : at + 32]
        return (at - 38, at + 32, "zoho") if not halves.strip(HEX) else None
    if size > 165 and near.endswith(b"v1.") and data.startswith(b"0-", at):
        return at - 3, at + size, "cloudflare"
    if size < 27 or near[-8:-7] != b".":
        return None
    first = data[max(0, at - 40) : at - 8]
    head = first[len(first.rstrip(CHARS["w"])) :]  # user id . time . signature
    if 23 <= len(head) <= 28 and head[:1] in b"MNO" and size <= 40 and judge.is_mixed(head):
        return at - 8 - len(head), at + size, "discord"
    return None


def _goes_on(data: bytes, at: int, rows: "dict[bytes, tuple]") -> "Span | None":
    """A long part behind short ones that began with a prefix: dp.st.prd.…"""
    near = data[max(0, at - 40) : at]
    start = at - len(near) + len(near.rstrip(CHARS["."]))
    return _prefixed(data, start, rows) if data[start : start + 3] in rows else None


def _by_parts(data: bytes, at: int, end: int) -> "Span | None":
    word = data[at:end]
    if word[32:35] == b"-us" and word[35:].isdigit() and not word[:32].strip(HEX):
        return at, end, "mailchimp"
    if (
        len(word) == 49
        and word[27:28] == b"_"
        and word[:1] in b"12"
        and not word.translate(None, CHARS["n"] + b"_")
    ):
        return (at, end, "ngrok") if word.count(b"_") == 1 and judge.is_mixed(word) else None
    if word.endswith(b"_mmk") and len(word) == 40:
        return at, end, "maxmind"
    if word.endswith(b"NRAL") and len(word) == 40 and not word[:-4].strip(HEX):
        return at, end, "newrelic"
    if len(word) == 50 and word[32:33] == word[41:42] == b"-" and not word.strip(CHARS["-"]):
        return (at, end, "mailgun") if word.count(b"-") == 2 else None
    return None
