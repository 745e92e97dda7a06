"""Secrets told by the key before them: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `Authorization: …`.

The key is found first, by the few words such keys end in. Then what joins it to its value is read as the
many languages of a transcript write it, and last the value itself is judged. Keys are strong (password,
secret, api key) or weak (token, auth): behind a weak one only what looks random is taken.
"""

from holdfast.core import judge
from holdfast.core.judge import DIGITS, NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    Spans = list[tuple[int, int, str]]

_QUOTES = b"\"'`"


def ending(ends: bytes) -> bytes:
    """A table for `translate`: a newline for every byte that ends a value."""
    ends += bytes(range(33))
    return bytes.maketrans(ends, b"\n" * len(ends))


#: What ends a value without quotes: in code, on a line of its own (`.env`, YAML), in a header.
_ENDS, _ENDS_OWN, _ENDS_HEADER = ending(b",;&)]}\"'`<>\\|"), ending(b"\"'`\\"), ending(b",;\"'`\\<>)]}")
_ENDS_FIELD = ending(b";\"'`\\")
_ENDS_COOKIE = bytes.maketrans(b"\r\n\"'`\\\1", b"\n" * 7)
_ENDS_LINE = bytes.maketrans(b"\r\n\1", b"\n" * 3)
_ENDS_WORDS = bytes.maketrans(b"\r\n\"'\\\1", b"\n" * 6)
#: How far a value is looked at; how far it is then taken out.
_LONGEST, _LONGEST_QUOTED, _LONGEST_HEADER, _LONGEST_TAKEN = 256, 1024, 4096, 1 << 15

_WEAK, _STRONG, _HEADER, _COOKIE = 1, 2, 3, 4
#: The last word of a key, its family, and how much of a secret its value is.
_KEYS = (
    (b"pass", "password", _STRONG),
    (b"pwd", "password", _STRONG),
    (b"secret", "secret", _STRONG),
    (b"token", "token", _WEAK),
    (b"key", "api-key", _WEAK),
    (b"auth", "auth", _WEAK),
    (b"credential", "credential", _WEAK),
    (b"_pat", "token", _WEAK),
    (b"jwt", "token", _WEAK),
    (b"cookie", "cookie", _COOKIE),
    (b"signature=", "signature", _WEAK),
    (b"sig=", "signature", _WEAK),
    (b"code=", "code", _WEAK),
    (b"psk", "password", _STRONG),
    (b"identified by", "password", _STRONG),
    (b"mnemonic", "mnemonic", _STRONG),
    (b"seed_phrase", "mnemonic", _STRONG),
    (b"seed phrase", "mnemonic", _STRONG),
    (b"bearer ", "auth-header", _HEADER),
    (b"contribsys__com", "secret", _STRONG),
)
#: A byte behind such a word that may follow a key; the words that may end it after all.
_GATE = frozenset(b"\"'`\\ =:]>)_-0123456789,(\t\n?")
_PASS_TAILS = (b"word", b"wd", b"phrase", b"code", b"wrd")
_TAILS = frozenset(
    b"prod dev test live staging production value data base base64 b64 raw plain plaintext default "
    b"enc".split()
)
#: What before `key` makes it a secret one, without underscores; what makes a key or token none.
_STRONG_KEYS = tuple(
    b"api apis access private priv secret client encryption master servicerole signing account".split()
)
_WEAK_KEYS = tuple(
    b"auth encrypt sign storage subscription license licence webhook app application consumer server admin "
    b"function functions deploy ssh jwt hmac aes session cookie crypto sas write read ingest ingestion "
    b"integration user team project root recovery wallet gpg anon service token personal developer live "
    b"rest search management bot routing".split()
)
_NOT_KEYS = tuple(
    b"public pub cache primary foreign partition sort idempotency object s3 row hash group index unique "
    b"i18n registry state".split()
)
_NOT_TOKENS = tuple(
    b"page next continuation sync cursor pagination idempotency public publickey request client resume "
    b"change start mask eos bos pad".split()
)
_TYPES = frozenset(
    b"str string bytes any secretstr final const &str &'staticstr optional[str] str|none string|undefined "
    b"string|null final[str] nsstring char* string?".split()
)
#: What may stand before a variable on its line.
_BEFORE = (
    b"\\n",
    b"export",
    b"ENV",
    b"ARG",
    b"\xe2\x86\x92",
    b"\\u2192",
    b"\\t",
    b"-e",
    b"--env",
    b"set",
    b"SET",
)

