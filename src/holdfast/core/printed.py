"""What a test runner says of a run in what it printed: the counts and sentences of its own summary.

The table of `runners` says which lines count. Every other line is a log, a test's own output or a file
that was shown, whatever words it holds."""

from holdfast.core.runners import RUNNERS, Runner

#: How a run ended, as far as what was printed says.
PASSED, FAILED, NONE, STOPPED = "passed", "failed", "none", "stopped"
#: Of a longer text the beginning and the end are read.
_BEGINNING, _ENDING = 1 << 14, 1 << 16
_LONGEST_LINE = 400
#: What a number before, or behind, one of these words counts.
_KINDS = {
    **dict.fromkeys(
        ("passed", "passing", "passes", "pass", "succeeded", "successful", "successes"), "passed"
    ),
    **dict.fromkeys(("success", "ok"), "passed"),
    **dict.fromkeys(("xfailed", "xpassed"), "expected"),
    **dict.fromkeys(("failed", "failing", "fails", "fail", "failure", "failures"), "failed"),
    **dict.fromkeys(("error", "errors", "errored", "crashed"), "errors"),
    **dict.fromkeys(("skipped", "skip", "skips", "pending", "todo", "ignored", "deselected"), "skipped"),
    **dict.fromkeys(("excluded", "incomplete", "risky", "disabled", "cancelled", "canceled"), "skipped"),
    **dict.fromkeys(
        ("total", "tests", "test", "runs", "run", "examples", "example", "specs", "spec"), "all"
    ),
    **dict.fromkeys(("testcases", "doctests", "doctest", "properties", "property"), "all"),
    **dict.fromkeys(("warnings", "warning", "assertions", "assertion", "suites", "suite", "files"), ""),
    **dict.fromkeys(("measured", "filtered", "rerun", "reruns", "retried", "snapshots", "invalid"), ""),
    **dict.fromkeys(
        ("subtests", "notices", "deprecations", "warns", "flaky", "slow", "leaky", "todos"), ""
    ),
    **dict.fromkeys(("deprecated", "omissions", "notifications", "exceptions", "exec", "skippable"), ""),
}
#: Nouns that may stand between a number and what became of so many of them.
_NOUNS = frozenset(("test", "tests", "spec", "specs", "scenarios", "scenario", "subtests", "cases"))
_FILLERS = frozenset(("and", "with", "in", "out"))
_PUNCTUATION = str.maketrans(
    {**dict.fromkeys(',;:()[]{}=|!*"`•●✓✔✘✗✖×⨯ℹ►▶❯─━│┃├└┘┐┌⎯#?<>', " "), "’": "'", "%": " percent "}
)
#: Spaces within a number, and what else parts its thousands.
_NARROW = str.maketrans({"\u00a0": "'", "\u202f": "'", "\u2009": "'"})
_THOUSANDS = ",.'_"
_TIMES = ("s", "ms", "m", "h", "sec", "secs", "µs", "us", "ns")
#: What stands before a line of another's output: a program that starts the runner says whose line it is.
_LABELS = (": ", "| ", "] ", "> ", "→", "\t")
_MOST_LABELS = 3


class Summary:
    """`counts` by kind, as far as they were printed. `is_good`: a sentence says so; None: none does;
    `is_whole`: its counts, and the time it took, were on one line."""

    __slots__ = ("counts", "is_good", "is_none", "is_stopped", "is_whole", "runner")

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.counts: dict[str, int] = {}
        self.is_good: bool | None = None
        self.is_none = False
        self.is_stopped = self.is_whole = False

    @property
    def ended(self) -> str:
        counts = self.counts
        if self.is_good is False or counts.get("failed", 0) + counts.get("errors", 0):
            return FAILED
        if self.is_stopped:
            return STOPPED
        if "passed" in counts or "expected" in counts:
            ran = counts.get("passed", 0) + counts.get("expected", 0)
        elif "all" in counts and ("failed" in counts or self.is_good):
            ran = counts["all"] - counts.get("skipped", 0)
        elif self.is_good:
            ran = 0 if self.is_none else 1
        elif self.is_none or counts.get("all") == 0 or (counts and not counts.keys() - {"skipped"}):
            return NONE
        else:
            return ""
        return PASSED if ran > 0 else NONE

    def totals(self) -> tuple[int, int, int, int]:
        """(passed, failed, errors, skipped)"""
        counts = self.counts
        failed, errors, skipped = (counts.get(kind, 0) for kind in ("failed", "errors", "skipped"))
        passed = counts.get("passed", -1)
        if passed < 0:
            rest = counts.get("all", 0) - failed - errors - skipped
            passed = max(0, rest) if self.ended in (PASSED, FAILED) and "all" in counts else 0
        return passed, failed, errors, skipped


