"""Finished work that can be folded away: which of it is cold, and what is kept of it.

A task is finished when it is completed. Where the model has no task tools a stretch stands in: a prompt
with the work it caused, finished when the next prompt begins. By extraction alone; every text is redacted
whole before it is cut, as in `quoted`.
"""

from holdfast.core.jsontext import text
from holdfast.core.plain import excerpt, one_line
from holdfast.core.quoted import Quoted, path_of
from holdfast.core.redact import is_key_file
from holdfast.core.seen import Seen
from holdfast.core.sentences import deciding
from holdfast.core.state import State
from holdfast.core.touched import bare, looks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.core.quoted import Redact, Words

TASK, STRETCH = "task", "stretch"
#: How many of each are kept of one piece of work, and how long each may be.
MOST_FILES, MOST_COMMANDS, MOST_OUTCOMES, MOST_ERRORS = 20, 20, 5, 8
_LONGEST, _LONGEST_SUBJECT, _LONGEST_COMMAND = 238, 118, 198  # and a sign of the cut
_LONGEST_ID = 64
#: Begins a line that goes on with a summary.
MORE = "→ "
#: What fixed an error: behind it, and so long; a name in it.
_FIXED, _LONGEST_FIX, _LONGEST_NAME = "— fixed by ", 130, 60
#: A change of these mends no test where others changed, too; and these only keep what was done.
_PROSE = (".md", ".rst", ".txt", ".adoc")
_KEEPS = ("git add", "git commit", "git push", "git tag", "git stash list")
#: Shorter than this a prompt ("yes", "go on") names nothing, and a sentence says nothing.
_LEAST_NAME, _LEAST_SAID = 8, 12
#: Sentences of the last text, texts that are looked through, and decisions that have a place in any case.
_OF_LAST, _TEXTS, _DECIDED = 3, 24, 2
_ENDS = ".!?"
_ENDS_ANYWHERE = "。！？｡।؟۔።"
_QUESTIONS = ("?", "？", "؟", ":", "：")
_ABBREVIATED = ("e.g", "i.e", "vs", "cf", "ca", "approx")
_BULLETS = " \t-–—*•·>#|+"
#: What a model says before it does something, not what came of it.
_INTENTIONS = (
    *("let me", "let's", "i'll", "i will", "i'm going to", "i am going to", "i need to", "i should"),
    *("now let", "now i'll", "now i need", "now to ", "next, i", "next i", "first, let", "first let"),
    *("would you like", "shall i", "want me to", "do you want", "if you want", "if you'd like"),
    *("good, ", "great, let", "ok, let", "okay, let", "let me know", "say the word"),
)
_NOW = frozenset("all both each every everything it they that this there we no none only".split())
_NO_GERUND = frozenset(
    "nothing everything anything something existing missing failing passing remaining following during "
    "according including regarding string thing being using".split()
)


class Work:
    """Finished work: the place of the line that names it, [begin, until) where it was done, and where it
    was finished. `task` is empty for a stretch: its id stands in its line."""

    __slots__ = ("begin", "end", "kind", "length", "offset", "task", "until")

    def __init__(
        self, kind: str, task: str, offset: int, length: int, begin: int, end: int, until: int
    ) -> None:
        self.kind = kind
        self.task = task
        self.offset = offset
        self.length = length
        self.begin = begin
        self.end = end
        self.until = until


def has_tasks(state: State) -> bool:
    """A model that could have made some, and did not, works in stretches. Neither do to-do lists make
    tasks: they have no ids, and each replaces the one before."""
    return bool(state.seen.tasks or state.heard.tasks)


