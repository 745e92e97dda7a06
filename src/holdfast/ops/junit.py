"""How many tests a JUnit file tells of. Whoever wrote it may have written anything.

Tests are counted one by one: what suites claim about themselves differs from tool to tool. The file is read
in pieces and nothing of it is kept; a document that declares entities, or a type, is refused before any is
looked at.
"""

from __future__ import annotations

import math
from typing import Any
from xml.parsers import expat

from holdfast.disk import files
from holdfast.errors import BadInput

_LARGEST, _PIECE = 64 << 20, 1 << 16
_DEEPEST = 64
_BROKEN = ("failure", "error")
_SUITES = ("testsuite", "testsuites")


def counted(path: str) -> tuple[int, int, float]:
    """(tests that ran, how many of them failed, seconds)."""
    reader = _Reader(path)
    try:
        with open(files.open_regular(path), "rb") as file:
            left = _LARGEST
            while piece := file.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise BadInput(f"{path} has more than {_LARGEST >> 20} MB; that is no report of tests")
                reader.parser.Parse(piece, False)
            reader.parser.Parse(b"", True)
    except expat.ExpatError as problem:
        raise BadInput(f"{path} is not XML: {problem}. Name the JUnit file of a test run") from None
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}. Name the JUnit file of a test run") from None
    except (ValueError, LookupError) as problem:  # a NUL in the name, an encoding that there is not
        raise BadInput(f"{path!a} cannot be read: {problem}") from None
    if not reader.count and not reader.failed:
        raise BadInput(f"{path} tells of no tests; name the JUnit file of a test run")
    return max(reader.count, reader.failed), reader.failed, reader.seconds


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.count = self.failed = self.skipped = 0
        self.seconds = 0.0
        self._deep = 0
        self._is_broken = self._is_skipped = False
        self._in_test = False
        self._claimed: list[int] = []  # of each suite that is open: what it says failed in it
        self._found: list[int] = []  # and what was found
        parser: Any = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse
        self.parser = parser

    def _refuse(self, *_: object) -> None:
        raise BadInput(f"{self.path} declares a document type or entities; a report of tests has none")

    def _start(self, name: str, given: dict[str, str]) -> None:
        self._deep += 1
        if self._deep > _DEEPEST:
            raise BadInput(f"{self.path} is nested more than {_DEEPEST} deep; that is no report of tests")
        if self._deep == 1 and name not in _SUITES:
            raise BadInput(f"{self.path} begins with <{name[:40]}>; a JUnit file does with <testsuites>")
        if name in _SUITES:
            if self._deep == 1:
                self.seconds = _seconds(given)
            self._claimed.append(_number(given, "errors") + _number(given, "failures"))
            self._found.append(0)
        elif name == "testcase":
            self._in_test, self._is_broken, self._is_skipped = True, False, False
            self._took = _seconds(given)
        elif self._in_test:
            self._is_broken = self._is_broken or name in _BROKEN
            self._is_skipped = self._is_skipped or name == "skipped"

    def _end(self, name: str) -> None:
        self._deep -= 1
        if name == "testcase" and self._in_test:
            self._in_test = False
            self.count += not self._is_skipped
            self.failed += self._is_broken
            if self._found:
                self._found[-1] += self._is_broken
        elif name in _SUITES and self._found:
            claimed, found = self._claimed.pop(), self._found.pop()
            more = max(0, claimed - found)  # one that could not even begin has no test that failed
            self.failed += more
            if self._found:
                self._found[-1] += found + more


def _number(given: dict[str, str], name: str) -> int:
    word = given.get(name, "")
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else 0


def _seconds(given: dict[str, str]) -> float:
    """Some write `1,234.5`."""
    try:
        took = float(given.get("time", "0").replace(",", ""))
    except ValueError:
        return 0.0
    return took if math.isfinite(took) and 0 <= took < 1e9 else 0.0
