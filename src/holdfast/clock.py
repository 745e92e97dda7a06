"""The only reader of time and of randomness. Inside the program time is epoch milliseconds; on disk
RFC 3339 UTC."""

import posix
import time

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def now() -> int:
    return int(time.time() * 1000)


#: Seconds that only go forward, for budgets: the wall clock may be set back in the middle.
elapsed = time.monotonic


def rfc3339(at: int) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 1000))}.{at % 1000:03d}Z"


def at(words: str) -> int:
    """The time that `rfc3339` wrote. What could read it in the library costs a hook too much."""
    year, month, day = int(words[:4]), int(words[5:7]), int(words[8:10])
    minutes = int(words[11:13]) * 60 + int(words[14:16])
    year -= month < 3  # so that a leap day is the last of its year
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day
    return ((days - 719_469) * 1440 + minutes) * 60_000 + int(words[17:19] + words[20:23])


def new_id(at: int) -> str:
    """A ULID: 48 bits of time, then 80 random ones; as text it sorts by time."""
    number = (at & ((1 << 48) - 1)) << 80 | int.from_bytes(posix.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def id_time(uid: str) -> int:
    """The time in a ULID; 0 for what is none."""
    if len(uid) != 26 or not frozenset(_CROCKFORD).issuperset(uid):
        return 0
    number = 0
    for letter in uid[:10]:
        number = number << 5 | _CROCKFORD.index(letter)
    return number
