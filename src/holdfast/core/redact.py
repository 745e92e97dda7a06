"""Secrets out of a text, before anything of it is written or sent.

Three kinds are found: tokens that carry their provider's mark (`marked`, by the table in `families`),
what stands in a telling form such as a key block or an address (`shaped`), and values behind a telling
key (`keyed`); `judge` knows what a secret looks like.
All of it works on bytes with `find`, `strip` and `translate`, because `re` costs a hook more than the
interpreter's start. Every look ahead or behind is bounded, so time grows with the text and not faster.

What is found becomes `[redacted:<family>:<4 hex>]`, the digits a keyed digest of the secret: the same
secret is the same placeholder everywhere. Redacting a redacted text changes nothing.
"""

from holdfast.core import keyed, marked, shaped
from holdfast.core.digest import seal
from holdfast.core.judge import HEX, MASK, is_random
from holdfast.core.plain import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    Spans = list[tuple[int, int, str]]

_OPEN, _PRIVATE = b"[redacted:", b"[private]"
_LONGEST_PLACEHOLDER = 48
_FAMILY = b"abcdefghijklmnopqrstuvwxyz0123456789-"
#: Replacing one secret may uncover another beside it. More often than this only in a hostile text.
_ROUNDS = 4
_LEAST_AGAIN, _MOST_AGAIN = 16, 16
#: Behind the text, so that the byte behind anything found can be looked at.
_PADDING = b"\n" * 64


class Redactor:
    """`key` decides the digests, `allowed` are secrets to be left alone."""

    __slots__ = ("_allowed", "_key")

    def __init__(self, key: bytes = b"", allowed: "frozenset[str]" = frozenset()) -> None:
        self._key = key
        self._allowed = frozenset(one.encode("utf-8", "surrogatepass") for one in allowed)

    def text(self, words: str) -> str:
        """The same text with a placeholder for every secret; also for one that is whole only where what
        cannot be seen is taken out of it, and then without that."""
        clean = self._redacted(words)
        shown = clean if words.isascii() else joined(clean)
        again = clean if shown is clean else self._redacted(shown)
        return clean if again is shown else again

    def _redacted(self, words: str) -> str:
        data = words.encode("utf-8", "surrogatepass")
        clean = _without_private(data)
        for _ in range(_ROUNDS):
            changed = self._once(clean)
            if changed is clean:
                break
            clean = changed
        return words if clean is data else clean.decode("utf-8", "surrogatepass")

    def _once(self, data: bytes) -> bytes:
        masked = _masked(data)
        spans = find(masked)
        if spans:
            spans = _merged(spans + _again(masked, spans))
        spans = [span for span in spans if self._is_meant(data[span[0] : span[1]])]
        if not spans:
            return data
        pieces: list[bytes] = []
        done = 0
        for start, end, family in spans:
            while end < len(data) and data[end] & 0xC0 == 0x80:  # never cut a character in two
                end += 1
            pieces += (data[done:start], self._placeholder(family, data[start:end]))
            done = end
        pieces.append(data[done:])
        return b"".join(pieces)

    def _is_meant(self, secret: bytes) -> bool:
        return not self._allowed or secret not in self._allowed

    def _placeholder(self, family: str, secret: bytes) -> bytes:
        if family == "private-key":  # the same key, however its lines are broken or escaped
            secret = secret.replace(b"\\r", b"").replace(b"\\n", b"")
            secret = secret.translate(None, b"\r\n\t \\\"'+,")
        return f"[redacted:{family}:{seal(secret, self._key, 2)}]".encode()


def public(words: str) -> str:
    """Without its private parts. Of a text that is cut they have to go before: a part that has lost its
    beginning is not known as one."""
    data = words.encode("utf-8", "surrogatepass")
    clean = _without_private(data)
    return words if clean is data else clean.decode("utf-8", "surrogatepass")


def _without_private(data: bytes) -> bytes:
    low = data.lower()
    begin = _tag(low, b"<private", 0)
    if begin[0] < 0:
        return data
    pieces: list[bytes] = []
    done = 0
    while begin[0] >= 0:
        pieces += (data[done : begin[0]], _PRIVATE)
        done = _closing(low, begin[1])
        begin = _tag(low, b"<private", done)
    pieces.append(data[done:])
    return b"".join(pieces)


def find(data: bytes) -> "Spans":
    """(start, end, family) of every secret, in no order; they may overlap."""
    if len(data) < 8:
        return []
    spans: Spans = []
    data += _PADDING
    low = data.lower()
    marked.find(data, spans)
    shaped.find(data, low, spans)
    keyed.find(data, low, spans)
    return spans


def _again(data: bytes, spans: "Spans") -> "Spans":
    """Where what was found stands once more, perhaps without the key or the form that gave it away. Only
    the first few are looked for: each costs a walk through the text."""
    known: dict[bytes, str] = {}
    for start, end, family in spans:
        secret = data[start:end]
        if _LEAST_AGAIN <= end - start < 512 and secret not in known and is_random(secret):
            known[secret] = family
            if len(known) == _MOST_AGAIN:
                break
    found: Spans = []
    for secret, family in known.items():
        at = data.find(secret)
        while at >= 0:
            found.append((at, at + len(secret), family))
            at = data.find(secret, at + len(secret))
    return found


