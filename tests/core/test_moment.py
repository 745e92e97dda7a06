"""Times in moment's notation. What is expected here was printed by moment.js 2.31 itself."""

import calendar
import time

import pytest

from holdfast.core.moment import shown

AT = calendar.timegm((2027, 1, 3, 15, 4, 5)) * 1000 + 67  # a Sunday


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("YYYY-MM-DD", "2027-01-03"),
        ("YYYY/MM-MMMM/YYYY-MM-DD dddd", "2027/01-January/2027-01-03 Sunday"),
        ("Do MMM YY, ddd dd d", "3rd Jan 27, Sun Su 0"),
        ("DDD DDDD DDDo Q Qo", "3 003 3rd 1 1st"),
        ("gggg-[W]ww e", "2027-W02 0"),
        ("GGGG-[W]WW E", "2026-W53 7"),
        ("HH:mm:ss.SSS hh A h a k", "15:04:05.067 03 PM 3 pm 15"),
        ("Hmm hmmss", "1504 30405"),
        ("X x Z ZZ", f"{AT // 1000} {AT} +00:00 +0000"),
        ("L LT LL llll", "01/03/2027 3:04 PM January 3, 2027 Sun, Jan 3, 2027 3:04 PM"),
        ("[Day of] DD", "Day of 03"),
        ("[a]b] YYYY", "a]b 2027"),
        ("[never closed YYYY", "[n0v0r c1/3/2027o500 2027"),  # so every letter counts
        (r"\YYYY \L", "YYYY L"),
        ("ü–YYYY!", "ü–2027!"),
        ("", ""),
    ],
)
def test_a_pattern(pattern, expected):
    assert shown(pattern, time.gmtime(AT / 1000), AT) == expected


@pytest.mark.parametrize(
    ("day", "week", "iso"),
    [
        ((2020, 12, 31), "2021-01", "2020-53"),
        ((2021, 1, 1), "2021-01", "2020-53"),
        ((2022, 1, 2), "2022-02", "2021-52"),
        ((2024, 12, 30), "2025-01", "2025-01"),
        ((2026, 12, 27), "2027-01", "2026-52"),
    ],
)
def test_the_weeks_around_new_year(day, week, iso):
    when = time.gmtime(calendar.timegm((*day, 12, 0, 0)))
    assert shown("gggg-ww", when) == week
    assert shown("GGGG-WW", when) == iso