#: (command, its flags before a secret, whether that is user:secret)
_COMMANDS = (
    (b"curl ", (b"-u", b"--user", b"--proxy-user"), True),
    (b"mysql", (b" -p",), False),
    (b"sshpass", (b" -p",), False),
    (b"docker login", (b" -p ",), False),
    (b"redis-cli", (b" -a ",), False),
    (b"ldapsearch", (b" -w ",), False),
    (b"wandb login", (b" ",), False),
)


def find(data: bytes, low: bytes, spans: "Spans") -> None:
    """`data` ends in some bytes of padding; `low` is the same in small letters."""
    for word, family, grade in _KEYS:
        at = low.find(word)
        while at >= 0:
            after = at + len(word)
            # Most are words like tokens or keyboard: the next byte says so, and costs least to look at.
            if (
                low[after] in _GATE
                or grade > _WEAK
                or word[-1] == 61
                or (low[after] == 111 and word == b"auth")
            ):
                reading = _Reading(data, low, at, after, family, grade)
                reading.read(spans)
                after = max(after, reading.end)
            at = low.find(word, after)
    _commands(data, low, spans)


class _Reading:
    """One key and what follows it."""

    __slots__ = "at begin data end family grade is_own is_set is_sure is_vague low name".split()

    def __init__(self, data: bytes, low: bytes, at: int, after: int, family: str, grade: int) -> None:
        self.data = data
        self.low = low
        self.begin = self.at = at
        self.end = after
        self.family = family
        self.grade = grade
        self.name = b""
        self.is_own = False  # on a line of its own, as in .env and YAML
        self.is_set = False  # behind an equals sign
        self.is_sure = False  # where nothing but a password can stand
        self.is_vague = False  # a key of something unknown

    def read(self, spans: "Spans") -> None:
        if self.low[self.end - 1] == 32 and self.grade == _HEADER:
            self._take(self.end, spans)
        elif self._is_key():
            place = self._joined()
            if place and self.grade == _COOKIE:
                self._cookies(place, spans)
            elif place:
                self._take(place, spans)

    def _is_key(self) -> bool:
        """Whether the whole name, of which a word was found, ends like a secret's key."""
        low, after = self.low, self.end
        tail = low[after : after + 24]
        tail = tail[: len(tail) - len(tail.lstrip(NAME))]
        head = low[max(0, self.at - 40) : self.at]
        head = head[len(head.rstrip(NAME)) :]
        if low[self.at - len(head) - 1 : self.at - len(head)] == b"\\":
            head = head[5 if head[:1] == b"u" else 1 :]  # the letter belongs to an escape
        word = low[self.at : after]
        self.begin = self.at - len(head)
        if word[-1] == 61:
            self.end = after - 1
            if word == b"code=":  # of an address
                return not head and self.data[self.at - 1 : self.at] in (b"?", b"&")
            return not head or head[-1] in b"_-" or word == b"signature="
        self.end = after + len(tail)
        self.name = low[self.begin : self.end]
        if word == b"auth" and tail[:9] == b"orization":
            self.grade, tail = _HEADER, tail[9:]
        elif word == b"auth" and head and head[-1] not in b"_-x":
            return False
        elif word == b"pass":
            more = next((more for more in _PASS_TAILS if tail.startswith(more)), b"")
            if not more and not self._is_pass(head):
                return False
            tail = tail[len(more) :]
            self.family = "passphrase" if more == b"phrase" else self.family
        elif word == b"token" and head.rstrip(b"_-").endswith(_NOT_TOKENS):
            return False
        tail = tail.strip(b"_-" + DIGITS)
        if tail and tail not in _TAILS and not (tail == b"s" and word == b"credential"):
            return False
        return word != b"key" or self._is_secret_key(head.translate(None, b"_-"))

    def _is_pass(self, head: bytes) -> bool:
        """`pass` alone is a statement, a result (`--- PASS: TestX`) and the end of `bypass`."""
        if head.strip(b"-"):
            self.is_sure = head == b"require"  # of Redis
            return self.is_sure or head[-1] in b"_-" or self.data[self.at : self.at + 2] == b"Pa"
        if self.low[max(0, self.begin - 9) : self.begin].endswith((b"-pass ", b"-passin ", b"-passout ")):
            self.is_sure = True  # of openssl
            return True
        return self.data[self.end] in b"\"'\\="

    def _is_secret_key(self, head: bytes) -> bool:
        if not head or head.endswith(_NOT_KEYS):
            return False
        if head.endswith(_STRONG_KEYS):
            self.grade = _STRONG
            self.family = "private-key-value" if head.endswith((b"private", b"priv")) else "api-key"
            return True
        self.is_vague = not head.endswith(_WEAK_KEYS)
        return not self.is_vague or self.data[self.at] == 75 or self.data[self.at - 1] in b"_-"  # no monkey

    def _joined(self) -> int:
        """Where the value begins: behind `=`, `:`, `=>`, `: str =`, `", value=`, a flag's space …; or 0."""
        data = self.data
        quote, depth = _opened(data, self.end)
        place = self.end + depth + 1 if quote else self.end
        rest = data[place : place + 4]
        place += len(rest) - len(rest.lstrip(b"])?"))
        is_closed = place > self.end
        start, place = place, self._skip(place)
        sign, before = data[place], data[self.begin - 1 : self.begin]
        if before == b":" and sign in b":\"'":
            return 0  # arn:aws:secretsmanager:…:secret:name, AWS::IAM::AccessKey
        if sign == 61:  # =
            rest = data[place : place + 4]
            self.is_own = place == start and self._starts_line() and self._is_variable()
            self.is_set = True
            self.is_sure = before == b";" and self.family == "password"
            return 0 if rest[1:2] == b"~" else self._skip(place + len(rest) - len(rest.lstrip(b"=>")))
        if sign == 58:  # :
            self.is_own = self._starts_line()
            return (
                0 if data[place + 1] == 58 else self._annotated(place + (2 if data[place + 1] == 61 else 1))
            )
        if sign == 62 and before in (b"<", b":"):
            return place + 1  # <password>
        if sign in b"\n\\" or (sign == 44 and is_closed) or data.startswith((b"value", b"Value"), place):
            return self._listed(place, is_closed)
        if sign == 40 and self.family == "password" and data[place + 1] in _QUOTES:
            return place + 1 if self.name.startswith((b"set", b"with", b"password")) else 0
        return self._spaced(place) if place > start else 0

    def _skip(self, place: int) -> int:
        rest = self.data[place : place + 48]
        return place + len(rest) - len(rest.lstrip(b" \t"))

    def _is_variable(self) -> bool:
        """A variable of the environment, not a keyword argument on a line of its own."""
        return self.data[self.begin : self.end].isupper() or self.data[self.begin - 1] not in b" \t"

    def _starts_line(self) -> bool:
        before = self.data[max(0, self.begin - 64) : self.begin]
        if before[-1:] == b".":  # spring.datasource.password
            before = before.rstrip(NAME + b".")
            if before[-1:] == b"\\":
                return True
        before = before.rstrip(b" \t\"'")
        if before[-1:] in (b"-", b"+"):  # an item of a list, a line of a diff
            before = before[:-1].rstrip(b" \t")
        return not before or before[-1] in b"\n\r|" or before.endswith(_BEFORE)

    def _annotated(self, place: int) -> int:
        """Behind a colon there may be a type and an equals sign before the value."""
        place = self._skip(place)
        sign = self.data.find(b"=", place, place + 32)
        if sign > 0 and self.low[place:sign].replace(b" ", b"") in _TYPES:
            self.is_own = False
            return self._skip(sign + 1)
        return place

    def _listed(self, place: int, is_closed: bool) -> int:
        """`name: DB_PASSWORD` with `value: …` behind it, or a pair of strings."""
        rest = self.low[place : place + 64]
        bare = (
            rest.replace(b"\\n", b"  ")
            .replace(b"\\r", b"  ")
            .replace(b"\\t", b"  ")
            .lstrip(b" \t\r\n,\\\"'")
        )
        if bare.startswith(b"value"):
            after = bare[5:].lstrip(b"\\\"' \t")
            if after[:1] in (b":", b"="):
                return self._skip(place + len(rest) - len(after) + 1)
        if (
            is_closed
            and self.grade <= _STRONG
            and self.data[self.begin - 1] in _QUOTES
            and rest[:1] == b","
            and rest[1:].lstrip(b" \\")[:1] in (b'"', b"'")
        ):
            self.grade = _WEAK  # a label as often as a secret
            return self._skip(place + 1)
        return 0

    def _spaced(self, place: int) -> int:
        """A value behind a mere space: flags, .netrc, Go, SQL, `password is …`."""
        data, low = self.data, self.low
        if self.name.startswith(b"-") or self.is_sure:
            self.is_sure = True
            return place
        sign = data.find(b"=", place, place + 16)
        if sign > 0 and low[place:sign].strip(b" ") in _TYPES and data[sign + 1] != 61:
            return self._skip(sign + 1)
        before = low[max(0, self.begin - 120) : self.begin]
        if self.family == "password":
            if b"login " in before or b"machine " in before:
                self.is_sure = True
                return place
            is_told = low.startswith(b"is ", place)
            if is_told or _opened(data, place)[0] in (b"'", b'"'):
                self.grade, self.is_sure = _WEAK, True
                return place + 3 if is_told else place
        if self.family == "token" and self.name.endswith(b"authtoken"):
            return place  # ngrok config add-authtoken …
        if self.grade == _STRONG and b"_" in self.name:
            self.grade, self.is_vague = _WEAK, True  # aws configure set aws_secret_access_key …
            return place
        return place if before.endswith((b"env ", b"arg ")) else 0

    def _take(self, place: int, spans: "Spans") -> None:
        data = self.data
        if data[place] in b"bBrRuU@" and data[place + 1] in _QUOTES:
            place += 1
        elif (
            data[place] == 40 and data[place + 1] in _QUOTES and self.family == "auth"
        ):  # auth=("user", "password")
            place = self._skip(data.find(b",", place, place + 80) + 1)
        quote, depth = _opened(data, place)
        begin = place + depth + 1 if quote else place
        if self.grade == _HEADER:
            begin = self._behind_scheme(begin)
            end = _until(data, begin, _LONGEST_HEADER, _ENDS_HEADER)
            is_secret = judge.is_credential(data[begin:end])
            ends = _ENDS_HEADER
        else:
            end = _closed(data, begin, quote, depth) if quote else 0
            is_quoted = end > 0
            if not end:
                ends = _ENDS_OWN if self.is_own else _ENDS_FIELD if self.is_sure else _ENDS
                if self.family == "mnemonic" or (self.family == "passphrase" and self.is_own):
                    ends = _ENDS_WORDS
                end = _until(data, begin, _LONGEST, ends)
                bare = data[begin:end].rstrip(b",;")
                if self.grade == _WEAK:
                    bare = bare.split(b"@", 1)[0]  # x-access-token:…@github.com
                self.is_own = self.is_own and (self.is_set or begin + len(bare) == end)  # else it is code
                end = begin + len(bare)
            is_secret = self._is_secret(data[begin:end], is_quoted)
        if is_secret:
            if end - begin == (_LONGEST_HEADER if self.grade == _HEADER else _LONGEST):
                end = _until(data, begin, _LONGEST_TAKEN, ends)
            spans.append((begin, end, "auth-header" if self.grade == _HEADER else self.family))
            self.end = end

    def _follows_user(self) -> bool:
        """`--username ann --password …`: an actual command, not a manual's."""
        return b"user" in self.low[max(0, self.begin - 60) : self.begin]

    def _behind_scheme(self, begin: int) -> int:
        """Behind `Bearer`, `Basic`, `Api-Token` …: any one word with a space behind it."""
        rest = self.data[begin : begin + 24]
        word = len(rest) - len(rest.lstrip(judge.LETTERS + b"-"))
        if not word or self.data[begin + word] not in b" \t":
            return begin
        begin = self._skip(begin + word)
        return begin + 6 if self.low.startswith(b"token=", begin) else begin

    def _cookies(self, place: int, spans: "Spans") -> None:
        """Each value of `a=1; b=2` that looks random."""
        quote, depth = _opened(self.data, place)
        begin = place + depth + 1 if quote else place
        end = _until(self.data, begin, _LONGEST_HEADER, _ENDS_COOKIE)
        for pair in self.data[begin:end].split(b";"):
            name, _, value = pair.partition(b"=")
            value = value.rstrip(b" ,")
            is_example = judge.is_placeholder(value.lower()) or judge.is_reference(value, False)
            if len(value) >= 10 and b" " not in value and judge.is_random(value) and not is_example:
                start = begin + len(name) + 1
                spans.append((start, start + len(value), "cookie"))
            begin += len(pair) + 1
        self.end = max(self.end, end)

    def _is_secret(self, value: bytes, is_quoted: bool) -> bool:
        if len(value) < 6:
            return False
        if self.grade == _STRONG and not (
            is_quoted or self.is_own or self.is_sure or judge.has_digit(value)
        ):
            # One word without quotes is code, except on a line of its own or when it is no word.
            return (
                len(value) > 20
                and judge.is_mixed(value)
                and not value.strip(judge.BASE64)
                and (not judge.is_wordy(value) and not judge.is_placeholder(value.lower()))
            )
        low = value.lower()
        if judge.is_placeholder(low) or judge.is_word(low):
            return False
        if self.family == "mnemonic":
            return 11 <= value.count(b" ") <= 24 and not value.translate(None, judge.LETTERS[26:] + b" ")
        if (b" " in value and self.family != "passphrase") or judge.is_reference(value, is_quoted):
            return False
        is_name = judge.repeats_key(low, self.name)
        if self.grade == _WEAK:
            if self.is_sure and len(value) >= 8 and judge.is_mixed(value[1:]) and not is_name:
                return True
            least = (
                20
                if self.is_vague
                else 16
                if self.family in ("api-key", "code")
                else 8
                if is_quoted
                else 10
            )
            return len(value) >= least and judge.is_random(value) and not (self.is_vague and _is_id(value))
        if is_quoted:
            return judge.has_digit(value) or not is_name
        if self.family == "private-key-value" and len(value) < 24:
            return False
        if judge.has_digit(value):
            return self.is_own or not ((is_name and judge.is_wordy(value)) or judge.is_dotted(value))
        if self.is_sure and (
            self._follows_user() or value[1:].lower() != value[1:] or not judge.is_wordy(value)
        ):
            return not (is_name and judge.is_wordy(value))
        if not self.is_own or is_name or b"." in value:
            return False
        return self.is_set or judge.is_scrambled(value, 8) or (low == value and self.family != "api-key")


