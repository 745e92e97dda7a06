"""A test run whose result is looked at later: it went on in the background, or printed to a file.

Only what shows that run counts: the client's notice of it, a tool that asks for its output, and a look at
its file by a command that runs no tests and shows no other. A name in somebody's words is no look."""

from holdfast.core import shell, testruns
from holdfast.core.fold import NO_STATUS
from holdfast.core.outcome import FAILED, UNKNOWN, Outcome, outcome
from holdfast.core.shell import Part
from holdfast.core.started import first

#: In place of a tool: the client says by itself that a command has ended.
NOTICE = ""
_ASKING = ("BashOutput", "TaskOutput")
_RUNNING = "<status>running</status>"
#: Programs that show nothing of a file.
_QUIET = frozenset(
    ": [ cd clear date echo export false jobs ls popd printf ps pushd pwd set sleep test true wait "
    "wc".split()
)
#: They show the lines that were asked for.
_FILTERS = frozenset("grep egrep fgrep rg ag sed awk".split())
_NO_LINES = "cvoL"


def looked_at(tool: str, given: str, words: str, place: str, command: str, folder: str) -> "Outcome | None":
    """How the run of `command`, which can be found at `place`, ended, as what a tool was given and printed
    shows; None: that is not known by it. `folder`: where the session works."""
    status, is_filtered, goes_on = NO_STATUS, False, place.endswith(".output") or _is_left_alone(command)
    if tool in (NOTICE, *_ASKING):
        if given != place:
            return None
        status, goes_on = _told_status(words), tool != NOTICE and _RUNNING in words
    elif tool == "Read":
        if not _is_same(given, place, folder, "cd " in command):
            return None
    elif tool == "Bash":
        parts = _parts(given)
        if not _only_shows(parts, place, folder, "cd " in f"{command} {given}"):
            return None
        is_filtered = any(first(part) in _FILTERS for part in parts)
    else:
        return None
    tests = outcome(command, status, words, is_elsewhere=True)
    if not tests or tests.ended == UNKNOWN or (tests.ended != FAILED and goes_on and tool in _ASKING):
        return None
    if tests.ended != FAILED and status == NO_STATUS and (goes_on or is_filtered):
        runners = [run.runner for run in testruns.Runs(command).found]
        if not all(runner and runner.is_one_line and not runner.adds for runner in runners):
            return None  # there may be more to come, or to see
    return tests


def _parts(command: str) -> "list[Part]":
    """Its simple commands; none of one that runs tests, or was not read to its end."""
    whole = shell.read(command)
    return [] if whole.is_cut or testruns.runs_tests(command) else shell.simple(whole)


def _only_shows(parts: "list[Part]", place: str, folder: str, moves: bool) -> bool:
    shows = False
    for part in parts:
        program = first(part)
        if program in _FILTERS and any(_hides(word.value) for word in part.words):
            return False
        if program and program not in _QUIET and program not in testruns.SHOW_FILES:
            return False
        for path in testruns.files_shown(part):
            if not _is_same(path, place, folder, moves):
                return False
            shows = True
    return shows


def _hides(word: str) -> bool:
    """`-c`, `-v`, `-o`: not the lines that hold what is sought."""
    return word[:1] == "-" and word[:2] != "--" and any(letter in word for letter in _NO_LINES)


def _is_same(path: str, place: str, folder: str, moves: bool) -> bool:
    """`moves`: the command may have been in another folder than the session, so the end of the path
    counts."""
    path, place = path.removeprefix("./"), place.removeprefix("./")
    if path == place or f"{folder}/{path}" == place or path == f"{folder}/{place}":
        return True
    if path[:1] == place[:1] == "/" or not moves:
        return False
    short, long = sorted((path, place), key=len)
    return short[:1] not in "/~." and long.endswith("/" + short)


def _is_left_alone(command: str) -> bool:
    """Whether the shell goes on while part of it runs."""
    for joined in ("&&", "2>&1", "&>", ">&"):
        command = command.replace(joined, " ")
    return "&" in command


def _told_status(words: str) -> int:
    """The exit status in a notice or in what a tool says of a command in the background; NO_STATUS: none
    is told."""
    for mark in ("<exit_code>", "(exit code ", "exit code: ", "with exit code "):
        digits = words.partition(mark)[2][:4].split("<")[0].split(")")[0].split("\n")[0].strip()
        if digits.isdecimal() and digits.isascii():
            return int(digits)
    return NO_STATUS
