"""How a test run ended, by what it printed and by its exit status.

A status speaks for the tests only where theirs is the one the shell hands on: of `pytest | tail` it is
tail's. Then what was printed decides, and where that says nothing, nothing is known.
"""

from holdfast.core.fold import called, runs_tests

#: Words after a number, as pytest, jest, vitest, mocha, cargo, rspec and others print them; `all` of them,
#: whatever became of each: `12 total`, `12 examples`.
_KINDS = {
    **dict.fromkeys(("passed", "passing", "pass"), "passed"),
    **dict.fromkeys(("failed", "failing", "fail", "failure", "failures"), "failed"),
    **dict.fromkeys(("error", "errors"), "errors"),
    **dict.fromkeys(("total", "tests", "examples"), "all"),
}
#: The summary is at the end; what comes before may be anything.
_TAIL = 4000
#: Not even begun: found nothing to run, could not be run, was told something wrong, was killed.
_NO_RUN = frozenset((4, 5, 126, 127))
_KILLED = 128
_ODD = str.maketrans(dict.fromkeys(",;:()=.|", " "))


class Outcome:
    """`count` and `failed` are 0 where nobody said how many."""

    __slots__ = ("count", "failed", "passed")

    def __init__(self, passed: bool, count: int = 0, failed: int = 0) -> None:
        self.passed = passed
        self.count = count
        self.failed = failed


def outcome(command: str, status: int, printed: str) -> Outcome | None:
    """`status` is the shell's; negative: nobody knows it. None: it is not known how the tests ended."""
    if status in _NO_RUN or status > _KILLED:
        return None
    told = _told(printed[-_TAIL:])
    if status < 0 or not _speaks(command):
        return told
    count, failed = (told.count, told.failed) if told else (0, 0)
    return Outcome(status == 0, count, failed if status else 0)


def _speaks(command: str) -> bool:
    """Whether the status of the command is that of its tests: they are what runs last, by itself."""
    last = [part for part in called(command).replace("&&", "\n").split("\n") if part.strip()][-1:]
    alone = "".join(last).replace("2>&1", "")
    return runs_tests(alone) and not any(mark in alone for mark in ("|", ";", "&"))


def _told(printed: str) -> Outcome | None:
    """From the last line that says a number of tests, and how they ended."""
    for line in reversed(printed.split("\n")):
        words = line.lower().translate(_ODD).split()
        found: dict[str, int] = {}
        for number, word in zip(words, words[1:], strict=False):  # noqa: RUF007  itertools is too dear
            kind = _KINDS.get(word)
            if kind and number.isascii() and number.isdecimal() and len(number) < 9:
                found[kind] = found.get(kind, 0) + int(number)
        passed, failed = found.get("passed", 0), found.get("failed", 0)
        errors = found.get("errors", 0)  # by themselves a linter's, or a compiler's
        count = max(found.get("all", 0), passed + failed + errors)
        if count and ("passed" in found or "failed" in found):
            return Outcome(not failed + errors, count, failed + errors)
    return None
