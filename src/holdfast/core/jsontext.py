"""JSON for the hot path, through the C scanner that `json` itself is built on.

`import json` costs about as much as starting the interpreter (it pulls in `re`), so hooks talk
to `_json` directly. `_json` is private: where it is missing or has changed, `portable()` gives the
same two functions on top of `json`, and a test holds them against each other.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scan = Callable[[str, int], tuple[Any, int]]
    Dump = Callable[[object], str]

#: What a hostile or torn text makes the scanner raise. RecursionError is not a ValueError, and as
#: long as nobody has imported `json`, 3.11's scanner cannot find its own JSONDecodeError and fails
#: with SystemError ("returned NULL without setting an exception") in its place.
UNREADABLE = (ValueError, StopIteration, RecursionError, MemoryError, SystemError)


class _Rules:
    """How the scanner treats what JSON does not allow: tolerate it, never pass on NaN."""

    strict = False  # raw control characters (NUL runs) inside a string are the writer's problem
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> None:
        return None


def _unknown(value: object) -> object:
    raise TypeError("cannot be written as JSON: " + type(value).__name__)


def portable() -> "tuple[Scan, Dump]":
    import json

    decoder: Any = json.JSONDecoder(strict=False, parse_constant=_Rules.parse_constant)
    encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
    return decoder.scan_once, encoder.encode


def _native() -> "tuple[Scan, Dump]":
    import _json as private

    _json: Any = private
    encode = _json.make_encoder(
        None, _unknown, _json.encode_basestring_ascii, None, ":", ",", False, False, False
    )

    def dump(value: object) -> str:
        return "".join(encode(value, 0))

    if dump({"a": [1, None, True, 0.5, "\u2028"]}) != '{"a":[1,null,true,0.5,"\\u2028"]}':
        raise TypeError("this interpreter's _json encoder works differently")
    return _json.make_scanner(_Rules), dump


try:
    scan, dump = _native()
    NATIVE = True
except (ImportError, AttributeError, TypeError):
    scan, dump = portable()
    NATIVE = False


def text(record: dict, key: str) -> str:
    """A string, or nothing: whoever wrote the record may have put anything there."""
    value = record.get(key)
    return value if type(value) is str else ""


def record(text: str) -> dict:
    """The one that is the whole of `text`; an empty one where that is anything else."""
    try:
        value = load(text)
    except UNREADABLE:
        return {}
    return value if type(value) is dict else {}


def load(text: str) -> object:
    """The one value that is the whole of `text`; raises one of UNREADABLE otherwise."""
    text = text.strip("\ufeff \t\r\n")
    value, end = scan(text, 0)
    if end != len(text):
        raise ValueError("more than one value")
    return value