def finished(state: State) -> list[Work]:
    """What is finished, as far as the state knows, oldest first. A task that the transcript does not show
    completed (another agent did that) is not among them: nobody can tell which turns were its work."""
    seen = state.seen
    if not has_tasks(state):
        typed = [row for row in seen.prompts if row[3]]
        ends = [row[1] for row in typed[1:]]
        rows = [(*typed[i][1:3], end) for i, end in enumerate(ends)]
        return [Work(STRETCH, "", offset, length, offset, end, end) for offset, length, end in rows]
    works = []
    for task, (began, end) in sorted(seen.worked.items(), key=lambda one: int(one[1][1])):
        if end:
            offset, length = seen.tasks[task][1:3]
            until = next((turn for turn in seen.turned if turn > end), seen.offset)  # what was said with it
            works.append(Work(TASK, task, offset, length, began or offset, end, until))
    return works


def is_cold(seen: Seen, work: Work, after: int) -> bool:
    """Finished more than so many turns ago."""
    return len(seen.turned) > after and seen.turned[-after - 1] > work.end


def recent(seen: Seen, turns: int) -> list[list[int]]:
    """Places of what was said, by the model or to it, in the last turns; newest first."""
    since = seen.turned[-turns] if len(seen.turned) >= turns else 0
    places = [row[1:3] for row in seen.prompts if row[3]] + seen.said
    return sorted((place for place in places if place[0] >= since), reverse=True)


def is_named(work: Work, subject: str, texts: "Iterable[str]") -> bool:
    """Whether one of the texts (as `comparable` gives them) names the subject."""
    name = comparable(subject).strip(" .,;:!?…\"'`。！？")
    least = 1 if work.kind == TASK else _LEAST_NAME
    return len(name) >= least and any(_holds(words, name) for words in texts)


def comparable(words: str) -> str:
    return one_line(words).casefold()


def _holds(words: str, name: str) -> bool:
    """As words of its own, where a script has any: `api` is not in `rapid`, 解析器 is in 修复解析器."""
    at = words.find(name)
    while at >= 0:
        before, after = words[at - 1 : at] if at else "", words[at + len(name) : at + len(name) + 1]
        if not (_is_one_word(before, name[0]) or _is_one_word(name[-1], after)):
            return True
        at = words.find(name, at + 1)
    return False


def _is_one_word(left: str, right: str) -> bool:
    both = left + right
    return len(both) == 2 and both.isascii() and both.isalnum()


def begun(turned: list[int], turns: int, offset: int) -> int:
    """How many of all turns had begun at `offset`, from where the newest of them did."""
    low, high = 0, len(turned)
    while low < high:
        middle = (low + high) // 2
        if turned[middle] <= offset:
            low = middle + 1
        else:
            high = middle
    return turns - len(turned) + low