def _is_id(value: bytes) -> bool:
    """A digest or a uuid: the keys of caches and maps look like this."""
    return not value.strip(judge.HEX + b"-")


def _until(data: bytes, begin: int, most: int, ends: bytes) -> int:
    return begin + len(data[begin : begin + most].translate(ends).split(b"\n", 1)[0])


def _opened(data: bytes, place: int) -> tuple[bytes, int]:
    """The quote that stands here and how many backslashes escape it."""
    rest = data[place : place + 9]
    bare = rest.lstrip(b"\\")
    if bare and bare[0] in _QUOTES:
        return bare[:1], len(rest) - len(bare)
    return b"", 0


def _closed(data: bytes, begin: int, quote: bytes, depth: int) -> int:
    """Where the value ends: before the next quote that is escaped no more than the first one. Or 0."""
    limit = begin + _LONGEST_QUOTED
    stop = data.find(quote, begin, limit)
    for _ in range(8):
        if stop < 0:
            return 0
        before = data[max(begin, stop - 9) : stop]
        slashes = len(before) - len(before.rstrip(b"\\"))
        if slashes <= depth:
            return stop - slashes
        stop = data.find(quote, stop + 1, limit)
    return 0


def _commands(data: bytes, low: bytes, spans: "Spans") -> None:
    """What commands take as a bare argument: curl -u user:secret, mysql -psecret."""
    for command, flags, has_user in _COMMANDS:
        at = low.find(command)
        while at >= 0:
            after = at + len(command)
            line = data[after : after + 400].replace(b"\\\n", b"  ")  # one command, though on two lines
            stop = after + len(line.translate(_ENDS_LINE).split(b"\n", 1)[0])
            for flag in flags:
                place = data.find(flag, after, stop)
                span = _argument(data, place + len(flag), has_user) if place >= 0 else None
                if span:
                    spans.append((*span, "command-password"))
            at = low.find(command, after)


def _argument(data: bytes, begin: int, has_user: bool) -> "tuple[int, int] | None":
    """The secret in a command's argument, alone or behind `user:`."""
    begin += len(data[begin : begin + 2]) - len(data[begin : begin + 2].lstrip(b" ="))
    begin, end = _quoted_or_not(data, begin)
    value, user = data[begin:end], b""
    if has_user:
        user, colon, value = value.partition(b":")
        if (
            colon and not value and data[begin - 1] not in _QUOTES and _opened(data, end)[0]
        ):  # user:'secret'
            begin, end = _quoted_or_not(data, end)
            value = data[begin:end]
        elif colon and not value and len(user) > 8 and judge.is_random(user):
            return begin, end - 1  # a key in place of the user
    return (end - len(value), end) if judge.is_password(value, user) else None


def _quoted_or_not(data: bytes, begin: int) -> tuple[int, int]:
    quote, depth = _opened(data, begin)
    begin = begin + depth + 1 if quote else begin
    end = _closed(data, begin, quote, depth) if quote else 0
    return begin, end or _until(data, begin, _LONGEST, _ENDS_OWN)
