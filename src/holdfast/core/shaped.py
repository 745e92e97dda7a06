"""Secrets told by what they stand in: key blocks, addresses with a password, webhooks, k8s manifests."""

from holdfast.core import families, judge
from holdfast.core.judge import BASE64, DIGITS
from holdfast.core.keyed import ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    Spans = list[tuple[int, int, str]]

_BEGIN, _PEM_LONGEST = b"-----begin ", 1 << 15
_PUTTY = b"private-lines: "
_AROUND_LINES = b" \t\r\\\"'+,;#*>|"
_NUMBER_MARKS = (b"\xe2\x86\x92", b"\\u2192", b"\\t", b"\t", b":", b"-")
_ENDS_ADDRESS = ending(b"/\"'`<>\\|?#,;()[]{}")
_MANIFEST, _MANIFEST_LONGEST = b"kind: secret", 1 << 13


def find(data: bytes, low: bytes, spans: "Spans") -> None:
    """`data` ends in some bytes of padding; `low` is the same in small letters."""
    _key_blocks(data, low, spans)
    _addresses(data, low, spans)
    _manifests(data, low, spans)


def _key_blocks(data: bytes, low: bytes, spans: "Spans") -> None:
    """PEM and PGP blocks of private keys: whole, cut off, escaped or with line numbers."""
    at = low.find(_BEGIN)
    while at >= 0:
        body = at + len(_BEGIN)
        dashes = low.find(b"-----", body, body + 64)
        if dashes > 0 and (b"private key" in low[body:dashes] or b"static key" in low[body:dashes]):
            body = dashes + 5
            end = _end_of_key(data, body)
            if end:
                spans.append((at, end, "private-key"))
                body = end
        at = low.find(_BEGIN, body)
    at = low.find(_PUTTY)
    while at >= 0:
        body = at + len(_PUTTY)
        rest = data[body : body + 8]
        body += len(rest) - len(rest.lstrip(DIGITS))  # how many lines there are
        end = _end_of_key(data, body)
        if end:
            begin = data.find(b"\n", body, body + 3) + 1 or data.find(b"n", body, body + 6) + 1
            spans.append((begin or body, end, "private-key"))
        at = low.find(_PUTTY, max(body, end))


def _end_of_key(data: bytes, body: int) -> int:
    """Behind the END line, or behind the last line that looks like the key's. 0 if there is no key."""
    close = data.find(b"-----", body, body + _PEM_LONGEST)
    is_whole = close >= 0 and data.startswith(b"-----END", close)
    block = data[body : close if close >= 0 else body + _PEM_LONGEST]
    at, end, size = body, body, 0
    for line in block.replace(b"\\r", b"  ").replace(b"\\n", b" \n").split(b"\n"):
        core = _unnumbered(line.strip(_AROUND_LINES))
        is_header = not size and b": " in core[:32]
        if not is_header and any(piece.strip(BASE64) for piece in core.split(b" ")):
            break
        if 0 < len(core) < 40 and not (is_whole or is_header or judge.has_digit(core) or core[-1:] == b"="):
            break  # cut off, and this is a word of what follows
        if core:
            end = at + len(line.rstrip(b" \t\r\"',\\"))
            size += 0 if is_header else len(core)
        at += len(line) + 1
    else:
        if is_whole:
            stop = data.find(b"-----", close + 8, close + 72)
            end = stop + 5 if stop > 0 else close + 8
    return end if size >= 48 else 0


def _unnumbered(line: bytes) -> bytes:
    """Without the number that a tool's view of a file puts before it."""
    bare = line.lstrip(DIGITS)
    for mark in _NUMBER_MARKS:
        if bare.startswith(mark) and len(line) - len(bare) < 7:
            return bare[len(mark) :].strip(b" ")
    return line


def _addresses(data: bytes, low: bytes, spans: "Spans") -> None:
    """The password in scheme://user:password@host, and webhooks."""
    at = data.find(b"://")
    sign = 0
    while at >= 0:
        begin = at + 3
        if low.startswith((b"hooks.", b"disc", b"canary.disc", b"ptb.disc", b"api.tel"), begin):
            _hook(data, low, begin, spans)
        if 0 <= sign < begin:
            sign = data.find(b"@", begin)
        if begin < sign < begin + 300:
            user = data[begin : begin + 300].translate(_ENDS_ADDRESS).split(b"\n", 1)[0]
            colon, last = user.find(b":"), user.rfind(b"@")
            secret = user[colon + 1 : last]
            if 0 <= colon < last and judge.is_password(secret, user[:colon]):
                spans.append((begin + colon + 1, begin + last, "url-password"))
        at = data.find(b"://", begin)


def _hook(data: bytes, low: bytes, begin: int, spans: "Spans") -> None:
    for host, family, least in families.HOOKS:
        place = low.find(host, begin, begin + len(host) + 8)
        if place >= 0:
            path = place + len(host)
            rest = data[path : path + 200]
            size = len(rest) - len(rest.lstrip(families.CHARS["."] + b"/:"))
            if size >= least and judge.is_mixed(rest[:size]):
                if family == "telegram":
                    size = rest.find(b"/") if 0 < rest.find(b"/") < size else size
                spans.append((path, path + size, family))


def _manifests(data: bytes, low: bytes, spans: "Spans") -> None:
    """What a Kubernetes Secret holds, before or behind the line that says it is one."""
    done, at = 0, low.find(_MANIFEST)
    while at >= 0:
        after = at + len(_MANIFEST)
        following = low.find(b"kind:", after, after + _MANIFEST_LONGEST)
        stop = following if following >= 0 else after + _MANIFEST_LONGEST
        if not low[after : after + 1].isalpha():  # SecretStore, SecretProviderClass
            _entries(data, max(done, at - _MANIFEST_LONGEST), stop, spans)
            done = stop
        at = low.find(_MANIFEST, after)


def _entries(data: bytes, begin: int, stop: int, spans: "Spans") -> None:
    """The values under `data:` and `stringData:`."""
    deep = -1
    for line in data[begin:stop].replace(b"\\n", b" \n").split(b"\n"):
        bare = line.strip(b' \t\r"\\')
        indent = len(line) - len(line.lstrip(b" "))
        if bare in (b"data:", b"stringData:"):
            deep = indent
        elif bare and indent <= deep:
            deep = -1
        elif deep >= 0:
            key, _, value = line.partition(b": ")
            secret = value.strip(b" \t\r\"'\\")
            if (
                len(secret) > 3
                and not judge.is_placeholder(secret.lower())
                and not judge.is_reference(secret, True)
            ):
                start = begin + len(key) + 2 + value.find(secret)
                spans.append((start, start + len(secret), "k8s-secret"))
        begin += len(line) + 1
