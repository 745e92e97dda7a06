"""How a test run ended: by what the runner printed of it, and by its exit status where the shell hands
that on.

Of `pytest | tail` the shell's status is tail's; of `pytest || true` it is nobody's. What the runner printed
counts first. Where the two contradict each other a printed failure stands, and a printed success does not.
"""

from holdfast.core import printed
from holdfast.core.testruns import Echo, Run, Runs

PASSED, FAILED, NONE, UNKNOWN = "passed", "failed", "none", "unknown"
#: A shell's status of what was not run, was not found, or was killed; of `timeout` when time was up.
_NOT_RUN, _KILLED, _TIMED_OUT = (126, 127), 128, 124
#: What pytest and unittest end with when there was nothing to run, or when they were called wrongly.
_EMPTY, _MISUSED = 5, 4
#: How the client says, behind what a command printed so far, that it goes on, or was ended.
_GOES_ON = (
    "moved to the background (ID: ",
    "backgrounded by user with ID: ",
    "running in background with ID: ",
)
_NOT_ENDED = (
    *_GOES_ON,
    *("running in the background on ", "aborted before completion", '"status":"working"'),
    *("Command timed out after ", "[Request interrupted by user"),
)
_LAST_WORDS = 800
_MOST_ECHOES = 16
_CUT_OFF = ("truncated] ...", "truncated]", "truncated)", "[truncated]")
#: Where what was printed ends before its end, because the client shows only the beginning.
_SHOWN_IN_PART = ("Full output saved to", "[Output truncated", "output truncated]", "characters truncated]")
#: The runner was not begun: a folder that was to be entered first, the task or the program is not there.
_NOT_BEGUN = (
    *("no such file or directory", "not a directory", "can't cd to", ": cd: ", "missing script: "),
    *("err_pnpm_no_script", "no rule to make target", "couldn't find a script named", "script not found "),
    *("does not contain recipe", "failed to spawn: ", "command not found", "error: no such command: "),
    *("no test specified", "don't know how to build task", "could not locate gemfile", "there is no pom"),
    *("could not find `cargo.toml`", "could not read package.json", "go.mod file not found"),
    *("cannot find main module", "cannot connect to the docker daemon", "no such container"),
    *("no such service: ", "not found in root project", "is not running"),
)
_LOOKED_AT = 1000


class Outcome:
    """`ended`: PASSED, FAILED, NONE where no test was run, UNKNOWN. The counts are 0 where nobody said
    how many. `named` is the command that ran the tests, `status` its own exit status, None where that is
    not known; `elsewhere` are files and ids by which more of what it prints can be found."""

    __slots__ = ("elsewhere", "ended", "errors", "failed", "named", "passed", "skipped", "status")

    def __init__(self, ended: str, named: str, status: "int | None" = None) -> None:
        self.ended = ended
        self.named = named
        self.status = status
        self.passed = self.failed = self.errors = self.skipped = 0
        self.elsewhere: list[str] = []

    @property
    def is_known(self) -> bool:
        return self.ended in (PASSED, FAILED)

    @property
    def is_good(self) -> bool:
        return self.ended == PASSED

    @property
    def count(self) -> int:
        return self.passed + self.failed + self.errors

    def said(self) -> str:
        """`19 failed, 274 passed`; `failed, exit 1`; `result not known`."""
        if self.ended == UNKNOWN:
            return "result not known"
        if self.ended == NONE:
            return "no tests ran"
        counts = [(self.failed, "failed"), (self.errors, _errors(self.errors)), (self.passed, "passed")]
        told = ", ".join(f"{number} {word}" for number, word in counts if number)
        if self.ended == FAILED and not self.failed + self.errors:
            told = f"failed, {told}" if told else "failed"
        told = told or self.ended
        return told if self.count or self.status is None else f"{told}, exit {self.status}"

    def with_status(self) -> str:
        """The same, and the exit status in any case where it is that of the tests."""
        return (
            f"exit {self.status}: {self.said()}" if self.count and self.status is not None else self.said()
        )


def tells_failure(line: str) -> bool:
    """Whether a line of ours says behind its arrow that tests failed: `pytest -q → 19 failed, …`."""
    told = line.rpartition("` → ")[2] if "` → " in line else line.partition(" → ")[2]
    if told.startswith("exit "):
        told = told.partition(": ")[2]
    return told.partition(",")[0].partition(":")[0].endswith(("failed", " error", " errors"))