def summaries(text: str, runner: Runner | None) -> list[Summary]:
    """Those in a text, in order; without a runner: of any."""
    if len(text) > _BEGINNING + _ENDING:
        text = f"{text[:_BEGINNING]}\n{text[-_ENDING:]}"
    table = _lines_of(runner)
    found: list[Summary] = []
    for line in plain(text).split("\n"):
        if len(line) > _LONGEST_LINE:
            continue
        for part in _unlabelled(line):
            said = _said(table, words(part), runner is None)
            if said:
                _take(found, *said)
                break
    return [one for one in found if one.ended]


def plain(text: str) -> str:
    """Without colours and other control sequences; of a line that was written over, what is seen in the
    end."""
    if "\x1b" in text:
        first, *rest = text.split("\x1b")
        text = first + "".join(map(_after_escape, rest))
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text


def _after_escape(part: str) -> str:
    if part[:1] == "]":  # a title, a link
        end = part.find("\x07")
        return part[end + 1 :] if end >= 0 else ""
    if part[:1] != "[":
        return part[1:] if part[:1] != "(" else part[2:]
    for at in range(1, min(len(part), 32)):
        if part[at].isalpha() or part[at] in "@~":
            return part[at + 1 :]
    return ""


def words(line: str) -> list[str]:
    found: list[str] = []
    for word in line.translate(_NARROW).split():
        number = _number(word.strip("()[],;:=#.")) if word[-1:].isdigit() or word[:1].isdigit() else ""
        if number:
            found.append(number)
            continue
        for part in word.translate(_PUNCTUATION).lower().split():
            part = part.strip("'").rstrip(".")
            above, slash, below = part.partition("/")
            if slash and above.isdigit() and below.isdigit():
                found += [above, "of", below]
            elif any(map(str.isalnum, part)):
                found.append(part)
    return found


def _number(word: str) -> str:
    """`1,234`, `1.234`, `1'234` as 1234; "" of what is no number of things."""
    if not word.isascii() or len(word) > 12:
        return ""
    if word.isdigit():
        return word
    for mark in _THOUSANDS:
        first, *groups = word.split(mark)
        if groups and 0 < len(first) < 4 and all(len(one) == 3 and one.isdigit() for one in groups):
            return first + "".join(groups) if first.isdigit() else ""
    return ""


def _unlabelled(line: str) -> "list[str]":
    """The line, and what of it stands behind a label."""
    found = [line]
    at = 0
    while len(found) <= _MOST_LABELS:
        ends = [(end, len(mark)) for mark in _LABELS if (end := line.find(mark, at)) >= 0]
        if not ends:
            break
        at = sum(min(ends))
        found.append(line[at:])
    return found


def _take(
    found: list[Summary], runner: Runner, meaning: str, counts: dict[str, int], is_whole: bool
) -> None:
    """Lines that say different things of one run belong together."""
    last = next((one for one in reversed(found) if one.runner is runner), None)
    if meaning == "~":
        if counts.get("failed", 0) + counts.get("errors", 0) == 0:
            return
        meaning, counts = "-", {}
    if last is not None and (_begins(last, meaning, counts) or (last.is_whole and is_whole)):
        last = None
    if last is None:
        last = Summary(runner)
        found.append(last)
    last.counts.update(counts)
    last.is_whole |= is_whole
    if meaning == "+":
        last.is_good = True
    elif meaning == "-":
        last.is_good = False
    elif meaning == "0":
        last.is_none = True
    elif meaning == "?":
        last.is_stopped = True


def _begins(last: Summary, meaning: str, counts: dict[str, int]) -> bool:
    """Whether a line is the first of another summary: what it says has been said of the last one."""
    if meaning == "=":
        return bool(last.counts.keys() & counts.keys()) or (last.is_good is not None and "all" in counts)
    return last.is_good is not None and meaning in "+0"


