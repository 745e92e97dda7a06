"""Days, months and years that a question names, and how near to them something was said."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

_NAMES = "january february march april may june july august september october november december".split()
_MONTHS = {name: at + 1 for at, name in enumerate(_NAMES)}
_MONTHS |= {name[:3]: at for name, at in _MONTHS.items()} | {"sept": 9}
#: By themselves these are words of another kind more often than not.
_DOUBTFUL = {name for name in _MONTHS if len(name) < 5 and name not in ("june", "july")} | {"march"}
_YEAR, _TH = "(?:19|20)\\d\\d", "(?:st|nd|rd|th)?"
_MONTH = re.compile(
    rf"(?P<said>\b(?:in|of|on|during|last)\s+)?(?:\b(?P<day>\d{{1,2}}){_TH}\s+(?:of\s+)?)?"
    rf"\b(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
    rf"(?:\s+(?P<day_after>\d{{1,2}}){_TH}\b)?(?:,?\s+(?P<year>{_YEAR})\b)?"
)
_ISO = re.compile(rf"\b(?P<year>{_YEAR})-(?P<month>[01]\d)(?:-(?P<day>[0-3]\d))?\b")
_WHOLE_YEAR = re.compile(rf"\b(?:in|of|during)\s+(?P<year>{_YEAR})\b(?!-)")
#: What has happened is told on that day or some days later.
_DAYS = 7


@dataclass(frozen=True)
class Named:
    """0 is what was not said."""

    year: int = 0
    month: int = 0
    day: int = 0

    def days_away(self, when: date) -> int:
        """From the whole day, month or year; in the nearest one, where none is named: in January that is
        December of the year before."""
        around = (self.year,) if self.year else range(max(1, when.year - 1), min(9999, when.year + 1) + 1)
        return min(self._away(when, year) for year in around)

    def _away(self, when: date, year: int) -> int:
        month = self.month
        first = date(year, month or 1, min(self.day or 1, monthrange(year, month or 1)[1]))
        last = first if self.day else date(year, month or 12, monthrange(year, month or 12)[1])
        return max(0, (first - when).days, (when - last).days)


def named(text: str) -> list[Named]:
    text = text.lower()
    found = [_iso(one) for one in _ISO.finditer(text)]
    found += [_month(one) for one in _MONTH.finditer(text) if _is_month(one)]
    found += [Named(int(one["year"])) for one in _WHOLE_YEAR.finditer(text)]
    return [one for one in found if one.month <= 12 and one.day <= 31]


def nearness(at: int, those: Sequence[Named]) -> float:
    """1 for what was said then, and less from day to day, by the days of this machine."""
    if not at or not those:
        return 0.0
    try:
        when = date.fromtimestamp(at / 1000)
    except (ValueError, OverflowError, OSError):  # no time at all: a teammate may send anything
        return 0.0
    return max(0.0, *(1 - one.days_away(when) / _DAYS for one in those))


def _iso(found: re.Match[str]) -> Named:
    return Named(int(found["year"]), int(found["month"]), int(found["day"] or 0))


def _month(found: re.Match[str]) -> Named:
    day = found["day"] or found["day_after"] or 0
    return Named(int(found["year"] or 0), _MONTHS[found["month"]], int(day))


def _is_month(found: re.Match[str]) -> bool:
    is_clear = found["month"] not in _DOUBTFUL
    return is_clear or any(found[part] for part in ("said", "day", "day_after", "year"))