def _errors(number: int) -> str:
    return "error" if number == 1 else "errors"


def named(command: str) -> str:
    """The part of a command that is sure to run tests; "": none is."""
    return _named([run for run in Runs(command).found if run.is_sure])


def outcome(
    command: str, status: int, text: str, in_background: bool = False, is_elsewhere: bool = False
) -> "Outcome | None":
    """`status` is the shell's, negative where it is not known; `text` what was printed, or,
    `is_elsewhere`, what it wrote to a file. None: the command is not known to have run tests."""
    runs = Runs(command)
    if not runs.found:
        return None
    found = [] if runs.is_silent and not is_elsewhere else _summaries(runs.found, text)
    found = _of_the_last(runs, [one for one in found if _is_of_tests(one, runs.found)])
    sure = [run for run in runs.found if run.is_sure]
    if not sure and not found:
        return None
    ended = Outcome(UNKNOWN, _named(sure or runs.found))
    has_ended = not in_background and not any(mark in text[-_LAST_WORDS:] for mark in _NOT_ENDED)
    shown = _shown(runs, found, text)
    own = _own(runs, status, text) if has_ended and sure else UNKNOWN
    if own in (PASSED, FAILED) and _is_own(runs):
        ended.status = status
    if shown == FAILED:
        ended.ended = FAILED
    elif not has_ended or _was_stopped(status):
        ended.ended = UNKNOWN
    elif shown == PASSED:
        ended.ended = UNKNOWN if own == FAILED else PASSED
    elif shown == NONE:
        ended.ended = NONE
    elif not _is_vain(own, found):
        ended.ended = own
    if ended.ended == UNKNOWN:
        ended.elsewhere = [path for run in runs.found for path in run.into] + _places(text)
    if ended.ended in (PASSED, FAILED):
        _count(ended, found, runs.found)
    return ended


def _is_of_tests(one: printed.Summary, runs: list[Run]) -> bool:
    """That something was built says nothing of tests, unless they were asked for."""
    if one.counts or one.is_good is None or one.runner.name not in _BUILD:
        return True
    return any(run.is_sure and run.runner in (one.runner, None) for run in runs)


def _of_the_last(runs: Runs, found: "list[printed.Summary]") -> "list[printed.Summary]":
    """Where every run printed one, those of the runs that were not run again."""
    is_one_each = len(found) == len(runs.found) and all(
        run.is_sure and not run.is_instead and run.runner and not run.runner.adds for run in runs.found
    )
    return [found[number] for number in sorted(runs.required)] if is_one_each else found


def _is_vain(own: str, found: "list[printed.Summary]") -> bool:
    """Whether a status says nothing: of a run that was stopped, or, where it is 0, of one that ran
    nothing."""
    if own == PASSED and found and all(one.ended == printed.NONE for one in found):
        return True
    return any(one.ended == printed.STOPPED and one.runner.calls for one in found)


def _places(text: str) -> list[str]:
    """Where the client says that the rest is, and by what id a command that goes on is asked for."""
    found = []
    for mark in (*_GOES_ON, "saved to: ", "written to: "):
        _, is_there, rest = text.partition(mark)
        word = rest.partition("\n")[0].split(" ")[0].strip("().,") if is_there else ""
        if word:
            found.append(word)
    return found


def _named(runs: list[Run]) -> str:
    return "; ".join(dict.fromkeys(run.named for run in runs))


def _summaries(runs: list[Run], text: str) -> "list[printed.Summary]":
    """What each of the runners printed; what a task or a script runs may be any."""
    known = {run.runner.name: run.runner for run in runs if run.runner}
    if len(known) == 1 and all(run.runner for run in runs):
        (runner,) = known.values()
        found = printed.summaries(text, runner)
        if found or runner.name not in _OTHERS:
            return found
    return printed.summaries(text, None)


#: They run other runners, which print their own.
_OTHERS = (
    "tox",
    "nox",
    "bazel test",
    "minitest",
    "automake",
    "meson test",
    "ctest",
    "gradle",
    "phpunit",
    "mix test",
)
#: Their sentences are of a whole build.
_BUILD = ("gradle", "maven", "tox", "nox")