def _said(table: dict, line: list[str], is_any: bool) -> "tuple[Runner, str, dict[str, int], bool] | None":
    if not line or len(line) > 64:
        return None
    first = "#" if line[0][0].isdigit() else line[0]
    for key in (first, "_"):
        for runner, meaning, template in table.get(key, ()):
            counts: dict[str, int] = {}
            if _fits(template, 0, line, 0, counts) and _is_plausible(template, counts, is_any):
                return runner, meaning, counts, "{counts}" in template and "#t" in template
    return None


def _is_plausible(template: list[str], counts: dict[str, int], is_any: bool) -> bool:
    """A bare count (`3 errors`) is a linter's or a compiler's as well."""
    if template[0] == "{counts}" and len(template) == 1:
        return "passed" in counts or "failed" in counts or ("errors" in counts and not is_any)
    return True


def _fits(template: list[str], at: int, line: list[str], place: int, counts: dict[str, int]) -> bool:
    while at < len(template):
        want = template[at]
        at += 1
        if want == "…":
            if at == len(template):
                return True
            return any(_fits(template, at, line, one, counts) for one in range(place, len(line)))
        if want == "{counts}" or want == "{named}":
            ended = (_counts if want == "{counts}" else _named)(line, place, counts)
            if ended == place:
                return False
            place = ended
            continue
        if place == len(line):
            return False
        word = line[place]
        place += 1
        if want == "_":
            continue
        if want[0] == "{":
            if not (word.isdigit() and word.isascii() and len(word) < 9):
                return False
            counts[want[1:-1]] = int(word)
        elif want == "#":
            if not word[0].isdigit() and word not in ("a", "one", "no"):
                return False
        elif want == "#t":
            if not is_time(word):
                return False
        elif word != want:
            return False
    return place == len(line)


def is_time(word: str) -> bool:
    number = word.rstrip("abcdefghijklmnopqrstuvwxyzµ")
    unit = word[len(number) :]
    return number[:1].isdigit() and (unit in _TIMES or ("." in number and not unit) or ":" in number)


def _counts(line: list[str], at: int, counts: dict[str, int]) -> int:
    """Numbers, each before what it counts, up to where that is no longer so."""
    ended = at
    while at < len(line):
        if line[at] in _FILLERS and at > ended - 1 and at + 1 < len(line) and not line[at + 1].isalpha():
            at += 1
        elif line[at] == "of" and at + 1 < len(line) and line[at + 1].isdigit():
            counts["all"] = int(line[at + 1])
            at = ended = at + 2
            continue
        number = line[at]
        if not (number.isdigit() and number.isascii() and len(number) < 9):
            break
        kind = line[at + 1] if at + 1 < len(line) else ""
        more = line[at + 2] if at + 2 < len(line) else ""
        if kind in _NOUNS and more in _KINDS and _KINDS[more] not in ("", "all"):
            kind, at = more, at + 1
        if kind in _KINDS:
            name = _KINDS[kind]
            if name:
                counts[name] = counts.get(name, 0) + int(number)
            at = ended = at + 2
            if kind == "filtered" and line[at : at + 1] == ["out"]:
                at = ended = at + 1
        elif (not kind or kind[0].isdigit() or kind in ("of", "in", "percent")) and counts:
            counts.setdefault("all", int(number))  # `1 failed | 2 passed (3)`
            at = ended = at + 1
            break
        else:
            break
    return ended


def _named(line: list[str], at: int, counts: dict[str, int]) -> int:
    """The same, with each number behind what it counts."""
    while at + 1 < len(line) and line[at] in _KINDS and line[at + 1].isdigit() and len(line[at + 1]) < 9:
        name = _KINDS[line[at]]
        if name:
            counts[name] = counts.get(name, 0) + int(line[at + 1])
        at += 2
    return at


_TABLES: dict[str, dict] = {}


def _lines_of(runner: Runner | None) -> dict:
    """first word -> [(runner, meaning, words of the line)]; "#" before a number, "_" before any word."""
    name = runner.name if runner else ""
    if name not in _TABLES:
        table: dict[str, list] = {}
        for one in (runner,) if runner else RUNNERS:
            for line in one.prints.split("\n"):
                meaning, *template = line.split() or ("",)
                if template:
                    first = template[0]
                    key = "#" if first[0] in "{#" or first[0].isdigit() else first
                    table.setdefault(key, []).append((one, meaning, template))
        _TABLES[name] = table
    return _TABLES[name]
