"""Whether a value looks like a secret, or like an example, a variable, a type, a path or a name.

Only the form is looked at, never a dictionary: what documentation puts in place of secrets is a short
list of words, what code puts there has brackets, dots and dollar signs.
"""

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGITS = b"0123456789"
HEX = b"0123456789abcdefABCDEF"
NAME = LETTERS + DIGITS + b"_-"
BASE64 = LETTERS + DIGITS + b"+/="

#: What stands for a placeholder of ours while a text is looked at: a byte that is part of no secret.
MASK = b"\1"

#: What an example is made of.
_EXAMPLES = tuple(
    b"xxxx **** .... ---- ____ 0000000 your example changeme change_me change-me placeholder redacted "
    b"dummy insert replace todo fixme foobar -here _here enter not-a- notasecret \xe2\x80\xa6 "
    b"\xe2\x80\xa2".split()
)
#: Values that are words about a secret.
_WORDS = frozenset(
    b"none null nil true false undefined string str text bytes number int integer boolean bool object "
    b"any void required optional invalid missing hidden default disabled enabled password passwd "
    b"passphrase secret token basic bearer oauth oauth2 apikey api_key header query cookie input field "
    b"username unknown empty auto manual always never prompt plain static dynamic internal external "
    b"private public sensitive masked encrypted hashed expired revoked generated provided incorrect "
    b"wrong correct match mismatch strong weak value secretstr buffer uint8array filename filepath "
    b"environ getenv keyring keychain vault inherit reset forgot change update create delete login "
    b"logout signin signup request response session function return async await const class import "
    b"export self this props state config settings options params random test testing tests sample "
    b"secrets tokens passwords credentials mysecret mypassword supplied specified obtained received "
    b"accepted rejected denied granted allowed verified ignore ignored literal pattern regex scanner "
    b"detect detected detection redact redaction pass pwd user key host port pat aws4-hmac-sha256".split()
)
_KEY_WORDS = (b"pass", b"secret", b"token", b"key", b"auth", b"cred", b"pwd")
#: How a variable, a template or a path begins; how code does; what a template has inside.
_STARTS = (
    *b"${ $( {{ {% < %( %{ %s %d ENC[ #{ arn: { [ ./ ../ ~/ vault: op: env: file: id= src= type=".split(),
    *(b"sha256:", b"sha512-", b"sha384-", b"sha1-", MASK),
)
_CODE = tuple(
    b"process. os. env. self. this. config. settings. args. req. request. ctx. data. system. import. "
    b"secrets. var. local. module. github. steps.".split()
)
_INSIDE = (b"${", b"{{", b"$(", b"#{", b"://", b"\\n", b"\n", MASK)

_JOINTS = bytes.maketrans(b"-_./:+=@~", b" " * 9)


def is_placeholder(low: bytes) -> bool:
    """An example or stars where a secret should stand. (The value in small letters.)"""
    return len(set(low)) < 4 or any(map(low.__contains__, _EXAMPLES))


def has_digit(value: bytes) -> bool:
    return len(value.translate(None, DIGITS)) < len(value)


def is_mixed(value: bytes) -> bool:
    """Digits and letters, or small and large letters."""
    if has_digit(value) and len(value.translate(None, LETTERS)) < len(value):
        return True
    return value.lower() != value and value.upper() != value


def is_random(value: bytes) -> bool:
    """Mixed, and not just words and numbers joined by dashes, dots and the like."""
    return is_mixed(value) and not is_wordy(value)


def is_wordy(value: bytes) -> bool:
    for piece in value.translate(_JOINTS).split(b" "):
        core = piece.strip(DIGITS)
        if core and (not core.isalpha() or len(piece) - len(core) > 4 or is_scrambled(core)):
            return False
    return True


def is_scrambled(letters: bytes, least: int = 16) -> bool:
    """As many large letters as small ones: hardly a name made of words has that."""
    large = len(letters) - len(letters.translate(None, LETTERS[:26]))
    return len(letters) >= least and len(letters) < 3 * large < 2 * len(letters)


def is_reference(value: bytes, is_quoted: bool) -> bool:
    """A variable, a template, a path or code instead of the value itself."""
    low = value.lower()
    if value.startswith(_STARTS) or any(map(value.__contains__, _INSIDE)):
        return True
    first, rest = value[:1], value[1:]
    if first in (b"$", b"!", b"&", b"*") and not rest.strip(LETTERS + b"_") and is_wordy(rest):
        return True  # $TOKEN, !vault, &anchor, *alias
    if first == b"+" and (b"(" in value or value[-1:] == b"+"):
        return True  # between two strings that are joined
    if first == b"/" and (
        len(value) < 32 or value.count(b"/") > 6 or value.strip(BASE64) or is_wordy(value)
    ):
        return True
    if (first == b"%" and value[-1:] == b"%") or (b"{" in value and b"}" in value):
        return True
    if is_quoted:
        return False
    if first in (b"&", b"*", b"(", b"@", b"-", b".") and is_wordy(rest):
        return True
    if low.startswith(_CODE) and is_dotted(value.rstrip(b"!?")):
        return True
    return b"(" in value or b"[" in value or b"{" in value or b"=>" in value


def is_dotted(value: bytes) -> bool:
    """`settings.api_v2.token`: attributes of an object."""
    pieces = value.split(b".")
    return len(pieces) > 1 and all(p[:1].isalpha() and len(p) < 32 and not p.strip(NAME) for p in pieces)


def repeats_key(low: bytes, name: bytes) -> bool:
    """`password: Password`, `token = get_token`: a value made of the words of keys is a name."""
    return low in name or any(map(low.__contains__, _KEY_WORDS))


def is_word(low: bytes) -> bool:
    return low in _WORDS


def is_password(value: bytes, user: bytes = b"") -> bool:
    """In an address or a command, where a password stands for certain."""
    low = value.lower()
    if len(value) < 3 or is_word(low) or low == user.lower() or is_placeholder(low + b"abc"):
        return False
    return not (value.isdigit() and len(value) < 6) and not is_reference(value, True)


def is_credential(value: bytes) -> bool:
    """In a header, where a credential stands for certain, but words about it do too."""
    low = value.lower()
    if len(value) < 8 or is_word(low) or is_placeholder(low) or is_reference(value, False):
        return False
    return is_random(value) or (len(value) >= 12 and is_mixed(value) and not is_dotted(value))
