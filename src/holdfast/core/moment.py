"""Times in the notation of moment.js, in which a vault of Obsidian names its daily notes.

In English, weeks beginning on Sunday (`w`, `gg`) or as ISO counts them (`W`, `GG`). What stands between
brackets or behind a backslash, and every letter that means nothing, stands for itself.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from time import struct_time

_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
_LONG = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
_LONGEST = 512


def shown(pattern: str, when: "struct_time", milliseconds: int = 0) -> str:
    """A local time as the pattern says. `milliseconds`: since the epoch."""
    known = _values(when, milliseconds)
    pattern = _expanded(pattern[:_LONGEST])
    return "".join(known.get(token, literal) for token, literal in _tokens(pattern, known))


def _expanded(pattern: str) -> str:
    """With the long formats written out."""
    return "".join(_LONG.get(token, whole) for token, whole in _tokens(pattern, _LONG, whole=True))


def _tokens(pattern: str, known: dict[str, str], whole: bool = False) -> list[tuple[str, str]]:
    """(token, "") and ("", what stands for itself); `whole`: with the brackets and backslashes."""
    found, at = [], 0
    widest = max(map(len, known))
    while at < len(pattern):
        letter, escaped = pattern[at], pattern[at] == "\\"
        closing = _closing(pattern, at) if letter == "[" else -1
        if closing >= 0:
            found.append(("", pattern[at : closing + 1] if whole else pattern[at + 1 : closing]))
            at = closing + 1
            continue
        start = at + escaped
        sizes = (size for size in range(widest, 0, -1) if pattern[start : start + size] in known)
        size = next(sizes, 0)
        if escaped or not size:
            size = max(1, size)
            literal = pattern[at : start + size]
            found.append(("", literal if whole else literal.replace("\\", "")))
        else:
            found.append((pattern[start : start + size], ""))
        at = start + size
    return found


def _closing(pattern: str, at: int) -> int:
    """Of a bracket: the last that closes before another opens."""
    opens = pattern.find("[", at + 1)
    return pattern.rfind("]", at, opens if opens >= 0 else len(pattern))


def _values(when: "struct_time", milliseconds: int) -> dict[str, str]:
    year, month, day, hour, minute, second = when[:6]
    weekday, in_year = (when.tm_wday + 1) % 7, when.tm_yday
    of_twelve, quarter, of_24 = hour % 12 or 12, (month + 2) // 3, hour or 24
    week_year, week = _week(year, in_year, 0, 6)
    iso_year, iso = _week(year, in_year, 1, 4)
    offset = abs(when.tm_gmtoff or 0) // 60
    sign = "-" if (when.tm_gmtoff or 0) < 0 else "+"
    found = {
        **_counted("M", month),
        "MMM": _MONTHS[month - 1][:3],
        "MMMM": _MONTHS[month - 1],
        **_counted("Q", quarter, padded=False),
        **_counted("D", day),
        "DDD": str(in_year),
        "DDDo": _ordinal(in_year),
        "DDDD": f"{in_year:03d}",
        "d": str(weekday),
        "do": _ordinal(weekday),
        "dd": _DAYS[weekday][:2],
        "ddd": _DAYS[weekday][:3],
        "dddd": _DAYS[weekday],
        "e": str(weekday),
        "E": str(weekday or 7),
        **_counted("w", week),
        **_counted("W", iso),
        "YY": f"{year % 100:02d}",
        "YYYY": f"{year:04d}",
        "YYYYY": f"{year:05d}",
        "YYYYYY": f"+{year:06d}",
        "Y": str(year),
        **{"y" * digits: f"{year:0{digits}d}" for digits in range(1, 5)},
        "yo": _ordinal(year),
        "gg": f"{week_year % 100:02d}",
        "gggg": f"{week_year:04d}",
        "ggggg": f"{week_year:05d}",
        "GG": f"{iso_year % 100:02d}",
        "GGGG": f"{iso_year:04d}",
        "GGGGG": f"{iso_year:05d}",
        **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), "AD"),
        "NNNN": "Anno Domini",
        "A": "AM" if hour < 12 else "PM",
        "a": "am" if hour < 12 else "pm",
        **_counted("H", hour, ordinal=False),
        **_counted("h", of_twelve, ordinal=False),
        **_counted("k", of_24, ordinal=False),
        **_counted("m", minute, ordinal=False),
        **_counted("s", second, ordinal=False),
        "hmm": f"{of_twelve}{minute:02d}",
        "hmmss": f"{of_twelve}{minute:02d}{second:02d}",
        "Hmm": f"{hour}{minute:02d}",
        "Hmmss": f"{hour}{minute:02d}{second:02d}",
        "z": "",
        "zz": "",
        "Z": f"{sign}{offset // 60:02d}:{offset % 60:02d}",
        "ZZ": f"{sign}{offset // 60:02d}{offset % 60:02d}",
        "X": str(milliseconds // 1000),
        "x": str(milliseconds),
    }
    part = f"{milliseconds % 1000:03d}000000"
    return found | {"S" * digits: part[:digits] for digits in range(1, 10)}


def _counted(letter: str, number: int, padded: bool = True, ordinal: bool = True) -> dict[str, str]:
    found = {letter: str(number)}
    if padded:
        found[letter * 2] = f"{number:02d}"
    if ordinal:
        found[letter + "o"] = _ordinal(number)
    return found


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _week(year: int, in_year: int, first: int, holds: int) -> tuple[int, int]:
    """(year, week). A week begins on the day `first`; the one with January `7 + first - holds` in it is the
    first of its year."""
    week = (in_year - _offset(year, first, holds) - 1) // 7 + 1
    if week < 1:
        return year - 1, week + _weeks(year - 1, first, holds)
    weeks = _weeks(year, first, holds)
    return (year + 1, week - weeks) if week > weeks else (year, week)


def _weeks(year: int, first: int, holds: int) -> int:
    days = 365 + (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    return (days - _offset(year, first, holds) + _offset(year + 1, first, holds)) // 7


def _offset(year: int, first: int, holds: int) -> int:
    """Days from the beginning of the year to that of its first week."""
    in_it = 7 + first - holds
    before = year - 1
    new_year = (1 + 5 * (before % 4) + 4 * (before % 100) + 6 * (before % 400)) % 7
    return in_it - 1 - (new_year + in_it - 1 - first) % 7