def _shown(runs: Runs, found: "list[printed.Summary]", text: str) -> str:
    """What was printed says, as far as it is whole."""
    kinds = [one.ended for one in found]
    may_be_more = any(run.runner is None or run.runner.adds for run in runs.found)
    asked = sum(runs.found[number].is_sure for number in runs.required)
    if runs.shows_files and (runs.is_filtered or (len(found) > asked and not may_be_more)):
        return UNKNOWN  # it may be what a file said
    if printed.FAILED in kinds:
        return FAILED
    if printed.STOPPED in kinds or not kinds:
        return UNKNOWN
    is_cut = 0 < runs.lines <= text.count("\n") + 1 or any(mark in text for mark in _SHOWN_IN_PART)
    is_cut |= text.rstrip().endswith(_CUT_OFF)
    if (may_be_more and (is_cut or runs.hides_bad)) or runs.hides_words:
        return UNKNOWN
    if runs.is_cut or (
        is_cut and not found[-1].runner.is_one_line
    ):  # the line that counts what failed may be missing
        return UNKNOWN
    if len(found) < asked:
        return UNKNOWN
    if printed.PASSED in kinds:
        return PASSED
    return UNKNOWN if runs.is_filtered or (runs.is_piped and may_be_more) else NONE


def _own(runs: Runs, status: int, text: str) -> str:
    """What the exit status says, or a line in which the command printed one."""
    said = _by_status(runs.status, runs, status, text)
    for echo in runs.echoes[:_MOST_ECHOES] if said == UNKNOWN else ():
        heard = _heard(echo, text)
        if heard is not None:
            said = _by_status(echo.status, runs, heard, text)
            if said != UNKNOWN:
                break
    return said


def _by_status(owner, runs: Runs, status: int, text: str) -> str:  # type: ignore[no-untyped-def]
    if status < 0 or status in _NOT_RUN or _was_stopped(status):
        return UNKNOWN
    if status == 0:
        return PASSED if owner.good >= runs.required else UNKNOWN
    if not owner.tells_bad or _was_not_begun(text[:_LOOKED_AT]):
        return UNKNOWN
    names = {run.runner.name if run.runner else "" for run in runs.found}
    if status == _EMPTY and names <= {"pytest", "unittest", ""}:
        return NONE if "pytest" in names or "unittest" in names else UNKNOWN
    return UNKNOWN if status == _MISUSED and names & {"pytest", ""} else FAILED


def _was_not_begun(text: str) -> bool:
    lowered = text.lower()
    if any(mark in lowered for mark in _NOT_BEGUN):
        return True
    # Python's own words; in those of a test that imports, the name is in quotes.
    return any(
        line.rpartition(": ")[2].startswith("no module named ") and "'" not in line
        for line in lowered.split("\n")
    )


def _heard(echo: Echo, text: str) -> "int | None":
    """The status that a line of what was printed tells."""
    for line in reversed(text.split("\n")):
        line = line.strip()
        if echo.is_word:
            if line == echo.before:
                return 1 if echo.is_bad else 0
        elif line.startswith(echo.before) and line.endswith(echo.after):
            number = line[len(echo.before) : len(line) - len(echo.after)].strip()
            if number.isdecimal() and number.isascii() and len(number) < 4:
                return int(number)
    return None


def _was_stopped(status: int) -> bool:
    return status == _TIMED_OUT or status > _KILLED


def _is_own(runs: Runs) -> bool:
    return runs.status.good >= runs.required


def _count(ended: Outcome, found: "list[printed.Summary]", runs: list[Run]) -> None:
    """Of a runner that sums up once, and was called once, one summary counts: the last that says how it
    ended. Others are added up."""
    for runner in dict.fromkeys(one.runner for one in found):
        every = [one for one in found if one.runner is runner]
        if not runner.adds and sum(run.runner is runner for run in runs) < 2:
            every = [one for one in every if one.ended == ended.ended][-1:]
        for one in every:
            passed, failed, errors, skipped = one.totals()
            ended.passed += passed
            ended.failed += failed
            ended.errors += errors
            ended.skipped += skipped