def _merged(spans: "Spans") -> "Spans":
    """In order and apart. Of two that overlap one is made, of the longer one's family; of two that are
    equal, the one found first."""
    if len(spans) < 2:
        return spans
    merged: Spans = []
    for span in sorted(spans, key=lambda span: span[0]):
        if not merged or span[0] >= merged[-1][1]:
            merged.append(span)
            continue
        start, end, family = merged[-1]
        if span[1] - span[0] > end - start:
            family = span[2]
        merged[-1] = start, max(end, span[1]), family
    return merged


def _masked(data: bytes) -> bytes:
    """The text with its placeholders blacked out, byte for byte."""
    data = data.replace(_PRIVATE, MASK * len(_PRIVATE))
    at = data.find(_OPEN)
    if at < 0:
        return data
    pieces: list[bytes] = []
    done = 0
    while at >= 0:
        end = data.find(b"]", at, at + _LONGEST_PLACEHOLDER) + 1
        family, _, tag = data[at + len(_OPEN) : max(0, end - 1)].partition(b":")
        if family and len(tag) == 4 and not family.strip(_FAMILY) and not tag.strip(HEX):
            pieces += (data[done:at], MASK * (end - at))
            done = end
        at = data.find(_OPEN, at + len(_OPEN))
    pieces.append(data[done:])
    return b"".join(pieces)


def _tag(low: bytes, name: bytes, at: int) -> tuple[int, int]:
    """Where the next such tag begins and ends; spaces before its `>` are allowed."""
    at = low.find(name, at)
    while at >= 0:
        end = at + len(name)
        rest = low[end : end + 8].lstrip(b" ")
        if rest.startswith(b">"):
            return at, low.find(b">", end) + 1
        at = low.find(name, end)
    return -1, -1


def _closing(low: bytes, at: int) -> int:
    """The end of the private part that began before `at`: a tag inside it needs a closing one too."""
    depth = 1
    close, begin = _tag(low, b"</private", at), _tag(low, b"<private", at)
    while close[0] >= 0:
        if 0 <= begin[0] < close[0]:
            depth += 1
            begin = _tag(low, b"<private", begin[1])
            continue
        depth -= 1
        if not depth:
            return close[1]
        close = _tag(low, b"</private", close[1])
    return len(low)


#: Files that are nothing but secrets, by name, by the end of the name, by its beginning, by the path's end.
_KEY_NAMES = frozenset(
    ".netrc _netrc .npmrc .pypirc .pgpass .htpasswd .dockercfg .git-credentials .envrc kubeconfig "
    ".kubeconfig .vault-token .my.cnf .s3cfg .boto .terraformrc .credentials.json master.key "
    "secrets.yaml secrets.yml secrets.json secrets.toml secrets.env secret.yaml secret.yml secret.json "
    "credentials.tfrc.json terraform.tfvars secring.gpg wallet.dat logins.json key3.db key4.db "
    "local.settings.json application_default_credentials.json .mcp-auth.json token.json".split()
)
_KEY_ENDS = (
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".p8",
    ".ppk",
    ".kdbx",
    ".asc",
    ".gpg",
    ".env",
)
#: Between the words of a command, also those a shell takes for more than words.
_SEPARATORS = str.maketrans("'\"`;|&()<>={},", " " * 14)
_KEY_STARTS = (
    "credentials",
    "service-account",
    "service_account",
    "serviceaccount",
    "client_secret",
    ".secret",
)
_KEY_PATHS = (
    *("/.docker/config.json", "/.kube/config", "/.aws/config", "/.config/gh/hosts.yml", "/.ssh/config"),
    *("/.cargo/credentials", "/.gem/credentials", "/.config/hub", "/.m2/settings.xml", "/etc/shadow"),
)
_SAMPLES = (".example", ".sample", ".template", ".dist", ".tmpl", ".pub", ".md")
_SOURCES = (
    ".py",
    ".js",
    ".ts",
    ".tsx",
    ".go",
    ".rs",
    ".java",
    ".rb",
    ".c",
    ".h",
    ".html",
    ".css",
    ".sh",
    ".php",
)


def is_key_file(path: str) -> bool:
    """Whether the content of this file is never to be stored, whatever it is."""
    path = path.replace("\\", "/").lower()
    name = path.rsplit("/", 1)[-1]
    if name.endswith(_SAMPLES):
        return False
    if name in _KEY_NAMES or name.endswith(_KEY_ENDS) or ("/" + path).endswith(_KEY_PATHS):
        return not name.startswith((".env.example", ".env.sample", ".env.template"))
    if name.startswith(".env") and (len(name) == 4 or name[4] in ".-_"):
        return not any(word in name for word in ("example", "sample", "template"))
    if name.startswith("id_"):  # id_rsa, id_ed25519_work; not id_map.py
        return "." not in name
    return name.startswith(_KEY_STARTS) and not name.endswith(_SOURCES)


def names_key_file(command: str) -> bool:
    """However the shell is told: `cat <.env`, `grep x .env*`, `--env-file=.env`."""
    return any(is_key_file(word.strip("*?")) for word in command.translate(_SEPARATORS).split())