class Summary(Quoted):
    """What is kept of one piece of work. `part` is what its own stretch of the transcript says."""

    def __init__(self, state: State, part: Seen, words: "Words", redact: "Redact", project: str) -> None:
        view = State(state.session, state.agent)
        view.seen = part
        super().__init__(view, words, redact, project)
        self.part = part

    def of(self, work: Work, subject: str, turns: tuple[int, int], at: str) -> dict:
        """In the seed's form, and what else tells it from others: agent, kind, place, and whether all of
        it was read."""
        records = self.words(work.offset, work.length)
        return {
            "session_id": self.state.session,
            "task_id": work.task or stretch_id(records, work.offset),
            "subject": self._shown(subject, _LONGEST_SUBJECT),
            "start_turn": turns[0],
            "end_turn": turns[1],
            "compressed_at": at,
            "files_modified": self.files(),
            "commands_run": self.ran(),
            "key_outcomes": self.outcomes(),
            "errors_resolved": self.resolved(),
            "agent_id": self.state.agent,
            "kind": work.kind,
            "partial": self.part.start > work.begin,
            "entry": entry_id(records),
            "place": [work.offset, work.length, work.begin, work.until],
        }

    def files(self) -> list[str]:
        last = {row[0]: row for row in self.part.edits}
        paths = [self._use(row[1:3], row[0]) for row in list(last.values())[-MOST_FILES:]]
        names = [text(given, "file_path") or text(given, "notebook_path") for given in paths]
        return _distinct(self._short(name) for name in names if name)

    def ran(self) -> list[str]:
        """Each command once, where it was run last."""
        last: dict[int, list] = {}
        for row in self.part.commands:
            last.pop(row[0], None)
            last[row[0]] = row
        given = [text(self._use(row[1:3], row[0]), "command") for row in last.values()]
        shown = [self.redact(self._command(command, _LONGEST_COMMAND)) for command in given if command]
        return _distinct(shown)[-MOST_COMMANDS:]

    def outcomes(self) -> list[str]:
        """The last things the agent said, what it said last first; and what it decided anywhere."""
        found: list[str] = []
        decided: list[str] = []
        for number, place in enumerate(reversed(self.part.said[-_TEXTS:])):
            said = [words for words in sentences(self._said(place)) if is_outcome(words)]
            # How a report begins is what came of it all; how it ends, what is left to know.
            chosen = [*said[:1], *said[:0:-1]][:_OF_LAST] if number == 0 else said[-1:]
            found += [self._shown(words, _LONGEST) for words in chosen]
            decided += [self._shown(words, _LONGEST) for words in said if deciding(words)]
        found = _distinct(found)
        others = [words for words in _distinct(decided) if words not in found[: MOST_OUTCOMES - _DECIDED]]
        return _distinct([*found[: MOST_OUTCOMES - len(others[:_DECIDED])], *others[:_DECIDED]])[
            :MOST_OUTCOMES
        ]

    def resolved(self) -> list[str]:
        """Errors of which the very same thing succeeded later in this work, and what was done in between
        that made it."""
        found: dict[str, str] = {}  # what fixed it before did not, where it came again
        for row in self.part.errors:
            if row[5]:
                failed, given = self._what(row)
                fix = self._fix(row, given)
                most = _LONGEST - len(fix) - 1
                error = self._shown(f"{failed}: {self._error(row[3:5], given)}", most)
                found[error] = fix
        return [f"{error} {fix}".rstrip() for error, fix in found.items()][-MOST_ERRORS:]

    def _fix(self, row: list, given: str) -> str:
        """Say "— fixed by …": the files changed, or else the last command that ran, between a command that
        failed and its success. Of a tool that was given a file nobody can tell."""
        what, failed_at, succeeded_at = row[0], row[3], row[5]
        if not given or given == path_of(self._use(row[1:3], what)):
            return ""
        changes: dict[str, tuple[dict, int]] = {}
        for edit in self.part.edits:
            if failed_at < edit[1] < succeeded_at:
                use = self._use(edit[1:3], edit[0])
                changes.pop(path_of(use), None)
                changes[path_of(use)] = use, edit[7]
        changes.pop("", None)
        code = [path for path in changes if not path.lower().endswith(_PROSE)]
        if code or changes:
            path, *others = (code or list(changes))[::-1]
            is_secret = is_key_file(path)
            said = f"a change of {excerpt(self._short(path), _LONGEST_NAME)}"
            said += "" if is_secret else f": {self._edit(*changes[path])}"
            said += f" and of {len(others)} more" if others else ""
            return self._shown(f"{_FIXED}{said}", _LONGEST_FIX)
        for ran in reversed(self.part.commands):
            if failed_at < ran[1] < succeeded_at and ran[0] != what and not ran[5] and not ran[6]:
                command = text(self._use(ran[1:3], ran[0]), "command")
                if command and not looks(command) and not bare(command).startswith(_KEEPS):
                    return self._shown(f"{_FIXED}`{self._command(command, _LONGEST_NAME)}`", _LONGEST_FIX)
        return ""

    def subject(self, work: Work, filed: dict[str, tuple[str, str]]) -> str:
        """A task's own, also from the client's files; of a stretch its prompt's first sentence."""
        place = [work.offset, work.length]
        if work.kind == STRETCH:
            said = sentences(self._prompt([0, *place]))
            return next((words for words in said if any(map(str.isalnum, words))), "") or "(no words)"
        given = self._use(place, tool="TaskCreate") or self._use(place, tool="TaskUpdate")
        return self.redact(text(given, "subject") or filed.get(work.task, ("", ""))[1]) or "(no subject)"

    def spoken(self, place: list[int]) -> str:
        """What a prompt or an answer says, all of it."""
        return "\n".join(self._asked(record) for record in self.words(*place))

    def _shown(self, words: str, most: int) -> str:
        """Redacted once more: on one line a secret may be known that was none on two."""
        return excerpt(self.redact(one_line(words)), most)


def entry_id(records: list) -> str:
    return one_line(text(records[0], "uuid"))[:_LONGEST_ID] if records else ""


def stretch_id(records: list, offset: int) -> str:
    """The entry it began with; where that has no id, its place."""
    return entry_id(records) or f"at-{offset}"


def sentences(words: str) -> list[str]:
    """What a text says, one thing at a time: no code, no tables, no marks of lists and headings."""
    found: list[str] = []
    in_code = False
    for line in words.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith("|"):
            found += _split(_unmarked(line))
    return found


def _unmarked(line: str) -> str:
    line = line.replace("**", "").strip().lstrip(_BULLETS)
    number, dot, rest = line.partition(". ")
    return rest.lstrip() if dot and number.isdecimal() else line


def _split(line: str) -> list[str]:
    found, start = [], 0
    for i, letter in enumerate(line):
        if letter in _ENDS_ANYWHERE or (
            letter in _ENDS and line[i + 1 : i + 2] in ("", " ") and not _abbreviates(line[start:i])
        ):
            found.append(line[start : i + 1].strip())
            start = i + 1
    found.append(line[start:].strip())
    return [words for words in found if words]


def _abbreviates(words: str) -> bool:
    """`e.g.`, `2.`, `J.`, `...`: the dot ends no sentence."""
    last = words.rpartition(" ")[2].strip("(*_`")
    return len(last) < 2 or last.endswith(".") or last.isdecimal() or last.lower() in _ABBREVIATED


def is_outcome(words: str) -> bool:
    """Not a question, a heading, an intention, or too little to say anything."""
    least = _LEAST_SAID if words.isascii() else _LEAST_SAID // 3
    return (
        len(words) >= least
        and any(map(str.isalnum, words))
        and not words.rstrip("*_ ").endswith(_QUESTIONS)
        and not _is_intention(words.lstrip("*_ ").lower())
    )


def _is_intention(words: str) -> bool:
    """`Let me …`, `Now the tests.`, `Applying the fix.`; but `Now all tests pass.`"""
    first, _, rest = words.partition(" ")
    if first == "now":
        return rest.partition(" ")[0] not in _NOW
    return words.startswith(_INTENTIONS) or (first.endswith("ing") and first not in _NO_GERUND)


def line(summary: dict) -> str:
    """A summary on one line of at most 240 characters. What it holds has been redacted."""
    came = " ".join(summary["key_outcomes"][:2])
    return excerpt(f"{_head(summary)}{': ' if came else ''}{came}", _LONGEST)


def verbatim(summary: dict) -> list[str]:
    """All that it says came of the work, uncut: a line with the first, and one for each of the others,
    which begins with MORE."""
    first, *others = summary["key_outcomes"] or [""]
    resolved = [f"resolved: {error}" for error in summary["errors_resolved"]]
    head = f"{_head(summary)}{': ' if first else ''}{first}"
    return [head, *(MORE + said for said in [*others, *resolved])]


def _head(summary: dict) -> str:
    turns = "–".join(
        dict.fromkeys(str(summary[name]) for name in ("start_turn", "end_turn") if summary[name])
    )
    files = summary["files_modified"]
    named = ", ".join(path.rpartition("/")[2] for path in files[:3])
    more = f" +{len(files) - 3}" if len(files) > 3 else ""
    known = "; ".join(filter(None, (f"turns {turns}" if turns else "", excerpt(named, 60) + more)))
    return f"{summary['subject']}{f' ({known})' if known else ''}"


def _distinct(items: "Iterable[str]") -> list[str]:
    return list(dict.fromkeys(item for item in items if item))
